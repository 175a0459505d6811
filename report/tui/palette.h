/*
 * The colour of each style, for 256, for 16 or 8 and for no colours. 24 bits would add nothing but
 * smoother heat: 256 are what every terminal has that has those, and screen and tmux pass on.
 *
 * A program cannot know whether the ground is dark or light. So what stands on the terminal's own
 * ground has inks of the middle, with a contrast of 4.5 on white and on black alike (a test
 * computes it; there are only six such in 256). Of the eight colours only magenta is seen well
 * enough on both. Red is not (3.6 on black), and whether bold makes it brighter is the terminal's
 * choice; so there bold and the terminal's own ink do most of the work, and warnings are white on
 * red.
 *
 * Frames are light with dark text (report/analyse/frame_kind.h). Heat goes from purple by red to a
 * light yellow, each brighter than the one before, on a dark ground of its own: else the least heat
 * would be what is seen best on a white screen.
 */
#ifndef EBPROF_PALETTE_H
#define EBPROF_PALETTE_H

#include "report/tui/style.h"

enum {
	PALETTE_OWN = -1, /* the terminal's own ink or ground */
};

enum palette_flag {
	PALETTE_BOLD = 1,
	PALETTE_DIM = 2,     /* only where there are no colours */
	PALETTE_REVERSE = 4, /* the same */
	PALETTE_STRONG = 8,  /* bold, where there are none or this style has none of them */
};

struct palette_row {
	short rich, poor; /* ink: of 256, of 8 */
	short rich_ground, poor_ground;
	unsigned flags;
};

extern const struct palette_row palette[STYLE_COUNT];

#endif

/*
 * The bytes that a terminal sends, as keys, mouse events and pasted text. ncurses could do the
 * keys, but of the mouse it knows what terminfo says, which inside of screen or tmux is not what
 * arrives; and it cannot tell what was pasted from what was typed.
 *
 * Known: UTF-8, the CSI and SS3 sequences of xterm, VT220, rxvt and the Linux console; the mouse by
 * SGR (1006) and X10; bracketed paste (2004); and what terminfo has besides.
 */
#ifndef EBPROF_INPUT_DECODER_H
#define EBPROF_INPUT_DECODER_H

#include <stdbool.h>

#include "format/base/str.h"
#include "report/tui/input_event.h"

struct input_sequence {
	char *bytes; /* beginning with ESC */
	uint32_t key;
};

struct input_decoder {
	struct str pending; /* what was fed and not taken */
	size_t taken;       /* of it */
	bool is_ascii;      /* bytes from 0x80 on are no characters */
	bool is_pasting;
	VEC(struct input_sequence) sequences;
	/* The newest press, for the one that makes it a double click. */
	int64_t press_ms;
	int press_x, press_y;
};

void input_decoder_deinit(struct input_decoder *decoder);
/* A key of this terminal's own. Copied; NULL and (char *)-1, terminfo's answers, are ignored. */
void input_decoder_add(struct input_decoder *decoder, const char *bytes, uint32_t key);
void input_decoder_feed(struct input_decoder *decoder, const char *bytes, size_t len);

/* Something may be the beginning of more. */
bool input_decoder_is_open(const struct input_decoder *decoder);
/*
 * The next input, INPUT_NONE when there is none. An open sequence waits for its end, unless
 * `ends`: no more came for a while, so ESC was the key.
 */
struct input input_decoder_next(struct input_decoder *decoder, int64_t now_ms, bool ends);

#endif

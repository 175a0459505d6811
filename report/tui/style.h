/* What a cell means. terminal.c gives each a colour, as far as the terminal has any. */
#ifndef EBPROF_STYLE_H
#define EBPROF_STYLE_H

#include "report/analyse/frame_kind.h"

enum style {
	STYLE_NORMAL,
	STYLE_DIM,
	STYLE_TITLE,  /* the first line */
	STYLE_HEADER, /* of columns */
	STYLE_KEY,    /* in the bar of hints */
	STYLE_BAR,
	STYLE_HOT, /* a large share */
	STYLE_WARM,
	STYLE_KERNEL,
	STYLE_INLINED,
	STYLE_SCRIPT,  /* an interpreter runs it */
	STYLE_UNKNOWN, /* there is no name */
	STYLE_WARNING,
	STYLE_WORSE, /* than the baseline */
	STYLE_BETTER,
	STYLE_CODE,         /* assembly */
	STYLE_SELECTION,    /* what STYLE_SELECTED looks like where there are colours */
	STYLE_SELECTED_BAR, /* ... of a bar: white it would be a hole, on white grounds */
	STYLE_COLD,         /* no heat at all */
	STYLE_FLAME,        /* and STYLE_FLAMES - 1 more: see STYLE_FLAME_OF() */
	STYLE_FLAMES = 2 * FRAME_KINDS_END,
	STYLE_HEAT = STYLE_FLAME + STYLE_FLAMES, /* and STYLE_HEATS - 1 more, by how much */
	STYLE_HEATS = 8,
	STYLE_WAITED = STYLE_HEAT + STYLE_HEATS, /* and STYLE_WAITEDS - 1 more, by how much */
	STYLE_WAITEDS = 3,
	/* Frames against a baseline: gone, much less, less, as before, more, much more, new. */
	STYLE_CHANGE = STYLE_WAITED + STYLE_WAITEDS,
	STYLE_CHANGES = 7,
	STYLE_COUNT = STYLE_CHANGE + STYLE_CHANGES,

	/* Beside any of them: */
	STYLE_SELECTED = 0x100,
	STYLE_BOLD = 0x200,
	STYLE_MATCH = 0x400, /* it was searched for */
	STYLE_MASK = 0xff,
};

/* A frame of a flame graph. */
#define STYLE_FLAME_OF(kind, is_inlined) (STYLE_FLAME + 2 * (unsigned)(kind) + !!(is_inlined))

#endif

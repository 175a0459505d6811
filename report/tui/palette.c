#include "report/tui/palette.h"

enum {
	OWN = PALETTE_OWN,
	BOLD = PALETTE_BOLD,
	DIM = PALETTE_DIM,
	REVERSE = PALETTE_REVERSE,
	/* ECMA-48's eight */
	BLACK = 0,
	RED,
	GREEN,
	YELLOW,
	BLUE,
	MAGENTA,
	CYAN,
	WHITE,
};

const struct palette_row palette[STYLE_COUNT] = {[STYLE_NORMAL] = {OWN, OWN, OWN, OWN, 0},
	[STYLE_DIM] = {243, OWN, OWN, OWN, DIM},
	[STYLE_TITLE] = {255, BLACK, 239, WHITE, REVERSE},
	[STYLE_HEADER] = {63, OWN, OWN, OWN, BOLD},
	[STYLE_KEY] = {63, OWN, OWN, OWN, BOLD},
	[STYLE_BAR] = {63, OWN, OWN, OWN, 0},
	[STYLE_HOT] = {131, RED, OWN, OWN, BOLD},
	[STYLE_WARM] = {OWN, OWN, OWN, OWN, 0},
	[STYLE_KERNEL] = {163, MAGENTA, OWN, OWN, 0},
	[STYLE_INLINED] = {29, OWN, OWN, OWN, 0},
	[STYLE_SCRIPT] = {98, OWN, OWN, OWN, 0},
	[STYLE_UNKNOWN] = {243, OWN, OWN, OWN, DIM},
	[STYLE_WARNING] = {131, RED, OWN, OWN, BOLD},
	[STYLE_WORSE] = {131, RED, OWN, OWN, 0},
	[STYLE_BETTER] = {63, OWN, OWN, OWN, 0},
	[STYLE_CODE] = {29, OWN, OWN, OWN, 0},
	[STYLE_SELECTION] = {231, WHITE, 25, BLUE, REVERSE},
	[STYLE_SELECTED_BAR] = {159, CYAN, 25, BLUE, REVERSE},
	/* Blanks have no ink; one that stays the same need not be sent with each other ground. */
	[STYLE_COLD] = {OWN, WHITE, OWN, OWN, 0},
	[STYLE_HEAT] = {OWN, WHITE, 53, BLACK, 0},
	[STYLE_HEAT + 1] = {OWN, WHITE, 89, BLACK, 0},
	[STYLE_HEAT + 2] = {OWN, WHITE, 125, BLUE, 0},
	[STYLE_HEAT + 3] = {OWN, WHITE, 167, BLUE, 0},
	[STYLE_HEAT + 4] = {OWN, BLACK, 209, MAGENTA, 0},
	[STYLE_HEAT + 5] = {OWN, WHITE, 215, RED, 0},
	[STYLE_HEAT + 6] = {OWN, BLACK, 221, YELLOW, BOLD},
	[STYLE_HEAT + 7] = {OWN, BLACK, 229, WHITE, REVERSE},
	[STYLE_CHANGE] = {255, WHITE, 25, BLUE, REVERSE},
	[STYLE_CHANGE + 1] = {234, BLACK, 75, CYAN, REVERSE},
	[STYLE_CHANGE + 2] = {234, BLACK, 153, CYAN, REVERSE},
	[STYLE_CHANGE + 3] = {234, BLACK, 252, WHITE, REVERSE},
	[STYLE_CHANGE + 4] = {234, BLACK, 217, YELLOW, REVERSE},
	[STYLE_CHANGE + 5] = {234, BLACK, 209, YELLOW, REVERSE},
	[STYLE_CHANGE + 6] = {255, WHITE, 124, RED, REVERSE},
#define X(kind, word, text, object, colour, paler, few) \
	[STYLE_FLAME_OF(kind, 0)] = {234, BLACK, colour, few, REVERSE},
	FRAME_KINDS(X)
#undef X
#define X(kind, word, text, object, colour, paler, few) \
	[STYLE_FLAME_OF(kind, 1)] = {234, BLACK, paler, few, REVERSE},
		FRAME_KINDS(X)
#undef X
};

/* What a person does, as terminal.c reads it and tests make it up. */
#ifndef EBPROF_INPUT_EVENT_H
#define EBPROF_INPUT_EVENT_H

#include <stdint.h>

/* A Unicode character, a control character (INPUT_CTRL) or one of these, which are beyond both. */
enum input_key {
	INPUT_UP = 0x110000,
	INPUT_DOWN,
	INPUT_LEFT,
	INPUT_RIGHT,
	INPUT_PAGE_UP,
	INPUT_PAGE_DOWN,
	INPUT_HOME,
	INPUT_END,
	INPUT_BACKSPACE,
	INPUT_DELETE,
	INPUT_BACK_TAB,
	INPUT_F1,
	INPUT_OTHER, /* a key that has no meaning here */
};

#define INPUT_CTRL(letter) ((letter)&0x1f)

enum {
	INPUT_ENTER = '\n',
	INPUT_TAB = '\t',
	INPUT_ESCAPE = 0x1b,
};

enum input_kind {
	INPUT_NONE,
	INPUT_KEY,
	INPUT_PRESS, /* the mouse's left button at x, y */
	INPUT_DOUBLE,
	INPUT_DRAG, /* the mouse moved to x, y with the button held */
	INPUT_RELEASE,
	INPUT_MENU,    /* the right button */
	INPUT_POINTER, /* another button, or the right one let go: without a meaning */
	INPUT_WHEEL_UP,
	INPUT_WHEEL_DOWN,
	INPUT_RESIZE,
	INPUT_PASTE, /* a key that was not typed: text, but no command */
};

struct input {
	enum input_kind kind;
	uint32_t key; /* of INPUT_KEY, INPUT_PASTE */
	int x, y;
};

#endif

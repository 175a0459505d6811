/* The terminal. Nothing but terminal.c and terminal_restore.c touches it. */
#ifndef EBPROF_TERMINAL_H
#define EBPROF_TERMINAL_H

#include "format/base/err.h"
#include "report/tui/grid.h"
#include "report/tui/input_event.h"

struct terminal;

/* An error says why a cursor cannot be placed where standard output goes to. */
struct err *terminal_check(void) ERR_MUST_CHECK;
/*
 * Takes over the terminal of standard input and output. Every way to end the program gives it back
 * as it was. The locale must be set.
 */
struct err *terminal_open(struct terminal **ret) ERR_MUST_CHECK;
void terminal_close(struct terminal *terminal);

/* The size as it is now; ASCII where the locale is no UTF-8. The caller's grid. */
void terminal_grid(const struct terminal *terminal, struct grid *ret);
/* Shows what is new since the last time, and takes the cells over. */
void terminal_show(struct terminal *terminal, struct grid *grid);
/* Shows everything, also where nothing changed. */
void terminal_redraw(struct terminal *terminal);
enum {
	TERMINAL_WAITS_MAX = 6,
};

/*
 * Waits for input, a signal, or something to read from one of the others. False: the terminal has
 * gone.
 */
bool terminal_wait(struct terminal *terminal, const int *fds, size_t count);
/* The next input, INPUT_NONE when there is none now. ^Z stops the program in here. */
struct input terminal_read(struct terminal *terminal);
/* Asks the terminal to put the text into the clipboard (OSC 52). */
void terminal_copy(struct terminal *terminal, const char *text, size_t len);
/* The signal that wants the program to end, 0 when none does. */
int terminal_ending(void);

#endif

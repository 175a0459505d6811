/* The terminal. The only file that touches it is terminal.c. */
#ifndef EBPROF_TERMINAL_H
#define EBPROF_TERMINAL_H

#include "report/tui/grid.h"
#include "report/tui/input_event.h"

struct terminal;

/*
 * Takes over the terminal of standard input and output. Whatever ends the program gives it back as
 * it was. The locale must be set.
 */
struct err *terminal_open(struct terminal **ret);
void terminal_close(struct terminal *terminal);

/* The size as it is now; ASCII where the locale is no UTF-8. The caller's grid. */
void terminal_grid(const struct terminal *terminal, struct grid *ret);
/* Shows what is new since the last time. */
void terminal_show(struct terminal *terminal, const struct grid *grid);
/* Shows everything, whatever stands there. */
void terminal_redraw(struct terminal *terminal);
/* The next input, INPUT_NONE when there is none now. */
struct input terminal_read(struct terminal *terminal);
/* What terminal_read() reads from, for poll(). */
int terminal_fd(const struct terminal *terminal);
/* Asks the terminal to put the text into the clipboard (OSC 52). */
void terminal_copy(struct terminal *terminal, const char *text, size_t len);
/* Whether a signal wants the program to end. */
bool terminal_is_ending(void);

#endif

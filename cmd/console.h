/* What a person reads: messages on stderr, each foreign byte escaped. */
#ifndef EBPROF_CONSOLE_H
#define EBPROF_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/str.h"

enum console_exit {
	CONSOLE_OK = 0,
	CONSOLE_ERROR = 1,
	CONSOLE_USAGE = 2,
};

/* "ebprof: ..." on stderr, always one line: foreign bytes of the message are escaped. */
void console_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same of what is no error, and no damage of what was read; nothing after console_be_quiet().
 */
void console_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* From here on notes and progress are not printed. */
void console_be_quiet(void);
bool console_is_quiet(void);
/* Another line of the same message, indented below it. */
void console_say_more(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A line that the next one replaces, on a terminal; elsewhere nothing. */
void console_show(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Removes it. */
void console_show_end(void);
/* To stdout, at once. Says an error on stderr, unless the reader has closed the pipe. Returns the
 * exit code. */
int console_print(const struct str *text);
/* Of the terminal that stdout is; 0: it is none. */
unsigned console_columns(void);
/* Prints and destroys the error; the exit code that fits it. */
int console_fail(struct err *err);

/* "11 872" */
void console_put_count(struct str *out, uint64_t count);
/* "2026-11-21 17:34", UTC; nothing for what is no time. */
void console_put_date(struct str *out, uint64_t time_s);
/* "1.1 MB" */
void console_put_bytes(struct str *out, uint64_t bytes);

#endif

/*
 * Where the brackets of a demangled name open and close, and what looks like brackets there but is
 * an operator or a literal.
 */
#ifndef EBPROF_BRACKETS_H
#define EBPROF_BRACKETS_H

#include <stdbool.h>
#include <stddef.h>

enum brackets_language {
	BRACKETS_CPLUS, /* as libiberty prints it */
	BRACKETS_RUST,
	BRACKETS_D,
};

struct bracketed {
	enum brackets_language language;
	const char *text; /* NUL-terminated; borrowed */
	size_t len;
};

/* All positions and lengths are bytes; `at` is at most the text's length. */

/* "operator" and its symbol at `at`, but not the type of a conversion; 0 when it is none. */
size_t brackets_operator_length(const struct bracketed *in, size_t at);
/* Whether the < at `at` compares or shifts; how many bytes the operator has. */
size_t brackets_less_than_length(const struct bracketed *in, size_t at);
/* 'x' or "..." at `at`; 0 when it is none: 'a is a lifetime. */
size_t brackets_literal_length(const struct bracketed *in, size_t at);
/* Where the bracket that opens at `at` is closed, that byte included; 0 when it is not. */
size_t brackets_group_end(const struct bracketed *in, size_t at);

/* Of an identifier, Unicode's included. */
bool brackets_is_word(char c);

#endif

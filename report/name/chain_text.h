/*
 * A chain of calls, of which each does nothing but the next one, in one line: for the text report
 * and the terminal interface alike.
 */
#ifndef EBPROF_CHAIN_TEXT_H
#define EBPROF_CHAIN_TEXT_H

#include "format/base/str.h"

struct chain_text {
	/* Appends the name of link `index`, shortened to `columns` where that is possible. */
	void (*put_name)(const void *context, size_t index, size_t columns, struct str *out);
	size_t (*columns_of)(const void *context, const char *text, size_t len);
	const void *context;
};

/*
 * Appends all names as far as there is room: else those at the ends, and how many there are between
 * them. The last one is where the tree goes on, so it is whole before others are.
 */
void chain_text_put(const struct chain_text *chain, size_t count, size_t columns, struct str *out);

#endif

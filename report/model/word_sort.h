/*
 * Order by several values: numbers first, then texts, of which many are equal in all of their first
 * letters. Each element is a row of words, that are asked for one after the other and only as far
 * as they decide something. Of a long order also only a part can be found, for what is seen of it.
 */
#ifndef EBPROF_WORD_SORT_H
#define EBPROF_WORD_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct word_order {
	/*
	 * The element's word of this index, smaller ones first; false: it has no more. Elements
	 * that are equal up to here agree on that.
	 */
	bool (*word)(const void *context, uint32_t element, size_t index, uint64_t *ret);
	const void *context;
};

struct word_entry {
	uint64_t word; /* while sorting */
	uint32_t element;
};

/*
 * Brings to the places from `from` up to `to` what stands there in order, and the others anywhere.
 * What is equal in all words is in order of the elements' numbers.
 */
void word_sort(struct word_entry *entries, size_t count, const struct word_order *order,
	size_t from, size_t to);
/* Whether `a` stands ahead of `b`. */
bool word_less(const struct word_order *order, uint32_t a, uint32_t b);
/* The place of an element among all of the entries. */
size_t word_rank(const struct word_entry *entries, size_t count, const struct word_order *order,
	uint32_t element);

/* Words of a text, eight letters each. */
bool word_of_text(const char *text, size_t index, uint64_t *ret);

#endif

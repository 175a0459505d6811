#include "report/model/word_sort.h"

#include <string.h>

#include "format/base/map.h"

/*
 * Quicksort in three parts (Bentley and Sedgewick, "Fast algorithms for sorting and searching
 * strings", 1997): what is less than one of the words, what is equal, what is greater. The equal
 * ones go on with their next words, so none is looked at twice; and what lies outside of the places
 * that are asked for is left as it is.
 */
enum {
	LETTERS = 8, /* in a word */
};

struct job {
	struct word_entry *entries;
	const struct word_order *order;
	size_t from, to;
	uint64_t random;
};

/* Entries that are equal up to the word of this index, which they have at hand. */
struct run {
	size_t first, count, index;
};

static bool word_sort_is_wanted(const struct job *job, const struct run *run)
{
	return run->count > 1 && run->first < job->to && run->first + run->count > job->from;
}

/* Behind the last word, elements differ in their numbers. */
static void get_words(const struct job *job, const struct run *run)
{
	for (size_t i = run->first; i < run->first + run->count; i++) {
		struct word_entry *entry = &job->entries[i];
		if (!job->order->word(
			    job->order->context, entry->element, run->index, &entry->word))
			entry->word = entry->element;
	}
}

static void swap(struct word_entry *a, struct word_entry *b)
{
	struct word_entry kept = *a;
	*a = *b;
	*b = kept;
}

/* The middle of three at random places: no recording makes this slow. */
static uint64_t choose_pivot(struct job *job, const struct run *run)
{
	const struct word_entry *entries = &job->entries[run->first];
	uint64_t words[3];
	for (size_t i = 0; i < 3; i++) {
		job->random = map_mix(job->random + 1);
		words[i] = entries[job->random % run->count].word;
	}
	uint64_t low = words[0] < words[1] ? words[0] : words[1];
	uint64_t high = words[0] < words[1] ? words[1] : words[0];
	return words[2] < low ? low : words[2] > high ? high : words[2];
}

static void word_sort_split(struct job *job, const struct run *run, struct run parts[3])
{
	uint64_t pivot = choose_pivot(job, run);
	size_t less = run->first, greater = run->first + run->count;
	for (size_t at = less; at < greater;) {
		struct word_entry *entry = &job->entries[at];
		if (entry->word < pivot)
			swap(entry, &job->entries[less++]), at++;
		else if (entry->word > pivot)
			swap(entry, &job->entries[--greater]);
		else
			at++;
	}
	parts[0] = (struct run){run->first, less - run->first, run->index};
	parts[1] = (struct run){less, greater - less, run->index + 1};
	parts[2] = (struct run){greater, run->first + run->count - greater, run->index};
	if (word_sort_is_wanted(job, &parts[1]))
		get_words(job, &parts[1]);
}

/* The largest part last, so this is never deeper than the count has bits. */
static void word_sort_sort(struct job *job, struct run run)
{
	while (word_sort_is_wanted(job, &run)) {
		struct run parts[3];
		size_t largest = 0;
		word_sort_split(job, &run, parts);
		for (size_t i = 1; i < 3; i++)
			if (parts[i].count > parts[largest].count)
				largest = i;
		for (size_t i = 0; i < 3; i++)
			if (i != largest)
				word_sort_sort(job, parts[i]);
		run = parts[largest];
	}
}

void word_sort(struct word_entry *entries, size_t count, const struct word_order *order,
	size_t from, size_t to)
{
	struct job job = {
		.entries = entries,
		.order = order,
		.from = from,
		.to = to,
		.random = map_random_seed(),
	};
	struct run all = {.count = count};
	get_words(&job, &all);
	word_sort_sort(&job, all);
}

bool word_less(const struct word_order *order, uint32_t a, uint32_t b)
{
	for (size_t i = 0;; i++) {
		uint64_t x = 0, y = 0;
		if (!order->word(order->context, a, i, &x) ||
			!order->word(order->context, b, i, &y))
			return a < b;
		if (x != y)
			return x < y;
	}
}

size_t word_rank(const struct word_entry *entries, size_t count, const struct word_order *order,
	uint32_t element)
{
	size_t rank = 0;
	for (size_t i = 0; i < count; i++)
		rank += word_less(order, entries[i].element, element);
	return rank;
}

bool word_of_text(const char *text, size_t index, uint64_t *ret)
{
	size_t first = index * LETTERS, len = strnlen(text, first + LETTERS);
	if (len < first)
		return false;
	uint64_t word = 0;
	for (size_t i = first; i < first + LETTERS; i++)
		word = word << 8 | (i < len ? (uint8_t)text[i] : 0);
	*ret = word;
	return true;
}

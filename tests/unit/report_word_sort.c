#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "report/model/word_sort.h"
#include "tests/unit/unit.h"

enum {
	COUNT = 3000,
};

struct item {
	uint64_t number;
	char name[40];
};

/* Few numbers and few names, long beginnings of which are the same. */
static void make_items(struct item *items, uint64_t seed)
{
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t random = map_mix(seed + i);
		items[i].number = random % 7;
		snprintf(items[i].name, sizeof(items[i].name), "%.*sname%d",
			(int)(random >> 8) % 24, "aaaaaaaabbbbbbbbcccccccc",
			(int)(random >> 16) % 200);
	}
}

/* By falling number, then by name. */
static bool word_of_item(const void *context, uint32_t element, size_t index, uint64_t *ret)
{
	const struct item *item = (const struct item *)context + element;
	if (index)
		return word_of_text(item->name, index - 1, ret);
	*ret = ~item->number;
	return true;
}

static int compare_items(const void *a, const void *b, void *context)
{
	const struct item *items = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	if (items[i].number != items[j].number)
		return items[i].number > items[j].number ? -1 : 1;
	int order = strcmp(items[i].name, items[j].name);
	return order ? order : i < j ? -1 : i > j;
}

static struct item items[COUNT];
static struct word_entry entries[COUNT];
static uint32_t expected[COUNT];
static const struct word_order order = {.word = word_of_item, .context = items};

static void begin(uint64_t seed)
{
	make_items(items, seed);
	for (uint32_t i = 0; i < COUNT; i++)
		entries[i].element = expected[i] = i;
	qsort_r(expected, COUNT, sizeof(*expected), compare_items, items);
}

static void want_sorted(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (entries[i].element != expected[i])
			unit_fail(__FILE__, __LINE__, "place %zu has %u, not %u", i,
				entries[i].element, expected[i]);
}

TEST(words_order_as_numbers_and_names_do)
{
	for (uint64_t seed = 1; seed < 5; seed++) {
		begin(seed);
		word_sort(entries, COUNT, &order, 0, COUNT);
		want_sorted(0, COUNT);
	}
}

TEST(words_of_a_part_stand_where_all_would)
{
	begin(7);
	static const size_t parts[][2] = {
		{0, 50}, {COUNT - 3, COUNT}, {1000, 1100}, {1050, 1060}, {20, 20}};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		word_sort(entries, COUNT, &order, parts[i][0], parts[i][1]);
		want_sorted(parts[i][0], parts[i][1]);
	}
	bool seen[COUNT] = {0}; /* none is lost */
	for (size_t i = 0; i < COUNT; i++) {
		CHECK(!seen[entries[i].element]);
		seen[entries[i].element] = true;
	}
}

TEST(words_rank_without_sorting)
{
	begin(9);
	for (size_t place = 0; place < COUNT; place += 97)
		CHECK_INT(word_rank(entries, COUNT, &order, expected[place]), place);
}

TEST(words_of_nothing_and_of_one)
{
	begin(11);
	word_sort(entries, 0, &order, 0, 0);
	word_sort(entries, 1, &order, 0, 1);
	CHECK_INT(entries[0].element, 0);
}

TEST(words_of_a_text_end_behind_its_last_letter)
{
	uint64_t word = 0;
	CHECK(word_of_text("", 0, &word));
	CHECK_INT(word, 0);
	CHECK(!word_of_text("", 1, &word));
	CHECK(word_of_text("12345678", 0, &word));
	CHECK_INT(word, 0x3132333435363738);
	CHECK(word_of_text("12345678", 1, &word));
	CHECK_INT(word, 0);
	CHECK(!word_of_text("12345678", 2, &word));
}

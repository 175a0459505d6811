/* Sets of labels while recording: each once, and within bounds. */
#include "record/label/label_table.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

static uint32_t add_text(
	struct label_table *table, uint32_t rest, const char *key, const char *value)
{
	return label_table_add(
		table, rest, key, strlen(key), LAYOUT_LABEL_TEXT, value, strlen(value));
}

TEST(equal_sets_are_one)
{
	struct label_table table = {0};
	uint32_t a = add_text(&table, 0, "user", "a"), page = add_text(&table, a, "page", "/");
	CHECK(a && page && a != page);
	CHECK_INT(add_text(&table, 0, "user", "a"), a);
	CHECK_INT(add_text(&table, a, "page", "/"), page);
	CHECK(add_text(&table, 0, "page", "/") != page);
	uint64_t number = 0x2f; /* "/" */
	CHECK(label_table_add(&table, a, "page", 4, LAYOUT_LABEL_NUMBER, &number, 1) != page);
	label_table_deinit(&table);
}

/* ---- bounds ---- */

TEST(one_value_too_many_of_a_key_is_left_out_and_others_are_not)
{
	struct label_table table = {0};
	for (uint64_t i = 0; i < LABEL_TABLE_MAX_VALUES; i++)
		CHECK(label_table_add(&table, 0, "id", 2, LAYOUT_LABEL_NUMBER, &i, sizeof(i)));
	uint64_t more = LABEL_TABLE_MAX_VALUES, known = 7;
	CHECK_INT(label_table_add(&table, 0, "id", 2, LAYOUT_LABEL_NUMBER, &more, sizeof(more)), 0);
	CHECK(label_table_add(&table, 0, "id", 2, LAYOUT_LABEL_NUMBER, &known, sizeof(known)));
	CHECK(add_text(&table, 0, "user", "a"));
	label_table_deinit(&table);
}

TEST(sets_and_texts_are_bounded)
{
	struct label_table table = {0};
	char text[1024];
	uint32_t known = add_text(&table, 0, "user", "a"), sets = 0;
	for (int i = 0; i < 2 * LABEL_TABLE_MAX_TEXT_BYTES / (int)sizeof(text); i++) {
		memset(text, 'x', sizeof(text));
		snprintf(text, sizeof(text), "%d", i);
		sets += label_table_add(&table, known, "page", 4, LAYOUT_LABEL_TEXT, text,
				sizeof(text)) != known;
	}
	CHECK(sets > 1000 && table.text_bytes <= LABEL_TABLE_MAX_TEXT_BYTES);
	CHECK_INT(add_text(&table, 0, "user", "a"), known); /* what is there stays */
	memset(text, 'y', sizeof(text));
	CHECK_INT(label_table_add(&table, known, "page", 4, LAYOUT_LABEL_TEXT, text, sizeof(text)),
		known);
	label_table_deinit(&table);
}

TEST(a_million_sets_take_bounded_memory)
{
	struct label_table table = {0};
	uint32_t left_out = 0;
	for (uint64_t i = 0; i < 1000000; i++) {
		uint64_t first = i % 1000, second = i / 1000;
		uint32_t set = label_table_add(
			&table, 0, "a", 1, LAYOUT_LABEL_NUMBER, &first, sizeof(first));
		left_out += label_table_add(&table, set, "b", 1, LAYOUT_LABEL_NUMBER, &second,
				    sizeof(second)) == set;
	}
	CHECK_INT(table.sets.len, LABEL_TABLE_MAX_SETS + 1);
	CHECK_INT(left_out, 1000000 - (LABEL_TABLE_MAX_SETS - 1000));
	label_table_begin_file(&table);
	CHECK(label_table_wants_all(&table));
	CHECK_INT(table.sets.len, 0);
	label_table_forget_hashes(&table);
	CHECK(!label_table_wants_all(&table));
	label_table_begin_file(&table); /* there is room */
	CHECK(!label_table_wants_all(&table));
	label_table_deinit(&table);
}

/* ---- what the BPF side sends ---- */

struct wire {
	struct event_labels head;
	uint8_t bytes[1024];
};

static uint8_t *put_head(struct wire *wire, uint8_t source, uint8_t kind, size_t key, size_t value)
{
	struct event_label label = {.source = source,
		.kind = kind,
		.key_bytes = (uint16_t)key,
		.value_bytes = (uint16_t)value};
	memcpy(wire->bytes + wire->head.bytes, &label, sizeof(label));
	uint8_t *behind = wire->bytes + wire->head.bytes + sizeof(label);
	wire->head.bytes += (uint32_t)(sizeof(label) + ((key + 7) & ~7UL) + ((value + 7) & ~7UL));
	return behind;
}

static void put_text(struct wire *wire, const char *key, const char *value)
{
	size_t key_len = strlen(key), value_len = strlen(value);
	uint8_t *at = put_head(wire, EVENT_LABEL_GO, EVENT_LABEL_TEXT, key_len, value_len);
	for (size_t i = 0; i < key_len; i++)
		at[i] = (uint8_t)key[i];
	for (size_t i = 0; i < value_len; i++)
		at[((key_len + 7) & ~7UL) + i] = (uint8_t)value[i];
}

static void put_number(struct wire *wire, uint8_t source, uint64_t number)
{
	memcpy(put_head(wire, source, EVENT_LABEL_NUMBER, 0, sizeof(number)), &number,
		sizeof(number));
}

static uint32_t take(struct label_table *table, struct wire *wire, bool *is_short)
{
	wire->head.hash += 16;
	label_table_take(table, &wire->head, sizeof(wire->head) + wire->head.bytes);
	return label_table_find(table, wire->head.hash, is_short);
}

static void check_set(const struct label_table *table, uint32_t set, const char *want)
{
	CLEANUP(str_deinit) struct str text = {0};
	for (; set; set = table->sets.data[set].rest) {
		const struct label_set *it = &table->sets.data[set];
		const char *value = strtab_get(&table->texts, it->value);
		str_printf(&text, "%s=", strtab_get(&table->texts, it->key));
		if (it->kind == LAYOUT_LABEL_NUMBER)
			str_printf(&text, "%llu ", *(const unsigned long long *)value);
		else
			str_printf(&text, "%s ", value);
	}
	CHECK_STR(str_text(&text), want);
}

TEST(numbers_that_stand_for_texts_become_these)
{
	struct label_table table = {0};
	struct wire one = {0};
	bool is_short;
	put_number(&one, EVENT_LABEL_ERLANG_PROCESS, EVENT_LABEL_SCHEDULER);
	put_number(&one, EVENT_LABEL_ERLANG_PID, 12ULL << 32 | 345);
	check_set(&table, take(&table, &one, &is_short),
		"erlang-process=(scheduler) erlang-pid=<0.345.12> ");
	CHECK(!is_short);
	label_table_deinit(&table);
}

/* In whichever order they come, the last of a chain are those of which most sets have others. */
TEST(labels_become_a_set_in_the_order_of_their_keys)
{
	struct label_table table = {0};
	struct wire one = {0}, other = {.head.hash = 4096};
	bool is_short;
	put_number(&one, EVENT_LABEL_GOROUTINE, 17);
	put_text(&one, "user", "alice in a long text");
	put_text(&one, "page", "");
	put_text(&other, "page", "");
	put_text(&other, "user", "alice in a long text");
	put_number(&other, EVENT_LABEL_GOROUTINE, 17);
	uint32_t set = take(&table, &one, &is_short);
	check_set(&table, set, "goroutine=17 user=alice in a long text page= ");
	CHECK(!is_short);
	CHECK_INT(take(&table, &other, &is_short), set);
	CHECK_INT(label_table_find(&table, 1, &is_short), 0);
	CHECK(is_short); /* it never came */
	label_table_deinit(&table);
}

/* The program has one of that name itself. */
TEST(labels_of_the_program_come_before_ours)
{
	struct label_table table = {0};
	struct wire wire = {0};
	bool is_short;
	put_number(&wire, EVENT_LABEL_GOROUTINE, 17);
	put_text(&wire, "goroutine", "main");
	check_set(&table, take(&table, &wire, &is_short), "goroutine=main ");
	label_table_deinit(&table);
}

TEST(what_makes_no_sense_is_left)
{
	struct label_table table = {0};
	struct wire wire = {0};
	bool is_short;
	put_number(&wire, 99, 5); /* no key, and no source that has one */
	put_text(&wire, "a", "b");
	put_head(&wire, EVENT_LABEL_GOROUTINE, EVENT_LABEL_NUMBER, 0, 2);
	put_head(&wire, EVENT_LABEL_GO, EVENT_LABEL_TEXT, 60000, 60000);
	wire.head.bytes = 64;
	check_set(&table, take(&table, &wire, &is_short), "a=b ");
	CHECK(is_short);
	wire.head.bytes = UINT32_MAX; /* longer than the record */
	label_table_take(&table, &wire.head, sizeof(wire.head) + 40);
	label_table_deinit(&table);
}

/* Chains of functions by place, kept and encoded: the same comes back, and damage is refused. */
#include <stdio.h>
#include <string.h>

#include "format/file/chain_map.h"
#include "tests/unit/unit.h"

static const struct chain_frame inlined[] = {
	{.function = "leaf", .file = "a.h", .line = 7, .column = 3, .is_inlined = true},
	{.function = "_Z4mainv",
		.file = "a.c",
		.decl_file = "a.c",
		.line = 30,
		.decl_line = 28,
		.start = 0x1100},
};
static const struct chain nothing, two = {inlined, 2};

static struct bytes_buf encode_all(const struct chain_map *chains, size_t *parts)
{
	struct bytes_buf out = {0};
	*parts = 0;
	for (size_t next = 0; next < chain_map_count(chains); ++*parts)
		next = chain_map_encode(chains, next, &out);
	return out;
}

static const char *decode_all(struct chain_map *chains, const void *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	const char *fault = NULL;
	while (!fault && bytes_left(&cursor))
		fault = chain_map_decode(chains, &cursor);
	return fault;
}

static void check_two(const struct chain_map *chains, uint64_t offset)
{
	struct chain chain;
	CHECK(chain_map_find(chains, offset, &chain));
	CHECK_INT(chain.count, 2);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(chain.frames[i].function, inlined[i].function);
		CHECK_STR(chain.frames[i].file, inlined[i].file);
		CHECK_INT(chain.frames[i].line, inlined[i].line);
		CHECK_INT(chain.frames[i].column, inlined[i].column);
		CHECK_INT(chain.frames[i].decl_line, inlined[i].decl_line);
		CHECK_INT(chain.frames[i].is_inlined, inlined[i].is_inlined);
		CHECK_INT(chain.frames[i].start, inlined[i].start);
	}
	CHECK(!chain.frames[0].decl_file);
	CHECK_STR(chain.frames[1].decl_file, "a.c");
}

TEST(chain_map_come_back_as_they_were)
{
	struct chain_map chains = {.detail = CHAIN_MAP_INLINED}, again = {0};
	chain_map_add(&chains, 0x1234, &two);
	chain_map_add(&chains, 0x20, &nothing);
	chain_map_add(&chains, UINT64_MAX, &two);
	size_t parts;
	struct bytes_buf bytes = encode_all(&chains, &parts);
	CHECK_INT(parts, 1);
	CHECK(!decode_all(&again, bytes.data, bytes.len));
	CHECK_INT(chain_map_count(&again), 3);
	CHECK_INT(again.detail, CHAIN_MAP_INLINED);
	check_two(&again, 0x1234);
	check_two(&again, UINT64_MAX);
	struct chain chain = two;
	CHECK(chain_map_find(&again, 0x20, &chain));
	CHECK_INT(chain.count, 0);
	CHECK(!chain_map_find(&again, 0x21, &chain));
	bytes_buf_deinit(&bytes);
	chain_map_deinit(&chains);
	chain_map_deinit(&again);
}

/* What a later recorder may say of bounds is not known here. */
TEST(chain_map_with_unknown_bounds_have_none)
{
	struct chain_map chains = {0}, again = {0};
	struct chain_frame frame = {.start = 0x10, .bounds = CHAIN_BOUNDS_END + 5};
	struct chain_frame named = {.function = "f", .decl_line = CHAIN_BOUNDS_BY_CODE};
	chain_map_add(&chains, 1, &(struct chain){&frame, 1});
	chain_map_add(&chains, 2, &(struct chain){&named, 1});
	size_t parts;
	struct bytes_buf bytes = encode_all(&chains, &parts);
	CHECK(!decode_all(&again, bytes.data, bytes.len));
	struct chain chain;
	CHECK(chain_map_find(&again, 1, &chain) && chain.count == 1);
	CHECK_INT(chain.frames[0].bounds, CHAIN_BOUNDS_UNTOLD);
	CHECK_INT(chain.frames[0].decl_line, 0);
	CHECK_INT(chain.frames[0].start, 0x10);
	CHECK(chain_map_find(&again, 2, &chain) && chain.count == 1);
	CHECK_INT(chain.frames[0].bounds, CHAIN_BOUNDS_UNTOLD);
	CHECK_INT(chain.frames[0].decl_line, CHAIN_BOUNDS_BY_CODE); /* a line */
	bytes_buf_deinit(&bytes);
	chain_map_deinit(&chains);
	chain_map_deinit(&again);
}

TEST(chain_map_newer_ones_replace_older_ones)
{
	struct chain_map chains = {0};
	struct chain chain;
	chain_map_add(&chains, 1, &nothing);
	chain_map_add(&chains, 2, &two);
	CHECK(!chain_map_find_since(&chains, 2, 1, &chain));
	chain_map_add(&chains, 1, &two);
	check_two(&chains, 1);
	CHECK(chain_map_find_since(&chains, 2, 1, &chain));
	CHECK(!chain_map_find_since(&chains, 2, 2, &chain));
	chain_map_deinit(&chains);
}

/* Parts stay near 1 MiB, so that a chunk holds each. */
TEST(chain_map_many_make_several_parts)
{
	struct chain_map chains = {0}, again = {0};
	char name[32];
	for (uint64_t i = 0; i < 60000; i++) {
		snprintf(name, sizeof(name), "a_function_number_%u", (unsigned)i);
		struct chain_frame frame = {.function = name, .start = i * 8};
		chain_map_add(&chains, i * 8 + 3, &(struct chain){&frame, 1});
	}
	size_t parts;
	struct bytes_buf bytes = encode_all(&chains, &parts);
	CHECK(parts >= 2);
	CHECK(!decode_all(&again, bytes.data, bytes.len));
	CHECK_INT(chain_map_count(&again), 60000);
	struct chain chain;
	CHECK(chain_map_find(&again, 59999 * 8 + 3, &chain));
	CHECK_STR(chain.frames[0].function, "a_function_number_59999");
	CHECK_INT(chain.frames[0].start, 59999 * 8);
	bytes_buf_deinit(&bytes);
	chain_map_deinit(&chains);
	chain_map_deinit(&again);
}

/* What is too deep loses its innermost frames, what is too long its end. */
TEST(chain_map_are_bounded)
{
	struct chain_map chains = {0};
	static struct chain_frame frames[CHAIN_MAP_MAX_DEPTH + 10];
	static char name[2 * CHAIN_MAP_MAX_TEXT_BYTES];
	memset(name, 'x', sizeof(name) - 1);
	for (size_t i = 0; i < CHAIN_MAP_MAX_DEPTH + 10; i++)
		frames[i] = (struct chain_frame){.function = name, .line = (uint32_t)i};
	chain_map_add(&chains, 5, &(struct chain){frames, CHAIN_MAP_MAX_DEPTH + 10});
	struct chain chain;
	CHECK(chain_map_find(&chains, 5, &chain));
	CHECK_INT(chain.count, CHAIN_MAP_MAX_DEPTH);
	CHECK_INT(chain.frames[0].line, 10);
	CHECK_INT(strlen(chain.frames[0].function), CHAIN_MAP_MAX_TEXT_BYTES);
	chain_map_deinit(&chains);
}

static void check_refused(const struct bytes_buf *bytes)
{
	struct chain_map chains = {0};
	CHECK(decode_all(&chains, bytes->data, bytes->len));
	chain_map_deinit(&chains);
}

TEST(chain_map_refuse_what_cannot_be)
{
	static const struct {
		size_t len;
		uint8_t bytes[16];
	} bad[] = {
		{2, {0, 9}},                             /* more texts than bytes */
		{4, {0, 1, 1, 'a'}},                     /* a text without an end */
		{5, {0, 1, 2, 0, 0}},                    /* ... with two */
		{4, {0, 0, 1, 2}},                       /* a chain that is cut */
		{5, {0, 0, 1, 2, 3}},                    /* frames that are not there */
		{11, {0, 0, 1, 2, 1, 1, 0, 0, 0, 0, 0}}, /* a text that is not there */
		{6, {0, 0, 1, 2, 0xff, 0x7f}},           /* too deep */
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct bytes_buf bytes = {0};
		bytes_put(&bytes, bad[i].bytes, bad[i].len);
		check_refused(&bytes);
		bytes_buf_deinit(&bytes);
	}
	/* Any cut of something sound is refused or is something sound. */
	struct chain_map chains = {0};
	chain_map_add(&chains, 0x1234, &two);
	size_t parts;
	struct bytes_buf bytes = encode_all(&chains, &parts);
	for (size_t len = 1; len < bytes.len; len++) {
		struct chain_map again = {0};
		CHECK(decode_all(&again, bytes.data, len));
		chain_map_deinit(&again);
	}
	bytes_buf_deinit(&bytes);
	chain_map_deinit(&chains);
}

TEST(chain_map_taken_as_a_whole_know_their_texts)
{
	struct chain_map chains = {0}, again = {0};
	chain_map_add(&chains, 0x1234, &two);
	chain_map_add(&chains, 0x20, &nothing);
	struct bytes_buf bytes = {0};
	chain_map_encode_all(&chains, &bytes);
	CHECK(!chain_map_take(&again, bytes.data, bytes.len));
	check_two(&again, 0x1234);
	/* What is added is one text with what was there. */
	chain_map_add(&again, 0x30, &two);
	struct chain taken, added;
	CHECK(chain_map_find(&again, 0x1234, &taken));
	CHECK(chain_map_find(&again, 0x30, &added));
	CHECK(taken.frames[0].function == added.frames[0].function);
	CHECK(taken.frames[1].function == added.frames[1].function);
	CHECK(taken.frames[1].file == taken.frames[1].decl_file);
	chain_map_deinit(&chains);
	chain_map_deinit(&again);
}

TEST(chain_map_taken_damaged_are_refused)
{
	struct chain_map chains = {0};
	chain_map_add(&chains, 0x1234, &two);
	struct bytes_buf bytes = {0};
	chain_map_encode_all(&chains, &bytes);
	for (size_t len = 1; len < bytes.len; len++) {
		struct chain_map again = {0};
		uint8_t *copy = mem_alloc(len);
		memcpy(copy, bytes.data, len);
		CHECK(chain_map_take(&again, copy, len));
		chain_map_deinit(&again);
	}
	bytes_buf_deinit(&bytes);
	chain_map_deinit(&chains);
}

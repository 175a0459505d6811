/* What symbolization answered, kept and encoded: the same comes back, and damage is refused. */
#include <stdio.h>
#include <string.h>

#include "format/file/answers.h"
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

static struct bytes_buf encode_all(const struct answers *answers, size_t *parts)
{
	struct bytes_buf out = {0};
	*parts = 0;
	for (size_t next = 0; next < answers_count(answers); ++*parts)
		next = answers_encode(answers, next, &out);
	return out;
}

static const char *decode_all(struct answers *answers, const void *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	const char *fault = NULL;
	while (!fault && bytes_left(&cursor))
		fault = answers_decode(answers, &cursor);
	return fault;
}

static void check_two(const struct answers *answers, uint64_t offset)
{
	struct chain chain;
	CHECK(answers_find(answers, offset, &chain));
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

TEST(answers_come_back_as_they_were)
{
	struct answers answers = {.detail = ANSWERS_INLINED}, again = {0};
	answers_add(&answers, 0x1234, &two);
	answers_add(&answers, 0x20, &nothing);
	answers_add(&answers, UINT64_MAX, &two);
	size_t parts;
	struct bytes_buf bytes = encode_all(&answers, &parts);
	CHECK_INT(parts, 1);
	CHECK(!decode_all(&again, bytes.data, bytes.len));
	CHECK_INT(answers_count(&again), 3);
	CHECK_INT(again.detail, ANSWERS_INLINED);
	check_two(&again, 0x1234);
	check_two(&again, UINT64_MAX);
	struct chain chain = two;
	CHECK(answers_find(&again, 0x20, &chain));
	CHECK_INT(chain.count, 0);
	CHECK(!answers_find(&again, 0x21, &chain));
	bytes_buf_deinit(&bytes);
	answers_deinit(&answers);
	answers_deinit(&again);
}

TEST(answers_newer_ones_replace_older_ones)
{
	struct answers answers = {0};
	struct chain chain;
	answers_add(&answers, 1, &nothing);
	answers_add(&answers, 2, &two);
	CHECK(!answers_find_since(&answers, 2, 1, &chain));
	answers_add(&answers, 1, &two);
	check_two(&answers, 1);
	CHECK(answers_find_since(&answers, 2, 1, &chain));
	CHECK(!answers_find_since(&answers, 2, 2, &chain));
	answers_deinit(&answers);
}

/* Parts stay near 1 MiB, so that a chunk holds each. */
TEST(answers_many_make_several_parts)
{
	struct answers answers = {0}, again = {0};
	char name[32];
	for (uint64_t i = 0; i < 60000; i++) {
		snprintf(name, sizeof(name), "a_function_number_%u", (unsigned)i);
		struct chain_frame frame = {.function = name, .start = i * 8};
		answers_add(&answers, i * 8 + 3, &(struct chain){&frame, 1});
	}
	size_t parts;
	struct bytes_buf bytes = encode_all(&answers, &parts);
	CHECK(parts >= 2);
	CHECK(!decode_all(&again, bytes.data, bytes.len));
	CHECK_INT(answers_count(&again), 60000);
	struct chain chain;
	CHECK(answers_find(&again, 59999 * 8 + 3, &chain));
	CHECK_STR(chain.frames[0].function, "a_function_number_59999");
	CHECK_INT(chain.frames[0].start, 59999 * 8);
	bytes_buf_deinit(&bytes);
	answers_deinit(&answers);
	answers_deinit(&again);
}

/* What is too deep loses its innermost frames, what is too long its end. */
TEST(answers_are_bounded)
{
	struct answers answers = {0};
	static struct chain_frame frames[ANSWERS_MAX_DEPTH + 10];
	static char name[2 * ANSWERS_MAX_TEXT_BYTES];
	memset(name, 'x', sizeof(name) - 1);
	for (size_t i = 0; i < ANSWERS_MAX_DEPTH + 10; i++)
		frames[i] = (struct chain_frame){.function = name, .line = (uint32_t)i};
	answers_add(&answers, 5, &(struct chain){frames, ANSWERS_MAX_DEPTH + 10});
	struct chain chain;
	CHECK(answers_find(&answers, 5, &chain));
	CHECK_INT(chain.count, ANSWERS_MAX_DEPTH);
	CHECK_INT(chain.frames[0].line, 10);
	CHECK_INT(strlen(chain.frames[0].function), ANSWERS_MAX_TEXT_BYTES);
	answers_deinit(&answers);
}

static void check_refused(const struct bytes_buf *bytes)
{
	struct answers answers = {0};
	CHECK(decode_all(&answers, bytes->data, bytes->len));
	answers_deinit(&answers);
}

TEST(answers_refuse_what_cannot_be)
{
	static const struct {
		size_t len;
		uint8_t bytes[16];
	} bad[] = {
		{2, {0, 9}},                             /* more texts than bytes */
		{4, {0, 1, 1, 'a'}},                     /* a text without an end */
		{5, {0, 1, 2, 0, 0}},                    /* ... with two */
		{4, {0, 0, 1, 2}},                       /* an answer that is cut */
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
	struct answers answers = {0};
	answers_add(&answers, 0x1234, &two);
	size_t parts;
	struct bytes_buf bytes = encode_all(&answers, &parts);
	for (size_t len = 1; len < bytes.len; len++) {
		struct answers again = {0};
		CHECK(decode_all(&again, bytes.data, len));
		answers_deinit(&again);
	}
	bytes_buf_deinit(&bytes);
	answers_deinit(&answers);
}

TEST(answers_taken_as_a_whole_know_their_texts)
{
	struct answers answers = {0}, again = {0};
	answers_add(&answers, 0x1234, &two);
	answers_add(&answers, 0x20, &nothing);
	struct bytes_buf bytes = {0};
	answers_encode_all(&answers, &bytes);
	CHECK(!answers_take(&again, bytes.data, bytes.len));
	check_two(&again, 0x1234);
	/* What is added is one text with what was there. */
	answers_add(&again, 0x30, &two);
	struct chain taken, added;
	CHECK(answers_find(&again, 0x1234, &taken));
	CHECK(answers_find(&again, 0x30, &added));
	CHECK(taken.frames[0].function == added.frames[0].function);
	CHECK(taken.frames[1].function == added.frames[1].function);
	CHECK(taken.frames[1].file == taken.frames[1].decl_file);
	answers_deinit(&answers);
	answers_deinit(&again);
}

TEST(answers_taken_damaged_are_refused)
{
	struct answers answers = {0};
	answers_add(&answers, 0x1234, &two);
	struct bytes_buf bytes = {0};
	answers_encode_all(&answers, &bytes);
	for (size_t len = 1; len < bytes.len; len++) {
		struct answers again = {0};
		uint8_t *copy = mem_alloc(len);
		memcpy(copy, bytes.data, len);
		CHECK(answers_take(&again, copy, len));
		answers_deinit(&again);
	}
	bytes_buf_deinit(&bytes);
	answers_deinit(&answers);
}

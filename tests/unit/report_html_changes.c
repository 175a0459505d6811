/* What a page of two recordings lists of them. */
#include "report/write/export/html_changes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/compare/diff_lists.h"
#include "report/write/diff/diff_words.h"
#include "tests/unit/unit.h"

/* Of a fifth of the program on both sides; no more is known. */
static struct diff_judgement judgement_of(enum diff_verdict verdict)
{
	return (struct diff_judgement){
		.sides = {{100, 0.2, 1e8}, {125, 0.25, 1.25e8}},
		.is_tested = true,
		.effect = 0.25,
		.low = 0.125,
		.high = 0.5,
		.p = 0.001,
		.adjusted_p = 0.002,
		.verdict = verdict,
	};
}

static void begin_difference(struct difference *ret)
{
	*ret = (struct difference){
		.options = DIFF_OPTIONS_DEFAULT,
		.event = "cpu-clock",
		.unit = "ns",
		.program = judgement_of(DIFF_INCONCLUSIVE),
		.program_reason = "needs two runs a side",
		.verdict = DIFF_REGRESSION,
	};
}

static void put_row(struct difference *diff, uint32_t entity, const char *name,
	enum diff_verdict self, enum diff_verdict total)
{
	struct diff_row row = {.entity = entity,
		.name = name,
		.object = "x.so",
		.is_known = true,
		.self = judgement_of(self),
		.total = judgement_of(total)};
	for (int side = 0; self != total && side < MATCH_SIDES; side++) /* it calls others */
		row.self.sides[side].share /= 10;
	vec_push(&diff->rows, row);
}

static void want_text(struct bytes_cursor *cursor, const char *want)
{
	uint64_t len = bytes_get_varint(cursor);
	const uint8_t *text = bytes_get(cursor, len);
	CHECK(text && len == strlen(want) && memcmp(text, want, len) == 0);
}

static void skip_texts(struct bytes_cursor *cursor, uint64_t count)
{
	while (count--)
		bytes_get(cursor, bytes_get_varint(cursor));
}

TEST(html_changes_of_sides_that_cannot_be_compared)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf out = {0};
	html_changes_put(NULL, NULL, &out);
	CHECK_INT(out.len, 1);
	CHECK_INT(out.data[0], 0);
}

/* The page's functions are 1 (the tree's 4) and 2 (the tree's 2). */
TEST(html_changes_name_functions_as_the_page_numbers_them)
{
	struct difference diff;
	const uint32_t numbers[] = {[4] = 2, [2] = 3};
	CLEANUP(bytes_buf_deinit) struct bytes_buf out = {0};
	begin_difference(&diff);
	put_row(&diff, 2, "slower", DIFF_REGRESSION, DIFF_REGRESSION);
	put_row(&diff, 3, "away", DIFF_IMPROVEMENT, DIFF_IMPROVEMENT);
	put_row(&diff, 4, "caller", DIFF_SAME, DIFF_REGRESSION);
	html_changes_put(&diff, numbers, &out);
	struct bytes_cursor cursor = bytes_cursor(out.data, out.len);
	static const struct {
		uint64_t function; /* of the page, plus 1 */
		const char *name;  /* NULL: the list is empty */
	} lists[DIFF_LISTS] = {
		[DIFF_LIST_REGRESSIONS] = {3, "slower"},
		[DIFF_LIST_IMPROVEMENTS] = {0, "away"}, /* the page has folded it */
		[DIFF_LIST_CALLERS] = {2, "caller"},
	};
	CHECK_INT(bytes_get_varint(&cursor), DIFF_LISTS);
	for (int list = 0; list < DIFF_LISTS; list++) {
		CHECK_INT(bytes_get_varint(&cursor), lists[list].name != NULL);
		CHECK_INT(bytes_get_varint(&cursor), lists[list].name != NULL);
		if (!lists[list].name)
			continue;
		CHECK_INT(bytes_get_varint(&cursor), lists[list].function);
		want_text(&cursor, lists[list].name);
		want_text(&cursor, "20.00%");
		want_text(&cursor, "25.00%");
		want_text(&cursor, "+25.0%");
		want_text(&cursor, "+12.5% .. +50.0%");
	}
	uint64_t nr_sentences = bytes_get_varint(&cursor);
	CHECK(nr_sentences > 0);
	skip_texts(&cursor, nr_sentences);
	CHECK(!cursor.overrun && !bytes_left(&cursor));
	vec_deinit(&diff.rows);
}

/* It says how many there are, and has the first 500. */
TEST(html_changes_have_an_end)
{
	enum {
		ROWS = 501,
		SHOWN = 500,
		TEXTS = 5
	};
	struct difference diff;
	const uint32_t numbers[] = {0};
	CLEANUP(bytes_buf_deinit) struct bytes_buf out = {0};
	begin_difference(&diff);
	for (int i = 0; i < ROWS; i++)
		put_row(&diff, 0, i < SHOWN ? "shown" : "left out", DIFF_REGRESSION, DIFF_SAME);
	html_changes_put(&diff, numbers, &out);
	struct bytes_cursor cursor = bytes_cursor(out.data, out.len);
	CHECK_INT(bytes_get_varint(&cursor), DIFF_LISTS);
	CHECK_INT(bytes_get_varint(&cursor), ROWS);
	CHECK_INT(bytes_get_varint(&cursor), SHOWN);
	for (int i = 0; i < SHOWN; i++) {
		CHECK_INT(bytes_get_varint(&cursor), 0);
		want_text(&cursor, "shown");
		skip_texts(&cursor, TEXTS - 1);
	}
	for (int list = 1; list < DIFF_LISTS; list++) {
		CHECK_INT(bytes_get_varint(&cursor), 0);
		CHECK_INT(bytes_get_varint(&cursor), 0);
	}
	CHECK(!cursor.overrun);
	vec_deinit(&diff.rows);
}

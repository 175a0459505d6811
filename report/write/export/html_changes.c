#include "report/write/export/html_changes.h"

#include "report/compare/diff_lists.h"
#include "report/write/diff/diff_words.h"

enum {
	ROWS_MAX = 500, /* of a list */
};

struct html_changes {
	const struct difference *judged;
	const uint32_t *numbers; /* of html_changes_put() */
	struct bytes_buf *out;
};

static void html_changes_put_text(struct html_changes *changes, const struct str *text)
{
	bytes_put_blob(changes->out, text->data, text->len);
}

static const struct diff_judgement *html_changes_judgement(
	const struct diff_row *row, enum diff_list list)
{
	return list == DIFF_LIST_CALLERS ? &row->total : &row->self;
}

static void html_changes_put_row(
	struct html_changes *changes, const struct diff_row *row, enum diff_list list)
{
	const struct diff_judgement *judgement = html_changes_judgement(row, list);
	CLEANUP(str_deinit) struct str text = {0};
	bytes_put_varint(changes->out, changes->numbers[row->entity]);
	diff_put_name(&text, changes->judged, row);
	html_changes_put_text(changes, &text);
	for (int side = 0; side < MATCH_SIDES; side++) {
		str_truncate(&text, 0);
		diff_put_amount(&text, changes->judged, &judgement->sides[side]);
		html_changes_put_text(changes, &text);
	}
	str_truncate(&text, 0);
	diff_put_change(&text, judgement);
	html_changes_put_text(changes, &text);
	str_truncate(&text, 0);
	diff_put_interval(&text, judgement);
	html_changes_put_text(changes, &text);
}

static void html_changes_put_list(struct html_changes *changes, enum diff_list list)
{
	size_t count = 0, put = 0;
	vec_each(&changes->judged->rows, row)
		count += diff_is_in_list(changes->judged, row, list);
	bytes_put_varint(changes->out, count);
	bytes_put_varint(changes->out, count < ROWS_MAX ? count : ROWS_MAX);
	vec_each(&changes->judged->rows, row)
		if (diff_is_in_list(changes->judged, row, list) && put++ < ROWS_MAX)
			html_changes_put_row(changes, row, list);
}

typedef void html_changes_sentence_fn(struct str *out, const struct difference *diff);

static void html_changes_put_sentences(struct html_changes *changes)
{
	static html_changes_sentence_fn *const sentences[] = {
		diff_put_program, diff_put_caveats, diff_put_same, diff_put_detectable};
	enum {
		COUNT = sizeof(sentences) / sizeof(*sentences)
	};
	bytes_put_varint(changes->out, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		CLEANUP(str_deinit) struct str text = {0};
		sentences[i](&text, changes->judged);
		html_changes_put_text(changes, &text);
	}
}

void html_changes_put(
	const struct difference *judged, const uint32_t *numbers, struct bytes_buf *out)
{
	struct html_changes changes = {judged, numbers, out};
	bytes_put_varint(out, judged ? DIFF_LISTS : 0);
	if (!judged)
		return;
	for (int list = 0; list < DIFF_LISTS; list++)
		html_changes_put_list(&changes, (enum diff_list)list);
	html_changes_put_sentences(&changes);
}

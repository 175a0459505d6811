/*
 * GitHub Flavored Markdown, for $GITHUB_STEP_SUMMARY and for comments of merge requests: the
 * verdict, tables of what changed, the rest folded away.
 *
 * What comes from a recording stands in code spans only: in them there is no markup, no link, no
 * mention and no HTML (GFM spec 0.29, 6.3), and GitHub and GitLab look for none of theirs either.
 * What is left to watch is the span's own end, and pipes, which end a table's cell even there
 * (4.10).
 */
#include <string.h>

#include "report/compare/diff_lists.h"
#include "report/write/diff/diff_words.h"
#include "report/write/diff/diff_writer.h"

enum {
	/* Of a step's summary; GitHub shows none that is larger. Source: its documentation,
	 * "Workflow commands", step isolation and limits. */
	SUMMARY_BYTES = 1 << 20,
	REST_BYTES = 32 << 10, /* of that, for what follows on lists of rows */
	NAME_WIDTH = 200,      /* code points */
};

struct writing {
	const struct difference *diff;
	const struct diff_writer_options *options;
	struct str out;
};

/* ---- foreign text ---- */

static size_t longest_run(const char *text, size_t len, char c)
{
	size_t longest = 0, run = 0;
	for (size_t i = 0; i < len; i++) {
		run = text[i] == c ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Readers differ in what backslashes in front of a pipe mean, but not with none there. */
static void put_cell_text(struct str *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] != '|')
			str_putc(out, text[i]);
		else
			str_puts(out, i && text[i - 1] == '\\' ? "\\x7c" : "\\|");
}

/* Fences are longer than any run within; a space is taken off where both ends have one. */
static void diff_markdown_put_code(struct str *out, const struct str *escaped, bool is_cell)
{
	CLEANUP(str_deinit) struct str text = {0};
	diff_put_elided(&text, str_text(escaped), escaped->len, NAME_WIDTH);
	if (!text.len)
		return;
	size_t fence = longest_run(text.data, text.len, '`') + 1;
	char first = text.data[0], last = text.data[text.len - 1];
	bool is_padded = first == '`' || first == ' ' || last == '`' || last == ' ';
	str_pad(out, '`', fence);
	str_pad(out, ' ', is_padded);
	if (is_cell)
		put_cell_text(out, text.data, text.len);
	else
		str_write(out, text.data, text.len);
	str_pad(out, ' ', is_padded);
	str_pad(out, '`', fence);
}

static void diff_markdown_put_name(
	struct str *out, const struct difference *diff, const struct diff_row *row)
{
	diff_put_name_within(out, diff, row, NAME_WIDTH);
}

static void put_name_in_sentence(
	struct str *out, const struct difference *diff, const struct diff_row *row)
{
	CLEANUP(str_deinit) struct str name = {0};
	diff_markdown_put_name(&name, diff, row);
	diff_markdown_put_code(out, &name, false);
}

static void diff_markdown_put_cell(
	struct writing *writing, const struct diff_row *row, diff_name_fn *put)
{
	CLEANUP(str_deinit) struct str text = {0};
	put(&text, writing->diff, row);
	diff_markdown_put_code(&writing->out, &text, true);
	str_puts(&writing->out, " | ");
}

/* ---- rows ---- */

/* By file and by line, the name says it. */
static bool has_whereabouts(const struct writing *writing)
{
	enum diff_by by = writing->diff->options.by;
	return by == DIFF_BY_FUNCTION || by == DIFF_BY_STACK;
}

static void diff_markdown_put_row(struct writing *writing, const struct diff_row *row)
{
	const struct diff_judgement *self = &row->self;
	struct str *out = &writing->out;
	str_puts(out, "| ");
	diff_put_amount(out, writing->diff, &self->sides[MATCH_BASE]);
	str_puts(out, " | ");
	diff_put_amount(out, writing->diff, &self->sides[MATCH_NEW]);
	str_puts(out, " | ");
	diff_put_change(out, self);
	str_puts(out, " | ");
	diff_put_interval(out, self);
	str_puts(out, " | ");
	diff_put_p(out, self->adjusted_p);
	str_puts(out, " | ");
	diff_markdown_put_cell(writing, row, diff_markdown_put_name);
	if (has_whereabouts(writing))
		diff_markdown_put_cell(writing, row, diff_put_whereabouts);
	out->data[out->len - 1] = '\n';
}

static void diff_markdown_put_head(struct writing *writing)
{
	const struct diff_options *options = &writing->diff->options;
	const char *rest = has_whereabouts(writing) ? " where |" : "";
	str_printf(&writing->out, "| before | new | change | %g%% interval | p | %s |%s\n",
		100 - 100 * options->alpha, diff_by_word(options->by), rest);
	str_printf(&writing->out, "|--:|--:|--:|--:|--:|:--|%s\n", rest[0] ? ":--|" : "");
}

static bool diff_markdown_has_room(const struct writing *writing)
{
	return writing->out.len < SUMMARY_BYTES - REST_BYTES;
}

static void diff_markdown_put_table(struct writing *writing, enum diff_verdict verdict)
{
	size_t limit = writing->options->limit, shown = 0;
	size_t count = diff_count(writing->diff, verdict);
	diff_markdown_put_head(writing);
	vec_each(&writing->diff->rows, row) {
		if (!row->self.is_tested || row->self.verdict != verdict)
			continue;
		if ((limit && shown == limit) || !diff_markdown_has_room(writing))
			break;
		diff_markdown_put_row(writing, row);
		shown++;
	}
	if (shown < count)
		str_printf(&writing->out, "\n%zu more are left out%s.\n", count - shown,
			limit && shown == limit ? " (--limit)"
						: ": a summary holds no more than 1 MiB");
}

static void diff_markdown_put_list(
	struct writing *writing, enum diff_verdict verdict, const char *title)
{
	size_t count = diff_count(writing->diff, verdict);
	if (!count)
		return;
	str_printf(&writing->out, "\n### %s (%zu)\n\n", title, count);
	diff_markdown_put_table(writing, verdict);
}

static void diff_markdown_put_folded(
	struct writing *writing, enum diff_verdict verdict, const char *title)
{
	size_t count = diff_count(writing->diff, verdict);
	if (!count)
		return;
	str_printf(&writing->out,
		"\n<details><summary>%s: %zu, with %.1f%% of the samples</summary>\n\n", title,
		count, 100 * diff_share_of(writing->diff, verdict));
	diff_markdown_put_table(writing, verdict);
	str_puts(&writing->out, "\n</details>\n");
}

/* ---- sentences ---- */

static void put_text_in_sentence(struct str *out, const char *text)
{
	CLEANUP(str_deinit) struct str escaped = {0};
	str_puts_escaped(&escaped, text);
	diff_markdown_put_code(out, &escaped, false);
}

static const struct diff_naming naming_in_code = {put_name_in_sentence, put_text_in_sentence};

/* Its first word, in front of a colon, is what everybody looks for. */
static void put_verdict(struct writing *writing)
{
	CLEANUP(str_deinit) struct str text = {0};
	diff_put_verdict_naming(&text, writing->diff, &naming_in_code);
	const char *sentence = str_text(&text);
	int len = (int)strcspn(sentence, ":");
	str_printf(&writing->out, "**%.*s**%s\n", len, sentence, sentence + len);
}

static void put_caveats(struct str *out, const struct difference *diff)
{
	diff_put_caveats_naming(out, diff, &naming_in_code);
}

typedef void sentence_fn(struct str *out, const struct difference *diff);

static void put_paragraph(struct writing *writing, sentence_fn *put)
{
	CLEANUP(str_deinit) struct str text = {0};
	put(&text, writing->diff);
	if (text.len)
		str_printf(&writing->out, "\n%s\n", str_text(&text));
}

static void diff_markdown_put_side(
	struct writing *writing, enum match_side which, const char *title, const char *name)
{
	const struct diff_side *side = &writing->diff->sides[which];
	CLEANUP(str_deinit) struct str escaped = {0};
	str_puts_escaped(&escaped, name);
	str_printf(&writing->out, "%s", title);
	diff_markdown_put_code(&writing->out, &escaped, false);
	str_printf(&writing->out, " (%zu %s, %llu %s)", side->runs.len,
		str_plural(side->runs.len, "run", "runs"), (unsigned long long)side->samples,
		str_plural(side->samples, "sample", "samples"));
}

struct err *diff_markdown(const struct difference *diff, const struct diff_writer_options *options,
	struct byte_sink sink)
{
	struct writing writing = {.diff = diff, .options = options};
	put_verdict(&writing);
	diff_markdown_put_side(&writing, MATCH_BASE, "\nCompared: ", options->base_name);
	diff_markdown_put_side(&writing, MATCH_NEW, " with ", options->new_name);
	str_puts(&writing.out, ".\n");
	put_paragraph(&writing, diff_put_program);
	put_paragraph(&writing, put_caveats);
	diff_markdown_put_list(&writing, DIFF_REGRESSION, "Regressions");
	diff_markdown_put_list(&writing, DIFF_IMPROVEMENT, "Improvements");
	diff_markdown_put_folded(&writing, DIFF_INCONCLUSIVE, "Inconclusive");
	diff_markdown_put_folded(&writing, DIFF_SAME, "Not changed");
	put_paragraph(&writing, diff_put_same);
	put_paragraph(&writing, diff_put_detectable);
	struct err *err = sink.write(sink.context, str_text(&writing.out), writing.out.len);
	str_deinit(&writing.out);
	return err;
}

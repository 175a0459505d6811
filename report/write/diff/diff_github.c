/*
 * Workflow commands of GitHub's runner, which make annotations at source lines: an error for each
 * regression, a notice for each improvement, a warning where all is inconclusive.
 *
 * Source: actions/runner, ActionCommand.TryParseV2: a line that begins with "::", the command, a
 * space, NAME=VALUE separated by commas, "::", the message. Decoded are %25 %0D %0A, in values %3A
 * %2C, too. More than 10 annotations of a kind are not shown (actions/toolkit,
 * docs/problem-matchers.md), so the last one says how many there are besides.
 */
#include <string.h>

#include "format/base/hex.h"
#include "report/compare/diff_lists.h"
#include "report/write/diff/diff_annotation.h"
#include "report/write/diff/diff_words.h"

enum {
	SHOWN_MAX = 10, /* of each kind, in a step */
};

struct writing {
	const struct difference *diff;
	const struct diff_writer_options *options;
	struct str out;
};

/* ---- commands ---- */

static void put_encoded(struct str *out, const char *text, const char *reserved)
{
	for (; *text; text++)
		if (strchr(reserved, *text))
			hex_put_percent(out, *text);
		else
			str_putc(out, *text);
}

static void diff_github_put_message(struct str *out, const struct str *text)
{
	str_puts(out, "::");
	put_encoded(out, str_text(text), "%\r\n");
	str_putc(out, '\n');
}

static void diff_github_put_property(struct str *out, const char *key, const char *text)
{
	CLEANUP(str_deinit) struct str safe = {0};
	str_puts_escaped(&safe, text);
	str_printf(out, "%s=", key);
	put_encoded(out, str_text(&safe), "%\r\n:,");
}

/* ::error file=src/a.c,line=12,title=...   Where the place is not known, only the title. */
static void put_command(struct writing *writing, const char *kind, const struct diff_row *row,
	const struct str *title)
{
	struct str *out = &writing->out;
	str_printf(out, "::%s ", kind);
	if (row && row->file && row->file[0]) {
		CLEANUP(str_deinit) struct str file = {0};
		diff_put_source_path(&file, writing->options, row->file);
		diff_github_put_property(out, "file", str_text(&file));
		if (row->line)
			str_printf(out, ",line=%u", row->line);
		str_putc(out, ',');
	}
	diff_github_put_property(out, "title", str_text(title));
}

/* ---- annotations ---- */

static void diff_github_put_row(
	struct writing *writing, const char *kind, const struct diff_row *row)
{
	CLEANUP(str_deinit) struct str title = {0}, message = {0};
	diff_put_annotated_name(&title, writing->diff, row);
	str_puts(&title, ": ");
	diff_put_effect(&title, row->self.effect);
	diff_put_annotation(&message, writing->diff, row);
	put_command(writing, kind, row, &title);
	diff_github_put_message(&writing->out, &message);
}

typedef void sentence_fn(struct str *out, const struct difference *diff);

static void diff_github_put_sentence(
	struct writing *writing, const char *kind, const char *text, sentence_fn *put)
{
	CLEANUP(str_deinit) struct str title = {0}, message = {0};
	str_puts(&title, text);
	put(&message, writing->diff);
	put_command(writing, kind, NULL, &title);
	diff_github_put_message(&writing->out, &message);
}

static void diff_github_put_others(struct writing *writing, const char *kind, size_t count)
{
	CLEANUP(str_deinit) struct str title = {0}, message = {0};
	str_printf(&title, "%zu more", count);
	str_printf(&message, "%zu more are not shown here: GitHub shows %d of a kind.", count,
		SHOWN_MAX);
	put_command(writing, kind, NULL, &title);
	diff_github_put_message(&writing->out, &message);
}

/* `room`: how many of this kind may still be shown. */
static void diff_github_put_rows(
	struct writing *writing, enum diff_verdict verdict, const char *kind, size_t room)
{
	size_t count = diff_count(writing->diff, verdict), shown = 0;
	size_t rows = count > room ? room - 1 : count;
	vec_each(&writing->diff->rows, row) {
		if (shown == rows)
			break;
		if (!row->self.is_tested || row->self.verdict != verdict)
			continue;
		diff_github_put_row(writing, kind, row);
		shown++;
	}
	if (shown < count)
		diff_github_put_others(writing, kind, count - shown);
}

struct err *diff_github(const struct difference *diff, const struct diff_writer_options *options,
	struct byte_sink sink)
{
	struct writing writing = {.diff = diff, .options = options};
	bool is_program_slower = diff->program.verdict == DIFF_REGRESSION;
	CLEANUP(str_deinit) struct str parts = {0};
	diff_put_replacements(&parts, diff);
	if (diff->verdict == DIFF_INCONCLUSIVE)
		diff_github_put_sentence(
			&writing, "warning", "ebprof: inconclusive", diff_put_verdict);
	if (diff->verdict == DIFF_SAME)
		diff_github_put_sentence(&writing, "notice", "ebprof", diff_put_verdict);
	if (is_program_slower)
		diff_github_put_sentence(
			&writing, "error", diff_whole_word(diff), diff_put_program);
	if (parts.len)
		diff_github_put_sentence(
			&writing, "error", "ebprof: rewritten code", diff_put_replacements);
	diff_github_put_rows(&writing, DIFF_REGRESSION, "error",
		SHOWN_MAX - is_program_slower - (parts.len > 0));
	diff_github_put_rows(
		&writing, DIFF_IMPROVEMENT, "notice", SHOWN_MAX - (diff->verdict == DIFF_SAME));
	struct err *err = sink.write(sink.context, str_text(&writing.out), writing.out.len);
	str_deinit(&writing.out);
	return err;
}

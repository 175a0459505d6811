/*
 * JUnit's XML, as Jenkins, GitLab and others read it: a testcase for each row that has as much as
 * min_share, and one for the whole program. A regression is a failure, what is inconclusive is
 * skipped.
 *
 * Only what all readers' schemas allow is used (Jenkins' xunit-plugin, junit-10.xsd, which pytest
 * tests its reports by, too): a testcase has no file and no line, so those stand in its text.
 */
#include <math.h>
#include <string.h>

#include "format/base/path.h"
#include "report/model/text/markup.h"
#include "report/write/diff/diff_words.h"
#include "report/write/diff/diff_writer.h"

struct writing {
	const struct difference *diff;
	const struct diff_writer_options *options;
	struct str out;
};

/* ---- pieces ---- */

static void put_attribute(struct str *out, const char *key, const char *text)
{
	str_printf(out, " %s=\"", key);
	markup_put(out, text, strlen(text));
	str_putc(out, '"');
}

static void diff_junit_put_property(struct writing *writing, const char *name, const char *value)
{
	str_puts(&writing->out, "<property");
	put_attribute(&writing->out, "name", name);
	put_attribute(&writing->out, "value", value);
	str_puts(&writing->out, "/>\n");
}

/* Readers add up the seconds of testcases: they are the CPU's in a run, where those are known. */
static void diff_junit_put_time(struct writing *writing, const struct diff_judgement *judgement)
{
	if (strcmp(writing->diff->unit, "ns") == 0)
		str_printf(
			&writing->out, " time=\"%.3f\"", judgement->sides[MATCH_NEW].value / 1e9);
}

/* ---- testcases ---- */

enum outcome {
	PASSED,
	FAILED,
	SKIPPED,
};

static enum outcome outcome_of(const struct diff_judgement *judgement)
{
	return judgement->verdict == DIFF_REGRESSION     ? FAILED
	       : judgement->verdict == DIFF_INCONCLUSIVE ? SKIPPED
							 : PASSED;
}

/* The whole program has a verdict only where there is no reason against one. */
static enum outcome outcome_of_program(const struct difference *diff)
{
	return diff->program_reason ? SKIPPED : outcome_of(&diff->program);
}

static bool is_testcase(const struct difference *diff, const struct diff_row *row)
{
	const struct diff_judgement *self = &row->self;
	double share = fmax(self->sides[MATCH_BASE].share, self->sides[MATCH_NEW].share);
	return self->is_tested && share >= diff->options.min_share;
}

static void put_outcome(
	struct writing *writing, enum outcome outcome, const char *message, const char *details)
{
	struct str *out = &writing->out;
	if (outcome == PASSED) {
		str_puts(out, "/>\n");
		return;
	}
	str_printf(out, ">\n<%s", outcome == FAILED ? "failure type=\"regression\"" : "skipped");
	put_attribute(out, "message", message);
	if (outcome == FAILED) {
		str_putc(out, '>');
		markup_put(out, details, strlen(details));
		str_puts(out, "</failure>\n</testcase>\n");
	} else {
		str_puts(out, "/>\n</testcase>\n");
	}
}

/*
 * Readers know a test again by its names: these have what tells functions of one name apart, but
 * no line, which each commit moves.
 */
static void diff_junit_put_names(struct writing *writing, const struct diff_row *row)
{
	CLEANUP(str_deinit) struct str name = {0}, class = {0};
	const struct difference *diff = writing->diff;
	enum diff_by by = diff->options.by;
	const char *file = by == DIFF_BY_FUNCTION ? row->file : NULL;
	diff_put_name(&name, diff, row);
	if (file)
		str_printf(&name, " (%s, %s)", path_last_part(file), row->object);
	else if (by != DIFF_BY_FILE)
		str_printf(&name, " (%s)", row->object);
	str_printf(&class, "ebprof.%s", diff_by_word(by));
	put_attribute(&writing->out, "classname", str_text(&class));
	put_attribute(&writing->out, "name", str_text(&name));
}

static void diff_junit_put_row(struct writing *writing, const struct diff_row *row)
{
	const struct difference *diff = writing->diff;
	CLEANUP(str_deinit) struct str message = {0}, details = {0};
	enum outcome outcome = outcome_of(&row->self);
	if (outcome == SKIPPED) {
		str_puts(&message, "inconclusive: ");
		diff_put_interval(&message, &row->self);
	} else {
		diff_put_judgement(&message, diff, &row->self);
	}
	diff_put_name(&details, diff, row);
	str_putc(&details, ' ');
	diff_put_judgement(&details, diff, &row->self);
	if (row->file)
		str_printf(&details, "; %s", row->file);
	if (row->file && row->line)
		str_printf(&details, ":%u", row->line);
	str_puts(&writing->out, "<testcase");
	diff_junit_put_names(writing, row);
	diff_junit_put_time(writing, &row->self);
	put_outcome(writing, outcome, str_text(&message), str_text(&details));
}

static void diff_junit_put_program(struct writing *writing)
{
	const struct difference *diff = writing->diff;
	CLEANUP(str_deinit) struct str text = {0};
	diff_put_program(&text, diff);
	str_printf(&writing->out, "<testcase classname=\"ebprof.program\" name=\"%s\"",
		diff_whole_word(diff));
	diff_junit_put_time(writing, &diff->program);
	put_outcome(writing, outcome_of_program(diff), str_text(&text), str_text(&text));
}

static bool has_replacements(const struct difference *diff)
{
	vec_each(&diff->replacements, replacement)
		if (replacement->makes_regression)
			return true;
	return false;
}

/* One test of all, that is there only where it fails. */
static void diff_junit_put_replacements(struct writing *writing)
{
	CLEANUP(str_deinit) struct str text = {0};
	diff_put_replacements(&text, writing->diff);
	str_puts(&writing->out,
		"<testcase classname=\"ebprof.replacement\" name=\"rewritten code\"");
	put_outcome(writing, FAILED, str_text(&text), str_text(&text));
}

/* ---- the suite ---- */

static void put_suite_head(struct writing *writing)
{
	const struct difference *diff = writing->diff;
	size_t counts[] = {[PASSED] = 0, [FAILED] = 0, [SKIPPED] = 0};
	counts[outcome_of_program(diff)]++;
	counts[FAILED] += has_replacements(diff);
	vec_each(&diff->rows, row)
		if (is_testcase(diff, row))
			counts[outcome_of(&row->self)]++;
	size_t tests = counts[PASSED] + counts[FAILED] + counts[SKIPPED];
	str_printf(&writing->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
		"<testsuite name=\"ebprof diff\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
		"skipped=\"%zu\">\n",
		tests, counts[FAILED], counts[SKIPPED]);
}

static void diff_junit_put_percent(struct writing *writing, const char *name, double value)
{
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "%g%%", 100 * value);
	diff_junit_put_property(writing, name, str_text(&text));
}

static void put_properties(struct writing *writing)
{
	const struct diff_options *options = &writing->diff->options;
	enum diff_verdict verdict = writing->diff->verdict;
	str_puts(&writing->out, "<properties>\n");
	diff_junit_put_property(
		writing, "verdict", verdict == DIFF_SAME ? "ok" : diff_verdict_word(verdict));
	diff_junit_put_property(writing, "base", writing->options->base_name);
	diff_junit_put_property(writing, "new", writing->options->new_name);
	diff_junit_put_property(writing, "by", diff_by_word(options->by));
	diff_junit_put_property(writing, "metric", diff_metric_name(writing->diff));
	diff_junit_put_percent(writing, "min-effect", options->min_effect);
	diff_junit_put_percent(writing, "min-share", options->min_share);
	diff_junit_put_percent(writing, "alpha", options->alpha);
	str_puts(&writing->out, "</properties>\n");
}

typedef void sentence_fn(struct str *out, const struct difference *diff);

static void put_sentences(struct writing *writing)
{
	static sentence_fn *const sentences[] = {diff_put_verdict, diff_put_program,
		diff_put_caveats, diff_put_same, diff_put_detectable};
	str_puts(&writing->out, "<system-out>");
	for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++) {
		CLEANUP(str_deinit) struct str text = {0};
		sentences[i](&text, writing->diff);
		if (!text.len)
			continue;
		markup_put(&writing->out, text.data, text.len);
		str_putc(&writing->out, '\n');
	}
	str_puts(&writing->out, "</system-out>\n");
}

struct err *diff_junit(const struct difference *diff, const struct diff_writer_options *options,
	struct byte_sink sink)
{
	struct writing writing = {.diff = diff, .options = options};
	struct err *err = NULL;
	put_suite_head(&writing);
	put_properties(&writing);
	diff_junit_put_program(&writing);
	if (has_replacements(diff))
		diff_junit_put_replacements(&writing);
	vec_each(&diff->rows, row) {
		if (!err && is_testcase(diff, row))
			diff_junit_put_row(&writing, row);
		if (!err && writing.out.len > BYTE_SINK_PIECE_BYTES) {
			err = sink.write(sink.context, writing.out.data, writing.out.len);
			str_truncate(&writing.out, 0);
		}
	}
	put_sentences(&writing);
	str_puts(&writing.out, "</testsuite>\n</testsuites>\n");
	if (!err)
		err = sink.write(sink.context, writing.out.data, writing.out.len);
	str_deinit(&writing.out);
	return err;
}

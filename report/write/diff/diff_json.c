#include <math.h>

#include "report/model/text/json.h"
#include "report/write/diff/diff_words.h"
#include "report/write/diff/diff_writer.h"

enum {
	SCHEMA_VERSION = 1, /* described in man/ebprof-diff.1; new members do not change it */
};

/* What JSON has no number for is null. */
static void diff_json_put_real(struct json *json, const char *key, double value)
{
	json_key(json, key);
	if (!isfinite(value)) {
		json_null(json);
		return;
	}
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "%.9g", value);
	json_literal(json, str_text(&text));
}

static void diff_json_put_amount(
	struct json *json, const char *key, const struct diff_amount *amount)
{
	json_put_object(json, key);
	json_put_exact(json, "samples", amount->samples);
	diff_json_put_real(json, "share", amount->share);
	diff_json_put_real(json, "value", amount->value);
	json_object_end(json);
}

static void put_judgement(
	struct json *json, const char *key, const struct diff_judgement *judgement)
{
	json_put_object(json, key);
	diff_json_put_amount(json, "base", &judgement->sides[MATCH_BASE]);
	diff_json_put_amount(json, "new", &judgement->sides[MATCH_NEW]);
	if (judgement->is_tested) {
		diff_json_put_real(json, "effect", judgement->effect);
		diff_json_put_real(json, "low", judgement->low);
		diff_json_put_real(json, "high", judgement->high);
		diff_json_put_real(json, "t", judgement->t);
		diff_json_put_real(json, "p", judgement->p);
		diff_json_put_real(json, "adjusted_p", judgement->adjusted_p);
		diff_json_put_real(json, "dispersion", judgement->dispersion);
		diff_json_put_real(json, "detectable", judgement->detectable);
		json_put_text(json, "verdict", diff_verdict_word(judgement->verdict));
	}
	json_object_end(json);
}

static void diff_json_put_row(struct json *json, const struct diff_row *row)
{
	json_line(json);
	json_object(json);
	json_put_text(json, "name", row->name);
	if (row->old_name)
		json_put_text(json, "old_name", row->old_name);
	json_put_text(json, "object", row->object);
	if (row->file)
		json_put_text(json, "file", row->file);
	if (row->line)
		json_put_number(json, "line", row->line);
	if (row->is_edited)
		json_put_bool(json, "lines_moved", true);
	if (row->path.len) {
		json_put_array(json, "path");
		vec_each(&row->path, name)
			json_text(json, *name);
		json_array_end(json);
	}
	const struct diff_judgement *total = &row->total;
	if (!total->sides[MATCH_BASE].samples || !total->sides[MATCH_NEW].samples)
		json_put_text(json, "only", total->sides[MATCH_NEW].samples ? "new" : "base");
	put_judgement(json, "self", &row->self);
	put_judgement(json, "total", &row->total);
	json_object_end(json);
}

static void diff_json_put_side(
	struct json *json, const char *key, const struct diff_side *side, const char *name)
{
	json_line(json);
	json_put_object(json, key);
	json_put_text(json, "name", name);
	json_put_exact(json, "samples", side->samples);
	json_put_exact(json, "known_samples", side->known);
	json_put_exact(json, "other_samples", side->other_samples);
	json_put_exact(json, "cut_samples", side->cut);
	json_put_number(json, "empty_runs", side->nr_empty);
	json_put_array(json, "runs");
	vec_each(&side->runs, run) {
		json_object(json);
		if (run->name[0])
			json_put_text(json, "name", run->name);
		json_put_exact(json, "samples", run->samples);
		diff_json_put_real(json, "value", run->value);
		json_put_bool(json, "whole_command", run->is_whole_command);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void put_options(struct json *json, const struct difference *diff)
{
	const struct diff_options *options = &diff->options;
	json_line(json);
	json_put_text(json, "by", diff_by_word(options->by));
	json_put_text(json, "metric", diff_metric_name(diff));
	diff_json_put_real(json, "alpha", options->alpha);
	diff_json_put_real(json, "min_effect", options->min_effect);
	diff_json_put_real(json, "min_share", options->min_share);
	json_put_bool(json, "forced", options->is_forced);
	json_put_bool(json, "whole", !diff_is_of_chosen(diff));
}

static void diff_json_put_program(struct json *json, const struct difference *diff)
{
	json_line(json);
	put_judgement(json, "program", &diff->program);
	if (diff->program_reason)
		json_put_text(json, "program_reason", diff->program_reason);
}

static void diff_json_put_replacements(struct json *json, const struct difference *diff)
{
	json_line(json);
	json_put_array(json, "replacements");
	vec_each(&diff->replacements, replacement) {
		json_object(json);
		json_put_text(json, "object", replacement->object);
		json_put_number(json, "rows",
			replacement->nr_rows[MATCH_BASE] + replacement->nr_rows[MATCH_NEW]);
		json_put_number(json, "withheld", replacement->nr_withheld);
		json_put_bool(json, "regression", replacement->makes_regression);
		put_judgement(json, "self", &replacement->judgement);
		json_object_end(json);
	}
	json_array_end(json);
}

struct err *diff_json(const struct difference *diff, const struct diff_writer_options *options,
	struct byte_sink sink)
{
	struct json json = {.sink = sink};
	json_object(&json);
	json_put_text(&json, "schema", "ebprof-diff");
	json_put_number(&json, "version", SCHEMA_VERSION);
	json_put_text(&json, "verdict",
		diff->verdict == DIFF_SAME ? "ok" : diff_verdict_word(diff->verdict));
	put_options(&json, diff);
	json_line(&json);
	json_put_text(&json, "event", diff->event);
	json_put_text(&json, "unit", diff->unit);
	json_put_bool(&json, "dispersion_known", diff->knows_dispersion);
	diff_json_put_real(&json, "judged_share", diff->judged_share);
	diff_json_put_real(&json, "visible_share", diff->visible_share);
	json_put_number(&json, "entities", diff->nr_entities);
	diff_json_put_side(&json, "base", &diff->sides[MATCH_BASE], options->base_name);
	diff_json_put_side(&json, "new", &diff->sides[MATCH_NEW], options->new_name);
	diff_json_put_program(&json, diff);
	diff_json_put_replacements(&json, diff);
	json_line(&json);
	json_put_array(&json, "rows");
	vec_each(&diff->rows, row)
		diff_json_put_row(&json, row);
	json_array_end(&json);
	json_object_end(&json);
	return json_finish(&json);
}

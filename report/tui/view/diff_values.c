/* Two recordings' values as text. */
#include <math.h>
#include <string.h>

#include "report/model/event_value.h"
#include "report/tui/view/diff.h"
#include "report/write/diff/diff_words.h"

const struct compare *diff_compare(const struct app *app)
{
	const struct comparison *comparison = app->model->comparison;
	bool is_there = comparison && app->wish.baseline && !comparison->problem &&
			comparison->serial == app->wish.baseline_serial;
	return is_there ? &comparison->compare : NULL;
}

const struct compare_row *diff_row(const struct diff *diff, const struct app *app, size_t at)
{
	return &diff_compare(app)->rows.data[diff->rows.data[at]];
}

double diff_delta(const struct app *app, const struct compare_row *row, enum compare_metric metric)
{
	const struct compare_wholes *wholes = &diff_compare(app)->wholes;
	bool is_self = metric == COMPARE_SELF;
	if (app->unit == APP_PERCENT)
		return compare_points(wholes, row, metric);
	if (app->unit == APP_VALUE)
		return is_self ? (double)row->new.self - (double)row->base.self
			       : (double)row->new.total - (double)row->base.total;
	return is_self ? (double)row->new.self_samples - (double)row->base.self_samples
		       : (double)row->new.samples - (double)row->base.samples;
}

void diff_put_value(const struct app *app, const struct compare_row *row, enum match_side side,
	enum compare_metric metric, struct str *out)
{
	const struct compare_wholes *wholes = &diff_compare(app)->wholes;
	const struct compare_value *value = side == MATCH_BASE ? &row->base : &row->new;
	const struct slice_sum *whole = side == MATCH_BASE ? &wholes->base : &wholes->new;
	bool is_self = metric == COMPARE_SELF;
	uint64_t number = is_self ? value->self : value->total;
	if (!value->samples)
		str_puts(out, row->is_cut ? "?" : "-");
	else if (app->unit == APP_PERCENT)
		str_printf(out, "%.2f%%", profile_percent(number, whole->value));
	else
		app_put_value(app, out, number, is_self ? value->self_samples : value->samples);
}

static void put_relative(const struct app *app, const struct compare_row *row,
	enum compare_metric metric, struct str *out)
{
	const struct compare_wholes *wholes = &diff_compare(app)->wholes;
	double base = compare_base_percent(wholes, row, metric);
	double new = compare_new_percent(wholes, row, metric);
	if (base <= 0)
		str_puts(out, row->is_cut ? "?" : new > 0 ? "new" : "-");
	else if (new <= 0)
		str_puts(out, row->is_cut ? "?" : "removed");
	else if (new / base >= 100)
		str_printf(out, "x%.0f", new / base);
	else
		str_printf(out, "%+.1f%%", 100 * (new / base - 1));
}

void diff_put_delta(const struct diff *diff, const struct app *app, const struct compare_row *row,
	enum compare_metric metric, struct str *out)
{
	double delta = diff_delta(app, row, metric);
	if (!compare_is_known(row, metric)) {
		str_putc(out, '?');
		return;
	}
	if (delta != 0 && compare_cannot_tell(row, metric))
		str_putc(out, '~');
	if (app->unit == APP_PERCENT && diff->is_relative)
		put_relative(app, row, metric, out);
	else if (app->unit == APP_PERCENT)
		str_printf(out, "%+.2f", delta);
	else if (app->unit == APP_SAMPLES)
		str_printf(out, "%+.0f", delta);
	else {
		str_putc(out, delta < 0 ? '-' : '+');
		event_value_put(app_event(app), (uint64_t)fabs(delta), true, out);
	}
}

const char *diff_title(const struct diff *diff, const struct app *app)
{
	return app->unit == APP_PERCENT && !diff->is_relative ? "pp" : "delta";
}

unsigned diff_delta_style(
	const struct app *app, const struct compare_row *row, enum compare_metric metric)
{
	int direction = diff_delta(app, row, metric) == 0 ? 0 : compare_direction(row, metric);
	return direction > 0 ? STYLE_WORSE : direction < 0 ? STYLE_BETTER : STYLE_DIM;
}

const char *diff_sign(const struct compare_row *row)
{
	return row->is_cut ? "" : !row->base.samples ? "+" : !row->new.samples ? "-" : "";
}

void diff_next_unit(struct diff *diff, struct app *app)
{
	bool was_points = app->unit == APP_PERCENT && !diff->is_relative;
	diff->is_relative = was_points;
	if (!was_points)
		app->unit = (app->unit + 1) % 3;
}

/*
 * What is sure, in words: where most of a program takes longer still, what takes longer has a
 * smaller share than before. Of what is new or gone its sign says all.
 */
static void put_certainty(const struct app *app, const struct compare_row *row,
	enum compare_metric metric, struct str *out)
{
	const struct compare_change *change = &row->changes[metric];
	int direction = compare_direction(row, metric);
	if (!direction || !row->base.samples || !row->new.samples || isinf(change->effect))
		return;
	str_putc(out, '\t');
	if (isnan(change->effect))
		str_puts(out, direction > 0 ? "takes longer" : "takes less");
	else
		diff_put_takes(out, change->effect, app_event(app)->unit);
}

void diff_put_numbers(const struct diff *diff, const struct app *app, const struct compare_row *row,
	enum compare_metric metric, struct str *out)
{
	str_putc(out, '\t');
	diff_put_delta(diff, app, row, metric, out);
	str_puts(out, "\tbefore ");
	diff_put_value(app, row, MATCH_BASE, metric, out);
	str_puts(out, "\tnew ");
	diff_put_value(app, row, MATCH_NEW, metric, out);
	put_certainty(app, row, metric, out);
}

#include "format/import/table_row.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/base/clock.h"
#include "format/import/import_counts.h"

enum {
	MAX_YEAR = 2200, /* ns since 1970 have 64 bits */
};

/* ---- values ---- */

/* "" for NULL; numbers as they stand there. NULL: it is a list or an object. */
static const char *text_of_value(const struct json_value *value)
{
	switch (value->kind) {
	case JSON_STRING:
	case JSON_NUMBER:
		return value->text;
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	case JSON_NULL:
		return "";
	default:
		return NULL;
	}
}

/*
 * A number times `scale`, which engines write as a text, too, or with a point. What a double cannot
 * tell from a whole number is one: 0.7 s is 700,000,000 ns.
 */
static bool read_row_amount(const char *text, uint64_t scale, struct table_row *row, uint64_t *ret)
{
	char *end;
	errno = 0;
	unsigned long long whole = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno)
		return !__builtin_mul_overflow(whole, scale, ret);
	double number = strtod(text, &end) * (double)scale;
	if (!*text || *end || !isfinite(number) || number >= 0x1p64)
		return false;
	double rounded = number < 0 ? 0 : floor(number + 0.5);
	row->is_negative |= number < 0;
	row->is_rounded |= number >= 0 && fabs(number - rounded) > 1e-3 + number * 0x1p-51;
	*ret = rounded < 0x1p64 ? (uint64_t)rounded : UINT64_MAX;
	return true;
}

static bool read_row_id(const char *text, uint32_t *ret)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || number > INT32_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* Whether the calendar has that day, hour and minute, and until MAX_YEAR. */
static bool is_moment(const struct tm *text, double seconds)
{
	struct tm normal = *text;
	return text->tm_year >= 70 && text->tm_year + 1900 <= MAX_YEAR && seconds >= 0 &&
	       seconds < 61 && timegm(&normal) >= 0 && normal.tm_mon == text->tm_mon &&
	       normal.tm_mday == text->tm_mday && normal.tm_hour == text->tm_hour &&
	       normal.tm_min == text->tm_min;
}

/* "2026-11-26 14:05:00.25", with a "T" in between, alone or with what says that it is UTC. */
static bool read_row_time(const char *text, uint64_t *ret)
{
	static const char *const zones[] = {"", "Z", "+00", "+00:00", "+0000", " UTC"};
	struct tm day = {0};
	double seconds = 0;
	int len = 0, rest = 0;
	if (sscanf(text, "%4d-%2d-%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday, &len) != 3 ||
		!len)
		return false;
	text += len;
	if (*text == ' ' || *text == 'T') {
		if (sscanf(text + 1, "%2d:%2d:%lf%n", &day.tm_hour, &day.tm_min, &seconds, &rest) !=
				3 ||
			!rest)
			return false;
		text += 1 + rest;
	}
	day.tm_year -= 1900;
	day.tm_mon--;
	if (!is_moment(&day, seconds))
		return false;
	*ret = (uint64_t)timegm(&day) * NS_PER_S + (uint64_t)(seconds * NS_PER_S);
	for (size_t i = 0; i < sizeof(zones) / sizeof(*zones); i++)
		if (strcmp(text, zones[i]) == 0)
			return true;
	return false;
}

/* ---- columns ---- */

static void take_row_label(struct table_row *row, const char *key, const char *value)
{
	const struct {
		const char *key, **member;
	} texts[] = {
		{"comm", &row->comm},
		{"thread", &row->thread},
		{"cgroup", &row->cgroup},
		{"container", &row->container},
	};
	if (!*value || !*key)
		return;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (strcmp(key, texts[i].key) == 0) {
			*texts[i].member = value;
			return;
		}
	if ((strcmp(key, "pid") == 0 && read_row_id(value, &row->pid)) ||
		(strcmp(key, "tid") == 0 && read_row_id(value, &row->tid)))
		return;
	if (row->nr_labels == LAYOUT_MAX_LABELS) {
		row->nr_cut_labels++;
		return;
	}
	row->labels[row->nr_labels].key = key;
	row->labels[row->nr_labels++].value = value;
}

static struct err *take_row_labels(struct table_row *row, const struct json_value *labels)
{
	if (labels->kind != JSON_OBJECT)
		return err_new(ERR_FORMAT, "its labels are no object");
	for (const struct json_value *it = labels->first; it; it = it->next) {
		const char *text = text_of_value(it);
		if (!text)
			return err_new(ERR_FORMAT, "its label \"%s\" is no text", it->key);
		take_row_label(row, it->key, text);
	}
	return NULL;
}

static struct err *take_row_text(struct table_row *row, const char *column, const char *text)
{
	const struct {
		const char *column, **member;
	} texts[] = {{"event", &row->event}, {"unit", &row->unit}, {"host", &row->host},
		{"samples", &row->samples_text}, {"value", &row->value_text}};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (strcmp(column, texts[i].column) == 0) {
			*texts[i].member = text;
			return NULL;
		}
	if (strcmp(column, "time") == 0)
		return read_row_time(text, &row->time_ns)
			       ? NULL
			       : err_new(ERR_FORMAT,
					 "\"%s\" is no time of UTC as 2026-11-26 14:05:00", text);
	if (strchr(column, '('))
		return err_new(ERR_FORMAT,
			"the column \"%s\" has no name of its own: is it the samples or the value? "
			"The query says so by AS value",
			column);
	take_row_label(row, column, text);
	return NULL;
}

static struct err *take_column(struct table_row *row, const struct json_value *cell)
{
	const char *text = text_of_value(cell);
	if (strcmp(cell->key, "stack") == 0) {
		row->stack = cell;
		return NULL;
	}
	if (text && !*text)
		return NULL;
	if (strcmp(cell->key, "labels") == 0)
		return take_row_labels(row, cell);
	if (!text)
		return err_new(
			ERR_FORMAT, "the column \"%s\" is neither text nor number", cell->key);
	return take_row_text(row, cell->key, text);
}

static struct err *check_stack(const struct json_value *stack)
{
	if (!stack || stack->kind != JSON_ARRAY)
		return err_new(ERR_FORMAT, "it has no stack, an array of names");
	for (const struct json_value *it = stack->first; it; it = it->next)
		if (it->kind != JSON_STRING)
			return err_new(ERR_FORMAT, "its stack has something else than names");
	return NULL;
}

/* What is counted, once all columns are known: a value of a unit of time is scaled to ns. */
static struct err *read_row_amounts(struct table_row *row)
{
	uint64_t unit_ns = import_counts_ns_of_unit(row->unit, strlen(row->unit));
	row->has_samples = row->samples_text != NULL;
	row->has_value = row->value_text != NULL;
	row->samples = 1;
	if (row->has_samples && !read_row_amount(row->samples_text, 1, row, &row->samples))
		return err_new(ERR_FORMAT, "\"%s\" is no number of samples", row->samples_text);
	row->value = row->samples;
	if (!row->has_value) { /* the unit is of a value */
		unit_ns = 0;
		row->unit = "samples";
	} else if (!read_row_amount(row->value_text, unit_ns ? unit_ns : 1, row, &row->value))
		return err_new(ERR_FORMAT, "\"%s\" is no number of value", row->value_text);
	if (unit_ns)
		row->unit = "ns";
	if (!*row->unit)
		row->unit = "count";
	return NULL;
}

struct err *table_row_read(const struct json_value *table, struct table_row *ret)
{
	*ret = (struct table_row){.event = "samples",
		.unit = "",
		.host = "",
		.comm = "",
		.thread = "",
		.cgroup = "",
		.container = ""};
	for (const struct json_value *it = table->first; it; it = it->next)
		try(take_column(ret, it));
	try(check_stack(ret->stack));
	return read_row_amounts(ret);
}

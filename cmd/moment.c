#include "cmd/moment.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/opt.h"
#include "format/base/clock.h"
#include "format/base/mem.h"

static const char ago[] = " ago";

/* Digits and what stands between them; nothing may follow but the fraction of a second. */
struct clock_face {
	int hour, minute;
	double second;
};

static bool read_clock_face(const char *text, struct clock_face *ret)
{
	int used = 0;
	*ret = (struct clock_face){0};
	if (sscanf(text, "%2d:%2d%n", &ret->hour, &ret->minute, &used) != 2 || !used)
		return false;
	text += used;
	if (*text == ':') {
		char *end;
		ret->second = isdigit((unsigned char)text[1]) ? strtod(text + 1, &end) : -1;
		text = ret->second < 0 ? text : end;
	}
	return !*text && ret->hour >= 0 && ret->hour < 24 && ret->minute >= 0 && ret->minute < 60 &&
	       ret->second >= 0 && ret->second < 61;
}

/* Of a day whose date `day` has; mktime() or timegm(). */
static uint64_t on_day(struct tm day, const struct clock_face *face, time_t (*make)(struct tm *))
{
	day.tm_hour = face->hour;
	day.tm_min = face->minute;
	day.tm_sec = (int)face->second;
	day.tm_isdst = -1;
	time_t seconds = make(&day);
	double fraction = face->second - (int)face->second;
	return seconds < 0 ? 0 : (uint64_t)seconds * NS_PER_S + (uint64_t)(fraction * NS_PER_S);
}

/* On the day of `from_ns`, or the next one, if it was before. */
static bool read_time_of_day(const char *text, uint64_t from_ns, uint64_t *ret)
{
	struct clock_face face;
	struct tm day;
	time_t from = (time_t)(from_ns / NS_PER_S);
	if (!read_clock_face(text, &face))
		return false;
	localtime_r(&from, &day);
	*ret = on_day(day, &face, mktime);
	if (*ret <= from_ns) {
		day.tm_mday++;
		*ret = on_day(day, &face, mktime);
	}
	return true;
}

/* mktime() takes February 30 for March 2. */
static bool is_day(struct tm day)
{
	int month = day.tm_mon;
	timegm(&day);
	return day.tm_mon == month;
}

static bool read_date(char *text, uint64_t *ret)
{
	struct clock_face face = {0};
	struct tm day = {0};
	int used = 0;
	size_t len = strlen(text);
	bool is_utc = len && text[len - 1] == 'Z';
	if (is_utc)
		text[len - 1] = '\0';
	if (sscanf(text, "%4d-%2d-%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday, &used) != 3)
		return false;
	text += used;
	day.tm_year -= 1900;
	day.tm_mon--;
	if (day.tm_mon < 0 || day.tm_mon > 11 || day.tm_mday < 1 || !is_day(day))
		return false;
	if (*text && ((*text != 'T' && *text != ' ') || !read_clock_face(text + 1, &face)))
		return false;
	*ret = on_day(day, &face, is_utc ? timegm : mktime);
	return true;
}

/* "30m", or with "ago"; a bare number would be seconds, and is more likely a mistake. */
static bool read_age(char *text, uint64_t now_ns, uint64_t *ret)
{
	static const struct opt any_time = {.long_name = "since"};
	size_t len = strlen(text), ago_len = strlen(ago);
	uint64_t age_ns = 0;
	if (len > ago_len && strcmp(text + len - ago_len, ago) == 0)
		text[len - ago_len] = '\0';
	len = strlen(text);
	if (!len || !isalpha((unsigned char)text[len - 1]))
		return false;
	struct err *err = opt_duration(&any_time, text, &age_ns);
	bool is_age = !err;
	err_destroy(err);
	if (is_age)
		*ret = age_ns < now_ns ? now_ns - age_ns : 0;
	return is_age;
}

static bool read_epoch(const char *text, uint64_t *ret)
{
	char *end;
	if (*text != '@' || !isdigit((unsigned char)text[1]))
		return false;
	double seconds = strtod(text + 1, &end);
	if (*end || seconds > 1e10)
		return false;
	*ret = (uint64_t)(seconds * NS_PER_S);
	return true;
}

/* Of 23 or 25 hours where clocks change. */
uint64_t moment_day_before(uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm day;
	localtime_r(&seconds, &day);
	day.tm_mday--;
	day.tm_isdst = -1;
	seconds = mktime(&day);
	return seconds < 0 ? 0 : (uint64_t)seconds * NS_PER_S + ns % NS_PER_S;
}

struct err *moment_parse(
	const char *text, size_t len, uint64_t now_ns, uint64_t from_ns, uint64_t *ret)
{
	CLEANUP_FREE char *copy = mem_strndup(text, len);
	uint64_t moment_ns = now_ns;
	bool is_known = strcmp(copy, "now") == 0 || read_time_of_day(copy, from_ns, &moment_ns) ||
			read_epoch(copy, &moment_ns) || read_date(copy, &moment_ns) ||
			read_age(copy, now_ns, &moment_ns);
	if (!is_known)
		return err_new(ERR_USAGE,
			"\"%.*s\" is no time: 14:05, 14:05:30, 2026-11-26T14:05, 30m, now, "
			"@1795701900 are",
			(int)len, text);
	*ret = moment_ns;
	return NULL;
}

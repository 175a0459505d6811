/* Points in time as people write them, where clocks change, too. */
#include "cmd/moment.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/unit.h"

#define NS_PER_S UINT64_C(1000000000)

/* Central Europe's rules, which need no files: on 2026-03-29 there is no 02:30, on 2026-10-25 two.
 */
static void set_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static const char central_europe[] = "CET-1CEST,M3.5.0,M10.5.0/3";

/* Seconds since 1970 that a text means at, and behind, these; 0: it is no time. */
static uint64_t seconds_of(const char *text, uint64_t now, uint64_t from)
{
	uint64_t ns = 0;
	struct err *err = moment_parse(text, strlen(text), now * NS_PER_S, from * NS_PER_S, &ns);
	if (err) {
		CHECK(strstr(err_message(err), "is no time"));
		err_destroy(err);
		return 0;
	}
	return ns / NS_PER_S;
}

enum {
	NOON = 1785585600,   /* 2026-08-01 12:00 UTC */
	SPRING = 1774738800, /* 2026-03-29 00:00 CET */
	AUTUMN = 1792879200, /* 2026-10-25 00:00 CEST */
	HOUR = 3600,
};

TEST(moments_are_local_or_utc)
{
	set_zone(central_europe);
	CHECK_INT(seconds_of("2026-08-01T14:00", NOON, 0), NOON);
	CHECK_INT(seconds_of("2026-08-01 14:00:30", NOON, 0), NOON + 30);
	CHECK_INT(seconds_of("2026-08-01T12:00Z", NOON, 0), NOON);
	CHECK_INT(seconds_of("2026-08-01", NOON, 0), NOON - 14 * HOUR);
	CHECK_INT(seconds_of("@1785585600", 0, 0), NOON);
	CHECK_INT(seconds_of("now", NOON, 0), NOON);
	CHECK_INT(seconds_of("30m", NOON, 0), NOON - 1800);
	CHECK_INT(seconds_of("2h ago", NOON, 0), NOON - 2 * HOUR);
}

TEST(a_time_of_day_is_the_next_one)
{
	set_zone(central_europe);
	CHECK_INT(seconds_of("14:30", NOON, NOON), NOON + 1800);
	CHECK_INT(seconds_of("13:30", NOON, NOON), NOON + 23 * HOUR + 1800);
	CHECK_INT(seconds_of("14:00", NOON, NOON), NOON + 24 * HOUR); /* behind it */
}

TEST(times_of_day_where_clocks_change)
{
	set_zone(central_europe);
	CHECK_INT(seconds_of("04:00", SPRING, SPRING), SPRING + 3 * HOUR);
	CHECK_INT(seconds_of("04:00", AUTUMN, AUTUMN), AUTUMN + 5 * HOUR);
	/* The day before has 23 or 25 hours. */
	CHECK_INT(moment_day_before((SPRING + 23 * HOUR) * NS_PER_S) / NS_PER_S, SPRING);
	CHECK_INT(moment_day_before((AUTUMN + 25 * HOUR) * NS_PER_S) / NS_PER_S, AUTUMN);
	/* From the evening before on, 01:00 is the day's. */
	CHECK_INT(seconds_of("01:00", SPRING, SPRING - HOUR), SPRING + HOUR);
	CHECK_INT(seconds_of("2026-03-29T04:00", SPRING, 0), SPRING + 3 * HOUR);
}

TEST(what_is_no_time)
{
	static const char *const texts[] = {"", "25:00", "14:60", "14", "2026-13-01", "2026-02-30",
		"2026-08-01T", "2026-08-01T25:00", "@", "@x", "@1e99", "30", "yesterday", "14:05x",
		"2026-08-01X12:00"};
	set_zone(central_europe);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (seconds_of(texts[i], NOON, NOON))
			unit_fail(__FILE__, __LINE__, "\"%s\" is a time", texts[i]);
}

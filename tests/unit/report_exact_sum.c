/* What is said of calls as they were counted, beside samples that stand for them. */
#include "report/write/exact_sum.h"

#include "tests/unit/unit.h"

static struct profile_event events[] = {
	{.name = "", .unit = ""}, {.name = "duration:a:f", .unit = "ns", .source = "duration:a:f"}};

/* 2000 of the target's in 408 ms, and 500 of strangers, of which no time is known. */
static void begin_calls(struct profile_source *source, struct profile *profile)
{
	*source = (struct profile_source){.name = "duration:a:f"};
	source->tallies[LAYOUT_EVENTS] = (struct layout_tally){2500, 408000000};
	source->tallies[LAYOUT_EVENTS_SAMPLES] = (struct layout_tally){41, 8364000};
	source->tallies[LAYOUT_EVENTS_FILTERED] = (struct layout_tally){500, 0};
	*profile = (struct profile){
		.events = {.data = events, .len = 2}, .sources = {.data = source, .len = 1}};
}

static void want_said(const struct profile *profile, const char *want)
{
	CLEANUP(str_deinit) struct str text = {0};
	exact_sum_put(profile, 1, &text);
	CHECK_STR(str_text(&text), want);
}

TEST(calls_of_strangers_are_left_out)
{
	struct profile profile;
	struct profile_source source;
	begin_calls(&source, &profile);
	want_said(&profile, "# exactly 2000 calls, 408.0 ms: 204.0 us each\n");
}

TEST(short_calls_are_much_of_them_the_probes_own)
{
	struct profile profile;
	struct profile_source source;
	begin_calls(&source, &profile);
	source.tallies[LAYOUT_EVENTS].sum = 4000000;
	want_said(&profile, "# exactly 2000 calls, 4.0 ms: 2.0 us each, "
			    "much of which is the probes' own time\n");
}

TEST(what_is_not_exact_is_not_said)
{
	struct profile profile;
	struct profile_source source;
	begin_calls(&source, &profile);
	source.tallies[LAYOUT_EVENTS_LOST_BUSY].count = 1; /* of which no time is known */
	want_said(&profile, "");
	begin_calls(&source, &profile);
	source.tallies[LAYOUT_EVENTS].sum = 2500; /* a number alone */
	want_said(&profile, "");
	begin_calls(&source, &profile);
	source.tallies[LAYOUT_EVENTS_SAMPLES].count = 2000; /* the table has all */
	want_said(&profile, "");
}

TEST(what_a_few_samples_stand_for_is_rough)
{
	struct profile profile;
	struct profile_source source;
	begin_calls(&source, &profile);
	source.tallies[LAYOUT_EVENTS_BELOW] = (struct layout_tally){1959, 398000000};
	want_said(&profile, "# exactly 2000 calls, 408.0 ms: 204.0 us each\n"
			    "# only 41 samples stand for them: shares are rough (record with "
			    "--wait-period 200us has more)\n");
	source.tallies[LAYOUT_EVENTS_BELOW].sum = 100000000; /* most is in samples of long calls */
	want_said(&profile, "# exactly 2000 calls, 408.0 ms: 204.0 us each\n");
}

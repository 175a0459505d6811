/* How much of the CPU time of a command its ticks show, and where that is said. */
#include "report/write/ticks_share.h"

#include <string.h>

#include "report/write/health.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

TEST(a_share_is_told_where_it_is_clearly_less_than_all)
{
	CHECK(ticks_share(70, 0) == 1);   /* not known */
	CHECK(ticks_share(70, 100) == 1); /* by chance, perhaps */
	CHECK(ticks_share(190, 200) == 1);
	CHECK(ticks_share(300, 200) == 1); /* children that were not waited for */
	CHECK(ticks_share(150, 200) == 0.75);
}

TEST(what_was_lost_is_told_elsewhere)
{
	struct fixture fixture;
	uint32_t thread, app = fixture_begin(&fixture, "app", &thread);
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, app, 0x10, "main"));
	CLEANUP(str_deinit) struct str text = {0}, losses = {0};
	fixture_samples(&fixture, thread, stack, 0, 3);
	struct profile *profile = fixture_profile(&fixture);
	uint64_t *counters = profile->counters;
	const struct profile_event *ticked = ticks_share_event(profile);
	CHECK(ticked);
	counters[LAYOUT_COUNTER_TICKS] = 1000;
	counters[LAYOUT_COUNTER_SAMPLES] = 600;
	CHECK(!ticks_share_put_of(profile, ticked, &text));
	counters[LAYOUT_COUNTER_TICKS_DUE] = 1000;
	CHECK(ticks_share_of(profile, ticked) == 0.6);
	CHECK(ticks_share_put_of(profile, ticked, &text));
	CHECK(strstr(str_text(&text), "60% of the "));
	health_put_losses(profile, &losses);
	CHECK(strstr(str_text(&losses), "sampled        60% of the "));
	counters[LAYOUT_COUNTER_LOST_RING] = 350;
	CHECK(ticks_share_of(profile, ticked) == 1);
	profile_destroy(profile);
}

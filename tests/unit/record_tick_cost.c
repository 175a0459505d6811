/* What a tick costs: between nothing and what no machine takes; how many of them are a quarter. */
#include "record/tick_cost.h"

#include <unistd.h>

#include "tests/unit/unit.h"

TEST(tick_cost_says_how_many_take_a_quarter)
{
	CHECK_INT(tick_cost_frequency(1000), 250000);
	CHECK_INT(tick_cost_frequency(25000), 10000);
	CHECK_INT(tick_cost_frequency(1ULL << 40), 0); /* not even one */
}

TEST(tick_cost_is_found_out)
{
	struct session_options options = {.event = SESSION_EVENT_CPU_CLOCK};
	uint64_t tick_ns = UINT64_MAX;
	struct err *err = geteuid() ? NULL : tick_cost_try(&options, &tick_ns);
	if (geteuid() || err) {
		err_destroy(err);
		unit_skip("nothing can be sampled here");
	}
	CHECK(tick_ns < 1000 * 1000); /* at 10 kHz a tick has 100 us */
}

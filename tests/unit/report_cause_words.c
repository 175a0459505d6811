#include "report/write/cause_words.h"

#include "tests/unit/unit.h"

TEST(each_cause_has_a_sentence)
{
	for (int i = 1; i < LAYOUT_TRUNCATED_END; i++)
		CHECK(cause_of_truncation((enum layout_truncation)i));
	for (uint32_t i = 1; i < LAYOUT_SCRIPT_FAILURES_END; i++)
		CHECK(cause_of_unnamed_script(i));
	CHECK(!cause_of_unnamed_script(LAYOUT_SCRIPT_FAILURES_END));
	/* Those that info puts below the balance of events. */
	static const enum layout_counter missing[] = {LAYOUT_COUNTER_LOST_RING,
		LAYOUT_COUNTER_LOST_UNRESOLVED, LAYOUT_COUNTER_LOST_WRITE,
		LAYOUT_COUNTER_SIDEBAND_LOST, LAYOUT_COUNTER_TARGETS_FULL,
		LAYOUT_COUNTER_FILES_FULL, LAYOUT_COUNTER_HITS_LOST_RING,
		LAYOUT_COUNTER_HITS_LOST_BUSY, LAYOUT_COUNTER_HITS_LOST_UNRESOLVED,
		LAYOUT_COUNTER_HITS_LOST_WRITE, LAYOUT_COUNTER_GAP_SAMPLES,
		LAYOUT_COUNTER_CODE_GIVEN_UP, LAYOUT_COUNTER_MAPPINGS_FULL,
		LAYOUT_COUNTER_CPUS_BACK, LAYOUT_COUNTER_WAITS_WITHOUT_SCRIPTS,
		LAYOUT_COUNTER_PROGRAMS_SKIPPED, LAYOUT_COUNTER_CODE_UNREAD};
	for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++)
		CHECK(cause_of_counter(missing[i]));
	CHECK(!cause_of_counter(LAYOUT_COUNTER_TICKS));
}

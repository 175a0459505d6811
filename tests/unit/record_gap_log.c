#include "record/task/gap_log.h"

#include "tests/unit/unit.h"

TEST(samples_since_before_the_gap_are_of_it)
{
	struct gap_log log = {0};
	gap_log_note(&log, 100, 10);
	gap_log_note(&log, 200, 20);
	gap_log_note(&log, 300, 30);
	gap_log_end(&log, 250, 310, 37);
	CHECK_INT(log.samples_in_gaps, 17);
}

TEST(no_sample_is_of_two_gaps)
{
	struct gap_log log = {0};
	gap_log_note(&log, 100, 10);
	gap_log_end(&log, 150, 160, 20);
	gap_log_end(&log, 140, 170, 25); /* another CPU's */
	CHECK_INT(log.samples_in_gaps, 15);
	CHECK_INT(log.from_ns, 140);
	CHECK_INT(log.until_ns, 170);
}

TEST(what_came_before_all_that_is_remembered_counts)
{
	struct gap_log log = {0};
	gap_log_end(&log, 50, 60, 8);
	CHECK_INT(log.samples_in_gaps, 8);
	for (uint64_t i = 0; i < 1000; i++)
		gap_log_note(&log, 100 + i, 8 + i);
	gap_log_end(&log, 50, 1200, 1008);
	CHECK_INT(log.samples_in_gaps, 1008);
	gap_log_note(&log, 2000, 1100);
	gap_log_end(&log, 3000, 3100, 1105);
	CHECK_INT(log.samples_in_gaps, 1013);
}

#include "record/task/gap_log.h"

enum {
	MAX_POINTS = sizeof(((struct gap_log *)0)->points) / sizeof(struct gap_point),
};

void gap_log_note(struct gap_log *log, uint64_t time_ns, uint64_t samples)
{
	log->points[log->nr_points++ % MAX_POINTS] = (struct gap_point){time_ns, samples};
}

void gap_log_end(struct gap_log *log, uint64_t from_ns, uint64_t until_ns, uint64_t samples)
{
	if (!log->until_ns || from_ns < log->from_ns)
		log->from_ns = from_ns;
	log->until_ns = until_ns;
	uint64_t before = log->counted;
	size_t oldest = log->nr_points > MAX_POINTS ? log->nr_points - MAX_POINTS : 0;
	for (size_t i = oldest; i < log->nr_points; i++) {
		const struct gap_point *point = &log->points[i % MAX_POINTS];
		if (point->time_ns <= from_ns && point->samples > before)
			before = point->samples;
	}
	log->samples_in_gaps += samples - before;
	log->counted = samples;
}

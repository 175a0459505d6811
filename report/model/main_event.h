/* The events of a recording, of which a view shows one at a time. */
#ifndef EBPROF_MAIN_EVENT_H
#define EBPROF_MAIN_EVENT_H

#include "format/base/err.h"
#include "report/model/profile.h"

struct event_choice {
	uint32_t event;
	uint64_t samples;
	uint64_t value; /* in the event's unit */
};

/*
 * What can be shown: the events that have samples, those of one name and unit as one, in their
 * order; the sum of several behind them where at least two have samples. Of an empty recording its
 * first event.
 */
struct event_choices {
	VEC(struct event_choice) list;
	size_t main; /* index of what is shown unasked: the one with the most samples */
};

void event_choices_init(struct event_choices *choices, const struct profile *profile);
/* 0 of an event that is not among them. */
uint64_t event_choices_samples(const struct event_choices *choices, uint32_t event);
void event_choices_deinit(struct event_choices *choices);

/* The event that is shown unasked. */
uint32_t main_event_of(const struct profile *profile);
/*
 * Before samples are left out: main_event_of() says the same behind that, if there are samples of
 * it left, or of none, so that a slice of a recording shows the event that the recording does.
 */
void main_event_fix(struct profile *profile);
/* Run queues that were counted, thread by thread, while none of the waits in them was sampled. */
bool main_event_is_counted_only(const struct profile *profile, uint32_t event);
/* What it is called; an event whose description was damaged is "unknown". */
const char *main_event_name_of(const struct profile *profile, uint32_t event);
/* The first event of the name and unit of another recording's; 0: there is none. */
uint32_t main_event_find(const struct profile *profile, const struct profile_event *wanted);
/* Drops the samples of all others than `event`. */
void main_event_keep(struct profile *profile, uint32_t event);
/*
 * What two recordings are compared by: the main event of the profile, or of the baseline where the
 * profile is empty, and the other's of that name; 0 in one that is empty. Fails where there is no
 * such event.
 */
struct err *main_event_of_both(const struct profile *profile, const struct profile *baseline,
	uint32_t *event, uint32_t *baseline_event) ERR_MUST_CHECK;

#endif

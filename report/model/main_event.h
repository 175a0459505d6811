/* The event of a recording that a view shows where it has room for only one. */
#ifndef EBPROF_MAIN_EVENT_H
#define EBPROF_MAIN_EVENT_H

#include "format/base/err.h"
#include "report/model/profile.h"

/* The event with the most samples. */
uint32_t main_event_of(const struct profile *profile);
/*
 * What two recordings are compared by: the main event of the profile, or of the baseline where the
 * profile is empty, and the other's of that name; 0 in one that is empty. Fails where there is no
 * such event.
 */
struct err *main_event_of_both(const struct profile *profile, const struct profile *baseline,
	uint32_t *event, uint32_t *baseline_event) ERR_MUST_CHECK;

#endif

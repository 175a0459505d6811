/* Whether two sides can be compared at all: of one event, one CPU model, one architecture. */
#ifndef EBPROF_COMPARABILITY_H
#define EBPROF_COMPARABILITY_H

#include "report/compare/difference.h"

/*
 * Chooses the event that both count: of several, the one with the most samples on the new side.
 * Another CPU model makes CPU time incomparable, also by force. What a recording does not
 * tell is no reason to refuse it; a file that has names on one side alone is one.
 */
struct err *comparability_check(const struct profile *base, const struct profile *new,
	const struct diff_options *options, uint32_t *base_event,
	uint32_t *new_event) ERR_MUST_CHECK;

#endif

/* By what a recording can be compared with another one. */
#ifndef EBPROF_BASELINE_FACTS_H
#define EBPROF_BASELINE_FACTS_H

#include "format/base/err.h"
#include "format/base/str.h"
#include "report/model/profile.h"

struct baseline_facts {
	struct str cpu_model, arch; /* "unknown" where the recording does not say */
	struct str event;           /* of the samples; several by commas */
};

/*
 * Refuses runs that were made on several CPU models or architectures; `is_forced` takes those of
 * the first run for all.
 */
struct err *baseline_facts_find(
	const struct profile *profile, bool is_forced, struct baseline_facts *ret) ERR_MUST_CHECK;
void baseline_facts_deinit(struct baseline_facts *facts);

#endif

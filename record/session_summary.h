/* What a session counted, as its summary tells it. */
#ifndef EBPROF_SESSION_SUMMARY_H
#define EBPROF_SESSION_SUMMARY_H

#include "record/recording.h"
#include "record/sampler.h"
#include "record/session.h"
#include "record/translate.h"

/* Of a session that is over; borrowed. */
struct session_parts {
	const struct translate *translate;
	const struct recording_counts *counts;
	const struct recording *recording;
	const struct rule_source *rules;
	const struct sampler *sampler;
	const struct script_probes *script_probes;
};

/* Adds to `summary`, which has what the session alone knows. */
void session_summarize(const struct session_parts *parts, struct session_summary *summary);

#endif

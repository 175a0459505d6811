/* What tells the samples of one thread from those of another: the same labels in each format. */
#ifndef EBPROF_LABELS_H
#define EBPROF_LABELS_H

#include "format/base/str.h"
#include "report/model/process_names.h"
#include "report/write/export/export.h"

/* Called with each label; texts are never empty. */
struct label_visitor {
	void (*text)(void *context, const char *key, const char *value);
	void (*number)(void *context, const char *key, uint64_t value);
	void *context;
};

/* `wanted`: enum export_label; the CPU is none of a thread's. */
void labels_visit(const struct process_names *names, uint32_t wanted,
	const struct profile_thread *thread, const struct label_visitor *visitor);
/*
 * The labels of a set of profile->labels, if EXPORT_LABEL_SAMPLE is wanted, the first added first.
 * A key that one of the other labels that are wanted has gets "label." before it.
 */
void labels_visit_set(const struct profile *profile, uint32_t wanted, uint32_t set,
	const struct label_visitor *visitor);
#endif

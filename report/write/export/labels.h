/* What tells the samples of one thread from those of another: the same labels in each format. */
#ifndef EBPROF_LABELS_H
#define EBPROF_LABELS_H

#include "format/base/str.h"
#include "report/write/export/export.h"

struct labels {
	const struct profile *profile;
	const char **leaders; /* of each process: the newest name of its first thread, or NULL */
};

/* Called with each label; texts are never empty. */
struct label_visitor {
	void (*text)(void *context, const char *key, const char *value);
	void (*number)(void *context, const char *key, uint64_t value);
	void *context;
};

void labels_init(struct labels *labels, const struct profile *profile);
void labels_deinit(struct labels *labels);

/* `wanted`: enum export_label; the CPU is none of a thread's. */
void labels_visit(const struct labels *labels, uint32_t wanted, const struct profile_thread *thread,
	const struct label_visitor *visitor);
/*
 * The labels of a set of profile->labels, if EXPORT_LABEL_SAMPLE is wanted, the first added first.
 * A key that one of the other labels that are wanted has gets "label." before it.
 */
void labels_visit_set(const struct profile *profile, uint32_t wanted, uint32_t set,
	const struct label_visitor *visitor);
/* The name of the process. */
void labels_put_comm(
	const struct labels *labels, const struct profile_thread *thread, struct str *out);

#endif

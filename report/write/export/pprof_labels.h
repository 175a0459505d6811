/* The labels of pprof samples, and the groups of samples that they make. */
#ifndef EBPROF_PPROF_LABELS_H
#define EBPROF_PPROF_LABELS_H

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "report/write/export/export.h"

struct pprof_thread {
	uint32_t set;
	/* Of the newest sample; the group is plus 1, 0: none yet. */
	uint32_t labels, cpu, column, group;
};

struct pprof_labels {
	const struct profile *profile;
	uint32_t wanted;        /* enum export_label */
	struct strtab *strings; /* of the message: borrowed */
	struct strtab sets;     /* labels as they stand in a sample, without the CPU */
	struct pprof_thread *threads;
	struct map joined;    /* a thread's set << 32 | a sample's labels -> the set of both */
	struct strtab groups; /* struct group */
	uint8_t *proofs;      /* of each stack, enum stack_proof; NULL: not wanted, or not yet */
};

/* The message's string of this text: foreign bytes are escaped, since proto3 demands UTF-8. */
uint32_t pprof_string(struct strtab *strings, const char *text);

/* String 0 of `strings` must be "" before anything else is called. */
void pprof_labels_init(struct pprof_labels *labels, const struct profile *profile, uint32_t wanted,
	struct strtab *strings);
void pprof_labels_deinit(struct pprof_labels *labels);

/* Samples with equal labels and the same column of values have the same group. */
uint32_t pprof_labels_group(
	struct pprof_labels *labels, const struct profile_sample *sample, uint32_t column);
uint32_t pprof_labels_column(const struct pprof_labels *labels, uint32_t group);
/* Appends the group's labels to a Sample message. */
void pprof_labels_put(
	struct pprof_labels *labels, uint32_t id, uint32_t stack, struct bytes_buf *message);

#endif

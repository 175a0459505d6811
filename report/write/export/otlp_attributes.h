/*
 * The attributes of OTLP's samples, and the groups of samples that they make.
 *
 * Keys are OpenTelemetry's semantic conventions (1.37: process, thread, container, cpu) where they
 * have one.
 */
#ifndef EBPROF_OTLP_ATTRIBUTES_H
#define EBPROF_OTLP_ATTRIBUTES_H

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "report/write/export/export.h"
#include "report/write/export/otlp_links.h"
#include "report/write/export/otlp_table.h"

struct otlp_attributes {
	const struct profile *profile;
	uint32_t wanted;        /* enum export_label */
	struct strtab *strings; /* of the dictionary: borrowed */
	struct otlp_table table;
	struct otlp_links links;
	struct strtab sets;       /* indices of the table, without the CPU's */
	struct map joined;        /* a thread's set << 32 | a sample's labels -> both */
	struct strtab containers; /* ids; 0: in none */
	struct thread_attributes *threads;
	struct strtab groups; /* struct otlp_group */
	uint8_t *proofs;      /* of each stack, enum stack_proof; NULL: not wanted, or not yet */
	struct bytes_buf message, inner;
};

/* Samples with equal attributes. */
struct otlp_group {
	uint32_t set, cpu;
	uint32_t container, event; /* what profiles are made of */
	uint32_t proof;            /* enum stack_proof, if it is wanted */
	uint32_t link;
};

/* String 0 of `strings` must be "" before anything else is called. */
void otlp_attributes_init(struct otlp_attributes *attributes, const struct profile *profile,
	uint32_t wanted, struct strtab *strings);
void otlp_attributes_deinit(struct otlp_attributes *attributes);

/* Indices of the table; 0 for an empty text. */
uint32_t otlp_attributes_text(
	struct otlp_attributes *attributes, const char *key, const char *value);
uint32_t otlp_attributes_number(
	struct otlp_attributes *attributes, const char *key, uint64_t value);

uint32_t otlp_attributes_group(
	struct otlp_attributes *attributes, const struct profile_sample *sample);
struct otlp_group otlp_attributes_group_at(const struct otlp_attributes *attributes, uint32_t id);
/* Appends the attribute_indices of the group as this field. */
void otlp_attributes_put(struct otlp_attributes *attributes, const struct otlp_group *group,
	uint32_t field, struct bytes_buf *out);

/* A KeyValue as this field: what resources have instead of indices. */
void otlp_attributes_put_pair(
	struct bytes_buf *out, uint32_t field, const char *key, const char *value);

#endif

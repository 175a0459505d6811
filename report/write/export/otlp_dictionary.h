/*
 * OTLP's ProfilesDictionary: what the profiles of a request refer to by index.
 * Source: opentelemetry-proto 1.11.0, profiles/v1development/profiles.proto.
 */
#ifndef EBPROF_OTLP_DICTIONARY_H
#define EBPROF_OTLP_DICTIONARY_H

#include "report/write/export/otlp_attributes.h"
#include "report/write/export/otlp_table.h"
#include "report/write/export/pprof_mappings.h"

struct otlp_dictionary {
	const struct profile *profile;
	struct strtab strings;
	struct otlp_table locations, functions, stacks;
	struct otlp_attributes attributes;
	struct pprof_mappings mappings;      /* one for each object's segment */
	struct strtab mapping_keys;          /* what the table holds of each, by its index */
	VEC(struct pprof_mapping) distinct;  /* the table from index 1 on */
	uint32_t *location_of, *function_of; /* one more for "no stack"; 0: not yet */
	struct bytes_buf message, inner;
};

/* `labels`: enum export_label. */
void otlp_dictionary_init(
	struct otlp_dictionary *dictionary, const struct profile *profile, uint32_t labels);
void otlp_dictionary_deinit(struct otlp_dictionary *dictionary);

/* Index of the stack_table; never 0, which would say that nothing is known of it. */
uint32_t otlp_dictionary_stack(struct otlp_dictionary *dictionary, uint32_t stack);
/* The fields of the message: once, when nothing is added any more. */
void otlp_dictionary_put(struct otlp_dictionary *dictionary, struct bytes_buf *out);

#endif

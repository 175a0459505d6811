/* Bytecodes, as far as baseline code needs them to say which of them a place in it is of. */
#ifndef EBPROF_NODE_BYTECODES_H
#define EBPROF_NODE_BYTECODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"

/* From one bytecode to the next, as baseline code was made of them. */
struct node_baseline_places {
	const char *sizes, *operands; /* of the version's bytecodes */
	size_t nr_sizes;
	const uint8_t *bytecodes;
	size_t len;
	struct bytes_cursor table; /* how much code each was made to */
	uint32_t bytecode;         /* at hand: where it begins, */
	uint32_t next_bytecode;
	uint32_t start, end; /* ... and its code: [start, end) */
};

/* False: this version's bytecodes are not known. The bytes are borrowed. */
bool node_baseline_places_init(struct node_baseline_places *places, uint8_t version, uint8_t minor,
	const uint8_t *bytecodes, size_t len, const uint8_t *table, size_t table_len);
/* False: there is no bytecode after it, or the bytes make no sense. */
bool node_baseline_places_next(struct node_baseline_places *places);

#endif

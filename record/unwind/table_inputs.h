/*
 * What a table was made from: every byte of the file that was read for it, as places and a sum.
 *
 * A build ID proves nothing: who makes a file chooses it, and in a container root owns files as
 * well. But which table is made, and what is read next for it, depends on nothing but what was
 * read before. So a table fits any file that has the same bytes at the same places, and no other
 * needs to be distinguished from it. The sum is of the bytes as they were when they were used, so
 * that changing the file meanwhile does not help either; and by a key of its own for each table,
 * which only its reader knows, so that no file can be made that has the same sum.
 *
 * Reading it all again takes a small part of the time of making the table.
 */
#ifndef EBPROF_TABLE_INPUTS_H
#define EBPROF_TABLE_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "format/elf/elf_file.h"
#include "record/host/siphash.h"

enum {
	TABLE_INPUTS_MAX_PLACES = 1 << 16, /* libLLVM's table needs some thousand */
};

struct table_place {
	uint64_t offset, len; /* bytes of the file */
};

struct table_inputs {
	uint8_t key[SIPHASH_KEY_BYTES];
	uint64_t sum;
	VEC(struct table_place) places; /* in the order in which they were read */
	struct siphash hash;            /* between begin and end */
	bool is_incomplete;
};

/* From now on what is read from `elf` counts, until the end. */
void table_inputs_begin(struct table_inputs *inputs, struct elf_file *elf);
/* False: there were too many places, or some could not be read: then nothing is known. */
bool table_inputs_end(struct table_inputs *inputs, struct elf_file *elf);
void table_inputs_deinit(struct table_inputs *inputs);

/* Whether a file has the same bytes there. */
bool table_inputs_match(const struct table_inputs *inputs, struct elf_file *elf);

#endif

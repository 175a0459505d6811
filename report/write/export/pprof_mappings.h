/*
 * The mappings of a pprof profile: one for each executable segment of an object,
 * at its virtual addresses, which are the same in every process. What has no
 * segments is one mapping, at its addresses in the kernel or at its offsets.
 */
#ifndef EBPROF_PPROF_MAPPINGS_H
#define EBPROF_PPROF_MAPPINGS_H

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "report/model/profile.h"

struct pprof_mapping {
	uint32_t object;
	const struct layout_segment *segment; /* NULL: the object as a whole */
	uint64_t limit;                       /* behind its last address */
};

struct pprof_mappings {
	const struct profile *profile;
	VEC(struct pprof_mapping) entries; /* id: index + 1 */
	struct map ids;                    /* object << 32 | segment + 1 -> id */
};

struct pprof_place {
	uint64_t address;
	uint32_t mapping; /* id; 0: none */
};

/* The main binary's mapping is there from the beginning, the others come as they are asked for. */
void pprof_mappings_init(struct pprof_mappings *mappings, const struct profile *profile);
void pprof_mappings_deinit(struct pprof_mappings *mappings);

struct pprof_place pprof_mappings_place(
	struct pprof_mappings *mappings, const struct profile_frame *frame);
/* The first address of a mapping. */
uint64_t pprof_mappings_start(
	const struct pprof_mappings *mappings, const struct pprof_mapping *mapping);
/* The fields of a Mapping message. */
void pprof_mappings_put(const struct pprof_mappings *mappings, size_t index, struct strtab *strings,
	struct bytes_buf *message);

#endif

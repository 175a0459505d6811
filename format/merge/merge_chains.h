/* Archived chains of several recordings for the same objects. */
#ifndef EBPROF_MERGE_CHAINS_H
#define EBPROF_MERGE_CHAINS_H

#include "format/base/map.h"
#include "format/file/writer.h"

struct merge_chains {
	VEC(struct merge_chains_part {
		uint32_t object; /* in the output */
		struct chain_map chains;
	})
	parts;
	struct map of_source; /* object -> index of the part that the source at hand has */
};

/* Where those of the object go that the source at hand has. Valid until the next call. */
struct chain_map *merge_chains_of(struct merge_chains *chains, uint32_t object);
void merge_chains_end_source(struct merge_chains *chains);
struct err *merge_chains_write(struct merge_chains *chains, struct writer *writer) ERR_MUST_CHECK;
void merge_chains_deinit(struct merge_chains *chains);

#endif

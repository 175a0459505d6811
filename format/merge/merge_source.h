/* The first pass over a recording that is to be merged: what it is, and by which clock. */
#ifndef EBPROF_MERGE_SOURCE_H
#define EBPROF_MERGE_SOURCE_H

#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/merge/merge.h"

struct merge_origin {
	struct layout_origin info; /* its texts are of the source; nr_meta: of `meta` */
	VEC(struct layout_origin_meta) meta;
	uint32_t id;     /* in the source; 0: the source itself */
	uint32_t out_id; /* in what is written */
};

struct merge_source {
	const struct merge_input *input;
	uint32_t number;
	struct arena arena;
	struct merge_origin self;         /* of processes that have no other */
	VEC(struct merge_origin) origins; /* of a merged one; by id */
	size_t meta_bytes;
	struct layout_clock clock; /* the first; zeros: none */
	struct layout_end end;
	const struct layout_text *boot; /* whose clock its times are of; NULL: unknown */
	uint64_t shift_ns;              /* to be added to them: set by the merge */
	uint64_t from_ns, to_ns; /* which of its samples are wanted, by the common clock: likewise
				  */
	struct merge_input_result *result;
};

struct err *merge_source_scan(struct merge_source *source) ERR_MUST_CHECK;
void merge_source_deinit(struct merge_source *source);

/* Whether something of it may be missing, so that its counters do not match its samples. */
bool merge_source_is_damaged(const struct merge_source *source);
/* The origins it brings along: those it was merged from, else itself. */
size_t merge_source_nr_origins(const struct merge_source *source);
struct merge_origin *merge_source_origin(struct merge_source *source, size_t index);

#endif

/*
 * Of a piece of code that a compiler made of several functions, inlined in each other: which of
 * them a place in it is of. The reader of a runtime's memory makes it, and the recorder asks it;
 * between them it goes as bytes.
 */
#ifndef EBPROF_RUNTIME_INLINED_H
#define EBPROF_RUNTIME_INLINED_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/vec.h"

enum {
	RUNTIME_INLINED_NONE = 0, /* in place of a scope */
};

struct runtime_inlined_function {
	const char *name, *file; /* what the BPF side would have sent; file "": unknown */
	size_t name_len, file_len;
};

struct runtime_inlined_scope {
	uint32_t function; /* its index */
	uint32_t line;     /* in it, 0: unknown */
	uint32_t caller;   /* the scope that it is inlined in, RUNTIME_INLINED_NONE: none */
};

struct runtime_inlined_place {
	uint32_t offset; /* in the code; ascending */
	uint32_t scope;
};

struct runtime_inlined {
	VEC(struct runtime_inlined_function) functions;
	/* Its number is its index plus 1; a caller's is lower than its callee's. */
	VEC(struct runtime_inlined_scope) scopes;
	VEC(struct runtime_inlined_place) places;
	VEC(struct runtime_inlined_place) leaf_places;
	/* A place's offset is the last of those that are of its scope; else it is the only one. */
	bool has_ranges;
	/* Places say also where code was interrupted. Without ranges, those from the place before
	 * up to its offset, but not that, are of its scope then. */
	bool knows_leaves;
	/* Leaf places, if there are any, are what a place where code was interrupted is looked for
	 * in, instead of the others: a compiler may keep both apart. They are ranges, and guesses.
	 */
};

void runtime_inlined_deinit(struct runtime_inlined *inlined);
void runtime_inlined_put(struct bytes_buf *out, const struct runtime_inlined *inlined);
/* Names are the bytes' own. False: the bytes make no sense; *ret is empty. */
bool runtime_inlined_get(const uint8_t *bytes, size_t len, struct runtime_inlined *ret);

/*
 * The scope of an offset, or, where nothing is known of it, of the next one of which something is;
 * *is_exact: it is the offset's own. `is_leaf`: the code was interrupted there, else a call
 * returns there. RUNTIME_INLINED_NONE: nothing is known.
 */
uint32_t runtime_inlined_find(
	const struct runtime_inlined *inlined, uint32_t offset, bool is_leaf, bool *is_exact);

#endif

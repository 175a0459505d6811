/*
 * What is known of one address: the function that has a symbol, and the functions that were
 * inlined into it there. All readers of debug information give chains; caches and
 * recordings keep them (chain_map.h).
 */
#ifndef EBPROF_CHAIN_H
#define EBPROF_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

/* How it is known where a function without a symbol begins and ends. */
enum chain_bounds {
	CHAIN_BOUNDS_UNTOLD,  /* it has a symbol, or the chain is older than this */
	CHAIN_BOUNDS_BY_FDE,  /* call frame information says so */
	CHAIN_BOUNDS_BY_CODE, /* guessed from how the code looks */
	CHAIN_BOUNDS_END,
};

struct chain_frame {
	const char *function;  /* mangled; NULL: not known, as for assembler code */
	const char *file;      /* NULL: unknown */
	const char *decl_file; /* where the function stands; NULL: unknown */
	uint32_t line,
		column; /* of the address, or of the call that the next frame came by; or 0 */
	uint32_t decl_line;
	uint32_t number; /* of `function` among the texts of the map that keeps it, from 1; else
			    0 */
	uint64_t start;  /* address of the function's symbol, or where one without a symbol begins
			    (`function` is NULL); 0: unknown, as of one that was inlined */
	enum chain_bounds bounds; /* of a function without a symbol, whose `start` is known */
	bool is_inlined;          /* into the next frame */
};

/* Innermost first; the last frame is the function that has a symbol. count 0: nothing is known. */
struct chain {
	const struct chain_frame *frames;
	uint32_t count;
};

/*
 * Whether it tells a name or a line, and not only where a function without a symbol begins: files
 * that have symbols may tell more.
 */
static inline bool chain_is_named(const struct chain *chain)
{
	return chain->count > 1 ||
	       (chain->count && (chain->frames->function || chain->frames->file));
}

#endif

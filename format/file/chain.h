/*
 * What is known of one address: the function that has a symbol, and the functions that were
 * inlined into it there. All readers of debug information give chains; caches and
 * recordings keep them (chain_map.h).
 */
#ifndef EBPROF_CHAIN_H
#define EBPROF_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

struct chain_frame {
	const char *function;  /* mangled; NULL: not told, as for assembler code */
	const char *file;      /* NULL: unknown */
	const char *decl_file; /* where the function stands; NULL: unknown */
	uint32_t line,
		column; /* of the address, or of the call that the next frame came by; or 0 */
	uint32_t decl_line;
	uint32_t number; /* of `function` among the texts of the map that keeps it, from 1; else
			    0 */
	uint64_t start;  /* address of the function's symbol, or where one without a symbol begins
			    (`function` is NULL); 0: unknown, as of one that was inlined */
	bool is_inlined; /* into the next frame */
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

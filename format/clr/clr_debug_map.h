/*
 * From places in code of .NET's compilers to places in the IL that it was made of: pairs of both,
 * in the order of the code, each for what comes up to the next one. Code that the compiler added
 * counts as of the IL ahead of it, unless that is the epilogue.
 *
 * Sources: src/coreclr/vm/debuginfostore.cpp and inc/{nibblestream,patchpointinfo}.h of .NET 8, 9,
 * 10; of dotnet/runtime docs/design/coreclr/botr/readytorun-format.md, "DebugInfo".
 */
#ifndef EBPROF_CLR_DEBUG_MAP_H
#define EBPROF_CLR_DEBUG_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "format/clr/clr_bytes.h"

enum {
	CLR_IL_NONE = -1, /* instead of a place in the IL: the code is of none, */
	CLR_IL_PROLOGUE = -2,
	CLR_IL_EPILOGUE = -3,
};

struct clr_debug_point {
	uint32_t native; /* offset from where the code begins; ascending */
	int32_t il;
};

struct clr_debug_map {
	VEC(struct clr_debug_point) points;
};

/* The two ways that the pairs are packed. */
enum clr_debug_packing {
	CLR_DEBUG_NIBBLES, /* up to .NET 9 */
	CLR_DEBUG_BITS,    /* from 10 on */
};

/*
 * Reads the pairs at `at`, of code of `code_bytes`. False: they make no sense, *ret is empty. They
 * stand behind two lengths, as in the section CLR_READY_DEBUG_INFO.
 */
bool clr_debug_map_read(struct clr_bytes *bytes, uint64_t at, enum clr_debug_packing packing,
	uint32_t code_bytes, struct clr_debug_map *ret);
/* The same of code that was compiled at run time, ahead of which stands more. */
bool clr_debug_map_read_live(struct clr_bytes *bytes, uint64_t at, enum clr_debug_packing packing,
	uint32_t code_bytes, struct clr_debug_map *ret);
void clr_debug_map_deinit(struct clr_debug_map *map);

#endif

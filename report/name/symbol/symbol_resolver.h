/*
 * From addresses of a file to what stands there, by all that the file has: its symbol table, Go's
 * own tables for Go's code, DWARF for the rest, which may be C in a Go program. Where none of these
 * has a name, the bounds of functions say at least which one it is.
 */
#ifndef EBPROF_SYMBOL_RESOLVER_H
#define EBPROF_SYMBOL_RESOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/cache.h"
#include "format/file/chain_map.h"
#include "report/name/symbol/clr_lines.h"
#include "report/name/symbol/dwarf_resolver.h"
#include "report/name/symbol/symbol_file.h"
#include "report/name/symbol/symbol_index.h"

/*
 * The address index of the DWARF: used where there is one. Where there is none, it is made instead
 * of a walk once there were as many of these as it takes (a file that is walked that often is
 * walked again, and has cost no more than twice of what was needed in any case): with compressed
 * debug information two walks, since unpacking is most of both, else seven. A walk of little debug
 * information takes no time that could be noticed.
 */
struct resolver_index {
	const struct cache *cache; /* as in address_index.h; NULL: none */
	const char *name;
	unsigned nr_walks; /* before this one */
};

/* All of it is borrowed. */
struct resolver_sources {
	const struct symbol_index *symbols;
	struct elf_file *debug; /* with debug information; NULL: there is none */
	struct elf_file *go;    /* with Go's tables, which may be the same; or NULL */
	struct elf_file *code;  /* with code and where its functions begin; or NULL */
	struct clr_lines_place
		clr; /* of images of .NET with lines; its elf is NULL: there are none */
	struct dwarf_resolver_options debug_options;
	struct resolver_index index;
};

/* All that was found but the symbol index, which is made when the resolver needs it. */
struct resolver_sources resolver_sources_of(const struct symbol_file *file);

struct resolver_place {
	uint64_t address;       /* as the symbols count */
	uint64_t debug_address; /* as the debug information does */
	uint64_t offset;        /* as the recording does */
};

/*
 * Adds a chain for each place; sorts them. False when parts of the debug information lacked:
 * the chains may be better another time.
 */
bool resolver_run(const struct resolver_sources *sources, struct resolver_place *places,
	size_t count, struct chain_map *chains);

/* How much the sources can tell. */
enum chain_map_detail resolver_detail(const struct resolver_sources *sources);

#endif

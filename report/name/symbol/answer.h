/* Asks symbol tables and debug information, and joins what both say of an address. */
#ifndef EBPROF_ANSWER_H
#define EBPROF_ANSWER_H

#include "format/file/answers.h"
#include "report/name/symbol/chain_resolver.h"
#include "report/name/symbol/symbol_file.h"
#include "report/name/symbol/symbol_index.h"

struct answer_sources {
	const struct symbol_index *index;
	struct elf_file *debug; /* with debug information; NULL: there is none */
	struct elf_file *go;    /* with Go's tables, which may be the same; or NULL */
	struct dwarf_resolver_options debug_options;
	struct chain_index debug_index;
};

/* All that was found but the symbol index, which is made when it is asked for; borrowed. */
struct answer_sources answer_sources_of(const struct symbol_file *file);

struct answer_place {
	uint64_t address;       /* as the symbols count */
	uint64_t debug_address; /* as the debug information does */
	uint64_t offset;        /* as the recording does */
};

/*
 * Adds an answer for each place; sorts them. False when parts of the debug information lacked:
 * the answers may be better another time.
 */
bool answer_places(const struct answer_sources *sources, struct answer_place *places, size_t count,
	struct answers *answers);

/* How much the sources can tell. */
enum answers_detail answer_detail(const struct answer_sources *sources);

#endif

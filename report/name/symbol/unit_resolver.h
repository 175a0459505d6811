/*
 * From the addresses of one unit of debug information to chains: a walk over its DIEs, a run of
 * its line program, and names and paths of what both met, decoded with the first lookup. What one
 * thread of dwarf_resolver.h works with, unit after unit.
 */
#ifndef EBPROF_UNIT_RESOLVER_H
#define EBPROF_UNIT_RESOLVER_H

#include "format/base/str.h"
#include "format/dwarf/dwarf_line_machine.h"
#include "format/dwarf/dwarf_scopes.h"
#include "format/dwarf/dwarf_walk.h"
#include "format/file/chain.h"

struct unit_resolver {
	/* private: */
	struct strtab strings;
	VEC(struct unit_function) functions;
	struct map by_die; /* where its DIE is in memory -> index of function plus 1 */

	/* Of the unit at hand. */
	struct dwarf_reader *reader;
	struct dwarf_unit *unit;
	const uint64_t *addresses;
	size_t count;
	struct dwarf_scopes scopes;
	struct map paths; /* line header and file number -> string plus 1 */
	struct dwarf_walk walk;
	VEC(struct unit_place) places;
	VEC(uint32_t) nodes;
	VEC(struct dwarf_row) rows;
	VEC(struct chain_frame) chain;
};

/*
 * Reads a unit for ascending addresses, borrowed until the next unit. `side_by_side`: with a
 * thread more for its lines.
 */
void unit_resolver_read(struct unit_resolver *resolver, struct dwarf_reader *reader,
	struct dwarf_unit *unit, const uint64_t *addresses, size_t count, bool side_by_side);

/* What is known of addresses[i]: frames valid until the next call, texts until they are forgotten.
 */
struct chain unit_resolver_chain(struct unit_resolver *resolver, size_t i);

/* To be called before the reader forgets its units. */
void unit_resolver_forget_unit(struct unit_resolver *resolver);
/* And before its file is gone. */
void unit_resolver_forget_file(struct unit_resolver *resolver);
/* Memory that texts take. */
size_t unit_resolver_text_bytes(const struct unit_resolver *resolver);
/* Forgets all, texts too; may be used again. */
void unit_resolver_deinit(struct unit_resolver *resolver);

#endif

/*
 * From addresses to functions, inlined ones included, files and lines, by DWARF.
 *
 * An offline report knows all addresses beforehand, so they are resolved in one
 * batch: each unit of the debug information that holds some is read once, by one
 * of several threads, the largest first. Nothing about the file is indexed or
 * kept, which is why memory does not grow with it. Compressed sections are unpacked
 * as a whole before that, side by side, into memory that is no program's own
 * (elf_inflate.h tells why).
 */
#ifndef EBPROF_DWARF_RESOLVER_H
#define EBPROF_DWARF_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/elf/elf_budget.h"
#include "format/elf/elf_file.h"
#include "format/file/chain.h"
#include "report/name/symbol/dwarf_survey.h"

struct dwarf_resolver;

struct line_sections;
struct regular_file_rules;

struct dwarf_resolver_options {
	unsigned nr_threads; /* 0: as many as there are CPUs */
	/* For files that stand beside this one: split DWARF, dwz. */
	const char *path;            /* NULL: they are not looked for */
	const char *root;            /* where absolute paths start; NULL: / */
	struct line_sections *lines; /* instead of a file: lines alone; borrowed, or NULL */
	const struct regular_file_rules *rules; /* of how they are opened, or NULL */
	const char *alt_path;      /* of what dwz moved out; NULL: where the file says it is */
	struct elf_budget *budget; /* for what is unpacked; borrowed, or NULL: no limit */
};

/*
 * NULL when the file has no debug information. `elf`, NULL where there are lines instead, and the
 * options' texts are borrowed until the resolver is destroyed.
 */
struct dwarf_resolver *dwarf_resolver_create(
	struct elf_file *elf, const struct dwarf_resolver_options *options);

/*
 * Fills chains[i] for addresses[i]: virtual addresses of the file, ascending,
 * each once. Callers' addresses must be inside of the call. All that the chains
 * lead to belongs to the resolver.
 */
void dwarf_resolver_run(struct dwarf_resolver *resolver, const uint64_t *addresses, size_t count,
	struct chain *chains);

/* How many threads resolve; a survey calls its taker in no more than these. */
unsigned dwarf_resolver_threads(const struct dwarf_resolver *resolver);

/*
 * Reports all code. Texts that are reported are forgotten when the resolver is destroyed, if not
 * before. False when that is not all that there is to be known, or the debug information is
 * damaged: then chains of single addresses may be others.
 */
bool dwarf_resolver_survey(struct dwarf_resolver *resolver, const struct dwarf_survey_taker *taker);

/*
 * Whether a .dwo was looked for in vain in some run, or dwz's file, or there was no room to unpack
 * something: with it, more is known.
 */
bool dwarf_resolver_lacks_parts(const struct dwarf_resolver *resolver);

void dwarf_resolver_destroy(struct dwarf_resolver *resolver);

#endif

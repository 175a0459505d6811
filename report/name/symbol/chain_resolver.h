/*
 * From addresses to chains by whatever a file has that tells of them: Go's own
 * tables for Go's code, DWARF for the rest, which may be C in a Go program.
 */
#ifndef EBPROF_CHAIN_RESOLVER_H
#define EBPROF_CHAIN_RESOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/cache.h"
#include "report/name/symbol/dwarf_resolver.h"

struct chain_resolver;

/*
 * The address index of the DWARF: used where there is one. Where there is none, it is made instead
 * of a walk once there were as many of these as it takes (somebody who comes that often comes
 * again, and has spent no more than twice of what was needed whatever comes): with compressed debug
 * information two walks, since unpacking is most of both, else seven. Little of it is walked
 * faster than anybody would notice.
 */
struct chain_index {
	const struct cache *cache; /* as in address_index.h; NULL: none */
	const char *name;
	unsigned nr_walks; /* before this one */
};

/*
 * `go` is the file with Go's tables, `debug` the one with DWARF; they may be the same, and either
 * may be NULL. They, the options and the index, NULL for none, are
 * borrowed. NULL when neither has anything to tell.
 */
struct chain_resolver *chain_resolver_create(struct elf_file *go, struct elf_file *debug,
	const struct dwarf_resolver_options *options, const struct chain_index *index);

/* As dwarf_resolver_run(). */
void chain_resolver_run(struct chain_resolver *resolver, const uint64_t *addresses, size_t count,
	struct chain *chains);

/* As dwarf_resolver_lacks_parts(). */
bool chain_resolver_lacks_parts(const struct chain_resolver *resolver);

void chain_resolver_destroy(struct chain_resolver *resolver);

#endif

/*
 * From addresses of Go's own code to functions, inlined ones included, files
 * and lines, by the tables that every Go program carries, stripped or not.
 *
 * C code of the same program (cgo) is not in these tables.
 */
#ifndef EBPROF_GO_RESOLVER_H
#define EBPROF_GO_RESOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "format/elf/elf_file.h"
#include "format/file/chain.h"

struct go_resolver;

/* NULL for a file that is none of Go's. `elf` is borrowed until the resolver is destroyed. */
struct go_resolver *go_resolver_create(struct elf_file *elf);

/*
 * Fills chains[i] for addresses[i]: virtual addresses of the file, ascending, each once. Callers'
 * addresses must be inside of the call. All that the chains lead to belongs to the resolver.
 * A function without lines (one that was written in C) has a chain of its name alone.
 */
void go_resolver_run(struct go_resolver *resolver, const uint64_t *addresses, size_t count,
	struct chain *chains);

void go_resolver_destroy(struct go_resolver *resolver);

#endif

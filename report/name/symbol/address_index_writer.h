/* Makes the address index of a file, see address_index.h. */
#ifndef EBPROF_ADDRESS_INDEX_WRITER_H
#define EBPROF_ADDRESS_INDEX_WRITER_H

#include "format/base/cache.h"
#include "report/name/symbol/dwarf_resolver.h"

/*
 * Stores all that the resolver's file says under `name`. False when it could not be
 * stored, or the resolver does not have all of it; then nothing is.
 */
bool address_index_write(
	const struct cache *cache, const char *name, struct dwarf_resolver *resolver);

#endif

/*
 * All that a file's debug information says of its code, on disk, so that addresses that were not
 * looked up yet need neither unpacking nor a walk: the file is mapped, and an address costs
 * a binary search and a look into a few thousand bytes. It says exactly what
 * dwarf_resolver.h does, which it is made by.
 *
 * As all of a cache it is checked like a stranger's: each page by a checksum before something in it
 * is used, and each number. Damage is not repaired: then there is no such index, and it is made
 * again.
 */
#ifndef EBPROF_ADDRESS_INDEX_H
#define EBPROF_ADDRESS_INDEX_H

#include "format/base/cache.h"
#include "format/file/chain.h"

struct address_index;

enum {
	ADDRESS_INDEX_CACHE_MAX_MB = 2048, /* of all of them */
};

/* `folder` as in format/base/cache.h. */
struct err *address_index_cache_open(const char *folder, struct cache **ret) ERR_MUST_CHECK;

/* NULL when there is none of this name, or no sound one. */
struct address_index *address_index_open(const struct cache *cache, const char *name);

/*
 * Fills chains[i] for the ascending addresses[i]. What they lead to belongs to the index. False
 * when it is damaged where it was asked: then the chains are not to be used.
 */
bool address_index_run(
	struct address_index *index, const uint64_t *addresses, size_t count, struct chain *chains);

void address_index_close(struct address_index *index);

#endif

/*
 * Unwind tables on disk, by build ID, so that a file is read once and not once for each recording.
 *
 * Whoever makes a program chooses its build ID: store only tables of files whose owner is trusted
 * not to claim the ID of another.
 */
#ifndef EBPROF_TABLE_CACHE_H
#define EBPROF_TABLE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cache.h"
#include "format/base/err.h"
#include "record/unwind_table.h"

/* The cache "unwind": format/base/cache.h tells of `folder`. */
struct err *table_cache_open(const char *folder, struct cache **ret) ERR_MUST_CHECK;

/*
 * A NULL cache finds nothing and stores nothing, an empty build ID is never found. An error of
 * loading says why a file that is there was refused: *is_found is false then.
 */
struct err *table_cache_load(const struct cache *cache, const uint8_t *build_id, uint32_t len,
	struct unwind_table *ret, bool *is_found) ERR_MUST_CHECK;

/* All of the table or nothing, also beside other writers. ERR_IO when the disk is full. */
struct err *table_cache_store(const struct cache *cache, const uint8_t *build_id, uint32_t len,
	const struct unwind_table *table) ERR_MUST_CHECK;

#endif

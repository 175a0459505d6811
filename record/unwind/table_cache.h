/*
 * Unwind tables on disk, so that the recorder makes each of them once and not for each recording.
 * They are found by build ID, where there is one, which any file may claim to have. Therefore a
 * table is stored with the parts of the file that it was made from, and the caller of
 * table_cache_load() compares these with the file at hand.
 */
#ifndef EBPROF_TABLE_CACHE_H
#define EBPROF_TABLE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cache.h"
#include "format/base/err.h"
#include "record/unwind/table_inputs.h"
#include "record/unwind/unwind_table.h"

enum {
	TABLE_CACHE_NAME_MAX = 80, /* bytes */
	TABLE_CACHE_MAX_MB = 512,  /* of all entries; libLLVM's has 4 */
};

/* The cache "unwind": format/base/cache.h tells of `folder`. */
struct err *table_cache_open(const char *folder, struct cache **ret) ERR_MUST_CHECK;

/*
 * `name` is of up to TABLE_CACHE_NAME_MAX bytes. A NULL cache finds nothing and stores nothing, an
 * empty name is never found. An error of loading says why a file that is there was refused:
 * *is_found is false then. *ret and *inputs are yours when it is true.
 */
struct err *table_cache_load(const struct cache *cache, const uint8_t *name, uint32_t len,
	struct unwind_table *ret, struct table_inputs *inputs, bool *is_found) ERR_MUST_CHECK;

/* All of the table or nothing, also beside other writers. ERR_IO when the disk is full. */
struct err *table_cache_store(const struct cache *cache, const uint8_t *name, uint32_t len,
	const struct unwind_table *table, const struct table_inputs *inputs) ERR_MUST_CHECK;

#endif

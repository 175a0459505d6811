/*
 * Unwind tables on disk, by build ID, so that a file is read once and not once
 * for each recording.
 *
 * The folder is $XDG_CACHE_HOME/ebprof/unwind, else /var/cache/ebprof/unwind
 * for root and ~/.cache/ebprof/unwind for others. Nothing in it is believed:
 * neither the folder nor a file is used that somebody else owns or may write,
 * and a table is checked as if a stranger had made it. Whatever is wrong, the
 * table is built again; so all errors here are reasons, no failures.
 *
 * Whoever makes a program chooses its build ID: store only tables of files
 * whose owner is trusted not to claim the ID of another.
 */
#ifndef EBPROF_TABLE_CACHE_H
#define EBPROF_TABLE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "record/unwind_table.h"

struct table_cache;

/*
 * `folder` NULL: the usual one; "": no cache, and *ret NULL. It is created, mode 0700, if need be.
 * Files that nobody asked for in a month are removed.
 */
struct err *table_cache_open(const char *folder, struct table_cache **ret) ERR_MUST_CHECK;
void table_cache_close(struct table_cache *cache);

/*
 * A NULL cache finds nothing and stores nothing, an empty build ID is never found. An error of
 * loading says why a file that is there was refused: *is_found is false then.
 */
struct err *table_cache_load(const struct table_cache *cache, const uint8_t *build_id, uint32_t len,
	struct unwind_table *ret, bool *is_found) ERR_MUST_CHECK;

/* All of the table or nothing, also beside other writers. ERR_IO when the disk is full. */
struct err *table_cache_store(const struct table_cache *cache, const uint8_t *build_id,
	uint32_t len, const struct unwind_table *table) ERR_MUST_CHECK;

#endif

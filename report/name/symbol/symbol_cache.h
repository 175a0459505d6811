/*
 * Chains of earlier reports on disk, with the names of functions as they were shown, so that a
 * file's debug information is read once: a second report of the same recording, or another one of
 * the same program, finds them there.
 *
 * An entry is for an object, by build ID, and for the files that they are from: their
 * inodes, sizes and times are part of its name. Debug information that is found
 * later, or a file that claims another's build ID, makes another entry.
 */
#ifndef EBPROF_SYMBOL_CACHE_H
#define EBPROF_SYMBOL_CACHE_H

#include "format/base/cache.h"
#include "format/file/chain_map.h"
#include "report/model/profile.h"
#include "report/name/symbol/shown_names.h"
#include "report/name/symbol/symbol_file.h"

enum {
	SYMBOL_CACHE_MAX_MB = 2560,         /* of all entries */
	SYMBOL_CACHE_MODES = DEMANGLE_NONE, /* the modes before it, which change names */
};

/* An entry, or none: an empty name. */
struct symbol_cache_entry {
	char name[CACHE_NAME_MAX + 1];
	bool is_there;      /* it was loaded or stored */
	uint32_t nr_stored; /* how often its chains were stored, as far as is known */
	/* Names as they are shown in each mode, encoded; those of the mode in use are not here. */
	struct bytes_buf names[SYMBOL_CACHE_MODES];
};

/* `folder` as in format/base/cache.h. */
struct err *symbol_cache_open(const char *folder, struct cache **ret) ERR_MUST_CHECK;

/* There is none for objects without a build ID, and where no file was accepted. */
void symbol_cache_find(const struct layout_object *object, const struct symbol_file *file,
	struct symbol_cache_entry *ret);

/*
 * `chains` are empty, and stay so where the entry is not there or not sound. `names`, NULL where
 * they are of no use: those of its mode, as far as the entry has them.
 */
void symbol_cache_load(const struct cache *cache, struct symbol_cache_entry *entry,
	struct chain_map *chains, struct shown_names *names);

/*
 * Replaces the entry. `are_chains_new`: else only the names are, or NULL. What cannot be written
 * is looked up again the next time.
 */
void symbol_cache_store(const struct cache *cache, struct symbol_cache_entry *entry,
	const struct chain_map *chains, bool are_chains_new, const struct shown_names *names);

void symbol_cache_entry_deinit(struct symbol_cache_entry *entry);

#endif

/*
 * A folder of things that can be made again: unwind tables, names of earlier
 * reports. Nothing in it is believed: neither the folder nor a file is used that
 * another user owns or may write, and what is read is checked as if a stranger
 * had made it. When anything is wrong, the thing is made again; so errors here are
 * reasons, no failures.
 *
 * The folder of a kind is $XDG_CACHE_HOME/ebprof/KIND, which root uses only where that belongs to
 * root, else /var/cache/ebprof/KIND for root and ~/.cache/ebprof/KIND for others.
 */
#ifndef EBPROF_CACHE_H
#define EBPROF_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"

enum {
	CACHE_NAME_MAX = 160, /* hexadecimal digits of an entry's name */
};

struct cache;

struct cache_options {
	const char *kind;   /* static, a word; entries end in it */
	const char *folder; /* NULL: the usual one; "": no cache */
	/* Of all entries, and an eighth more until it is noticed; 0: no limit. Those unused for
	 * longest go first. */
	uint64_t max_bytes;
};

/*
 * Creates the folder, mode 0700, if need be. *ret is NULL without a cache. Entries that were not
 * used for a month are removed.
 */
struct err *cache_open(const struct cache_options *options, struct cache **ret) ERR_MUST_CHECK;
void cache_close(struct cache *cache);

/* The usual folder of a kind, for what keeps no such entries: a descriptor, which is yours. */
struct err *cache_folder_open(const char *kind, int *ret) ERR_MUST_CHECK;

struct cache_piece {
	const void *bytes;
	size_t len;
};

/*
 * Stores an entry of these pieces: all of it or nothing, also beside other writers. `name` is of
 * lower-case hexadecimal digits. A NULL cache stores nothing. ERR_IO when the disk is full.
 */
struct err *cache_store(const struct cache *cache, const char *name,
	const struct cache_piece *pieces, size_t nr_pieces) ERR_MUST_CHECK;

/*
 * The same for what is too large to be in memory at once: an entry is written from its start to its
 * end, and is there once it is committed. *ret is NULL without a cache.
 */
struct cache_writer;
struct err *cache_writer_open(
	const struct cache *cache, const char *name, struct cache_writer **ret) ERR_MUST_CHECK;
struct err *cache_writer_put(
	struct cache_writer *writer, const void *bytes, size_t len) ERR_MUST_CHECK;
struct err *cache_writer_commit(struct cache_writer *writer) ERR_MUST_CHECK;
/* What was not committed is gone. */
void cache_writer_close(struct cache_writer *writer);

/* What entries end in; `sum` is that of the pieces before, 0 for the first. */
uint64_t cache_checksum(uint64_t sum, const void *bytes, size_t len);

/* An entry that is being read, piece by piece, in the sizes in which it was stored. */
struct cache_entry {
	int fd;              /* -1: there is no such entry */
	uint64_t bytes_left; /* of the pieces */
	uint64_t checksum;   /* of what was read */
};

/*
 * An error says why an entry that is there was refused. A NULL cache has no entries. To be closed
 * in any case.
 */
struct err *cache_entry_open(
	const struct cache *cache, const char *name, struct cache_entry *ret) ERR_MUST_CHECK;
struct err *cache_entry_read(struct cache_entry *entry, void *bytes, size_t len) ERR_MUST_CHECK;
/* Whether all was read and is what was stored. Before that no byte is to be relied on. */
struct err *cache_entry_check(struct cache_entry *entry) ERR_MUST_CHECK;
void cache_entry_close(struct cache_entry *entry);

#endif

/*
 * Baselines in a folder, which can be a shared one, or come from a cache of a CI service:
 *
 *   objects/12/1234....ebprof       a baseline, named by its SHA-256
 *   refs/JOB/BRANCH/CPU-MODEL       which of them a job has, see store_ref.h
 *   lock
 *
 * Files are written beside and renamed, so that each is there as a whole or not at all, whenever
 * a writer is killed; writers hold the lock. What is read is checked by what it says of itself: a
 * baseline by its hash.
 */
#ifndef EBPROF_STORE_H
#define EBPROF_STORE_H

#include <stdbool.h>

#include "format/base/bytes.h"
#include "report/compare/baseline/store_ref.h"

enum {
	STORE_MAX_OBJECT_BYTES = 64 << 20,
};

struct store;

struct store_options {
	const char *folder;
	bool creates;   /* else there has to be one */
	bool has_owner; /* whose all that is made shall be; of sudo's caller, say */
	uint32_t uid, gid;
};

struct err *store_open(const struct store_options *options, struct store **ret) ERR_MUST_CHECK;
void store_close(struct store *store);

/* Adds the baseline; entry->hash is of its bytes, see store_entry_init(). */
struct err *store_save(struct store *store, const struct store_key *key,
	const struct store_entry *entry, const void *bytes) ERR_MUST_CHECK;

/* What is known of the key; *ret is NULL where there is nothing. */
struct err *store_find(
	struct store *store, const struct store_key *key, struct store_ref **ret) ERR_MUST_CHECK;
void store_ref_destroy(struct store_ref *ref);

/* Reads a baseline; refuses one that does not have its hash. */
struct err *store_read(struct store *store, const char *hash, struct bytes_buf *ret) ERR_MUST_CHECK;

/* All refs, by their names. One that cannot be read is passed to `damaged`, with the reason. */
struct store_visitor {
	void *context;
	void (*ref)(void *context, const struct store_ref *ref);
	void (*damaged)(void *context, const char *file, const char *why);
};
struct err *store_each_ref(struct store *store, const struct store_visitor *visitor) ERR_MUST_CHECK;

struct store_gc_options {
	uint32_t keep;     /* of each key the newest; 0: all */
	uint64_t before_s; /* older ones go; 0: none by their age */
	bool is_dry_run;   /* nothing is removed */
	void *context;
	/* What goes: an entry of a key, and then each file. */
	void (*dropped)(
		void *context, const struct store_ref *ref, const struct store_entry *entry);
	void (*removed)(void *context, const char *file, uint64_t bytes);
};

/* Where a ref cannot be read no baseline is removed: it may be that one's. */
struct err *store_gc(struct store *store, const struct store_gc_options *options) ERR_MUST_CHECK;

#endif

/*
 * Answers of earlier reports on disk, so that a file's debug information is read
 * once: a second report of the same recording, or another one of the same
 * program, finds its answers there.
 *
 * An entry is for an object, by build ID, and for the files that answered: their
 * inodes, sizes and times are part of its name. Debug information that is found
 * later, or a file that claims somebody else's build ID, makes another entry.
 */
#ifndef EBPROF_ANSWER_CACHE_H
#define EBPROF_ANSWER_CACHE_H

#include "format/base/cache.h"
#include "format/file/answers.h"
#include "report/model/profile.h"
#include "report/name/symbol/symbol_file.h"

enum {
	ANSWER_CACHE_MAX_MB = 2048, /* of all entries */
};

/* Which entry, or none: an empty name. */
struct answer_key {
	char name[CACHE_NAME_MAX + 1];
	uint32_t nr_stored; /* how often it was stored before, as far as is known */
	uint64_t checksum;  /* of the entry, once it was loaded or stored; 0: there is none */
};

/* `folder` as in format/base/cache.h. */
struct err *answer_cache_open(const char *folder, struct cache **ret) ERR_MUST_CHECK;

/* No key for objects without a build ID, and where no file was accepted. */
struct answer_key answer_cache_key(
	const struct layout_object *object, const struct symbol_file *file);

/* `answers` is empty, and stays so where there is no sound entry. */
void answer_cache_load(const struct cache *cache, struct answer_key *key, struct answers *answers);

/* Replaces the entry. What cannot be written is asked for again the next time. */
void answer_cache_store(
	const struct cache *cache, struct answer_key *key, const struct answers *answers);

#endif

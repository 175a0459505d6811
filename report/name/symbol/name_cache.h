/*
 * Functions' names as an earlier report showed them, on disk: an entry for an entry of the answers'
 * cache (answer_cache.h), whose checksum it tells, and for a way to show names.
 */
#ifndef EBPROF_NAME_CACHE_H
#define EBPROF_NAME_CACHE_H

#include "report/name/symbol/answer_cache.h"
#include "report/name/symbol/shown_names.h"

enum {
	NAME_CACHE_MAX_MB = 512, /* of all entries */
};

/* `folder` as in format/base/cache.h. */
struct err *name_cache_open(const char *folder, struct cache **ret) ERR_MUST_CHECK;

/* The names of answers that were just loaded by that key; none where there is no sound entry. */
void name_cache_load(const struct cache *cache, const struct answer_key *key,
	struct answers *answers, struct shown_names *names);

/* Replaces the entry. `answers` are what is stored by that key. */
void name_cache_store(const struct cache *cache, const struct answer_key *key,
	const struct answers *answers, const struct shown_names *names);

#endif

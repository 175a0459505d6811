/*
 * What a store knows of one job on one branch and one CPU model: its baselines, oldest first. On
 * disk it is a text, whose words are escaped as in URLs:
 *
 *   ebprof-baselines 1
 *   job NAME
 *   branch NAME
 *   cpu MODEL
 *   baseline SHA-256 SECONDS-SINCE-1970 RUNS SAMPLES BYTES EVENT
 */
#ifndef EBPROF_STORE_REF_H
#define EBPROF_STORE_REF_H

#include "format/base/err.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "report/compare/baseline/sha256.h"

enum {
	STORE_MAX_NAME_BYTES = 4096, /* of a job, a branch, a CPU model or an event */
};

struct store_key {
	const char *job, *branch, *cpu_model; /* borrowed */
};

struct store_entry {
	char hash[SHA256_DIGITS + 1];
	uint64_t time_s; /* when it was saved, since 1970 */
	uint64_t runs, samples, bytes;
	char *event;
};

struct store_ref {
	char *job, *branch, *cpu_model;
	VEC(struct store_entry) entries;
};

void store_ref_init(struct store_ref *ref, const struct store_key *key);
void store_ref_deinit(struct store_ref *ref);
/* The last one; an older one with the same hash goes. */
void store_ref_add(struct store_ref *ref, const struct store_entry *entry);
/* Removes `count` of them from `first` on. */
void store_ref_drop(struct store_ref *ref, size_t first, size_t count);

void store_ref_encode(const struct store_ref *ref, struct str *out);
/* `text` is not trusted. */
struct err *store_ref_decode(const char *text, size_t len, struct store_ref *ret) ERR_MUST_CHECK;

/*
 * A name as that of a file: what is no letter, digit or harmless sign is escaped, so that it can
 * be neither ".." nor hold a slash; the end of a long one is its hash. Refuses an empty one, and
 * more than STORE_MAX_NAME_BYTES.
 */
struct err *store_ref_put_file_name(
	const char *what, const char *name, struct str *out) ERR_MUST_CHECK;

#endif

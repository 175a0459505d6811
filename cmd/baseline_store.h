/* Where `baseline` and `ci run` keep baselines, and by which key. */
#ifndef EBPROF_BASELINE_STORE_H
#define EBPROF_BASELINE_STORE_H

#include "cmd/baseline_file.h"
#include "report/compare/baseline/store.h"

/* Unless others are given. */
#define BASELINE_STORE_FOLDER "ebprof-baselines"
#define BASELINE_STORE_BRANCH "main"

/* `creates`: else there has to be one. */
struct err *baseline_store_open(
	const char *folder, bool creates, struct store **ret) ERR_MUST_CHECK;

struct baseline_store_wanted {
	const char *job, *branch;
	const char *cpu_model; /* of what is compared with it */
	const char *event;     /* NULL: any */
	bool is_forced;        /* take that of another CPU model or event, and say so */
	bool needs_none;       /* that of another CPU model is as good as none, and no error */
};

struct baseline_store_found {
	struct store_ref *ref;
	const struct store_entry *entry; /* of the ref, the newest; NULL: there is none */
};

/*
 * The newest baseline that the job has on the branch. One of another CPU model or event is refused
 * with the reason. The ref is to be destroyed.
 */
struct err *baseline_store_find(struct store *store, const struct baseline_store_wanted *wanted,
	struct baseline_store_found *ret) ERR_MUST_CHECK;

/* Where a baseline goes. */
struct baseline_store_target {
	const char *folder, *job, *branch;
	bool is_quiet; /* else it says on stderr what was saved */
};

/* Makes one of the recordings, and saves it. */
struct err *baseline_store_save(const struct baseline_store_target *target,
	const struct baseline_file_options *options) ERR_MUST_CHECK;

#endif

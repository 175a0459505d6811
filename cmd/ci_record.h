/* The runs of `ci run`: each is recorded by a `record` of its own, whose limits are known. */
#ifndef EBPROF_CI_RECORD_H
#define EBPROF_CI_RECORD_H

#include "cmd/ci_folder.h"

/* How base and new take turns: X(enum, word). With ABBA what drifts falls upon both alike. */
#define CI_ORDERS(X) \
	X(CI_ABBA, "abba") \
	X(CI_ABAB, "abab") \
	X(CI_AABB, "aabb")

enum ci_order {
#define X(name, word) name,
	CI_ORDERS(X)
#undef X
};

struct ci_record_options {
	uint32_t runs; /* of each side */
	enum ci_order order;
	const char *base;              /* a command for the shell; NULL: only the new side is run */
	char *const *command;          /* of the new side; ends in NULL */
	const char *frequency, *event; /* as for record; NULL: its own */
	bool is_quiet;
};

/*
 * Records all of them into the folder, as long as no signal comes that is watched for
 * (ci_process.h); the recording that was made then is whole. What the commands print goes through.
 * One that fails is an error, as is a run without samples.
 */
struct err *ci_record_all(const struct ci_record_options *options, const struct ci_folder *folder,
	struct ci_files *base, struct ci_files *new) ERR_MUST_CHECK;

/* Runs the command once, not recorded; *ret is its status, as wait(2) has it. */
struct err *ci_record_run_plain(char *const *command, int *ret) ERR_MUST_CHECK;

#endif

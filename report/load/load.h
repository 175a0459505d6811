/* From the bytes of a recording to a profile. */
#ifndef EBPROF_LOAD_H
#define EBPROF_LOAD_H

#include "format/base/err.h"
#include "report/model/profile.h"

struct symbol_file_options;

/* What every recording begins with. */
extern const char load_file_head[];
enum {
	LOAD_FILE_HEAD_BYTES = 8,
};

struct profile_options {
	const struct symbol_file_options *files; /* NULL: the usual places */
	/*
	 * Unwind in this process, which then crashes with it: for tests that look for crashes.
	 */
	bool unwinds_here;
	/*
	 * Load the second samples of ticks, too, which `record --call-graph both` makes: sums then
	 * count these ticks twice.
	 */
	bool with_second_samples;
	/* Only what was recorded: without what is made of samples for those who look at them. */
	bool as_recorded;
	bool leaves_order; /* of the samples: the caller sorts them, see report/model/sample_order.h
			    */
	/* Called while the file is read, with how much was; NULL: it is not called. */
	void (*progress)(void *context, uint64_t file_bytes);
	void *context;
};

/*
 * Reads a whole recording. Damage is no error: see profile_health(). Stacks that the recorder left
 * to be unwound are, by a child process, by the rules of the files on this machine. `options` may
 * be NULL.
 */
struct err *profile_load(
	int fd, const struct profile_options *options, struct profile **ret) ERR_MUST_CHECK;

#endif

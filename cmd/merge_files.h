/* Merging the files that the command line names: for `merge`, and for commands that read several as
 * one. */
#ifndef EBPROF_MERGE_FILES_H
#define EBPROF_MERGE_FILES_H

#include "format/import/import.h"
#include "format/merge/merge.h"

struct merge_files {
	const char *const *paths; /* "-" once: standard input */
	const int *fds;           /* they are open already, and stay so; NULL: they are not */
	size_t count;
	enum import_as as; /* of paths: what the files are read as */
	bool takes_twice;
	/* Of one recorder, and one that it still writes to is no damage; see merge_options. */
	bool are_pieces;
	struct merge_span span;
	bool *is_damaged; /* set where one is not whole; may be NULL */
};

/*
 * Says on stderr which inputs are damaged, and how. Refuses a file that comes twice. The results of
 * the inputs are not returned.
 */
struct err *merge_files_write(const struct merge_files *files, struct writer_sink sink,
	struct merge_result *ret) ERR_MUST_CHECK;
/* Into memory; *ret is a descriptor of the merged recording. */
struct err *merge_files_open(const struct merge_files *files, int *ret) ERR_MUST_CHECK;

#endif

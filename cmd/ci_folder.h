/* Where the recordings of `ci run` are while it runs: a temporary folder, or one that is kept. */
#ifndef EBPROF_CI_FOLDER_H
#define EBPROF_CI_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/err.h"
#include "format/base/vec.h"

struct ci_folder {
	char *path; /* NULL: there is none */
	bool is_kept;
	int fd;
};

/* Made if need be. NULL: a temporary one, below TMPDIR. */
struct err *ci_folder_create(const char *kept, struct ci_folder *ret) ERR_MUST_CHECK;
/* Removes a temporary one with all that is in it. */
void ci_folder_deinit(struct ci_folder *folder);

/* Paths of recordings of a side. */
struct ci_files {
	char **data;
	size_t len, cap;
};

/* The path of a file of this name in the folder; it belongs to the list. */
const char *ci_folder_add(const struct ci_folder *folder, const char *name, struct ci_files *files);
void ci_files_deinit(struct ci_files *files);

#endif

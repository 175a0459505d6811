/* The files that record has kept, as the places of symbols: the two do not know each other. */
#ifndef EBPROF_KEPT_NAMING_H
#define EBPROF_KEPT_NAMING_H

#include "record/task/kept_files.h"
#include "report/name/symbol/symbol_file_options.h"

struct kept_naming {
	struct symbol_file_kept *files;
	struct kept_naming_paths *paths;
	size_t count;
};

/* `files` must outlive it. */
void kept_naming_init(struct kept_naming *kept, const struct kept_files *files);
void kept_naming_deinit(struct kept_naming *kept);

#endif

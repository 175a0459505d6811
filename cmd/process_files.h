/*
 * The files that processes run, where they are not at their paths for us: those that only a
 * container sees, and those that were deleted or built anew. They are opened by the processes that
 * have them, as long as these are there, and stay open: a process may end sooner than a live view.
 */
#ifndef EBPROF_PROCESS_FILES_H
#define EBPROF_PROCESS_FILES_H

#include "report/name/symbol/symbol_file_options.h"

struct process_files;

/* `rules` are borrowed; with REGULAR_FILE_KEPT, where there are any. */
struct process_files *process_files_create(const struct regular_file_rules *rules);
/* NULL is safe. */
void process_files_destroy(struct process_files *files);

/* How many were found; NULL has none. */
size_t process_files_count(struct process_files *files);
/* Borrowed, as long as `files` is there. */
const struct symbol_file_finder *process_files_finder(const struct process_files *files);

#endif

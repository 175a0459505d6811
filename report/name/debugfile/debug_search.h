/*
 * Where on this machine an object's symbols are looked for, and in which order:
 *
 *   what was kept      options->kept: that itself, and its root as if it were /
 *   the object itself
 *   --debug-dir DIR    DIR/.build-id/xx/rest.debug, DIR/xx/rest.debug, DIR/PATH.debug,
 *                      then each file of DIR itself that has the build ID
 *   /usr/lib/debug     .build-id/xx/rest.debug
 *   .gnu_debuglink     beside the object, in .debug beside it, /usr/lib/debug/FOLDER
 *   ~/.debug           .build-id/xx/rest: a folder with elf and debug, or a file (perf's cache)
 *
 * The first file with debug information ends the search. Absolute paths count from --symfs;
 * --debug-dir and ~/.debug do not. The current directory is never searched.
 *
 * Source: GDB manual, "Debugging Information in Separate Files"; perf-buildid-cache(1).
 */
#ifndef EBPROF_DEBUG_SEARCH_H
#define EBPROF_DEBUG_SEARCH_H

#include "format/base/vec.h"
#include "report/model/debug_attempt.h"
#include "report/name/debugfile/debug_file.h"
#include "report/name/symbol/symbol_file_options.h"

struct debug_attempts {
	VEC(struct debug_attempt) list; /* paths are yours */
};

void debug_attempts_add(struct debug_attempts *attempts, const struct debug_attempt *attempt);
void debug_attempts_deinit(struct debug_attempts *attempts);

/* Takes a file that was accepted, and its descriptor; true: that is enough. */
typedef bool debug_take_fn(
	void *context, const struct debug_attempt *attempt, struct elf_file *elf, int fd);

struct debug_search {
	const struct symbol_file_options *options;
	debug_take_fn *take;
	void *context;
	const char *root;                /* where absolute paths count from; NULL: --symfs */
	struct debug_attempts *attempts; /* every path that was tried is added */
};

/* `path`: the object's own; NULL or relative: it is not tried. */
void debug_search_object(
	const struct debug_search *search, const char *path, const struct debug_identity *identity);

/* Whether the object itself was kept. */
bool debug_search_has_kept(
	const struct symbol_file_options *options, const struct debug_identity *identity);

/* Where absolute paths that are named in the object's files count from; NULL: /. */
const char *debug_search_root(
	const struct symbol_file_options *options, const struct debug_identity *identity);

/*
 * What dwz moved out of a debug file: `name` is the name of .gnu_debugaltlink, `beside` the debug
 * file's path. Its folder, then the folders above, then /usr/lib/debug/.dwz.
 */
void debug_search_alt(const struct debug_search *search, const char *beside, const char *name,
	const struct debug_identity *identity);

#endif

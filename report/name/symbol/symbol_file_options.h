/* Where symbols may come from, as the user chose. */
#ifndef EBPROF_SYMBOL_FILE_OPTIONS_H
#define EBPROF_SYMBOL_FILE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct debuginfod;
struct regular_file_rules;

struct debug_dirs {
	const char **data;
	size_t len, cap;
};

/* A file that is not at its recorded path, or not for whom looks from here. */
struct symbol_file_kept {
	const uint8_t *build_id;
	size_t build_id_len; /* 0: it has none, then size and time are compared */
	uint64_t size_bytes, mtime_ns;
	const char *path; /* that leads to it now */
	const char *root; /* of the container that it is in, where its debug files are; or NULL */
};

struct profile;

/*
 * Finds files of a profile that are not at their paths, each time that one gets names; they are
 * kept for all that is looked for from then on. What was found stays as and where it is; what is
 * found later stands behind it. On any thread.
 */
struct symbol_file_finder {
	void (*find)(void *context, const struct profile *profile);
	const struct symbol_file_kept *(*found)(void *context, size_t *count);
	void *context;
};

struct symbol_file_options {
	const char *symfs;                   /* look below this directory instead of /; NULL: / */
	struct debug_dirs debug_dirs;        /* --debug-dir, in the order given */
	const struct symbol_file_kept *kept; /* tried before all else */
	size_t nr_kept;
	const struct symbol_file_finder *finder; /* whose files are these instead; NULL: none */
	struct debuginfod *debuginfod;           /* the last source; NULL: none */
	const struct regular_file_rules *rules;  /* of what is opened; NULL: there are none */
};

#endif

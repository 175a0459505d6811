/* Where symbols may come from, as the user chose. */
#ifndef EBPROF_SYMBOL_FILE_OPTIONS_H
#define EBPROF_SYMBOL_FILE_OPTIONS_H

#include <stddef.h>

struct debuginfod;

struct debug_dirs {
	const char **data;
	size_t len, cap;
};

struct symbol_file_options {
	const char *symfs;             /* look below this directory instead of /; NULL: / */
	struct debug_dirs debug_dirs;  /* --debug-dir, in the order given */
	struct debuginfod *debuginfod; /* whom to ask last; NULL: nobody */
};

#endif

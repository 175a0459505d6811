/* How frames get their functions. */
#ifndef EBPROF_SYMBOLIZE_OPTIONS_H
#define EBPROF_SYMBOLIZE_OPTIONS_H

#include "report/name/demangle/demangle.h"
#include "report/name/symbol/symbol_file.h"

struct symbolize_options {
	struct symbol_file_options files;
	const char *cache_folder;    /* as in symbol_cache.h; NULL: the usual one, "": none */
	enum demangle_mode demangle; /* how much of a name is shown */
	bool no_inline;              /* a frame is one function, without those inlined into it */
	uint64_t unpacked_bytes_max; /* of compressed sections, at a time; 0: 8 GiB */
	const uint32_t *objects;     /* only these get names, the profile's numbers; NULL: all */
	size_t nr_objects;
	bool only_kept; /* of them only those that files.kept, or files.finder, has */
};

#endif

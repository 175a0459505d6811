/*
 * Finding the file that holds an object's symbols on this machine. A file is
 * accepted only when it is the very one that was recorded: by build ID, or where
 * there is none by size and modification time.
 */
#ifndef EBPROF_SYMBOL_FILE_H
#define EBPROF_SYMBOL_FILE_H

#include "format/elf/elf_file.h"
#include "report/profile.h"
#include "report/symbol/symbol_index.h"

struct symbol_file_options {
	const char *symfs; /* look below this directory instead of /; NULL: / */
};

struct symbol_file {
	char *path;                       /* of the best file; NULL when none was accepted */
	const char *problem;              /* static text; why there is none */
	struct symbol_index *index;       /* built, of all accepted files together */
	VEC(struct elf_segment) segments; /* the file's, for recordings that lack them */
	struct elf_file *debug;           /* the first one with debug information, or NULL */
	int debug_fd;                     /* its file, or -1 */
	char *debug_path;
};

/* Fills *ret in any case. */
void symbol_file_find(const struct profile_object *object,
	const struct symbol_file_options *options, struct symbol_file *ret);

enum symbol_file_kind {
	SYMBOL_FILE_OWN,   /* the object's own */
	SYMBOL_FILE_DEBUG, /* that of its debug package */
};

/* The object's file, open for reading, or -1 when none was accepted. */
int symbol_file_open(const struct profile_object *object, const struct symbol_file_options *options,
	enum symbol_file_kind kind);

void symbol_file_deinit(struct symbol_file *file);

#endif

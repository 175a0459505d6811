/*
 * What was found of an object's symbols, on this machine or by debuginfod. A file is
 * accepted only when it is the very one that was recorded, see debug_file.h; where they are looked
 * for, see debug_search.h.
 */
#ifndef EBPROF_SYMBOL_FILE_H
#define EBPROF_SYMBOL_FILE_H

#include "format/elf/elf_file.h"
#include "report/model/profile.h"
#include "report/name/debugfile/debug_search.h"
#include "report/name/symbol/symbol_file_options.h"
#include "report/name/symbol/symbol_index.h"

/* An accepted file. */
struct symbol_source {
	struct elf_file *elf;
	int fd;
	enum symbol_level level;
};

struct symbol_file {
	char *path;                       /* of the best file; NULL when none was accepted */
	const char *problem;              /* static text; why there is none */
	enum symbol_level level;          /* of all accepted files together */
	bool is_symtab_cut;               /* see elf_symbols.h; once the index was made */
	VEC(struct elf_segment) segments; /* the file's, for recordings that lack them */
	struct elf_file *debug;           /* the first one with debug information, or NULL */
	int debug_fd;                     /* its file, or -1 */
	char *debug_path;
	struct elf_file *go;         /* the first one with Go's table of functions, or NULL */
	int go_fd;                   /* its file, or -1 */
	struct elf_file *code;       /* the first one whose code is in it, or NULL */
	int code_fd;                 /* its file, or -1 */
	struct line_sections *lines; /* only where there is no debug; or NULL */
	char *clr_pdb_path;          /* that which `code`, images of .NET, has lines by, or NULL */
	const char *root;            /* see debug_search_root() */
	const struct regular_file_rules *rules; /* of the options */
	char *alt_path;                         /* of what dwz moved out of it, or NULL */
	struct debug_attempts attempts;         /* all that was tried */
	/* private: */
	struct symbol_index *index;
	bool is_indexed;
	VEC(struct symbol_source) unread; /* not in the index yet */
	struct elf_symbols mini;          /* of .gnu_debugdata: only where no .symtab is found */
};

/* One that was not looked for; can be closed and ended. */
#define SYMBOL_FILE_NONE \
	{ \
		.debug_fd = -1, .go_fd = -1, .code_fd = -1 \
	}

/* Fills *ret in any case. May wait for debuginfod, within its limits. */
void symbol_file_find(const struct profile_object *object,
	const struct symbol_file_options *options, struct symbol_file *ret);

/*
 * The symbols of all accepted files together. They are read when this is first called, since
 * answers that were kept need none.
 */
const struct symbol_index *symbol_file_index(struct symbol_file *file);

/* Whether the object's own file was kept. */
bool symbol_file_is_kept(
	const struct profile_object *object, const struct symbol_file_options *options);

/* Copies the level and what was tried to the object, for report/write/unsymbolized.h. */
void symbol_file_keep_attempts(
	const struct symbol_file *file, struct arena *arena, struct profile_object *object);

enum symbol_file_kind {
	SYMBOL_FILE_OWN,   /* the object's own */
	SYMBOL_FILE_DEBUG, /* a separate one, of those on this machine */
};

/* The object's file, open for reading, or -1 when none was accepted. */
int symbol_file_open(const struct profile_object *object, const struct symbol_file_options *options,
	enum symbol_file_kind kind);

/*
 * Asks debuginfod for the debug files that an object lacks, whose own files are of this level. A
 * second call for the same object asks nothing. `is_hot`: it gets lines and inlined functions
 * unasked.
 */
void symbol_file_fetch(struct debuginfod *debuginfod, const struct layout_object *info,
	enum symbol_level level, bool is_hot);
/* The level of all files here together, which are not read for that. */
enum symbol_level symbol_file_level_here(
	const struct profile_object *object, const struct symbol_file_options *options);

/* Lets go of what is large: the path, the segments and what was tried stay. */
void symbol_file_close(struct symbol_file *file);
/*
 * The virtual address of a frame's offset; the offset itself where no segment holds it. `file` is
 * NULL where none was looked for.
 */
uint64_t symbol_file_address(
	const struct profile_object *object, const struct symbol_file *file, uint64_t offset);

void symbol_file_deinit(struct symbol_file *file);

#endif

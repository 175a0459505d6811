/*
 * Objects: the files (and other things) that hold code, each once, however many
 * processes map it. An object is told apart by its path and build ID, or by
 * path, device and inode where it has none. What other modules know of it they
 * keep themselves, by its serial.
 */
#ifndef EBPROF_OBJECT_H
#define EBPROF_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/elf/elf_file.h"
#include "format/file/layout.h"
#include "record/host/target_file.h"

/* Where a file can be reached: some process maps it at [start, end). pid 0: none does. */
struct object_location {
	uint32_t pid;
	uint64_t start, end;
};

struct object {
	uint32_t serial;           /* unique in the session, ascending, never used again */
	struct layout_object info; /* path unset; segments owned */
	char *path;
	struct target_files *files;   /* the table's */
	bool is_examined;             /* the file was opened, or could not be */
	uint32_t kernel_build_id_len; /* of the build ID what the kernel knows: see elf_file.h */
	bool is_kept;                 /* for good: something refers to it that no sweep asks */
	bool is_used;                 /* while a sweep looks for what is not */
	struct object_location where; /* where it was mapped when it was seen last */
};

struct object_table {
	VEC(struct object *) objects; /* by serial */
	uint32_t next_serial;
	size_t sweep_at;    /* how many are to be swept; 0: not known yet */
	struct strtab keys; /* of what tells objects apart; its id + map = object */
	struct map by_key;  /* keys' id -> serial */
	/* By which files are opened: before the first object, or NULL, which refuses none. Owned.
	 */
	struct target_files *files;
};

void object_table_deinit(struct object_table *table);
/* NULL: it was freed. */
struct object *object_table_get(const struct object_table *table, uint32_t serial);
/* Whether there are twice as many objects as the last sweep left, and some. */
bool object_table_is_sweep_due(const struct object_table *table);
/*
 * Frees the files and names of memory that are neither kept nor marked as used, takes the marks
 * off, and forgets by what the freed were known. Before it, each module marks the objects that it
 * refers to; after it, object_table_forget() takes what it knows of the freed ones.
 */
void object_table_sweep(struct object_table *table);
/* Removes those that were freed from a map by serial. */
void object_table_forget(const struct object_table *table, struct map *by_serial);

/* A mapped file as /proc/PID/maps names it; opened at once to learn its build ID. */
struct object *object_table_by_inode(struct object_table *table, const char *path, uint32_t device,
	uint64_t inode, bool is_deleted, const struct object_location *where);
/* A mapped file as the kernel announced it. Not opened yet. build_id_len may be 0: then by inode.
 */
struct object *object_table_by_build_id(struct object_table *table, const char *path,
	const uint8_t *build_id, uint32_t build_id_len);
/* Everything that is no file: the kernel, modules, vDSO, anonymous memory. */
struct object *object_table_special(
	struct object_table *table, enum layout_object_kind kind, const char *name);

/* Another one, of the executable memory of no file of one program image. See jit.h. */
struct object *object_table_anonymous(struct object_table *table);

/*
 * Whether what the kernel calls a file is memory of none: compilers map memory twice, to write
 * their code and to run it. The BPF side takes it for that, too: bpf/mapping.bpf.h.
 */
bool object_is_memory(const char *path);

/*
 * Reads segments and build ID from the file, once it can be opened. A file that holds another
 * build ID than the kernel announced is flagged and gives no segments; so is one
 * that target_file.h refuses.
 */
void object_examine(struct object *object, const struct object_location *where);
/*
 * The file itself, when the right one can still be reached: of a build ID, or
 * an inode, as the object's. *fd and *elf are the caller's. False: there is none, or with errno
 * ETIMEDOUT its process did not let it be opened in time.
 */
bool object_open(
	struct object *object, const struct object_location *where, int *fd, struct elf_file **elf);
/* The same for a file of any content; -1: there is none. */
int object_open_any(const struct object *object, const struct object_location *where);
/* For the vDSO: the image in our own memory serves, all processes share it. */
void object_examine_memory(struct object *object, const void *image, size_t bytes);

#endif

/*
 * What a process registered for debuggers, read from its memory; this runs in the worker of a
 * struct target_reader. The interface is a variable of the program, or of a library in it:
 *
 *	struct jit_descriptor { uint32_t version, action_flag; void *relevant_entry, *first_entry; }
 *	__jit_debug_descriptor = { 1, 0, 0, 0 };
 *
 * and a list of entries { *next_entry, *prev_entry, *symfile_addr; uint64_t symfile_size }. Since
 * the process goes on while it is read, an image counts only if it is the same before and after.
 *
 * Source: GDB's manual, "JIT Compilation Interface", version 1.
 */
#ifndef EBPROF_REGISTERED_MEMORY_H
#define EBPROF_REGISTERED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/vec.h"
#include "record/generated/registered_image.h"

enum {
	REGISTERED_MAX_DESCRIPTORS = 8,
	REGISTERED_MAX_ENTRIES = 4096, /* of one list */
};

/* How processes tell of code that they made, each of which has functions of its own. */
enum registry {
	REGISTRY_DEBUGGER, /* GDB's interface */
	REGISTRY_MONO,     /* its JIT info table, see registered_mono.h */
	REGISTRY_FRAMES,   /* libgcc's, see registered_frames.h */
};

/* Where a process has the list of one. */
struct registered_descriptor {
	uint64_t address;
	uint32_t registry; /* enum registry */
	uint32_t more;     /* its own */
};

enum registered_request_kind {
	REGISTERED_FIND,  /* the descriptors of a process */
	REGISTERED_LIST,  /* the entries of one, if it is another list than is known */
	REGISTERED_IMAGE, /* the image of an entry */
};

/*
 * What a descriptor holds, which changes with each image that comes or goes; but an entry may come
 * to stand where the last one was freed, so the image that was dealt with last counts, too.
 */
struct registered_head {
	uint64_t action, relevant, first;
	uint64_t sum; /* of the relevant entry's image, 0: it is gone */
	/* Other registries have here what they found once, and a sum of all of the list. */
};

struct registered_entry {
	uint64_t address; /* of the entry */
	uint64_t image, size;
	uint64_t sum; /* of what tells images at one address apart */
};

struct registered_request {
	uint32_t kind; /* enum registered_request_kind */
	uint32_t pid;
	uint32_t registry;             /* of a list, as the next, or an image */
	uint32_t more;                 /* of the descriptor */
	uint64_t descriptor;           /* its address */
	struct registered_head known;  /* ... nothing is to be read where it is still so */
	struct registered_entry entry; /* of an image */
};

struct registered_list {
	bool is_same; /* as `known`: the rest is empty */
	bool is_cut;  /* it goes on, in a circle or beyond a limit */
	struct registered_head head;
	VEC(struct registered_entry) entries;
};

/* A target_read_fn: a request in, one of the answers below out; nothing where it cannot be read. */
void registered_memory_read(void **kept, const void *bytes, size_t len, struct bytes_buf *ret);

/*
 * Searches a process's memory for descriptors that are in use, by what they look like; at most a
 * few MiB. The answer is that of REGISTERED_FIND.
 */
void registered_memory_search(uint32_t pid, uint64_t start, uint64_t size, struct bytes_buf *ret);

/* Takes an answer apart. How many descriptors there are. */
size_t registered_memory_descriptors(const struct bytes_buf *answer,
	struct registered_descriptor ret[REGISTERED_MAX_DESCRIPTORS]);
/* False: it cannot be read. */
bool registered_memory_list(const struct bytes_buf *answer, struct registered_list *ret);
/* False: it cannot be read, or is no image that can be understood. */
bool registered_memory_image(const struct bytes_buf *answer, struct registered_image *ret);

#endif

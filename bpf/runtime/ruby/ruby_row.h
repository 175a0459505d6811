/* What the BPF programs have to know of a file with CRuby in it. */
#ifndef EBPROF_RUBY_ROW_H
#define EBPROF_RUBY_ROW_H

#include "bpf/runtime/runtime_row.h"

enum ruby_flag {
	/* How `context` tells the execution context of the thread; one of these. */
	RUBY_CONTEXT_IS_GLOBAL = 1,  /* a pointer to that of the thread that runs: before 3.0 */
	RUBY_CONTEXT_IS_IN_SLOT = 2, /* module and offset, as __tls_get_addr() takes them */
	RUBY_CONTEXT_IS_AT = 4,      /* at so many bytes from the thread's pointer */
	/* Strings have their length in a word of its own, not in their flags: since 3.2. */
	RUBY_HAS_STRING_LENGTH = 8,
	/* The first line is a tagged number: before 3.2. */
	RUBY_HAS_TAGGED_LINE = 16,
	RUBY_CONTEXT_IS_BY_DISTANCE = 32, /* as _IS_AT, where that number is; see distance_word() */
};

enum {
	RUBY_FRAME_BYTES = 64, /* the largest control frame */
	RUBY_BODY_BYTES = 256, /* of what is read of a body; a power of two */
	RUBY_RANGES = 2,
};

/* Offsets are bytes in the struct that the name begins with; what no version changed is no field.
 */
struct ruby_row {
	/* Offsets in the file, as the mapping of the interpreter's loop continues. */
	unsigned long long context; /* but see RUBY_CONTEXT_IS_AT */
	unsigned long long symbols; /* ruby_global_symbols: names of IDs; 0: not known */
	/* vm_exec_core(), which the loop rb_vm_exec() calls, and the part that was moved out. */
	unsigned long long core_start[RUBY_RANGES], core_end[RUBY_RANGES];
	unsigned long long loop_start, loop_end; /* rb_vm_exec() */
	unsigned int slot_more;                  /* to be added to the slot's offset */
	unsigned char version;                   /* 10 * major + minor */
	unsigned char flags;                     /* enum ruby_flag */
	unsigned char frame_bytes;
	unsigned char body_bytes;                /* how much of it is to be read */
	unsigned char context_thread, thread_id; /* with RUBY_CONTEXT_IS_GLOBAL */
	unsigned char body_info, body_info_size, body_index;
	unsigned char info_bytes; /* of an entry */
	unsigned char string_embedded;
	unsigned char thread_context; /* with RUBY_CONTEXT_IS_GLOBAL */
	unsigned char last_operator;  /* the last ID that has no scope */
	unsigned char zero8;
	unsigned short is_singleton; /* flag of classes; 0: where their paths are is not known */
	unsigned int zero;
};

/*
 * What a text of lines has: how many words of instructions there are, how many entries, the index
 * that tells the entry of a place, unless there is one entry only, and the entries.
 */
enum {
	RUBY_LINES_HEAD_BYTES = 8,

	/* The index, struct succ_index_table: words for the first places, blocks for the others. */
	RUBY_INDEX_PLACES = 54,
	RUBY_INDEX_WORD_PLACES = 9,
	RUBY_INDEX_BLOCK_PLACES = 512,
	RUBY_INDEX_BLOCK_BYTES = 80,
};

static inline unsigned long long ruby_index_bytes(unsigned int words)
{
	if (words < RUBY_INDEX_PLACES)
		return (words + 8) / RUBY_INDEX_WORD_PLACES * 8;
	unsigned long long behind = words - RUBY_INDEX_PLACES;
	unsigned long long blocks =
		(behind + RUBY_INDEX_BLOCK_PLACES - 1) / RUBY_INDEX_BLOCK_PLACES;
	return RUBY_INDEX_PLACES / RUBY_INDEX_WORD_PLACES * 8 + blocks * RUBY_INDEX_BLOCK_BYTES;
}

_Static_assert(sizeof(struct ruby_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif

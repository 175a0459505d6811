/* What the BPF programs have to know of a file with CPython in it. */
#ifndef EBPROF_PYTHON_ROW_H
#define EBPROF_PYTHON_ROW_H

#include "bpf/runtime/runtime_row.h"

enum python_flag {
	/* The thread's state points to a record on the C stack that points to the frame: 3.11 and
	 * 3.12. The record lies in the frame of the interpreter's loop that it belongs to. */
	PYTHON_HAS_CFRAME = 1,
	/* A frame on the C stack, of no code, ends what one loop runs: from 3.12 on. */
	PYTHON_HAS_SHIM = 2,
	/* What one loop runs is one frame: before 3.11. */
	PYTHON_IS_RECURSIVE = 4,
	/* The place is a number, not a pointer into the code: before 3.11. */
	PYTHON_HAS_LASTI = 8,
	/* The loop's first argument is the frame, not its second: before 3.9. */
	PYTHON_FRAME_IS_FIRST = 16,
	/* How `key` tells the thread's state, unless it is that of a pthread_getspecific(): 3.15.
	 */
	PYTHON_STATE_IS_IN_SLOT = 32,      /* module and offset, as __tls_get_addr() takes them */
	PYTHON_STATE_IS_AT = 64,           /* at so many bytes from the thread's pointer */
	PYTHON_STATE_IS_BY_DISTANCE = 128, /* ... where that number is; see distance_word() */
};

enum {
	PYTHON_FRAME_BYTES = 128, /* of what is read of a frame; powers of two */
	PYTHON_CODE_BYTES = 256,

	PYTHON_FREE_THREADED = 0x80, /* in the version: objects have more before what is theirs */
};

/* Offsets are bytes in the struct that the name begins with. */
struct python_row {
	/* As offsets in the file, as the mapping of the interpreter's loop continues. */
	unsigned long long key; /* of the thread-specific data with the thread's state; flags */
	unsigned long long code_type; /* PyCode_Type, what all code points to */
	unsigned long long loop;      /* where the loop is entered */
	unsigned long long runtime;   /* _PyRuntime; 0: there is none, before 3.7 */
	unsigned long long current;   /* the state of the thread that runs; 0: nothing says which */
	unsigned char version;        /* minor, and PYTHON_FREE_THREADED */
	unsigned char flags;          /* enum python_flag */
	unsigned char frame_bytes, code_bytes; /* how much of them is to be read; 0: 256 */
	unsigned short thread_frame;           /* or the record with it */
	unsigned short thread_id;
	unsigned short cframe_frame, cframe_previous;
	unsigned char frame_code, frame_previous, frame_place;
	unsigned char frame_entry, entry_least; /* a byte of at least this: the last of its loop */
	unsigned char code_type_offset, code_first_line, code_name, code_file, code_lines;
	unsigned char text_length, text_state, text_ascii, text_compact; /* where the bytes begin */
	unsigned char bytes_length, bytes_start;
	unsigned short code_start; /* of its instructions */
	unsigned char
		text_kind_shift;     /* in the state: bytes a character; compact and ASCII follow */
	unsigned char frame_copy;    /* number of the code's copy that runs; 0: there are none */
	unsigned int identity_words; /* bit n: the n-th word of the code never changes */
	unsigned int slot_more;      /* to be added to the slot's offset */
	unsigned short code_copies;  /* pointer to how many there are, and pointers to them */
	unsigned short zero16;
	unsigned int zero;
};

_Static_assert(sizeof(struct python_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif

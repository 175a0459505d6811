/*
 * What the BPF programs and the recorder say to each other of runtimes that
 * interpret programs: where the frames of the program, script frames, are
 * found, and what their functions are called.
 *
 * A runtime is a row of RUNTIMES and two folders: bpf/runtime/NAME/ has the hooks
 * that the walk calls, NAME_hooks, and in NAME_row.h what they have to know of a
 * file; record/runtime/NAME/ finds that out.
 */
#ifndef EBPROF_RUNTIME_ROW_H
#define EBPROF_RUNTIME_ROW_H

#include "format/file/script_failure.h"

#ifndef RUNTIMES_OF_TEST
#define RUNTIMES_OF_TEST(X) /* tests/unit/runtime_toy.h has a row of its own in each group */
#define COMPILERS_OF_TEST(X)
#endif

/*
 * X(constant, number, name). Two groups, each with a program of its own that walks stacks, where
 * runtimes of both are there: so the verifier has less to look at in one program. Those that are
 * found by the loop of their interpreter, and those whose frames are mostly of generated code.
 */
#define RUNTIMES_WITH_LOOPS(X) \
	X(RUNTIME_PYTHON, 1, python) \
	X(RUNTIME_RUBY, 2, ruby) \
	X(RUNTIME_PHP, 3, php) \
	X(RUNTIME_PERL, 4, perl) \
	X(RUNTIME_LUA, 5, lua) \
	X(RUNTIME_LUAJIT, 6, luajit) \
	RUNTIMES_OF_TEST(X)
#define RUNTIMES_WITH_COMPILERS(X) \
	X(RUNTIME_JAVA, 7, java) \
	X(RUNTIME_NODE, 8, node) \
	X(RUNTIME_ERLANG, 10, erlang) \
	X(RUNTIME_DOTNET, 11, dotnet) \
	X(RUNTIME_RACKET, 12, racket) \
	COMPILERS_OF_TEST(X)
/* Whose samples have labels; their stacks need nothing but unwind tables. */
#define RUNTIMES_WITHOUT_FRAMES(X) X(RUNTIME_GO, 9, go)
#define RUNTIMES(X)                RUNTIMES_WITH_LOOPS(X) RUNTIMES_WITH_COMPILERS(X) RUNTIMES_WITHOUT_FRAMES(X)

enum runtime_kind {
	RUNTIME_NONE = 0,
#define X(constant, number, name) constant = number,
	RUNTIMES(X)
#undef X
	RUNTIME_MAX_KINDS = 32, /* numbers stay below, since they are bits of masks */
};

enum runtime_group {
	RUNTIME_GROUP_LOOPS,
	RUNTIME_GROUP_COMPILERS,
	RUNTIME_GROUPS,

#define X(constant, number, name) | 1U << (number)
	RUNTIME_MASK_OF_COMPILERS = 0 RUNTIMES_WITH_COMPILERS(X),
#undef X
};

enum {
	RUNTIME_MAX_ROWS = 256, /* files with a runtime */
	RUNTIME_ROW_WORDS = 15,
	RUNTIME_PAGE_SHIFT = 12, /* of struct runtime_row's end_page */
	RUNTIME_MAX_PROCESSES = 1 << 12,

	/* The word of a script frame, below its kind and its flag: the number of its code, and
	 * where in that. Number 0: there is none, and the place says of which runtime and why. */
	RUNTIME_FRAME_CODE_SHIFT = 28,
	RUNTIME_FRAME_CODE_BITS = 28,
	RUNTIME_FRAME_FAILED_KIND_SHIFT = 8,
	/* The last numbers of code are for what the recorder finds itself. */
	RUNTIME_NUMBERS_OF_RECORDER = 1 << 20,
	RUNTIME_FIRST_NUMBER_OF_RECORDER =
		(1 << RUNTIME_FRAME_CODE_BITS) - RUNTIME_NUMBERS_OF_RECORDER,
	/* Of code with functions inlined in it: a bit of the place that says that it was
	 * interrupted there; else a call returns there. */
	RUNTIME_FRAME_IS_LEAF = 1 << 27,

	RUNTIME_VERSION_LINES = 255, /* of code whose places are lines already */
	RUNTIME_UNIT_UTF8 = 0,       /* no bytes a character, but bytes as they are */
	RUNTIME_UNIT_TAGGED = 8,     /* four bytes a character, the lowest of which is none of it */

	RUNTIME_MAX_NAME_BYTES = 1024, /* a power of two: indices are masked */
	RUNTIME_MAX_FILE_BYTES = 1024,
	RUNTIME_MAX_LINE_BYTES = 4096,
	/* Of code with functions inlined in it: what leads to them, in place of lines. */
	RUNTIME_MAX_GIVEN_BYTES = 96,
	RUNTIME_MAX_TEXT_BYTES =
		RUNTIME_MAX_NAME_BYTES + RUNTIME_MAX_FILE_BYTES + RUNTIME_MAX_LINE_BYTES,
};

/*
 * Of each file with a runtime, by the number in its struct unwind_file. What the words mean is the
 * runtime's own affair: there is its struct NAME_row. So a row may alias anything.
 */
struct runtime_row {
	unsigned short kind;    /* enum runtime_kind */
	unsigned short unknown; /* of RUNTIME_NONE: the kind of what is of an unknown version */
	/* Of 4 KiB, by offset in the file: the first one behind the segments of the ELF file. What
	 * is mapped from there on is no code of the runtime, but another file in the same one,
	 * whose place in memory says nothing of where the runtime is. 0: not known. */
	unsigned int end_page;
	unsigned long long words[RUNTIME_ROW_WORDS];
} __attribute__((may_alias));

_Static_assert(sizeof(struct runtime_row) == 128, "the map of rows is an array of these");

/* Whether a mapping that begins with a place in the file, as an offset, is of the runtime itself.
 */
static inline _Bool runtime_row_has_place(const struct runtime_row *row, unsigned long long offset)
{
	return offset >> RUNTIME_PAGE_SHIFT <= row->end_page - 1U;
}

/* A runtime that a process has: the number of its row, and where its file is mapped. */
struct known_runtime_key {
	unsigned int pid;
	unsigned int kind; /* enum runtime_kind */
};

struct known_runtime {
	unsigned long long start, end, delta; /* of the mapping with its code */
	unsigned long long asked_ns; /* when the recorder was asked last to complete the row */
	unsigned int row;
	unsigned int file; /* its number; 0: the recorder alone has met it */
	/* 1 + the user whose processes completed the row, and for whose alone it holds; 0: for all
	 * that have the file. */
	unsigned int user;
	unsigned int zero;
};

/* What texts an event_code has, in their order. */
enum runtime_text {
	RUNTIME_TEXT_NAME,
	RUNTIME_TEXT_FILE,
	RUNTIME_TEXT_LINES, /* from places in the code to lines */
	RUNTIME_TEXTS
};

/*
 * The first frame ever seen of this code: from now on it goes by this number. Its texts follow,
 * one behind the other, as they stood in the process's memory.
 */
struct event_code {
	unsigned int type; /* EVENT_CODE */
	unsigned int number;
	unsigned int pid;
	unsigned char kind; /* enum runtime_kind */
	unsigned char version;
	unsigned char unit[2]; /* of the name and the file's name: bytes a character, or UTF-8 */
	unsigned long long time_ns;
	unsigned int first_line;
	unsigned int bytes[RUNTIME_TEXTS];       /* 0: could not be read */
	unsigned int whole_bytes[RUNTIME_TEXTS]; /* what there is at `address`; 0: not known */
	unsigned char is_inlined;    /* functions are, in each other: see runtime_inlined.h */
	unsigned char is_of_runtime; /* no code of a program */
	unsigned char zero[2];
	unsigned long long address[RUNTIME_TEXTS];
	/* Of code that may be moved: what tells it apart wherever it is. 0: nothing does. */
	unsigned long long content;
};

_Static_assert(sizeof(struct event_code) == 88, "wire size");

#endif

/*
 * What is at hand while code of .NET is looked for in a process, see dotnet_code.h: what the
 * process has in memory, and how that is read.
 */
#ifndef EBPROF_DOTNET_WALK_H
#define EBPROF_DOTNET_WALK_H

#include "bpf/runtime/dotnet/dotnet_row.h"
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "format/unwind/unwind_info.h"
#else
#include "format/unwind/unwind_xdata.h"
#endif

enum {
	DOTNET_MAP_LEVELS = 5,
	DOTNET_MAP_SHIFT = 49, /* of the first level; each one has 8 bits */
	DOTNET_MAX_FRAGMENTS = 8,
	DOTNET_IS_CODE_HEAP = 2, /* flags of a section */
	DOTNET_IS_RANGE_LIST = 4,

	/* Words of what the maps lead to. */
	DOTNET_SECTION_BEGIN = 0,
	DOTNET_SECTION_END = 1,
	DOTNET_SECTION_FLAGS = 2,
	DOTNET_SECTION_MODULE = 4,
	DOTNET_SECTION_HEAP = 5,
	DOTNET_SECTION_WORDS = 6,
	DOTNET_HEAP_MAP_BASE = 4,
	DOTNET_HEAP_MAP = 5,
	DOTNET_HEAP_WORDS = 6,

	/* Of a map of code: eight times four bits a word, the first ones highest. */
	DOTNET_MAP_BYTES_SHIFT = 5,
	DOTNET_MAP_UNIT_SHIFT = 2,
	DOTNET_LINK_KIND = 8, /* the last four bits of a word that is a link are above */
	DOTNET_SEARCHED = 16, /* words at once, ... */
	DOTNET_SEARCHES = 32, /* ... so often: 128 KiB of one method */

	/* Of a header. */
	DOTNET_HEADER_METHOD = 24,
	DOTNET_HEADER_COUNT = 32, /* of functions: the method's own, and its funclets */
	DOTNET_HEADER_FUNCTIONS = 36,
	DOTNET_FUNCTIONS = 4, /* that are read at once, ... */
	DOTNET_READS = 16,    /* ... so often */

	/* Of an image: ECMA-335, II.25.2, of PE32+. */
	DOTNET_IMAGE_HEADERS = 0x3c, /* u32: where they begin */
	DOTNET_IMAGE_TABLE = 160,    /* of these: address and bytes of the table of functions */
	DOTNET_IMAGE_HALVES = 20,    /* of its functions: a million */

	DOTNET_CODE_BYTES = 32,
};

/* A function: addresses are relative to where its section begins. On arm64 its unwind information
 * says where it ends. */
struct dotnet_function {
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
	unsigned int begin, end, unwind_info;
#else
	unsigned int begin, unwind_info;
#endif
};

/* What there is to know of a frame. */
struct dotnet_known {
	unsigned long long place; /* mix(process, address, whether it is a leaf's); 0: nothing */
	unsigned long long start, header; /* the code, and the word ahead of it */
	unsigned int number;              /* of the code */
	unsigned int is_stub;             /* ... which has no rule */
	struct unwind_rule rule;
};

struct dotnet_walk {
	unsigned long long section[DOTNET_SECTION_WORDS];
	unsigned long long heap[DOTNET_HEAP_WORDS];
	struct dotnet_known known;
	struct dotnet_code code; /* at hand */
	struct dotnet_function function;
	struct dotnet_function functions[DOTNET_FUNCTIONS];
	unsigned int map[DOTNET_SEARCHED];
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
	struct unwind_info_state state;
#else
	struct unwind_xdata_state state;
#endif
	unsigned long long next;   /* in the map of sections */
	unsigned int nr_functions; /* of the header at hand */
	unsigned int at;           /* in the bytes, or in a table */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
	unsigned int above; /* the stack pointer: where the frame pointer is set to */
	unsigned char info[UNWIND_INFO_BYTES + 4];
#else
	struct unwind_xdata_head head; /* of the function at hand; no bytes: it cannot be read */
	unsigned int epilogue;         /* the word of the one at hand */
	unsigned char codes[UNWIND_XDATA_CODE_BYTES];
#endif
	unsigned char bytes[DOTNET_CODE_BYTES + 8];
};

/* ---- what differs between those who run this ---- */

/* How the hooks are declared, which the including file has, and the functions here. */
#ifndef DOTNET_HOOK
#define DOTNET_HOOK
#define DOTNET_FUNCTION static
#endif

/* What the code at hand is put into; NULL: there is nothing to do. */
DOTNET_HOOK struct dotnet_walk *dotnet_at_hand(void);
/* Where in the process's memory g_dacTable is, and dotnet_row.has_map_links. */
DOTNET_HOOK unsigned long long dotnet_table(void);
DOTNET_HOOK _Bool dotnet_has_map_links(void);
/* Reads memory of the process. Not 0: it cannot be read. */
DOTNET_HOOK long dotnet_read(void *to, unsigned int bytes, unsigned long long address);

UNWIND_INLINE _Bool dotnet_read_word(unsigned long long address, unsigned long long *ret)
{
	return !dotnet_read(ret, sizeof(*ret), address);
}

#endif

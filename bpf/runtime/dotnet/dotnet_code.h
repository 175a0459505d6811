/*
 * Code that .NET's just-in-time compiler made. A map of five levels leads from an address to the
 * section that it lies in; one with methods has a map of where they begin, four bits for 32 bytes.
 * Ahead of a method stands the address of its header, which says what method it is and how its
 * frames are unwound; ahead of a stub what kind of stub it is. Images that were compiled ahead of
 * time are sections, too; those that were compressed in a bundle are in no file, but in memory,
 * with a table of their functions that their headers lead to.
 *
 * The BPF programs run this over the process that they sample, and the recorder over one that it
 * reads. What may be called once too often for the verifier is a function of its own.
 *
 * Sources: src/coreclr/vm/{codeman,loaderallocator}.{h,cpp}, src/coreclr/inc/nibblemapmacros.h of
 * .NET 8, 9, 10; seen in live processes of 8.0.0 to 10.0.12.
 */
#ifndef EBPROF_DOTNET_CODE_H
#define EBPROF_DOTNET_CODE_H

#include "bpf/runtime/dotnet/dotnet_row.h"
#include "format/unwind/unwind_info.h"

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

/* A function: addresses are relative to where its section begins. */
struct dotnet_function {
	unsigned int begin, end, unwind_info;
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
	struct unwind_info_state state;
	unsigned long long next;   /* in the map of sections */
	unsigned int nr_functions; /* of the header at hand */
	unsigned int at;           /* in the bytes */
	unsigned int above;        /* the stack pointer: where the frame pointer is set to */
	unsigned char info[UNWIND_INFO_BYTES + 4];
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

/* ---- from an address to where its code begins ---- */

/* To the next level of the map; at the last one, dotnet->next leads to the fragments. 0: there is
 * nothing for the address. A global function, as the next ones: they are verified once. */
DOTNET_FUNCTION int dotnet_take_level(unsigned long long address, unsigned int level);
DOTNET_FUNCTION int dotnet_take_level(unsigned long long address, unsigned int level)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	unsigned long long slot = address >> ((DOTNET_MAP_SHIFT - 8 * level) & 63) & 255;
	if (!dotnet_read_word(dotnet->next + 8 * slot, &dotnet->next))
		return 0;
	dotnet->next &= ~1ULL; /* a mark of code that may be unloaded */
	return dotnet->next != 0;
}

/* Takes the section of the fragment at hand, if it has the address: 1. 0: it has not, and the next
 * one is at hand; negative: there is none. */
DOTNET_FUNCTION int dotnet_take_fragment(unsigned long long address);
DOTNET_FUNCTION int dotnet_take_fragment(unsigned long long address)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return -1;
	unsigned long long fragment[4]; /* next, begin, end, section */
	if (dotnet_read(fragment, sizeof(fragment), dotnet->next))
		return -1;
	dotnet->next = fragment[0] & ~1ULL;
	if (address < fragment[1] || address >= fragment[2])
		return dotnet->next ? 0 : -1;
	return dotnet_read(dotnet->section, sizeof(dotnet->section), fragment[3]) ? -1 : 1;
}

/* Makes the section of an address that at hand. 0: it is in none. */
DOTNET_FUNCTION int dotnet_take_section(unsigned long long address);
DOTNET_FUNCTION int dotnet_take_section(unsigned long long address)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	int found = 0;
	if (!dotnet || !dotnet_read_word(dotnet_table(), &dotnet->next))
		return 0;
	for (int level = 0; level < DOTNET_MAP_LEVELS; level++)
		if (!dotnet_take_level(address, level))
			return 0;
	for (int i = 0; i < DOTNET_MAX_FRAGMENTS && !found; i++)
		found = dotnet_take_fragment(address);
	return found > 0;
}

/*
 * Looks for the last word of a map that is not 0, ahead of dotnet->next, some words at a time: its
 * number plus 1. 0: not among these, dotnet->next is where the next ones end; negative: there is
 * none.
 */
DOTNET_FUNCTION long dotnet_search_map(unsigned long long map);
DOTNET_FUNCTION long dotnet_search_map(unsigned long long map)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return -1;
	unsigned long long end = dotnet->next, found = 0;
	unsigned long long first = end < DOTNET_SEARCHED ? 0 : end - DOTNET_SEARCHED;
	if (!end || dotnet_read(dotnet->map, sizeof(dotnet->map), map + 4 * first))
		return -1;
	for (unsigned int i = 0; i < DOTNET_SEARCHED; i++) {
		/* Without a branch: the verifier would follow both ways at every step. */
		unsigned long long value = dotnet->map[i], at = first + i;
		asm volatile("" : "+r"(value));
		unsigned long long is_it = (value | -value) >> 63 & (at - end) >> 63;
		found = (found & (is_it - 1)) | ((at + 1) & -is_it);
	}
	dotnet->next = first;
	return found;
}

/*
 * How many bytes behind the map's beginning the code begins that the last entry of a word is of. A
 * global function, which the verifier looks at once.
 */
DOTNET_FUNCTION unsigned long long dotnet_last_start(
	unsigned int value, unsigned long long word, unsigned int has_links);
DOTNET_FUNCTION unsigned long long dotnet_last_start(
	unsigned int value, unsigned long long word, unsigned int has_links)
{
	unsigned long long unit = 8 * word + 7;
	if (has_links && (value & 15) > DOTNET_LINK_KIND)
		return (value & ~15U) +
		       (((value & 15) - DOTNET_LINK_KIND - 1) << DOTNET_MAP_UNIT_SHIFT);
	for (int i = 0; i < 7 && !(value & 15); i++) {
		value >>= 4;
		unit--;
	}
	return (unit << DOTNET_MAP_BYTES_SHIFT) + (((value & 15) - 1) << DOTNET_MAP_UNIT_SHIFT);
}

/* Where the code begins that has an address, by the heap at hand. 0: that is not known. */
DOTNET_FUNCTION unsigned long long dotnet_find_start(unsigned long long address);
DOTNET_FUNCTION unsigned long long dotnet_find_start(unsigned long long address)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	_Bool has_links = dotnet_has_map_links();
	unsigned long long base = dotnet->heap[DOTNET_HEAP_MAP_BASE],
			   map = dotnet->heap[DOTNET_HEAP_MAP];
	unsigned long long into = address - base, unit = into >> DOTNET_MAP_BYTES_SHIFT,
			   word = unit >> 3;
	unsigned long long place = ((into & 31) >> DOTNET_MAP_UNIT_SHIFT) + 1;
	unsigned int value = 0;
	if (into >> 32 || dotnet_read(&value, sizeof(value), map + 4 * word))
		return 0;
	if (has_links && (value & 15) > DOTNET_LINK_KIND)
		return base + dotnet_last_start(value, word, 1);
	/* Entries behind the address's own do not count. */
	value >>= 28 - 4 * (unit & 7);
	if (value & 15 && (value & 15) <= place)
		return base + (unit << DOTNET_MAP_BYTES_SHIFT) +
		       (((value & 15) - 1) << DOTNET_MAP_UNIT_SHIFT);
	value &= ~15U;
	if (value) /* as if the address's were the last of the word */
		return base + dotnet_last_start(value, word, 0) -
		       ((7 - (unit & 7)) << DOTNET_MAP_BYTES_SHIFT);
	long found = 0;
	dotnet->next = word;
	for (int i = 0; i < DOTNET_SEARCHES && !found; i++)
		found = dotnet_search_map(map);
	if (found <= 0 || dotnet_read(&value, sizeof(value), map + 4 * (found - 1)))
		return 0;
	return base + dotnet_last_start(value, found - 1, has_links);
}

/* ---- methods ---- */

/*
 * Takes the function that has a place in the section from those of the header at hand that begin
 * with one of them: 1. 0: none of these does; negative: there are none.
 */
DOTNET_FUNCTION int dotnet_take_some(unsigned int first, unsigned int place);
DOTNET_FUNCTION int dotnet_take_some(unsigned int first, unsigned int place)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return -1;
	unsigned int count = dotnet->nr_functions;
	unsigned long long at = dotnet->code.header + DOTNET_HEADER_FUNCTIONS +
				(unsigned long long)first * sizeof(dotnet->function);
	if (first >= count)
		return -1;
	/* There may be less, at the end of memory: then only the first. */
	if (dotnet_read(dotnet->functions, sizeof(dotnet->functions), at)) {
		if (dotnet_read(dotnet->functions, sizeof(dotnet->function), at))
			return -1;
		count = first + 1;
	}
	for (unsigned int i = 0; i < DOTNET_FUNCTIONS; i++) {
		const struct dotnet_function *function = &dotnet->functions[i];
		if (first + i >= count)
			return -1;
		if (place < function->begin || place >= function->end)
			continue;
		dotnet->function = *function;
		return 1;
	}
	return 0;
}

/* The function of the header at hand that has a place in the section; it is at hand then. */
DOTNET_FUNCTION int dotnet_take_function(unsigned int place);
DOTNET_FUNCTION int dotnet_take_function(unsigned int place)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	int found = 0;
	if (dotnet_read(&dotnet->nr_functions, sizeof(dotnet->nr_functions),
		    dotnet->code.header + DOTNET_HEADER_COUNT))
		return 0;
	for (unsigned int read = 0; read < DOTNET_READS && !found; read++)
		found = dotnet_take_some(read * DOTNET_FUNCTIONS, place);
	return found > 0;
}

/* ---- images in memory ---- */

/* To one half of the functions from dotnet->at on, dotnet->nr_functions of the table at
 * dotnet->next, of which the last one that does not begin behind a place is wanted. 0: they cannot
 * be read. */
DOTNET_FUNCTION int dotnet_halve(unsigned int place);
DOTNET_FUNCTION int dotnet_halve(unsigned int place)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	unsigned int half = dotnet->nr_functions >> 1, begin = 0;
	unsigned long long middle = dotnet->at + (unsigned long long)half;
	if (!half)
		return 1;
	if (dotnet_read(&begin, sizeof(begin), dotnet->next + middle * sizeof(dotnet->function)))
		return 0;
	dotnet->at = begin <= place ? middle : dotnet->at;
	dotnet->nr_functions = begin <= place ? dotnet->nr_functions - half : half;
	return 1;
}

/* The function of the image at hand that has an address; it is at hand then. 0: none has. */
DOTNET_FUNCTION int dotnet_take_ready(unsigned long long address);
DOTNET_FUNCTION int dotnet_take_ready(unsigned long long address)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	unsigned int headers = 0, table[2];
	if (!dotnet)
		return 0;
	unsigned long long image = dotnet->section[DOTNET_SECTION_BEGIN], place = address - image;
	if (place >> 32 || dotnet_read(&headers, sizeof(headers), image + DOTNET_IMAGE_HEADERS) ||
		dotnet_read(table, sizeof(table), image + headers + DOTNET_IMAGE_TABLE))
		return 0;
	dotnet->next = image + table[0];
	dotnet->at = 0;
	dotnet->nr_functions = table[1] / sizeof(dotnet->function);
	for (int i = 0; i < DOTNET_IMAGE_HALVES; i++)
		if (!dotnet_halve(place))
			return 0;
	unsigned long long at = dotnet->next + dotnet->at * sizeof(dotnet->function);
	if (dotnet->nr_functions != 1 ||
		dotnet_read(&dotnet->function, sizeof(dotnet->function), at) ||
		place < dotnet->function.begin || place >= dotnet->function.end)
		return 0;
	dotnet->code.start = image + dotnet->function.begin;
	dotnet->code.header = DOTNET_READY;
	dotnet->code.method = dotnet->section[DOTNET_SECTION_MODULE];
	return 1;
}

/* ---- code ---- */

/* Makes the code of an address that at hand. 0: there is none that is known. */
DOTNET_FUNCTION int dotnet_take_code(unsigned long long address);
DOTNET_FUNCTION int dotnet_take_code(unsigned long long address)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	struct dotnet_code *code = &dotnet->code;
	code->start = code->method = code->section = 0;
	code->header = DOTNET_STUB_HELPER;
	if (!dotnet_take_section(address))
		return 1;
	unsigned int flags = dotnet->section[DOTNET_SECTION_FLAGS];
	code->header = DOTNET_STUB_PRECODE;
	code->section = dotnet->section[DOTNET_SECTION_BEGIN];
	if (flags & DOTNET_IS_RANGE_LIST)
		return 1;
	if (!(flags & DOTNET_IS_CODE_HEAP))
		return dotnet_take_ready(address);
	if (dotnet_read(dotnet->heap, sizeof(dotnet->heap), dotnet->section[DOTNET_SECTION_HEAP]))
		return 0;
	code->start = dotnet_find_start(address);
	if (!code->start || !dotnet_read_word(code->start - 8, &code->header))
		return 0;
	if (code->header < DOTNET_STUB_KINDS) {
		code->start = 0; /* one is as good as the other */
		return 1;
	}
	unsigned long long place = address - dotnet->section[DOTNET_SECTION_BEGIN];
	return !(place >> 32) && dotnet_take_function(place) &&
	       dotnet_read_word(code->header + DOTNET_HEADER_METHOD, &code->method) && code->method;
}

/* ---- where the caller's frame is ---- */

UNWIND_INLINE unsigned int dotnet_u32(const struct dotnet_walk *dotnet, unsigned int at)
{
	const unsigned char *bytes = dotnet->bytes;
	at &= DOTNET_CODE_BYTES - 1;
	return bytes[at] | (unsigned int)bytes[at + 1] << 8 | (unsigned int)bytes[at + 2] << 16 |
	       (unsigned int)bytes[at + 3] << 24;
}

/* Whether a function is left by a jump that is next in its code. */
UNWIND_INLINE _Bool dotnet_is_jump_out(const struct dotnet_walk *dotnet, unsigned long long pc)
{
	unsigned int at = dotnet->at, code = dotnet_u32(dotnet, at);
	_Bool is_epilogue = at != 0;
	if ((code & 0xff) == 0xe9) {
		unsigned long long target =
			pc + at + 5 + (long long)(int)dotnet_u32(dotnet, at + 1);
		unsigned long long place = target - dotnet->section[DOTNET_SECTION_BEGIN];
		return is_epilogue || place < dotnet->function.begin ||
		       place >= dotnet->function.end;
	}
	if ((code & 0x38ffff) == 0x20ff48) /* jmp with a prefix: that of a tail call */
		return 1;
	return is_epilogue && ((code & 0xff) == 0xeb || (code & 0x38ff) == 0x20ff);
}

/* [vzeroupper] [add rsp, or lea rsp, of rbp] */
UNWIND_INLINE void dotnet_take_frame_end(struct dotnet_walk *dotnet)
{
	unsigned int at = (dotnet_u32(dotnet, 0) & 0xffffff) == 0x77f8c5 ? 3 : 0;
	unsigned int code = dotnet_u32(dotnet, at), wide = dotnet_u32(dotnet, at + 3);
	unsigned int three = code & 0xffffff;
	_Bool is_short = three == 0xc48348 || three == 0x658d48;
	_Bool is_long = three == 0xc48148 || three == 0xa58d48;
	_Bool is_move = three == 0xe58b48 || three == 0xec8948;
	dotnet->state.is_by_fp = three == 0x658d48 || three == 0xa58d48 || is_move;
	dotnet->state.size = is_short ? (int)(signed char)(code >> 24) : is_long ? (int)wide : 0;
	dotnet->at = is_short ? at + 4 : is_long ? at + 7 : is_move ? at + 3 : at;
}

/* The next pop of an epilogue. 0: there is none. A global function: it is verified once. */
DOTNET_FUNCTION int dotnet_take_pop(void);
DOTNET_FUNCTION int dotnet_take_pop(void)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	unsigned int code = dotnet_u32(dotnet, dotnet->at), is_high = (code & 0xff) == 0x41;
	unsigned int op = (is_high ? code >> 8 : code) & 0xff;
	if ((op & 0xf8) != 0x58)
		return 0;
	if (op == 0x5d && !is_high)
		dotnet->state.rbp = dotnet->state.size;
	if (op == 0x5b && !is_high)
		dotnet->state.rbx = dotnet->state.size;
	dotnet->state.size += 8;
	dotnet->at += 1 + is_high;
	return 1;
}

UNWIND_INLINE void dotnet_begin_state(struct dotnet_walk *dotnet)
{
	dotnet->state.rbp = dotnet->state.rbx = UNWIND_INFO_NOT_PUSHED;
	dotnet->state.size = dotnet->state.next = 0;
	dotnet->state.is_by_fp = 0;
}

/*
 * The rule for a leaf in an epilogue, whose pops end in ret, or in a jump to what is called in its
 * place. 0: it is in none.
 */
DOTNET_FUNCTION int dotnet_take_epilogue(unsigned long long pc);
DOTNET_FUNCTION int dotnet_take_epilogue(unsigned long long pc)
{
	enum {
		MAX_POPS = 7,
	};
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	if (dotnet_read(dotnet->bytes, DOTNET_CODE_BYTES, pc))
		return 0;
	dotnet_begin_state(dotnet);
	dotnet_take_frame_end(dotnet);
	for (int i = 0; i < MAX_POPS; i++)
		if (!dotnet_take_pop())
			break;
	if ((dotnet_u32(dotnet, dotnet->at) & 0xff) != 0xc3 && !dotnet_is_jump_out(dotnet, pc))
		return 0;
	unwind_info_put_rule(&dotnet->state, &dotnet->known.rule);
	return 1;
}

/* The next operation of the prologue at hand. 0: it is not understood. */
DOTNET_FUNCTION int dotnet_take_operation(unsigned int offset);
DOTNET_FUNCTION int dotnet_take_operation(unsigned int offset)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	return unwind_info_take(dotnet->info, offset, &dotnet->state);
}

/* The rule by what the function at hand says of its prologue. 0: there is none. */
DOTNET_FUNCTION int dotnet_take_rule(unsigned int offset);
DOTNET_FUNCTION int dotnet_take_rule(unsigned int offset)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	unsigned long long at =
		dotnet->section[DOTNET_SECTION_BEGIN] + dotnet->function.unwind_info;
	if (dotnet_read(dotnet->info, UNWIND_INFO_BYTES, at)) {
		/* The end of memory may be near. */
		if (dotnet_read(dotnet->info, UNWIND_INFO_HEAD_BYTES, at))
			return 0;
		unsigned long long bytes = 2 * (dotnet->info[2] & (UNWIND_INFO_MAX_CODES - 1));
		asm volatile("" : "+r"(bytes));
		if (bytes > 2 * UNWIND_INFO_MAX_CODES ||
			dotnet_read(dotnet->info + UNWIND_INFO_HEAD_BYTES, bytes,
				at + UNWIND_INFO_HEAD_BYTES))
			return 0;
	}
	if (!unwind_info_is_known(dotnet->info))
		return 0;
	dotnet_begin_state(dotnet);
	for (int i = 0; i < UNWIND_INFO_MAX_CODES; i++) {
		if (dotnet->state.next >= dotnet->info[2])
			break;
		if (!dotnet_take_operation(offset))
			return 0;
	}
	unwind_info_put_rule(&dotnet->state, &dotnet->known.rule);
	return 1;
}

#endif

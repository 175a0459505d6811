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

/* One of these is empty. */
#include "bpf/runtime/dotnet/dotnet_arm64.h"
#include "bpf/runtime/dotnet/dotnet_x86_64.h"

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
		!dotnet_has_place(dotnet, place))
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

#endif

/*
 * A process that looks like one of .NET's, and is none: it has the table that CoreCLR shows to
 * debuggers, and memory that is laid out to cost who follows it as much as possible.
 *   false_clr SECONDS circle       maps of code that lead to themselves
 *   false_clr SECONDS search       code that is far behind where it begins, with many funclets
 *   false_clr SECONDS names        another method in each frame, each time
 *   false_clr SECONDS types        methods whose types have types, without an end
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/hostile/false_runtime.h"

enum {
	FRAMES = 1000,
	FRAME_WORDS = 16,   /* apart: what the code's rule adds to the stack pointer */
	REGION = 128 << 10, /* of code: as far as the beginning of code is looked for */
	LEVELS = 5,
	ENTRIES = 256,
	CODE = 32, /* in the region */
	UNWIND = 1024,
	BACK = REGION - 40000, /* return addresses from here on */
	FUNCTIONS = 64,
	HEADER_WORDS = 5 + FUNCTIONS * 3 / 2,
	IS_CODE_HEAP = 2,
	IS_GENERIC = 0x30,
	ARGUMENTS = 16,
	TURNS = 20000000,
};

/* Version 8 has no links in its maps of code. */
extern const char version[];
const char version[] = "@(#)Version 8.0.3126.1 false";
extern uint64_t g_dacTable[64];
uint64_t g_dacTable[64];

static uint64_t *new_words(size_t count)
{
	static uint64_t *left, *left_end;
	if (left + count > left_end) {
		left = map_region(1 << 20, PROT_READ | PROT_WRITE);
		left_end = left + (1 << 20) / 8;
	}
	left += count;
	return left - count;
}

/* A map of code whose every way leads on, at last to a list of fragments. */
static void make_map(uint64_t *fragments)
{
	uint64_t *next = fragments;
	for (int level = 0; level < LEVELS; level++) {
		uint64_t *table = new_words(ENTRIES);
		for (int i = 0; i < ENTRIES; i++)
			table[i] = (uint64_t)next;
		next = table;
	}
	g_dacTable[0] = (uint64_t)next;
}

static uint64_t *new_fragment(uint64_t begin, uint64_t end, uint64_t *section)
{
	uint64_t *fragment = new_words(4);
	fragment[0] = (uint64_t)fragment; /* is its own next one */
	fragment[1] = begin;
	fragment[2] = end;
	fragment[3] = (uint64_t)section;
	return fragment;
}

/* What the code's only entry in the map of where code begins is; words between are 0. */
static uint64_t *new_section(uint8_t *region)
{
	uint64_t *section = new_words(8), *heap = new_words(8);
	uint32_t *map = map_region(REGION / 32 / 2, PROT_READ | PROT_WRITE);
	map[0] = 1U << 24; /* the second unit of 32 bytes, at its first word */
	section[0] = (uint64_t)region;
	section[1] = (uint64_t)region + REGION;
	section[2] = IS_CODE_HEAP;
	section[5] = (uint64_t)heap;
	heap[2] = (uint64_t)region;
	heap[3] = (uint64_t)region + REGION;
	heap[4] = (uint64_t)region;
	heap[5] = (uint64_t)map;
	return section;
}

/* A type whose arguments are itself, of a module whose image is not one. */
static uint64_t *new_type(uint8_t *region)
{
	uint64_t *type = new_words(16), *dictionary = new_words(ARGUMENTS), *list = new_words(2);
	uint64_t *module = new_words(64), *assembly = new_words(4), *image = new_words(32);
	uint64_t *layout = new_words(8);
	type[0] = IS_GENERIC;
	type[3] = (uint64_t)module;
	type[6] = (uint64_t)(list + 1);
	list[0] = 1ULL << 32 | (uint64_t)ARGUMENTS << 48;
	list[1] = (uint64_t)dictionary;
	for (int i = 0; i < ARGUMENTS; i++)
		dictionary[i] = (uint64_t)type;
	module[0x110 / 8] = (uint64_t)assembly;
	assembly[1] = (uint64_t)image;
	image[0x70 / 8] = image[0x78 / 8] = (uint64_t)layout;
	layout[1] = (uint64_t)region;
	layout[2] = REGION;
	return type;
}

/* The header of code, which has a method; all functions but the last one are of no place. */
static uint64_t *new_header(uint64_t *type)
{
	uint64_t *header = new_words(HEADER_WORDS), *chunk = new_words(8);
	uint32_t *functions = (uint32_t *)((uint8_t *)header + 36);
	chunk[0] = (uint64_t)type;
	chunk[3] = 1;
	header[3] = (uint64_t)(chunk + 3);
	*(uint32_t *)(header + 4) = FUNCTIONS;
	for (int i = 0; i < FUNCTIONS - 1; i++)
		functions[3 * i] = functions[3 * i + 1] = 0x7fffffff;
	functions[3 * (FUNCTIONS - 1)] = 0;
	functions[3 * (FUNCTIONS - 1) + 1] = REGION;
	functions[3 * (FUNCTIONS - 1) + 2] = UNWIND;
	return header;
}

/* As many operations as are read; together they are a frame. */
static void put_unwind_info(uint8_t *at)
{
	at[0] = 1;
	at[2] = FRAME_WORDS - 1;
	for (int i = 0; i < FRAME_WORDS - 1; i++)
		at[5 + 2 * i] = 0x02; /* 8 bytes more */
}

int main(int argc, char **argv)
{
	static uint64_t stack[FRAMES * FRAME_WORDS + 64];
	const char *kind = argc > 2 ? argv[2] : "circle";
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	uint8_t *region = map_region(REGION, PROT_READ | PROT_WRITE | PROT_EXEC);
	uint64_t *type = new_type(region), *section = new_section(region);
	int is_circle = strcmp(kind, "circle") == 0, is_names = strcmp(kind, "names") == 0;
	if (strcmp(kind, "types") != 0)
		type[0] = 0;
	make_map(is_circle ? new_fragment(0, 0, section)
			   : new_fragment((uint64_t)region, (uint64_t)region + REGION, section));
	*(uint64_t **)(region + CODE - 8) = new_header(type);
	put_unwind_info(region + UNWIND);
	for (int i = 0; i < FRAMES; i++) {
		uint8_t *back = region + BACK + i * 32;
		back[-5] = 0xe8; /* a call */
		stack[i * FRAME_WORDS + FRAME_WORDS - 1] = (uint64_t)back;
	}
	/* The leaf has the stack as its own: pushes are where its rule says. */
	uint8_t *code = region + BACK - 4096;
	static const uint8_t spin_there[] = {
		0x48, 0x89, 0xe0,             /* mov %rsp, %rax */
		0x48, 0x89, 0xf4,             /* mov %rsi, %rsp */
		0x48, 0xff, 0xcf, 0x75, 0xfb, /* 1: dec %rdi; jnz 1b */
		0x48, 0x89, 0xc4, 0xc3        /* mov %rax, %rsp; ret */
	};
	memcpy(code, spin_there, sizeof(spin_there));
	do {
		((void (*)(uint64_t, void *))code)(is_names ? TURNS / 100 : TURNS, stack);
		if (is_names || strcmp(kind, "types") == 0)
			*(uint64_t **)(region + CODE - 8) = new_header(type);
	} while (time(NULL) < until);
	return 0;
}

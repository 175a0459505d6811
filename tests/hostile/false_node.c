/*
 * A process that looks like Node.js with code of V8, and is none: it has the variables that say
 * where things are, and memory that is laid out to cost who follows it as much as possible.
 *   false_node SECONDS circle     a frame that is its own caller
 *   false_node SECONDS search     frames in memory where code may begin everywhere, and does
 * nowhere false_node SECONDS names      another function in each frame, each time, of endless names
 *   false_node SECONDS inlined    code of thousands of functions, each of a script of its own
 *   false_node SECONDS maps       mappings that come and go meanwhile
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/hostile/false_runtime.h"

enum {
	VERSION = 12,
	FUNCTION = 1000, /* instance types */
	SHARED,
	SCRIPT,
	SCOPE_INFO,
	BYTECODES,
	CODE,
	INSTRUCTIONS,
	ARRAY,
	STRING = 8,      /* sequential, of one byte a character */
	CONS_STRING = 9, /* of two others */

	FRAMES = 1000,
	FRAME_WORDS = 8, /* apart */
	REGION = 64 << 20,
	TURNS = 20000000,
	INLINED = 16384,
	SOURCE_BYTES = 4 << 20,
};

/* As tools/gen-postmortem-metadata.py of V8 calls them. */
#define VARIABLE(name, value) \
	extern int32_t name; \
	int32_t name = value;
VARIABLE(v8dbg_SmiShiftSize, 31)
VARIABLE(_ZN2v88internal7Version6major_E, VERSION)
VARIABLE(v8dbg_type_JSFunction__JS_FUNCTION_TYPE, FUNCTION)
VARIABLE(v8dbg_FirstJSFunctionType, FUNCTION)
VARIABLE(v8dbg_LastJSFunctionType, FUNCTION)
VARIABLE(v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE, SHARED)
VARIABLE(v8dbg_type_Script__SCRIPT_TYPE, SCRIPT)
VARIABLE(v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE, SCOPE_INFO)
VARIABLE(v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE, BYTECODES)
VARIABLE(v8dbg_class_JSFunction__shared__SharedFunctionInfo, 24)
VARIABLE(v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_, 16)
VARIABLE(v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_, 32)
VARIABLE(v8dbg_class_SharedFunctionInfo__flags__int, 48)
VARIABLE(v8dbg_class_BytecodeArray__data__uintptr_t, 40)
VARIABLE(v8dbg_scopeinfo_idx_first_vars, 5)
VARIABLE(v8dbg_scopeinfo_idx_ncontextlocals, 2)
VARIABLE(v8dbg_CodeKindBaseline, 10)
VARIABLE(v8dbg_type_Code__CODE_TYPE, CODE)
VARIABLE(v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE, INSTRUCTIONS)
VARIABLE(v8dbg_class_InstructionStream__instruction_start__uintptr_t, 32)

static uint64_t tagged(const void *object)
{
	return (uint64_t)object + 1;
}

/* ---- objects, whose first word says what they are ---- */

static uint64_t *new_object(size_t words, uint16_t type)
{
	static uint64_t *heap, *heap_end;
	static uint64_t *maps[2048];
	if (!heap || heap + words + 4 > heap_end) {
		size_t bytes = (words + (1 << 20)) * 8;
		heap = map_region(bytes, PROT_READ | PROT_WRITE);
		heap_end = heap + bytes / 8;
	}
	if (!maps[type]) {
		maps[type] = heap;
		((uint16_t *)heap)[6] = type;
		heap += 4;
	}
	uint64_t *object = heap;
	heap += words;
	object[0] = tagged(maps[type]);
	return object;
}

/* A string says how long it is, not what is there. */
static uint64_t *new_string(uint32_t length)
{
	uint64_t *string = new_object(4, STRING);
	string[1] = (uint64_t)length << 32;
	memset(string + 2, 'x', 16);
	return string;
}

/* Of two that are the same, and so on: twice as long with each step. */
static uint64_t *new_tree(uint64_t *leaf, int depth)
{
	for (int i = 0; i < depth; i++) {
		uint64_t *cons = new_object(4, CONS_STRING);
		cons[1] = 0x7fffffffULL << 32;
		cons[2] = cons[3] = tagged(leaf);
		leaf = cons;
	}
	return leaf;
}

static uint64_t *new_script(uint64_t *source)
{
	static uint32_t ids;
	uint64_t *script = new_object(16, SCRIPT);
	script[1] = tagged(source);
	script[2] = tagged(source);
	script[8] = (uint64_t)++ids << 32;
	return script;
}

static uint64_t *new_shared(uint64_t *name, uint64_t *script)
{
	static uint32_t ids;
	uint64_t *shared = new_object(8, SHARED);
	shared[2] = tagged(name);
	shared[4] = tagged(script);
	shared[6] = (uint64_t)++ids << 32;
	return shared;
}

static uint64_t *new_function(uint64_t *shared)
{
	uint64_t *function = new_object(8, FUNCTION);
	function[3] = tagged(shared);
	return function;
}

/* ---- frames ---- */

static void put_frame(uint64_t *frame, const void *link, uint64_t back, uint64_t *function)
{
	frame[-5] = frame[-4] = frame[-3] = 0;
	frame[-2] = tagged(function);
	frame[-1] = tagged(function); /* a context */
	frame[0] = (uint64_t)link;
	frame[1] = back;
}

/* Code begins at each 64 bytes, by its head, but somewhere else by the object that goes with it. */
static void fill_with_heads(uint8_t *region, size_t bytes)
{
	uint64_t *code = new_object(16, CODE), *head = new_object(4, INSTRUCTIONS);
	code[5] = 64;
	for (size_t at = 0; at + 64 <= bytes; at += 64) {
		uint64_t *word = (uint64_t *)(region + at);
		word[4] = head[0];
		word[5] = tagged(code);
	}
}

/* Optimized code of INLINED functions at 64 bytes; what it runs on is at the returned address. */
static uint64_t put_inlined(uint8_t *region)
{
	uint8_t *source_bytes = map_region(SOURCE_BYTES + 8192, PROT_READ | PROT_WRITE);
	uint64_t *source = (uint64_t *)source_bytes, *string = new_string(SOURCE_BYTES);
	memset(source, '\n', SOURCE_BYTES + 4096);
	source[0] = string[0];
	source[1] = string[1];
	uint64_t *code = new_object(16, CODE), *data = new_object(16, ARRAY);
	uint64_t *literals = new_object(INLINED + 4, ARRAY);
	uint64_t *inlined = new_object(INLINED * 2 + 4, ARRAY);
	uint64_t *positions = new_object(INLINED * 8 + 64, ARRAY);
	inlined[1] = (uint64_t)INLINED * 16 << 32;
	for (uint64_t i = 0; i < INLINED; i++) {
		literals[2 + i] = tagged(new_shared(new_string(400), new_script(source)));
		inlined[2 + 2 * i] = 2; /* in the outermost */
		inlined[3 + 2 * i] = i;
	}
	uint8_t *out = (uint8_t *)(positions + 2);
	size_t at = 0;
	for (uint64_t i = 0; i + 1 < INLINED; i++) { /* one byte further, the next function */
		out[at++] = 2;
		for (uint64_t left = 2ULL << 31; left; left >>= 7)
			out[at++] = (uint8_t)((left & 127) | (left >> 7 ? 128 : 0));
	}
	positions[1] = (uint64_t)at << 32;
	data[4] = tagged(literals);
	data[9] = tagged(inlined);
	code[1] = tagged(data);
	code[2] = tagged(positions);
	code[5] = (uint64_t)region + 64;
	code[6] = 11 | 0xffffffffULL << 32; /* the flags; its size ends at */
	((uint32_t *)code)[12] = 11;
	((uint32_t *)code)[13] = 0xffffffff;
	uint64_t *head = (uint64_t *)(region + 32);
	head[0] = new_object(4, INSTRUCTIONS)[0];
	head[1] = tagged(code);
	return (uint64_t)region + 128;
}

int main(int argc, char **argv)
{
	uint64_t stack[FRAMES * FRAME_WORDS + 64];
	const char *kind = argc > 2 ? argv[2] : "circle";
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	uint8_t *region = map_region(REGION, PROT_READ | PROT_WRITE | PROT_EXEC);
	uint64_t *leaf_string = new_string(0x7fffffff), *functions[FRAMES];
	uint64_t *names = new_tree(leaf_string, 8), *script = new_script(names);
	int is_names = strcmp(kind, "names") == 0, is_search = strcmp(kind, "search") == 0;
	int is_inlined = strcmp(kind, "inlined") == 0, is_circle = strcmp(kind, "circle") == 0;
	uint64_t back = (uint64_t)region + REGION / 2;
	uint32_t ids = 0;
	for (int i = 0; i < FRAMES; i++)
		functions[i] =
			new_function(new_shared(is_inlined ? new_string(400) : names, script));
	if (is_search)
		fill_with_heads(region, REGION);
	if (is_inlined)
		back = put_inlined(region);

	for (int i = 0; i < FRAMES; i++) {
		uint64_t *frame = stack + 8 + i * FRAME_WORDS;
		const void *link = is_circle ? frame : frame + FRAME_WORDS;
		put_frame(frame, link, is_search ? back + (uint64_t)i * 8192 : back, functions[i]);
	}
	memcpy(region, spin, sizeof(spin));
	do {
		((void (*)(uint64_t, void *))region)(TURNS, stack + 8);
		for (int i = 0; is_names && i < FRAMES; i++)
			((uint64_t *)(functions[i][3] - 1))[6] = (uint64_t)(FRAMES + ++ids) << 32;
		for (int i = 0; strcmp(kind, "maps") == 0 && i < 1000; i++)
			munmap(map_region(4096, PROT_READ | PROT_EXEC), 4096);
	} while (time(NULL) < until);
	return 0;
}

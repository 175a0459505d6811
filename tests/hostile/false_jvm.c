/*
 * A process that looks like a virtual machine of Java, and is none: it has the tables that HotSpot
 * shows to debuggers, and memory that is laid out to cost who follows it as much as possible.
 *   false_jvm SECONDS endless      tables without an end
 *   false_jvm SECONDS unmapped     tables of pointers to nowhere
 *   false_jvm SECONDS circle       a frame that is its own caller
 *   false_jvm SECONDS search       frames in blobs that are far from where they begin
 *   false_jvm SECONDS names        another method in each frame, each time
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bpf/runtime/java/java_row.h"
#include "tests/hostile/false_runtime.h"

enum {
	FRAMES = 1000,
	FRAME_WORDS = 16, /* apart */
	REGION = 16 << 20,
	TURNS = 20000000,
	SEGMENT_SHIFT = 7,
	BLOB_WORDS = 48,
	HOPS = 31,
};

struct entry {
	const char *type, *field, *type_string;
	uint64_t is_static, offset, address;
};

struct size {
	const char *name;
	uint64_t bytes;
};

/* Where fields are: each eight bytes behind the one before, in all structures alike. */
enum field {
#define X(member, ...) FIELD_##member,
	JAVA_OFFSETS(X)
#undef X
	FIELDS
};
#define AT(member) (8 * (FIELD_##member + 1) / 8)

static uint64_t heaps, call_stub_return;
static uint32_t version = 17;
static struct entry entries[] = {
#define X(member, type, field) {type, field, NULL, 0, 8 * (FIELD_##member + 1), 0},
	JAVA_OFFSETS(X)
#undef X
		{"CodeCache", "_heaps", NULL, 1, 0, (uint64_t)&heaps},
	{"StubRoutines", "_call_stub_return_address", NULL, 1, 0, (uint64_t)&call_stub_return},
	{"Abstract_VM_Version", "_vm_major_version", NULL, 1, 0, (uint64_t)&version},
	{0},
};
static struct size sizes[] = {
#define X(member, name) {name, 64},
	JAVA_SIZES(X)
#undef X
		{0},
};

#define VARIABLE(name, value) \
	extern uint64_t name; \
	uint64_t name = value;
VARIABLE(gHotSpotVMStructs, (uint64_t)entries)
VARIABLE(gHotSpotVMStructEntryArrayStride, sizeof(struct entry))
VARIABLE(gHotSpotVMStructEntryTypeNameOffset, offsetof(struct entry, type))
VARIABLE(gHotSpotVMStructEntryFieldNameOffset, offsetof(struct entry, field))
VARIABLE(gHotSpotVMStructEntryIsStaticOffset, offsetof(struct entry, is_static))
VARIABLE(gHotSpotVMStructEntryOffsetOffset, offsetof(struct entry, offset))
VARIABLE(gHotSpotVMStructEntryAddressOffset, offsetof(struct entry, address))
VARIABLE(gHotSpotVMTypes, (uint64_t)sizes)
VARIABLE(gHotSpotVMTypeEntryArrayStride, sizeof(struct size))
VARIABLE(gHotSpotVMTypeEntryTypeNameOffset, offsetof(struct size, name))
VARIABLE(gHotSpotVMTypeEntrySizeOffset, offsetof(struct size, bytes))

void JNI_CreateJavaVM(void);
void JNI_CreateJavaVM(void)
{
}

static uint64_t *new_object(void)
{
	static uint64_t *heap, *heap_end;
	if (heap == heap_end) {
		heap = map_region(1 << 20, PROT_READ | PROT_WRITE);
		heap_end = heap + (1 << 20) / 8;
	}
	heap += 64;
	return heap - 64;
}

/* ---- tables ---- */

/* As long as memory is: the same entry again and again. */
static void make_endless(int is_mapped)
{
	static char name[64];
	memset(name, 'x', sizeof(name) - 1);
	struct entry *all = map_region(64 << 20, PROT_READ | PROT_WRITE);
	const char *pointer = is_mapped ? name : (const char *)0x123456789000;
	for (size_t i = 0; i < (64 << 20) / sizeof(*all); i++)
		all[i] = (struct entry){pointer, pointer, pointer, 0, 8, 0};
	gHotSpotVMStructs = (uint64_t)all;
}

/* ---- code ---- */

/* A heap of blobs, each so long that the way back to where it begins takes as many steps as are
 * made. */
static void make_heap(uint8_t *region)
{
	uint64_t *list = new_object(), *array = new_object(), *heap = new_object();
	uint8_t *map = map_region(REGION >> SEGMENT_SHIFT, PROT_READ | PROT_WRITE);
	heaps = (uint64_t)list;
	*(uint32_t *)(list + AT(array_length)) = 0x7fffffff;
	list[AT(array_data)] = (uint64_t)array;
	array[0] = array[1] = array[2] = (uint64_t)new_object();
	array[3] = (uint64_t)heap;
	heap[AT(heap_shift)] = SEGMENT_SHIFT;
	uint64_t *memory = (uint64_t *)((uint8_t *)heap + 8 * (FIELD_heap_memory + 1));
	memory[AT(space_low_boundary)] = (uint64_t)region;
	memory[AT(space_high_boundary)] = (uint64_t)region + REGION;
	uint64_t *segments = (uint64_t *)((uint8_t *)heap + 8 * (FIELD_heap_segments + 1));
	segments[AT(space_low)] = (uint64_t)map;
	for (size_t i = 0; i < REGION >> SEGMENT_SHIFT; i++)
		map[i] = i % (HOPS + 1) ? 1 : 0;
	static const char interpreter[] = "Interpreter";
	for (size_t at = 0; at < REGION; at += (HOPS + 1) << SEGMENT_SHIFT) {
		uint64_t *block = (uint64_t *)(region + at);
		*((uint8_t *)block + 8 * (FIELD_block_header + 1) + 8 * (FIELD_block_used + 1)) = 1;
		uint64_t *blob = block + 64 / 8;
		blob[AT(blob_name)] = (uint64_t)interpreter;
		blob[AT(blob_code)] = (uint64_t)blob;
		blob[AT(blob_end)] = (uint64_t)region + at + ((HOPS + 1) << SEGMENT_SHIFT);
	}
}

static uint64_t *new_symbol(void)
{
	uint64_t *symbol = new_object();
	*(uint16_t *)(symbol + AT(symbol_length)) = 0xffff;
	memset(symbol + AT(symbol_body), 'x', 8);
	return symbol;
}

static uint64_t *new_method(uint64_t *symbol)
{
	uint64_t *method = new_object(), *constant = new_object(), *pool = new_object();
	uint64_t *holder = new_object();
	method[AT(const_method)] = (uint64_t)constant;
	constant[AT(constants) % 8] = (uint64_t)pool;
	for (int i = 8; i < 12; i++)
		pool[i] = (uint64_t)symbol;
	pool[AT(pool_holder)] = (uint64_t)holder;
	holder[AT(class_name)] = (uint64_t)symbol;
	return method;
}

/* An interpreter's frame, by what its frame pointer points to. */
static void put_frame(uint64_t *frame, uint64_t *link, uint64_t back, const uint64_t *method)
{
	frame[-1] = (uint64_t)(frame + 2); /* the caller's stack pointer */
	frame[-3] = (uint64_t)method;
	frame[-8] = 0;
	frame[0] = (uint64_t)link;
	frame[1] = back;
}

int main(int argc, char **argv)
{
	uint64_t stack[FRAMES * FRAME_WORDS + 64];
	const char *kind = argc > 2 ? argv[2] : "circle";
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	uint8_t *region = map_region(REGION, PROT_READ | PROT_WRITE | PROT_EXEC);
	uint64_t *symbol = new_symbol(), *methods[FRAMES];
	if (strcmp(kind, "endless") == 0 || strcmp(kind, "unmapped") == 0)
		make_endless(strcmp(kind, "endless") == 0);
	make_heap(region);
	call_stub_return = (uint64_t)region;
	for (int i = 0; i < FRAMES; i++)
		methods[i] = new_method(symbol);
	for (int i = 0; i < FRAMES; i++) {
		uint64_t *frame = stack + 16 + i * FRAME_WORDS;
		uint64_t *link = strcmp(kind, "circle") == 0 ? frame : frame + FRAME_WORDS;
		uint64_t back = (uint64_t)region +
				((uint64_t)i * 2 + 3) * ((HOPS + 1) << SEGMENT_SHIFT) - 100;
		put_frame(frame, link, back, methods[i]);
	}
	uint8_t *code = region + ((HOPS + 1) << SEGMENT_SHIFT) - 200;
	memcpy(code, spin, sizeof(spin));
	do {
		((void (*)(uint64_t, void *))code)(TURNS, stack + 16);
		for (int i = 0; strcmp(kind, "names") == 0 && i < FRAMES; i++)
			if (i % 16 == 0) {
				symbol = new_symbol();
				for (int k = i; k < i + 16 && k < FRAMES; k++)
					*(uint64_t *)(stack + 16 + k * FRAME_WORDS - 3) =
						(uint64_t)new_method(symbol);
			}
	} while (time(NULL) < until);
	return 0;
}

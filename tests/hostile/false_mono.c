/*
 * A process that looks like Mono, and is none: it exports what the list of domains is found by, and
 * has tables of methods that are laid out to cost as much as possible to read.
 *   false_mono SECONDS methods    as many as are read, with long names and instructions, others
 * each time false_mono SECONDS circle     classes in themselves, names and instructions that are
 * not there false_mono SECONDS search     words without an end that nearly lead to call frame
 * instructions false_mono SECONDS endless    a table of four billion chunks
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/hostile/false_runtime.h"

enum {
	METHODS = 20000,
	CHUNK_METHODS = 64,
	CHUNKS = METHODS / CHUNK_METHODS,
	KINDS = 64, /* of instructions */
	CODE_BYTES = 256,
	REGION = 8 << 20,
	TURNS = 200000,
	LISTS = 64 << 10,
	FRAME_BYTES = 4000,
	NAME_BYTES = 600,
};

/* What the list of domains is found by. */
uint16_t false_mono_count = 1;
uint64_t *false_mono_domains;
uint64_t false_mono_frames[LISTS];

void mono_domain_get_by_id(void);
__asm__(".globl mono_domain_get_by_id\n"
	".type mono_domain_get_by_id, @function\n"
	"mono_domain_get_by_id:\n"
#if defined(__x86_64__)
	"	movzwl false_mono_count(%rip), %eax\n"
	"	movq false_mono_domains(%rip), %rax\n"
#else
	"	adrp x0, false_mono_count\n"
	"	ldrh w0, [x0, :lo12:false_mono_count]\n"
	"	adrp x0, false_mono_domains\n"
	"	ldr x0, [x0, :lo12:false_mono_domains]\n"
#endif
	"	ret\n"
	"	.skip 256\n"
	".size mono_domain_get_by_id, . - mono_domain_get_by_id\n");

struct false_info {
	uint64_t method, next, start;
	uint32_t frames, size, bits;
	uint8_t rest[0x70 - 0x24];
};

struct false_chunk {
	uint32_t references, count;
	uint64_t last, tombstone;
	struct false_info *infos[CHUNK_METHODS];
};

struct false_table {
	uint64_t *domain;
	uint32_t count, zero;
	struct false_chunk *chunks[CHUNKS];
};

static void *new_memory(size_t bytes)
{
	return map_region(bytes, PROT_READ | PROT_WRITE);
}

/* The CFA moves with each of them. */
static void *make_instructions(uint8_t first)
{
	uint8_t *at = new_memory(4 + FRAME_BYTES);
	uint32_t len = FRAME_BYTES;
	memcpy(at, &len, sizeof(len));
	memcpy(at + 4, (uint8_t[]){0x0c, 7, first}, 3);
	for (size_t i = 7; i + 3 <= FRAME_BYTES; i += 3)
		memcpy(at + 4 + i, (uint8_t[]){0x41, 0x0e, (uint8_t)(i % 2 ? 16 : 24)}, 3);
	return at;
}

static char *make_name(int fill)
{
	char *name = new_memory(4096);
	memset(name, fill, NAME_BYTES);
	return name;
}

static uint64_t make_class(int is_circle)
{
	uint64_t *class = new_memory(4096), *inner = class;
	for (int i = 0; i < 20; i++, inner += 16) {
		inner[0x30 / 8] = (uint64_t)(is_circle ? class : inner + 16);
		inner[0x40 / 8] = is_circle ? 0x123456789000 : (uint64_t)make_name('c');
		inner[0x48 / 8] = (uint64_t)make_name('n');
	}
	return (uint64_t) class;
}

static void make_methods(struct false_table *table, uint8_t *region, int is_circle)
{
	struct false_info *infos = new_memory(METHODS * sizeof(*infos));
	uint64_t *method = new_memory(4096), class = make_class(is_circle);
	method[1] = class;
	method[3] = (uint64_t)(is_circle ? (char *)0x123456789000 : make_name('m'));
	table->count = CHUNKS;
	for (int i = 0; i < METHODS; i++) {
		infos[i] = (struct false_info){.method = (uint64_t)method,
			.start = (uint64_t)region + 4096 + (uint64_t)i * CODE_BYTES,
			.frames = (uint32_t)i % KINDS,
			.size = CODE_BYTES,
			.bits = 0x7fff | 1 << 16 | 1 << 17 | 1 << 18};
		if (i % CHUNK_METHODS == 0)
			table->chunks[i / CHUNK_METHODS] = new_memory(sizeof(struct false_chunk));
		struct false_chunk *chunk = table->chunks[i / CHUNK_METHODS];
		chunk->infos[chunk->count++] = &infos[i];
	}
}

/* Where Mono has its list of call frame instructions. */
static void make_frames(int is_search)
{
	uint64_t *list = new_memory(KINDS * sizeof(*list));
	for (int i = 0; i < KINDS; i++)
		list[i] = (uint64_t)make_instructions(8);
	if (is_search)
		list[KINDS - 8] = 0x123456789000;
	for (int i = 0; i < LISTS; i++)
		false_mono_frames[i] = (uint64_t)list;
}

/* All methods are others, in the same places. */
static void change(struct false_table *table)
{
	for (int i = 0; i < CHUNKS; i++)
		for (int k = 0; k < CHUNK_METHODS; k++)
			table->chunks[i]->infos[k]->frames = (uint32_t)rand() % KINDS;
	struct false_chunk *first = table->chunks[0];
	table->chunks[0] = table->chunks[1];
	table->chunks[1] = first;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "methods";
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	int is_endless = strcmp(kind, "endless") == 0, is_changing = strcmp(kind, "methods") == 0;
	uint8_t *region = map_region(REGION, PROT_READ | PROT_WRITE | PROT_EXEC);
	uint64_t *domain = new_memory(4096);
	struct false_table *table = new_memory(sizeof(*table));
	false_mono_domains = new_memory(4096);
	false_mono_domains[0] = (uint64_t)domain;
	table->domain = domain;
	make_frames(strcmp(kind, "search") == 0);
	make_methods(table, region, strcmp(kind, "circle") == 0);
	if (is_endless)
		table->count = UINT32_MAX;
	domain[0x148 / 8] = (uint64_t)table;
	uint64_t frame[4] = {0};
	for (unsigned turn = 0; time(NULL) < until; turn++) {
		uint8_t *code = region + 4096 + (size_t)(turn % METHODS) * CODE_BYTES;
		memcpy(code, spin, sizeof(spin));
		((void (*)(uint64_t, void *))code)(TURNS, frame);
		if (is_changing && turn % 16 == 0)
			change(table);
	}
	return 0;
}

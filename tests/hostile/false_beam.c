/*
 * A process that looks like Erlang's BEAM, and is none: it has the tables by which that is found,
 * and stacks and modules that are laid out to cost who follows them as much as possible.
 *   false_beam SECONDS endless     tables of modules and functions as large as can be
 *   false_beam SECONDS unmapped    tables and processes of pointers to nowhere
 *   false_beam SECONDS slots       a stack of what is nearly return addresses
 *   false_beam SECONDS names       another function in each frame, each time
 *   false_beam SECONDS labels      a thread that has another process each time, of a long name
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/hostile/false_runtime.h"

enum {
	ATOM_SEGMENT = 1024,
	ATOMS = 4,
	ATOM_LEN = 255,
	HEAD_FUNCTIONS = 96, /* offsets in a module */
	HEAD_MD5 = HEAD_FUNCTIONS - 16,
	FUNCTIONS = 4000,
	CODE_AT = HEAD_FUNCTIONS + FUNCTIONS * 8 + 64,
	FUNCTION_BYTES = 128,
	INFO_BYTES = 40,
	SHARED_BYTES = 64 << 10,
	REGION = 16 << 20,
	MODULE_BYTES = 1 << 20,
	STACK_WORDS = 1 << 20,
	MAX_MODULES = 1 << 20,
	TURNS = 200000,

	PROCESS_WORDS = 128,
	STOP = 88, /* offsets in a process, ... */
	REGISTERED = 48,
	DICTIONARY = 416,
	INITIAL = 448,
	OF_SCHEDULER = 760,
	THREAD = 32, /* ... and in what is known of a scheduler */
	CURRENT = 168,
};

/* ---- what the file shows ---- */

static const char version[] = "Erlang/OTP 25%s [erts-";
static const char atom_table_name[] = "\0atom_tab";

struct atom {
	uint64_t slot[3];
	int16_t len, latin1;
	int32_t ordinal;
	const char *text;
};

struct table {
	uint64_t *modules; /* pairs of where each begins and ends */
	uint64_t count, allocated;
	uint64_t *found_last;
};

void enif_make_atom_len(void);
void erl_drv_thread_create(void);
void erts_dirty_process_main(void);

void enif_make_atom_len(void)
{
}

void erl_drv_thread_create(void)
{
}

void erts_dirty_process_main(void)
{
}

static struct atom atoms[ATOMS], *segment[ATOM_SEGMENT], **segments[1 << 16];

struct data {
	void (*functions[7])(void);
	const char *name;
	uint64_t zero[5];
	uint32_t more, entries;
	struct atom ***segments;
	struct table tables[3];
};

static struct data data = {
	.functions = {enif_make_atom_len, enif_make_atom_len, enif_make_atom_len,
		enif_make_atom_len, enif_make_atom_len, enif_make_atom_len, enif_make_atom_len},
	.name = atom_table_name + 1,
	.entries = ATOM_SEGMENT,
	.segments = segments,
};

static uint64_t atom_term(uint64_t number)
{
	return number << 6 | 0xb;
}

static void put_atom(int number, const char *text, size_t len)
{
	atoms[number] = (struct atom){.len = (int16_t)len, .text = text};
	segment[number] = &atoms[number];
}

static void make_atoms(void)
{
	static char name[ATOM_LEN + 1];
	memset(name, 'x', ATOM_LEN);
	put_atom(0, "erts_beamasm", 12);
	put_atom(1, "normal_exit", 11);
	put_atom(2, name, ATOM_LEN);
	put_atom(3, "$initial_call", 13);
	for (size_t i = 0; i < sizeof(segments) / sizeof(*segments); i++)
		segments[i] = segment;
}

/* ---- modules ---- */

static uint8_t *region, *module;
static uint64_t md5[2];

/* sub $16 K, %rsp; and $-64, %rsp; mov %rsp, (%rdi); lea 128(%rsp), %rbx; mov %rdx, 256(%r13) */
static const uint8_t scheduler[] = {0x48, 0x81, 0xec, 0x80, 0x40, 0, 0, 0x48, 0x83, 0xe4, 0xc0,
	0x48, 0x89, 0x27, 0x48, 0x8d, 0x9c, 0x24, 0x80, 0, 0, 0, 0x49, 0x89, 0x95, 0, 1, 0, 0};

/* void f(uint64_t turns, void *stack): counts down on that stack. */
static const uint8_t spin_on[] = {
	0x49, 0x89, 0xe3, 0x48, 0x89, 0xf4, /* mov %rsp, %r11; mov %rsi, %rsp */
	0x48, 0xff, 0xcf, 0x75, 0xfb,       /* 1: dec %rdi; jnz 1b */
	0x4c, 0x89, 0xdc, 0xc3              /* mov %r11, %rsp; ret */
};

static uint64_t code_of(uint64_t function)
{
	return (uint64_t)module + CODE_AT + function % FUNCTIONS * FUNCTION_BYTES + INFO_BYTES;
}

static void make_module(void)
{
	region = map_region(REGION, PROT_READ | PROT_WRITE | PROT_EXEC);
	module = region + SHARED_BYTES;
	memcpy(region + 4096, scheduler, sizeof(scheduler));
	uint64_t *head = (uint64_t *)module;
	uint64_t *functions = (uint64_t *)(module + HEAD_FUNCTIONS);
	head[0] = FUNCTIONS;
	*(uint64_t **)(module + HEAD_MD5) = md5;
	for (uint64_t i = 0; i < FUNCTIONS; i++) {
		uint64_t *info = (uint64_t *)(code_of(i) - INFO_BYTES);
		functions[i] = (uint64_t)info;
		info[2] = info[3] = atom_term(2);
		info[4] = i % 256;
		memcpy((void *)code_of(i), spin_on, sizeof(spin_on));
	}
	functions[FUNCTIONS] = code_of(FUNCTIONS - 1) + FUNCTION_BYTES - INFO_BYTES;
}

static void make_tables(const char *kind)
{
	int is_endless = strcmp(kind, "endless") == 0, is_unmapped = strcmp(kind, "unmapped") == 0;
	uint64_t count = is_endless ? MAX_MODULES : 1;
	uint64_t *modules = map_region(count * 16, PROT_READ | PROT_WRITE);
	modules[0] = (uint64_t)module;
	modules[1] = (uint64_t)module + MODULE_BYTES;
	for (uint64_t i = 1; i < count; i++) {
		modules[2 * i] = modules[1] + i * 8;
		modules[2 * i + 1] = modules[2 * i] + 8;
	}
	for (int i = 0; i < 3; i++)
		data.tables[i] = (struct table){modules, count, count, modules};
	if (is_unmapped)
		data.tables[2] = (struct table){
			(uint64_t *)0x123456789000, 1000000, 1000000, (uint64_t *)0x123456789000};
}

/* ---- processes ---- */

static uint64_t process[PROCESS_WORDS], of_scheduler[64] __attribute__((aligned(64)));

static void make_process(const char *kind)
{
	static pthread_key_t keys[32];
	static uint64_t registered[8], dictionary[64], cell[2];
	int is_labels = strcmp(kind, "labels") == 0;
	process[0] = 3;
	process[OF_SCHEDULER / 8] = (uint64_t)of_scheduler;
	process[INITIAL / 8] = process[INITIAL / 8 + 1] = atom_term(2);
	cell[0] = 0x3b;
	cell[1] = (uint64_t)cell + 1; /* a list without an end */
	dictionary[1] = 1 << 30;
	for (int i = 3; i < 64; i++)
		dictionary[i] = (uint64_t)cell + 1;
	process[DICTIONARY / 8] = is_labels ? (uint64_t)dictionary : 0x123456789000;
	registered[4] = atom_term(2);
	process[REGISTERED / 8] = is_labels ? (uint64_t)registered : 0;
	of_scheduler[THREAD / 8] = (uint64_t)pthread_self();
	of_scheduler[CURRENT / 8] =
		strcmp(kind, "unmapped") == 0 ? 0x123456789000 : (uint64_t)process;
	for (int i = 0; i < 32; i++)
		if (!pthread_key_create(&keys[i], NULL))
			pthread_setspecific(keys[i],
				i < 31 ? (void *)(of_scheduler + 8) : (void *)of_scheduler);
}

static void make_stack(uint64_t *stack, const char *kind)
{
	int is_slots = strcmp(kind, "slots") == 0;
	for (size_t i = 0; i < STACK_WORDS; i++) {
		stack[i] = code_of(i);
		if (is_slots && i % 33) /* of code, and of no function, or of nothing */
			stack[i] =
				i % 2 ? (uint64_t)module + MODULE_BYTES - 4096 + i % 512 * 4 : 0x3b;
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "names";
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	uint64_t *stack = map_region(STACK_WORDS * 8, PROT_READ | PROT_WRITE), turn = 0;
	make_atoms();
	make_module();
	make_tables(kind);
	make_process(kind);
	make_stack(stack, kind);
	__asm__ volatile("" ::"r"(version), "r"(&data) : "memory");
	do {
		turn++;
		if (strcmp(kind, "names") == 0)
			md5[0] = turn; /* all are new functions */
		if (strcmp(kind, "labels") == 0)
			process[0] = turn << 4 | 3; /* a pseudo process from time to time, too */
		if (strcmp(kind, "labels") == 0 && turn % 4 == 0)
			process[0] = 0xfffffff3;
		((void (*)(uint64_t, void *))code_of(turn))(TURNS, stack + STACK_WORDS / 2);
	} while (time(NULL) < until);
	return 0;
}

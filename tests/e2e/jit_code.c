/*
 * A program that makes code and runs it, and tells of it as runtimes do. Its shape is known:
 * alpha() takes three quarters of the time, beta() one. Seconds are those of CPU time.
 *   jit_code map SECONDS     a perf map tells the names
 *   jit_code shared SECONDS  ... and the code is in memory that can be shared
 *   jit_code reuse SECONDS   ... of early(), then late() at the same address
 *   jit_code none SECONDS    nothing does
 *   jit_code pair SECONDS    two processes, at one address: ours() in one, theirs() in the other
 *   jit_code dump SECONDS    a jitdump in the current folder tells names and lines
 *   jit_code move SECONDS    ... of early(), then late() at the same address; early() is moved
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	FUNCTION_BYTES = 64,
	TURNS = 100000,
	FAR = 2048, /* from a function to where it is moved */
};

#define PLACE ((void *)0x600000000000) /* where tests expect the code */

/* void f(uint64_t turns): counts down, with a frame pointer. */
#ifdef __x86_64__
static const uint8_t code[] = {
	0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp, %rbp */
	0x48, 0xff, 0xcf,       /* 1: dec %rdi */
	0x75, 0xfb, 0x5d, 0xc3  /* jnz 1b; pop %rbp; ret */
};
enum {
	MACHINE = EM_X86_64
};
#else
static const uint32_t code[] = {
	0xa9bf7bfd, 0x910003fd, /* stp x29, x30, [sp, #-16]!; mov x29, sp */
	0xf1000400, 0x54ffffe1, /* 1: subs x0, x0, #1; b.ne 1b */
	0xa8c17bfd, 0xd65f03c0  /* ldp x29, x30, [sp], #16; ret */
};
enum {
	MACHINE = EM_AARCH64
};
#endif

typedef void function(uint64_t turns);

static uint8_t *memory;

static uint8_t *put(size_t offset)
{
	memcpy(memory + offset, code, sizeof(code));
	__builtin___clear_cache((char *)memory + offset, (char *)memory + offset + sizeof(code));
	return memory + offset;
}

static void call(const uint8_t *at, uint64_t turns)
{
	function *made;
	memcpy(&made, &at, sizeof(made));
	made(turns);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void spin(const uint8_t *first, const uint8_t *second, double seconds)
{
	uint64_t until = now_ns(CLOCK_PROCESS_CPUTIME_ID) + (uint64_t)(seconds * 1e9);
	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < until) {
		call(first, 3 * TURNS);
		if (second)
			call(second, TURNS);
	}
}

/* ---- perf map ---- */

static FILE *open_map(void)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	if (!map)
		exit(1);
	return map;
}

static void tell_map(FILE *map, const uint8_t *at, const char *name)
{
	fprintf(map, "%lx %x %s\n", (unsigned long)at, FUNCTION_BYTES, name);
}

static void run_map(double seconds, int is_told)
{
	const uint8_t *alpha = put(0), *beta = put(FUNCTION_BYTES);
	if (is_told) {
		FILE *map = open_map();
		tell_map(map, alpha, "something else before");
		tell_map(map, alpha, "alpha (made here)");
		tell_map(map, beta, "beta");
		fclose(map);
	}
	spin(alpha, beta, seconds);
}

/* A line each, when the code is made. */
static void run_reuse(double seconds)
{
	FILE *map = open_map();
	setvbuf(map, NULL, _IOLBF, 0);
	const uint8_t *here = put(0);
	tell_map(map, here, "early");
	spin(here, NULL, seconds / 2);
	tell_map(map, here, "late");
	spin(here, NULL, seconds / 2);
	fclose(map);
}

static void run_one_of_pair(const char *name, double seconds)
{
	FILE *map = open_map();
	tell_map(map, put(0), name);
	fclose(map);
	spin(memory, NULL, seconds);
	exit(0);
}

static void run_pair(double seconds)
{
	for (int i = 0; i < 2; i++)
		if (!fork())
			run_one_of_pair(i ? "ours" : "theirs", seconds);
	while (wait(NULL) > 0)
		;
}

/* ---- jitdump: tools/perf/Documentation/jitdump-specification.txt ---- */

static FILE *dump;

static void put_u32(uint32_t value)
{
	fwrite(&value, sizeof(value), 1, dump);
}

static void put_u64(uint64_t value)
{
	fwrite(&value, sizeof(value), 1, dump);
}

static void put_header(uint32_t id, size_t body_bytes)
{
	put_u32(id);
	put_u32((uint32_t)(16 + body_bytes));
	put_u64(now_ns(CLOCK_MONOTONIC));
}

static void open_dump(void)
{
	char path[64];
	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	dump = fopen(path, "w+");
	if (!dump)
		exit(1);
	put_u32(0x4a695444);
	put_u32(1);
	put_u32(40);
	put_u32(MACHINE);
	put_u32(0);
	put_u32((uint32_t)getpid());
	put_u64(now_ns(CLOCK_MONOTONIC));
	put_u64(0);
	fflush(dump);
	/* The marker, by which profilers find the file. */
	void *marker = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE,
		fileno(dump), 0);
	if (marker == MAP_FAILED)
		exit(1);
}

static void put_pid(void)
{
	put_u32((uint32_t)getpid());
	put_u32((uint32_t)syscall(SYS_gettid));
}

static void tell_load(const uint8_t *at, const char *name, uint64_t index)
{
	put_header(0, 8 + 32 + strlen(name) + 1 + sizeof(code));
	put_pid();
	put_u64((uint64_t)(uintptr_t)at);
	put_u64((uint64_t)(uintptr_t)at);
	put_u64(sizeof(code));
	put_u64(index);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, sizeof(code), 1, dump);
}

/* Two rows: the function's head, and its loop in line 7. */
static void tell_lines(const uint8_t *at)
{
	static const char file[] = "made/alpha.src", again[] = "\xff";
	put_header(2, 16 + 2 * 16 + sizeof(file) + sizeof(again));
	put_u64((uint64_t)(uintptr_t)at);
	put_u64(2);
	put_u64((uint64_t)(uintptr_t)at);
	put_u32(3);
	put_u32(0);
	fwrite(file, sizeof(file), 1, dump);
	put_u64((uint64_t)(uintptr_t)at + 4);
	put_u32(7);
	put_u32(0);
	fwrite(again, sizeof(again), 1, dump);
}

static void tell_move(const uint8_t *from, const uint8_t *to, uint64_t index)
{
	put_header(1, 8 + 40);
	put_pid();
	put_u64((uint64_t)(uintptr_t)to);
	put_u64((uint64_t)(uintptr_t)from);
	put_u64((uint64_t)(uintptr_t)to);
	put_u64(sizeof(code));
	put_u64(index);
}

static void close_dump(void)
{
	put_header(3, 0);
	fclose(dump);
}

static void run_dump(double seconds)
{
	const uint8_t *alpha = put(0), *beta = put(FUNCTION_BYTES);
	open_dump();
	tell_lines(alpha);
	tell_load(alpha, "alpha (made here)", 1);
	tell_load(beta, "beta", 2);
	spin(alpha, beta, seconds);
	close_dump();
}

static void run_move(double seconds)
{
	open_dump();
	const uint8_t *here = put(0);
	tell_load(here, "early", 1);
	spin(here, NULL, seconds / 4);
	const uint8_t *there = put(FAR);
	tell_move(here, there, 1);
	tell_load(here, "late", 2);
	spin(here, NULL, seconds / 2);
	spin(there, NULL, seconds / 4);
	close_dump();
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	double seconds = atof(argv[2]);
	int sharing = strcmp(argv[1], "shared") ? MAP_PRIVATE : MAP_SHARED;
	memory = mmap(
		PLACE, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, sharing | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	if (!strcmp(argv[1], "map") || !strcmp(argv[1], "shared"))
		run_map(seconds, 1);
	else if (!strcmp(argv[1], "reuse"))
		run_reuse(seconds);
	else if (!strcmp(argv[1], "none"))
		run_map(seconds, 0);
	else if (!strcmp(argv[1], "pair"))
		run_pair(seconds);
	else if (!strcmp(argv[1], "dump"))
		run_dump(seconds);
	else if (!strcmp(argv[1], "move"))
		run_move(seconds);
	else
		return 2;
	return 0;
}

/*
 * Processes that share one jitdump of 67 MB, which tells a million times what code there is, and
 * millions of lines:
 *   jit_share SECONDS [PROCESSES]     6 processes; leaves jit-1.dump in the working folder
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	CODE_BYTES = 1 << 16,
	LOADS = 500 * 1000,
	ROWS = 2 * 1000 * 1000,
};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void put(FILE *file, uint64_t value, size_t bytes)
{
	fwrite(&value, bytes, 1, file);
}

static void put_record(FILE *file, uint32_t id, uint64_t bytes)
{
	put(file, id, 4);
	put(file, bytes + 16, 4);
	put(file, 1, 8);
}

static void put_load(FILE *file, uint64_t code, uint64_t number)
{
	static const char name[] = "shared";
	put_record(file, 0, 40 + sizeof(name));
	put(file, 1, 8);
	put(file, code, 8);
	put(file, code, 8);
	put(file, CODE_BYTES, 8);
	put(file, number, 8);
	fwrite(name, sizeof(name), 1, file);
}

static void put_lines(FILE *file, uint64_t code)
{
	put_record(file, 2, 16 + ROWS * 18ULL);
	put(file, code, 8);
	put(file, ROWS, 8);
	for (uint64_t i = 0; i < ROWS; i++) {
		put(file, code + i % CODE_BYTES, 8);
		put(file, i % 1000 + 1, 4);
		put(file, 0, 4);
		put(file, 'a', 2);
	}
}

static void make_dump(uint64_t code)
{
	static const uint32_t header[] = {0x4a695444, 1, 40, 62, 0, 1, 1, 0, 0, 0};
	FILE *file = fopen("jit-1.dump", "w+");
	if (!file) {
		perror("jit-1.dump");
		exit(1);
	}
	fwrite(header, sizeof(header), 1, file);
	put_lines(file, code);
	for (uint64_t i = 0; i < LOADS; i++)
		put_load(file, code, i);
	fflush(file);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0) == MAP_FAILED)
		exit(1);
	fclose(file);
}

int main(int argc, char **argv)
{
	double until = now() + (argc > 1 ? atof(argv[1]) : 1);
	int processes = argc > 2 ? atoi(argv[2]) : 6;
	/* nop ... nop, ret: samples are anywhere in it. */
	uint8_t *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	memset(code, 0x90, CODE_BYTES);
	code[CODE_BYTES - 1] = 0xc3;
	make_dump((uintptr_t)code);
	for (int i = 1; i < processes && fork() > 0; i++)
		;
	while (now() < until)
		((void (*)(void))(uintptr_t)code)();
	while (wait(NULL) > 0)
		;
	return 0;
}

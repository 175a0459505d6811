/*
 * Runs code of no file, and what should tell of it is hostile: /tmp/perf-PID.map, or a jitdump.
 *   jit_files SECONDS fifo|link|sparse|lines|growing    the map
 *   jit_files SECONDS dump|dump_sparse|dump_shared      the jitdump, /tmp/jit-PID.dump
 * The map is a FIFO, a link to /etc/shadow, 100 GiB without a line, 60 MiB of lines that all cover
 * the code, a file that grows without an end. The dump has records of no length and of 4 GiB, is
 * 100 GiB long, or has 67 MiB and is mapped by six processes.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	FUNCTION_BYTES = 64,
	TURNS = 100000,
	SHARERS = 6,
	LINES_BYTES = 60 << 20,
	DUMP_BYTES = 67 << 20,
};

static const off_t sparse_bytes = (off_t)100 << 30;

#ifdef __x86_64__
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
#else
static const uint32_t code[] = {
	0xa9bf7bfd, 0x910003fd, 0xf1000400, 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
#endif

static uint8_t *memory;

static void run_once(size_t index)
{
	const uint8_t *at = memory + index % (PAGE / FUNCTION_BYTES) * FUNCTION_BYTES;
	void (*made)(uint64_t turns);
	memcpy(&made, &at, sizeof(made));
	made(TURNS);
}

static void make_code(void)
{
	memory = mmap(
		NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		exit(1);
	for (size_t i = 0; i < PAGE; i += FUNCTION_BYTES)
		memcpy(memory + i, code, sizeof(code));
}

static void put_map_lines(FILE *file, size_t bytes)
{
	for (size_t put = 0, i = 0; put < bytes; i++)
		put += (size_t)fprintf(file, "%llx %x \033[31mname\n%zu;%zx\n",
			(unsigned long long)(uintptr_t)memory, PAGE, i, i * 7919);
	fflush(file);
}

static void make_map(const char *kind)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	if (strcmp(kind, "fifo") == 0) {
		mkfifo(path, 0600);
		return;
	}
	if (strcmp(kind, "link") == 0) {
		if (symlink("/etc/shadow", path))
			exit(1);
		return;
	}
	FILE *file = fopen(path, "we");
	if (!file)
		exit(1);
	if (strcmp(kind, "sparse") == 0 && ftruncate(fileno(file), sparse_bytes))
		exit(1);
	if (strcmp(kind, "lines") == 0)
		put_map_lines(file, LINES_BYTES);
	for (size_t i = 0; strcmp(kind, "growing") == 0; i++) {
		put_map_lines(file, 10000);
		run_once(i);
	}
}

/* A header, and records that lie of their length. */
static void make_dump(bool is_sparse)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct {
		uint32_t magic, version, bytes, machine, padding, pid;
		uint64_t time, flags;
	} header = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), 1, 0};
	struct {
		uint32_t id, bytes;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t address, code_address, code_bytes, index;
		char name[8];
	} record = {0, 64, 1, (uint32_t)getpid(), (uint32_t)getpid(), (uintptr_t)memory,
		(uintptr_t)memory, PAGE, 0, "x\033[0;m"};
	static uint8_t block[1 << 20];
	memcpy(block, &header, sizeof(header));
	for (size_t at = sizeof(header), i = 0; at + sizeof(record) < sizeof(block); i++) {
		record.index = i;
		record.time = i;
		memcpy(block + at, &record, sizeof(record));
		at += sizeof(record);
	}
	for (size_t put = 0; put < DUMP_BYTES; put += sizeof(block))
		if (write(fd, block, sizeof(block)) != sizeof(block))
			exit(1);
	record.bytes = 0;
	if (write(fd, &record, sizeof(record)) < 0)
		exit(1);
	record.bytes = UINT32_MAX;
	if (write(fd, &record, sizeof(record)) < 0)
		exit(1);
	if (is_sparse && ftruncate(fd, sparse_bytes))
		exit(1);
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		exit(1);
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	const char *kind = argc > 2 ? argv[2] : "";
	alarm(seconds);
	make_code();
	if (strncmp(kind, "dump", 4) == 0)
		make_dump(strcmp(kind, "dump_sparse") == 0);
	for (int i = 1; strcmp(kind, "dump_shared") == 0 && i < SHARERS; i++)
		if (fork() == 0) {
			alarm(seconds);
			break;
		}
	puts("ready");
	fflush(stdout);
	if (strncmp(kind, "dump", 4) != 0)
		make_map(kind);
	for (size_t i = 0;; i++)
		run_once(i);
}

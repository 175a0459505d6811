/*
 * Runs code out of executable mappings of all kinds.
 *   mapped_code SECONDS file PATH...     the code at CODE_OFFSET of each file
 *   mapped_code SECONDS memfd            of a new memfd each time, which is gone then
 *   mapped_code SECONDS deleted          of a new file each time, which is deleted at once
 *   mapped_code SECONDS many COUNT PROCESSES   so many mappings at once, in so many processes
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	NOTE_OFFSET = 0x400,
	CODE_OFFSET = 0x1000, /* as in hostile_elf.py */
	TURNS = 200000,
	KEPT = 64, /* mappings of a storm that stay for a while */
};

/* void f(uint64_t turns): counts down, with a frame pointer. */
#ifdef __x86_64__
enum {
	MACHINE = EM_X86_64
};
static const uint8_t code[] = {
	0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp, %rbp */
	0x48, 0xff, 0xcf,       /* 1: dec %rdi */
	0x75, 0xfb, 0x5d, 0xc3  /* jnz 1b; pop %rbp; ret */
};
#else
enum {
	MACHINE = EM_AARCH64
};
static const uint32_t code[] = {
	0xa9bf7bfd, 0x910003fd, /* stp x29, x30, [sp, #-16]!; mov x29, sp */
	0xf1000400, 0x54ffffe1, /* 1: subs x0, x0, #1; b.ne 1b */
	0xa8c17bfd, 0xd65f03c0  /* ldp x29, x30, [sp], #16; ret */
};
#endif

struct image { /* the smallest file with a build ID that can be executed from */
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	uint8_t to_note[NOTE_OFFSET - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr)];
	Elf64_Nhdr note;
	char note_name[4];
	uint64_t build_id[2];
	uint8_t to_code[CODE_OFFSET - NOTE_OFFSET - sizeof(Elf64_Nhdr) - 4 - 16];
	uint8_t code[PAGE];
};

static struct image image = {
	.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2},
	.segments = {{.p_type = PT_LOAD,
			     .p_flags = PF_R | PF_X,
			     .p_filesz = sizeof(struct image),
			     .p_memsz = sizeof(struct image),
			     .p_align = PAGE},
		{.p_type = PT_NOTE,
			.p_flags = PF_R,
			.p_offset = NOTE_OFFSET,
			.p_vaddr = NOTE_OFFSET,
			.p_filesz = sizeof(Elf64_Nhdr) + 4 + 16,
			.p_memsz = sizeof(Elf64_Nhdr) + 4 + 16,
			.p_align = 4}},
	.note = {.n_namesz = 4, .n_descsz = 16, .n_type = NT_GNU_BUILD_ID},
	.note_name = "GNU",
};

static void run_at(const uint8_t *at)
{
	void (*made)(uint64_t turns);
	memcpy(&made, &at, sizeof(made));
	made(TURNS);
}

static uint8_t *map_code(int fd)
{
	void *memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, CODE_OFFSET);
	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return memory;
}

static void run_files(char **paths, int count)
{
	uint8_t *places[64];
	for (int i = 0; i < count && i < 64; i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		places[i] = map_code(fd);
		close(fd);
	}
	for (int i = 0;; i = (i + 1) % (count < 64 ? count : 64))
		run_at(places[i]);
}

static int make_file(uint64_t number, bool is_deleted)
{
	char name[64];
	snprintf(name, sizeof(name), "gone.%d.%llu", getpid(), (unsigned long long)number);
	int fd = is_deleted ? open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700)
			    : memfd_create(name, MFD_CLOEXEC);
	image.build_id[0] = number;
	image.build_id[1] = (uint64_t)getpid();
	memcpy(image.code, code, sizeof(code));
	if (fd < 0 || write(fd, &image, sizeof(image)) != sizeof(image)) {
		perror(name);
		exit(1);
	}
	if (is_deleted)
		unlink(name);
	return fd;
}

static void storm_of_files(bool is_deleted)
{
	uint8_t *kept[KEPT] = {NULL};
	for (uint64_t number = 0;; number++) {
		int fd = make_file(number, is_deleted);
		uint8_t **place = &kept[number % KEPT];
		if (*place)
			munmap(*place, PAGE);
		*place = map_code(fd);
		close(fd);
		run_at(*place);
	}
}

/* Neighbours differ in what may be done with them, so that they stay apart. */
static void map_many(long count, int processes)
{
	int fd = make_file(0, false);
	uint8_t *last = NULL;
	for (long i = 0; i < count; i++) {
		void *memory = mmap(NULL, PAGE,
			i & 1 ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE, fd, CODE_OFFSET);
		if (memory == MAP_FAILED)
			break;
		last = memory;
	}
	for (int i = 1; i < processes; i++)
		if (fork() == 0)
			break;
	puts("ready");
	fflush(stdout);
	for (long turn = 0;; turn++) {
		run_at(last);
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	const char *kind = argc > 2 ? argv[2] : "";
	alarm(seconds);
	if (strcmp(kind, "file") == 0 && argc > 3)
		run_files(argv + 3, argc - 3);
	else if (strcmp(kind, "memfd") == 0)
		storm_of_files(false);
	else if (strcmp(kind, "deleted") == 0)
		storm_of_files(true);
	else if (strcmp(kind, "many") == 0 && argc > 4)
		map_many(atol(argv[3]), atoi(argv[4]));
	return 1;
}

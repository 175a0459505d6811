/*
 * Runs code of files whose call frame information is large and takes long to read:
 *   eh_frame_flood SECONDS [FILES [MEGABYTES]]     8 files with 63 MB of .eh_frame each
 * The files have no name (O_TMPFILE in the working folder) and go with the process.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	FDE_BYTES = 32,
	CODE_AT = 4096,
	CODE_BYTES = 8 << 20, /* a hole, but for its first page */
	FRAMES_AT = CODE_AT + CODE_BYTES,
	FILES_MAX = 64,
};

/* mov $2000000, %ecx; 1: dec %ecx; jnz 1b; ret */
static const uint8_t spin[] = {0xb9, 0x80, 0x84, 0x1e, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3};

static void put_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* A CIE, and FDEs of four bytes of code each whose programs have two rows. */
static size_t put_frames(uint8_t *out, size_t bytes)
{
	static const uint8_t cie[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b,
		0x0c, 7, 8, 0x90, 1, 0, 0};
	size_t at = sizeof(cie), count = (bytes - sizeof(cie) - 4) / FDE_BYTES;
	memcpy(out, cie, sizeof(cie));
	for (size_t i = 0; i < count; i++, at += FDE_BYTES) {
		uint8_t *fde = out + at;
		memset(fde, 0, FDE_BYTES);
		put_u32(fde, FDE_BYTES - 4);
		put_u32(fde + 4, (uint32_t)at + 4);
		put_u32(fde + 8,
			(uint32_t)(CODE_AT + i * 4 % CODE_BYTES) - (uint32_t)(FRAMES_AT + at + 8));
		put_u32(fde + 12, 4);
		fde[17] = 0x42; /* advance by 2, then another CFA offset */
		fde[18] = 0x0e;
		fde[19] = (uint8_t)(i % 64 + 8);
	}
	put_u32(out + at, 0);
	return at + 4;
}

static void put_headers(uint8_t *out, size_t frame_bytes)
{
	static const char names[] = "\0.eh_frame\0.text\0.shstrtab";
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_shoff = 1024,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 3,
	};
	Elf64_Phdr code = {.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = CODE_AT,
		.p_vaddr = CODE_AT,
		.p_filesz = CODE_BYTES,
		.p_memsz = CODE_BYTES};
	Elf64_Shdr sections[4] = {
		[1] = {.sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = FRAMES_AT,
			.sh_offset = FRAMES_AT,
			.sh_size = frame_bytes},
		[2] = {.sh_name = 11,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = CODE_AT,
			.sh_offset = CODE_AT,
			.sh_size = CODE_BYTES},
		[3] = {.sh_name = 17,
			.sh_type = SHT_STRTAB,
			.sh_offset = 2048,
			.sh_size = sizeof(names)},
	};
	memcpy(out, &header, sizeof(header));
	memcpy(out + sizeof(header), &code, sizeof(code));
	memcpy(out + 1024, sections, sizeof(sections));
	memcpy(out + 2048, names, sizeof(names));
}

static void (*make_file(const uint8_t *frames, size_t frame_bytes))(void)
{
	uint8_t head[CODE_AT + 64] = {0};
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
	put_headers(head, frame_bytes);
	memcpy(head + CODE_AT, spin, sizeof(spin));
	if (fd < 0 || pwrite(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
		pwrite(fd, frames, frame_bytes, FRAMES_AT) != (ssize_t)frame_bytes) {
		perror("file");
		exit(1);
	}
	void *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, CODE_AT);
	if (code == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	close(fd);
	return (void (*)(void))code;
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double until = now() + (argc > 1 ? atof(argv[1]) : 1);
	size_t nr_files = argc > 2 ? strtoul(argv[2], NULL, 10) : 8;
	size_t bytes = (argc > 3 ? strtoul(argv[3], NULL, 10) : 63) << 20;
	void (*spins[FILES_MAX])(void);
	uint8_t *frames = malloc(bytes);
	if (nr_files > FILES_MAX || !frames)
		return 1;
	size_t frame_bytes = put_frames(frames, bytes);
	for (size_t i = 0; i < nr_files; i++)
		spins[i] = make_file(frames, frame_bytes);
	free(frames);
	for (size_t i = 0; now() < until; i++)
		spins[i % nr_files]();
	return 0;
}

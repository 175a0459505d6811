/* Sections of an ELF file in memory, packed as their header says or not. */
#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#if __has_include(<zstd.h>)
#include <zstd.h>
#endif

#include "format/base/mem.h"
#include "format/elf/elf_inflate.h"
#include "format/elf/elf_scratch.h"
#include "tests/unit/unit.h"

enum {
	DATA_AT = sizeof(Elf64_Ehdr),
	LEN = 5000,
	MAX = 10000,
};

struct fixture {
	uint8_t file[8192];
	size_t packed_len;
	struct elf_file *elf;
	struct elf_section section;
};

static void setup(struct fixture *fixture, uint32_t type, uint64_t claimed)
{
	memset(fixture, 0, sizeof(*fixture));
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_type = ET_DYN};
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	Elf64_Chdr packed = {.ch_type = type, .ch_size = claimed, .ch_addralign = 1};
	uint8_t plain[LEN];
	for (size_t i = 0; i < LEN; i++)
		plain[i] = (uint8_t)(i * i);
	uLongf len = sizeof(fixture->file) - DATA_AT - sizeof(packed);
	compress(fixture->file + DATA_AT + sizeof(packed), &len, plain, LEN);
	memcpy(fixture->file, &header, sizeof(header));
	memcpy(fixture->file + DATA_AT, &packed, sizeof(packed));
	fixture->packed_len = sizeof(packed) + len;
	fixture->section = (struct elf_section){.name = ".debug_frame",
		.flags = SHF_COMPRESSED,
		.offset = DATA_AT,
		.size = fixture->packed_len};
	CHECK_OK(elf_file_open_memory(fixture->file, sizeof(fixture->file), &fixture->elf));
}

TEST(elf_inflate_unpacks)
{
	struct fixture fixture;
	setup(&fixture, ELFCOMPRESS_ZLIB, LEN);
	uint8_t *bytes = NULL;
	uint64_t len = 0;
	CHECK_OK(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len));
	CHECK_INT(len, LEN);
	for (size_t i = 0; i < LEN && bytes; i += 100)
		CHECK_INT(bytes[i], (uint8_t)(i * i));
	mem_free(bytes);
	fixture.section.flags = 0;
	CHECK_OK(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len));
	CHECK_INT(len, fixture.packed_len);
	CHECK_INT(bytes[0], ELFCOMPRESS_ZLIB);
	mem_free(bytes);
	elf_file_destroy(fixture.elf);
}

static void check_refused(uint32_t type, uint64_t claimed, uint64_t cut, int code, const char *why)
{
	struct fixture fixture;
	setup(&fixture, type, claimed);
	fixture.section.size -= cut;
	uint8_t *bytes;
	uint64_t len;
	CHECK_ERR(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len), code, why);
	elf_file_destroy(fixture.elf);
}

static struct err *unpack_within(
	struct fixture *fixture, struct elf_budget *budget, struct elf_map *map)
{
	return elf_inflate_map(fixture->elf, &fixture->section, MAX, budget, map);
}

/* A file of many sections, or a program of many files, may unpack no more at a time. */
TEST(elf_inflate_keeps_to_a_budget)
{
	struct fixture fixture;
	struct elf_budget budget;
	struct elf_map one = {0}, two = {0};
	setup(&fixture, ELFCOMPRESS_ZLIB, LEN);
	elf_budget_init(&budget, 2 * LEN - 1);
	CHECK_OK(unpack_within(&fixture, &budget, &one));
	CHECK_INT(elf_budget_refusals(&budget), 0);
	CHECK_ERR(unpack_within(&fixture, &budget, &two), ERR_UNSUPPORTED, "no room for 5000");
	CHECK_INT(elf_budget_refusals(&budget), 1);
	elf_map_release(&one);
	CHECK_OK(unpack_within(&fixture, &budget, &two));
	elf_map_release(&two);
	CHECK(elf_budget_take(&budget, 2 * LEN - 1)); /* all of it came back */
	elf_budget_give(&budget, 2 * LEN - 1);
	fixture.section.size--;
	CHECK_ERR(unpack_within(&fixture, &budget, &one), ERR_FORMAT, "damaged");
	CHECK(elf_budget_take(&budget, 2 * LEN - 1));
	elf_file_destroy(fixture.elf);
}

/* So much that it goes into a file, from a file, and back. */
TEST(elf_inflate_maps)
{
	enum {
		LARGE = 9 << 20
	};
	uint8_t *plain = mem_zalloc(LARGE), *file = mem_zalloc(LARGE);
	for (size_t i = 0; i < LARGE; i++)
		plain[i] = (uint8_t)(i * i >> 12);
	uLongf len = LARGE - DATA_AT - sizeof(Elf64_Chdr);
	Elf64_Chdr packed = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = LARGE, .ch_addralign = 1};
	compress(file + DATA_AT + sizeof(packed), &len, plain, LARGE);
	struct fixture small;
	setup(&small, ELFCOMPRESS_ZLIB, LEN);
	memcpy(file, small.file, DATA_AT);
	memcpy(file + DATA_AT, &packed, sizeof(packed));
	struct elf_file *elf;
	CHECK_OK(elf_file_open_memory(file, LARGE, &elf));
	struct elf_section section = small.section;
	section.size = sizeof(packed) + len;
	struct elf_map map = {0};
	CHECK_OK(elf_inflate_map(elf, &section, LARGE, NULL, &map));
	CHECK_INT(map.len, LARGE);
	CHECK(map.len == LARGE && memcmp(map.bytes, plain, LARGE) == 0);
	elf_map_forget(&map, 0, LARGE);
	CHECK(map.len == LARGE && memcmp(map.bytes, plain, LARGE) == 0);
	elf_map_release(&map);
	CHECK_ERR(elf_inflate_map(elf, &section, LARGE - 1, NULL, &map), ERR_UNSUPPORTED,
		"9437184 bytes");
	section.size -= len / 2;
	CHECK_ERR(elf_inflate_map(elf, &section, LARGE, NULL, &map), ERR_FORMAT, "damaged");
	/* No room for a file, in memory or on a disk. */
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 1 << 20, .rlim_max = 1 << 20});
	CHECK_INT(elf_scratch_open(LARGE), -1);
	section.size += len / 2;
	CHECK_OK(elf_inflate_map(elf, &section, LARGE, NULL, &map));
	CHECK(map.copy && memcmp(map.bytes, plain, LARGE) == 0);
	elf_map_release(&map);
	elf_file_destroy(elf);
	elf_file_destroy(small.elf);
	mem_free(plain);
	mem_free(file);
}

/* More than memory has room for goes to a disk, if that has. */
TEST(elf_scratch_where_there_is_room)
{
	int fd = elf_scratch_open(1 << 20);
	struct stat st;
	CHECK(fd >= 0 && !fstat(fd, &st) && st.st_size == 1 << 20);
	CHECK_INT(pwrite(fd, "x", 1, (1 << 20) - 1), 1);
	close(fd);
	CHECK_INT(elf_scratch_open(1ULL << 62), -1);
}

#if __has_include(<zstd.h>)
TEST(elf_inflate_zstd)
{
	struct fixture fixture;
	setup(&fixture, 2, LEN); /* ELFCOMPRESS_ZSTD, newer than some <elf.h> */
	uint8_t plain[LEN], *bytes = NULL;
	uint64_t len = 0;
	for (size_t i = 0; i < LEN; i++)
		plain[i] = (uint8_t)(i * i);
	uint8_t *at = fixture.file + DATA_AT + sizeof(Elf64_Chdr);
	size_t packed = ZSTD_compress(
		at, sizeof(fixture.file) - (size_t)(at - fixture.file), plain, LEN, 3);
	CHECK(!ZSTD_isError(packed));
	fixture.section.size = sizeof(Elf64_Chdr) + packed;
	elf_file_destroy(fixture.elf); /* it remembers the beginning of its file */
	CHECK_OK(elf_file_open_memory(fixture.file, sizeof(fixture.file), &fixture.elf));
	CHECK_OK(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len));
	CHECK_INT(len, LEN);
	CHECK(bytes && memcmp(bytes, plain, LEN) == 0);
	mem_free(bytes);
	fixture.section.size--;
	CHECK_ERR(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len), ERR_FORMAT,
		"damaged");
	elf_file_destroy(fixture.elf);
}
#endif

TEST(elf_inflate_refuses)
{
	check_refused(ELFCOMPRESS_ZLIB, LEN - 1, 0, ERR_FORMAT, "damaged"); /* more than promised */
	check_refused(ELFCOMPRESS_ZLIB, LEN + 1, 0, ERR_FORMAT, "damaged");
	check_refused(ELFCOMPRESS_ZLIB, LEN, 1, ERR_FORMAT, "damaged");
	check_refused(ELFCOMPRESS_ZLIB, MAX + 1, 0, ERR_UNSUPPORTED, "10001 bytes");
	check_refused(ELFCOMPRESS_ZLIB, UINT64_MAX, 0, ERR_UNSUPPORTED, "bytes of .debug_frame");
	check_refused(0, LEN, 0, ERR_UNSUPPORTED, "compression 0");
	check_refused(3, LEN, 0, ERR_UNSUPPORTED, "compression 3");
	struct fixture fixture;
	setup(&fixture, ELFCOMPRESS_ZLIB, LEN);
	fixture.section.size = sizeof(Elf64_Chdr) - 1;
	uint8_t *bytes;
	uint64_t len;
	CHECK_ERR(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len), ERR_FORMAT,
		"no compression header");
	fixture.section.size = MAX + 1;
	CHECK_ERR(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len),
		ERR_UNSUPPORTED, "10001 bytes");
	fixture.section.size = 9000;
	CHECK_ERR(elf_inflate_section(fixture.elf, &fixture.section, MAX, &bytes, &len), ERR_FORMAT,
		"not in a file");
	elf_file_destroy(fixture.elf);
}

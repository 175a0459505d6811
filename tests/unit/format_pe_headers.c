/* Headers of PE images, made by hand by the offsets of "PE Format". */
#include <elf.h>
#include <string.h>

#include "format/elf/pe_headers.h"
#include "tests/unit/unit.h"

enum {
	NEW_HEADER_AT = 0x80,
	OPTIONAL_AT = NEW_HEADER_AT + 24,
	IMAGE_BYTES = 0x400,
};

static void put16(uint8_t *image, size_t at, uint16_t value)
{
	memcpy(image + at, &value, sizeof(value));
}

static void put32(uint8_t *image, size_t at, uint32_t value)
{
	memcpy(image + at, &value, sizeof(value));
}

static void put_forged_section(
	uint8_t *at, uint32_t bytes, uint32_t address, uint32_t in_file, uint32_t offset)
{
	put32(at, 8, bytes);
	put32(at, 12, address);
	put32(at, 16, in_file);
	put32(at, 20, offset);
}

/* Two sections, the first of them code; `is_wide`: PE32+. */
static void make_image(uint8_t image[IMAGE_BYTES], uint16_t machine, bool is_wide)
{
	uint16_t optional_bytes = is_wide ? 240 : 224;
	size_t directories = OPTIONAL_AT + (is_wide ? 112 : 96);
	memset(image, 0, IMAGE_BYTES);
	put16(image, 0, 'M' | 'Z' << 8);
	put32(image, 0x3c, NEW_HEADER_AT);
	put32(image, NEW_HEADER_AT, 'P' | 'E' << 8);
	put16(image, NEW_HEADER_AT + 4, machine);
	put16(image, NEW_HEADER_AT + 6, 2);
	put32(image, NEW_HEADER_AT + 8, 0x5f000001);
	put16(image, NEW_HEADER_AT + 20, optional_bytes);
	put16(image, OPTIONAL_AT, is_wide ? 0x20b : 0x10b);
	put32(image, OPTIONAL_AT + 56, 0x8000);
	put32(image, OPTIONAL_AT + 60, 0x400);
	put32(image, directories - 4, 16);
	put32(image, directories + 8 * PE_DIRECTORY_CLI, 0x2008);
	put32(image, directories + 8 * PE_DIRECTORY_CLI + 4, 72);
	uint8_t *sections = image + OPTIONAL_AT + optional_bytes;
	put_forged_section(sections, 0x1800, 0x2000, 0x1600, 0x400);
	put32(sections, 36, 0x60000020);
	put_forged_section(sections + 40, 0x100, 0x6000, 0x200, 0x1a00);
	put32(sections + 40, 36, 0x40000040);
}

static void check_offset(const struct pe_headers *headers, uint32_t address, uint64_t want)
{
	uint64_t offset = UINT64_MAX;
	bool is_there = pe_headers_offset(headers, address, &offset);
	CHECK_INT(is_there, want != UINT64_MAX);
	CHECK(!is_there || offset == want);
}

TEST(pe_headers_of_both_widths)
{
	uint8_t image[IMAGE_BYTES];
	struct pe_headers headers;
	for (int is_wide = 0; is_wide < 2; is_wide++) {
		make_image(image, 0x8664, is_wide);
		CHECK(pe_headers_parse(image, sizeof(image), &headers));
		CHECK_INT(headers.machine, EM_X86_64);
		CHECK_INT(headers.time_stamp, 0x5f000001);
		CHECK_INT(headers.image_bytes, 0x8000);
		CHECK_INT(headers.headers_bytes, 0x400);
		CHECK_INT(headers.directory[PE_DIRECTORY_CLI].address, 0x2008);
		CHECK_INT(headers.directory[PE_DIRECTORY_CLI].bytes, 72);
		CHECK_INT(headers.nr_sections, 2);
		CHECK(headers.sections[0].is_code && !headers.sections[1].is_code);
		CHECK_INT(headers.sections[1].bytes, 0x100);
		check_offset(&headers, 0x3ff, 0x3ff); /* the headers themselves */
		check_offset(&headers, 0x2000, 0x400);
		check_offset(&headers, 0x35ff, 0x19ff);
		check_offset(&headers, 0x3600, UINT64_MAX); /* in memory alone */
		check_offset(&headers, 0x6010, 0x1a10);
		check_offset(&headers, 0x7000, UINT64_MAX);
	}
}

/* The machine of ReadyToRun images for Linux is another one, by exclusive or. */
TEST(pe_headers_name_the_machine)
{
	static const struct {
		uint16_t machine, want;
	} machines[] = {{0x8664, EM_X86_64}, {0xfd1d, EM_X86_64}, {0xaa64, EM_AARCH64},
		{0xd11d, EM_AARCH64}, {0x014c, EM_NONE}};
	uint8_t image[IMAGE_BYTES];
	struct pe_headers headers;
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		make_image(image, machines[i].machine, true);
		CHECK(pe_headers_parse(image, sizeof(image), &headers));
		CHECK_INT(headers.machine, machines[i].want);
	}
}

TEST(pe_headers_may_be_cut_or_wrong)
{
	uint8_t image[IMAGE_BYTES];
	struct pe_headers headers;
	make_image(image, 0x8664, true);
	size_t needed = OPTIONAL_AT + 240 + 2 * 40;
	for (size_t len = 0; len < needed; len++)
		CHECK(!pe_headers_parse(image, len, &headers));
	CHECK(pe_headers_parse(image, needed, &headers));
	put16(image, NEW_HEADER_AT + 6, PE_MAX_SECTIONS + 1);
	CHECK(!pe_headers_parse(image, sizeof(image), &headers));
	make_image(image, 0x8664, true);
	put32(image, 0x3c, UINT32_MAX);
	CHECK(!pe_headers_parse(image, sizeof(image), &headers));
	make_image(image, 0x8664, true);
	put16(image, OPTIONAL_AT, 0x107);
	CHECK(!pe_headers_parse(image, sizeof(image), &headers));
}

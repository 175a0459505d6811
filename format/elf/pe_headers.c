#include "format/elf/pe_headers.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"

enum {
	NEW_HEADER = 0x3c, /* where the DOS header says where the other one is */
	COFF_BYTES = 20,
	PE32 = 0x10b,
	PE32_PLUS = 0x20b,
	SECTION_IS_EXECUTABLE = 0x20000000,

	MACHINE_X86_64 = 0x8664,
	MACHINE_ARM64 = 0xaa64,
	MACHINE_LINUX = 0x7b79, /* exclusive or: ReadyToRun for Linux */
};

static uint16_t machine_of(uint16_t machine)
{
	switch (machine) {
	case MACHINE_X86_64:
	case MACHINE_X86_64 ^ MACHINE_LINUX:
		return EM_X86_64;
	case MACHINE_ARM64:
	case MACHINE_ARM64 ^ MACHINE_LINUX:
		return EM_AARCH64;
	default:
		return EM_NONE;
	}
}

static bool take_optional_header(struct bytes_cursor cursor, struct pe_headers *ret)
{
	uint16_t magic = bytes_get_u16(&cursor);
	if (magic != PE32 && magic != PE32_PLUS)
		return false;
	bytes_get(&cursor, 54);
	ret->image_bytes = bytes_get_u32(&cursor);
	ret->headers_bytes = bytes_get_u32(&cursor);
	bytes_get(&cursor, magic == PE32_PLUS ? 44 : 28);
	uint32_t count = bytes_get_u32(&cursor);
	for (uint32_t i = 0; i < count && i < PE_DIRECTORIES; i++) {
		ret->directory[i].address = bytes_get_u32(&cursor);
		ret->directory[i].bytes = bytes_get_u32(&cursor);
	}
	return !cursor.overrun;
}

static void take_pe_section(struct bytes_cursor *cursor, struct pe_section *ret)
{
	bytes_get(cursor, 8); /* its name */
	ret->bytes = bytes_get_u32(cursor);
	ret->address = bytes_get_u32(cursor);
	ret->bytes_in_file = bytes_get_u32(cursor);
	ret->offset = bytes_get_u32(cursor);
	bytes_get(cursor, 12);
	ret->is_code = bytes_get_u32(cursor) & SECTION_IS_EXECUTABLE;
}

bool pe_headers_parse(const uint8_t *head, size_t len, struct pe_headers *ret)
{
	struct pe_headers headers = {0};
	struct bytes_cursor cursor = bytes_cursor(head, len);
	if (len < NEW_HEADER + 4 || memcmp(head, "MZ", 2) != 0)
		return false;
	bytes_get(&cursor, NEW_HEADER);
	uint32_t at = bytes_get_u32(&cursor);
	cursor = bytes_cursor(head, len);
	bytes_get(&cursor, at);
	const uint8_t *magic = bytes_get(&cursor, 4);
	if (!magic || memcmp(magic, "PE\0\0", 4) != 0)
		return false;
	headers.machine = machine_of(bytes_get_u16(&cursor));
	headers.function_bytes = headers.machine == EM_AARCH64 ? 8 : 12;
	headers.nr_sections = bytes_get_u16(&cursor);
	headers.time_stamp = bytes_get_u32(&cursor);
	bytes_get(&cursor, 8);
	uint32_t optional_bytes = bytes_get_u16(&cursor);
	bytes_get(&cursor, 2);
	if (headers.nr_sections > PE_MAX_SECTIONS ||
		!take_optional_header(bytes_get_cursor(&cursor, optional_bytes), &headers))
		return false;
	for (uint32_t i = 0; i < headers.nr_sections; i++)
		take_pe_section(&cursor, &headers.sections[i]);
	if (cursor.overrun)
		return false;
	*ret = headers;
	return true;
}

bool pe_headers_offset(const struct pe_headers *headers, uint32_t address, uint64_t *ret)
{
	for (uint32_t i = 0; i < headers->nr_sections; i++) {
		const struct pe_section *section = &headers->sections[i];
		uint32_t into = address - section->address;
		if (address >= section->address && into < section->bytes_in_file) {
			*ret = (uint64_t)section->offset + into;
			return true;
		}
	}
	*ret = address;
	return address < headers->headers_bytes;
}

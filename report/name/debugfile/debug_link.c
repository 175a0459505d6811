#include "report/name/debugfile/debug_link.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"

enum {
	BLOCK_BYTES = 1 << 18,
};

bool debug_link_read(struct elf_file *elf, struct debug_link *ret)
{
	const struct elf_section *section = elf_file_find_section(elf, ".gnu_debuglink");
	uint8_t bytes[sizeof(ret->name) + sizeof(uint32_t)];
	if (!section || section->size > sizeof(bytes))
		return false;
	struct err *err = elf_file_read_into(elf, section->offset, bytes, (size_t)section->size);
	if (err) {
		err_destroy(err);
		return false;
	}
	/* The name, a NUL, and the checksum at the next multiple of 4. */
	size_t len = strnlen((const char *)bytes, (size_t)section->size);
	size_t crc_at = (len + 4) / 4 * 4;
	if (!len || len >= sizeof(ret->name) || crc_at + sizeof(uint32_t) > section->size)
		return false;
	memcpy(ret->name, bytes, len + 1);
	struct bytes_cursor cursor = bytes_cursor(bytes + crc_at, sizeof(uint32_t));
	ret->crc = bytes_get_u32(&cursor);
	return true;
}

bool debug_link_is_plain(const struct debug_link *link)
{
	return !strchr(link->name, '/') && strcmp(link->name, ".") != 0 &&
	       strcmp(link->name, "..") != 0;
}

bool debug_link_is_crc(int fd, uint32_t crc)
{
	CLEANUP_FREE uint8_t *block = mem_alloc(BLOCK_BYTES);
	uLong sum = crc32(0, NULL, 0);
	for (off_t at = 0;;) {
		ssize_t got = pread(fd, block, BLOCK_BYTES, at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 && sum == crc;
		sum = crc32(sum, block, (uInt)got);
		at += got;
	}
}

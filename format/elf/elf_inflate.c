#include "format/elf/elf_inflate.h"

#include <elf.h>
#include <string.h>
#include <zlib.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"

enum {
	ZLIB_LARGEST = 1 << 30, /* zlib counts in unsigned int */
};

static struct err *check_size(const struct elf_section *section, uint64_t size, uint64_t max)
{
	if (size <= max && size < ZLIB_LARGEST)
		return NULL;
	return err_new(
		ERR_UNSUPPORTED, "%llu bytes of %s", (unsigned long long)size, section->name);
}

/* All of `out`, which is what the header promised, or nothing. */
static struct err *inflate_all(struct bytes_cursor in, uint8_t *out, uint64_t len)
{
	z_stream stream = {.next_in = (uint8_t *)in.pos, /* zlib only reads it */
		.avail_in = (uInt)bytes_left(&in),
		.next_out = out,
		.avail_out = (uInt)len};
	if (inflateInit(&stream) != Z_OK)
		return err_new(ERR_UNSUPPORTED, "zlib does not start");
	int status = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	if (status != Z_STREAM_END || stream.avail_out)
		return err_new(ERR_FORMAT, "compressed data are damaged");
	return NULL;
}

static struct err *inflate_bytes(struct bytes_cursor in, const struct elf_section *section,
	uint64_t size, uint64_t max, uint8_t **ret, uint64_t *len)
{
	try(check_size(section, size, max));
	CLEANUP_FREE uint8_t *bytes = mem_alloc((size_t)size + 1);
	try(err_wrap(inflate_all(in, bytes, size), "%s", section->name));
	bytes[size] = 0;
	*ret = steal_ptr(bytes);
	*len = size;
	return NULL;
}

static struct err *inflate_section(struct bytes_cursor in, const struct elf_section *section,
	uint64_t max, uint8_t **ret, uint64_t *len)
{
	uint32_t type = bytes_get_u32(&in);
	bytes_get_u32(&in); /* ch_reserved */
	uint64_t size = bytes_get_u64(&in);
	bytes_get_u64(&in); /* ch_addralign */
	if (in.overrun)
		return err_new(ERR_FORMAT, "%s: no compression header", section->name);
	if (type != ELFCOMPRESS_ZLIB)
		return err_new(ERR_UNSUPPORTED, "%s: compression %u", section->name, type);
	return inflate_bytes(in, section, size, max, ret, len);
}

/* What binutils called .zdebug before there was SHF_COMPRESSED: "ZLIB" and a big-endian size. */
static struct err *inflate_old(struct bytes_cursor in, const struct elf_section *section,
	uint64_t max, uint8_t **ret, uint64_t *len)
{
	const uint8_t *magic = bytes_get(&in, 4);
	if (!magic || memcmp(magic, "ZLIB", 4) != 0)
		return err_new(ERR_FORMAT, "%s: not compressed as its name tells", section->name);
	uint64_t size = 0;
	for (int i = 0; i < 8; i++)
		size = size << 8 | bytes_get_u8(&in);
	return inflate_bytes(in, section, size, max, ret, len);
}

struct err *elf_inflate_section(const struct elf_file *file, const struct elf_section *section,
	uint64_t max, uint8_t **ret, uint64_t *len)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	try(check_size(section, section->size, max));
	try(err_wrap(
		elf_file_read(file, section->offset, section->size, &bytes), "%s", section->name));
	if (section->flags & SHF_COMPRESSED) {
		struct bytes_cursor packed = bytes_cursor(bytes, section->size);
		return inflate_section(packed, section, max, ret, len);
	}
	if (strncmp(section->name, ".zdebug_", 8) == 0)
		return inflate_old(bytes_cursor(bytes, section->size), section, max, ret, len);
	*ret = steal_ptr(bytes);
	*len = section->size;
	return NULL;
}

#include "format/elf/elf_inflate.h"

#include <elf.h>
#include <string.h>
/* What widens it, where it was there to build with. */
#if __has_include(<zstd.h>)
#include <zstd.h>
#endif

#include "format/base/bytes.h"
#include "format/base/inflate.h"
#include "format/base/mem.h"

enum {
	COMPRESSION_NONE = 0,
	COMPRESSION_ZSTD = 2, /* ELFCOMPRESS_ZSTD, newer than some <elf.h> */
	/* Nothing grows more: 258 bytes from two bits; a block of 128 KiB from four bytes. */
	DEFLATE_FACTOR = 1032,
	ZSTD_FACTOR = 32768,
};

/* What a section holds, behind the header that says so. */
struct packed {
	struct bytes_cursor bytes;
	uint32_t type;
	uint64_t size; /* unpacked */
};

/* ---- decoders: all of `len` bytes, or false ---- */

static bool unpack_zlib(const struct packed *packed, uint8_t *out)
{
	const struct bytes_cursor *in = &packed->bytes;
	return inflate_zlib(in->pos, bytes_left(in), out, (size_t)packed->size);
}

#if __has_include(<zstd.h>)
static bool elf_inflate_unpack_zstd(const struct packed *packed, uint8_t *out)
{
	const struct bytes_cursor *in = &packed->bytes;
	return ZSTD_decompress(out, (size_t)packed->size, in->pos, bytes_left(in)) == packed->size;
}
#endif

static bool unpack_nothing(const struct packed *packed, uint8_t *out)
{
	memcpy(out, packed->bytes.pos, (size_t)packed->size);
	return true;
}

static const struct {
	uint32_t type, factor;
	bool (*unpack)(const struct packed *packed, uint8_t *out);
} decoders[] = {
	{COMPRESSION_NONE, 1, unpack_nothing},
	{ELFCOMPRESS_ZLIB, DEFLATE_FACTOR, unpack_zlib},
#if __has_include(<zstd.h>)
	{COMPRESSION_ZSTD, ZSTD_FACTOR, elf_inflate_unpack_zstd},
#endif
};

static const size_t nr_decoders = sizeof(decoders) / sizeof(*decoders);

static struct err *damaged(const struct elf_section *section)
{
	return err_new(ERR_FORMAT, "%s: compressed data are damaged", section->name);
}

/* Before there is room for it: a few bytes can claim to be very many. */
static struct err *check_claim(const struct packed *packed, const struct elf_section *section)
{
	for (size_t i = 0; i < nr_decoders; i++)
		if (decoders[i].type == packed->type)
			return packed->size / decoders[i].factor <= bytes_left(&packed->bytes)
				       ? NULL
				       : damaged(section);
	return err_new(ERR_UNSUPPORTED, "%s: compression %u", section->name, packed->type);
}

/* After check_claim(). */
static struct err *elf_inflate_unpack(
	const struct packed *packed, const struct elf_section *section, uint8_t *out)
{
	for (size_t i = 0; i < nr_decoders; i++)
		if (decoders[i].type == packed->type && decoders[i].unpack(packed, out))
			return NULL;
	return damaged(section);
}

/* ---- headers ---- */

static struct err *check_size(const struct elf_section *section, uint64_t size, uint64_t max)
{
	if (size <= max)
		return NULL;
	return err_new(
		ERR_UNSUPPORTED, "%llu bytes of %s", (unsigned long long)size, section->name);
}

static struct err *elf_inflate_read_header(const struct elf_section *section, struct packed *packed)
{
	struct bytes_cursor *in = &packed->bytes;
	packed->type = bytes_get_u32(in);
	bytes_get_u32(in); /* ch_reserved */
	packed->size = bytes_get_u64(in);
	bytes_get_u64(in); /* ch_addralign */
	if (in->overrun)
		return err_new(ERR_FORMAT, "%s: no compression header", section->name);
	if (packed->type == COMPRESSION_NONE)
		return err_new(ERR_UNSUPPORTED, "%s: compression 0", section->name);
	return NULL;
}

/* What binutils called .zdebug before there was SHF_COMPRESSED: "ZLIB" and a big-endian size. */
static struct err *read_old_header(const struct elf_section *section, struct packed *packed)
{
	const uint8_t *magic = bytes_get(&packed->bytes, 4);
	if (!magic || memcmp(magic, "ZLIB", 4) != 0)
		return err_new(ERR_FORMAT, "%s: not compressed as its name tells", section->name);
	packed->type = ELFCOMPRESS_ZLIB;
	packed->size = 0;
	for (int i = 0; i < 8; i++)
		packed->size = packed->size << 8 | bytes_get_u8(&packed->bytes);
	return NULL;
}

static struct err *open_packed(const struct elf_section *section, uint64_t max,
	const uint8_t *bytes, struct packed *packed)
{
	*packed = (struct packed){.bytes = bytes_cursor(bytes, (size_t)section->size),
		.type = COMPRESSION_NONE,
		.size = section->size};
	if (section->flags & SHF_COMPRESSED)
		try(elf_inflate_read_header(section, packed));
	else if (strncmp(section->name, ".zdebug_", 8) == 0)
		try(read_old_header(section, packed));
	try(check_size(section, packed->size, max));
	return check_claim(packed, section);
}

/* ---- sections ---- */

static struct err *unpack_copy(
	const struct packed *packed, const struct elf_section *section, uint8_t **ret)
{
	CLEANUP_FREE uint8_t *unpacked = mem_alloc((size_t)packed->size + 1);
	try(elf_inflate_unpack(packed, section, unpacked));
	unpacked[packed->size] = 0;
	*ret = steal_ptr(unpacked);
	return NULL;
}

struct err *elf_inflate_section(const struct elf_file *file, const struct elf_section *section,
	uint64_t max, uint8_t **ret, uint64_t *len)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	try(check_size(section, section->size, max));
	try(err_wrap(
		elf_file_read(file, section->offset, section->size, &bytes), "%s", section->name));
	struct packed packed;
	try(open_packed(section, max, bytes, &packed));
	if (packed.type == COMPRESSION_NONE)
		*ret = steal_ptr(bytes);
	else
		try(unpack_copy(&packed, section, ret));
	*len = packed.size;
	return NULL;
}

struct err *elf_inflate_bytes(
	const uint8_t *bytes, uint64_t len, uint64_t max, uint8_t **ret, uint64_t *ret_len)
{
	struct elf_section section = {.name = "section", .size = len, .flags = SHF_COMPRESSED};
	struct packed packed;
	try(open_packed(&section, max, bytes, &packed));
	try(unpack_copy(&packed, &section, ret));
	*ret_len = packed.size;
	return NULL;
}

static struct err *elf_inflate_unpack_into(const struct packed *packed,
	const struct elf_section *section, struct elf_budget *budget, struct elf_map *ret)
{
	struct elf_map out;
	uint8_t *room = elf_map_create(packed->size, budget, &out);
	if (!room)
		return err_new(ERR_UNSUPPORTED, "no room for %llu bytes of %s",
			(unsigned long long)packed->size, section->name);
	struct err *err = elf_inflate_unpack(packed, section, room);
	if (err)
		elf_map_release(&out);
	else
		*ret = out;
	return err;
}

struct err *elf_inflate_map(const struct elf_file *file, const struct elf_section *section,
	uint64_t max, struct elf_budget *budget, struct elf_map *ret)
{
	struct elf_map in;
	struct packed packed;
	try(elf_map_range(file, section->offset, section->size, &in));
	struct err *err = open_packed(section, max, in.bytes, &packed);
	if (!err)
		err = elf_inflate_unpack_into(&packed, section, budget, ret);
	elf_map_release(&in);
	return err;
}

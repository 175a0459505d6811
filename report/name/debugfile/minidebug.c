#include "report/name/debugfile/minidebug.h"

#include <lzma.h>

#include "format/base/mem.h"

enum {
	/* A large one, that of a browser, has 10 MB unpacked. */
	PACKED_MAX = 64 << 20,
	UNPACKED_MAX = 256 << 20,
	/* xz -9 needs 65 MiB to unpack. */
	DECODER_BYTES_MAX = 96 << 20,
	FIRST_BYTES = 1 << 18,
};

/* Unpacks into memory that doubles, up to a limit; NULL for damage and for more than that. */
static uint8_t *minidebug_unpack(const uint8_t *packed, size_t packed_len, size_t *len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&stream, DECODER_BYTES_MAX, 0) != LZMA_OK)
		return NULL;
	size_t size = FIRST_BYTES;
	CLEANUP_FREE uint8_t *out = mem_alloc(size);
	stream.next_in = packed;
	stream.avail_in = packed_len;
	lzma_ret status = LZMA_OK;
	for (*len = 0; status == LZMA_OK && *len < UNPACKED_MAX;) {
		if (*len == size)
			out = mem_realloc_array(out, size *= 2, 1);
		stream.next_out = out + *len;
		stream.avail_out = size - *len;
		status = lzma_code(&stream, LZMA_FINISH);
		*len = size - stream.avail_out;
	}
	lzma_end(&stream);
	return status == LZMA_STREAM_END ? steal_ptr(out) : NULL;
}

static bool minidebug_read_image(const uint8_t *image, size_t len, struct elf_symbols *ret)
{
	struct elf_file *elf;
	struct err *err = elf_file_open_memory(image, len, &elf);
	if (!err) {
		err = elf_symbols_read(elf, ret);
		elf_file_destroy(elf);
	}
	bool is_read = !err;
	err_destroy(err);
	return is_read;
}

bool minidebug_read(struct elf_file *elf, struct elf_symbols *ret)
{
	const struct elf_section *section = elf_file_find_section(elf, ".gnu_debugdata");
	if (!section || section->size > PACKED_MAX)
		return false;
	CLEANUP_FREE uint8_t *packed = NULL;
	struct err *err = elf_file_read(elf, section->offset, section->size, &packed);
	if (err) {
		err_destroy(err);
		return false;
	}
	size_t len;
	CLEANUP_FREE uint8_t *image = minidebug_unpack(packed, (size_t)section->size, &len);
	return image && minidebug_read_image(image, len, ret);
}

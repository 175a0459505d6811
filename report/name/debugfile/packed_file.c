#include "report/name/debugfile/packed_file.h"

#include <lzma.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#if __has_include(<zstd.h>)
#include <zstd.h>
#endif

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_scratch.h"

enum {
	/* The largest module (amdgpu) has some 500 MB with all its debug information. */
	UNPACKED_MAX = 1 << 30,
	PACKED_MAX = 256 << 20,
	/* Where it is not said how much it will be. */
	USUAL_RATIO = 16,
	/* xz -9 needs 65 MiB to unpack. */
	DECODER_BYTES_MAX = 96 << 20,
	MAGIC_BYTES = 6,
};

struct span {
	const uint8_t *bytes;
	size_t len;
};

/* ---- formats: how much it will be (0: not said), and unpacking into so much room ---- */

/* As the index at its end says. */
static uint64_t xz_size(struct span in)
{
	enum {
		EDGE = LZMA_STREAM_HEADER_SIZE /* of the footer, too */
	};
	lzma_stream_flags footer;
	if (in.len < 2 * (size_t)EDGE ||
		lzma_stream_footer_decode(&footer, in.bytes + in.len - EDGE) != LZMA_OK ||
		footer.backward_size > in.len - 2 * (size_t)EDGE)
		return 0;
	lzma_index *index = NULL;
	uint64_t memory = DECODER_BYTES_MAX;
	size_t at = 0, index_len = (size_t)footer.backward_size;
	if (lzma_index_buffer_decode(&index, &memory, NULL, in.bytes + in.len - EDGE - index_len,
		    &at, index_len) != LZMA_OK)
		return 0;
	uint64_t size = lzma_index_uncompressed_size(index);
	lzma_index_end(index, NULL);
	return size;
}

static size_t unpack_xz(struct span in, uint8_t *out, size_t room)
{
	uint64_t memory = DECODER_BYTES_MAX;
	size_t taken = 0, done = 0;
	lzma_ret status = lzma_stream_buffer_decode(
		&memory, 0, NULL, in.bytes, &taken, in.len, out, &done, room);
	return status == LZMA_OK ? done : 0;
}

#if __has_include(<zstd.h>)
static uint64_t zstd_size(struct span in)
{
	unsigned long long size = ZSTD_getFrameContentSize(in.bytes, in.len);
	return size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ? 0 : size;
}

static size_t packed_file_unpack_zstd(struct span in, uint8_t *out, size_t room)
{
	size_t done = ZSTD_decompress(out, room, in.bytes, in.len);
	return ZSTD_isError(done) ? 0 : done;
}
#endif

static uint64_t gzip_size(struct span in)
{
	struct bytes_cursor cursor = bytes_cursor(in.bytes + in.len - 4, 4);
	return bytes_get_u32(&cursor);
}

static size_t unpack_gzip(struct span in, uint8_t *out, size_t room)
{
	enum {
		GZIP_WINDOW = 16 + MAX_WBITS /* zlib's way to say that there is a gzip header */
	};
	z_stream stream = {
		.next_in = (uint8_t *)in.bytes, /* only read */
		.avail_in = (uInt)in.len,
		.next_out = out,
		.avail_out = (uInt)room,
	};
	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return 0;
	int status = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	return status == Z_STREAM_END ? (size_t)(stream.next_out - out) : 0;
}

static const struct format {
	size_t magic_len;
	uint8_t magic[MAGIC_BYTES];
	uint64_t (*size)(struct span in);
	size_t (*unpack)(struct span in, uint8_t *out, size_t room); /* 0: damaged */
} formats[] = {
	{6, {0xfd, '7', 'z', 'X', 'Z', 0}, xz_size, unpack_xz},
#if __has_include(<zstd.h>)
	{4, {0x28, 0xb5, 0x2f, 0xfd}, zstd_size, packed_file_unpack_zstd},
#endif
	{3, {0x1f, 0x8b, 8}, gzip_size, unpack_gzip},
};

/* ---- files ---- */

static const struct format *format_of(int fd)
{
	uint8_t first[MAGIC_BYTES];
	if (pread(fd, first, sizeof(first), 0) != sizeof(first))
		return NULL;
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (memcmp(formats[i].magic, first, formats[i].magic_len) == 0)
			return &formats[i];
	return NULL;
}

bool packed_file_is(int fd)
{
	return format_of(fd);
}

static bool packed_file_read_all(int fd, uint8_t *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t got = pread(fd, bytes + done, len - done, (off_t)done);
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static uint64_t room_for(const struct format *format, struct span in)
{
	uint64_t said = format->size(in);
	uint64_t room = said ? said : (uint64_t)in.len * USUAL_RATIO;
	return said || room < UNPACKED_MAX ? room : UNPACKED_MAX;
}

static bool packed_file_unpack_into(
	int fd, const struct format *format, struct span in, size_t room)
{
	uint8_t *out = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (out == MAP_FAILED)
		return false;
	size_t done = format->unpack(in, out, room);
	munmap(out, room);
	return done && !ftruncate(fd, (off_t)done);
}

int packed_file_unpack(int fd, uint64_t len)
{
	const struct format *format = format_of(fd);
	if (!format || len < MAGIC_BYTES || len > PACKED_MAX)
		return -1;
	CLEANUP_FREE uint8_t *bytes = mem_alloc((size_t)len);
	struct span in = {bytes, (size_t)len};
	if (!packed_file_read_all(fd, bytes, in.len)) /* it is being cut short */
		return -1;
	uint64_t room = room_for(format, in);
	if (room > UNPACKED_MAX)
		return -1;
	CLEANUP_FD int unpacked = elf_scratch_open(room);
	return unpacked >= 0 && packed_file_unpack_into(unpacked, format, in, (size_t)room)
		       ? steal_fd(unpacked)
		       : -1;
}

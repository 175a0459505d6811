/* Files that are packed as a whole, packed here; and forged ones. */
#include "report/name/debugfile/packed_file.h"

#include <lzma.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#if __has_include(<zstd.h>)
#include <zstd.h>
#endif

#include "format/base/mem.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

enum {
	PLAIN_BYTES = 300000,
	ROOM = PLAIN_BYTES + 4096,
};

struct packed {
	uint8_t *plain, *bytes;
	size_t len;
};

static struct packed packed_make(void)
{
	struct packed packed = {mem_alloc(PLAIN_BYTES), mem_zalloc(ROOM), 0};
	for (size_t i = 0; i < PLAIN_BYTES; i++) /* some of it repeats, some does not */
		packed.plain[i] = (uint8_t)(i % 1000 < 500 ? i : map_mix(i / 2));
	return packed;
}

static void packed_free(struct packed *packed)
{
	mem_free(packed->plain);
	mem_free(packed->bytes);
}

/* "no format" for other files, "same" when it comes out again, "-" when it is refused. */
static const char *unpack(const struct packed *packed)
{
	CLEANUP_FD int fd = forged_fd(packed->bytes, packed->len);
	if (!packed_file_is(fd))
		return "no format";
	CLEANUP_FD int unpacked = packed_file_unpack(fd, packed->len);
	if (unpacked < 0)
		return "-";
	struct stat st;
	CHECK_INT(fstat(unpacked, &st), 0);
	if (st.st_size != PLAIN_BYTES)
		return "other size";
	CLEANUP_FREE uint8_t *bytes = mem_alloc(PLAIN_BYTES);
	CHECK_INT(pread(unpacked, bytes, PLAIN_BYTES, 0), PLAIN_BYTES);
	return memcmp(bytes, packed->plain, PLAIN_BYTES) == 0 ? "same" : "other bytes";
}

/* Cut short anywhere, and with a bit changed in many places: refused, or else unharmed. */
static void check_damage(struct packed *packed)
{
	size_t whole = packed->len;
	for (size_t i = 1; i <= 32; i++) {
		packed->len = whole * i / 33;
		CHECK_STR(unpack(packed), "-");
	}
	packed->len = whole;
	for (size_t at = 8; at < whole; at += whole / 64) {
		packed->bytes[at] ^= 0x10;
		unpack(packed);
		packed->bytes[at] ^= 0x10;
	}
	CHECK_STR(unpack(packed), "same");
}

static void pack_xz(struct packed *packed)
{
	CHECK_INT(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, packed->plain, PLAIN_BYTES,
			  packed->bytes, &packed->len, ROOM),
		LZMA_OK);
}

TEST(xz_files_are_unpacked)
{
	struct packed packed = packed_make();
	pack_xz(&packed);
	CHECK_STR(unpack(&packed), "same");
	check_damage(&packed);
	packed_free(&packed);
}

static void pack_gzip(struct packed *packed)
{
	z_stream stream = {.next_in = packed->plain,
		.avail_in = PLAIN_BYTES,
		.next_out = packed->bytes,
		.avail_out = ROOM};
	CHECK_INT(
		deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	CHECK_INT(deflate(&stream, Z_FINISH), Z_STREAM_END);
	packed->len = stream.total_out;
	deflateEnd(&stream);
}

TEST(gzip_files_are_unpacked)
{
	struct packed packed = packed_make();
	pack_gzip(&packed);
	CHECK_STR(unpack(&packed), "same");
	check_damage(&packed);
	packed_free(&packed);
}

/* The size at the end is the packer's word. */
TEST(gzip_files_that_lie)
{
	static const uint32_t sizes[] = {1, PLAIN_BYTES - 1, 0x7fffffff, 0xffffffff};
	struct packed packed = packed_make();
	pack_gzip(&packed);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memcpy(packed.bytes + packed.len - 4, &sizes[i], 4);
		CHECK_STR(unpack(&packed), "-");
	}
	packed_free(&packed);
}

#if __has_include(<zstd.h>)
static void pack_zstd(struct packed *packed, int says_size)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	CHECK(!ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, says_size)));
	CHECK(!ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)));
	packed->len = ZSTD_compress2(zstd, packed->bytes, ROOM, packed->plain, PLAIN_BYTES);
	CHECK(!ZSTD_isError(packed->len));
	ZSTD_freeCCtx(zstd);
}

TEST(zstd_files_are_unpacked)
{
	struct packed packed = packed_make();
	pack_zstd(&packed, 1);
	CHECK_STR(unpack(&packed), "same");
	check_damage(&packed);
	pack_zstd(&packed, 0); /* as out of a pipe */
	CHECK_STR(unpack(&packed), "same");
	packed_free(&packed);
}

/* RFC 8878, section 3.1.1.1: a frame of 2^62 bytes. */
TEST(zstd_files_that_are_too_large)
{
	struct packed packed = {NULL, mem_zalloc(64), 64};
	memcpy(packed.bytes, "\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x40", 13);
	CHECK_STR(unpack(&packed), "-");
	packed_free(&packed);
}
#endif

TEST(other_files_are_not_packed)
{
	struct packed packed = {NULL,
		(uint8_t *)mem_strdup("\x7f"
				      "ELF and so on"),
		14};
	CHECK_STR(unpack(&packed), "no format");
	packed.len = 0;
	CHECK_STR(unpack(&packed), "no format");
	packed_free(&packed);
}

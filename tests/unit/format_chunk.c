/* The container: framing, compression, checksums, and the way back after damage. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include "format/base/err.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

/* What a stream of chunks gives: "type/sequence/bytes " for each, and the damage. */
struct read {
	struct str chunks;
	struct chunk_damage damage;
	uint64_t raw_bytes;
};

static struct err *read_fd(int fd, struct read *ret)
{
	struct chunk_stream stream;
	struct err *err = chunk_stream_init(&stream, fd);
	struct chunk chunk;
	for (bool more = true; !err;) {
		err = chunk_stream_next(&stream, &chunk, &more);
		if (err || !more)
			break;
		ret->raw_bytes += chunk.payload_bytes;
		str_printf(
			&ret->chunks, "%u/%u/%u ", chunk.type, chunk.sequence, chunk.payload_bytes);
	}
	ret->damage = stream.damage;
	chunk_stream_deinit(&stream);
	return err;
}

static struct read read_bytes(const struct bytes_buf *file)
{
	struct read read = {0};
	CLEANUP_FD int fd = forged_fd(file->data, file->len);
	CHECK_OK(read_fd(fd, &read));
	return read;
}

/* Reads, compares, and frees. `what` NULL: no damage. */
static void check_reads(struct forged *forged, const char *chunks, const char *what)
{
	struct read read = read_bytes(&forged->file);
	CHECK_STR(str_text(&read.chunks), chunks);
	if (what)
		CHECK_STR(read.damage.what, what);
	else
		CHECK(!read.damage.what && !read.damage.regions && !read.damage.truncated);
	str_deinit(&read.chunks);
	bytes_buf_deinit(&forged->file);
}

static struct bytes_buf payload_of(size_t len, uint8_t byte)
{
	struct bytes_buf payload = {0};
	vec_resize(&payload, len);
	if (len)
		memset(payload.data, byte, len);
	return payload;
}

static void put_filled(struct forged *forged, uint16_t type, size_t len, uint8_t byte)
{
	struct bytes_buf payload = payload_of(len, byte);
	forged_chunk(forged, type, &payload);
}

TEST(header_is_as_the_manual_says)
{
	struct forged forged = forged_begin();
	CHECK_INT(forged.file.len, 16);
	CHECK(memcmp(forged.file.data,
		      "\x89"
		      "EBPROF\n\1\0\11\0\x8f\x6c\x36\x96",
		      16) == 0);
	struct bytes_buf payload = {0};
	bytes_put(&payload, "abc", 3);
	forged_chunk(&forged, 7, &payload);
	CHECK_INT(forged.file.len, 16 + 24 + 3);
	CHECK(memcmp(forged.file.data + 16, "EBCK\7\0\0\0\3\0\0\0\3\0\0\0\0\0\0\0", 20) == 0);
	CHECK(memcmp(forged.file.data + 40, "abc", 3) == 0);
	check_reads(&forged, "7/0/3 ", NULL);
}

TEST(payloads_of_all_sizes_round_trip)
{
	struct forged forged = forged_begin();
	struct str expected = {0};
	const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 300000, LAYOUT_CHUNK_MAX_BYTES / 4};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		str_printf(&expected, "%zu/%zu/%zu ", i + 1, i, sizes[i]);
		put_filled(&forged, (uint16_t)(i + 1), sizes[i], (uint8_t)i);
	}
	CHECK(forged.file.len < 10000); /* compressed */
	check_reads(&forged, str_text(&expected), NULL);
	str_deinit(&expected);
}

TEST(what_does_not_shrink_stays_raw)
{
	struct forged forged = forged_begin();
	struct bytes_buf payload = {0};
	uint64_t random = 1;
	for (int i = 0; i < 5000; i++)
		bytes_put_u8(&payload, (uint8_t)((random = map_mix(random + 1)) >> 13));
	forged_chunk(&forged, 1, &payload);
	CHECK_INT(forged.file.len, 16 + 24 + 5000);
	check_reads(&forged, "1/0/5000 ", NULL);
}

TEST(sync_words_in_payloads_do_not_matter)
{
	struct forged forged = forged_begin();
	for (int i = 0; i < 3; i++) {
		struct bytes_buf payload = {0};
		bytes_put(&payload, "EBCKEBCKEBCK\1\0\0\0EBCK", 20);
		forged_chunk(&forged, 3, &payload);
	}
	check_reads(&forged, "3/0/20 3/1/20 3/2/20 ", NULL);
}

TEST(sync_words_in_a_damaged_payload_are_passed)
{
	struct forged forged = forged_begin();
	struct bytes_buf inner = {0}, payload = {0};
	bytes_put(&inner, "EBCKEBCK\0\0\0\0\0\0\0\0EBCK\377\377\377\377\377\377\377\377", 28);
	bytes_put(&payload, inner.data, inner.len);
	forged_chunk(&forged, 3, &payload);
	forged.file.data[16 + 24] ^= 1;
	forged_chunk(&forged, 4, &inner);
	check_reads(&forged, "4/1/28 ", "bad checksum");
}

/* A chunk within a chunk's payload must not be read, unless the outer one is damaged. */
TEST(nested_chunks_are_payload)
{
	struct forged inner = forged_begin(), outer = forged_begin();
	put_filled(&inner, 5, 10, 1);
	struct bytes_buf payload = {0};
	bytes_put(&payload, inner.file.data + 16, inner.file.len - 16);
	forged_chunk(&outer, 6, &payload);
	check_reads(&outer, "6/0/34 ", NULL);
	bytes_buf_deinit(&inner.file);
}

TEST(unequal_lengths_of_a_raw_chunk)
{
	struct forged forged = forged_begin();
	forged_header(&forged, 1, LAYOUT_ENCODING_RAW, 5, "abcd", 4);
	put_filled(&forged, 2, 3, 0);
	check_reads(&forged, "2/1/3 ", "an uncompressed chunk of two lengths");
}

static void put_zlib(struct forged *forged, size_t real_bytes, uint32_t claimed_bytes)
{
	CLEANUP_FREE uint8_t *zeros = mem_zalloc(real_bytes);
	uLongf stored_bytes = compressBound(real_bytes);
	CLEANUP_FREE uint8_t *stored = mem_alloc(stored_bytes);
	CHECK_INT(compress2(stored, &stored_bytes, zeros, real_bytes, 9), Z_OK);
	forged_header(forged, 1, LAYOUT_ENCODING_ZLIB, claimed_bytes, stored, stored_bytes);
}

TEST(raw_length_must_match)
{
	const struct {
		uint32_t claimed;
		const char *what;
	} cases[] = {
		{999, "a chunk that does not decompress"},
		{1001, "a chunk that does not decompress"},
		{0, "a chunk that does not decompress"},
		{LAYOUT_CHUNK_MAX_BYTES, "an impossible compression ratio"},
		{LAYOUT_CHUNK_MAX_BYTES + 1, "a chunk larger than allowed"},
		{UINT32_MAX, "a chunk larger than allowed"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct forged forged = forged_begin();
		put_zlib(&forged, 1000, cases[i].claimed);
		put_filled(&forged, 2, 3, 0);
		check_reads(&forged, "2/1/3 ", cases[i].what);
	}
}

TEST(zlib_garbage)
{
	struct forged forged = forged_begin();
	forged_header(&forged, 1, LAYOUT_ENCODING_ZLIB, 100, "no zlib stream at all", 21);
	put_filled(&forged, 2, 3, 0);
	check_reads(&forged, "2/1/3 ", "a chunk that does not decompress");
}

/* 16 MiB of zeros in 16 KB, again and again: the whole file may not expand without limit. */
TEST(zlib_bombs_are_limited)
{
	struct forged forged = forged_begin();
	for (int i = 0; i < 4; i++)
		put_zlib(&forged, LAYOUT_CHUNK_MAX_BYTES, LAYOUT_CHUNK_MAX_BYTES);
	struct read read = read_bytes(&forged.file);
	CHECK(read.raw_bytes >= LAYOUT_CHUNK_MAX_BYTES);
	CHECK(read.raw_bytes <= (16ULL << 20) + forged.file.len * 128);
	CHECK_STR(
		read.damage.what, "more uncompressed data than a recording of this size can hold");
	str_deinit(&read.chunks);
	bytes_buf_deinit(&forged.file);
}

TEST(later_encodings_are_unknown_chunks)
{
	struct forged forged = forged_begin();
	forged_header(&forged, 9, 2, 77, "abcd", 4);
	put_filled(&forged, 2, 3, 0);
	check_reads(&forged, "0/0/4 2/1/3 ", NULL);
}

TEST(stored_lengths_past_the_end)
{
	const uint32_t lens[] = {100, LAYOUT_CHUNK_MAX_BYTES, LAYOUT_CHUNK_MAX_BYTES + 1, ~0U};
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		struct forged forged = forged_begin();
		put_filled(&forged, 1, 3, 0);
		for (int byte = 0; byte < 4; byte++) /* the stored and the raw length */
			forged.file.data[16 + 8 + byte] = forged.file.data[16 + 12 + byte] =
				(uint8_t)(lens[i] >> (8 * byte));
		put_filled(&forged, 2, 3, 0);
		check_reads(&forged, "2/1/3 ",
			i < 2 ? "a chunk whose length is wrong" : "a chunk larger than allowed");
	}
}

/* Each claims all the rest; checking each to its end would take the square of the size. */
TEST(many_false_chunks_take_little_time)
{
	struct forged forged = forged_begin();
	while (forged.file.len < 12 << 20) {
		bytes_put(&forged.file, "EBCK\1\0\0\0", 8);
		bytes_put_u32(&forged.file, 8 << 20);
		bytes_put_u32(&forged.file, 8 << 20);
		bytes_put_u64(&forged.file, 0);
	}
	put_filled(&forged, 2, 3, 0);
	clock_t start = clock();
	struct read read = read_bytes(&forged.file);
	CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 3); /* hours without the limit */
	CHECK_STR(str_text(&read.chunks), "2/0/3 ");
	str_deinit(&read.chunks);
	bytes_buf_deinit(&forged.file);
}

/* ---- what is no recording ---- */

static void check_refused(const void *bytes, size_t len, int code, const char *part)
{
	struct read read = {0};
	CLEANUP_FD int fd = forged_fd(bytes, len);
	CHECK_ERR(read_fd(fd, &read), code, part);
	str_deinit(&read.chunks);
}

TEST(foreign_files_are_refused)
{
	check_refused("", 0, ERR_FORMAT, "empty");
	check_refused("\x7f"
		      "ELF\2\1\1\0\0\0\0\0\0\0\0\0\0\0",
		18, ERR_FORMAT, "not an ebprof recording");
	check_refused("x", 1, ERR_FORMAT, "not an ebprof recording");
	check_refused("PERFILE2................", 24, ERR_FORMAT, "not an ebprof recording");
	struct forged forged = forged_begin();
	for (size_t len = 1; len < 16; len++)
		check_refused(forged.file.data, len, ERR_FORMAT, "cut inside the file header");
	bytes_buf_deinit(&forged.file);
}

static struct bytes_buf versioned(unsigned major, unsigned minor)
{
	struct bytes_buf header = {0};
	bytes_put(&header, LAYOUT_MAGIC, LAYOUT_MAGIC_BYTES);
	bytes_put_u16(&header, (uint16_t)major);
	bytes_put_u16(&header, (uint16_t)minor);
	bytes_put_u32(&header, (uint32_t)crc32(0, header.data, 12));
	return header;
}

TEST(newer_major_is_refused_newer_minor_is_not)
{
	struct bytes_buf header = versioned(2, 0);
	check_refused(header.data, header.len, ERR_UNSUPPORTED, "format version 2");
	bytes_buf_deinit(&header);
	struct forged forged = {.file = versioned(1, 99)};
	put_filled(&forged, 2, 3, 0);
	check_reads(&forged, "2/0/3 ", NULL);
}

TEST(damaged_header_is_named_and_passed)
{
	for (int byte = 8; byte < 16; byte++) {
		struct forged forged = forged_begin();
		put_filled(&forged, 2, 3, 0);
		forged.file.data[byte] ^= 0x40;
		check_reads(&forged, "2/0/3 ", "bad checksum of the file header");
	}
}

TEST(directory_is_an_error)
{
	CLEANUP_FD int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct read read = {0};
	CHECK_ERR(read_fd(fd, &read), ERR_IO, strerror(EISDIR));
	str_deinit(&read.chunks);
}

/* A pipe that gives a byte or two at a time. */
TEST(pipe_will_do)
{
	struct forged forged = forged_begin();
	put_filled(&forged, 1, 3, 0);
	put_filled(&forged, 2, 500, 7);
	int ends[2];
	CHECK_INT(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		for (size_t i = 0; i < forged.file.len; i += 2)
			if (write(ends[1], forged.file.data + i, forged.file.len - i < 2 ? 1 : 2) <
				1)
				_exit(1);
		_exit(0);
	}
	close(ends[1]);
	struct read read = {0};
	CHECK_OK(read_fd(ends[0], &read));
	CHECK_STR(str_text(&read.chunks), "1/0/3 2/1/500 ");
	CHECK(!read.damage.what && !read.damage.truncated);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	str_deinit(&read.chunks);
	bytes_buf_deinit(&forged.file);
}

/* Large recordings pass through the window in pieces. */
TEST(many_chunks_of_odd_sizes)
{
	struct forged forged = forged_begin();
	struct str expected = {0};
	uint64_t random = 7;
	while (forged.file.len < 3 << 20) {
		random = map_mix(random + 1);
		struct bytes_buf payload = {0};
		for (size_t i = 0; i < random % 40000; i++)
			bytes_put_u8(&payload, (uint8_t)map_mix(i ^ random));
		str_printf(&expected, "8/%u/%zu ", forged.sequence, payload.len);
		forged_chunk(&forged, 8, &payload);
	}
	check_reads(&forged, str_text(&expected), NULL);
	str_deinit(&expected);
}

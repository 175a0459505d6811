#include "format/file/chunk.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "format/base/fd.h"
#include "format/base/inflate.h"

enum {
	SMALLEST_COMPRESSED_BYTES = 64,
	LEVEL = 6,
	/* In small chunks there is little to find: 0.75 of the time, 1.01 of the space. */
	LEVEL_OF_SMALL = 3,
	SMALL_BYTES = 16 * 1024,
	/*
	 * A recorder that keeps a stack with every sample has little time for each: on stacks of
	 * programs at large, level 1 takes 0.4 of level 6's time and 1.15 of its space.
	 */
	LEVEL_OF_SNAPSHOTS = 1,
	/* So much on compiled code comes at the end, from hostile files: a third of the time. */
	LEVEL_OF_MUCH_CODE = 1,
	MUCH_CODE_BYTES = 256 * 1024,
	READ_BYTES = 256 * 1024,
	SEARCH_BYTES = 4096,
	/* Deflate cannot shrink further than 1:1032; a payload that claims more lies. */
	MAX_RATIO = 1032,
	/* A whole recording may expand to this much, and to so many times its size. */
	TOTAL_RAW_FLOOR = 16 << 20,
	TOTAL_RAW_RATIO = 128,
	/*
	 * A false sync word costs a checksum over the length that it claims. So much of that may
	 * be in vain; else a file full of them would take the square of its size.
	 */
	WASTED_FLOOR = 32 << 20,
	WASTED_RATIO = 4,
};

static uint32_t header_crc(const uint8_t *header, const uint8_t *payload, size_t payload_bytes)
{
	uLong crc = crc32(0, header + 4, 16);
	return (uint32_t)crc32_z(crc, payload, payload_bytes);
}

void chunk_put_file_header(struct bytes_buf *out)
{
	size_t start = out->len;
	bytes_put(out, LAYOUT_MAGIC, LAYOUT_MAGIC_BYTES);
	bytes_put_u16(out, LAYOUT_VERSION_MAJOR);
	bytes_put_u16(out, LAYOUT_VERSION_MINOR);
	bytes_put_u32(out, (uint32_t)crc32(0, out->data + start, 12));
}

static void put_le32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

/*
 * As compress2(), but with a window and tables no larger than the payload can use: a recorder
 * writes many small chunks, and to clear a quarter of a MiB for each takes longer than the rest.
 */
static bool deflate_zlib(
	const uint8_t *payload, size_t payload_bytes, int level, uint8_t *out, size_t *out_bytes)
{
	enum {
		MIN_WINDOW_BITS = 9,
		MEMORY_BELOW_WINDOW = 7, /* as zlib's defaults are, 15 and 8: as many hashes */
	};
	int bits = MIN_WINDOW_BITS;
	while (bits < MAX_WBITS && (size_t)1 << bits < payload_bytes)
		bits++;
	z_stream stream = {.next_in = (uint8_t *)payload}; /* input is only read */
	if (payload_bytes > UINT32_MAX || *out_bytes > UINT32_MAX ||
		deflateInit2(&stream, level, Z_DEFLATED, bits, bits - MEMORY_BELOW_WINDOW,
			Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	stream.avail_in = (uInt)payload_bytes;
	stream.next_out = out;
	stream.avail_out = (uInt)*out_bytes;
	int status = deflate(&stream, Z_FINISH);
	*out_bytes = stream.total_out;
	deflateEnd(&stream);
	return status == Z_STREAM_END;
}

static int chunk_level_of(uint16_t type, size_t payload_bytes)
{
	if (type == LAYOUT_CHUNK_SNAPSHOTS)
		return LEVEL_OF_SNAPSHOTS;
	if (type == LAYOUT_CHUNK_CODE && payload_bytes > MUCH_CODE_BYTES)
		return LEVEL_OF_MUCH_CODE;
	return payload_bytes < SMALL_BYTES ? LEVEL_OF_SMALL : LEVEL;
}

void chunk_put(struct bytes_buf *out, uint16_t type, uint32_t sequence, const void *payload,
	size_t payload_bytes)
{
	size_t start = out->len;
	size_t stored_bytes = payload_bytes; /* if it takes more, it is not worth it */
	vec_reserve(out, LAYOUT_CHUNK_HEADER_BYTES + stored_bytes);
	uint8_t *stored = out->data + start + LAYOUT_CHUNK_HEADER_BYTES;
	int level = chunk_level_of(type, payload_bytes);
	bool compressed = payload_bytes >= SMALLEST_COMPRESSED_BYTES &&
			  deflate_zlib(payload, payload_bytes, level, stored, &stored_bytes) &&
			  stored_bytes < payload_bytes;
	if (!compressed) {
		stored_bytes = payload_bytes;
		if (payload_bytes)
			memcpy(stored, payload, payload_bytes);
	}
	bytes_put_u32(out, LAYOUT_CHUNK_SYNC);
	bytes_put_u16(out, type);
	bytes_put_u16(out, compressed ? LAYOUT_ENCODING_ZLIB : LAYOUT_ENCODING_RAW);
	bytes_put_u32(out, (uint32_t)stored_bytes);
	bytes_put_u32(out, (uint32_t)payload_bytes);
	bytes_put_u32(out, sequence);
	bytes_put_u32(out, 0);
	put_le32(out->data + start + 20, header_crc(out->data + start, stored, stored_bytes));
	out->len += stored_bytes;
}

/* ---- reading ---- */

/* Makes at least `need` unread bytes available, or as many as there are. */
static struct err *chunk_fill(struct chunk_stream *stream, size_t need)
{
	if (stream->pos > READ_BYTES) { /* drop what was read */
		memmove(stream->window.data, stream->window.data + stream->pos,
			stream->window.len - stream->pos);
		stream->window.len -= stream->pos;
		stream->window_offset += stream->pos;
		stream->pos = 0;
	}
	while (!stream->at_end && stream->window.len - stream->pos < need) {
		vec_reserve(&stream->window, READ_BYTES);
		ssize_t got =
			fd_read(stream->fd, stream->window.data + stream->window.len, READ_BYTES);
		if (got < 0)
			return err_sys(errno, "offset %llu: cannot read",
				(unsigned long long)(stream->window_offset + stream->window.len));
		stream->at_end = got == 0;
		stream->window.len += (size_t)got;
	}
	return NULL;
}

static size_t unread(const struct chunk_stream *stream)
{
	return stream->window.len - stream->pos;
}

static uint64_t here(const struct chunk_stream *stream)
{
	return stream->window_offset + stream->pos;
}

struct err *chunk_stream_init(struct chunk_stream *stream, int fd)
{
	*stream = (struct chunk_stream){.fd = fd};
	try(chunk_fill(stream, LAYOUT_HEADER_BYTES));
	size_t len = unread(stream);
	if (!len)
		return err_new(ERR_FORMAT, "the file is empty");
	size_t compared = len < LAYOUT_MAGIC_BYTES ? len : LAYOUT_MAGIC_BYTES;
	if (memcmp(stream->window.data, LAYOUT_MAGIC, compared) != 0)
		return err_new(ERR_FORMAT, "not an ebprof recording");
	if (len < LAYOUT_HEADER_BYTES)
		return err_new(ERR_FORMAT, "cut inside the file header: no sample was written");
	struct bytes_cursor cursor = bytes_cursor(stream->window.data, LAYOUT_HEADER_BYTES);
	bytes_get(&cursor, LAYOUT_MAGIC_BYTES);
	unsigned major = bytes_get_u16(&cursor);
	bytes_get_u16(&cursor);
	if (bytes_get_u32(&cursor) != crc32(0, stream->window.data, 12)) {
		/* The rest may be whole: go on as this version and say so. */
		stream->damage.regions = 1;
		stream->damage.what = "bad checksum of the file header";
	} else if (major != LAYOUT_VERSION_MAJOR) {
		return err_new(ERR_UNSUPPORTED,
			"format version %u: this ebprof reads version %d; use a newer one", major,
			LAYOUT_VERSION_MAJOR);
	}
	stream->pos = LAYOUT_HEADER_BYTES;
	return NULL;
}

struct header {
	uint16_t type, encoding;
	uint32_t stored_bytes, raw_bytes, sequence, crc;
};

/* NULL when the header at the window's position is sound, else what is wrong. */
static const char *chunk_parse_header(const struct chunk_stream *stream, struct header *ret)
{
	struct bytes_cursor cursor =
		bytes_cursor(stream->window.data + stream->pos, LAYOUT_CHUNK_HEADER_BYTES);
	if (bytes_get_u32(&cursor) != LAYOUT_CHUNK_SYNC)
		return "no chunk where one should begin";
	ret->type = bytes_get_u16(&cursor);
	ret->encoding = bytes_get_u16(&cursor);
	ret->stored_bytes = bytes_get_u32(&cursor);
	ret->raw_bytes = bytes_get_u32(&cursor);
	ret->sequence = bytes_get_u32(&cursor);
	ret->crc = bytes_get_u32(&cursor);
	if (ret->stored_bytes > LAYOUT_CHUNK_MAX_BYTES || ret->raw_bytes > LAYOUT_CHUNK_MAX_BYTES)
		return "a chunk larger than allowed";
	if (ret->encoding == LAYOUT_ENCODING_RAW && ret->raw_bytes != ret->stored_bytes)
		return "an uncompressed chunk of two lengths";
	if (ret->encoding == LAYOUT_ENCODING_ZLIB && ret->raw_bytes / MAX_RATIO > ret->stored_bytes)
		return "an impossible compression ratio";
	return NULL;
}

static const char *chunk_unpack(struct chunk_stream *stream, const struct header *header,
	const uint8_t *stored, struct chunk *ret)
{
	ret->payload = stored;
	ret->payload_bytes = header->raw_bytes;
	uint64_t limit = TOTAL_RAW_FLOOR + here(stream) * TOTAL_RAW_RATIO;
	stream->raw_total += header->raw_bytes;
	if (stream->raw_total > limit)
		return "more uncompressed data than a recording of this size can hold";
	if (header->encoding == LAYOUT_ENCODING_RAW)
		return NULL;
	stream->raw.len = 0;
	vec_reserve(&stream->raw, header->raw_bytes + 1);
	if (!inflate_zlib(stored, header->stored_bytes, stream->raw.data, header->raw_bytes))
		return "a chunk that does not decompress";
	ret->payload = stream->raw.data;
	return NULL;
}

static const char ends_inside_chunk[] = "the file ends inside a chunk";

/* Reads the chunk at the position; on success the position is behind it. */
static struct err *read_here(struct chunk_stream *stream, struct chunk *ret, const char **fault)
{
	struct header header;
	*fault = chunk_parse_header(stream, &header);
	if (*fault)
		return NULL;
	size_t total = LAYOUT_CHUNK_HEADER_BYTES + (size_t)header.stored_bytes;
	try(chunk_fill(stream, total));
	if (unread(stream) < total) {
		*fault = ends_inside_chunk;
		return NULL;
	}
	const uint8_t *start = stream->window.data + stream->pos;
	const uint8_t *stored = start + LAYOUT_CHUNK_HEADER_BYTES;
	if (stream->wasted_bytes + total > WASTED_FLOOR + here(stream) * WASTED_RATIO) {
		*fault = "more broken chunks than are worth a checksum";
		return NULL;
	}
	if (header_crc(start, stored, header.stored_bytes) != header.crc) {
		stream->wasted_bytes += total;
		*fault = "bad checksum";
		return NULL;
	}
	if (header.encoding >
		LAYOUT_ENCODING_ZLIB) { /* of a later version: whole, but not for us */
		header.type = 0;
		header.encoding = LAYOUT_ENCODING_RAW;
		header.raw_bytes = header.stored_bytes;
	}
	ret->type = header.type;
	ret->sequence = header.sequence;
	ret->offset = here(stream);
	*fault = chunk_unpack(stream, &header, stored, ret);
	if (!*fault)
		stream->pos += total;
	return NULL;
}

/* Moves to the next sync word behind the position, or to the end. */
static struct err *seek_sync(struct chunk_stream *stream)
{
	static const uint8_t sync[4] = {'E', 'B', 'C', 'K'};
	stream->pos++;
	for (;;) {
		try(chunk_fill(stream, LAYOUT_CHUNK_HEADER_BYTES));
		size_t len = unread(stream);
		if (len > SEARCH_BYTES) /* memmem() as sanitizers have it looks at all of it */
			len = SEARCH_BYTES;
		const uint8_t *start = stream->window.data + stream->pos;
		const uint8_t *found = len ? memmem(start, len, sync, sizeof(sync)) : NULL;
		if (found) {
			stream->pos += (size_t)(found - start);
			return NULL;
		}
		if (stream->at_end && len == unread(stream)) {
			stream->pos = stream->window.len;
			return NULL;
		}
		stream->pos += len - 3; /* a sync word may straddle the window's end */
	}
}

static void note_damage(struct chunk_stream *stream, uint64_t from, uint64_t to, const char *fault)
{
	struct chunk_damage *damage = &stream->damage;
	if (fault == ends_inside_chunk) /* but it goes on: the length is what lied */
		fault = "a chunk whose length is wrong";
	if (!damage->what) {
		damage->what = fault;
		damage->first_offset = from;
	}
	damage->regions++;
	damage->bytes += to - from;
}

/* Bytes at the end that are no chunk are what was being written when the recorder died. */
static void note_tail(struct chunk_stream *stream, uint64_t from, const char *fault)
{
	stream->pos = stream->window.len;
	if (here(stream) == from)
		return;
	if (!fault || fault == ends_inside_chunk) {
		stream->damage.truncated = true;
		stream->damage.cut_offset = from;
	} else {
		note_damage(stream, from, here(stream), fault);
	}
}

struct err *chunk_stream_next(struct chunk_stream *stream, struct chunk *ret, bool *more)
{
	*more = false;
	uint64_t bad_from = 0;
	const char *first_fault = NULL;
	for (;;) {
		try(chunk_fill(stream, LAYOUT_CHUNK_HEADER_BYTES));
		if (unread(stream) < LAYOUT_CHUNK_HEADER_BYTES)
			break;
		const char *fault;
		uint64_t tried = here(stream);
		try(read_here(stream, ret, &fault));
		if (!fault) {
			if (first_fault)
				note_damage(stream, bad_from, ret->offset, first_fault);
			*more = true;
			return NULL;
		}
		if (!first_fault) {
			first_fault = fault;
			bad_from = tried;
		}
		try(seek_sync(stream));
	}
	note_tail(stream, first_fault ? bad_from : here(stream), first_fault);
	return NULL;
}

void chunk_stream_deinit(struct chunk_stream *stream)
{
	bytes_buf_deinit(&stream->window);
	bytes_buf_deinit(&stream->raw);
}

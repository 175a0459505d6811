/* Chunks that another thread reads ahead: the same, in order, to the same end. */
#include "format/file/chunk_ahead.h"

#include "format/base/err.h"
#include "format/base/mem.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

enum {
	CHUNKS = 50, /* many more than are held */
};

/* Long ones, which are packed, and short ones, which are not, of a byte each. */
static uint32_t bytes_of(uint32_t index)
{
	return index % 3 ? 5 + index : 3000 + index;
}

static void put_chunks(struct forged *forged)
{
	for (uint32_t i = 0; i < CHUNKS; i++) {
		struct bytes_buf payload = {0};
		vec_resize(&payload, bytes_of(i));
		memset(payload.data, (int)i, payload.len);
		forged_chunk(forged, LAYOUT_CHUNK_SAMPLES, &payload);
	}
}

static void want_chunk(struct chunk_ahead *ahead, uint32_t index)
{
	struct chunk chunk;
	uint64_t offset = 0;
	bool more = false;
	CHECK_OK(chunk_ahead_next(ahead, &chunk, &offset, &more));
	CHECK(more);
	CHECK_INT(chunk.sequence, index);
	CHECK_INT(chunk.payload_bytes, bytes_of(index));
	CHECK_INT(chunk.payload[0], index);
	CHECK_INT(chunk.payload[chunk.payload_bytes - 1], index);
	CHECK(offset > chunk.offset);
}

TEST(chunks_that_are_read_ahead_are_the_same)
{
	struct forged forged = forged_begin();
	put_chunks(&forged);
	forged.file.len -= 1; /* the last one is cut */
	CLEANUP_FD int fd = forged_fd(forged.file.data, forged.file.len);
	struct chunk_ahead *ahead;
	CHECK_OK(chunk_ahead_create(fd, true, &ahead));
	for (uint32_t i = 0; i < CHUNKS - 1; i++)
		want_chunk(ahead, i);
	struct chunk chunk;
	struct chunk_damage damage;
	uint64_t offset, file_bytes;
	bool more = true;
	CHECK_OK(chunk_ahead_next(ahead, &chunk, &offset, &more));
	CHECK(!more);
	chunk_ahead_end(ahead, &file_bytes, &damage);
	CHECK(damage.truncated);
	CHECK_INT(file_bytes, forged.file.len);
	chunk_ahead_destroy(ahead);
	bytes_buf_deinit(&forged.file);
}

TEST(chunks_that_are_read_ahead_may_be_left)
{
	struct forged forged = forged_begin();
	put_chunks(&forged);
	CLEANUP_FD int fd = forged_fd(forged.file.data, forged.file.len);
	for (uint32_t taken = 0; taken < 8; taken++) {
		struct chunk_ahead *ahead;
		CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
		CHECK_OK(chunk_ahead_create(fd, true, &ahead));
		for (uint32_t i = 0; i < taken; i++)
			want_chunk(ahead, i);
		chunk_ahead_destroy(ahead);
	}
	bytes_buf_deinit(&forged.file);
}

TEST(chunks_of_no_recording_are_refused)
{
	CLEANUP_FD int fd = forged_fd((const uint8_t *)"something else", 14);
	struct chunk_ahead *ahead = NULL;
	CHECK_ERR(chunk_ahead_create(fd, true, &ahead), ERR_FORMAT, "not an ebprof recording");
	CHECK(!ahead);
}

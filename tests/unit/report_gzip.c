#include "report/write/export/gzip.h"

#include <string.h>
#include <zlib.h>

#include "format/base/bytes.h"
#include "tests/unit/unit.h"

enum {
	SEVERAL_BATCHES = 5 * 1000 * 1000
};

struct sink {
	struct bytes_buf out;
	size_t limit; /* what it takes before it fails; 0: all */
};

static struct err *take(void *context, const void *bytes, size_t len)
{
	struct sink *sink = context;
	if (sink->limit && sink->out.len + len > sink->limit)
		return err_new(ERR_IO, "the disk is full");
	bytes_put(&sink->out, bytes, len);
	return NULL;
}

static void fill(struct bytes_buf *plain, size_t len)
{
	uint64_t state = 1;
	while (plain->len < len) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		bytes_put_u32(plain, (uint32_t)(state >> 60));
	}
	plain->len = len;
}

static struct err *compress_in_pieces(
	struct sink *sink, const struct bytes_buf *plain, size_t piece)
{
	struct gzip *gzip = gzip_create((struct byte_sink){take, sink});
	struct err *err = NULL;
	for (size_t at = 0; at < plain->len && !err; at += piece)
		err = gzip_write(
			gzip, plain->data + at, plain->len - at < piece ? plain->len - at : piece);
	if (!err)
		err = gzip_finish(gzip);
	gzip_destroy(gzip);
	return err;
}

static void check_inflates(const struct bytes_buf *gzipped, const struct bytes_buf *plain)
{
	struct bytes_buf out = {0};
	vec_resize(&out, plain->len + 1);
	z_stream stream = {
		.next_in = gzipped->data,
		.avail_in = (unsigned)gzipped->len,
		.next_out = out.data,
		.avail_out = (unsigned)out.len,
	};
	CHECK_INT(inflateInit2(&stream, 15 + 16), Z_OK);
	CHECK_INT(inflate(&stream, Z_FINISH), Z_STREAM_END);
	CHECK_INT(stream.total_out, plain->len);
	CHECK_INT(stream.avail_in, 0);
	CHECK(!plain->len || memcmp(out.data, plain->data, plain->len) == 0);
	inflateEnd(&stream);
	bytes_buf_deinit(&out);
}

TEST(gzip_gives_back_what_it_took)
{
	static const size_t lens[] = {0, 1, 100000, 1 << 20, (1 << 20) + 1, SEVERAL_BATCHES};
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		struct bytes_buf plain = {0};
		struct sink sink = {0};
		fill(&plain, lens[i]);
		CHECK_OK(compress_in_pieces(&sink, &plain, 70000));
		check_inflates(&sink.out, &plain);
		bytes_buf_deinit(&plain);
		bytes_buf_deinit(&sink.out);
	}
}

TEST(gzip_is_the_same_however_it_comes)
{
	struct bytes_buf plain = {0};
	struct sink whole = {0}, pieces = {0};
	fill(&plain, SEVERAL_BATCHES);
	CHECK_OK(compress_in_pieces(&whole, &plain, plain.len));
	CHECK_OK(compress_in_pieces(&pieces, &plain, 777));
	CHECK_INT(pieces.out.len, whole.out.len);
	CHECK(memcmp(pieces.out.data, whole.out.data, whole.out.len) == 0);
	bytes_buf_deinit(&plain);
	bytes_buf_deinit(&whole.out);
	bytes_buf_deinit(&pieces.out);
}

/* Wherever the output ends, in the thread or behind it, the writer learns of it. */
TEST(gzip_says_that_its_sink_failed)
{
	struct bytes_buf plain = {0};
	struct sink all = {0};
	fill(&plain, SEVERAL_BATCHES);
	CHECK_OK(compress_in_pieces(&all, &plain, 70000));
	for (size_t limit = 1; limit < all.out.len; limit += all.out.len / 7) {
		struct sink sink = {.limit = limit};
		struct err *err = compress_in_pieces(&sink, &plain, 70000);
		CHECK(err && strcmp(err_message(err), "the disk is full") == 0);
		err_destroy(err);
		bytes_buf_deinit(&sink.out);
	}
	bytes_buf_deinit(&plain);
	bytes_buf_deinit(&all.out);
}

#include "format/file/sample_decoder.h"

#include "format/base/mem.h"
#include "tests/unit/unit.h"

enum {
	EVENT = 3,
	UNIT_NS = 10,
	FIRST = 100, /* time */
};

static void put_column(struct bytes_buf *out, unsigned column, const struct bytes_buf *values)
{
	bytes_put_varint(out, column);
	bytes_put_blob(out, values->data, values->len);
}

/* Each sample a unit after the one ahead of it, on the CPU of its number; one of them on `cpu`. */
static struct bytes_buf chunk_of(uint64_t count, uint64_t claimed, uint64_t odd, uint64_t cpu)
{
	struct bytes_buf out = {0}, times = {0}, cpus = {0};
	for (uint64_t i = 0; i < count; i++) {
		bytes_put_zigzag(&times, 1);
		bytes_put_varint(&cpus, i == odd ? cpu : i % 8);
	}
	bytes_put_varint(&out, EVENT);
	bytes_put_varint(&out, claimed);
	bytes_put_varint(&out, FIRST);
	bytes_put_varint(&out, UNIT_NS);
	put_column(&out, LAYOUT_COLUMN_TIME, &times);
	put_column(&out, LAYOUT_COLUMN_CPU, &cpus);
	bytes_buf_deinit(&times);
	bytes_buf_deinit(&cpus);
	return out;
}

TEST(samples_are_taken_piece_by_piece)
{
	struct bytes_buf chunk = chunk_of(10, 10, UINT64_MAX, 0);
	struct bytes_cursor cursor = bytes_cursor(chunk.data, chunk.len);
	struct sample_decoder decoder;
	CHECK(!sample_decoder_init(&decoder, &cursor));
	struct layout_sample some[4];
	uint64_t at = 0;
	while (decoder.left) {
		size_t count;
		CHECK(!sample_decoder_take(&decoder, some, 4, &count));
		for (size_t i = 0; i < count; i++, at++) {
			CHECK_INT(some[i].event, EVENT);
			CHECK_INT(some[i].time_ns, (FIRST + at + 1) * UNIT_NS);
			CHECK_INT(some[i].cpu, at % 8);
			CHECK_INT(some[i].weight, 1);
		}
	}
	CHECK_INT(at, 10);
	bytes_buf_deinit(&chunk);
}

TEST(samples_ahead_of_a_fault_are_decoded)
{
	struct bytes_buf chunk = chunk_of(10, 10, 6, LAYOUT_MAX_CPUS);
	struct decoded_samples samples = {0};
	decoded_samples_fill(&samples, chunk.data, chunk.len);
	CHECK(samples.is_decoded);
	CHECK_INT(samples.len, 6);
	CHECK_STR(samples.fault, FAULT_CPU);
	bytes_buf_deinit(&chunk);
	/* The next chunk has none of that. */
	chunk = chunk_of(3, 3, UINT64_MAX, 0);
	decoded_samples_fill(&samples, chunk.data, chunk.len);
	CHECK(samples.is_decoded);
	CHECK_INT(samples.len, 3);
	CHECK(!samples.fault);
	mem_free(samples.data);
	bytes_buf_deinit(&chunk);
}

TEST(more_samples_than_their_chunk_has_times_are_none)
{
	struct bytes_buf chunk = chunk_of(10, 11, UINT64_MAX, 0);
	struct bytes_cursor cursor = bytes_cursor(chunk.data, chunk.len);
	struct sample_decoder decoder;
	CHECK_STR(sample_decoder_init(&decoder, &cursor), "more samples than times");
	struct decoded_samples samples = {0};
	decoded_samples_fill(&samples, chunk.data, chunk.len);
	CHECK(!samples.is_decoded);
	CHECK(!samples.data);
	bytes_buf_deinit(&chunk);
}

TEST(very_many_samples_are_left_to_be_taken)
{
	struct bytes_buf chunk = chunk_of(100000, 100000, UINT64_MAX, 0);
	struct decoded_samples samples = {0};
	decoded_samples_fill(&samples, chunk.data, chunk.len);
	CHECK(!samples.is_decoded);
	CHECK(!samples.data);
	bytes_buf_deinit(&chunk);
}

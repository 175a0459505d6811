/* Recordings that were cut, bent or forged: what is sound is read, what is not is told. */
#include <errno.h>
#include <stdio.h>

#include "format/base/err.h"
#include "tests/unit/recording_log.h"
#include "tests/unit/unit.h"

/* ---- truncation and damage ---- */

/* A small recording, where its chunks begin, and the log as it stands before each of them. */
struct specimen {
	struct bytes_buf file;
	struct str log;
	struct specimen_chunk {
		size_t offset, log_len;
	} chunks[64];
	size_t nr_chunks; /* chunks[nr_chunks] is the end */
};

static struct specimen specimen_create(void)
{
	struct specimen it = {0};
	struct reader_result result;
	forged_small(&it.file);
	for (size_t at = 16; at <= it.file.len;) {
		CHECK_OK(log_read(it.file.data, at, &it.log, &result));
		it.chunks[it.nr_chunks] = (struct specimen_chunk){at, it.log.len};
		if (at == it.file.len)
			break;
		const uint8_t *len = it.file.data + at + 8;
		at += 24 + len[0] + 256U * len[1];
		it.nr_chunks++;
	}
	CHECK(it.nr_chunks > 15);
	CHECK(result.ended);
	return it;
}

static void specimen_destroy(struct specimen *it)
{
	str_deinit(&it->log);
	bytes_buf_deinit(&it->file);
}

/* The log without what the chunks [from, to) hold. */
static struct str log_without(const struct specimen *it, size_t from, size_t to)
{
	struct str log = {0};
	str_write(&log, it->log.data, it->chunks[from].log_len);
	str_puts(&log, it->log.data + it->chunks[to].log_len);
	return log;
}

static size_t chunk_at(const struct specimen *it, size_t offset)
{
	size_t chunk = 0;
	while (chunk < it->nr_chunks && it->chunks[chunk + 1].offset <= offset)
		chunk++;
	return chunk;
}

TEST(truncated_at_every_byte)
{
	struct specimen it = specimen_create();
	struct str log = {0};
	for (size_t len = 16; len <= it.file.len; len++) {
		struct reader_result result;
		CHECK_OK(log_read(it.file.data, len, &log, &result));
		const struct specimen_chunk *last = &it.chunks[chunk_at(&it, len)];
		CHECK_INT(log.len, last->log_len);
		CHECK(strncmp(str_text(&log), it.log.data, log.len) == 0);
		CHECK_INT(result.ended, len == it.file.len);
		CHECK_INT(result.damage.truncated, len != last->offset);
		if (result.damage.truncated)
			CHECK_INT(result.damage.cut_offset, last->offset);
		CHECK(!result.damage.what && !result.bad_chunks && !result.missing_chunks);
	}
	str_deinit(&log);
	specimen_destroy(&it);
}

static void check_bent(const struct specimen *it, size_t byte, const struct reader_result *result,
	const struct str *log)
{
	if (byte < 16) {
		CHECK_STR(str_text(log), it->log.data);
		CHECK_STR(result->damage.what, "bad checksum of the file header");
		return;
	}
	size_t bent = chunk_at(it, byte);
	struct str expected = log_without(it, bent, bent + 1);
	CHECK_STR(str_text(log), expected.data);
	str_deinit(&expected);
	CHECK_INT(result->ended, bent != it->nr_chunks - 1);
	if (result->damage.truncated) { /* the last one's length grew */
		CHECK_INT(bent, it->nr_chunks - 1);
		CHECK_INT(result->damage.cut_offset, it->chunks[bent].offset);
		return;
	}
	CHECK(result->damage.what);
	CHECK_INT(result->damage.regions, 1);
	CHECK_INT(result->damage.first_offset, it->chunks[bent].offset);
	CHECK_INT(result->damage.bytes, it->chunks[bent + 1].offset - it->chunks[bent].offset);
	CHECK_INT(result->missing_chunks, bent != it->nr_chunks - 1);
}

TEST(every_bit_flipped)
{
	struct specimen it = specimen_create();
	struct str log = {0};
	for (size_t bit = 0; bit < it.file.len * 8; bit++) {
		struct reader_result result;
		it.file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		struct err *err = log_read(it.file.data, it.file.len, &log, &result);
		it.file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK_INT(err != NULL, bit / 8 < 8); /* in the magic: it could be anything */
		if (!err)
			check_bent(&it, bit / 8, &result, &log);
		err_destroy(err);
	}
	str_deinit(&log);
	specimen_destroy(&it);
}

/* Every line that is read must be one that was written. */
static bool is_subset(const char *log, const char *whole)
{
	char line[400];
	for (const char *end; (end = strchr(log, '\n')); log = end + 1) {
		snprintf(line, sizeof(line), "%.*s", (int)(end + 1 - log), log);
		if (!strstr(whole, line))
			return false;
	}
	return true;
}

/* Bytes changed, taken out and put in, at random places. */
TEST(random_damage)
{
	struct specimen it = specimen_create();
	struct str log = {0};
	uint64_t random = 42;
	for (int round = 0; round < 4000; round++) {
		struct bytes_buf bent = {0};
		random = map_mix(random + 1);
		size_t at = 16 + random % (it.file.len - 16), take = (random >> 20) % 40;
		size_t put = (random >> 30) % 40;
		if (take > it.file.len - at)
			take = it.file.len - at;
		bytes_put(&bent, it.file.data, at);
		for (size_t i = 0; i < put; i++)
			bytes_put_u8(&bent, (uint8_t)map_mix(random + i));
		bytes_put(&bent, it.file.data + at + take, it.file.len - at - take);
		struct reader_result result;
		CHECK_OK(log_read(bent.data, bent.len, &log, &result));
		CHECK(is_subset(str_text(&log), it.log.data));
		size_t first = chunk_at(&it, at), last = chunk_at(&it, at + take);
		size_t kept = it.chunks[first].log_len +
			      (last < it.nr_chunks ? it.log.len - it.chunks[last + 1].log_len : 0);
		CHECK(log.len >= kept); /* all but the chunks that were touched */
		CHECK_INT(result.file_bytes, bent.len);
		if (take || put)
			CHECK(result.damage.what || result.damage.truncated || !result.ended ||
				(!take && at == it.chunks[first].offset) || log.len == it.log.len);
		bytes_buf_deinit(&bent);
	}
	str_deinit(&log);
	specimen_destroy(&it);
}

/* ---- forged chunks: sound outside, hostile inside ---- */

/* One forged chunk, then a sound one, which must still be read. */
static void check_forged(uint16_t type, struct bytes_buf *payload, const char *what)
{
	struct forged forged = forged_begin();
	forged_chunk(&forged, type, payload);
	forged_varints(payload, 123, 456);
	forged_chunk(&forged, LAYOUT_CHUNK_CLOCKS, payload);
	struct str log = {0};
	struct reader_result result;
	CHECK_OK(log_read(forged.file.data, forged.file.len, &log, &result));
	CHECK_STR(result.bad_what, what);
	CHECK_INT(result.bad_chunks, 1);
	CHECK_INT(result.bad_offset, 16);
	CHECK(strstr(str_text(&log), "clock 123 456\n"));
	str_deinit(&log);
	bytes_buf_deinit(&forged.file);
}

#define check_forged_varints(type, what, ...) \
	do { \
		struct bytes_buf forged_payload_ = {0}; \
		forged_varints(&forged_payload_, __VA_ARGS__); \
		check_forged((type), &forged_payload_, (what)); \
	} while (0)

static const char overrun[] = "a record that is longer than its chunk";
static const char bad_ids[] = "ids out of order";

static const uint16_t tables[] = {LAYOUT_CHUNK_STRINGS, LAYOUT_CHUNK_OBJECTS,
	LAYOUT_CHUNK_PROCESSES, LAYOUT_CHUNK_THREADS, LAYOUT_CHUNK_FRAMES, LAYOUT_CHUNK_STACKS,
	LAYOUT_CHUNK_EVENTS, LAYOUT_CHUNK_SNAPSHOTS};

TEST(forged_counts_and_ids)
{
	const char *const too_much = "more entities than a recording of this size can hold";
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		check_forged_varints(tables[i], overrun, 1, UINT64_MAX);
		check_forged_varints(tables[i], overrun, 1, 3, 0, 0);
		check_forged_varints(tables[i], overrun, 1, 1, 100);
		check_forged_varints(tables[i], bad_ids, 0, 1, 0);
		check_forged_varints(tables[i], bad_ids, UINT64_MAX, 1, 0);
		check_forged_varints(tables[i], bad_ids, UINT32_MAX, 1, 0);
		if (tables[i] == LAYOUT_CHUNK_EVENTS)
			continue;
		check_forged_varints(tables[i], too_much, UINT32_MAX - 10, 1, 0);
		check_forged_varints(tables[i], too_much, 8 << 20, 1, 0);
		struct bytes_buf empty = {0};
		check_forged(tables[i], &empty, overrun);
	}
	check_forged_varints(
		LAYOUT_CHUNK_EVENTS, "more events than allowed", LAYOUT_MAX_EVENTS + 1, 1, 0);
	check_forged_varints(LAYOUT_CHUNK_STRINGS, overrun, 1, 1, UINT64_MAX);
	check_forged_varints(LAYOUT_CHUNK_SAMPLES, "more samples than times", 1, UINT64_MAX, 0, 1,
		LAYOUT_COLUMN_TIME, 1, 0);
	check_forged_varints(LAYOUT_CHUNK_SAMPLES, overrun, 1, 1);
	check_forged_varints(
		LAYOUT_CHUNK_SAMPLES, overrun, 1, 1, 0, 1, LAYOUT_COLUMN_TIME, UINT64_MAX, 0);
	check_forged_varints(LAYOUT_CHUNK_META, overrun, 1, 'k', UINT64_MAX);
	check_forged_varints(LAYOUT_CHUNK_MAPPINGS, overrun, UINT64_MAX);
	check_forged_varints(LAYOUT_CHUNK_MAPPINGS, overrun, 2, 1, 1);
	check_forged_varints(LAYOUT_CHUNK_SYMBOLS, overrun, 1, 2, 3);
	check_forged_varints(LAYOUT_CHUNK_COUNTERS, overrun, 1, 2);
	check_forged_varints(LAYOUT_CHUNK_END, overrun, 1);
	check_forged_varints(LAYOUT_CHUNK_COUNTERS, "a CPU number that cannot be", 1, 65536, 1);
}

TEST(forged_varints_that_are_too_long)
{
	struct bytes_buf payload = {0};
	for (int i = 0; i < 10; i++)
		bytes_put_u8(&payload, 0xff);
	bytes_put_u8(&payload, 0);
	bytes_put_u8(&payload, 0);
	check_forged(LAYOUT_CHUNK_CLOCKS, &payload, overrun);
}

static void check_forged_object(uint32_t build_id_len, uint64_t nr_segments, const char *what)
{
	static const uint8_t build_id[65];
	struct bytes_buf record = {0}, payload = {0};
	forged_varints(&record, 1, 0, 0);
	bytes_put_blob(&record, build_id, build_id_len);
	forged_varints(&record, 0, 0, 0, 0, 0, nr_segments);
	for (uint64_t i = 0; i < nr_segments && i < 300; i++)
		forged_varints(&record, 1, 2, 3, 4, 5);
	forged_varints(&payload, 1, 1);
	bytes_put_blob(&payload, record.data, record.len);
	bytes_buf_deinit(&record);
	check_forged(LAYOUT_CHUNK_OBJECTS, &payload, what);
}

TEST(forged_objects)
{
	check_forged_object(65, 0, "a build ID of more than 64 bytes");
	check_forged_object(64, 257, "an object with too many segments");
	check_forged_object(64, UINT32_MAX, "an object with too many segments");
	check_forged_object(64, UINT64_MAX, overrun);
}

TEST(forged_stacks)
{
	const char *const range = "a stack whose caller or frame is out of range";
	/* first id, count, distances back, frames */
	check_forged_varints(LAYOUT_CHUNK_STACKS, range, 1, 1, 1, 0);
	check_forged_varints(LAYOUT_CHUNK_STACKS, range, 1, 2, 0, 2, 0, 0);
	check_forged_varints(LAYOUT_CHUNK_STACKS, range, 1, 1, UINT64_MAX, 0);
	check_forged_varints(LAYOUT_CHUNK_STACKS, range, 1, 1, 0, 1);               /* frame -1 */
	check_forged_varints(LAYOUT_CHUNK_STACKS, range, 1, 1, 0, 1ULL << 33);      /* 2^32 */
	check_forged_varints(LAYOUT_CHUNK_STACKS, range, 1, 2, 0, 0, 2, ~0ULL - 1); /* overflow */
	check_forged_varints(LAYOUT_CHUNK_STACKS, range, 1, 1, 0, UINT64_MAX);
}

TEST(forged_samples)
{
	const char *const lengths = "sample columns of different lengths";
	const char *const range = "a sample whose stack is out of range";
	for (int column = LAYOUT_COLUMN_THREAD; column <= LAYOUT_COLUMN_SNAPSHOT; column++)
		check_forged_varints(LAYOUT_CHUNK_SAMPLES, lengths, 1, 2, 0, 1, LAYOUT_COLUMN_TIME,
			2, 0, 0, (uint64_t)column, 1, 2);
	check_forged_varints(LAYOUT_CHUNK_SAMPLES, "more samples than times", 1, 2, 0, 1,
		LAYOUT_COLUMN_TIME, 2, 0x80); /* a value of two bytes */
	check_forged_varints(LAYOUT_CHUNK_SAMPLES, range, 1, 1, 0, 1, LAYOUT_COLUMN_TIME, 1, 0,
		LAYOUT_COLUMN_USER_STACK, 1, 1);
	check_forged_varints(LAYOUT_CHUNK_SAMPLES, range, 1, 2, 0, 1, LAYOUT_COLUMN_TIME, 2, 0, 0,
		LAYOUT_COLUMN_USER_STACK, 11, 2, UINT64_MAX - 1);
	check_forged_varints(LAYOUT_CHUNK_SAMPLES, range, 1, 1, 0, 1, LAYOUT_COLUMN_TIME, 1, 0,
		LAYOUT_COLUMN_SNAPSHOT, 1, 1);
	check_forged_varints(LAYOUT_CHUNK_SAMPLES, "a CPU number that cannot be", 1, 1, 0, 1,
		LAYOUT_COLUMN_TIME, 1, 0, LAYOUT_COLUMN_CPU, 3, 65536);
}

/* process, time, flags, address, known registers; then what they say follows. */
static void check_forged_snapshot(
	uint64_t known, size_t register_bytes, size_t stack_bytes, const char *what)
{
	struct bytes_buf record = {0}, payload = {0};
	forged_varints(&record, 1, 2, 0, 3, known);
	for (size_t i = 0; i < register_bytes; i++)
		bytes_put_u8(&record, 0x80);
	bytes_put_varint(&record, stack_bytes);
	for (size_t i = 0; i < stack_bytes && stack_bytes < 1 << 20; i++)
		bytes_put_u8(&record, 1);
	forged_varints(&payload, 1, 1);
	bytes_put_blob(&payload, record.data, record.len);
	bytes_buf_deinit(&record);
	check_forged(LAYOUT_CHUNK_SNAPSHOTS, &payload, what);
}

TEST(forged_snapshots)
{
	check_forged_snapshot(1ULL << 34, 8, 1, "a register that cannot be");
	check_forged_snapshot(UINT64_MAX, 512, 1, "a register that cannot be");
	check_forged_snapshot(7, 23, 0, overrun);
	check_forged_snapshot(LAYOUT_REGISTERS_MASK, 34 * 8 - 1, 0, overrun);
	check_forged_snapshot(0, 0, 65537, "a snapshot with too much of a stack");
	check_forged_snapshot(0, 0, UINT64_MAX, overrun);
	check_forged_varints(LAYOUT_CHUNK_SNAPSHOTS, overrun, 1, 1, 6, 1ULL << 32, 0, 0, 0, 0, 0);
	check_forged_varints(LAYOUT_CHUNK_SNAPSHOTS, overrun, 1, 1, 4, 0, 0, 0, 0);
}

TEST(forged_frame_columns)
{
	check_forged_varints(LAYOUT_CHUNK_FRAMES, overrun, 1, 2, 1, 1, 0, 0, 1, 1, 7);
	check_forged_varints(LAYOUT_CHUNK_FRAMES, overrun, 1, 1, 1, 0, 1, 6, 1ULL << 32);
	check_forged_varints(LAYOUT_CHUNK_FRAMES, overrun, 1, 1, 1, 0, 1, UINT64_MAX);
	check_forged_varints(LAYOUT_CHUNK_FRAMES, overrun, 1, 1, 1, 0, 99);
}

TEST(forged_meta_is_limited)
{
	struct bytes_buf payload = {0};
	for (int i = 0; i < LAYOUT_MAX_META + 1; i++) {
		bytes_put_blob(&payload, "key", 3);
		bytes_put_blob(&payload, "", 0);
	}
	check_forged(LAYOUT_CHUNK_META, &payload, "more META entries than allowed");
}

/* A chunk that comes twice defines its ids again: the copy is refused. */
TEST(repeated_tables_are_refused)
{
	struct forged forged = forged_begin();
	for (int i = 0; i < 2; i++) {
		struct bytes_buf payload = {0};
		forged_varints(&payload, 1, 1, 1, 'x');
		forged_chunk(&forged, LAYOUT_CHUNK_STRINGS, &payload);
	}
	struct str log = {0};
	struct reader_result result;
	CHECK_OK(log_read(forged.file.data, forged.file.len, &log, &result));
	CHECK_STR(str_text(&log), "string 1 \"x\" 1\n");
	CHECK_STR(result.bad_what, bad_ids);
	str_deinit(&log);
	bytes_buf_deinit(&forged.file);
}

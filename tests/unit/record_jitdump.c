/* Jitdumps: what stood at an address, when and from which line. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/base/str.h"
#include "record/generated/jitdump.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

enum {
	CODE_BYTES = 0x40
};

/* ---- writing ---- */

static void put_header(struct bytes_buf *dump, uint64_t flags)
{
	bytes_put_u32(dump, 0x4a695444);
	bytes_put_u32(dump, 1);
	bytes_put_u32(dump, 40);
	bytes_put_u32(dump, 62);
	bytes_put_u32(dump, 0);
	bytes_put_u32(dump, 1);
	bytes_put_u64(dump, 1);
	bytes_put_u64(dump, flags);
}

/* Frees the body. */
static void put_record(
	struct bytes_buf *dump, uint32_t id, uint64_t time_ns, struct bytes_buf *body)
{
	bytes_put_u32(dump, id);
	bytes_put_u32(dump, (uint32_t)body->len + 16);
	bytes_put_u64(dump, time_ns);
	bytes_put(dump, body->data, body->len);
	bytes_buf_deinit(body);
}

static void put_load(
	struct bytes_buf *dump, uint64_t time_ns, uint64_t start, uint64_t number, const char *name)
{
	static const uint8_t code[CODE_BYTES];
	struct bytes_buf body = {0};
	bytes_put_u64(&body, 1);
	bytes_put_u64(&body, start);
	bytes_put_u64(&body, start);
	bytes_put_u64(&body, CODE_BYTES);
	bytes_put_u64(&body, number);
	bytes_put(&body, name, strlen(name) + 1);
	bytes_put(&body, code, sizeof(code));
	put_record(dump, 0, time_ns, &body);
}

static void put_move(
	struct bytes_buf *dump, uint64_t time_ns, uint64_t from, uint64_t to, uint64_t number)
{
	struct bytes_buf body = {0};
	bytes_put_u64(&body, 1);
	bytes_put_u64(&body, to);
	bytes_put_u64(&body, from);
	bytes_put_u64(&body, to);
	bytes_put_u64(&body, CODE_BYTES);
	bytes_put_u64(&body, number);
	put_record(dump, 1, time_ns, &body);
}

struct row {
	uint64_t address;
	uint32_t line;
	const char *file;
};

static void put_lines(struct bytes_buf *dump, uint64_t code, const struct row *rows, size_t count)
{
	struct bytes_buf body = {0};
	bytes_put_u64(&body, code);
	bytes_put_u64(&body, count);
	for (size_t i = 0; i < count; i++) {
		bytes_put_u64(&body, rows[i].address);
		bytes_put_u32(&body, rows[i].line);
		bytes_put_u32(&body, 0);
		bytes_put(&body, rows[i].file, strlen(rows[i].file) + 1);
	}
	put_record(dump, 2, 1, &body);
}

static void put_other(struct bytes_buf *dump, uint32_t id)
{
	struct bytes_buf body = {0};
	bytes_put(&body, "anything", 8);
	put_record(dump, id, 1, &body);
}

/* ---- reading ---- */

static void log_place(void *context, const struct code_place *place)
{
	str_printf(context, "%llx in %s@%llx from %llu", (unsigned long long)place->address,
		place->name, (unsigned long long)place->start, (unsigned long long)place->time_ns);
	if (place->file)
		str_printf(context, " %s:%u", place->file, place->line);
	str_putc(context, '\n');
}

/* Frees the dump. */
static void check_addresses(
	struct bytes_buf *dump, const uint64_t *addresses, size_t count, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	int fd = forged_fd(dump->data, dump->len);
	CHECK(jitdump_read(fd, addresses, count, UINT32_MAX, log_place, &got));
	close(fd);
	bytes_buf_deinit(dump);
	CHECK_STR(str_text(&got), want);
}

#define check_dump(dump, want, ...) \
	do { \
		const uint64_t wanted_[] = {__VA_ARGS__}; \
		check_addresses((dump), wanted_, sizeof(wanted_) / sizeof(*wanted_), (want)); \
	} while (0)

TEST(jitdump_marker_is_known_by_its_name)
{
	CHECK(jitdump_is_marker("/home/me/.debug/jit/x/jit-4711.dump"));
	CHECK(jitdump_is_marker("/jit-1.dump"));
	CHECK(jitdump_is_marker("jit-1.dump"));
	CHECK(!jitdump_is_marker("/tmp/jit-.dump"));
	CHECK(!jitdump_is_marker("/tmp/jit-1x.dump"));
	CHECK(!jitdump_is_marker("/tmp/jit-1.dump2"));
	CHECK(!jitdump_is_marker("/tmp/git-1.dump"));
	CHECK(!jitdump_is_marker("/tmp/jit-1.dump/x"));
	CHECK(!jitdump_is_marker(""));
}

TEST(jitdump_tells_what_stood_at_an_address)
{
	struct bytes_buf dump = {0};
	put_header(&dump, 0);
	put_load(&dump, 100, 0x1000, 1, "early");
	put_other(&dump, 4);
	put_load(&dump, 150, 0x2000, 2, "nobody's");
	put_other(&dump, 77);
	put_load(&dump, 200, 0x1020, 3, "late");
	check_dump(&dump,
		"1000 in early@1000 from 100\n1020 in early@1000 from 100\n"
		"103f in early@1000 from 100\n1020 in late@1020 from 200\n"
		"103f in late@1020 from 200\n105f in late@1020 from 200\n",
		0xfff, 0x1000, 0x1020, 0x103f, 0x105f, 0x1060, 0x3000);
}

TEST(jitdump_code_moves)
{
	struct bytes_buf dump = {0};
	put_header(&dump, 0);
	put_load(&dump, 100, 0x1000, 1, "first");
	put_load(&dump, 110, 0x3000, 2, "second");
	put_move(&dump, 120, 0x1000, 0x5000, 1); /* there was no function */
	put_move(&dump, 130, 0x5000, 0x2000, 1);
	put_move(&dump, 140, 0x3000, 0x1000, 2);
	put_move(&dump, 150, 0x9000, 0x1000, 99); /* of what was never loaded */
	check_dump(&dump,
		"1008 in first@1000 from 100\n2008 in first@2000 from 130\n"
		"1008 in second@1000 from 140\n",
		0x1008, 0x2008);
}

TEST(jitdump_lines)
{
	static const struct row rows[] = {
		{0x1000, 3, "a.js"}, {0x1010, 4, "\xff"}, {0x1020, 9, "b.js"}, {0x1018, 5, "a.js"}};
	static const struct row others[] = {{0x7000, 1, "c.js"}};
	struct bytes_buf dump = {0};
	put_header(&dump, 0);
	put_lines(&dump, 0x1000, rows, 4);
	put_load(&dump, 100, 0x1000, 1, "f");
	put_load(&dump, 110, 0x1000, 2, "without"); /* those were the other's */
	put_lines(&dump, 0x7000, others, 1);
	put_load(&dump, 120, 0x2000, 3, "unlike");
	put_move(&dump, 130, 0x1000, 0x4000, 1);
	check_dump(&dump,
		"1000 in f@1000 from 100 a.js:3\n1017 in f@1000 from 100 a.js:4\n"
		"101f in f@1000 from 100 a.js:5\n1030 in f@1000 from 100 b.js:9\n"
		"1000 in without@1000 from 110\n1017 in without@1000 from 110\n"
		"101f in without@1000 from 110\n1030 in without@1000 from 110\n"
		"4010 in f@4000 from 130 a.js:4\n",
		0x1000, 0x1017, 0x101f, 0x1030, 0x4010);
}

/* V8 counts from where the code will stand in an ELF file. */
TEST(jitdump_lines_behind_an_elf_header)
{
	static const struct row rows[] = {{0x1040, 3, "a.js"}, {0x1050, 4, "a.js"}};
	struct bytes_buf dump = {0};
	put_header(&dump, 0);
	put_lines(&dump, 0x1000, rows, 2);
	put_load(&dump, 100, 0x1000, 1, "f");
	check_dump(&dump, "1004 in f@1000 from 100 a.js:3\n1010 in f@1000 from 100 a.js:4\n",
		0x1004, 0x1010);
}

TEST(jitdump_with_times_of_another_clock)
{
	struct bytes_buf dump = {0};
	put_header(&dump, 1);
	put_load(&dump, 100, 0x1000, 1, "f");
	check_dump(&dump, "1000 in f@1000 from 0\n", 0x1000);
}

TEST(jitdump_ends_where_it_says)
{
	struct bytes_buf dump = {0};
	put_header(&dump, 0);
	put_load(&dump, 100, 0x1000, 1, "f");
	put_other(&dump, 3);
	put_load(&dump, 110, 0x1000, 2, "behind the end");
	check_dump(&dump, "1000 in f@1000 from 100\n", 0x1000);
}

TEST(jitdump_cut_anywhere)
{
	static const struct row rows[] = {{0x1000, 3, "a.js"}, {0x1010, 4, "\xff"}};
	struct bytes_buf dump = {0};
	put_header(&dump, 0);
	put_lines(&dump, 0x1000, rows, 2);
	put_load(&dump, 100, 0x1000, 1, "f");
	put_move(&dump, 110, 0x1000, 0x2000, 1);
	for (size_t len = 0; len < dump.len; len++) {
		CLEANUP(str_deinit) struct str got = {0};
		int fd = forged_fd(dump.data, len);
		CHECK(jitdump_read(
			fd, (const uint64_t[]){0x1000, 0x2000}, 2, UINT32_MAX, log_place, &got));
		close(fd);
		CHECK(got.len < 100);
	}
	bytes_buf_deinit(&dump);
}

static void count_place(void *context, const struct code_place *place)
{
	size_t *count = context;
	*count += place->line > 0;
}

/* Each function stands at each address, and has many lines. */
TEST(jitdump_takes_limited_time)
{
	enum {
		ADDRESSES = 10000,
		FUNCTIONS = 1000,
		ROWS = 5000
	};
	CLEANUP_FREE struct row *rows = mem_zalloc_array(ROWS, sizeof(*rows));
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(ADDRESSES, sizeof(*addresses));
	for (uint64_t i = 0; i < ROWS; i++)
		rows[i] = (struct row){0x1000, 1, "a"};
	for (uint64_t i = 0; i < ADDRESSES; i++)
		addresses[i] = 0x1000 + i % CODE_BYTES + i / CODE_BYTES * 0x100000;
	struct bytes_buf dump = {0};
	put_header(&dump, 0);
	for (uint64_t i = 0; i < FUNCTIONS; i++) {
		put_lines(&dump, 0x1000, rows, ROWS);
		put_load(&dump, i, 0x1000, i, "f");
	}
	int fd = forged_fd(dump.data, dump.len);
	size_t count = 0;
	CHECK(!jitdump_read(fd, addresses, ADDRESSES, 0, count_place, &count));
	CHECK_INT(count, 0);
	CHECK(jitdump_read(fd, addresses, ADDRESSES, UINT32_MAX, count_place, &count));
	close(fd);
	CHECK(count > 100 && count < (size_t)FUNCTIONS * CODE_BYTES);
	bytes_buf_deinit(&dump);
}

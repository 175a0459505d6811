/*
 * One question, asked of all who can answer it: the table as it was built, the
 * recorder's store, the BPF program's search there, and its cache of answers.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/event.h"
#include "format/elf/elf_file.h"
#include "record/unwind/rule_source.h"
#include "record/unwind/table_store.h"
#include "record/unwind/unwind_rows.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/emulate/map.h"
#include "tests/unit/unit.h"

enum {
	FILE_NUMBER = 5,
	LOW_MASK = 0xffff,
	RULE_SHIFT = 16,
	ALL_BYTES = 64 * UNWIND_SHARD_WORDS,
};

struct fixture {
	struct unwind_table table;
	struct table_store *store;
	uint32_t number;
	uint64_t asked, wrong, covered;
};

static const struct unwind_rule *stored_rule(uint32_t number)
{
	return &emulated_rules()[number];
}

static bool is_same(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void ask(struct fixture *fixture, uint64_t offset)
{
	const struct unwind_rule *want = unwind_table_find(&fixture->table, offset);
	const struct unwind_rule *stored =
		table_store_find(fixture->store, fixture->number, offset);
	uint32_t found = emulated_find_rule(FILE_NUMBER, offset);
	struct unwind_rule remembered;
	enum event_stack_end end = emulated_rule_of_frame(FILE_NUMBER, offset, &remembered);
	bool is_right = is_same(want, stored) && is_same(want, stored_rule(found)) &&
			is_same(want, &remembered) &&
			end == (found ? EVENT_END_COMPLETE : EVENT_END_NO_RULE);
	if (!is_right && !fixture->wrong)
		unit_fail(__FILE__, __LINE__, "offset %llx: rule %u, or another from the cache",
			(unsigned long long)offset, found);
	fixture->asked++;
	fixture->covered += found != 0;
	fixture->wrong += !is_right;
}

static void put_in_store(struct fixture *fixture)
{
	emulate_boot(EMULATED_6_13);
	CHECK_OK(unwind_table_check(&fixture->table));
	CHECK_OK(emulate_table_store(ALL_BYTES, &fixture->store));
	fixture->number = table_store_add(fixture->store, &fixture->table);
	CHECK(fixture->number != TABLE_ABSENT);
	table_store_bind(fixture->store, FILE_NUMBER, fixture->number);
}

static void teardown(struct fixture *fixture)
{
	table_store_destroy(fixture->store);
	unwind_table_deinit(&fixture->table);
}

static uint64_t random_below(uint64_t limit)
{
	return ((uint64_t)rand() << 31 ^ (uint64_t)rand()) % limit;
}

/* Around each row's start, where answers change. */
static void ask_at_rows(struct fixture *fixture)
{
	const struct unwind_table *table = &fixture->table;
	for (size_t i = 0; i < table->pages.len; i++) {
		uint64_t page = (table->first_page + i) << UNWIND_PAGE_SHIFT;
		const struct unwind_page *rows = &table->pages.data[i];
		ask(fixture, page);
		ask(fixture, page + (1 << UNWIND_PAGE_SHIFT) - 1);
		for (uint32_t k = 0; k < rows->count; k++) {
			uint64_t low = table->rows.data[rows->first + k] & LOW_MASK;
			uint64_t at = (page & ~(uint64_t)LOW_MASK) | low;
			ask(fixture, at);
			ask(fixture, at - 1);
			ask(fixture, at + 1);
		}
	}
}

/* A few of them outside of the table. */
static void ask_anywhere(struct fixture *fixture, uint64_t times)
{
	if (!fixture->table.pages.len)
		return;
	uint64_t first = (uint64_t)fixture->table.first_page << UNWIND_PAGE_SHIFT;
	uint64_t bytes = (uint64_t)fixture->table.pages.len << UNWIND_PAGE_SHIFT;
	for (uint64_t i = 0; i < times; i++)
		ask(fixture, first + random_below(bytes + bytes / 8) - bytes / 16);
	ask(fixture, 0);
	ask(fixture, UINT32_MAX);
	ask(fixture, (1ULL << EVENT_FRAME_FILE_SHIFT) - 1);
}

/* ---- tables of no file ---- */

static struct unwind_rule rule_number(uint64_t n)
{
	return (struct unwind_rule){.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_SP,
		.cfa_offset = (int)n * 8,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -8};
}

/* Rows at random distances up to `distance`, and holes. */
static void build_random(
	struct unwind_table *table, uint64_t first, uint32_t count, uint64_t distance)
{
	struct unwind_rows rows;
	unwind_rows_init(&rows, table);
	for (uint32_t i = 0; i < count; i++) {
		struct unwind_rule rule = rule_number(1 + random_below(500));
		if (random_below(8))
			unwind_rows_put(&rows, first, &rule);
		else
			unwind_rows_put_none(&rows, first);
		first += 1 + random_below(distance);
	}
	unwind_rows_put_none(&rows, first);
	CHECK_OK(unwind_rows_finish(&rows));
	unwind_rows_deinit(&rows);
}

static void check_random(uint64_t first, uint32_t count, uint64_t distance, uint64_t times)
{
	struct fixture fixture = {0};
	build_random(&fixture.table, first, count, distance);
	put_in_store(&fixture);
	ask_anywhere(&fixture, times);
	ask_at_rows(&fixture);
	CHECK_INT(fixture.wrong, 0);
	CHECK(fixture.covered > fixture.asked / 2);
	teardown(&fixture);
}

TEST(random_table)
{
	check_random(0x12345, 60000, 60, 1000000);
}

/* A row for nearly every byte: pages of thousands of rows. */
TEST(random_table_of_full_pages)
{
	check_random(0, 30000, 1, 100000);
}

/* Rows and the directory of pages lie in several shards. */
TEST(random_table_larger_than_a_shard)
{
	check_random(0x7ff000, 2200000, 20, 100000);
}

/* Pages without any row of their own. */
TEST(random_table_of_few_rows)
{
	check_random(0x1000000, 5000, 20000, 100000);
}

/* What was found stays right when the table goes and comes back elsewhere. */
TEST(found_rules_outlive_their_table)
{
	struct fixture fixture = {0};
	build_random(&fixture.table, 0, 3000, 10);
	put_in_store(&fixture);
	ask_at_rows(&fixture);
	emulated_unwind_file(FILE_NUMBER)->state = UNWIND_TABLE_DROPPED;
	fixture.number = table_store_add(fixture.store, &fixture.table);
	table_store_bind(fixture.store, FILE_NUMBER, fixture.number);
	ask_at_rows(&fixture);
	CHECK_INT(fixture.wrong, 0);
	teardown(&fixture);
}

/* ---- making room ---- */

/* Each takes a third of a shard: of two shards the one not used lately goes. */
TEST(tables_make_room_for_others)
{
	struct table_store *store;
	struct unwind_table table = {0};
	emulate_boot(EMULATED_6_13);
	CHECK_OK(emulate_table_store(2 * UNWIND_SHARD_WORDS * sizeof(uint32_t), &store));
	build_random(&table, 0, 330000, 8);
	uint32_t numbers[8];
	for (uint32_t file = 1; file <= 7; file++) {
		table_store_advance_epoch(store);
		numbers[file] = table_store_add(store, &table);
		CHECK(numbers[file] != TABLE_ABSENT);
		table_store_bind(store, file, numbers[file]);
	}
	CHECK(table_store_dropped(store) > 0);
	for (uint32_t file = 1; file <= 7; file++) {
		bool is_there = table_store_has(store, numbers[file]);
		CHECK_INT(emulated_unwind_file(file)->state,
			is_there ? UNWIND_TABLE_READY : UNWIND_TABLE_DROPPED);
		CHECK(is_there || file < 5);
		for (uint64_t offset = 0; is_there && offset < 1000000; offset += 777)
			CHECK(is_same(stored_rule(emulated_find_rule(file, offset)),
				unwind_table_find(&table, offset)));
	}
	CHECK_INT(table_store_bytes(store), 2 * UNWIND_SHARD_WORDS * sizeof(uint32_t));
	table_store_destroy(store);
	unwind_table_deinit(&table);
}

TEST(table_that_is_used_stays)
{
	struct table_store *store;
	struct unwind_table table = {0};
	emulate_boot(EMULATED_6_13);
	CHECK_OK(emulate_table_store(3 * UNWIND_SHARD_WORDS * sizeof(uint32_t), &store));
	build_random(&table, 0, 900000, 8); /* the most part of a shard, the second in two */
	for (uint32_t file = 1; file <= 3; file++)
		table_store_bind(store, file, table_store_add(store, &table));
	struct unwind_rule rule;
	emulated_rule_of_frame(1, 0x1000, &rule); /* remembered, and used again by that later */
	table_store_advance_epoch(store);
	emulated_rule_of_frame(1, 0x1000, &rule);
	table_store_bind(store, 4, table_store_add(store, &table));
	CHECK_INT(emulated_unwind_file(1)->state, UNWIND_TABLE_READY);
	CHECK_INT(emulated_unwind_file(2)->state, UNWIND_TABLE_DROPPED);
	CHECK_INT(emulated_unwind_file(4)->state, UNWIND_TABLE_READY);
	table_store_destroy(store);
	unwind_table_deinit(&table);
}

TEST(table_that_is_larger_than_all_room)
{
	struct table_store *store;
	struct unwind_table table = {0}, small = {0};
	emulate_boot(EMULATED_6_13);
	CHECK_OK(emulate_table_store(0, &store));
	build_random(&table, 0, 2200000, 2);
	build_random(&small, 0, 100, 2);
	CHECK_INT(table_store_add(store, &table), TABLE_ABSENT);
	uint32_t number = table_store_add(store, &small);
	CHECK(number != TABLE_ABSENT);
	table_store_bind(store, 1, TABLE_ABSENT);
	struct unwind_rule rule;
	CHECK_INT(emulated_rule_of_frame(1, 5, &rule), EVENT_END_NO_TABLE);
	table_store_bind(store, 1, number);
	CHECK(is_same(stored_rule(emulated_find_rule(1, 5)), unwind_table_find(&small, 5)));
	table_store_destroy(store);
	unwind_table_deinit(&table);
	unwind_table_deinit(&small);
}

/* ---- tables of files ---- */

static void check_file(const char *path)
{
	struct fixture fixture = {0};
	struct elf_file *elf;
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		unit_skip("the file is not here");
	CHECK_OK(elf_file_open(fd, &elf));
	CHECK_OK(unwind_table_build(elf, &fixture.table));
	elf_file_destroy(elf);
	close(fd);
	put_in_store(&fixture);
	ask_at_rows(&fixture);
	ask_anywhere(&fixture, 200000);
	CHECK(fixture.asked > 3 * fixture.table.rows.len);
	CHECK_INT(fixture.wrong, 0);
	teardown(&fixture);
}

/* As after five seconds of CPU time. */
static void stop_at_once(void *elf, uint64_t offset, const void *bytes, size_t len)
{
	static const atomic_bool stop = true;
	(void)offset, (void)bytes, (void)len;
	elf_file_stop_when(elf, &stop);
}

TEST(a_table_that_cannot_be_made_leaves_the_file_its_runtime)
{
	static const struct runtime_row row = {.kind = RUNTIME_NODE, .end_page = 1};
	struct object_table objects = {0};
	struct rule_source rules;
	struct elf_file *elf;
	bool is_pending;
	emulate_boot(EMULATED_6_13);
	rule_source_prepare(&rules);
	rules.objects = &objects;
	CHECK_OK(emulate_table_store(ALL_BYTES, &rules.store));
	rules.rows.store = rules.store;
	CHECK_OK(table_builder_create(NULL, &rules.builder));
	struct object *object =
		object_table_by_build_id(&objects, "/libnode.so", (const uint8_t *)"build-id", 8);
	uint32_t early = table_store_add_pending(rules.store, &row);
	*map_put(&rules.tables, object->serial, NULL) = 1ULL << 32; /* it is being made */
	*map_put(&rules.runtimes, object->serial, NULL) = early;
	table_store_bind(rules.store, FILE_NUMBER, early);
	struct rule_wish wish = {.event.file = FILE_NUMBER, .object = object};
	vec_push(&rules.wishes, wish);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, &elf));
	elf_file_watch(elf, stop_at_once, elf);
	table_builder_submit(rules.builder, object->serial, fd, elf);
	while (rule_source_table(&rules, object) == TABLE_NOT_STORED) {
		rule_source_wait(&rules);
		rule_source_collect(&rules);
	}
	CHECK_INT(rules.statistics.failed, 1);
	CHECK_INT(rule_source_runtime(&rules, object), RUNTIME_NODE);
	const struct runtime_row *found = rule_source_runtime_row(&rules, object, &is_pending);
	CHECK(found && memcmp(found, &row, sizeof(row)) == 0 && !is_pending);
	const struct unwind_file *file =
		emulate_map_lookup(emulated_files_map(), &(uint32_t){FILE_NUMBER});
	CHECK_INT(file->state, UNWIND_TABLE_ABSENT);
	CHECK_INT(file->runtime, 1);
	rule_source_deinit(&rules);
	object_table_deinit(&objects);
}

TEST(table_of_libc)
{
	check_file("/lib/x86_64-linux-gnu/libc.so.6");
}

TEST(table_of_ld_so)
{
	check_file("/lib64/ld-linux-x86-64.so.2");
}

TEST(table_of_python)
{
	check_file("/usr/bin/python3.11");
}

TEST(table_of_ourselves)
{
	check_file("/proc/self/exe");
}

/* On a busy machine seconds pass before what sees to runtimes has come to a file. */
TEST(a_place_has_its_rule_before_its_file_is_looked_at)
{
	enum {
		PLACES = 64,
	};
	static const struct object_location nowhere;
	struct object_table objects = {0};
	struct rule_source rules;
	const struct unwind_rule *rule = NULL;
	struct elf_file *elf;
	size_t count;
	uint64_t offset = 0, end = 0;
	emulate_boot(EMULATED_6_13);
	rule_source_prepare(&rules);
	rules.objects = &objects;
	CHECK_OK(emulate_table_store(ALL_BYTES, &rules.store));
	rules.rows.store = rules.store;
	CHECK_OK(table_builder_create(NULL, &rules.builder));
	struct object *object =
		object_table_by_inode(&objects, "/proc/self/exe", 0, 0, false, &nowhere);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, &elf));
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count; i++)
		if (segments[i].flags & PF_X) {
			offset = segments[i].offset;
			end = offset + segments[i].filesz;
		}
	elf_file_destroy(elf);
	CHECK_INT(rule_source_find_ahead(&rules, object, offset, &rule), EVENT_END_TABLE_PENDING);
	*map_put(&rules.tables, object->serial, NULL) = 1ULL << 32; /* it is being made */
	enum event_stack_end found = EVENT_END_TABLE_PENDING;
	for (uint64_t i = 0; i < PLACES && found; i++) /* some lie between functions */
		found = rule_source_find_ahead(
			&rules, object, offset + (end - offset) * i / PLACES, &rule);
	CHECK_INT(found, EVENT_END_COMPLETE);
	CHECK(rule && rule->cfa != UNWIND_CFA_NONE);
	rule_source_deinit(&rules);
	object_table_deinit(&objects);
}

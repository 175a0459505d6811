/* Snapshots of stacks: put together from their pieces, unwound or kept. */
#include "tests/unit/record_translate_fixture.h"

static void push_broken_stack(struct fixture *fixture, uint64_t hash)
{
	const uint64_t words[] = {in_file(7, 0x10), 0x10020};
	struct event_stack head = {.end = EVENT_END_TABLE_PENDING,
		.has_snapshot = 1,
		.pid = PID,
		.nr_frames = 2,
		.hash = hash,
		.time_ns = 20};
	push_map(fixture, 10, 0x10000, "/bin/a");
	push_file(fixture, 7, 20, 0x10000, 0);
	collect_stack(fixture, &head, words);
}

TEST(a_snapshot_without_an_unwinder_keeps_what_was_found)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_broken_stack(&fixture, 101);
	push_snapshot(&fixture, 101, 0x7000);
	push_chunk(&fixture, 101, 0x7000, EVENT_SNAPSHOT_CHUNK_BYTES);
	push_chunk(&fixture, 101, 0x8000, 64);
	push_sample(&fixture, 101, 20, "a");
	CHECK(!translate_run(&fixture.translate, 50, 0));
	CHECK_INT(fixture.translate.stats.taken[EVENT_SOURCE_TIMER].received.count, 1);
	CHECK_INT(fixture.translate.stats.truncated[LAYOUT_TRUNCATED_TABLE_PENDING], 1);
	CHECK(!snapshot_table_find(&fixture.translate.snapshots, 101)); /* one sample each */
	read_back(&fixture, &result);
	check_cut_sample(&result, 0, "/bin/a+10 /bin/a+20", LAYOUT_TRUNCATED_TABLE_PENDING);
	teardown(&fixture);
}

/* The ring had no room for the rest. */
TEST(a_snapshot_that_was_lost_keeps_what_was_found)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_broken_stack(&fixture, 101);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 50, 0);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 1);
	CHECK_INT(fixture.translate.stats.taken[EVENT_SOURCE_TIMER].unresolved.count, 0);
	teardown(&fixture);
}

/* --call-graph both: a tick is one, whatever becomes of its second sample. */
TEST(second_samples_are_no_ticks)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_broken_stack(&fixture, 101);
	push_broken_stack(&fixture, 103);
	push_sample(&fixture, 101, 20, "a");
	push_second_sample(&fixture, 103, 20);
	push_second_sample(&fixture, 102, 20); /* its snapshot was lost */
	translate_run(&fixture.translate, 50, 0);
	const struct translate_taken *taken = &fixture.translate.stats.taken[EVENT_SOURCE_TIMER];
	CHECK_INT(taken->received.count, 1);
	CHECK_INT(taken->unresolved.count, 0);
	CHECK_INT(translate_resolved(&fixture.translate), 1);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 2);
	teardown(&fixture);
}

static void check_snapshot_word(const struct snapshot *snapshot, uint64_t address, bool is_there)
{
	unsigned long long word = 0;
	CHECK_INT(snapshot_read((void *)snapshot, address, &word), is_there ? 0 : -1);
	CHECK_INT(word, is_there ? address : 0);
}

TEST(a_snapshot_is_put_together)
{
	struct fixture fixture;
	setup(&fixture);
	push_broken_stack(&fixture, 101);
	push_chunk(&fixture, 101, 0x9000, 64); /* ahead of the registers: nowhere to put it */
	push_snapshot(&fixture, 101, 0x7008);
	push_chunk(&fixture, 102, 0x7008, 64); /* of none that is known */
	push_chunk(&fixture, 101, 0x7010, 64); /* does not follow */
	push_chunk(
		&fixture, 101, 0x7008, EVENT_SNAPSHOT_CHUNK_BYTES + 8); /* longer than it can be */
	push_chunk(&fixture, 101, 0x7008, EVENT_SNAPSHOT_CHUNK_BYTES);
	push_chunk(&fixture, 101, 0x9000, 60); /* behind a page that was not there */
	push_chunk(&fixture, 101, 0x8008, 60); /* too late */
	translate_run(&fixture.translate, 50, 0);
	const struct snapshot *snapshot = snapshot_table_find(&fixture.translate.snapshots, 101);
	CHECK(snapshot && snapshot->has_registers && snapshot->is_exact);
	CHECK_INT(snapshot->frames.len, 2);
	CHECK_INT(snapshot->registers.ip, 0x10900);
	CHECK_INT(snapshot->stack.len, 0x9000 + 60 - 0x7008);
	CHECK_INT(snapshot_whole_bytes(snapshot), EVENT_SNAPSHOT_CHUNK_BYTES);
	check_snapshot_word(snapshot, 0x7000, false);
	check_snapshot_word(snapshot, 0x7008, true);
	check_snapshot_word(snapshot, 0x8000, true); /* the last of the first chunk */
	check_snapshot_word(snapshot, 0x8008, false);
	check_snapshot_word(snapshot, 0x8ff8, false);
	check_snapshot_word(snapshot, 0x9000, true);
	check_snapshot_word(snapshot, 0x9030, true);
	check_snapshot_word(snapshot, 0x9038, false); /* only half of it */
	check_snapshot_word(snapshot, UINT64_MAX - 4, false);
	teardown(&fixture);
}

TEST(a_snapshot_whose_sample_never_came_is_forgotten)
{
	struct fixture fixture;
	setup(&fixture);
	push_broken_stack(&fixture, 101);
	translate_run(&fixture.translate, 3000000000, 0);
	CHECK(snapshot_table_find(&fixture.translate.snapshots, 101));
	translate_run(&fixture.translate, 6000000000, 0);
	CHECK(!snapshot_table_find(&fixture.translate.snapshots, 101));
	teardown(&fixture);
}

/* Its process may be gone when its turn comes. */
TEST(code_that_a_snapshot_leads_to_is_read_ahead)
{
	struct fixture fixture;
	struct code_rules code;
	setup(&fixture);
	code_rules_init(&code, &fixture.translate.processes);
	fixture.translate.resolver.code = &code;
	push_broken_stack(&fixture, 101);
	push_snapshot(&fixture, 101, 0x7008);
	translate_run(&fixture.translate, 50, 0);
	CHECK_INT(code.pages.by_key.len, 0);
	push_map(&fixture, 60, 0x7000, "//anon"); /* not applied yet */
	push_chunk(&fixture, 101, 0x7008, 64);    /* whose words are their addresses */
	translate_run(&fixture.translate, 50, 0);
	CHECK(code.pages.by_key.len > 0); /* it may have been read by now */
	fixture.translate.resolver.code = NULL;
	code_rules_deinit(&code);
	teardown(&fixture);
}

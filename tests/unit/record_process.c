#include <stdio.h>
#include <unistd.h>

#include "record/task/process.h"
#include "tests/unit/unit.h"

enum {
	NOBODY = 0x7ffffff0 /* a pid that no process has */
};

struct fixture {
	struct object_table objects;
	struct process_table table;
	struct process *process;
};

static void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){0};
	fixture->table.objects = &fixture->objects;
	fixture->process = process_table_get(&fixture->table, NOBODY, 1);
}

static void teardown(struct fixture *fixture)
{
	process_table_deinit(&fixture->table);
	object_table_deinit(&fixture->objects);
}

static void map(
	struct fixture *fixture, uint64_t start, uint64_t end, uint64_t offset, const char *name)
{
	struct mapping mapping = {
		.start = start,
		.end = end,
		.offset = offset,
		.object = object_table_special(&fixture->objects, LAYOUT_OBJECT_ANONYMOUS, name),
	};
	process_map(fixture->process, &mapping);
}

/* What stands at the address: "name+offset", "-" for nothing. */
static void check_at(struct fixture *fixture, uint64_t address, const char *want)
{
	const struct mapping *mapping =
		process_find_mapping(&fixture->table, fixture->process, address, 1, true);
	char got[64] = "-";
	if (mapping)
		snprintf(got, sizeof(got), "%s+%llx", mapping->object->path,
			(unsigned long long)(address - mapping->start + mapping->offset));
	CHECK_STR(got, want);
}

TEST(mappings_are_found)
{
	struct fixture fixture;
	setup(&fixture);
	map(&fixture, 0x3000, 0x5000, 0x100, "b");
	map(&fixture, 0x1000, 0x2000, 0, "a");
	check_at(&fixture, 0xfff, "-");
	check_at(&fixture, 0x1000, "a+0");
	check_at(&fixture, 0x1fff, "a+fff");
	check_at(&fixture, 0x2000, "-");
	check_at(&fixture, 0x4000, "b+1100");
	check_at(&fixture, 0x5000, "-");
	teardown(&fixture);
}

TEST(a_mapping_replaces_what_it_covers)
{
	struct fixture fixture;
	setup(&fixture);
	map(&fixture, 0x1000, 0x9000, 0, "old");
	map(&fixture, 0x3000, 0x5000, 0, "new"); /* splits it */
	check_at(&fixture, 0x2fff, "old+1fff");
	check_at(&fixture, 0x3000, "new+0");
	check_at(&fixture, 0x5000, "old+4000");
	CHECK_INT(mapping_table_count(&fixture.process->mappings), 3);
	map(&fixture, 0x4000, 0x6000, 0, "third"); /* cuts a tail and a head */
	check_at(&fixture, 0x3fff, "new+fff");
	check_at(&fixture, 0x5fff, "third+1fff");
	check_at(&fixture, 0x6000, "old+5000");
	map(&fixture, 0, 0x10000, 0, "all");
	CHECK_INT(mapping_table_count(&fixture.process->mappings), 1);
	teardown(&fixture);
}

TEST(the_same_mapping_again_changes_nothing)
{
	struct fixture fixture;
	setup(&fixture);
	map(&fixture, 0x1000, 0x2000, 0, "a");
	map(&fixture, 0x1000, 0x2000, 0, "a");
	CHECK_INT(mapping_table_count(&fixture.process->mappings), 1);
	teardown(&fixture);
}

TEST(a_child_inherits_and_exec_clears)
{
	struct fixture fixture;
	setup(&fixture);
	map(&fixture, 0x1000, 0x2000, 0, "a");
	process_table_fork(&fixture.table, NOBODY, NOBODY + 1, 2);
	fixture.process = process_table_find(&fixture.table, NOBODY + 1);
	CHECK(fixture.process);
	check_at(&fixture, 0x1800, "a+800");
	uint32_t image = fixture.process->image;
	process_table_exec(&fixture.table, fixture.process, 1);
	CHECK(fixture.process->image != image);
	check_at(&fixture, 0x1800, "-");
	fixture.process = process_table_find(&fixture.table, NOBODY);
	check_at(&fixture, 0x1800, "a+800");
	teardown(&fixture);
}

TEST(the_dead_are_purged_in_time)
{
	struct fixture fixture;
	setup(&fixture);
	process_table_exit(&fixture.table, NOBODY, 100);
	process_table_purge(&fixture.table, 100);
	CHECK(process_table_find(&fixture.table, NOBODY));
	process_table_purge(&fixture.table, 101);
	CHECK(!process_table_find(&fixture.table, NOBODY));
	teardown(&fixture);
}

/* A thread's exec ends the leader, whose pid the thread then has: the process lives on. */
TEST(an_exec_by_a_thread_is_no_end)
{
	struct fixture fixture;
	setup(&fixture);
	process_table_exit(&fixture.table, NOBODY, 100);
	process_table_exec(&fixture.table, fixture.process, 1);
	CHECK_INT(fixture.process->exited_ns, 0);
	process_table_purge(&fixture.table, 101);
	CHECK(process_table_find(&fixture.table, NOBODY));
	teardown(&fixture);
}

TEST(our_own_process_is_read_from_proc)
{
	struct fixture fixture;
	setup(&fixture);
	fixture.process = process_table_get(&fixture.table, (uint32_t)getpid(), 1);
	const struct mapping *mapping = process_find_mapping(
		&fixture.table, fixture.process, (uint64_t)(uintptr_t)setup, 1, true);
	CHECK(mapping && mapping->object->info.kind == LAYOUT_OBJECT_FILE);
	CHECK(mapping && mapping->object->info.nr_segments > 0);
	teardown(&fixture);
}

/* Which programs have a library that was preloaded. */
#include "record/task/library_watch.h"

#include "tests/unit/unit.h"

static const char library[] = "/tmp/x/libheap.so";

static void run_program(
	struct library_watch *watch, uint32_t pid, const char *program, const char *loaded)
{
	library_watch_exec(watch, pid);
	library_watch_map(watch, pid, program);
	library_watch_map(watch, pid, loaded);
}

TEST(programs_without_the_library_are_counted_when_they_end)
{
	struct library_watch watch = {.path = library};
	run_program(&watch, 7, "/bin/sh", library);
	run_program(&watch, 8, "/bin/static", "/lib/other.so");
	run_program(&watch, 9, "/bin/env", library);
	CHECK_INT(watch.nr_without, 0);
	library_watch_exit(&watch, 8);
	CHECK_INT(watch.nr_without, 1);
	CHECK_STR(watch.program, "/bin/static");
	run_program(&watch, 9, "/bin/cleared", "/lib/other.so"); /* the same process */
	CHECK_INT(watch.nr_without, 1);
	library_watch_exit(&watch, 8); /* once more */
	library_watch_finish(&watch);
	CHECK_INT(watch.nr_without, 2);
	CHECK_STR(watch.program, "/bin/cleared");
	library_watch_finish(&watch);
	CHECK_INT(watch.nr_without, 2);
	library_watch_deinit(&watch);
}

/* What was forked runs what its parent does, and an exec that failed nothing. */
TEST(only_programs_that_were_seen_to_begin_count)
{
	struct library_watch watch = {.path = library};
	library_watch_map(&watch, 5, "/lib/plugin.so");
	library_watch_exit(&watch, 5);
	library_watch_exec(&watch, 6);
	library_watch_finish(&watch);
	CHECK_INT(watch.nr_without, 0);
	library_watch_deinit(&watch);
}

TEST(without_a_library_nothing_is_watched)
{
	struct library_watch watch = {0};
	run_program(&watch, 7, "/bin/sh", "/lib/other.so");
	library_watch_finish(&watch);
	CHECK_INT(watch.nr_without, 0);
	library_watch_deinit(&watch);
}

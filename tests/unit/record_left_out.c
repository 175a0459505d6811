/* Processes that targets had forked before: which of them run while the recording does. */
#include "record/task/left_out.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum {
	MAX_TURNS = 60 * 100, /* of 10 ms: whatever takes a minute has stopped */
};

static pid_t fork_child(bool is_busy)
{
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	alarm(120); /* when the test is killed */
	for (;;)
		if (!is_busy)
			pause();
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static size_t count_until(
	const struct left_out *left_out, struct left_out_busy *busy, size_t max, size_t wanted)
{
	size_t count = 0;
	for (int i = 0;
		i < MAX_TURNS && (count = left_out_count_busy(left_out, busy, max)) < wanted; i++)
		usleep(10000);
	return count;
}

TEST(left_out_counts_children_that_ran)
{
	pid_t busy_child = fork_child(true), idle_child = fork_child(false);
	uint32_t self = (uint32_t)getpid();
	struct left_out left_out = {0};
	struct left_out_busy busy[2];
	left_out_begin(&left_out, &self, 1);
	CHECK_INT(left_out.processes.len, 2); /* not the target itself */
	CHECK_INT(count_until(&left_out, busy, 2, 1), 1);
	CHECK_INT(busy[0].pid, busy_child);
	CHECK(busy[0].cpu_ns > 0);
	CHECK_INT(busy[1].pid, 0);
	end_child(busy_child);
	CHECK_INT(left_out_count_busy(&left_out, busy, 2), 0); /* nothing is known of the dead */
	end_child(idle_child);
	left_out_deinit(&left_out);
}

TEST(left_out_keeps_the_busiest_of_many)
{
	pid_t children[3];
	uint32_t self = (uint32_t)getpid();
	struct left_out left_out = {0};
	struct left_out_busy busy[2];
	for (int i = 0; i < 3; i++)
		children[i] = fork_child(true);
	left_out_begin(&left_out, &self, 1);
	CHECK_INT(count_until(&left_out, busy, 2, 3), 3); /* all are counted, two are named */
	CHECK(busy[0].pid && busy[1].pid && busy[0].pid != busy[1].pid);
	CHECK(busy[0].cpu_ns >= busy[1].cpu_ns);
	for (int i = 0; i < 3; i++)
		end_child(children[i]);
	left_out_deinit(&left_out);
}

TEST(left_out_knows_nothing_of_children_that_are_targets)
{
	pid_t child = fork_child(false);
	uint32_t targets[] = {(uint32_t)getpid(), (uint32_t)child};
	struct left_out left_out = {0};
	left_out_begin(&left_out, targets, 2);
	CHECK_INT(left_out.processes.len, 0);
	end_child(child);
	left_out_deinit(&left_out);
}

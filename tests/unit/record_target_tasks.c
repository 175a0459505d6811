/* The threads that a recording begins with: each once, also those that appear meanwhile. */
#include "record/task/target_tasks.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/vec.h"
#include "tests/unit/unit.h"

struct visits {
	VEC(uint32_t) tids;
	bool starts_thread, fails;
};

static void *sleep_for_ever(void *context)
{
	(void)context;
	for (;;)
		pause();
	return NULL;
}

static void start_thread(void)
{
	pthread_t thread;
	CHECK_INT(pthread_create(&thread, NULL, sleep_for_ever, NULL), 0);
	pthread_detach(thread);
}

static struct err *visit(void *context, uint32_t tid)
{
	struct visits *visits = context;
	vec_push(&visits->tids, tid);
	if (visits->fails)
		return err_new(ERR_IO, "enough");
	if (visits->starts_thread)
		start_thread();
	visits->starts_thread = false;
	return NULL;
}

static size_t count_of(const struct visits *visits, uint32_t tid)
{
	size_t count = 0;
	vec_each(&visits->tids, it)
		count += *it == tid;
	return count;
}

static uint32_t self_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

TEST(target_tasks_are_all_threads_of_a_process)
{
	uint32_t pid = (uint32_t)getpid();
	struct target_tasks tasks = {.ids = &pid, .nr_ids = 1};
	struct visits visits = {0};
	start_thread();
	start_thread();
	CHECK_OK(target_tasks_each(&tasks, visit, &visits));
	CHECK_INT(visits.tids.len, 3);
	CHECK_INT(count_of(&visits, self_tid()), 1);
	vec_deinit(&visits.tids);
}

TEST(target_tasks_find_a_thread_that_begins_meanwhile)
{
	uint32_t pid = (uint32_t)getpid();
	struct target_tasks tasks = {.ids = &pid, .nr_ids = 1};
	struct visits visits = {.starts_thread = true};
	CHECK_OK(target_tasks_each(&tasks, visit, &visits));
	CHECK_INT(visits.tids.len, 2);
	vec_deinit(&visits.tids);
}

TEST(target_tasks_may_be_single_threads)
{
	uint32_t tids[] = {self_tid(), self_tid()};
	struct target_tasks tasks = {.ids = tids, .nr_ids = 2, .are_threads = true};
	struct visits visits = {0};
	start_thread();
	CHECK_OK(target_tasks_each(&tasks, visit, &visits));
	CHECK_INT(visits.tids.len, 1); /* named twice, visited once */
	CHECK_INT(visits.tids.data[0], self_tid());
	vec_deinit(&visits.tids);
}

TEST(target_tasks_include_descendants_on_request)
{
	uint32_t pid = (uint32_t)getpid();
	struct target_tasks tasks = {.ids = &pid, .nr_ids = 1};
	struct visits without = {0}, with = {0};
	pid_t child = fork();
	if (!child)
		sleep_for_ever(NULL);
	CHECK_OK(target_tasks_each(&tasks, visit, &without));
	tasks.with_descendants = true;
	CHECK_OK(target_tasks_each(&tasks, visit, &with));
	CHECK_INT(count_of(&without, (uint32_t)child), 0);
	CHECK_INT(count_of(&with, (uint32_t)child), 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	vec_deinit(&without.tids);
	vec_deinit(&with.tids);
}

TEST(target_tasks_end_with_the_first_error)
{
	uint32_t pid = (uint32_t)getpid();
	struct target_tasks tasks = {.ids = &pid, .nr_ids = 1};
	struct visits visits = {.fails = true};
	start_thread();
	CHECK_ERR(target_tasks_each(&tasks, visit, &visits), ERR_IO, "enough");
	CHECK_INT(visits.tids.len, 1);
	vec_deinit(&visits.tids);
}

TEST(target_tasks_that_are_gone_are_none)
{
	pid_t child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	uint32_t pid = (uint32_t)child;
	struct target_tasks tasks = {.ids = &pid, .nr_ids = 1};
	struct visits visits = {0};
	CHECK_OK(target_tasks_each(&tasks, visit, &visits));
	CHECK_INT(visits.tids.len, 0);
}

/* Processes that are not our children: whether they still run. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/task/watched_tasks.h"
#include "tests/unit/unit.h"

static pid_t start_sleeper(void)
{
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

/* A zombie until its parent waits for it. */
static void kill_unreaped(pid_t pid)
{
	kill(pid, SIGKILL);
	siginfo_t info;
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
}

TEST(nothing_to_watch_is_never_gone)
{
	struct watched_tasks tasks = {0};
	CHECK_OK(watched_tasks_open(NULL, 0, &tasks));
	CHECK(!watched_tasks_are_gone(&tasks));
	watched_tasks_deinit(&tasks);
}

TEST(all_of_them_have_to_be_gone)
{
	pid_t pids[] = {start_sleeper(), start_sleeper()};
	const uint32_t ids[] = {(uint32_t)pids[0], (uint32_t)pids[1]};
	struct watched_tasks tasks = {0};
	CHECK_OK(watched_tasks_open(ids, 2, &tasks));
	CHECK(!watched_tasks_are_gone(&tasks));
	kill_unreaped(pids[1]);
	CHECK(!watched_tasks_are_gone(&tasks));
	kill_unreaped(pids[0]);
	CHECK(watched_tasks_are_gone(&tasks)); /* zombies do not run */
	waitpid(pids[0], NULL, 0);
	waitpid(pids[1], NULL, 0);
	CHECK(watched_tasks_are_gone(&tasks));
	watched_tasks_deinit(&tasks);
}

TEST(what_does_not_run_is_refused)
{
	const uint32_t ids[] = {
		(uint32_t)getpid(), 0x7ffffff0}; /* beyond the largest there can be */
	struct watched_tasks tasks = {0};
	CHECK_ERR(watched_tasks_open(ids, 2, &tasks), ERR_USAGE, "there is no process 2147483632");
	watched_tasks_deinit(&tasks);
}

struct idler {
	pthread_mutex_t is_wanted;
	int to_test;
};

static void *idle(void *context)
{
	struct idler *idler = context;
	uint32_t tid = (uint32_t)gettid();
	if (write(idler->to_test, &tid, sizeof(tid)) != sizeof(tid))
		return NULL;
	pthread_mutex_lock(&idler->is_wanted);
	return NULL;
}

/* The kernel has pidfds of threads only since 6.9, with a flag: before, /proc has to do. */
TEST(threads_are_watched_too)
{
	struct idler idler = {PTHREAD_MUTEX_INITIALIZER, -1};
	int fds[2];
	CHECK(pipe(fds) == 0);
	idler.to_test = fds[1];
	pthread_mutex_lock(&idler.is_wanted);
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, idle, &idler) == 0);
	uint32_t tid = 0;
	CHECK(read(fds[0], &tid, sizeof(tid)) == sizeof(tid));
	struct watched_tasks tasks = {0};
	CHECK_OK(watched_tasks_open(&tid, 1, &tasks));
	CHECK(!watched_tasks_are_gone(&tasks));
	pthread_mutex_unlock(&idler.is_wanted);
	pthread_join(thread, NULL);
	/* Joined means that the thread signed off, /proc may still name it for a moment. */
	for (int i = 0; i < 10000 && !watched_tasks_are_gone(&tasks); i++)
		usleep(1000);
	CHECK(watched_tasks_are_gone(&tasks));
	watched_tasks_deinit(&tasks);
	close(fds[0]);
	close(fds[1]);
}

#include "record/host/proc_access.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "record/task/process.h"
#include "tests/unit/unit.h"

/* A FIFO that has no writer keeps open() waiting, as a lock of the process does. */
struct fifo {
	char path[64];
	char name[80]; /* below /proc/PID */
};

static void fifo_create(struct fifo *fifo)
{
	snprintf(fifo->path, sizeof(fifo->path), "/tmp/ebprof-proc-access.%d", (int)getpid());
	snprintf(fifo->name, sizeof(fifo->name), "root%s", fifo->path);
	unlink(fifo->path);
	CHECK_INT(mkfifo(fifo->path, 0600), 0);
}

/* The open() that waits for a writer returns then. */
static void fifo_let_through(const struct fifo *fifo)
{
	int fd = open(fifo->path, O_WRONLY);
	CHECK(fd >= 0);
	close(fd);
}

static pid_t start_child(void)
{
	pid_t child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static bool can_open(uint32_t pid)
{
	int fd = proc_access_open(pid, "stat", O_RDONLY);
	bool is_open = fd >= 0;
	if (is_open)
		close(fd);
	return is_open;
}

static bool becomes_open(uint32_t pid)
{
	for (int i = 0; i < 2000; i++) {
		if (can_open(pid))
			return true;
		usleep(5000);
	}
	return false;
}

TEST(proc_access_gives_up_what_a_process_keeps_waiting)
{
	struct fifo fifo;
	uint32_t own = (uint32_t)getpid();
	pid_t child = start_child();
	fifo_create(&fifo);
	proc_access_start();
	CHECK_INT(proc_access_open(own, fifo.name, O_RDONLY), -1);
	CHECK_INT(errno, ETIMEDOUT);
	/* As long as that waits nothing else is asked of the process, but of others. */
	CHECK(!can_open(own));
	CHECK_INT(errno, ETIMEDOUT);
	CHECK(becomes_open((uint32_t)child));
	fifo_let_through(&fifo);
	CHECK(becomes_open(own));
	proc_access_stop();
	CHECK(can_open(own));
	unlink(fifo.path);
	end_child(child);
}

/* Thousands of processes are read at once, where a budget of waiting is soon used up. */
TEST(proc_access_that_is_paced_counts_only_what_blocks)
{
	enum {
		CALLS = 20000, /* of 10 us at the least, where 80 ms may be waited */
	};
	int given_up = 0;
	proc_access_start();
	proc_access_set_paced(true);
	for (int i = 0; i < CALLS; i++)
		given_up += !can_open((uint32_t)getpid());
	proc_access_set_paced(false);
	proc_access_stop();
	CHECK(given_up < CALLS / 100);
}

/* Samples that came before it could be read need its mappings, too. */
TEST(process_that_is_read_late_is_known_since_the_first_try)
{
	struct fifo fifo;
	uint32_t own = (uint32_t)getpid();
	struct object_table objects = {0};
	const uint64_t second = NS_PER_S;
	struct process_table table = {.objects = &objects};
	fifo_create(&fifo);
	proc_access_start();
	CHECK_INT(proc_access_open(own, fifo.name, O_RDONLY), -1);
	struct process *process = process_table_get(&table, own, second);
	CHECK_INT(mapping_table_count(&process->mappings), 0);
	CHECK_INT(table.pool.refused, 1);
	CHECK_INT(process_table_get(&table, own, 2 * second)->known_since_ns, second);
	CHECK_INT(table.pool.refused, 1);
	fifo_let_through(&fifo);
	CHECK(becomes_open(own));
	process_table_get(&table, own, 3 * second);
	const struct mapping *code =
		mapping_table_find(&process->mappings, (uint64_t)(uintptr_t)process_table_get);
	CHECK(code && code->time_ns == second);
	CHECK_INT(process->known_since_ns, second);
	/* What is read once more is of then. */
	process_note_loss(process);
	process_table_get(&table, own, 4 * second);
	CHECK_INT(process->known_since_ns, 4 * second);
	proc_access_stop();
	process_table_deinit(&table);
	object_table_deinit(&objects);
	unlink(fifo.path);
}

TEST(proc_access_says_why)
{
	uint32_t own = (uint32_t)getpid();
	struct str text = {0};
	struct statx file;
	for (int i = 0; i < 2; i++) {
		if (i)
			proc_access_start();
		CHECK_INT(proc_access_open(own, "no such file", O_RDONLY), -1);
		CHECK_INT(errno, ENOENT);
		CHECK(!proc_access_link(own, "stat", &text, &file));
		CHECK_INT(errno, EINVAL);
		CHECK_INT(text.len, 0);
	}
	proc_access_stop();
}

static bool has_line(const struct str *text, const char *word)
{
	return strstr(str_text(text), word);
}

TEST(proc_access_reads_what_is_there)
{
	uint32_t own = (uint32_t)getpid();
	struct str maps = {0}, exe = {0};
	struct statx file;
	struct stat st;
	proc_access_start();
	int fd = proc_access_open(own, "maps", O_RDONLY);
	CHECK(fd >= 0);
	ssize_t got;
	while ((got = proc_access_read(own, &fd, &maps)) > 0)
		;
	CHECK_INT(got, 0);
	CHECK(has_line(&maps, "[stack]"));
	close(fd);
	CHECK(proc_access_link(own, "exe", &exe, &file));
	CHECK(!stat("/proc/self/exe", &st) && st.st_ino == file.stx_ino);
	CHECK_INT(str_text(&exe)[0], '/');
	proc_access_stop();
	str_deinit(&maps);
	str_deinit(&exe);
}

/* The threads are not in a process that was forked. */
TEST(proc_access_of_a_forked_process)
{
	proc_access_start();
	CHECK(can_open((uint32_t)getpid()));
	pid_t child = fork();
	if (!child)
		_exit(can_open((uint32_t)getpid()) ? 0 : 1);
	int status = -1;
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	proc_access_stop();
}

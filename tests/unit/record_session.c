/*
 * A session from its options to its file: of real processes, by real timers and programs in the
 * kernel, so where these are not permitted it is skipped.
 */
#include "record/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/file/reader.h"
#include "tests/unit/unit.h"

struct heard {
	unsigned ready, progress;
	uint32_t child_pid;
	bool is_to_end; /* by a signal, when it has run for a while */
};

static void on_ready(void *context, const char *event, uint32_t child_pid)
{
	struct heard *heard = context;
	heard->ready++;
	heard->child_pid = child_pid;
	CHECK_STR(event, "cpu-clock");
}

static void on_progress(void *context, const struct session_progress *progress)
{
	struct heard *heard = context;
	heard->progress++;
	CHECK(progress->elapsed_s >= 0);
	if (heard->is_to_end && progress->samples) {
		heard->is_to_end = false;
		kill(getpid(), SIGTERM);
	}
}

static struct session_options options_of(enum session_target target, const char *output)
{
	return (struct session_options){.target = target,
		.event = SESSION_EVENT_CPU_CLOCK,
		.frequency_hz = 997,
		.cache_folder = "",
		.table_bytes = 32 << 20,
		.ring_bytes = 4 << 20,
		.output = output,
		.owner = caller_find()};
}

/* Skips the test where the kernel does not allow recording. */
static struct session *session_of(const struct session_options *options)
{
	struct session *session;
	struct err *err = session_create(options, &session);
	if (!err)
		return session;
	if (geteuid() || err_code(err) == ERR_PERMISSION || err_code(err) == ERR_UNSUPPORTED)
		unit_skip(err_message(err));
	unit_fail(__FILE__, __LINE__, "%s", err_message(err));
	exit(1);
}

static struct session_summary run_session(
	const struct session_options *options, struct heard *heard, int *status)
{
	struct session_callbacks callbacks = {
		.context = heard, .ready = on_ready, .progress = on_progress};
	struct session_summary summary;
	struct session *session = session_of(options);
	struct err *err = session_run(session, &callbacks, &summary);
	CHECK(!err);
	err_destroy(err);
	if (status && session_wait_command(session, &summary))
		*status = summary.child_status;
	session_destroy(session);
	return summary;
}

static void check_balance(const struct session_summary *summary)
{
	const struct session_source *ticks = session_summary_source(summary, "timer");
	CHECK(ticks->events > 0);
	CHECK_INT(ticks->events, ticks->samples + ticks->idle + ticks->filtered + ticks->lost);
	CHECK_INT(summary->final.samples, ticks->samples);
}

static void count_sample(void *context, const struct layout_sample *sample)
{
	(void)sample;
	++*(uint64_t *)context;
}

static uint64_t samples_in(const char *path)
{
	static const struct reader_visitor visitor = {.sample = count_sample};
	struct reader_result result;
	uint64_t count = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	struct err *err = reader_read(fd, &visitor, &count, &result);
	CHECK(!err);
	err_destroy(err);
	close(fd);
	return count;
}

TEST(session_of_a_process_until_its_time_is_over)
{
	struct heard heard = {0};
	pid_t child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile unsigned spin = 0;; spin++)
			;
	}

	uint32_t pid = (uint32_t)child;
	struct session_options options = options_of(SESSION_PROCESSES, "process.data");
	options.pids = &pid;
	options.nr_pids = 1;
	options.duration_ns = 300 * NS_PER_MS;
	struct session_summary summary = run_session(&options, &heard, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK_INT(summary.reason, LAYOUT_END_DURATION);
	CHECK(summary.is_published);
	CHECK_INT(heard.ready, 1);
	CHECK(heard.progress > 0);
	CHECK(summary.final.samples > 0);
	check_balance(&summary);
	CHECK_INT(samples_in("process.data"), summary.final.samples);
}

TEST(session_of_a_command_ends_with_it)
{
	struct heard heard = {0};
	int status = -1;
	char *argv[] = {
		"/bin/sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; exit 7", NULL};
	struct session_options options = options_of(SESSION_COMMAND, "command.data");
	options.argv = argv;
	struct session_summary summary = run_session(&options, &heard, &status);
	CHECK_INT(summary.reason, LAYOUT_END_COMMAND);
	CHECK(heard.child_pid > 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	check_balance(&summary);
	CHECK_INT(samples_in("command.data"), summary.final.samples);
}

/* An older recording stays what it is. */
TEST(session_of_a_command_that_is_not_there)
{
	struct heard heard = {0};
	struct stat st;
	char *argv[] = {"/no/such/command", NULL};
	struct session_options options = options_of(SESSION_COMMAND, "none.data");
	options.argv = argv;
	struct session_summary summary = run_session(&options, &heard, NULL);
	CHECK_INT(summary.exec_errno, ENOENT);
	CHECK(!summary.is_published);
	CHECK_INT(heard.ready, 0);
	CHECK(stat("none.data", &st) != 0);
}

TEST(session_that_a_signal_ends)
{
	struct heard heard = {.is_to_end = true};
	struct session_options options = options_of(SESSION_SYSTEM, "system.data");
	options.duration_ns = 20ULL * NS_PER_S;
	signal(SIGTERM, SIG_IGN); /* if the session could not be created */
	struct session_summary summary = run_session(&options, &heard, NULL);
	CHECK_INT(summary.reason, LAYOUT_END_SIGNAL);
	CHECK_INT(summary.end_signal, SIGTERM);
	check_balance(&summary);
	CHECK_INT(samples_in("system.data"), summary.final.samples);
}

TEST(session_without_a_place_for_its_file)
{
	struct session *session = NULL;
	struct session_options options = options_of(SESSION_SYSTEM, "no/such/folder/x.data");
	struct err *err = session_create(&options, &session);
	CHECK(err != NULL);
	CHECK(!session);
	if (err && geteuid() == 0)
		CHECK(strstr(err_message(err), "no/such/folder"));
	err_destroy(err);
}

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/cgroup_option.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/export_file.h"
#include "cmd/kept_naming.h"
#include "cmd/live_threads.h"
#include "cmd/naming.h"
#include "format/base/caller.h"
#include "record/session.h"
#include "report/analyse/hidden_frames.h"
#include "report/analyse/refine_stacks.h"
#include "report/load/load.h"
#include "report/model/regular_file.h"
#include "report/name/symbol/symbolizer.h"
#include "report/write/thread_dump.h"

/* A thread that runs is met within this time, since so much CPU time, or wait, is a sample. */
#define DUMP_HZ             "999"
#define DUMP_WAIT_PERIOD_NS 1000000

struct dump_options {
	struct opt_u32_list pids, tids;
	struct cgroup_option cgroups;
	bool is_system, no_native, no_kernel, is_json;
	uint64_t duration_ns;
	const char *output;
	struct naming_options naming;
};

#define DUMP_FIELD(name) offsetof(struct dump_options, name)

static const struct opt dump_rows[] = {
	{"pid", 'p', "PID[,..]", opt_running_list, DUMP_FIELD(pids), .help = "all threads of these",
		.group = "Which threads"},
	{"tid", 't', "TID[,..]", opt_running_list, DUMP_FIELD(tids), .help = "only these"},
	{"all-cpus", 'a', NULL, opt_flag, DUMP_FIELD(is_system), .help = "of the whole system"},
	CGROUP_OPTION_ROWS(struct dump_options, cgroups, "of"),
	{"duration", 0, "TIME", opt_duration, DUMP_FIELD(duration_ns),
		.help = "watch them for so long", .standard = "200ms", .least = "10ms",
		.most = "1m", .group = "How"},
	{"no-native", 0, NULL, opt_flag, DUMP_FIELD(no_native),
		.help = "of stacks with scripts, only their functions"},
	{"no-kernel", 0, NULL, opt_flag, DUMP_FIELD(no_kernel),
		.help = "stacks without the kernel's functions"},
	{"json", 0, NULL, opt_flag, DUMP_FIELD(is_json), .help = "for programs", .group = "Output"},
	{"output", 'o', "FILE|-", opt_string, DUMP_FIELD(output), .help = "where to",
		.standard = "-"},
	{"quiet", 'q', NULL, opt_quiet, 0, .help = "say nothing but errors"},
	NAMING_FILE_ROWS(struct dump_options, naming),
	NAMING_SHOW_ROWS(struct dump_options, naming),
	{0},
};

static const struct opt_foreign dump_foreign[] = {
	{"-l", "lines are always shown"},
	{"--locals", "values of variables are not read"},
	{"-j", "it is --json"},
	{"-F", NULL}, /* files are shown whole */
	{"--full-filenames", NULL},
	{"--native", NULL},
	{"-n", NULL},
	{"--nonblocking", NULL}, /* py-spy's: nothing is stopped anyway */
	{0},
};

static struct err *dump_choose_target(
	const struct dump_options *options, const char *operand, enum session_target *ret)
{
	int chosen = (options->pids.len > 0) + (options->tids.len > 0) +
		     (options->cgroups.len > 0) + options->is_system;
	if (operand)
		return err_new(ERR_USAGE, "a process is chosen by -p: ebprof dump -p %s",
			isdigit((unsigned char)operand[0]) ? operand : "PID");
	if (!chosen)
		return err_new(ERR_USAGE, "whose threads? Give -p PID, -t TID, --container, "
					  "--unit or -a");
	if (chosen > 1)
		return err_new(
			ERR_USAGE, "give one of -p, -t, -a and --container, --cgroup, --unit");
	*ret = options->pids.len      ? SESSION_PROCESSES
	       : options->tids.len    ? SESSION_THREADS
	       : options->cgroups.len ? SESSION_CGROUPS
				      : SESSION_SYSTEM;
	return NULL;
}

/* ---- recording, into memory ---- */

static struct err *dump_record(const struct dump_options *options, enum session_target target,
	int fd, struct kept_files **files, struct session_summary *summary)
{
	const struct opt_u32_list *ids = options->tids.len ? &options->tids : &options->pids;
	struct session_options session_options = {
		.target = target,
		.pids = ids->data,
		.nr_pids = ids->len,
		.cgroups = options->cgroups.data,
		.nr_cgroups = options->cgroups.len,
		.event = SESSION_EVENT_CPU_CLOCK,
		.waits = SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE,
		.wait_period_ns = DUMP_WAIT_PERIOD_NS,
		.frequency_hz = (uint32_t)atoi(DUMP_HZ),
		.table_bytes = 32 << 20,
		.ring_bytes = 4 << 20,
		.output = "-",
		.output_fd = fd,
		.owner = caller_find(),
		.duration_ns = options->duration_ns,
		.keeps_files = true,
		.awaits_stacks = true,
	};
	static const struct session_callbacks callbacks = {0};
	struct session *session = NULL;
	try(session_create(&session_options, &session));
	struct err *err = session_run(session, &callbacks, summary);
	*files = session_take_kept_files(session);
	session_destroy(session);
	return err;
}

/* ---- what came of it ---- */

static void say_losses(const struct session_summary *summary)
{
	if (summary->lost_ring)
		console_note("hint: %llu %s lost: what is shown of some threads may be older",
			(unsigned long long)summary->lost_ring,
			str_plural(summary->lost_ring, "sample was", "samples were"));
	if (summary->kernel_hidden)
		console_note("hint: kernel functions have no names: needs CAP_SYSLOG and "
			     "kernel.kptr_restrict below 2");
	for (size_t i = 0; summary->hints[i]; i++)
		console_note("hint: %s", summary->hints[i]);
}

static struct err *write_dump(
	const struct dump_options *options, const struct thread_dump *dump, struct byte_sink sink)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (options->is_json)
		return thread_dump_put_json(dump, sink);
	thread_dump_put(dump, &text);
	return sink.write(sink.context, str_text(&text), text.len);
}

static struct err *show_dump(
	struct dump_options *options, struct profile *profile, const struct live_threads *live)
{
	struct export_file file;
	symbolize(profile, &options->naming.symbolize);
	console_show_end();
	refine_stacks(profile); /* by native functions */
	unsigned hidden =
		(options->no_native ? HIDDEN_NATIVE : 0) | (options->no_kernel ? HIDDEN_KERNEL : 0);
	if (hidden)
		hidden_frames_leave_out(profile, hidden);
	struct thread_dump *dump =
		thread_dump_create(profile, live ? live_threads_have : NULL, live);
	struct err *err = NULL;
	if (!thread_dump_count(dump))
		err = err_new(ERR_UNAVAILABLE, "none of these threads was there any more");
	if (!err)
		err = export_file_open(options->output, NULL, 0, &file);
	if (!err)
		err = export_file_end(&file, write_dump(options, dump, export_file_sink(&file)));
	thread_dump_destroy(dump);
	return err;
}

/* `live`: those that there were at the end; NULL: their numbers are not those of /proc. */
static struct err *load_and_dump(struct dump_options *options, int fd,
	const struct kept_files *files, const struct live_threads *live)
{
	struct profile *profile = NULL;
	struct kept_naming kept;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(errno, "lseek");
	kept_naming_init(&kept, files);
	options->naming.symbolize.files.kept = kept.files;
	options->naming.symbolize.files.nr_kept = kept.count;
	naming_begin(&options->naming);
	struct profile_options loading = {.files = &options->naming.symbolize.files};
	struct err *err = profile_load(fd, &loading, &profile);
	if (!err)
		err = show_dump(options, profile, live);
	naming_end(&options->naming);
	profile_destroy(profile);
	kept_naming_deinit(&kept);
	return err;
}

/* operand: NULL: there is none */
static struct err *dump(struct dump_options *options, const char *operand)
{
	enum session_target target = SESSION_PROCESSES;
	struct session_summary summary = {0};
	struct kept_files *files = NULL;
	try(dump_choose_target(options, operand, &target));
	CLEANUP_FD int fd = memfd_create("ebprof", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(errno, "memfd_create");
	console_show("the BPF programs are loaded, then the threads are watched");
	CLEANUP(live_threads_deinit) struct live_threads live = {0};
	struct err *err = dump_record(options, target, fd, &files, &summary);
	live_threads_read(&live);
	console_show_end();
	if (!err && summary.end_signal)
		err = err_new(ERR_UNAVAILABLE, "stopped by signal %d", summary.end_signal);
	if (!err) {
		say_losses(&summary);
		err = load_and_dump(options, fd, files, summary.is_in_pid_namespace ? NULL : &live);
	}
	kept_files_destroy(files);
	return err;
}

static void dump_options_deinit(struct dump_options *options)
{
	vec_deinit(&options->pids);
	vec_deinit(&options->tids);
	cgroup_option_deinit(&options->cgroups);
	naming_deinit(&options->naming);
}

static int cmd_dump_run(const struct command *command, int argc, char **argv)
{
	CLEANUP(dump_options_deinit) struct dump_options options = {0};
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code;
	struct err *err = dump(&options, rest < argc ? argv[rest] : NULL);
	return err ? console_fail(err) : CONSOLE_OK;
}

const struct command command_dump = {
	.name = "dump",
	.summary = "show the stack of every thread now, and what it waits for",
	.usage = "[OPTIONS] -p PID | -t TID | -a",
	.description =
		"Watches the threads for 0.2 seconds or more, without stopping them, and prints "
		"the stack\n"
		"that each has at the end: kernel, native code and scripts, with lines. Threads\n"
		"with the same stack are one. Needs the privileges of ebprof record.",
	.examples = "  sudo ebprof dump -p 4242\n"
		    "  sudo ebprof dump --unit nginx\n"
		    "  sudo ebprof dump -p 4242 --json | jq '.processes[].stacks[].reason'\n",
	.exit_status = "  0  the threads were shown\n"
		       "  1  they could not be watched, or were gone\n"
		       "  2  the request is invalid\n",
	.options = dump_rows,
	.foreign = dump_foreign,
	.run = cmd_dump_run,
};

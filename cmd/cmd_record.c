#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/archive_file.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/gone_names.h"
#include "cmd/html_page.h"
#include "cmd/input.h"
#include "cmd/kept_naming.h"
#include "cmd/metrics.h"
#include "cmd/raise_signal.h"
#include "cmd/record_options.h"
#include "cmd/record_rate.h"
#include "cmd/record_view.h"
#include "cmd/service_notify.h"
#include "format/base/caller.h"
#include "record/event/event_list.h"
#include "record/event/usdt.h"
#include "record/session.h"
#include "report/analyse/refine_stacks.h"
#include "report/model/regular_file.h"
#include "report/name/symbol/symbolizer.h"

enum {
	EXIT_OWN_FAILURE = 125,
	EXIT_CANNOT_EXEC = 126,
	EXIT_NOT_FOUND = 127,
};

static int cmd_record_exit_code(const struct session_summary *summary, enum session_target target)
{
	if (summary->exec_errno)
		return summary->exec_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXEC;
	if (summary->has_child_status)
		return raise_signal_or_exit_code(summary->child_status);
	if (summary->end_signal == SIGINT && target != SESSION_COMMAND)
		return 0;
	return summary->end_signal ? 128 + summary->end_signal : 0;
}

/* perf's commands read a pipe by themselves. */
static void say_who_left(const struct err *err)
{
	if (err_errnum(err) == EPIPE)
		console_say("hint: ebprof report -i - reads a recording from a pipe, and so do "
			    "convert, info and others");
}

/* Never 1 or 2: those may be the command's own. */
static int cmd_record_fail(struct err *err)
{
	say_who_left(err);
	console_fail(err);
	return EXIT_OWN_FAILURE;
}

/* A recording may end before its command does, whose status is to be passed on all the same. */
static void outlive(const struct record_options *options, struct session *session,
	const struct session_options *session_options, uint32_t child_pid,
	struct session_summary *summary)
{
	if (!session_options->argv || summary->has_child_status)
		return;
	bool says = !options->quiet && summary->is_published;
	if (!summary->end_signal) {
		if (says)
			console_say("recording done; the command still runs, waiting for it");
		session_wait_command(session, summary);
	}
	if (says && !summary->has_child_status)
		console_say("the command still runs: process %u", child_pid);
}

/* Without it the recording is as good as before: no failure of record's. */
static void cmd_record_archive(const struct record_options *options, const struct kept_files *files)
{
	struct kept_naming kept;
	kept_naming_init(&kept, files);
	struct regular_file_rules *rules =
		regular_file_rules_create(REGULAR_FILE_LOCAL_ONLY | REGULAR_FILE_KEPT);
	struct naming_options naming = {
		.symbolize.files = {.kept = kept.files, .nr_kept = kept.count, .rules = rules},
	};
	struct archive_file_result result;
	struct err *err = archive_file(options->output, &naming, &result);
	if (err)
		console_say("not archived: %s", err_message(err));
	else if (!options->quiet)
		archive_file_say(options->output, &result);
	err_destroy(err);
	naming_deinit(&naming);
	kept_naming_deinit(&kept);
}

/* Names come from the files that the recorder has kept, while they are there. */
static struct err *show_page(const struct record_options *options, struct naming_options *naming)
{
	CLEANUP(input_deinit) struct input input = {0};
	struct profile *profile;
	try(input_open_paths(&options->output, 1, &input));
	try(input_load(&input, &naming->symbolize.files, &profile));
	naming_begin(naming);
	symbolize(profile, &naming->symbolize);
	refine_stacks(profile);
	console_show_end();
	const struct debug_dirs none = {0};
	const struct export_code code = {.files = &naming->symbolize.files, .source_dirs = &none};
	struct err *err =
		html_page_show(profile, &input, options->opens_with_source ? &code : NULL, NULL);
	naming_end(naming);
	profile_destroy(profile);
	return err;
}

/* The recording is there without it. */
static void cmd_record_open(const struct record_options *options, const struct kept_files *files)
{
	struct kept_naming kept;
	kept_naming_init(&kept, files);
	struct regular_file_rules *rules =
		regular_file_rules_create(REGULAR_FILE_LOCAL_ONLY | REGULAR_FILE_KEPT);
	struct naming_options naming = {
		.symbolize.files = {.kept = kept.files, .nr_kept = kept.count, .rules = rules},
	};
	struct err *err = show_page(options, &naming);
	if (err)
		console_say("not shown: %s", err_message(err));
	err_destroy(err);
	naming_deinit(&naming);
	kept_naming_deinit(&kept);
}

/* What could not be looked up later. */
static void archive_gone(const struct record_options *options, enum session_target target,
	uint64_t since_ns, const struct kept_files *files)
{
	struct gone_names_options gone = {
		.path = options->output,
		.max_file_bytes = options->max_bytes,
		.since_ns = since_ns,
		.time_ns = options->gone_names_ns,
		/* Programs that are recorded by name are being worked on more often than a machine.
		 */
		.with_rebuilt = target == SESSION_COMMAND || target == SESSION_PROCESSES ||
				target == SESSION_THREADS,
		.quiet = options->quiet,
	};
	gone_names_archive(&gone, files);
}

/* What is called while the session runs. */
struct record_run {
	struct record_view view;
	struct push_child push;
	struct metrics *metrics; /* or NULL */
	struct service_notify notify;
	uint32_t child_pid; /* 0: there is no command */
};

static void record_run_ready(void *context, const char *event, uint32_t child_pid)
{
	struct record_run *running = context;
	running->child_pid = child_pid;
	record_view_ready(&running->view, event, child_pid);
	if (running->push.options.url)
		push_child_start(&running->push);
	service_notify_ready(&running->notify, "recording");
}

static void record_run_progress(void *context, const struct session_progress *progress)
{
	struct record_run *running = context;
	record_view_progress(&running->view, progress);
	push_child_watch(&running->push);
	service_notify_alive(&running->notify);
}

static void record_run_health(void *context, const struct session_summary *health)
{
	const struct record_run *running = context;
	metrics_update(running->metrics, health);
	if (metrics_lacks_address(running->metrics))
		console_say("--metrics: another program has the address, metrics are served as "
			    "soon as it lets go");
}

static void record_run_reloaded(void *context)
{
	struct record_run *running = context;
	service_notify_reloaded(&running->notify);
}

/* A recorder that takes over wants the address, too. */
static void record_run_written(void *context)
{
	struct record_run *running = context;
	metrics_close(steal_ptr(running->metrics));
}

static void record_run_deinit(struct record_run *running)
{
	metrics_close(running->metrics);
	service_notify_close(&running->notify);
}

/* What can be refused without a session. */
static struct err *record_run_begin(const struct record_options *options,
	const struct session_options *session_options, struct record_run *ret)
{
	bool has_command = session_options->argv;
	ret->view = (struct record_view){
		.options = session_options,
		.quiet = options->quiet,
		.verbose = options->verbose,
		.shows_progress = !options->quiet && isatty(STDERR_FILENO) && !has_command,
	};
	ret->push.options = options->push;
	service_notify_open(&ret->notify);
	return options->metrics
		       ? metrics_open(options->metrics, options->ring.takes_over, &ret->metrics)
		       : NULL;
}

static struct err *record_run_session(
	struct record_run *running, struct session *session, struct session_summary *ret)
{
	struct session_callbacks callbacks = {
		.context = running,
		.ready = record_run_ready,
		.progress = record_run_progress,
		.health = running->metrics ? record_run_health : NULL,
		.reloaded = record_run_reloaded,
		.written = record_run_written,
	};
	struct err *err = session_run(session, &callbacks, ret);
	service_notify_stopping(&running->notify);
	push_child_stop(&running->push);
	record_view_clear_line(&running->view);
	return err;
}

static int record(
	const struct record_options *options, const struct session_options *session_options)
{
	struct session *session = NULL;
	CLEANUP(record_run_deinit) struct record_run running = {0};
	struct err *err = record_run_begin(options, session_options, &running);
	if (!err)
		err = session_create(session_options, &session);
	/* Its thread inherits the signals that the session has blocked. */
	if (!err && running.metrics)
		err = metrics_start(
			running.metrics, options->ring.folder, session_takes_over(session));
	if (err) {
		session_destroy(session);
		return cmd_record_fail(err);
	}
	if (options->dry_run) {
		console_say("ready: %s", session_event_name(session));
		session_destroy(session);
		return 0;
	}
	struct session_summary summary;
	err = record_run_session(&running, session, &summary);
	bool says_next = summary.is_published && !summary.exec_errno && (!options->quiet || err);
	if (summary.exec_errno)
		console_say("cannot run %s: %s", session_options->argv[0],
			strerror(summary.exec_errno));
	else if (says_next)
		record_view_summary(&running.view, &summary);
	struct kept_files *files = session_take_kept_files(session);
	if (summary.is_published && !options->archives && !err && !summary.exec_errno)
		archive_gone(options, session_options->target, summary.stopped_ns, files);
	if (says_next && !options->archives)
		record_view_next(&summary);
	if (err && summary.is_published)
		console_say("the recording stopped early, what was written can be read: %s",
			err_message(err));
	else if (err)
		console_say("%s", err_message(err));
	outlive(options, session, session_options, running.child_pid, &summary);
	session_destroy(session);
	if (summary.is_published && options->archives)
		cmd_record_archive(options, files);
	if (says_next && options->archives)
		record_view_next(&summary);
	if (summary.is_published && options->opens && !summary.exec_errno)
		cmd_record_open(options, files);
	kept_files_destroy(files);
	if (err) {
		say_who_left(err);
		err_destroy(err);
		return EXIT_OWN_FAILURE;
	}
	return cmd_record_exit_code(&summary, session_options->target);
}

/* ---- listing ---- */

struct listing {
	const char *path;
};

/* A line is what -e takes, and what more there is to know. */
static void print_probe(void *context, const struct usdt_listed *probe)
{
	const struct listing *listing = context;
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "usdt:%s:%s:%s", listing->path, probe->provider, probe->name);
	CLEANUP(str_deinit) struct str line = {0};
	str_puts_escaped(&line, str_text(&text));
	str_printf(&line, "  %u %s%s", probe->nr_places,
		str_plural(probe->nr_places, "place", "places"),
		probe->has_semaphore ? ", semaphore" : "");
	if (*probe->arguments)
		str_puts(&line, "  ");
	str_puts_escaped(&line, probe->arguments);
	puts(str_text(&line));
}

static int list_probes(const char *path)
{
	struct listing listing = {path};
	struct err *err = usdt_list(path, print_probe, &listing);
	return err ? cmd_record_fail(err) : CONSOLE_OK;
}

/* What is counted with an event that is left out is not counted either. */
static struct err *try_event(const struct event_specs *specs, size_t index)
{
	const struct event_spec *leader = &specs->data[event_spec_leader(specs->data, index)];
	if (leader->is_left_out)
		return err_new(ERR_UNSUPPORTED, "%s: it is read with %s, which is left out",
			specs->data[index].name, leader->name);
	return event_list_try(&specs->data[index]);
}

/* With --skip-missing: those that cannot be had, which is said. ERR_USAGE: no event is left. */
static struct err *leave_out_missing(struct record_options *options)
{
	struct record_events *events = &options->events;
	size_t left = 0, nr_others = events->usdt.len + (events->waits != 0) +
				     (options->heap_bytes != 0) +
				     (events->timer != SESSION_EVENT_NONE);
	for (size_t i = 0; i < events->specs.len; i++) {
		struct err *err = options->skips_missing ? try_event(&events->specs, i) : NULL;
		events->specs.data[i].is_left_out = err != NULL;
		left += !err;
		if (err)
			console_say("left out: %s", err_message(err));
		err_destroy(err);
	}
	return !events->specs.len || left || nr_others
		       ? NULL
		       : err_new(ERR_USAGE, "none of the events can be had here");
}

static int cmd_record_run(const struct command *command, int argc, char **argv)
{
	CLEANUP(record_options_deinit) struct record_options options = {0};
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code == CONSOLE_OK ? CONSOLE_OK : EXIT_OWN_FAILURE;
	if (options.quiet)
		console_be_quiet();
	if (options.listed_path)
		return list_probes(options.listed_path);
	enum session_target target = SESSION_SYSTEM;
	struct err *err = record_options_choose_target(&options, argc - rest, &target);
	if (!err)
		err = record_options_check(&options, target);
	if (!err)
		err = leave_out_missing(&options);
	if (err)
		return cmd_record_fail(err);
	const struct opt_u32_list *ids = options.tids.len ? &options.tids : &options.pids;
	struct session_options session_options = {
		.target = target,
		.argv = rest < argc ? argv + rest : NULL,
		.pids = ids->data,
		.nr_pids = ids->len,
		.uid = options.uid,
		.cgroups = options.cgroups.data,
		.nr_cgroups = options.cgroups.len,
		.no_inherit = options.no_inherit,
		.with_descendants = options.tree,
		.event = options.events.timer,
		.usdt = options.events.usdt.data,
		.nr_usdt = options.events.usdt.len,
		.specs = options.events.specs.data,
		.nr_specs = options.events.specs.len,
		.waits = options.events.waits,
		.with_wakers = options.with_wakers,
		.loads_all = options.dry_run,
		.wait_period_ns = options.wait_period_ns,
		.heap_bytes = options.heap_bytes,
		.max_overhead_percent = options.max_overhead_percent,
		.usdt_stacks = options.usdt_stacks,
		.frequency_hz = options.frequency_hz,
		.period = options.period,
		.call_graph = options.call_graph.how,
		.snapshot_bytes = options.call_graph.snapshot_bytes,
		.table_bytes = options.table_bytes,
		.unwanted_runtimes = options.unwanted_runtimes,
		.label_sources = options.label_sources,
		.label_variables = options.label_variables.data,
		.nr_label_variables = options.label_variables.len,
		.label_file = options.label_file,
		.cache_folder = options.cache_folder,
		.exclude_user = options.all_kernel,
		.exclude_kernel = options.all_user,
		.cpus = options.cpus.data,
		.nr_cpus = options.cpus.len,
		.output = options.output,
		.owner = caller_find(),
		.delay_ns = options.delay_ns,
		.duration_ns = options.duration_ns,
		.max_bytes = options.max_bytes,
		.switching = options.switching,
		.ring = options.ring,
		.ring_bytes = options.ring_bytes,
		.with_args = options.with_args,
		.keeps_files = record_options_keep_files(&options),
		.stall_ns = options.stall_ns,
	};
	record_rate_choose(&session_options, options.frequency_is_max, options.quiet);
	return record(&options, &session_options);
}

const struct command command_record = {
	.name = "record",
	.summary = "sample a command, processes or the whole system into a file",
	.usage = "[OPTIONS] -- COMMAND [ARGS]   or   -p PID | -t TID | -u USER | -a [-- COMMAND]",
	.description =
		"Samples where CPU time is spent, kernel and user stacks, and writes ebprof.data.\n"
		"Needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE; ebprof check tells.",
	.examples = "  sudo ebprof record -- ./program arg\n"
		    "  sudo ebprof record -F 99 -a --duration 30\n"
		    "  sudo ebprof record -a -- sleep 30\n"
		    "  sudo ebprof record -p 4242,4243 -o server.data\n"
		    "  sudo ebprof record -e usdt:/usr/bin/php8.2:php:error -p 4242\n"
		    "  sudo ebprof record -o - -- make | ssh host 'cat > make.data'\n",
	.exit_status = "  the command's own; a signal that ends it is raised again\n"
		       "  0    with -p and -a, also after Ctrl-C\n"
		       "  128+N  a signal N to ebprof ended the recording\n"
		       "  125  ebprof itself failed, or was used wrongly\n"
		       "  126  the command cannot be executed, 127: it was not found\n",
	.options = record_options_rows,
	.foreign = record_options_foreign,
	.stops_at_operand = true,
	.run = cmd_record_run,
};

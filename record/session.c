#include "record/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "record/cgroup_filter.h"
#include "record/host/cpu_watch.h"
#include "record/host/priority.h"
#include "record/host/proc.h"
#include "record/host/proc_access.h"
#include "record/label/label_source.h"
#include "record/recording.h"
#include "record/runtime/runtime.h"
#include "record/sampler.h"
#include "record/script/script_probes.h"
#include "record/session_account.h"
#include "record/session_drain.h"
#include "record/session_signals.h"
#include "record/source/sources.h"
#include "record/task/program_files.h"
#include "record/task/sideband.h"
#include "record/task/target.h"
#include "record/task/watched_tasks.h"
#include "record/translate.h"
#include "record/unwind/rule_source.h"
#include "record/unwind/runtime_forecast.h"

enum {
	DEFAULT_SNAPSHOT_BYTES = 128 << 10,    /* most stacks are a tenth of that */
	FLUSH_INTERVAL_NS = 700 * 1000 * 1000, /* with the drain: kill -9 loses less than 1 s */
	FLUSH_BYTES = 1 << 20,
	CHILD_GRACE_NS = 1000 * 1000 * 1000,  /* for the command to end after our stop signal */
	READ_PROCESSES_NS = 20 * 1000 * 1000, /* of a turn, while there are some to be read */
	PREPARE_NS = 500 * 1000 * 1000,       /* before sampling, for what runs already */
};

/*
 * From the kernel to the file: sampler and sideband, the translation of what they send, the
 * recording it goes into; and the command that is profiled. They point at each other, so a session
 * does not move.
 */
struct session {
	struct session_options options; /* what they point at is borrowed */
	struct session_signals signals;
	struct watched_tasks watched; /* options.pids */
	struct proc_pids targets;     /* ids of what is profiled, when the recording began */
	struct cgroup_filter cgroups; /* of SESSION_CGROUPS and SESSION_LABELLED */
	struct left_out left_out;     /* of SESSION_PROCESSES: what they had forked */
	bool has_target;              /* a command was started, and is held */
	struct target target;
	uint32_t command_pid; /* of the command, when that is what is profiled; else 0 */
	struct sideband *sideband;
	struct sources sources;
	struct script_probes script_probes;
	struct sampler *sampler;
	struct rule_source rules;
	struct code_rules code; /* of which translate knows, unless it is to do without */
	struct translate translate;
	struct kept_files *kept_files; /* or NULL */
	struct file_ring ring;         /* with options.ring.folder */
	struct recording recording;
	struct session_drain drain;
	struct session_account account;
	struct str event_names; /* of all events, "cycles, ..." */
	int epoll_fd;           /* readable when one of them has news; edge-triggered */

	struct turn_time turns;
	struct cpu_watch cpus;
	/* Those that ran before: from `next_process` on they are still to be read from /proc. */
	struct proc_pids processes;
	size_t next_process;
	uint64_t flushed_ns;
	const struct session_callbacks *callbacks;
	struct session_summary *summary;
	bool is_started;
	bool is_over;
	bool has_expected_program;
	enum layout_end_reason reason;
};

/* ---- creating: in the order in which the parts need each other; nothing runs yet ---- */

/* Of what turned up while we record. It is late then: the first functions have been entered. */
static void add_script_probes_of_file(
	void *context, const struct object *object, const struct object_location *where)
{
	struct session *session = context;
	struct script_probes *probes = &session->script_probes;
	size_t first = probes->places.len;
	script_probes_add_object(probes, object, where);
	struct err *err = sampler_add_script_probes(session->sampler, probes, first);
	probes->misses_files |= err != NULL;
	err_destroy(err);
}

/*
 * Where what is profiled may have functions of scripts that are to be traced. Sideband is there
 * already: what is mapped after this look it tells of.
 */
static struct err *find_script_probes(struct session *session)
{
	const struct session_options *options = &session->options;
	struct script_probes *probes = &session->script_probes;
	if (!options->usdt_stacks)
		return NULL;
	session->translate.on_file = add_script_probes_of_file;
	session->translate.on_file_context = session;
	try(script_probes_parse(options->usdt_stacks, probes));
	for (size_t i = 0; i < options->nr_pids; i++)
		try(script_probes_add_process(probes, options->pids[i]));
	bool is_system_wide = session_is_system_wide(options);
	if (is_system_wide)
		script_probes_add_all_processes(probes);
	if (is_system_wide || options->target == SESSION_COMMAND)
		try(script_probes_add_command(
			probes, options->target == SESSION_COMMAND ? options->argv[0] : NULL));
	return is_system_wide ? NULL : script_probes_check(probes);
}

/* What they fork from now on the BPF side adds. */
static struct err *add_targets(struct session *session)
{
	const struct session_options *options = &session->options;
	struct proc_pids *targets = &session->targets;
	size_t added = 0;
	if (session->command_pid)
		vec_push(targets, session->command_pid);
	else
		vec_append(targets, options->pids, options->nr_pids);
	do {
		for (; added < targets->len; added++)
			try(sampler_add_target(session->sampler, targets->data[added]));
	} while (options->with_descendants && proc_add_descendants(targets));
	if (options->target == SESSION_PROCESSES && !options->with_descendants)
		left_out_begin(&session->left_out, options->pids, options->nr_pids);
	return NULL;
}

static void take_kept_sample(void *context, const struct event_sample *sample)
{
	translate_take_kept(context, sample);
}

static void end_kept_of_image(void *context, uint32_t pid, uint64_t time_ns)
{
	struct session *session = context;
	struct source_image image = {pid, time_ns};
	sources_end_kept(&session->sources, &image, take_kept_sample, &session->translate);
}

static struct err *create_sampler(struct session *session)
{
	const struct session_options *options = &session->options;
	static const enum event_filter filters[] = {
		[SESSION_COMMAND] = EVENT_FILTER_PROCESS,
		[SESSION_PROCESSES] = EVENT_FILTER_PROCESS,
		[SESSION_THREADS] = EVENT_FILTER_THREAD,
		[SESSION_SYSTEM] = EVENT_FILTER_NONE,
		[SESSION_USER] = EVENT_FILTER_USER,
		[SESSION_CGROUPS] = EVENT_FILTER_CGROUP,
		[SESSION_LABELLED] = EVENT_FILTER_EITHER,
	};
	static const enum event_call_graph call_graphs[] = {
		[SESSION_CALL_GRAPH_AUTO] = EVENT_CALL_GRAPH_AUTO,
		[SESSION_CALL_GRAPH_FP] = EVENT_CALL_GRAPH_FP,
		[SESSION_CALL_GRAPH_DWARF] = EVENT_CALL_GRAPH_DWARF,
		[SESSION_CALL_GRAPH_BOTH] = EVENT_CALL_GRAPH_BOTH,
	};
	struct event_variable variables[EVENT_MAX_VARIABLES];
	struct sampler_options sampler = {
		.sources = &session->sources,
		.script_probes = options->usdt_stacks ? &session->script_probes : NULL,
		.cpus = options->cpus,
		.nr_cpus = options->nr_cpus,
		.filter = filters[options->target],
		.uid = options->uid,
		.cgroup_hierarchies = cgroup_tree_hierarchies(&session->cgroups.targets.tree),
		.command_pid = session->command_pid,
		.tasks = target_tasks_choose(options, &session->command_pid),
		.follow_children = !options->no_inherit && options->target != SESSION_LABELLED,
		.ring_bytes = options->ring_bytes,
		.call_graph = call_graphs[options->call_graph],
		.snapshot_bytes =
			options->snapshot_bytes ? options->snapshot_bytes : DEFAULT_SNAPSHOT_BYTES,
		.runtimes = runtime_forecast_session(options),
		.label_sources = options->label_sources & label_sources_in_kernel(),
		.variables = variables,
		.nr_variables =
			process_labels_variables(&session->translate.process_labels, variables),
	};
	try(sampler_create(&sampler, &session->sampler));
	try(cgroup_filter_begin(&session->cgroups, session->sampler));
	return add_targets(session);
}

/* To be unwound by the report. */
static bool leaves_stacks(const struct session_options *options)
{
	return options->call_graph == SESSION_CALL_GRAPH_DWARF ||
	       options->call_graph == SESSION_CALL_GRAPH_BOTH;
}

/* A file with a runtime is about to be unwound by its table. */
static struct err *add_runtimes(void *context, uint32_t runtimes)
{
	struct session *session = context;
	runtimes &= runtimes_with_frames() & ~session->options.unwanted_runtimes;
	return sampler_add_runtimes(session->sampler, runtimes);
}

static struct err *create_rule_source(struct session *session)
{
	const struct session_options *options = &session->options;
	struct resolver *resolver = &session->translate.resolver;
	resolver->keeps_snapshots = leaves_stacks(options);
	if (options->call_graph == SESSION_CALL_GRAPH_FP)
		return NULL;
	struct table_store_maps maps = sampler_table_maps(session->sampler);
	maps.unwanted_runtimes = options->unwanted_runtimes;

	try(rule_source_init(&session->rules, &maps, options->table_bytes, options->cache_folder,
		&session->translate.objects));
	table_builder_on_runtime(session->rules.builder, add_runtimes, session);
	resolver->rules = &session->rules;
	code_rules_begin(&session->code, &session->rules, maps.code_rules);
	resolver->code = &session->code;
	return NULL;
}

/* Edge-triggered: buffers are emptied at every wake-up, and must wake us only when they fill. */
static struct err *watch(struct session *session, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
	if (epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return err_sys(errno, "epoll_ctl");
	return NULL;
}

static struct err *watch_all(struct session *session)
{
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->epoll_fd < 0)
		return err_sys(errno, "epoll_create1");
	try(watch(session, session->signals.fd));
	try(watch(session, sampler_fd(session->sampler)));
	if (session->translate.resolver.rules)
		try(watch(session, rule_source_fd(&session->rules)));
	return session->has_target ? watch(session, session->target.exit_fd) : NULL;
}

static struct err *start_target(struct session *session)
{
	const struct session_options *options = &session->options;
	if (!options->argv)
		return NULL;
	bool lends_stdout = !options->output_fd && strcmp(options->output, "-") == 0;
	struct target_variables variables = {0};
	sources_put_variables(&session->sources, &variables);
	struct err *err = target_start(
		options->argv, &variables, &session->signals.old, lends_stdout, &session->target);
	vec_deinit(&variables);
	try(err);
	session->has_target = true;
	if (options->target == SESSION_COMMAND)
		session->command_pid = (uint32_t)session->target.pid;
	return NULL;
}

/* Ahead of what takes time: another recorder may write there. */
static struct err *open_ring_folder(struct session *session)
{
	const struct session_options *options = &session->options;
	if (!options->ring.folder)
		return NULL;
	try(file_ring_open(&options->ring, &options->owner, &session->ring));
	session->recording.ring = &session->ring;
	return NULL;
}

static struct err *create_parts(struct session *session)
{
	const struct session_options *options = &session->options;
	try(open_ring_folder(session));
	try(proc_check_namespace());
	try(sources_probe(&session->sources, event_sources, EVENT_SOURCES, options));
	vec_each(&session->sources, source)
		if (source->row->preloads)
			session->translate.library.path = source->row->preloads(source);
	try(session_signals_take(&session->signals));
	struct process_label_options labels = {options->label_variables,
		options->nr_label_variables, options->label_file, options->label_sources};
	try(process_labels_begin(&session->translate.process_labels, &labels));
	try(cgroup_filter_open(
		&session->cgroups, options, &session->translate.process_labels.file));
	try(watched_tasks_open(options->pids, options->nr_pids, &session->watched));
	/* Forked first: the child inherits little and shows up in no sample of ours. */
	try(start_target(session));
	if (!options->exclude_kernel) /* early: it has time until the first flush */
		kernel_symbols_start(&session->translate.kernel.symbols, options->cache_folder);
	struct target_tasks tasks = target_tasks_choose(options, &session->command_pid);
	try(sideband_create(&tasks, &session->sideband));
	try(find_script_probes(session));
	try(create_sampler(session));
	process_labels_on_context(
		&session->translate.process_labels, sampler_set_thread_context, session->sampler);
	session->translate.on_image_end = end_kept_of_image;
	session->translate.on_image_end_context = session;
	try(create_rule_source(session));
	try(watch_all(session));
	session->recording.stop_fd = session->signals.fd;
	session->drain.sideband = session->sideband;
	session->drain.sampler = session->sampler;
	session->account.sideband = session->sideband;
	session->account.sampler = session->sampler;
	session->account.cgroups = &session->cgroups;
	sources_put_names(&session->sources, &session->event_names);
	return recording_begin(&session->recording);
}

/* What each part borrows of the others. */
static void connect_parts(struct session *session)
{
	const struct session_options *options = &session->options;
	struct translate *translate = &session->translate;
	translate->objects.files = target_files_create(options->target == SESSION_COMMAND);
	session->script_probes.target_files = translate->objects.files;
	code_rules_init(&session->code, &translate->processes);
	session->recording.options = options;
	session->recording.translate = translate;
	session->recording.sources = &session->sources;
	session->drain.translate = translate;
	session->account.drain = &session->drain;
	session->account.recording = &session->recording;
	session->account.script_probes = &session->script_probes;
	session->account.left_out = &session->left_out;
	if (options->keeps_files)
		session->kept_files = kept_files_create();
	translate->resolver.kept_files = session->kept_files;
	if (leaves_stacks(options)) /* which files these are in is not known before */
		translate->emitter.kept_files = session->kept_files;
}

struct err *session_create(const struct session_options *options, struct session **ret)
{
	mem_return_freed();
	struct session *session = mem_zalloc(sizeof(*session));
	session->options = *options;
	session->signals.fd = -1;
	session->epoll_fd = -1;
	session->ring.folder = session->ring.holder.fd = -1;
	translate_init(&session->translate, session_is_system_wide(options));
	connect_parts(session);
	translate_start_readers(&session->translate);
	rule_source_prepare(&session->rules);
	proc_access_start();
	struct err *err = create_parts(session);
	cpu_watch_init(&session->cpus, clock_now_ns());
	if (err)
		session_destroy(session);
	else
		*ret = session;
	return err;
}

void session_destroy(struct session *session)
{
	if (!session)
		return;
	if (session->has_target)
		target_deinit(&session->target);
	recording_deinit(&session->recording);
	file_ring_deinit(&session->ring);
	code_rules_deinit(&session->code);
	rule_source_deinit(&session->rules);
	sampler_destroy(session->sampler);
	sources_deinit(&session->sources);
	script_probes_deinit(&session->script_probes);
	str_deinit(&session->event_names);
	sideband_destroy(session->sideband);
	translate_deinit(&session->translate);
	kept_files_destroy(session->kept_files);
	watched_tasks_deinit(&session->watched);
	proc_pids_deinit(&session->targets);
	left_out_deinit(&session->left_out);
	cgroup_filter_deinit(&session->cgroups);
	proc_access_stop();
	session_signals_restore(&session->signals);
	mem_close_fd(&session->epoll_fd);
	session_account_deinit(&session->account);
	cpu_watch_deinit(&session->cpus);
	proc_pids_deinit(&session->processes);
	mem_free(session);
}

struct kept_files *session_take_kept_files(struct session *session)
{
	return steal_ptr(session->kept_files);
}

bool session_takes_over(const struct session *session)
{
	return session->ring.holder.pid != 0;
}

const char *session_event_name(const struct session *session)
{
	return str_text(&session->event_names);
}

/* ---- writing ---- */

static struct err *flush_if_due(struct session *session)
{
	const struct session_options *options = &session->options;
	const struct recording *recording = &session->recording;
	uint64_t now = session->drain.drained_ns;
	uint64_t oldest_ns = session->translate.unwritten_ns; /* it may have waited */
	bool is_due = now - session->flushed_ns >= FLUSH_INTERVAL_NS ||
		      (oldest_ns && now >= oldest_ns + FLUSH_INTERVAL_NS) ||
		      writer_bytes_pending(recording->writer) >= FLUSH_BYTES ||
		      recording_is_filling(recording, options->max_bytes) ||
		      recording_is_filling(recording, options->switching.bytes);
	if (!is_due || !session->is_started)
		return NULL;
	session->flushed_ns = now;
	session->translate.unwritten_ns = 0;
	if (session->rules.store)
		table_store_advance_epoch(session->rules.store);
	try(session_account_read(&session->account, false));
	try(recording_flush(&session->recording, &session->account.counts));
	if (session->callbacks->health) {
		struct session_summary health = {.longest_turn = session->turns.longest};
		session_account_health(&session->account, &health);
		session->callbacks->health(session->callbacks->context, &health);
	}
	return NULL;
}

/* ---- what ends a session, or a file ---- */

/* Scripts of files that turn up from now on are not traced any more. */
static void end_probing(struct session *session)
{
	session->translate.on_file = NULL;
}

static void session_stop(struct session *session, enum layout_end_reason reason)
{
	if (session->is_over)
		return;
	session->is_over = true;
	session->reason = reason;
	end_probing(session);
}

/* What is still waiting then is the next file's, with its count. */
static struct err *switch_file(struct session *session)
{
	sampler_divide(session->sampler, clock_now_ns());
	session_drain_finish_ring(&session->drain);
	session_drain_end_file(&session->drain);
	try(session_account_read(&session->account, true));
	return recording_switch(&session->recording, &session->account.counts);
}

/* Else it ends the session, or, SIGUSR2, nothing is done about it. */
static bool is_to_switch(const struct session *session, int number)
{
	const struct session_options *options = &session->options;
	return (number == SIGUSR2 && options->switching.on_signal) ||
	       (number == SIGHUP && options->ring.folder);
}

static struct err *take_signal(struct session *session)
{
	for (int number; (number = session_signals_next(&session->signals));) {
		if (is_to_switch(session, number)) {
			if (number == SIGHUP)
				process_labels_read_again(
					&session->translate.process_labels, clock_now_ns());
			try(switch_file(session));
			if (number == SIGHUP && session->callbacks->reloaded)
				session->callbacks->reloaded(session->callbacks->context);
		} else if (number != SIGUSR2) {
			session->summary->end_signal = number;
			session_stop(session, LAYOUT_END_SIGNAL);
		}
	}
	return NULL;
}

/* The BPF programs end by themselves then. What there is to be moved is moved when all is over. */
static bool check_duration(struct session *session)
{
	enum {
		MAX_AWAITING_NS = 2000000000,
		LOOK_NS = 5000000,
	};
	const struct session_options *options = &session->options;
	uint64_t *until_ns = &session->recording.until_ns, now_ns = clock_now_ns();
	uint64_t last_ns = session->account.started_ns + options->duration_ns + MAX_AWAITING_NS;
	if (!*until_ns || now_ns < *until_ns)
		return session->is_over;
	if (options->awaits_stacks && now_ns < last_ns && !sampler_is_ready(session->sampler))
		*until_ns = now_ns + LOOK_NS;
	else
		session_stop(session, LAYOUT_END_DURATION);
	return session->is_over;
}

static struct err *check_limits(struct session *session)
{
	const struct session_options *options = &session->options;
	const struct recording *recording = &session->recording;
	uint64_t now = session->drain.drained_ns;
	if (recording_is_over(recording, options->max_bytes))
		session_stop(session, LAYOUT_END_SIZE);
	if (watched_tasks_are_gone(&session->watched))
		session_stop(session, LAYOUT_END_TARGET);
	const struct session_switch *switching = &options->switching;
	uint64_t age_ns = now - recording->begun_ns;
	/* Not more often than files are written, even if what every file begins with is too much.
	 */
	bool is_switch_due = (switching->interval_ns && age_ns >= switching->interval_ns) ||
			     (switching->bytes && age_ns >= FLUSH_INTERVAL_NS &&
				     recording_is_over(recording, switching->bytes));
	return is_switch_due && !session->is_over ? switch_file(session) : NULL;
}

/* What goes on without the command, unseen from now on. */
static void note_children(struct session *session)
{
	enum {
		MOST = 256,
	};
	struct session_summary *summary = session->summary;
	size_t room = sizeof(summary->children) / sizeof(*summary->children);
	uint32_t targets[MOST];
	size_t count =
		session->command_pid ? sampler_list_targets(session->sampler, targets, MOST) : 0;
	for (size_t i = 0; i < count; i++) {
		struct proc_stat stat;
		if (targets[i] == session->command_pid || !proc_read_stat(targets[i], &stat) ||
			stat.state == 'Z' || stat.state == 'X')
			continue;
		if (summary->nr_children < room)
			summary->children[summary->nr_children] = targets[i];
		summary->nr_children++;
	}
}

/*
 * By the CPU time of a command of which nothing was left out on purpose, and all was one file's.
 * Idle CPUs miss timers by design: nothing else tells how many were due.
 */
static uint64_t ticks_due(const struct session *session)
{
	const struct session_options *options = &session->options;
	bool is_whole = options->target == SESSION_COMMAND &&
			options->event != SESSION_EVENT_NONE && !options->delay_ns &&
			!options->duration_ns && !options->nr_cpus && !options->no_inherit &&
			!options->exclude_user && !options->exclude_kernel &&
			session->recording.nr_files <= 1;
	return is_whole ? (uint64_t)(session->summary->child_cpu_s * options->frequency_hz) : 0;
}

static void check_child(struct session *session)
{
	struct session_summary *summary = session->summary;
	if (session->has_target && !summary->has_child_status &&
		target_poll_exit(&session->target, &summary->child_status)) {
		summary->has_child_status = true;
		summary->child_cpu_s = session_account_cpu_s(RUSAGE_CHILDREN);
		session->account.counts.ticks_due = ticks_due(session);
		note_children(session);
		session_stop(session, LAYOUT_END_COMMAND);
	}
}

/* ---- running ---- */

static struct err *start_sampling(struct session *session)
{
	try(file_ring_take_over(&session->ring, output_path(session->recording.output)));
	uint64_t duration_ns = session->options.duration_ns, now_ns = clock_now_ns();
	session->is_started = true;
	session->account.started_ns = now_ns;
	session->recording.until_ns = duration_ns ? now_ns + duration_ns : 0;
	recording_mark_time(&session->recording);
	bool is_later = session->options.awaits_stacks; /* only the recorder knows when */
	return sampler_start(session->sampler, now_ns, is_later ? 0 : session->recording.until_ns);
}

static bool has_unread_processes(const struct session *session)
{
	return session->next_process < session->processes.len;
}

/*
 * There may be tens of thousands. One whose samples come before its turn is read with the first.
 * What is read holds from the begin on: a sample that was taken before the turn may still be in the
 * ring, and events have what has changed since.
 */
static void read_processes(struct session *session)
{
	uint64_t until = clock_now_ns() + READ_PROCESSES_NS;
	proc_access_set_paced(true);
	while (has_unread_processes(session) && clock_now_ns() < until)
		translate_add_process(&session->translate,
			session->processes.data[session->next_process++],
			session->account.begun_ns);
	proc_access_set_paced(false);
}

static uint64_t next_deadline(const struct session *session)
{
	const struct session_options *options = &session->options;
	uint64_t deadline = session_drain_due_ns(&session->drain);
	uint64_t others[] = {
		session->is_started ? 0 : session->account.begun_ns + options->delay_ns,
		session->recording.until_ns,
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i] && others[i] < deadline)
			deadline = others[i];
	return deadline;
}

static void wait_for_events(struct session *session)
{
	uint64_t now = clock_now_ns(), deadline = next_deadline(session);
	bool is_due = session->drain.has_more || has_unread_processes(session) || deadline <= now;
	int timeout_ms = is_due ? 0 : (int)((deadline - now + 999999) / 1000000);
	struct epoll_event events[16];
	epoll_wait(session->epoll_fd, events, 16, timeout_ms);
}

static struct err *update_sources(struct session *session, uint64_t now_ns)
{
	try(sources_update(&session->sources, now_ns));
	if (sources_times(&session->sources, now_ns).switches_often)
		sideband_widen(session->sideband);
	return NULL;
}

static void renew_cpus(struct session *session, uint64_t now_ns)
{
	cpu_watch_check(&session->cpus, now_ns);
	vec_each(&session->cpus.gaps, gap) {
		sideband_renew_cpu(session->sideband, gap);
		sources_renew_cpu(&session->sources, gap);
		session->account.counts.cpus_back++;
	}
}

static struct err *run_turn(struct session *session)
{
	try(take_signal(session));
	check_child(session);
	if (check_duration(session))
		return NULL;
	uint64_t now = clock_now_ns();
	if (!session->is_started && now - session->account.begun_ns >= session->options.delay_ns)
		try(start_sampling(session));
	renew_cpus(session, now);
	try(cgroup_filter_renew(&session->cgroups, now));
	process_labels_renew(&session->translate.process_labels, now);
	if (session->is_started && !session->is_over)
		try(update_sources(session, now));
	read_processes(session);
	session_drain_take(&session->drain);
	try(flush_if_due(session));
	try(check_limits(session));
	if (session->callbacks->progress) {
		struct session_progress progress =
			session_account_progress(&session->account, !session->is_over);
		session->callbacks->progress(session->callbacks->context, &progress);
	}
	return NULL;
}

static void snapshot_targets(struct session *session)
{
	const struct session_options *options = &session->options;
	struct translate *translate = &session->translate;
	uint64_t now = clock_now_ns();
	if (session_is_system_wide(options))
		proc_list_pids(&session->processes);
	/* Or threads, whose processes are what has maps. */
	vec_each(&session->targets, pid) {
		uint32_t tgid = options->target == SESSION_THREADS ? proc_read_tgid(*pid) : *pid;
		if (tgid)
			translate_add_process(translate, tgid, now);
	}
}

/* The first file is the program, or the interpreter of a script; libraries follow. */
static void expect_first_file(void *context, const char *path)
{
	struct session *session = context;
	if (!session->has_expected_program)
		resolver_expect_program(&session->translate.resolver, path);
	session->has_expected_program = true;
}

/*
 * What a program is labelled by is in its own file for some runtimes: the first sample has it, too.
 *
 * What it takes to unwind code that runtimes make is made before the first sample of programs that
 * run already: over a snapshot, which native code is left to for as long, no such code can be
 * unwound. Sideband piles up meanwhile, so nothing falls between this look and the stream.
 */
static void prepare(struct session *session)
{
	struct rule_source *rules = session->translate.resolver.rules;
	uint64_t until_ns = clock_now_ns() + PREPARE_NS;
	if (rules && session->options.target == SESSION_COMMAND)
		program_files_each(session->options.argv[0], expect_first_file, session);
	snapshot_targets(session);
	do
		read_processes(session);
	while (rules && has_unread_processes(session) && clock_now_ns() < until_ns);
	while (rules && rule_source_is_making(rules) && clock_now_ns() < until_ns) {
		rule_source_wait(rules);
		rule_source_collect(rules);
	}
}

static struct err *session_run_until_over(struct session *session)
{
	struct session_account *account = &session->account;
	uint64_t now_ns = clock_now_ns();
	account->begun_ns = session->drain.drained_ns = session->flushed_ns = now_ns;
	session->drain.stalled_until_ns = now_ns + session->options.stall_ns;
	priority_raise_alone();
	prepare(session); /* which may wait: nothing comes from the ring yet */
	turn_time_begin(&session->turns);
	if (!session->options.delay_ns)
		try(start_sampling(session));
	uint32_t child = 0;
	if (session->has_target) {
		child = (uint32_t)session->target.pid;
		try(target_release(&session->target, &session->summary->exec_errno));
	}
	if (session->summary->exec_errno)
		return NULL; /* nothing was profiled, and an older recording stays what it is */
	try(recording_publish(&session->recording));
	session->summary->is_published = true;
	account->running_ns = clock_now_ns();
	account->running_cpu_s = session_account_cpu_s(RUSAGE_SELF);
	if (session->callbacks->ready)
		session->callbacks->ready(
			session->callbacks->context, session_event_name(session), child);
	turn_time_end(&session->turns);
	while (!session->is_over) {
		wait_for_events(session);
		turn_time_begin(&session->turns);
		try(run_turn(session));
		turn_time_end(&session->turns);
	}
	return NULL;
}

/* The signal that stops us often reached the command too: it gets a moment to end, nothing more. */
static void grant_grace(struct session *session)
{
	uint64_t until = clock_now_ns() + CHILD_GRACE_NS;
	while (session->has_target && !session->summary->has_child_status &&
		clock_now_ns() < until) {
		usleep(10000);
		check_child(session);
	}
}

static void fill_summary(struct session *session, struct session_summary *summary)
{
	struct shadow_cost cost;
	bool has_cost = sampler_read_shadow_cost(session->sampler, &cost);
	summary->final = session_account_progress(&session->account, false);
	summary->reason = session->reason;
	summary->longest_turn = session->turns.longest;
	snprintf(summary->output, sizeof(summary->output), "%s", session->options.output);
	summary->timers = sources_times(&session->sources, 0);
	summary->raised_period_ns = sources_raised_period(&session->sources);
	size_t nr_hints = 0;
	vec_each(&session->sources, source)
		if (source->row->hint && source->row->hint(source))
			summary->hints[nr_hints++] = source->row->hint(source);
	summary->label_file_error = process_labels_file_error(&session->translate.process_labels);
	summary->is_in_pid_namespace = sampler_is_in_pid_namespace(session->sampler);
	session_account_summarize(&session->account, has_cost ? &cost : NULL, summary);
}

/* The first of them; the other is let go. */
static struct err *first_error(struct err *first, struct err *second)
{
	if (!first)
		return second;
	err_destroy(second);
	return first;
}

/* Sources off, then the ring, then the counters: in this order every event is accounted for. */
static struct err *finish(struct session *session, struct err *err)
{
	uint64_t now_ns = clock_now_ns(), *until_ns = &session->recording.until_ns;
	session->summary->stopped_ns = now_ns;
	sampler_stop(session->sampler, now_ns);
	if (!*until_ns || now_ns < *until_ns) /* what follows may take a while */
		*until_ns = now_ns;
	session->is_over = true;
	end_probing(session);
	session->drain.stalled_until_ns = 0;
	session_drain_finish_ring(&session->drain);
	if (err)
		session->reason = LAYOUT_END_WRITE_ERROR;
	session_drain_end(&session->drain);
	end_kept_of_image(session, 0, now_ns);
	library_watch_finish(&session->translate.library);
	if (session->kept_files)
		kept_files_finish(session->kept_files, &session->translate.objects,
			&session->translate.emitter.objects);
	err = first_error(err, session_account_read(&session->account, true));
	struct err *write_err =
		recording_finish(&session->recording, &session->account.counts, session->reason);
	if (session->callbacks->written)
		session->callbacks->written(session->callbacks->context);
	file_ring_release(&session->ring);
	session_account_finish(&session->account);
	if (write_err && !err)
		session->reason = LAYOUT_END_WRITE_ERROR;
	return first_error(err, write_err);
}

struct err *session_run(struct session *session, const struct session_callbacks *callbacks,
	struct session_summary *ret)
{
	*ret = (struct session_summary){0};
	session->callbacks = callbacks;
	session->summary = ret;
	turn_time_init(&session->turns);
	struct err *err = session_run_until_over(session);
	turn_time_deinit(&session->turns);
	/* When that failed early: the command must not wait for ever. */
	if (session->has_target)
		mem_close_fd(&session->target.release_fd);
	err = finish(session, err);
	priority_lower();
	fill_summary(session, ret);
	if (session->reason == LAYOUT_END_SIGNAL)
		grant_grace(session);
	return err;
}

bool session_wait_command(struct session *session, struct session_summary *summary)
{
	session->summary = summary;
	while (session->has_target && !summary->has_child_status && !summary->end_signal) {
		struct pollfd fds[] = {
			{.fd = session->signals.fd, .events = POLLIN},
			{.fd = session->target.exit_fd, .events = POLLIN},
		};
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		for (int number; (number = session_signals_next(&session->signals));)
			if (number != SIGUSR2)
				summary->end_signal = number;
		check_child(session);
	}
	return summary->has_child_status;
}

/* ---- what it was ---- */

const struct session_source *session_summary_source(
	const struct session_summary *summary, const char *name)
{
	static const struct session_source none;
	for (size_t i = 0; i < summary->nr_sources; i++)
		if (strcmp(summary->sources[i].name, name) == 0)
			return &summary->sources[i];
	return &none;
}

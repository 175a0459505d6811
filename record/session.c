#include "record/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/proc.h"
#include "record/recording.h"
#include "record/sampler.h"
#include "record/session_summary.h"
#include "record/sideband.h"
#include "record/target.h"
#include "record/translate.h"

enum {
	DEFAULT_RING_BYTES = 4 << 20,
	DEFAULT_TABLE_BYTES = 32 << 20,
	DEFAULT_SNAPSHOT_BYTES = 64 << 10, /* most stacks are a tenth of that */
	DRAIN_INTERVAL_NS = 100 * 1000 * 1000,
	FLUSH_INTERVAL_NS = 700 * 1000 * 1000, /* with the drain: kill -9 loses less than 1 s */
	FLUSH_BYTES = 1 << 20,
	CHILD_GRACE_NS = 1000 * 1000 * 1000, /* for the command to end after our stop signal */
	NS_PER_S = 1000 * 1000 * 1000,
};

struct session {
	struct session_options options;
	struct target target;
	bool has_target;
	int signal_fd, epoll_fd;
	struct target_signals old_signals;
	VEC(int) target_fds; /* pidfds of the targets; -1 where there can be none (threads) */
	struct sideband *sideband;
	struct sampler *sampler;
	VEC(struct usdt) probes;
	struct script_probes script_probes;
	struct str event_names;
	struct rule_source rules;
	struct translate translate;
	struct kept_files *kept_files; /* or NULL */
	struct recording recording;
	struct recording_counts counts;

	const struct session_callbacks *callbacks;
	struct session_summary *summary;
	uint64_t begun_ns, started_ns, running_ns, flushed_ns, drained_ns;
	double running_cpu_s; /* our own CPU time when everything ran */
	bool is_started;
	bool is_over;
	enum layout_end_reason reason;
};

/* ---- creating ---- */

static struct err *take_signals(struct session *session)
{
	sigset_t signals;
	sigemptyset(&signals);
	static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2};
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		sigaddset(&signals, taken[i]);
	struct sigaction hangup;
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler == SIG_IGN)
		sigdelset(&signals, SIGHUP); /* nohup: it is to outlive the terminal */
	sigprocmask(SIG_BLOCK, &signals, &session->old_signals.mask);
	/* Both come back as errors of write. */
	session->old_signals.on_pipe = signal(SIGPIPE, SIG_IGN);
	session->old_signals.on_file_size = signal(SIGXFSZ, SIG_IGN);
	session->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return session->signal_fd < 0 ? err_sys(errno, "signalfd") : NULL;
}

/* Edge-triggered: buffers are emptied at every wake-up, and must wake us only when they fill. */
static struct err *watch(struct session *session, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
	if (epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return err_sys(errno, "epoll_ctl");
	return NULL;
}

static struct err *create_sampler(struct session *session)
{
	const struct session_options *options = &session->options;
	static const enum sampler_clock clocks[] = {
		[SESSION_EVENT_AUTO] = SAMPLER_CLOCK_AUTO,
		[SESSION_EVENT_CYCLES] = SAMPLER_CLOCK_CYCLES,
		[SESSION_EVENT_CPU_CLOCK] = SAMPLER_CLOCK_CPU,
		[SESSION_EVENT_NONE] = SAMPLER_CLOCK_NONE,
	};
	static const enum event_filter filters[] = {
		[SESSION_COMMAND] = EVENT_FILTER_PROCESS,
		[SESSION_PROCESSES] = EVENT_FILTER_PROCESS,
		[SESSION_THREADS] = EVENT_FILTER_THREAD,
		[SESSION_SYSTEM] = EVENT_FILTER_NONE,
		[SESSION_USER] = EVENT_FILTER_USER,
	};
	static const enum event_call_graph call_graphs[] = {
		[SESSION_CALL_GRAPH_AUTO] = EVENT_CALL_GRAPH_AUTO,
		[SESSION_CALL_GRAPH_FP] = EVENT_CALL_GRAPH_FP,
		[SESSION_CALL_GRAPH_DWARF] = EVENT_CALL_GRAPH_DWARF,
		[SESSION_CALL_GRAPH_BOTH] = EVENT_CALL_GRAPH_BOTH,
	};
	struct sampler_options sampler = {
		.clock = clocks[options->event],
		.frequency_hz = options->frequency_hz,
		.period = options->period,
		.exclude_user = options->exclude_user,
		.exclude_kernel = options->exclude_kernel,
		.probes = session->probes.data,
		.nr_probes = session->probes.len,
		.script_probes = options->usdt_stacks ? &session->script_probes : NULL,
		.cpus = options->cpus,
		.nr_cpus = options->nr_cpus,
		.filter = filters[options->target],
		.uid = options->uid,
		.command_pid =
			options->target == SESSION_COMMAND ? (uint32_t)session->target.pid : 0,
		.follow_children = !options->no_inherit,
		.ring_bytes = options->ring_bytes ? options->ring_bytes : DEFAULT_RING_BYTES,
		.call_graph = call_graphs[options->call_graph],
		.snapshot_bytes =
			options->snapshot_bytes ? options->snapshot_bytes : DEFAULT_SNAPSHOT_BYTES,
	};
	try(sampler_create(&sampler, &session->sampler));
	if (options->target == SESSION_COMMAND)
		return sampler_add_target(session->sampler, (uint32_t)session->target.pid);
	for (size_t i = 0; i < options->nr_pids; i++)
		try(sampler_add_target(session->sampler, options->pids[i]));
	return NULL;
}

/* To be unwound by the report. */
static bool leaves_stacks(const struct session_options *options)
{
	return options->call_graph == SESSION_CALL_GRAPH_DWARF ||
	       options->call_graph == SESSION_CALL_GRAPH_BOTH;
}

static struct err *create_rule_source(struct session *session)
{
	const struct session_options *options = &session->options;
	struct resolver *resolver = &session->translate.resolver;
	resolver->keeps_snapshots = leaves_stacks(options);
	if (options->call_graph == SESSION_CALL_GRAPH_FP)
		return NULL;
	struct table_store_maps maps = sampler_table_maps(session->sampler);
	maps.unwanted_vms = options->unwanted_vms;
	uint64_t table_bytes = options->table_bytes ? options->table_bytes : DEFAULT_TABLE_BYTES;
	try(rule_source_init(&session->rules, &maps, table_bytes, options->cache_folder,
		&session->translate.objects));
	resolver->rules = &session->rules;
	return NULL;
}

static struct err *watch_all(struct session *session)
{
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (session->epoll_fd < 0)
		return err_sys(errno, "epoll_create1");
	try(watch(session, session->signal_fd));
	try(watch(session, sampler_fd(session->sampler)));
	size_t count;
	const int *fds = sideband_fds(session->sideband, &count);
	for (size_t i = 0; i < count; i++)
		try(watch(session, fds[i]));
	if (session->translate.resolver.rules)
		try(watch(session, rule_source_fd(&session->rules)));
	return session->has_target ? watch(session, session->target.exit_fd) : NULL;
}

static struct err *find_probes(struct session *session)
{
	const struct session_options *options = &session->options;
	if (options->nr_usdt > EVENT_MAX_PROBES)
		return err_new(ERR_USAGE, "%zu USDT probes: more than %d at once", options->nr_usdt,
			EVENT_MAX_PROBES);
	for (size_t i = 0; i < options->nr_usdt; i++) {
		struct usdt probe;
		try(usdt_find(options->usdt[i], &probe));
		vec_push(&session->probes, probe);
	}
	return NULL;
}

/* Of what turned up while we record. It is late then: the first functions have been entered. */
static void add_script_probes(
	void *context, const struct object *object, const struct object_location *where)
{
	struct session *session = context;
	struct script_probes *probes = &session->script_probes;
	size_t first = probes->places.len;
	if (session->is_over)
		return;
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
	session->translate.on_file = add_script_probes;
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

static void describe_events(struct session *session)
{
	const struct sampler *sampler = session->sampler;
	struct recording *recording = &session->recording;
	struct recording_event timer = {
		.name = sampler_event_name(sampler),
		.unit = sampler_event_unit(sampler),
		.period = sampler_period(sampler),
		.frequency_hz = session->options.frequency_hz,
	};
	vec_push(&recording->events, timer);
	vec_each(&session->probes, probe)
		vec_push(&recording->events,
			(struct recording_event){
				.name = probe->event, .unit = LAYOUT_UNIT_HITS, .period = 1});
	vec_each(&recording->events, event)
		if (event->name)
			str_printf(&session->event_names, "%s%s",
				session->event_names.len ? ", " : "", event->name);
}

static struct err *create(struct session *session)
{
	const struct session_options *options = &session->options;
	try(find_probes(session));
	try(take_signals(session));
	for (size_t i = 0; i < options->nr_pids; i++) {
		if (!proc_is_alive(options->pids[i]))
			return err_new(ERR_USAGE, "there is no process %u", options->pids[i]);
		vec_push(&session->target_fds,
			(int)syscall(SYS_pidfd_open, options->pids[i], 0)); /* close-on-exec */
	}
	/* Forked first: the child inherits little and shows up in no sample of ours. */
	if (options->argv) {
		bool lends_stdout = strcmp(options->output, "-") == 0;
		try(target_start(
			options->argv, &session->old_signals, lends_stdout, &session->target));
		session->has_target = true;
	}
	if (!options->exclude_kernel) /* early: it has time until the first flush */
		kernel_symbols_start(&session->translate.kernel.symbols);
	try(sideband_create(&session->sideband));
	try(find_script_probes(session));
	try(create_sampler(session));
	try(create_rule_source(session));
	try(watch_all(session));
	session->recording.stop_fd = session->signal_fd;
	describe_events(session);
	return recording_begin(&session->recording);
}

struct err *session_create(const struct session_options *options, struct session **ret)
{
	struct session *session = mem_zalloc(sizeof(*session));
	session->options = *options;
	session->signal_fd = session->epoll_fd = -1;
	translate_init(&session->translate, session_is_system_wide(options));
	session->recording.options = &session->options;
	session->recording.translate = &session->translate;
	if (options->keeps_files)
		session->kept_files = kept_files_create();
	session->translate.resolver.kept_files = session->kept_files;
	if (leaves_stacks(options)) /* which files these are in is not known before */
		session->translate.emitter.kept_files = session->kept_files;
	struct err *err = create(session);
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
	rule_source_deinit(&session->rules);
	sampler_destroy(session->sampler);
	vec_each(&session->probes, probe)
		usdt_deinit(probe);
	vec_deinit(&session->probes);
	script_probes_deinit(&session->script_probes);
	str_deinit(&session->event_names);
	sideband_destroy(session->sideband);
	translate_deinit(&session->translate);
	kept_files_destroy(session->kept_files);
	vec_deinit(&session->counts.cpus);
	vec_each(&session->target_fds, fd)
		mem_close_fd(fd);
	vec_deinit(&session->target_fds);
	if (session->signal_fd >= 0) {
		sigprocmask(SIG_SETMASK, &session->old_signals.mask, NULL);
		close(session->signal_fd);
	}
	mem_close_fd(&session->epoll_fd);
	mem_free(session);
}

struct kept_files *session_take_kept_files(struct session *session)
{
	return steal_ptr(session->kept_files);
}

const char *session_event_name(const struct session *session)
{
	return str_text(&session->event_names);
}

/* ---- moving data ---- */

static void take_cpu_counters(void *context, const struct sampler_cpu_counters *counters)
{
	struct recording_counts *counts = context;
	vec_push(&counts->cpus, *counters);
}

/* `is_last`: of the file that is being written. */
static struct err *read_counts(struct session *session, bool is_last)
{
	struct recording_counts *counts = &session->counts;
	counts->cpus.len = 0;
	try(sampler_read_counters(session->sampler, is_last, take_cpu_counters, counts));
	for (size_t i = 0; i < TRANSLATE_CAUSES; i++) {
		const struct translate_taken *taken = &session->translate.stats.taken[i];
		counts->taken[i].unresolved = taken->unresolved;
		counts->taken[i].samples = taken->received - taken->unresolved;
	}
	counts->sideband_lost = sideband_lost(session->sideband);
	counts->targets_full = sampler_targets_full(session->sampler);
	counts->files_full = sampler_files_full(session->sampler);
	return NULL;
}

/* The ring first: what sideband then holds is not older than any sample. */
static void drain(struct session *session)
{
	uint64_t now = recording_now_ns();
	session->drained_ns = now;
	if (session->options.stall_ns && now - session->begun_ns < session->options.stall_ns &&
		!session->is_over)
		return;
	sampler_drain(session->sampler, translate_collect, &session->translate);
	sideband_drain(session->sideband, &session->translate.sideband);
	if (session->translate.resolver.rules)
		rule_source_collect(&session->rules);
	if (translate_run(&session->translate, now, session->is_over))
		sampler_forget_stacks(session->sampler);
	if (script_table_is_full(&session->translate.scripts)) {
		script_table_forget_numbers(&session->translate.scripts);
		sampler_forget_codes(session->sampler);
	}
}

static struct err *flush_if_due(struct session *session)
{
	const struct session_options *options = &session->options;
	const struct recording *recording = &session->recording;
	bool is_due = session->drained_ns - session->flushed_ns >= FLUSH_INTERVAL_NS ||
		      writer_bytes_pending(recording->writer) >= FLUSH_BYTES ||
		      recording_is_filling(recording, options->max_bytes) ||
		      recording_is_filling(recording, options->switching.bytes);
	if (!is_due || !session->is_started)
		return NULL;
	session->flushed_ns = session->drained_ns;
	if (session->rules.store)
		table_store_advance_epoch(session->rules.store);
	try(read_counts(session, false));
	return recording_flush(&session->recording, &session->counts);
}

static uint64_t sum_lost(const struct recording_counts *counts)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < TRANSLATE_CAUSES; i++)
		lost += counts->taken[i].unresolved + counts->taken[i].lost_write;
	vec_each(&counts->cpus, cpu)
		lost += cpu->counted.lost_ring + cpu->counted.hits_lost_ring +
			cpu->counted.hits_lost_busy;
	return lost;
}

static double cpu_seconds(int who)
{
	struct rusage usage;
	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The share of one CPU that recording takes, without what starting it took. */
static double overhead_percent(const struct session *session)
{
	uint64_t since_ns = session->drained_ns - session->running_ns;
	double cpu_s = cpu_seconds(RUSAGE_SELF) - session->running_cpu_s;
	return since_ns < NS_PER_S / 2 ? 0 : 100 * cpu_s * NS_PER_S / (double)since_ns;
}

static struct session_progress progress_of(const struct session *session)
{
	enum {
		TYPICAL_COMPRESSION = 4
	};
	uint64_t since = session->started_ns ? session->started_ns : session->begun_ns;
	double elapsed_s = (double)(session->drained_ns - since) / NS_PER_S;
	uint64_t pending = session->is_over ? 0 : writer_bytes_pending(session->recording.writer);
	return (struct session_progress){
		.elapsed_s = elapsed_s,
		.samples = translate_resolved(&session->translate),
		.lost = sum_lost(&session->counts),
		.threads = (uint32_t)session->translate.emitter.thread_ids.len,
		.bytes = recording_bytes(&session->recording) + pending / TYPICAL_COMPRESSION,
		.overhead_percent = overhead_percent(session),
	};
}

/* ---- what ends a session, or a file ---- */

static void stop(struct session *session, enum layout_end_reason reason)
{
	if (session->is_over)
		return;
	session->is_over = true;
	session->reason = reason;
}

static struct err *switch_file(struct session *session)
{
	drain(session);
	try(read_counts(session, true));
	return recording_switch(&session->recording, &session->counts);
}

static struct err *take_signal(struct session *session)
{
	struct signalfd_siginfo info;
	while (read(session->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR2) {
			if (session->options.switching.on_signal)
				try(switch_file(session));
			continue;
		}
		session->summary->end_signal = (int)info.ssi_signo;
		stop(session, LAYOUT_END_SIGNAL);
	}
	return NULL;
}

/* A pidfd is readable once a process is dead: a zombie, too, and whoever gets its number later. */
static bool is_target_gone(const struct session *session, size_t index)
{
	struct pollfd target = {.fd = session->target_fds.data[index], .events = POLLIN};
	if (target.fd < 0)
		return !proc_is_alive(session->options.pids[index]);
	return poll(&target, 1, 0) == 1;
}

static bool all_targets_gone(const struct session *session)
{
	for (size_t i = 0; i < session->options.nr_pids; i++)
		if (!is_target_gone(session, i))
			return false;
	return session->options.nr_pids > 0;
}

static struct err *check_limits(struct session *session)
{
	const struct session_options *options = &session->options;
	uint64_t now = session->drained_ns;
	if (options->duration_ns && session->is_started &&
		now - session->started_ns >= options->duration_ns)
		stop(session, LAYOUT_END_DURATION);
	if (recording_is_over(&session->recording, options->max_bytes))
		stop(session, LAYOUT_END_SIZE);
	if (all_targets_gone(session))
		stop(session, LAYOUT_END_TARGET);
	const struct session_switch *switching = &options->switching;
	uint64_t age_ns = now - session->recording.begun_ns;
	/* Not more often than files are written, even if what every file begins with is too much.
	 */
	bool is_switch_due = (switching->interval_ns && age_ns >= switching->interval_ns) ||
			     (switching->bytes && age_ns >= FLUSH_INTERVAL_NS &&
				     recording_is_over(&session->recording, switching->bytes));
	return is_switch_due && !session->is_over ? switch_file(session) : NULL;
}

static void check_child(struct session *session)
{
	struct session_summary *summary = session->summary;
	if (session->has_target && !summary->has_child_status &&
		target_poll_exit(&session->target, &summary->child_status)) {
		summary->has_child_status = true;
		summary->child_cpu_s = cpu_seconds(RUSAGE_CHILDREN);
		stop(session, LAYOUT_END_COMMAND);
	}
}

/* ---- running ---- */

static struct err *start_sampling(struct session *session)
{
	session->is_started = true;
	session->started_ns = recording_now_ns();
	recording_mark_time(&session->recording);
	return sampler_start(session->sampler);
}

static uint64_t next_deadline(const struct session *session)
{
	const struct session_options *options = &session->options;
	uint64_t deadline = session->drained_ns + DRAIN_INTERVAL_NS;
	uint64_t others[] = {
		session->is_started ? 0 : session->begun_ns + options->delay_ns,
		session->is_started && options->duration_ns
			? session->started_ns + options->duration_ns
			: 0,
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i] && others[i] < deadline)
			deadline = others[i];
	return deadline;
}

static void wait_for_events(struct session *session)
{
	uint64_t now = recording_now_ns(), deadline = next_deadline(session);
	int timeout_ms = deadline > now ? (int)((deadline - now + 999999) / 1000000) : 0;
	struct epoll_event events[16];
	epoll_wait(session->epoll_fd, events, 16, timeout_ms);
}

static struct err *run_once(struct session *session)
{
	wait_for_events(session);
	try(take_signal(session));
	check_child(session);
	uint64_t now = recording_now_ns();
	if (!session->is_started && now - session->begun_ns >= session->options.delay_ns)
		try(start_sampling(session));
	drain(session);
	try(flush_if_due(session));
	try(check_limits(session));
	if (session->callbacks->progress) {
		struct session_progress progress = progress_of(session);
		session->callbacks->progress(session->callbacks->context, &progress);
	}
	return NULL;
}

static void snapshot_targets(struct session *session)
{
	const struct session_options *options = &session->options;
	uint64_t now = recording_now_ns();
	if (session_is_system_wide(options))
		translate_add_all(&session->translate, now);
	else if (options->target == SESSION_COMMAND)
		translate_add_process(&session->translate, (uint32_t)session->target.pid, now);
	for (size_t i = 0; i < options->nr_pids; i++) {
		uint32_t pid = options->pids[i]; /* or a thread's, whose process is what has maps */
		uint32_t tgid = options->target == SESSION_THREADS ? proc_read_tgid(pid) : pid;
		if (tgid)
			translate_add_process(&session->translate, tgid, now);
	}
}

static struct err *run(struct session *session)
{
	session->begun_ns = session->flushed_ns = session->drained_ns = recording_now_ns();
	if (!session->options.delay_ns)
		try(start_sampling(session));
	/* Sideband and samples pile up meanwhile, so nothing falls between snapshot and stream. */
	snapshot_targets(session);
	uint32_t child = 0;
	if (session->has_target) {
		child = (uint32_t)session->target.pid;
		try(target_release(&session->target, &session->summary->exec_errno));
	}
	if (session->summary->exec_errno)
		return NULL; /* nothing was profiled, and an older recording stays what it is */
	try(recording_publish(&session->recording));
	session->summary->is_published = true;
	session->running_ns = recording_now_ns();
	session->running_cpu_s = cpu_seconds(RUSAGE_SELF);
	if (session->callbacks->ready)
		session->callbacks->ready(
			session->callbacks->context, session_event_name(session), child);
	while (!session->is_over)
		try(run_once(session));
	return NULL;
}

/* The signal that stops us often reached the command too: it gets a moment to end, nothing more. */
static void grant_grace(struct session *session)
{
	uint64_t until = recording_now_ns() + CHILD_GRACE_NS;
	while (session->has_target && !session->summary->has_child_status &&
		recording_now_ns() < until) {
		usleep(10000);
		check_child(session);
	}
}

static void fill_summary(struct session *session, struct session_summary *summary)
{
	const struct session_parts parts = {
		.translate = &session->translate,
		.counts = &session->counts,
		.recording = &session->recording,
		.rules = &session->rules,
		.sampler = session->sampler,
		.script_probes = &session->script_probes,
	};
	summary->final = progress_of(session);
	summary->final.bytes = recording_bytes(&session->recording);
	summary->reason = session->reason;
	snprintf(summary->output, sizeof(summary->output), "%s", session->options.output);
	session_summarize(&parts, summary);
}

/* Timers off, then the ring, then the counters: in this order every tick is accounted for. */
static struct err *finish(struct session *session, struct err *err)
{
	sampler_stop(session->sampler);
	session->is_over = true;
	if (err)
		session->reason = LAYOUT_END_WRITE_ERROR;
	drain(session);
	drain(session); /* what the first pass held back */
	if (session->kept_files)
		kept_files_finish(session->kept_files, &session->translate.objects);
	struct err *count_err = read_counts(session, true);
	if (!err)
		err = count_err;
	else
		err_destroy(count_err);
	struct err *write_err =
		recording_finish(&session->recording, &session->counts, session->reason);
	for (size_t i = 0; i < TRANSLATE_CAUSES; i++)
		session->counts.taken[i].lost_write = session->counts.taken[i].samples -
						      recording_samples(&session->recording, i);
	if (write_err && !err) {
		session->reason = LAYOUT_END_WRITE_ERROR;
		return write_err;
	}
	err_destroy(write_err);
	return err;
}

struct err *session_run(struct session *session, const struct session_callbacks *callbacks,
	struct session_summary *ret)
{
	*ret = (struct session_summary){0};
	session->callbacks = callbacks;
	session->summary = ret;
	struct err *err = run(session);
	if (session->has_target) /* when that failed early: the command must not wait for ever */
		mem_close_fd(&session->target.release_fd);
	err = finish(session, err);
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
			{.fd = session->signal_fd, .events = POLLIN},
			{.fd = session->target.exit_fd, .events = POLLIN},
		};
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		struct signalfd_siginfo info;
		while (read(session->signal_fd, &info, sizeof(info)) == sizeof(info))
			if (info.ssi_signo != SIGUSR2)
				summary->end_signal = (int)info.ssi_signo;
		check_child(session);
	}
	return summary->has_child_status;
}

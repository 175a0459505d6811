#include "record/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "record/cpu_watch.h"
#include "record/proc.h"
#include "record/session_parts.h"
#include "record/session_summary.h"
#include "record/source/event_tally.h"
#include "record/turn_time.h"

enum {
	DRAIN_INTERVAL_NS = 100 * 1000 * 1000,
	READING_INTERVAL_NS = 5 * 1000 * 1000, /* while code of scripts is read */
	READING_CODE_NS = 10 * 1000 * 1000,    /* of a turn, for code without rules */
	FLUSH_INTERVAL_NS = 700 * 1000 * 1000, /* with the drain: kill -9 loses less than 1 s */
	WAIT_NS = 500 * 1000 * 1000,           /* of samples for unwind tables and code */
	LAST_WAIT_NS = 600 * 1000 * 1000,      /* the same, when all is over */
	FLUSH_BYTES = 1 << 20,
	CHILD_GRACE_NS = 1000 * 1000 * 1000, /* for the command to end after our stop signal */
	DRAINS_MAX = 8,
	READ_PROCESSES_NS = 20 * 1000 * 1000, /* of a turn, while there are some to be read */
};

struct session {
	struct session_parts parts;
	struct recording_counts counts;
	struct session_times times;
	struct turn_time turns;
	struct cpu_watch cpus;
	uint64_t cpus_back;
	/* Those that ran before: from `next_process` on they are still to be read from /proc. */
	struct proc_pids processes;
	size_t next_process;
	uint64_t flushed_ns;
	const struct session_callbacks *callbacks;
	struct session_summary *summary;
	bool is_started;
	bool is_over;
	bool is_waiting_last; /* for LAST_WAIT_NS at most */
	bool has_more;        /* in the ring, than was taken at once */
	enum layout_end_reason reason;
};

/* ---- creating ---- */

struct err *session_create(const struct session_options *options, struct session **ret)
{
	struct session *session = mem_zalloc(sizeof(*session));
	struct err *err = session_parts_init(&session->parts, options);
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
	session_parts_deinit(&session->parts);
	recording_counts_deinit(&session->counts);
	cpu_watch_deinit(&session->cpus);
	proc_pids_deinit(&session->processes);
	mem_free(session);
}

struct kept_files *session_take_kept_files(struct session *session)
{
	return steal_ptr(session->parts.kept_files);
}

const char *session_event_name(const struct session *session)
{
	return str_text(&session->parts.event_names);
}

/* ---- moving data ---- */

/* `is_last`: of the file that is being written. */
static struct err *read_counts(struct session *session, bool is_last)
{
	struct session_parts *parts = &session->parts;
	struct recording_counts *counts = &session->counts;
	vec_each(&parts->sources, source) {
		struct recording_source_counts *of = &counts->sources[source->number];
		const struct translate_taken *taken = &parts->translate.stats.taken[source->number];
		of->cpus.len = 0;
		try(source->row->read_counters(source, is_last, &of->cpus));
		of->unresolved = taken->unresolved;
		of->samples = event_tally_minus(taken->received, taken->unresolved);
	}
	counts->sideband_lost = sideband_lost(parts->sideband);
	counts->gap_samples = parts->translate.gaps.samples_in_gaps;
	counts->mappings_full = parts->translate.processes.pool.refused +
				parts->translate.emitter.mappings_left_out;
	counts->cpus_back = session->cpus_back;
	counts->images_read = parts->translate.registered.statistics.read;
	counts->images_given_up = parts->translate.registered.statistics.given_up;
	counts->targets_full = sampler_targets_full(parts->sampler);
	counts->files_full = sampler_files_full(parts->sampler);
	return NULL;
}

/* The ring first: what sideband then holds is not older than any sample. False: there is more. */
static bool drain_parts(struct session_parts *parts, uint64_t now_ns, uint64_t give_up_ns)
{
	struct translate *translate = &parts->translate;
	translate->collected_ns = now_ns;
	bool is_all = sampler_drain(parts->sampler, translate_collect, translate);
	sideband_drain(parts->sideband, &translate->sideband);
	if (translate->resolver.rules)
		rule_source_collect(&parts->rules);
	if (translate_run(translate, is_all ? now_ns : 0, give_up_ns))
		sampler_forget_stacks(parts->sampler);
	jit_table_watch(&translate->jit, now_ns);
	if (script_table_is_full(&translate->scripts) &&
		!script_table_is_reading(&translate->scripts)) {
		script_table_forget_numbers(&translate->scripts);
		sampler_forget_codes(parts->sampler);
	}
	return is_all;
}

/* Code is read while it stands there, and what waits for it keeps others waiting. */
static void drain_while_reading(struct session_parts *parts, uint64_t now_ns, uint64_t give_up_ns)
{
	for (uint64_t until_ns = now_ns + READING_CODE_NS;
		translate_is_reading_code(&parts->translate) && clock_now_ns() < until_ns;) {
		translate_wait(&parts->translate);
		if (translate_run(&parts->translate, 0, give_up_ns))
			sampler_forget_stacks(parts->sampler);
	}
}

static void drain(struct session *session)
{
	struct session_times *times = &session->times;
	times->drained_ns = clock_now_ns();
	uint64_t give_up_ns = session->is_waiting_last ? 0 : times->drained_ns - WAIT_NS;
	bool is_stalled = times->drained_ns - times->begun_ns < session->parts.options.stall_ns;
	if (is_stalled && !session->is_over)
		return;
	session->has_more = !drain_parts(&session->parts, times->drained_ns, give_up_ns);
	drain_while_reading(&session->parts, times->drained_ns, give_up_ns);
}

/* Nothing is taken twice; where records come as fast as they are taken, some are left. */
static void drain_all(struct session *session)
{
	for (int i = 0; i < DRAINS_MAX && (!i || session->has_more); i++)
		drain(session);
}

/* What waits is given a last chance, then nothing waits any more. */
static void drain_last(struct session *session)
{
	struct translate *translate = &session->parts.translate;
	uint64_t until_ns = clock_now_ns() + LAST_WAIT_NS;
	session->is_waiting_last = true;
	drain_all(session);
	while (translate_is_waiting(translate) && clock_now_ns() < until_ns) {
		translate_wait(translate);
		drain(session);
	}
	drain_parts(&session->parts, clock_now_ns(), UINT64_MAX);
}

static struct err *flush_if_due(struct session *session)
{
	struct session_parts *parts = &session->parts;
	const struct session_options *options = &parts->options;
	const struct recording *recording = &parts->recording;
	uint64_t now = session->times.drained_ns;
	uint64_t oldest_ns = parts->translate.unwritten_ns; /* it may have waited */
	bool is_due = now - session->flushed_ns >= FLUSH_INTERVAL_NS ||
		      (oldest_ns && now >= oldest_ns + FLUSH_INTERVAL_NS) ||
		      writer_bytes_pending(recording->writer) >= FLUSH_BYTES ||
		      recording_is_filling(recording, options->max_bytes) ||
		      recording_is_filling(recording, options->switching.bytes);
	if (!is_due || !session->is_started)
		return NULL;
	session->flushed_ns = now;
	parts->translate.unwritten_ns = 0;
	if (parts->rules.store)
		table_store_advance_epoch(parts->rules.store);
	try(read_counts(session, false));
	return recording_flush(&parts->recording, &session->counts);
}

/* ---- what ends a session, or a file ---- */

static void session_stop(struct session *session, enum layout_end_reason reason)
{
	if (session->is_over)
		return;
	session->is_over = true;
	session->reason = reason;
	session_parts_end_probing(&session->parts);
}

static struct err *switch_file(struct session *session)
{
	drain_all(session);
	try(read_counts(session, true));
	return recording_switch(&session->parts.recording, &session->counts);
}

static struct err *take_signal(struct session *session)
{
	for (int number; (number = session_signals_next(&session->parts.signals));) {
		if (number != SIGUSR2) {
			session->summary->end_signal = number;
			session_stop(session, LAYOUT_END_SIGNAL);
		} else if (session->parts.options.switching.on_signal) {
			try(switch_file(session));
		}
	}
	return NULL;
}

/* The BPF programs end by themselves then. What there is to be moved is moved when all is over. */
static bool check_duration(struct session *session)
{
	uint64_t until = session->parts.recording.until_ns;
	if (until && clock_now_ns() >= until)
		session_stop(session, LAYOUT_END_DURATION);
	return session->is_over;
}

static struct err *check_limits(struct session *session)
{
	const struct session_parts *parts = &session->parts;
	const struct session_options *options = &parts->options;
	const struct recording *recording = &parts->recording;
	uint64_t now = session->times.drained_ns;
	if (recording_is_over(recording, options->max_bytes))
		session_stop(session, LAYOUT_END_SIZE);
	if (watched_tasks_are_gone(&parts->watched))
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

static void check_child(struct session *session)
{
	struct session_summary *summary = session->summary;
	struct session_parts *parts = &session->parts;
	if (parts->has_target && !summary->has_child_status &&
		target_poll_exit(&parts->target, &summary->child_status)) {
		summary->has_child_status = true;
		summary->child_cpu_s = session_cpu_seconds(RUSAGE_CHILDREN);
		session_stop(session, LAYOUT_END_COMMAND);
	}
}

/* ---- running ---- */

static struct err *start_sampling(struct session *session)
{
	struct session_parts *parts = &session->parts;
	uint64_t duration_ns = parts->options.duration_ns, now_ns = clock_now_ns();
	session->is_started = true;
	session->times.started_ns = now_ns;
	parts->recording.until_ns = duration_ns ? now_ns + duration_ns : 0;
	recording_mark_time(&parts->recording);
	return sampler_start(parts->sampler, now_ns, parts->recording.until_ns);
}

static bool has_unread_processes(const struct session *session)
{
	return session->next_process < session->processes.len;
}

/* There may be tens of thousands. One whose samples come before its turn is read with the first. */
static void read_processes(struct session *session)
{
	uint64_t now = clock_now_ns(), until = now + READ_PROCESSES_NS;
	for (; has_unread_processes(session) && now < until; now = clock_now_ns())
		translate_add_process(&session->parts.translate,
			session->processes.data[session->next_process++], now);
}

static uint64_t next_deadline(const struct session *session)
{
	const struct session_options *options = &session->parts.options;
	const struct translate *translate = &session->parts.translate;
	bool is_reading = script_table_is_reading(&translate->scripts) ||
			  registered_code_is_reading(&translate->registered) ||
			  translate_is_reading_code(translate);
	uint64_t deadline =
		session->times.drained_ns + (is_reading ? READING_INTERVAL_NS : DRAIN_INTERVAL_NS);
	uint64_t others[] = {
		session->is_started ? 0 : session->times.begun_ns + options->delay_ns,
		session->parts.recording.until_ns,
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i] && others[i] < deadline)
			deadline = others[i];
	return deadline;
}

static void wait_for_events(struct session *session)
{
	uint64_t now = clock_now_ns(), deadline = next_deadline(session);
	bool is_due = session->has_more || has_unread_processes(session) || deadline <= now;
	int timeout_ms = is_due ? 0 : (int)((deadline - now + 999999) / 1000000);
	struct epoll_event events[16];
	epoll_wait(session->parts.epoll_fd, events, 16, timeout_ms);
}

static struct err *update_sources(struct session *session, uint64_t now_ns)
{
	struct session_parts *parts = &session->parts;
	try(sources_update(&parts->sources, now_ns));
	if (sources_times(&parts->sources, now_ns).switches_often)
		sideband_widen(parts->sideband);
	return NULL;
}

static void renew_cpus(struct session *session, uint64_t now_ns)
{
	struct session_parts *parts = &session->parts;
	cpu_watch_check(&session->cpus, now_ns);
	vec_each(&session->cpus.gaps, gap) {
		sideband_renew_cpu(parts->sideband, gap);
		sources_renew_cpu(&parts->sources, gap);
		session->cpus_back++;
	}
}

static struct err *run_turn(struct session *session)
{
	try(take_signal(session));
	check_child(session);
	if (check_duration(session))
		return NULL;
	uint64_t now = clock_now_ns();
	if (!session->is_started &&
		now - session->times.begun_ns >= session->parts.options.delay_ns)
		try(start_sampling(session));
	renew_cpus(session, now);
	if (session->is_started && !session->is_over)
		try(update_sources(session, now));
	read_processes(session);
	drain(session);
	try(flush_if_due(session));
	try(check_limits(session));
	if (session->callbacks->progress) {
		struct session_progress progress = session_progress_of(
			&session->parts, &session->counts, &session->times, !session->is_over);
		session->callbacks->progress(session->callbacks->context, &progress);
	}
	return NULL;
}

static void snapshot_targets(struct session *session)
{
	struct session_parts *parts = &session->parts;
	const struct session_options *options = &parts->options;
	struct translate *translate = &parts->translate;
	uint64_t now = clock_now_ns();
	if (session_is_system_wide(options))
		proc_list_pids(&session->processes);
	for (size_t i = 0; i < parts->targets.len; i++) {
		uint32_t pid =
			parts->targets.data[i]; /* or a thread's, whose process is what has maps */
		uint32_t tgid = options->target == SESSION_THREADS ? proc_read_tgid(pid) : pid;
		if (tgid)
			translate_add_process(translate, tgid, now);
	}
}

static struct err *session_run_until_over(struct session *session)
{
	struct session_parts *parts = &session->parts;
	struct session_times *times = &session->times;
	times->begun_ns = times->drained_ns = session->flushed_ns = clock_now_ns();
	turn_time_begin(&session->turns);
	if (!parts->options.delay_ns)
		try(start_sampling(session));
	/* Sideband and samples pile up meanwhile, so nothing falls between snapshot and stream. */
	snapshot_targets(session);
	read_processes(session);
	uint32_t child = 0;
	if (parts->has_target) {
		child = (uint32_t)parts->target.pid;
		try(target_release(&parts->target, &session->summary->exec_errno));
	}
	if (session->summary->exec_errno)
		return NULL; /* nothing was profiled, and an older recording stays what it is */
	try(recording_publish(&parts->recording));
	session->summary->is_published = true;
	times->running_ns = clock_now_ns();
	times->running_cpu_s = session_cpu_seconds(RUSAGE_SELF);
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
	while (session->parts.has_target && !session->summary->has_child_status &&
		clock_now_ns() < until) {
		usleep(10000);
		check_child(session);
	}
}

static void fill_summary(struct session *session, struct session_summary *summary)
{
	const struct session_parts *parts = &session->parts;
	struct shadow_cost cost;
	bool has_cost = sampler_read_shadow_cost(parts->sampler, &cost);
	summary->final = session_progress_of(parts, &session->counts, &session->times, false);
	summary->reason = session->reason;
	summary->longest_turn = session->turns.longest;
	snprintf(summary->output, sizeof(summary->output), "%s", parts->options.output);
	summary->timers = sources_times(&parts->sources, 0);
	summary->is_in_pid_namespace = sampler_is_in_pid_namespace(parts->sampler);
	session_summarize(parts, &session->counts, has_cost ? &cost : NULL, summary);
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
	struct session_parts *parts = &session->parts;
	struct recording_counts *counts = &session->counts;
	uint64_t now_ns = clock_now_ns(), *until_ns = &parts->recording.until_ns;
	session->summary->stopped_ns = now_ns;
	sampler_stop(parts->sampler, now_ns);
	if (!*until_ns || now_ns < *until_ns) /* what follows may take a while */
		*until_ns = now_ns;
	session->is_over = true;
	session_parts_end_probing(parts);
	if (err)
		session->reason = LAYOUT_END_WRITE_ERROR;
	drain_last(session);
	if (parts->kept_files)
		kept_files_finish(parts->kept_files, &parts->translate.objects,
			&parts->translate.emitter.objects);
	err = first_error(err, read_counts(session, true));
	struct err *write_err = recording_finish(&parts->recording, counts, session->reason);
	for (uint32_t i = 0; i < EVENT_MAX_SOURCES; i++)
		counts->sources[i].lost_write =
			counts->sources[i].samples.count - recording_samples(&parts->recording, i);
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
	if (session->parts.has_target)
		mem_close_fd(&session->parts.target.release_fd);
	err = finish(session, err);
	fill_summary(session, ret);
	if (session->reason == LAYOUT_END_SIGNAL)
		grant_grace(session);
	return err;
}

bool session_wait_command(struct session *session, struct session_summary *summary)
{
	const struct session_parts *parts = &session->parts;
	session->summary = summary;
	while (parts->has_target && !summary->has_child_status && !summary->end_signal) {
		struct pollfd fds[] = {
			{.fd = parts->signals.fd, .events = POLLIN},
			{.fd = parts->target.exit_fd, .events = POLLIN},
		};
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		for (int number; (number = session_signals_next(&parts->signals));)
			if (number != SIGUSR2)
				summary->end_signal = number;
		check_child(session);
	}
	return summary->has_child_status;
}

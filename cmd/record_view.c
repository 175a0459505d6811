#include "cmd/record_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/console.h"
#include "cmd/input.h"
#include "format/base/path.h"
#include "record/cgroup/target_cgroups.h"
#include "record/event/event_spec.h"
#include "report/write/cause_words.h"
#include "report/write/export/export.h"
#include "report/write/ticks_share.h"

void record_view_clear_line(struct record_view *view)
{
	if (view->line_is_open)
		fprintf(stderr, "\r\033[K");
	view->line_is_open = false;
}

void record_view_ready(void *context, const char *event, uint32_t child_pid)
{
	struct record_view *view = context;
	const struct session_options *options = view->options;
	if (view->quiet)
		return;
	CLEANUP(str_deinit) struct str text = {0};
	bool is_clock = strncmp(event, "cpu-clock", strlen("cpu-clock")) == 0;
	if (options->event == SESSION_EVENT_NONE)
		;
	else if (options->frequency_hz)
		str_printf(&text, "%u Hz, ", options->frequency_hz);
	else
		str_printf(&text, "every %llu %s, ", (unsigned long long)options->period,
			is_clock ? "ns" : "cycles");
	str_puts_escaped(&text, event);
	str_puts(&text, options->event == SESSION_EVENT_AUTO && is_clock
				? " (no hardware cycles here), "
				: ", ");
	if (options->target == SESSION_SYSTEM)
		str_puts(&text, "the whole system");
	else if (options->target == SESSION_USER)
		str_printf(&text, "uid %u", options->uid);
	else if (options->target == SESSION_CGROUPS)
		target_cgroups_describe(options->cgroups, options->nr_cgroups, &text);
	else if (options->target == SESSION_LABELLED)
		str_printf(&text, "the targets of %s", options->label_file);
	else if (options->target == SESSION_COMMAND)
		str_printf(&text, "pid %u%s", child_pid, options->no_inherit ? "" : " (+children)");
	else
		str_printf(&text, "%s %u%s", options->target == SESSION_THREADS ? "tid" : "pid",
			options->pids[0], options->nr_pids > 1 ? ",..." : "");
	if (options->with_descendants)
		str_puts(
			&text, options->no_inherit ? " (+children)" : " (+children, new ones too)");
	else if (options->target == SESSION_PROCESSES && !options->no_inherit)
		str_puts(&text, " (+new children)");
	console_say("%s - Ctrl-C to stop", str_text(&text));
}

void record_view_progress(void *context, const struct session_progress *progress)
{
	struct record_view *view = context;
	if (!view->shows_progress || progress->elapsed_s - view->shown_at_s < 0.2)
		return;
	view->shown_at_s = progress->elapsed_s;
	CLEANUP(str_deinit) struct str text = {0};
	unsigned seconds = (unsigned)progress->elapsed_s;
	str_printf(&text, " %02u:%02u  ", seconds / 60, seconds % 60);
	console_put_count(&text, progress->samples);
	str_printf(&text, " samples  %u thr  lost ", progress->threads);
	console_put_count(&text, progress->lost);
	str_puts(&text, "  ");
	console_put_bytes(&text, progress->bytes);
	fprintf(stderr, "\r%s  overhead %.1f%%\033[K", str_text(&text), progress->overhead_percent);
	view->line_is_open = true;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* A word or two: the sentence stands with the file, where one is to blame. */
static void put_short_cause(struct str *text, enum layout_truncation truncation)
{
	static const char *const causes[LAYOUT_TRUNCATED_END] = {
#define X(name, number, word) [number] = word,
		LAYOUT_TRUNCATIONS(X)
#undef X
	};
	for (const char *c = causes[truncation]; *c; c++)
		str_putc(text, *c == '_' ? ' ' : *c);
}

static void record_view_put_stacks(struct str *text, const struct session_summary *summary)
{
	uint64_t truncated = 0;
	for (size_t i = 0; i < sizeof(summary->truncated) / sizeof(*summary->truncated); i++)
		truncated += summary->truncated[i];
	uint64_t all = summary->complete + summary->by_guesses + summary->kernel_only +
		       summary->left + truncated;
	if (all && summary->left == all) {
		str_puts(text, "stacks: copied, the report unwinds them");
		return;
	}
	str_printf(text, "stacks: %.1f%% complete", percent(summary->complete, all));
	if (summary->by_guesses)
		str_printf(text, ", %.1f%% reached by guesses", percent(summary->by_guesses, all));
	if (summary->kernel_only)
		str_printf(text, ", %.1f%% kernel only", percent(summary->kernel_only, all));
	if (summary->left)
		str_printf(
			text, ", %.1f%% to be unwound by the report", percent(summary->left, all));
	if (!truncated)
		return;
	str_printf(text, ", %.1f%% truncated", percent(truncated, all));
	const char *separator = " ("; /* the causes of 0.1% or more, rounded */
	for (size_t i = 1; i < LAYOUT_TRUNCATED_END; i++) {
		double share = percent(summary->truncated[i], all);
		if (share < 0.05)
			continue;
		str_puts(text, separator);
		put_short_cause(text, i);
		str_printf(text, " %.1f%%", share);
		separator = ", ";
	}
	if (*separator == ',')
		str_putc(text, ')');
}

/* Which files cut stacks short, and why; nothing when hardly any are. */
static void print_blame(const struct session_summary *summary)
{
	for (size_t i = 0; i < sizeof(summary->blame) / sizeof(*summary->blame); i++) {
		const struct session_blame *blame = &summary->blame[i];
		double share = percent(blame->samples, summary->final.samples);
		if (blame->path && share >= 0.1)
			console_say_more("cut in %s: %.1f%%: %s", blame->path, share,
				cause_of_truncation(blame->truncation));
	}
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static double milliseconds(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* What ticks came from. */
static void print_timers(const struct session_summary *summary)
{
	const struct ticker_times *timers = &summary->timers;
	if (!timers->of_cpus_ns)
		console_say_more("timers: the tasks' own");
	else if (!timers->of_tasks_ns)
		console_say_more("timers: the CPUs'");
	else
		console_say_more("timers: the tasks' own for %.1f s, the CPUs' for %.1f s: %s",
			seconds(timers->of_tasks_ns), seconds(timers->of_cpus_ns),
			timers->switches_often
				? "the tasks switch too often for timers of their own"
				: "short tasks are sampled better so");
}

/* How long Ctrl-C would have had to wait at worst. */
static void print_code(const struct session_code *code)
{
	if (code->read || code->inherited || code->guessed || code->scanned || code->unknown)
		console_say_more("code without rules, new places: %llu read, %llu as code around; "
				 "guessed: %llu by frame pointer, %llu by a scan of the stack; "
				 "%llu not understood",
			(unsigned long long)code->read, (unsigned long long)code->inherited,
			(unsigned long long)code->guessed, (unsigned long long)code->scanned,
			(unsigned long long)code->unknown);
}

static void print_longest_turn(const struct turn *turn)
{
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text,
		"longest time without a look at signals: %.1f ms (%.1f ms CPU, %.1f ms blocked)",
		milliseconds(turn->cpu_ns + turn->blocked_ns), milliseconds(turn->cpu_ns),
		milliseconds(turn->blocked_ns));
	if (turn->starved_ns)
		str_printf(&text, ", and %.1f ms of waiting for a CPU",
			milliseconds(turn->starved_ns));
	console_say_more("%s", str_text(&text));
}

static const struct session_source *timer_of(const struct session_summary *summary)
{
	return session_summary_source(summary, "timer");
}

static const struct session_source *probes_of(const struct session_summary *summary)
{
	return session_summary_source(summary, "probe");
}

static void print_source(const struct session_source *source)
{
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "%s: %llu = %llu %s", source->tallied, (unsigned long long)source->events,
		(unsigned long long)source->samples,
		str_plural(source->samples, "sample", "samples"));
	if (source->has_idle)
		str_printf(&text, " + %llu idle", (unsigned long long)source->idle);
	if (source->below)
		str_printf(&text, " + %llu below", (unsigned long long)source->below);
	console_say("%s + %llu filtered + %llu lost", str_text(&text),
		(unsigned long long)source->filtered, (unsigned long long)source->lost);
}

/* The timer's come first in the table and last here, with what belongs to them. */
static void print_sources(const struct record_view *view, const struct session_summary *summary)
{
	const struct session_source *timer = timer_of(summary);
	for (size_t i = summary->nr_sources; i-- > 0;)
		print_source(&summary->sources[i]);
	if (view->options->event == SESSION_EVENT_NONE)
		return;
	if (timer->skipped && !view->options->exclude_user && !view->options->exclude_kernel)
		console_say_more("%llu more were due but did not fire (%s)",
			(unsigned long long)timer->skipped,
			summary->timers.of_cpus_ns ? "idle CPUs sleep through them"
						   : "a task's last period is not whole");
	print_timers(summary);
}

/* What the probes of script functions have cost, and by whose clock. */
static void print_script_probes(
	const struct record_view *view, const struct session_summary *summary)
{
	const struct session_script_probes *probes = &summary->script_probes;
	const struct session_options *options = view->options;
	uint64_t hits = probes->entries + probes->returns;
	double cost_s = seconds(probes->program_ns + probes->around_ns);
	double cpu_s = summary->child_cpu_s;
	bool is_sampled = options->target != SESSION_COMMAND || !summary->has_child_status;
	if (is_sampled && options->frequency_hz)
		cpu_s = (double)timer_of(summary)->samples / options->frequency_hz;
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "probes of functions: %llu %s + %llu %s",
		(unsigned long long)probes->entries,
		str_plural(probes->entries, "entry", "entries"),
		(unsigned long long)probes->returns,
		str_plural(probes->returns, "return", "returns"));
	if (hits)
		str_printf(&text, " took %.3f s", cost_s);
	if (hits && cpu_s > 0)
		str_printf(&text, ", %.1f%% of %.2f s CPU time", 100 * cost_s / cpu_s, cpu_s);
	console_say_more("%s", str_text(&text));
	if (!hits)
		return;
	str_truncate(&text, 0);
	str_printf(&text, "of that %.3f s in BPF (%s)", seconds(probes->program_ns),
		probes->is_timed_by_kernel ? "by the kernel's statistics of it"
					   : "by the program's own clock");
	if (probes->around_ns)
		str_printf(&text, ", %.3f s in traps (%.2f us each, as measured here)",
			seconds(probes->around_ns), (double)probes->around_ns / 1e3 / (double)hits);
	else
		str_puts(&text, ", without the traps, which could not be measured");
	console_say_more("%s", str_text(&text));
	if (view->verbose || probes->filtered)
		console_say_more("%llu of other processes; %llu %s without an entry; %llu %s "
				 "too deep to be kept",
			(unsigned long long)probes->filtered, (unsigned long long)probes->unmatched,
			str_plural(probes->unmatched, "return", "returns"),
			(unsigned long long)probes->deep,
			str_plural(probes->deep, "entry", "entries"));
}

static void print_few(const struct session_options *options, const struct session_summary *summary)
{
	uint64_t samples = timer_of(summary)->samples;
	bool has_others = summary->final.samples > samples;
	bool waited = options->waits && has_others; /* of who sleeps it has what was asked for */
	CLEANUP(str_deinit) struct str text = {0};
	const char *left_out = options->exclude_user     ? "programs"
			       : options->exclude_kernel ? "the kernel"
							 : NULL;
	str_puts(&text, samples ? "only " : "no samples");
	if (samples)
		str_printf(&text, "%llu %s", (unsigned long long)samples,
			str_plural(samples, "sample", "samples"));
	if (options->waits || has_others)
		str_puts(&text, " of CPU time");
	if (left_out)
		console_say("hint: %s: samples in %s were left out as asked for", str_text(&text),
			left_out);
	else if (waited)
		console_say("hint: %s: it %s waited", str_text(&text), samples ? "mostly" : "only");
	else
		console_say("hint: %s: %s? Raise -F or run longer", str_text(&text),
			options->waits ? "too short, or it only waited"
				       : "too short, or waiting (-e wall records that)");
}

/* Events that take time: all together they took less than a sample stands for. */
static void print_below(const struct session_summary *summary)
{
	for (size_t i = 0; i < summary->nr_sources; i++) {
		const struct session_source *source = &summary->sources[i];
		if (source->below && !source->samples && !source->lost)
			console_say("hint: %s: %llu counted, and none is a sample: together "
				    "they took less than one stands for; a shorter --wait-period "
				    "(or -c) has samples of them",
				source->tallied, (unsigned long long)source->below);
	}
}

static void print_rate(const struct session_summary *summary)
{
	const struct session_source *timer = timer_of(summary);
	double share = ticks_share(timer->samples + timer->lost, summary->ticks_due);
	CLEANUP(str_deinit) struct str text = {0};
	if (share >= 1)
		return;
	ticks_share_put(share, summary->child_cpu_s, &text);
	console_say("hint: %s", str_text(&text));
}

/* A server's master sleeps, and its workers do the work. False: these did not. */
static bool print_left_out(
	const struct session_options *options, const struct session_summary *summary)
{
	uint64_t left_out_ns = 0;
	double sampled_s =
		options->frequency_hz ? (double)summary->final.samples / options->frequency_hz : 0;
	CLEANUP(str_deinit) struct str text = {0};
	for (size_t i = 0; i < sizeof(summary->left_out) / sizeof(*summary->left_out); i++) {
		const struct left_out_busy *busy = &summary->left_out[i];
		left_out_ns += busy->cpu_ns;
		if (busy->pid)
			str_printf(&text, "%s%u (%.2f s)", i ? ", " : "", busy->pid,
				seconds(busy->cpu_ns));
	}
	if (seconds(left_out_ns) <= sampled_s)
		return false;
	console_say("hint: %zu %s that ran already %s not recorded, and used more CPU time: %s%s; "
		    "--tree records them",
		summary->nr_left_out, summary->nr_left_out == 1 ? "child" : "children",
		summary->nr_left_out == 1 ? "was" : "were", str_text(&text),
		summary->nr_left_out > 3 ? " ..." : "");
	return true;
}

static bool print_children(const struct session_summary *summary)
{
	CLEANUP(str_deinit) struct str pids = {0};
	size_t room = sizeof(summary->children) / sizeof(*summary->children);
	if (!summary->nr_children)
		return false;
	for (size_t i = 0; i < summary->nr_children && i < room; i++)
		str_printf(&pids, "%s%u", i ? "," : "", summary->children[i]);
	console_say("hint: the command has ended, and %zu %s that it started %s on, not recorded "
		    "any more: ebprof record -p %s has %s",
		summary->nr_children, str_plural(summary->nr_children, "process", "processes"),
		str_plural(summary->nr_children, "goes", "go"), str_text(&pids),
		summary->nr_children > room ? "the first"
		: summary->nr_children > 1  ? "them"
					    : "it");
	return true;
}

/* What "lock" is taken for. */
static bool wants_locks(const struct session_options *options)
{
	for (size_t i = 0; i < options->nr_specs; i++)
		if (options->specs[i].kind == EVENT_SPEC_LOCKS)
			return true;
	return false;
}

/* Code that keeps none ends a chain of frame pointers at its first step. */
static void print_without_frame_pointers(
	const struct session_options *options, const struct session_summary *summary)
{
	uint64_t cut = 0, all = summary->complete + summary->by_guesses + summary->kernel_only;
	for (size_t i = 0; i < sizeof(summary->truncated) / sizeof(*summary->truncated); i++)
		cut += summary->truncated[i];
	if (options->call_graph == SESSION_CALL_GRAPH_FP && 5 * cut > all + cut)
		console_say("hint: %.0f%% of the stacks are truncated: code without frame pointers "
			    "ends them; without --call-graph fp they are unwound by rules",
			percent(cut, all + cut));
}

/* Of a process that can still be read: whether its environment has "NAME=VALUE". */
static bool has_variable(uint32_t pid, const char *variable)
{
	char path[64], *word = NULL;
	size_t room = 0;
	bool has = false;
	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	FILE *file = fopen(path, "re");
	while (file && !has && getdelim(&word, &room, '\0', file) > 0)
		has = strcmp(word, variable) == 0;
	if (file)
		fclose(file);
	free(word);
	return has;
}

static bool all_have_variable(const struct session_options *options, const char *variable)
{
	if (options->target == SESSION_COMMAND)
		return has_variable((uint32_t)getpid(), variable); /* which it inherits */
	for (size_t i = 0; i < options->nr_pids; i++)
		if (!has_variable(options->pids[i], variable))
			return false;
	return options->nr_pids;
}

static void print_own_heap(
	const struct session_options *options, const struct session_own_heap *heap)
{
	if (heap->remedy && all_have_variable(options, heap->remedy))
		return;
	console_say("hint: %s keeps %s on a heap of its own, which --heap does not see%s%s%s",
		path_last_part(heap->path), heap->objects, heap->remedy ? ", unless " : "",
		heap->remedy ? heap->remedy : "", heap->remedy ? " is in its environment" : "");
}

/* Of those in use as many are followed as there is room for, which are the oldest. */
static void print_unkept(const struct session_summary *summary)
{
	for (size_t i = 0; i < summary->nr_sources; i++) {
		const struct session_source *source = &summary->sources[i];
		if (strcmp(source->name, "heap-used") == 0 && source->lost)
			console_say("hint: of %llu sampled allocations it is not known if they "
				    "were freed, since too many were in use then: the newest are "
				    "not among what is in use; a larger --heap=SIZE follows all",
				(unsigned long long)source->lost);
	}
}

/* Each hint only when its condition holds, with the number and the way out. */
static void print_hints(const struct record_view *view, const struct session_summary *summary)
{
	const struct session_options *options = view->options;
	const struct session_source *probes = probes_of(summary);
	for (size_t i = 0; summary->unknown_runtimes[i].name; i++)
		console_say("hint: %s is a %s that is not known here, by its version or machine: "
			    "only its native "
			    "frames are shown",
			summary->unknown_runtimes[i].path, summary->unknown_runtimes[i].name);
	for (size_t i = 0; summary->refused_runtimes[i]; i++)
		console_say("hint: frames of scripts that %s runs are missing: %s",
			summary->refused_runtimes[i], summary->refusal);
	if (summary->label_file_error)
		console_say("hint: the file of labels changed and could not be read, its labels "
			    "stayed: %s",
			summary->label_file_error);
	for (size_t i = 0; summary->hints[i]; i++)
		console_say("hint: %s", summary->hints[i]);
	if (summary->heap_programs_missed)
		console_say("hint: %llu %s (%s) ran without the library that counts "
			    "allocations, as static ones do and those that are given another "
			    "environment or LD_PRELOAD: what they allocated is missing (record "
			    "them as the command, or by -p)",
			(unsigned long long)summary->heap_programs_missed,
			str_plural(summary->heap_programs_missed, "program that it started",
				"programs that it started"),
			path_last_part(summary->heap_program_missed));
	print_unkept(summary);
	for (size_t i = 0; options->heap_bytes && summary->own_heaps[i].path; i++)
		print_own_heap(options, &summary->own_heaps[i]);
	for (size_t i = 0; summary->script_probes.advice[i]; i++)
		console_say("hint: %s", summary->script_probes.advice[i]);
	if (summary->lost_ring)
		console_say("hint: %llu %s lost, the ring buffer was full: raise -m or lower -F",
			(unsigned long long)summary->lost_ring,
			str_plural(summary->lost_ring, "sample was", "samples were"));
	if (summary->raised_period_ns)
		console_say(
			"hint: waits were sampled by a --wait-period of up to %g ms, so that there "
			"are not too many samples: sums are right, with less detail",
			milliseconds(summary->raised_period_ns));
	if (probes->lost_busy)
		console_say("hint: %llu %s lost, too many tasks were in the midst of others on the "
			    "same CPU",
			(unsigned long long)probes->lost_busy,
			str_plural(probes->lost_busy, "hit was", "hits were"));
	if (options->nr_usdt && !probes->events)
		console_say("hint: no probe was hit: is this the very file that the programs map, "
			    "and are its probes enabled there?");
	if (!summary->final.samples && wants_locks(options))
		console_say("hint: nothing waited for mutexes and semaphores of the kernel, which "
			    "is what -e lock records; -e offcpu has waits for programs' own locks, "
			    "as [wait: futex]");
	print_below(summary);
	print_without_frame_pointers(options, summary);
	if (summary->lost_write)
		console_say("hint: %llu %s lost, the output %s",
			(unsigned long long)summary->lost_write,
			str_plural(summary->lost_write, "sample was", "samples were"),
			summary->reason == LAYOUT_END_SIZE ? "had reached --max-size" : "failed");
	else if (print_left_out(options, summary) || print_children(summary))
		;
	else if (options->event != SESSION_EVENT_NONE && timer_of(summary)->samples < 100 &&
		 !summary->sideband_lost)
		print_few(options, summary);
	if (summary->files_for_room)
		console_say("hint: the disk was full: %llu %s of the ring removed before its time: "
			    "lower --keep",
			(unsigned long long)summary->files_for_room,
			str_plural(summary->files_for_room, "file was", "files were"));
	if (summary->kernel_hidden)
		console_say("hint: kernel functions have no names: needs CAP_SYSLOG and "
			    "kernel.kptr_restrict below 2");
	if (summary->sideband_lost && !summary->gap_samples)
		console_say("hint: %llu records of mappings and execs were lost between %.1f and "
			    "%.1f s, and no sample was taken while they were: the recorder did not "
			    "come to read its buffers, for want of CPU time (nice -n -10 ebprof "
			    "record)",
			(unsigned long long)summary->sideband_lost, summary->gap_from_s,
			summary->gap_until_s);
	else if (summary->sideband_lost)
		console_say("hint: %llu records of mappings and execs were lost while %llu samples "
			    "were taken, whose frames may lack names: the recorder got too little "
			    "CPU time (nice -n -10 ebprof record)",
			(unsigned long long)summary->sideband_lost,
			(unsigned long long)summary->gap_samples);
	if (summary->programs_skipped)
		console_say("hint: %llu %s of the recorder's BPF programs, which were under way on "
			    "the CPU: tasks may be missing, or waits, labels and calls of theirs",
			(unsigned long long)summary->programs_skipped,
			str_plural(summary->programs_skipped, "time the kernel skipped one",
				"times the kernel skipped one"));
	if (summary->cpus_back)
		console_say("hint: CPUs came online %llu %s: of what they ran until that was seen, "
			    "at most a second each, samples or names are missing",
			(unsigned long long)summary->cpus_back,
			str_plural(summary->cpus_back, "time", "times"));
	uint64_t filtered = timer_of(summary)->filtered;
	if (summary->is_in_pid_namespace && filtered && session_is_system_wide(options))
		console_say(
			"hint: %llu ticks were of processes outside of this PID namespace, which "
			"cannot be seen from here: record on the host, or with --pid=host",
			(unsigned long long)filtered);
	if (summary->files_full)
		console_say("hint: there were too many files to unwind them all; stacks of the "
			    "others are cut (%llu %s)",
			(unsigned long long)summary->files_full,
			str_plural(summary->files_full, "time", "times"));
	if (summary->dsos_remote)
		console_say("hint: %llu %s not opened, on remote or FUSE file systems of other "
			    "users, which may hang: stacks end there, and names are missing",
			(unsigned long long)summary->dsos_remote,
			str_plural(summary->dsos_remote, "file was", "files were"));
	if (summary->perf_maps_remote)
		console_say("hint: perf maps of %llu %s not looked for: /tmp is a remote or FUSE "
			    "file system of another user",
			(unsigned long long)summary->perf_maps_remote,
			str_plural(summary->perf_maps_remote, "process were", "processes were"));
	if (summary->mappings_full)
		console_say("hint: %llu %s left out, since a process has too many or keeps /proc "
			    "waiting; frames there may lack names",
			(unsigned long long)summary->mappings_full,
			str_plural(summary->mappings_full, "mapping was", "mappings were"));
	if (summary->targets_full)
		console_say("hint: %llu %s not followed: more than %d processes or %d control "
			    "groups at once; use -a",
			(unsigned long long)summary->targets_full,
			str_plural(summary->targets_full, "target was", "targets were"),
			EVENT_MAX_TARGETS, EVENT_MAX_CGROUPS);
	print_rate(summary);
}

void record_view_summary(const struct record_view *view, const struct session_summary *summary)
{
	CLEANUP(str_deinit) struct str text = {0};
	console_put_count(&text, summary->final.samples);
	str_printf(&text, " %s, %.1f s, %u %s%s, %llu %s -> %s (",
		str_plural(summary->final.samples, "sample", "samples"), summary->final.elapsed_s,
		summary->final.threads, str_plural(summary->final.threads, "thread", "threads"),
		view->options->with_wakers ? " and wakers" : "", (unsigned long long)summary->dsos,
		str_plural(summary->dsos, "binary", "binaries"),
		strcmp(summary->output, "-") ? summary->output : "standard output");
	console_put_bytes(&text, summary->final.bytes);
	str_puts(&text, summary->files > 1 ? " in all, " : ")");
	if (summary->files > 1)
		str_printf(&text, "%u %s, %u kept)", summary->files,
			str_plural(summary->files, "file", "files"), summary->files_kept);
	console_say("%s", str_text(&text));
	if (summary->final.samples) {
		str_truncate(&text, 0);
		record_view_put_stacks(&text, summary);
		console_say_more("%s", str_text(&text));
		print_blame(summary);
		console_say_more("files readable here: %llu/%llu; build IDs %llu/%llu",
			(unsigned long long)summary->dsos_readable,
			(unsigned long long)summary->dsos,
			(unsigned long long)summary->dsos_with_build_id,
			(unsigned long long)summary->dsos);
	}
	if (view->options->usdt_stacks)
		print_script_probes(view, summary);
	if (view->verbose) {
		print_sources(view, summary);
		print_code(&summary->code);
		print_longest_turn(&summary->longest_turn);
	}
	print_hints(view, summary);
}

/* py-spy and others write what the name of their output says. */
static void say_what_was_written(const char *output)
{
	const struct exporter *exporter = export_of_name(output);
	if (exporter)
		console_say("hint: %s is a recording in spite of its name: ebprof convert --%s "
			    "makes what that says of it",
			output, exporter->name);
}

void record_view_next(const struct session_summary *summary)
{
	if (!summary->final.samples || strcmp(summary->output, "-") == 0)
		return;
	if (!summary->is_ring)
		say_what_was_written(summary->output);
	if (summary->is_ring)
		console_say("next: ebprof report --ring %s", summary->output);
	else if (strcmp(summary->output, INPUT_USUAL) == 0)
		console_say("next: ebprof report");
	else
		console_say("next: ebprof report %s", summary->output);
}

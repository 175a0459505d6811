#include "record/source/heap.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/sample.skel.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/file/layout.h"
#include "record/event/heap_functions.h"
#include "record/event/heap_preload.h"
#include "record/event/point_weight.h"
#include "record/host/proc.h"
#include "record/host/target_file.h"
#include "record/host/target_reader.h"
#include "record/host/uprobe.h"
#include "record/host/uprobe_trial.h"
#include "record/source/event_tally.h"
#include "record/source/source_kernel.h"
#include "record/task/program_files.h"

enum {
	MAX_CALLS = 1 << 14, /* under way at a time, in all threads */
	MAX_PROCESSES = 1 << 14,
};

/* A file with an allocator. */
struct heap_file {
	char *path;
	int fd;
	dev_t device;
	ino_t inode;
	struct heap_functions functions;
};

/* Watches what the probes cost. */
struct heap_guard {
	uint32_t max_percent;
	uint64_t hit_ns; /* that one takes; 0: not known, and not watched */
	uint64_t begun_ns, since_ns, hits, cpu_ns;
	struct proc_pids pids; /* whose CPU time it is, with what they fork */
};

struct heap_process_probes {
	uint32_t pid; /* 0: all have these */
	VEC(struct uprobe) uprobes;
};

struct heap_state {
	struct sample_bpf *bpf;
	uint64_t distance;           /* in bytes, between points */
	VEC(struct heap_file) files; /* looked at; those that have no allocator have fd -1 */
	VEC(struct heap_process_probes) probed;
	struct heap_preload preload; /* path NULL: calls are seen by probes in the allocator */
	char distance_text[24], go_rate_text[48];
	bool is_of_processes; /* running ones, which alone have the probes, and what they fork */
	bool follows_forks;
	uint64_t looked_ns;            /* for processes that they have forked */
	size_t nr_forked, nr_unprobed; /* that got probes, or could not get any */
	bool is_full;
	struct heap_guard guard;
	bool is_taken_off, is_command;
	uint64_t taken_off_ns, stopped_ns; /* 0: not yet */
	struct str hint;
};

/* ---- files that have an allocator ---- */

struct heap_process {
	struct heap_state *state;
	struct target_files *rules; /* which of its files may be opened */
	uint32_t pid;
	const struct proc_mapping *mapping;
};

static void say_of_go(struct heap_state *state, const char *path,
	const struct heap_functions *functions, bool is_unread)
{
	const char *why = is_unread
				  ? "since its memory does not tell, or not in time, whether its "
				    "runtime samples any"
				  : "since its runtime samples none (it does where code calls "
				    "runtime.MemProfile, as net/http/pprof does), or was stripped";
	str_truncate(&state->hint, 0);
	if (functions->go.why)
		str_printf(&state->hint,
			"%s is a program of Go, whose own allocations are not recorded, only those "
			"of C code in it: %s",
			path, functions->go.why);
	else
		str_printf(&state->hint,
			"%s is a program of Go: allocations are %s%s; when they are freed is not "
			"seen, so what stays in use is not known",
			path,
			functions->go_sampled.entry
				? "those that its runtime samples"
				: "seen by a probe in its allocator, which takes 2 to 3 us each, ",
			functions->go_sampled.entry ? "" : why);
}

/* In a process that runs already, mapped there. False: it cannot be read, or not in time. */
static bool read_go_rate(
	const struct heap_process *process, const struct heap_functions *functions, uint64_t *ret)
{
	const struct heap_go *go = &functions->go;
	uint64_t entry =
		process->mapping->start - process->mapping->offset + functions->go_sampled.entry;
	return target_reader_read_memory(
		process->pid, entry + go->rate - go->sampled.address, ret, sizeof(*ret));
}

static void take_go(struct heap_state *state, const char *path, const struct heap_process *process,
	struct heap_functions *functions)
{
	uint64_t rate = 0;
	bool is_asked = process && functions->go_sampled.entry;
	bool is_unread = is_asked && !read_go_rate(process, functions, &rate);
	if (is_asked && !rate)
		heap_functions_take_all_of_go(functions);
	if (is_asked && !rate && !functions->go_all.entry)
		functions->go.why =
			is_unread ? "its memory does not tell, or not in time, how often its "
				    "runtime samples (runtime.MemProfileRate)"
				  : "its runtime samples none (runtime.MemProfileRate is 0)";
	if (functions->go.is_go)
		say_of_go(state, path, functions, is_unread);
}

/* `process`: NULL, or one that has it mapped. */
static void add_heap_file(
	struct heap_state *state, const char *path, int fd, const struct heap_process *process)
{
	struct heap_file file = {.fd = fd, .path = mem_strdup(path)};
	struct stat stat_buffer;
	bool is_known = fstat(fd, &stat_buffer) || !S_ISREG(stat_buffer.st_mode);
	vec_each(&state->files, it)
		is_known |= it->device == stat_buffer.st_dev && it->inode == stat_buffer.st_ino;
	struct err *err = is_known ? NULL : heap_functions_find(fd, &file.functions);
	err_destroy(err); /* what is no program has no allocator */
	take_go(state, path, process, &file.functions);
	file.device = is_known ? 0 : stat_buffer.st_dev;
	file.inode = is_known ? 0 : stat_buffer.st_ino;
	if (!file.functions.has_allocator)
		mem_close_fd(&file.fd);
	if (!is_known) {
		vec_push(&state->files, file);
		return;
	}
	heap_functions_deinit(&file.functions);
	mem_free(file.path);
}

static void add_heap_file_at(void *context, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		add_heap_file(context, path, fd, NULL);
}

/* By what the process has mapped: its paths may be those of another file system, or of none. */
static bool add_heap_mapping(void *context, const struct proc_mapping *mapping)
{
	struct heap_process *process = context;
	struct stat file;
	if (*mapping->path != '/')
		return true;
	process->mapping = mapping;
	int fd = target_file_open_mapped(
		process->rules, process->pid, mapping->start, mapping->end, &file);
	if (fd >= 0)
		add_heap_file(process->state, mapping->path, fd, process);
	return true;
}

static size_t count_allocators(const struct heap_state *state)
{
	size_t count = 0;
	vec_each(&state->files, file)
		count += file->functions.has_allocator;
	return count;
}

static bool has_go_program(const struct heap_state *state)
{
	bool is_go = false;
	vec_each(&state->files, file)
		is_go |= file->functions.go.is_go;
	return is_go;
}

static struct err *heap_find_files(struct heap_state *state, const struct session_options *options)
{
	if (state->preload.path)
		add_heap_file_at(state, state->preload.path);
	else if (options->target == SESSION_COMMAND)
		program_files_each(options->argv[0], add_heap_file_at, state);
	for (size_t i = 0; i < options->nr_pids; i++) {
		struct heap_process process = {.state = state,
			.rules = target_files_create(false),
			.pid = options->pids[i]};
		proc_each_mapping(options->pids[i], NULL, add_heap_mapping, &process);
		target_files_destroy(process.rules);
		if (kill((pid_t)options->pids[i], 0) && errno == ESRCH)
			return err_new(ERR_USAGE, "there is no process %u", options->pids[i]);
	}
	if (count_allocators(state))
		return NULL;
	if (!state->files.len && options->target == SESSION_COMMAND)
		return err_new(ERR_USAGE, "--heap: there is no program %s", options->argv[0]);
	if (has_go_program(state))
		return err_new(ERR_UNSUPPORTED, "--heap: %s", str_text(&state->hint));
	return err_new(ERR_UNSUPPORTED,
		"--heap: no file of the program has functions of an allocator (malloc and the "
		"like) by name: it was stripped, or manages its memory by itself");
}

/* ---- the sources' common part ---- */

/* A command has a sampler of its own if it can: that costs little. */
static struct err *heap_choose_way(struct heap_state *state, const char *command)
{
	const char *why;
	if (heap_preload_suits(command, &why))
		return heap_preload_create(&state->preload);
	str_printf(&state->hint,
		"%s %s, so each call of its allocator comes upon a probe, which takes 2 to 3 us",
		command, why);
	return NULL;
}

static struct err *heap_probe(struct source *source, const struct session_options *options)
{
	if (!options->heap_bytes)
		return NULL;
	struct heap_state *state = source->state = mem_zalloc(sizeof(*state));
	state->distance = options->heap_bytes;
	state->preload.fd = -1;
	state->is_of_processes = options->nr_pids > 0;
	state->follows_forks = !options->no_inherit;
	state->guard.max_percent = options->max_overhead_percent;
	state->is_command = options->target == SESSION_COMMAND;
	snprintf(state->distance_text, sizeof(state->distance_text), "%llu",
		(unsigned long long)state->distance);
	snprintf(state->go_rate_text, sizeof(state->go_rate_text), "memprofilerate=%s",
		state->distance_text);
	if (session_is_system_wide(options))
		return err_new(ERR_USAGE,
			"--heap needs a command or processes (-p): it is not for the "
			"whole system");
	if (!uprobe_has_cookies())
		return err_new(ERR_UNSUPPORTED, "--heap needs Linux 5.15 or later");
	vec_push(&source->events, (struct source_event){.name = "alloc_space", .unit = "bytes"});
	if (options->target == SESSION_COMMAND)
		try(heap_choose_way(state, options->argv[0]));
	return heap_find_files(state, options);
}

static void heap_put_variables(const struct source *source, struct target_variables *variables)
{
	const struct heap_state *state = source->state;
	if (has_go_program(state))
		vec_push(variables, (struct target_variable){"GODEBUG", state->go_rate_text, ","});
	if (!state->preload.path)
		return;
	vec_push(variables, (struct target_variable){"LD_PRELOAD", state->preload.path, ":"});
	vec_push(variables,
		(struct target_variable){"EBPROF_HEAP_DISTANCE", state->distance_text, NULL});
}

static const char *heap_preloads(const struct source *source)
{
	return ((const struct heap_state *)source->state)->preload.path;
}

static const char *heap_hint(const struct source *source)
{
	const struct heap_state *state = source->state;
	return state->hint.len ? str_text(&state->hint) : NULL;
}

static void heap_load(struct source *source, struct sample_bpf *bpf)
{
	struct heap_state *state = source->state;
	state->bpf = bpf;
	source_kernel_choose(bpf, source->row->program);
	bpf->rodata->config.has_heap = true;
	bpf->rodata->config.heap_distance = (uint32_t)state->distance;
	point_weight_distances(
		state->distance, (uint64_t *)bpf->rodata->heap_distances, EVENT_DISTANCES);
	bpf_map__set_max_entries(bpf->maps.heap_calls, MAX_CALLS);
	bpf_map__set_max_entries(bpf->maps.kept_allocations, EVENT_MAX_KEPT);
	bpf_map__set_max_entries(bpf->maps.kept_of_process, MAX_PROCESSES);
	bpf_program__set_autoload(bpf->progs.on_heap_end, true);
	bpf_program__set_autoload(bpf->progs.on_heap_free, true);
	bpf_program__set_autoload(bpf->progs.on_heap_given, true);
	bpf_program__set_autoload(bpf->progs.on_heap_passed, true);
}

/* ---- probes ---- */

static struct err *attach_heap_probe(struct heap_process_probes *probes,
	const struct heap_file *file, const struct heap_place *place, int program, bool is_return)
{
	struct uprobe_place where = {file->path, file->fd, place->probed, 0, is_return};
	struct uprobe uprobe;
	try(err_wrap(uprobe_attach_to(probes->pid, &where, program, place->call, &uprobe), "%s",
		place->name));
	vec_push(&probes->uprobes, uprobe);
	return NULL;
}

/* What ends a call comes first: a call that is seen has an end. A sampler says it by itself. */
static struct err *attach_heap_place(const struct sample_bpf *bpf,
	struct heap_process_probes *probes, const struct heap_file *file,
	const struct heap_place *place)
{
	const struct bpf_program *one = NULL;
	uint64_t kind = place->call & EVENT_HEAP_CALL_MASK;
	switch (kind) {
	case EVENT_HEAP_FREE:
		one = bpf->progs.on_heap_free;
		break;
	case EVENT_HEAP_GIVEN:
		one = bpf->progs.on_heap_given;
		break;
	case EVENT_HEAP_PASSED:
		one = bpf->progs.on_heap_passed;
		break;
	}
	if (one)
		return attach_heap_probe(probes, file, place, bpf_program__fd(one), false);
	bool is_followed = !(place->call & EVENT_HEAP_IS_CHOSEN) && kind != EVENT_HEAP_GO_FIRST;
	if (is_followed)
		try(attach_heap_probe(
			probes, file, place, bpf_program__fd(bpf->progs.on_heap_end), true));
	return attach_heap_probe(
		probes, file, place, source_kernel_program(bpf, heap_source.program), false);
}

static void detach_heap_process(struct heap_process_probes *probes)
{
	uprobes_detach(probes->uprobes.data, probes->uprobes.len);
	vec_deinit(&probes->uprobes);
}

static struct err *attach_heap_files(
	const struct heap_state *state, struct heap_process_probes *probes)
{
	vec_each(&state->files, file)
		if (file->functions.has_allocator)
			vec_each(&file->functions.places, place)
				try(attach_heap_place(state->bpf, probes, file, place));
	return NULL;
}

static struct err *attach_heap_process(struct heap_state *state, uint32_t pid)
{
	struct heap_process_probes probes = {.pid = pid};
	struct err *err = attach_heap_files(state, &probes);
	if (err)
		detach_heap_process(&probes);
	else
		vec_push(&state->probed, probes);
	return err;
}

/* What is preloaded costs little, and is not watched. */
static void begin_heap_guard(struct heap_state *state, const struct source_place *place)
{
	struct heap_guard *guard = &state->guard;
	vec_append(&guard->pids, place->tasks.ids, place->tasks.nr_ids);
	if (!state->preload.path)
		guard->hit_ns = uprobe_trial_ns(bpf_program__fd(state->bpf->progs.on_heap_free));
}

static struct err *heap_attach(struct source *source, const struct source_place *place)
{
	struct heap_state *state = source->state;
	begin_heap_guard(state, place);
	if (!state->is_of_processes)
		return attach_heap_process(state, 0);
	for (size_t i = 0; i < place->tasks.nr_ids; i++)
		try(attach_heap_process(state, place->tasks.ids[i]));
	return NULL;
}

static struct err *heap_start(struct source *source, uint64_t now_ns)
{
	struct heap_state *state = source->state;
	state->guard.begun_ns = now_ns;
	state->bpf->bss->takes_allocations = true;
	return NULL;
}

static void detach_heap(struct heap_state *state)
{
	vec_each(&state->probed, probes)
		detach_heap_process(probes);
	state->probed.len = 0;
}

/* ---- what the processes fork ---- */

static bool has_heap_probes(const struct heap_state *state, uint32_t pid)
{
	vec_each(&state->probed, probes)
		if (probes->pid == pid)
			return true;
	return false;
}

/* A process that could not be probed is not tried again. */
static void probe_forked(struct heap_state *state, uint32_t pid)
{
	struct heap_process_probes none = {.pid = pid};
	struct err *err = attach_heap_process(state, pid);
	bool is_gone = err && kill((pid_t)pid, 0) && errno == ESRCH;
	state->nr_forked += !err;
	state->nr_unprobed += err && !is_gone;
	if (err && !is_gone)
		vec_push(&state->probed, none);
	err_destroy(err);
}

static void unprobe_ended(struct heap_state *state)
{
	int targets = bpf_map__fd(state->bpf->maps.targets);
	size_t kept = 0;
	vec_each(&state->probed, probes) {
		uint8_t value[64];
		if (bpf_map_lookup_elem(targets, &probes->pid, value) && errno == ENOENT)
			detach_heap_process(probes);
		else
			state->probed.data[kept++] = *probes;
	}
	state->probed.len = kept;
}

/* The kernel's events are inherited without their programs: new targets get their own. */
static void follow_forks(struct heap_state *state, uint64_t now_ns)
{
	enum {
		PERIOD_NS = 100 * 1000 * 1000,
		MOST = 64, /* at a time: each has tens of probes */
		MOST_TARGETS = 4096,
	};
	int targets = bpf_map__fd(state->bpf->maps.targets);
	uint32_t pid, *from = NULL;
	/* In a PID namespace the targets' numbers are others. */
	if (!state->is_of_processes || !state->follows_forks || state->is_taken_off ||
		state->stopped_ns || state->bpf->bss->pid_namespace_level ||
		now_ns < state->looked_ns + PERIOD_NS)
		return;
	state->looked_ns = now_ns;
	unprobe_ended(state);
	for (int i = 0; i < MOST_TARGETS && !bpf_map_get_next_key(targets, from, &pid); i++) {
		from = &pid;
		if (has_heap_probes(state, pid))
			continue;
		if (state->probed.len < MOST)
			probe_forked(state, pid);
		else
			state->is_full = true;
	}
}

/* What was allocated until its probes were there is missing, all of what lived less. */
static void say_of_forked(struct heap_state *state)
{
	if (!state->nr_forked && !state->nr_unprobed && !state->is_full)
		return;
	str_puts(&state->hint, state->hint.len ? "; " : "");
	str_printf(&state->hint,
		"%zu %s got probes of allocations up to 0.2 s later: what was allocated before "
		"is missing",
		state->nr_forked,
		str_plural(
			state->nr_forked, "process that was forked", "processes that were forked"));
	if (state->nr_unprobed || state->is_full)
		str_puts(&state->hint, ", and others got none, since there were too many");
}

/* ---- what is in use ---- */

struct heap_end {
	const struct source_image *image;
	source_kept_fn *fn;
	void *context;
};

static bool is_of_image(const struct event_sample *sample, const struct source_image *image)
{
	return !image->pid || (sample->pid == image->pid && sample->time_ns <= image->until_ns);
}

/* Samples are handed over once: only those that could be removed. */
static void end_kept_batch(struct heap_state *state, const struct event_kept_key *keys,
	struct event_sample *samples, uint32_t count, struct heap_end *end)
{
	int map = bpf_map__fd(state->bpf->maps.kept_allocations);
	int counts = bpf_map__fd(state->bpf->maps.kept_of_process);
	for (uint32_t i = 0; i < count; i++) {
		unsigned long long process = keys[i].process;
		if (!is_of_image(&samples[i], end->image) || bpf_map_delete_elem(map, &keys[i]))
			continue;
		bpf_map_delete_elem(counts, &process);
		end->fn(end->context, &samples[i]);
	}
}

/* Whether there can be any; in a PID namespace processes are called otherwise. */
static bool has_kept(const struct heap_state *state, uint32_t pid)
{
	unsigned long long process = pid, count;
	return !pid || state->bpf->bss->pid_namespace_level ||
	       !bpf_map_lookup_elem(
		       bpf_map__fd(state->bpf->maps.kept_of_process), &process, &count);
}

static void end_heap_kept(struct heap_state *state, const struct source_image *image,
	source_kept_fn *fn, void *context)
{
	enum {
		BATCH = 1024,
	};
	struct heap_end end = {image, fn, context};
	if (!has_kept(state, image->pid))
		return;
	CLEANUP_FREE struct event_kept_key *keys = mem_zalloc_array(BATCH, sizeof(*keys));
	CLEANUP_FREE struct event_sample *samples = mem_zalloc_array(BATCH, sizeof(*samples));
	uint32_t place, count = BATCH;
	int result = bpf_map_lookup_batch(bpf_map__fd(state->bpf->maps.kept_allocations), NULL,
		&place, keys, samples, &count, NULL);
	for (; !result || (result == -ENOENT && count); count = BATCH) {
		end_kept_batch(state, keys, samples, count, &end);
		if (result)
			return;
		count = BATCH;
		result = bpf_map_lookup_batch(bpf_map__fd(state->bpf->maps.kept_allocations),
			&place, &place, keys, samples, &count, NULL);
	}
}

/* ---- what the probes cost ---- */

static uint64_t count_heap_hits(const struct heap_state *state)
{
	uint32_t zero = 0;
	uint64_t hits = 0;
	int nr_possible = libbpf_num_possible_cpus();
	CLEANUP_FREE struct event_heap_lane *lanes =
		mem_zalloc_array((size_t)nr_possible, sizeof(*lanes));
	if (bpf_map_lookup_elem(bpf_map__fd(state->bpf->maps.heap_lanes), &zero, lanes))
		return 0;
	for (int cpu = 0; cpu < nr_possible; cpu++)
		hits += lanes[cpu].hits;
	return hits;
}

/* Of the processes and what they have forked, of those that are still there. */
static uint64_t cpu_time_of_targets(const struct heap_guard *guard)
{
	struct proc_pids all = {0};
	struct proc_stat stat;
	uint64_t cpu_ns = 0;
	vec_append(&all, guard->pids.data, guard->pids.len);
	while (proc_add_descendants(&all))
		;
	vec_each(&all, pid)
		if (proc_read_stat(*pid, &stat))
			cpu_ns += stat.cpu_ns;
	proc_pids_deinit(&all);
	return cpu_ns;
}

static const char *way_without_probes(const struct heap_state *state)
{
	if (has_go_program(state))
		return "let the program call runtime.MemProfile, as net/http/pprof does, so that "
		       "Go's runtime samples, or ";
	if (state->is_command) /* which has no sampler of its own for the reason that was said */
		return "";
	return "start the program by ebprof record --heap -- COMMAND, which counts in the program, "
	       "or ";
}

static void take_heap_off(struct heap_state *state, double percent, double hits_a_second)
{
	const struct heap_guard *guard = &state->guard;
	state->bpf->bss->takes_allocations = false; /* what is kept was in use until now */
	detach_heap(state);
	state->is_taken_off = true;
	state->taken_off_ns = guard->since_ns;
	if (!state->is_command)
		str_truncate(&state->hint, 0);
	else if (state->hint.len)
		str_puts(&state->hint, "; ");
	str_printf(&state->hint,
		"the probes of allocations took %.0f%% of the CPU time (%.0f hits a second, %.1f "
		"us each), so they were taken off after %.1f s: %sgive --max-overhead 100%%",
		percent, hits_a_second, (double)guard->hit_ns / 1e3,
		(double)(guard->since_ns - guard->begun_ns) / 1e9, way_without_probes(state));
}

/* The kernel shows CPU times in steps of 10 ms, and the program may sleep: it waits for enough of
 * it. */
static struct err *heap_update(struct source *source, uint64_t now_ns)
{
	enum {
		LEAST_NS = 100 * 1000 * 1000,
		LEAST_CPU_NS = 50 * 1000 * 1000,
		LEAST_PERCENT_OF_CPU = 2,
		LEAST_COST_NS = 1000 * 1000 * 1000, /* of all hits: a few seconds of a recording */
	};
	struct heap_state *state = source->state;
	struct heap_guard *guard = &state->guard, before = *guard;
	follow_forks(state, now_ns);
	if (!guard->hit_ns || state->is_taken_off || guard->max_percent >= 100 ||
		now_ns < guard->since_ns + LEAST_NS)
		return NULL;
	uint64_t cpu_ns = cpu_time_of_targets(guard);
	if (cpu_ns < guard->cpu_ns) /* some have ended */
		guard->cpu_ns = cpu_ns;
	if (guard->since_ns && cpu_ns < guard->cpu_ns + LEAST_CPU_NS)
		return NULL;
	guard->since_ns = now_ns;
	guard->cpu_ns = cpu_ns;
	guard->hits = count_heap_hits(state);
	if (!before.since_ns || cpu_ns <= before.cpu_ns)
		return NULL;
	double hits = (double)(guard->hits - before.hits);
	double cost_ns = hits * (double)guard->hit_ns;
	double percent = 100 * cost_ns / (double)(cpu_ns - before.cpu_ns);
	/* What hardly runs has no use for the CPU that probes would leave it. */
	double percent_of_cpu = 100 * cost_ns / (double)(now_ns - before.since_ns);
	double all_ns = (double)guard->hits * (double)guard->hit_ns;
	if (percent > guard->max_percent && percent_of_cpu > LEAST_PERCENT_OF_CPU &&
		all_ns >= LEAST_COST_NS)
		take_heap_off(state, percent, hits / ((double)(now_ns - before.since_ns) / 1e9));
	return NULL;
}

static void heap_stop(struct source *source, uint64_t now_ns)
{
	struct heap_state *state = source->state;
	state->stopped_ns = now_ns;
	state->bpf->bss->takes_allocations = false;
	detach_heap(state);
	say_of_forked(state);
	source_kernel_settle(source, state->bpf);
}

static uint64_t heap_unseen_ns(const struct source *source)
{
	const struct heap_state *state = source->state;
	if (!state->is_taken_off)
		return 0;
	uint64_t end_ns = state->stopped_ns ? state->stopped_ns : clock_now_ns();
	return end_ns > state->taken_off_ns ? end_ns - state->taken_off_ns : 0;
}

static struct err *heap_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	return source_kernel_read(source, ((struct heap_state *)source->state)->bpf, ret);
}

static void heap_release(struct source *source)
{
	struct heap_state *state = source->state;
	detach_heap(state);
	vec_deinit(&state->probed);
	vec_each(&state->files, file) {
		mem_close_fd(&file->fd);
		mem_free(file->path);
		heap_functions_deinit(&file->functions);
	}
	vec_deinit(&state->files);
	heap_preload_destroy(&state->preload);
	proc_pids_deinit(&state->guard.pids);
	str_deinit(&state->hint);
	mem_free(state);
}

struct heap_user {
	struct sample_bpf__bss *bss;
	source_kept_fn *fn;
	void *context;
};

static void take_used(void *context, const struct event_sample *kept)
{
	const struct heap_user *user = context;
	struct event_sample sample = *kept;
	user->bss->in_use_count++;
	user->bss->in_use_bytes += sample.measured;
	sample.source = EVENT_SOURCE_HEAP + EVENT_HEAP_USED_BYTES;
	sample.counted_by = EVENT_SOURCE_HEAP + EVENT_HEAP_USED_OBJECTS;
	user->fn(user->context, &sample);
}

static void heap_end_kept(
	struct source *source, const struct source_image *image, source_kept_fn *fn, void *context)
{
	struct heap_state *state = source->state;
	if (!state->bpf)
		return;
	struct heap_user user = {state->bpf->bss, fn, context};
	end_heap_kept(state, image, take_used, &user);
}

const struct event_source heap_source = {
	.name = "heap",
	.tallied = "allocations",
	.program = "heap",
	.lane = EVENT_LANE_TASK,
	.probe = heap_probe,
	.put_variables = heap_put_variables,
	.load = heap_load,
	.attach = heap_attach,
	.start = heap_start,
	.stop = heap_stop,
	.end_kept = heap_end_kept,
	.update = heap_update,
	.hint = heap_hint,
	.preloads = heap_preloads,
	.unseen_ns = heap_unseen_ns,
	.read_counters = heap_read_counters,
	.release = heap_release,
};

/* ---- the same by number, what is in use, and how long the rest was ---- */

struct heap_part {
	struct sample_bpf *bpf;
};

static struct err *probe_heap_part(
	struct source *source, const struct session_options *options, struct source_event event)
{
	if (!options->heap_bytes)
		return NULL;
	source->state = mem_zalloc(sizeof(struct heap_part));
	vec_push(&source->events, event);
	return NULL;
}

static struct err *heap_objects_probe(struct source *source, const struct session_options *options)
{
	return probe_heap_part(
		source, options, (struct source_event){.name = "alloc_objects", .unit = "objects"});
}

static struct err *heap_used_probe(struct source *source, const struct session_options *options)
{
	return probe_heap_part(
		source, options, (struct source_event){.name = "inuse_space", .unit = "bytes"});
}

static struct err *heap_used_objects_probe(
	struct source *source, const struct session_options *options)
{
	return probe_heap_part(
		source, options, (struct source_event){.name = "inuse_objects", .unit = "objects"});
}

static struct err *heap_lifetime_probe(struct source *source, const struct session_options *options)
{
	return probe_heap_part(
		source, options, (struct source_event){.name = "lifetime", .unit = LAYOUT_UNIT_NS});
}

static void heap_part_load(struct source *source, struct sample_bpf *bpf)
{
	((struct heap_part *)source->state)->bpf = bpf;
}

static struct err *heap_part_attach(struct source *source, const struct source_place *place)
{
	(void)source;
	(void)place;
	return NULL;
}

static struct err *heap_part_start(struct source *source, uint64_t now_ns)
{
	(void)source;
	(void)now_ns;
	return NULL;
}

static void heap_part_stop(struct source *source, uint64_t now_ns)
{
	(void)source;
	(void)now_ns;
}

static void heap_part_release(struct source *source)
{
	mem_free(source->state);
}

/* Those of the bytes: each is one object. */
static struct err *heap_objects_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	const struct heap_part *part = source->state;
	struct source bytes = *source;
	bytes.number = EVENT_SOURCE_HEAP;
	struct err *err = source_kernel_read(&bytes, part->bpf, ret);
	source->cpus = bytes.cpus;
	vec_each(ret, cpu)
		for (int i = 0; i < EVENT_COUNTERS; i++)
			cpu->counted.of[i].sum = cpu->counted.of[i].count;
	return err;
}

static struct err *heap_lifetime_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	return source_kernel_read(source, ((const struct heap_part *)source->state)->bpf, ret);
}

struct used_outcomes {
	struct event_tally used, unfollowed, lost;
};

/* The events are samples of allocations that are in use at the end, or of which that is not known,
 * and are no CPU's. */
static void put_used(const struct used_outcomes *of, struct source_cpus *ret)
{
	struct source_cpu cpu = {0};
	struct event_tally all = of->used;
	event_tally_add(&all, of->unfollowed);
	event_tally_add(&all, of->lost);
	cpu.counted.of[EVENT_COUNTER_EVENTS] = all;
	cpu.counted.of[EVENT_COUNTER_FILTERED] = of->unfollowed;
	cpu.counted.of[EVENT_COUNTER_LOST_BUSY] = of->lost;
	vec_push(ret, cpu);
}

static struct err *heap_used_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	const struct sample_bpf__bss *bss = ((const struct heap_part *)source->state)->bpf->bss;
	const struct used_outcomes of = {{bss->in_use_count, bss->in_use_bytes},
		{bss->unfollowed_count, bss->unfollowed_bytes},
		{bss->unkept_count, bss->unkept_bytes}};
	put_used(&of, ret);
	return NULL;
}

static struct err *heap_used_objects_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	const struct sample_bpf__bss *bss = ((const struct heap_part *)source->state)->bpf->bss;
	const struct used_outcomes of = {{bss->in_use_count, bss->in_use_count},
		{bss->unfollowed_count, bss->unfollowed_count},
		{bss->unkept_count, bss->unkept_count}};
	put_used(&of, ret);
	return NULL;
}

const struct event_source heap_objects_source = {
	.name = "heap-objects",
	.tallied = "allocations by number",
	.lane = EVENT_LANE_TASK,
	.probe = heap_objects_probe,
	.load = heap_part_load,
	.attach = heap_part_attach,
	.start = heap_part_start,
	.stop = heap_part_stop,
	.read_counters = heap_objects_read_counters,
	.release = heap_part_release,
};

const struct event_source heap_used_source = {
	.name = "heap-used",
	.tallied = "allocations in use",
	.lane = EVENT_LANE_TASK,
	.probe = heap_used_probe,
	.load = heap_part_load,
	.attach = heap_part_attach,
	.start = heap_part_start,
	.stop = heap_part_stop,
	.read_counters = heap_used_read_counters,
	.release = heap_part_release,
};

const struct event_source heap_used_objects_source = {
	.name = "heap-used-objects",
	.tallied = "allocations in use by number",
	.lane = EVENT_LANE_TASK,
	.probe = heap_used_objects_probe,
	.load = heap_part_load,
	.attach = heap_part_attach,
	.start = heap_part_start,
	.stop = heap_part_stop,
	.read_counters = heap_used_objects_read_counters,
	.release = heap_part_release,
};

const struct event_source heap_lifetime_source = {
	.name = "heap-lifetime",
	.tallied = "lifetimes of allocations",
	.lane = EVENT_LANE_TASK,
	.probe = heap_lifetime_probe,
	.load = heap_part_load,
	.attach = heap_part_attach,
	.start = heap_part_start,
	.stop = heap_part_stop,
	.read_counters = heap_lifetime_read_counters,
	.release = heap_part_release,
};

#include "record/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "record/cpu.h"
#include "record/feature.h"
#include "record/ticker.h"
#include "record/uprobe.h"

struct sampler {
	struct sample_bpf *bpf;
	struct bpf_program *on_tick, *on_hit; /* those that this kernel can run */
	struct ring_buffer *ring;
	bool has_timer, has_probes, has_shadow;
	struct shadow shadow;
	struct ticker ticker;
	bool has_targets;     /* tasks that are known by their ids; else those of a user, or all */
	struct cpu_list cpus; /* that are counted */
	VEC(struct uprobe) uprobes;
	sampler_record_fn *fn;
	void *fn_context;
	size_t ring_bytes, taken_bytes; /* taken: since draining began */
};

/* ---- the clock ---- */

static void choose_clock(struct sampler *sampler, const struct sampler_options *options)
{
	struct timers_clock clock = {
		.is_cycles = options->clock == SAMPLER_CLOCK_CYCLES ||
			     (options->clock == SAMPLER_CLOCK_AUTO && feature_cycles_count()),
		.frequency_hz = options->frequency_hz,
		.period = options->period,
		.exclude_user = options->exclude_user,
		.exclude_kernel = options->exclude_kernel,
	};
	sampler->has_timer = options->clock != SAMPLER_CLOCK_NONE;
	sampler->has_probes = options->nr_probes;
	sampler->has_shadow = options->script_probes;
	sampler->has_targets =
		options->filter == EVENT_FILTER_PROCESS || options->filter == EVENT_FILTER_THREAD;
	ticker_init(&sampler->ticker, &clock);
}

/* ---- loading ---- */

static uint32_t max_files(uint32_t nr_cpus, uint32_t nr_lanes)
{
	uint64_t count = (uint64_t)nr_cpus * nr_lanes * EVENT_FILES_PER_CPU,
		 max = 1 << EVENT_FRAME_FILE_BITS;
	return (uint32_t)(count < EVENT_MIN_FILES ? EVENT_MIN_FILES : count > max ? max : count);
}

static void multiply_entries(struct bpf_map *map, uint32_t nr_lanes)
{
	bpf_map__set_max_entries(map, bpf_map__max_entries(map) * nr_lanes);
}

static void configure(struct sampler *sampler, const struct sampler_options *options)
{
	struct sample_bpf *bpf = sampler->bpf;
	uint32_t nr_cpus = (uint32_t)libbpf_num_possible_cpus();
	uint32_t nr_lanes = sampler->has_probes || sampler->has_shadow ? EVENT_MAX_LANES : 1;
	bpf->rodata->config = (struct event_config){
		.filter = options->filter,
		.uid = options->uid,
		.command_pid = options->command_pid,
		.follow_children = options->follow_children,
		.wakeup_bytes = (unsigned)(options->ring_bytes / 4),
		.snapshot_limit_bytes = (unsigned)(options->ring_bytes / 4 * 3),
		.snapshot_bytes = options->snapshot_bytes,
		.call_graph = options->call_graph,
		.nr_cpus = nr_cpus,
		.nr_lanes = nr_lanes,
		.max_files = max_files(nr_cpus, nr_lanes),
		.shadow_runtimes = sampler->has_shadow ? options->script_probes->runtimes : 0,
		.times_calls = sampler->has_shadow && !shadow_init(&sampler->shadow),
	};
	if (sampler->has_shadow)
		bpf_map__set_max_entries(bpf->maps.shadow_stacks,
			SHADOW_MIN_THREADS + nr_cpus * SHADOW_THREADS_PER_CPU);
	sampler->ring_bytes = options->ring_bytes;
	bpf_map__set_max_entries(bpf->maps.ring, (uint32_t)options->ring_bytes);
	bpf_map__set_max_entries(bpf->maps.files, max_files(nr_cpus, nr_lanes));
	bpf_map__set_max_entries(bpf->maps.file_numbers, max_files(nr_cpus, nr_lanes));
	multiply_entries(bpf->maps.scratches, nr_lanes);
	multiply_entries(bpf->maps.runtime_records, nr_lanes);
	multiply_entries(bpf->maps.mapping_cache, nr_lanes);
	multiply_entries(bpf->maps.found_rules, nr_lanes);
	bool filters = sampler->has_targets;
	bpf_map__set_max_entries(bpf->maps.targets, filters ? EVENT_MAX_TARGETS : 1);
	bpf_program__set_autoload(bpf->progs.on_fork, filters);
	bpf_program__set_autoload(bpf->progs.on_free, filters);
	bpf_program__set_autoload(bpf->progs.on_exit, filters);
}

/* A loop over frames is one helper's (Linux 5.17), or made of tail calls. */
static void choose_loop(struct sampler *sampler)
{
	struct sample_bpf *bpf = sampler->bpf;
	bool has_loop = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1;
	bool has_timer = sampler->has_timer, has_probes = sampler->has_probes;
	sampler->on_tick = has_loop ? bpf->progs.on_tick : bpf->progs.on_tick_without_loop;
	bpf_program__set_autoload(bpf->progs.on_tick, has_timer && has_loop);
	bpf_program__set_autoload(bpf->progs.on_tick_without_loop, has_timer && !has_loop);
	bpf_program__set_autoload(bpf->progs.continue_tick, has_timer && !has_loop);
	sampler->on_hit = has_loop ? bpf->progs.on_hit : bpf->progs.on_hit_without_loop;
	bpf_program__set_autoload(bpf->progs.on_hit, has_probes && has_loop);
	bpf_program__set_autoload(bpf->progs.on_hit_without_loop, has_probes && !has_loop);
	bpf_program__set_autoload(bpf->progs.continue_hit, has_probes && !has_loop);
	bpf_program__set_autoload(bpf->progs.on_call, sampler->has_shadow);
}

/* A program that was not loaded is none. */
static struct err *put_continuation(const struct bpf_map *map, const struct bpf_program *program)
{
	uint32_t zero = 0;
	int fd = bpf_program__fd(program);
	if (fd >= 0 && bpf_map_update_elem(bpf_map__fd(map), &zero, &fd, BPF_ANY))
		return err_sys(errno, "cannot chain the BPF programs");
	return NULL;
}

/* The one rule that unwinding takes without any table. */
static struct err *put_frame_pointer_rule(struct sampler *sampler)
{
	static const struct unwind_rule rule = UNWIND_FRAME_POINTER_RULE;
	uint32_t number = UNWIND_RULE_FRAME_POINTER;
	if (bpf_map_update_elem(bpf_map__fd(sampler->bpf->maps.rules), &number, &rule, BPF_ANY))
		return err_sys(errno, "cannot write to a BPF map");
	return NULL;
}

/* BPF_PROG_TEST_RUN of raw tracepoints: Linux 5.10. */
static struct err *find_pid_namespace(const struct sample_bpf *bpf)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int result =
		bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.find_pid_namespace), &options);
	if (result)
		return feature_explain(err_sys(-result, "cannot find out the PID namespace"));
	return NULL;
}

static struct err *load(struct sampler *sampler, const struct sampler_options *options)
{
	feature_raise_locked_memory();
	sampler->bpf = sample_bpf__open();
	if (!sampler->bpf)
		return feature_explain(err_sys(errno, "cannot open the BPF programs"));
	configure(sampler, options);
	choose_loop(sampler);
	int result = sample_bpf__load(sampler->bpf);
	if (result)
		return feature_explain(err_sys(-result, "cannot load the BPF programs"));
	try(find_pid_namespace(sampler->bpf));
	try(put_frame_pointer_rule(sampler));
	const struct sample_bpf *bpf = sampler->bpf;
	try(put_continuation(bpf->maps.continuations, bpf->progs.continue_tick));
	return put_continuation(bpf->maps.hit_continuations, bpf->progs.continue_hit);
}

static struct err *attach_tracepoints(struct sampler *sampler)
{
	struct sample_bpf *bpf = sampler->bpf;
	if (!bpf_program__autoload(bpf->progs.on_fork))
		return NULL;
	bpf->links.on_fork = bpf_program__attach(bpf->progs.on_fork);
	if (!bpf->links.on_fork)
		return feature_explain(err_sys(errno, "cannot attach to sched_process_fork"));
	bool is_nested = bpf->bss->pid_namespace_level;
	struct bpf_link **link = is_nested ? &bpf->links.on_exit : &bpf->links.on_free;
	*link = bpf_program__attach(is_nested ? bpf->progs.on_exit : bpf->progs.on_free);
	if (!*link)
		return feature_explain(err_sys(errno, "cannot attach to sched_process_free"));
	return NULL;
}

/* ---- timers ---- */

static bool is_counted(const struct sampler *sampler, int cpu)
{
	for (size_t i = 0; i < sampler->cpus.len; i++)
		if (sampler->cpus.data[i] == cpu)
			return true;
	return false;
}

static struct err *list_cpus(struct sampler *sampler, const struct sampler_options *options)
{
	for (size_t i = 0; i < options->nr_cpus; i++)
		if (!is_counted(sampler, options->cpus[i]))
			vec_push(&sampler->cpus, options->cpus[i]);
	return options->nr_cpus ? NULL : cpu_list_online(&sampler->cpus);
}

static void list_targets(void *context, struct proc_pids *ret)
{
	const struct sampler *sampler = context;
	int targets = bpf_map__fd(sampler->bpf->maps.targets);
	uint32_t id = 0;
	while (!bpf_map_get_next_key(targets, ret->len ? &id : NULL, &id))
		vec_push(ret, id);
}

static struct err *open_ticker(struct sampler *sampler, const struct sampler_options *options)
{
	struct ticker_options ticker = {
		.program = bpf_program__fd(sampler->on_tick),
		.follows_tasks = &sampler->bpf->bss->ticks_follow_tasks,
		.cpus = options->nr_cpus ? sampler->cpus.data : NULL,
		.nr_cpus = options->nr_cpus ? sampler->cpus.len : 0,
		.tasks = options->tasks,
		.list_targets = list_targets,
		.context = sampler,
	};
	return sampler->has_timer ? ticker_open(&sampler->ticker, &ticker) : NULL;
}

/* A cookie is a probe's number. Without cookies all hits are the first one's. */
static struct err *add_probes(struct sampler *sampler, const struct sampler_options *options)
{
	bool has_cookies = options->nr_probes && uprobe_has_cookies();
	if (options->nr_probes > 1 && !has_cookies)
		return err_new(ERR_UNSUPPORTED,
			"more than one USDT probe at once needs Linux 5.15 or later");
	int program = bpf_program__fd(sampler->on_hit);
	for (size_t i = 0; i < options->nr_probes; i++) {
		const struct usdt *probe = &options->probes[i];
		vec_each(&probe->places, at) {
			struct uprobe_place place = {
				probe->path, -1, at->offset, at->semaphore_offset};
			struct uprobe uprobe;
			try(uprobe_attach(&place, program, has_cookies ? i + 1 : 0, &uprobe));
			vec_push(&sampler->uprobes, uprobe);
		}
	}
	return NULL;
}

static struct err *add_script_probes(struct sampler *sampler, const struct sampler_options *options)
{
	struct sample_bpf *bpf = sampler->bpf;
	struct shadow_fds fds = {
		.program = bpf_program__fd(bpf->progs.on_call),
		.places = bpf_map__fd(bpf->maps.shadow_places),
		.counters = bpf_map__fd(bpf->maps.shadow_counters),
	};
	if (!sampler->has_shadow)
		return NULL;
	return shadow_attach(&sampler->shadow, &fds, options->script_probes);
}

struct err *sampler_add_script_probes(
	struct sampler *sampler, const struct script_probes *probes, size_t first)
{
	return shadow_attach_more(&sampler->shadow, probes, first);
}

static int on_record(void *context, void *data, size_t len)
{
	struct sampler *sampler = context;
	sampler->fn(sampler->fn_context, data, len);
	sampler->taken_bytes += len;
	return sampler->taken_bytes < sampler->ring_bytes ? 0 : -EAGAIN; /* ends the round */
}

static struct err *open_ring(struct sampler *sampler)
{
	int fd = bpf_map__fd(sampler->bpf->maps.ring);
	sampler->ring = ring_buffer__new(fd, on_record, sampler, NULL);
	return sampler->ring ? NULL : err_sys(errno, "cannot map the ring buffer");
}

/* libbpf prints to stderr by itself, which only cmd may do; its errors come back as errno. */
static int discard_libbpf_output(
	enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

struct err *sampler_create(const struct sampler_options *options, struct sampler **ret)
{
	libbpf_set_print(discard_libbpf_output);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	struct sampler *sampler = mem_zalloc(sizeof(*sampler));
	sampler->shadow.statistics_fd = -1;
	choose_clock(sampler, options);
	struct err *err = NULL;
	if (sampler->has_shadow && !uprobe_has_cookies())
		err = err_new(ERR_UNSUPPORTED, "--usdt-stacks needs Linux 5.15 or later");
	if (!err)
		err = load(sampler, options);
	if (!err)
		err = attach_tracepoints(sampler);
	if (!err)
		err = list_cpus(sampler, options);
	if (!err)
		err = open_ticker(sampler, options);
	if (!err)
		err = add_probes(sampler, options);
	if (!err)
		err = add_script_probes(sampler, options);
	if (!err)
		err = open_ring(sampler);
	if (err)
		sampler_destroy(sampler);
	else
		*ret = sampler;
	return err;
}

void sampler_destroy(struct sampler *sampler)
{
	if (!sampler)
		return;
	ticker_deinit(&sampler->ticker);
	vec_deinit(&sampler->cpus);
	vec_each(&sampler->uprobes, uprobe)
		uprobe_detach(uprobe);
	vec_deinit(&sampler->uprobes);
	shadow_deinit(&sampler->shadow);
	ring_buffer__free(sampler->ring);
	sample_bpf__destroy(sampler->bpf);
	mem_free(sampler);
}

/* ---- running ---- */

struct err *sampler_add_target(struct sampler *sampler, uint32_t id)
{
	uint64_t start_ns = 0; /* any */
	int fd = bpf_map__fd(sampler->bpf->maps.targets);
	if (bpf_map_update_elem(fd, &id, &start_ns, BPF_ANY))
		return err_sys(errno, "cannot add process %u to the targets", id);
	return NULL;
}

struct err *sampler_start(struct sampler *sampler, uint64_t now_ns, uint64_t until_ns)
{
	sampler->bpf->bss->until_ns = until_ns;
	sampler->bpf->bss->takes_hits = true;
	return sampler->has_timer ? ticker_start(&sampler->ticker, now_ns) : NULL;
}

/* All possible CPUs; yours. */
static struct err *read_counters(const struct sampler *sampler, struct event_counters **ret)
{
	uint32_t zero = 0;
	int nr_possible = libbpf_num_possible_cpus();
	if (nr_possible < 0)
		return err_sys(-nr_possible, "cannot tell the number of CPUs");
	CLEANUP_FREE struct event_counters *counted =
		mem_zalloc_array((size_t)nr_possible, sizeof(*counted));
	if (bpf_map_lookup_elem(bpf_map__fd(sampler->bpf->maps.counters), &zero, counted))
		return err_sys(errno, "cannot read the BPF programs' counters");
	*ret = steal_ptr(counted);
	return NULL;
}

struct err *sampler_update_timers(struct sampler *sampler, uint64_t now_ns)
{
	const struct sample_bpf *bpf = sampler->bpf;
	CLEANUP_FREE struct event_counters *counted = NULL;
	if (!sampler->has_targets)
		return NULL;
	try(read_counters(sampler, &counted));
	struct timer_load load = {
		.now_ns = now_ns,
		.processes_forked = bpf->bss->processes_forked,
		.threads_forked = bpf->bss->threads_forked,
	};
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		load.samples += counted[cpu].samples + counted[cpu].lost_ring;
		load.task_ticks += counted[cpu].task_ticks;
		load.switch_rates += counted[cpu].switch_rates;
	}
	return ticker_update(&sampler->ticker, &load);
}

struct ticker_times sampler_timer_times(const struct sampler *sampler, uint64_t now_ns)
{
	return ticker_times_until(&sampler->ticker, now_ns);
}

/* Detaching waits for programs that run. Should it not, on some kernel: a while, until all of the
 * hits that began have come to their end. */
static void wait_for_hits(const struct sampler *sampler)
{
	enum {
		MAX_WAITS = 1000,
		WAIT_US = 1000,
	};
	for (int i = 0; sampler->has_probes && i < MAX_WAITS; i++) {
		CLEANUP_FREE struct event_counters *counted = NULL;
		struct err *err = read_counters(sampler, &counted);
		uint64_t left = 0;
		for (int cpu = 0; !err && cpu < libbpf_num_possible_cpus(); cpu++) {
			const struct event_counters *count = &counted[cpu];
			left += count->hits - count->hit_samples - count->hits_filtered -
				count->hits_lost_ring - count->hits_lost_busy;
		}
		err_destroy(err);
		if (!left)
			return;
		usleep(WAIT_US);
	}
}

void sampler_stop(struct sampler *sampler, uint64_t now_ns)
{
	ticker_stop(&sampler->ticker, now_ns);
	sampler->bpf->bss->takes_hits = false;
	vec_each(&sampler->uprobes, uprobe)
		uprobe_detach(uprobe);
	shadow_detach(&sampler->shadow);
	wait_for_hits(sampler);
}

int sampler_fd(const struct sampler *sampler)
{
	/* Not libbpf's epoll descriptor: nobody waits on that, so it would announce once only. */
	return bpf_map__fd(sampler->bpf->maps.ring);
}

bool sampler_drain(struct sampler *sampler, sampler_record_fn *fn, void *context)
{
	sampler->fn = fn;
	sampler->fn_context = context;
	sampler->taken_bytes = 0;
	return ring_buffer__consume(sampler->ring) != -EAGAIN;
}

struct table_store_maps sampler_table_maps(const struct sampler *sampler)
{
	const struct sample_bpf *bpf = sampler->bpf;
	return (struct table_store_maps){
		.files = bpf_map__fd(bpf->maps.files),
		.rules = bpf_map__fd(bpf->maps.rules),
		.shards = bpf_map__fd(bpf->maps.shards),
		.runtime_rows = bpf_map__fd(bpf->maps.runtime_rows),
		.max_files = bpf->rodata->config.max_files,
		.epoch = &bpf->bss->table_epoch,
	};
}

void sampler_forget_stacks(struct sampler *sampler)
{
	sampler->bpf->bss->generation++;
}

void sampler_forget_codes(struct sampler *sampler)
{
	sampler->bpf->bss->code_generation++;
	sampler_forget_stacks(sampler);
}

bool sampler_read_shadow_cost(const struct sampler *sampler, struct shadow_cost *ret)
{
	if (sampler->has_shadow)
		shadow_read_cost(&sampler->shadow, ret);
	return sampler->has_shadow;
}

bool sampler_is_in_pid_namespace(const struct sampler *sampler)
{
	return sampler->bpf->bss->pid_namespace_level;
}

uint64_t sampler_files_full(const struct sampler *sampler)
{
	return sampler->bpf->bss->files_full;
}

uint64_t sampler_targets_full(const struct sampler *sampler)
{
	return sampler->bpf->bss->targets_full;
}

/* CPUs that came later have tasks of their own timers, or hits. */
static void add_new_cpus(struct sampler *sampler, const struct event_counters *counted)
{
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		if ((counted[cpu].ticks || counted[cpu].hits) && !is_counted(sampler, cpu))
			vec_push(&sampler->cpus, cpu);
}

static uint64_t beyond(uint64_t due, uint64_t came)
{
	return due > came ? due - came : 0;
}

/* Late ones are those of the timers that ran last. */
static uint64_t came_by(
	const struct sampler *sampler, const struct event_counters *count, enum timer_kind kind)
{
	uint64_t late = sampler->ticker.choice.kind == kind ? count->late : 0;
	bool of_tasks = kind == TIMERS_OF_TASKS;
	return (of_tasks ? count->task_ticks : count->ticks - count->task_ticks) + late;
}

/* What the timers of tasks lack is no CPU's: it goes to the first. */
static uint64_t skipped_by_tasks(
	const struct sampler *sampler, const struct event_counters *counted)
{
	uint64_t came = 0;
	for (size_t i = 0; i < sampler->cpus.len; i++)
		came += came_by(sampler, &counted[sampler->cpus.data[i]], TIMERS_OF_TASKS);
	return beyond(ticker_due(&sampler->ticker, TIMERS_OF_TASKS, -1), came);
}

struct err *sampler_read_counters(
	struct sampler *sampler, bool with_skipped, sampler_counters_fn *fn, void *context)
{
	CLEANUP_FREE struct event_counters *counted = NULL;
	try(read_counters(sampler, &counted));
	add_new_cpus(sampler, counted);
	uint64_t skipped = with_skipped ? skipped_by_tasks(sampler, counted) : 0;
	for (size_t i = 0; i < sampler->cpus.len; i++) {
		int cpu = sampler->cpus.data[i];
		const struct event_counters *count = &counted[cpu];
		struct sampler_cpu_counters counters = {.cpu = (uint32_t)cpu, .counted = *count};
		if (with_skipped)
			counters.skipped = beyond(ticker_due(&sampler->ticker, TIMERS_OF_CPUS, cpu),
						   came_by(sampler, count, TIMERS_OF_CPUS)) +
					   (i ? 0 : skipped);
		fn(context, &counters);
	}
	return NULL;
}

const char *sampler_event_name(const struct sampler *sampler)
{
	return sampler->has_timer ? timers_event_name(&sampler->ticker.timers[0]) : NULL;
}

const char *sampler_event_unit(const struct sampler *sampler)
{
	return timers_event_unit(&sampler->ticker.timers[0]);
}

uint64_t sampler_period(const struct sampler *sampler)
{
	return timers_period(&sampler->ticker.timers[0]);
}

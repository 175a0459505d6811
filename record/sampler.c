#include "record/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/machine/machine.h"
#include "record/host/feature.h"
#include "record/host/kernel_btf.h"
#include "record/host/uprobe.h"
#include "record/walkers.h"

struct sampler {
	struct sample_bpf *bpf;
	struct sources *sources;
	struct ring_buffer *ring;
	bool has_shadow;
	struct shadow shadow;
	sampler_record_fn *fn;
	void *fn_context;
	size_t ring_bytes, taken_bytes; /* taken: since draining began */
	uint32_t runtimes;              /* bits: whose script frames are found */
	struct walkers walkers;
};

/* ---- loading ---- */

static uint32_t max_files(uint32_t nr_cpus, uint32_t nr_places)
{
	uint64_t count = (uint64_t)nr_cpus * nr_places * EVENT_FILES_PER_CPU,
		 max = 1 << EVENT_FRAME_FILE_BITS;
	return (uint32_t)(count < EVENT_MIN_FILES ? EVENT_MIN_FILES : count > max ? max : count);
}

static void multiply_entries(struct bpf_map *map, uint32_t times)
{
	bpf_map__set_max_entries(map, bpf_map__max_entries(map) * times);
}

/* Targets are known by their ids. */
static bool has_target_ids(enum event_filter filter)
{
	return filter == EVENT_FILTER_PROCESS || filter == EVENT_FILTER_THREAD ||
	       filter == EVENT_FILTER_EITHER;
}

static bool has_target_cgroups(enum event_filter filter)
{
	return filter == EVENT_FILTER_CGROUP || filter == EVENT_FILTER_EITHER;
}

static void choose_programs(struct sampler *sampler, enum event_filter filter)
{
	bool filters = has_target_ids(filter);
	struct sample_bpf *bpf = sampler->bpf;
	struct bpf_program *program = NULL;
	while ((program = bpf_object__next_program(bpf->obj, program)))
		bpf_program__set_autoload(program, false);
	bpf_program__set_autoload(bpf->progs.find_pid_namespace, true);
	bpf_program__set_autoload(bpf->progs.number_own_file, true);
	bpf_program__set_autoload(bpf->progs.on_fork, filters);
	bpf_program__set_autoload(bpf->progs.on_free, filters);
	bpf_program__set_autoload(bpf->progs.on_exit, filters);
	bpf_program__set_autoload(bpf->progs.on_cgroup_moved, true);
	bpf_program__set_autoload(bpf->progs.on_cgroup_made, has_target_cgroups(filter));
	bpf_program__set_autoload(bpf->progs.on_call, sampler->has_shadow);
	sources_load(sampler->sources, bpf);
}

static void configure(struct sampler *sampler, const struct sampler_options *options,
	struct walker_runtimes runtimes)
{
	struct sample_bpf *bpf = sampler->bpf;
	uint32_t nr_cpus = (uint32_t)libbpf_num_possible_cpus();
	uint32_t nr_lanes = sources_nr_lanes(sampler->sources, sampler->has_shadow);
	uint32_t nr_places = nr_lanes + sources_walk_sleepers(sampler->sources);
	bpf->rodata->config = (struct event_config){
		.filter = options->filter,
		.uid = options->uid,
		.command_pid = options->command_pid,
		.follow_children = options->follow_children,
		.cgroup_hierarchies = options->cgroup_hierarchies,
		.wakeup_bytes = (unsigned)(options->ring_bytes / 4),
		.snapshot_limit_bytes = (unsigned)(options->ring_bytes / 4 * 3),
		.snapshot_bytes = options->snapshot_bytes,
		.call_graph = options->call_graph,
		.nr_cpus = nr_cpus,
		.nr_lanes = nr_lanes,
		.nr_places = nr_places,
		.max_files = max_files(nr_cpus, nr_places) - EVENT_RECORDER_FILES,
		.shadow_runtimes = sampler->has_shadow ? options->script_probes->runtimes : 0,
		.runtimes = runtimes.runtimes,
		.other_runtimes = runtimes.other_runtimes,
		.label_sources = options->label_sources,
		.reads_code = machine_native()->find_return != NULL,
		.pc_mask = machine_native_registers()->pc_mask,
		.page_shift = (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE)),
		.times_calls = sampler->has_shadow && !shadow_init(&sampler->shadow),
	};
	if (sampler->has_shadow)
		bpf_map__set_max_entries(bpf->maps.shadow_stacks,
			SHADOW_MIN_THREADS + nr_cpus * SHADOW_THREADS_PER_CPU);
	sampler->ring_bytes = options->ring_bytes;
	bpf_map__set_max_entries(bpf->maps.ring, (uint32_t)options->ring_bytes);
	bpf_map__set_max_entries(bpf->maps.files, max_files(nr_cpus, nr_places));
	bpf_map__set_max_entries(bpf->maps.file_numbers, max_files(nr_cpus, nr_places));
	multiply_entries(bpf->maps.scratches, nr_places);
	multiply_entries(bpf->maps.runtime_records, nr_places);
	multiply_entries(bpf->maps.label_records, nr_places);
	multiply_entries(bpf->maps.mapping_cache, nr_places);
	multiply_entries(bpf->maps.found_rules, nr_cpus * nr_places);
	multiply_entries(bpf->maps.java_known_blobs, nr_places);
	multiply_entries(bpf->maps.java_known_methods, nr_places);
	multiply_entries(bpf->maps.known_codes, nr_places);
	multiply_entries(bpf->maps.node_known_maps, nr_places);
	multiply_entries(bpf->maps.node_known, nr_places);
	multiply_entries(bpf->maps.node_met_codes, nr_places);
	multiply_entries(bpf->maps.erlang_known_codes, nr_places);
	multiply_entries(bpf->maps.dotnet_known_places, nr_places);
	bpf_map__set_max_entries(
		bpf->maps.targets, has_target_ids(options->filter) ? EVENT_MAX_TARGETS : 1);
	bpf_map__set_max_entries(bpf->maps.target_cgroups,
		has_target_cgroups(options->filter) ? EVENT_MAX_CGROUPS : 1);
	choose_programs(sampler, options->filter);
	if (options->nr_variables)
		memcpy((void *)bpf->rodata->variables, options->variables,
			options->nr_variables * sizeof(*options->variables));
	bpf_program__set_autoload(bpf->progs.on_exec, options->nr_variables);
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

/* To be loaded by the types in a file, that has what they need of the kernel's. NULL: that cannot
 * be made. */
static struct sample_bpf *open_with_types(int types)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	struct bpf_object_open_opts options = {.sz = sizeof(options), .btf_custom_path = path};
	struct sample_bpf *bpf = types < 0 ? NULL : sample_bpf__open_opts(&options);
	if (bpf && kernel_btf_write(types, bpf_object__btf(bpf->obj)))
		return bpf;
	sample_bpf__destroy(bpf);
	return NULL;
}

/* Where what libbpf says of a program that does not load is put; NULL: it is not wanted. */
static _Thread_local struct str *refusal;

/* libbpf prints to stderr by itself, which only cmd may do; its errors come back as errno. */
static int keep_refusal(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (refusal && level == LIBBPF_WARN && strstr(format, "BEGIN PROG LOAD LOG"))
		str_vprintf(refusal, format, arguments);
	return 0;
}

static struct err *load_object(struct sample_bpf *bpf)
{
	CLEANUP(str_deinit) struct str log = {0}, why = {0};
	refusal = &log;
	int result = sample_bpf__load(bpf);
	refusal = NULL;
	if (!result)
		return NULL;
	feature_put_refusal(&why, str_text(&log));
	return feature_explain(err_sys(
		-result, "cannot load the BPF program%s%s", why.len ? " " : "s", str_text(&why)));
}

static struct err *open_and_load(struct sampler *sampler, const struct sampler_options *options)
{
	CLEANUP_FD int types = memfd_create("kernel types", MFD_CLOEXEC);
	sampler->bpf = open_with_types(types);
	if (!sampler->bpf)
		sampler->bpf = sample_bpf__open(); /* libbpf looks for the kernel's types itself */
	if (!sampler->bpf)
		return feature_explain(err_sys(errno, "cannot open the BPF programs"));
	configure(sampler, options,
		walkers_begin_with(&sampler->walkers, sampler->bpf, sampler->runtimes));
	return load_object(sampler->bpf);
}

static struct err *sampler_load(struct sampler *sampler, const struct sampler_options *options)
{
	feature_raise_locked_memory();
	walkers_keep_begin(&sampler->walkers);
	struct err *err = open_and_load(sampler, options);
	walkers_keep_end();
	try(err);
	try(walkers_put_first(&sampler->walkers, sampler->bpf));
	err = walkers_load_for(&sampler->walkers, sampler->bpf, sampler->runtimes);
	if (err)
		return feature_explain(err);
	try(find_pid_namespace(sampler->bpf));
	return put_frame_pointer_rule(sampler);
}

static struct err *attach_tracepoints(struct sampler *sampler)
{
	struct sample_bpf *bpf = sampler->bpf;
	bpf->links.on_cgroup_moved = bpf_program__attach(bpf->progs.on_cgroup_moved);
	if (!bpf->links.on_cgroup_moved)
		return feature_explain(err_sys(errno, "cannot attach to cgroup_attach_task"));
	if (bpf_program__autoload(bpf->progs.on_cgroup_made)) {
		bpf->links.on_cgroup_made = bpf_program__attach(bpf->progs.on_cgroup_made);
		if (!bpf->links.on_cgroup_made)
			return feature_explain(err_sys(errno, "cannot attach to cgroup_mkdir"));
	}
	if (bpf_program__autoload(bpf->progs.on_exec)) {
		bpf->links.on_exec = bpf_program__attach(bpf->progs.on_exec);
		if (!bpf->links.on_exec)
			return feature_explain(
				err_sys(errno, "cannot attach to sched_process_exec"));
	}
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

static struct err *attach_sources(struct sampler *sampler, const struct sampler_options *options)
{
	struct source_place place = {
		.bpf = sampler->bpf,
		.cpus = options->cpus,
		.nr_cpus = options->nr_cpus,
		.tasks = options->tasks,
		.runtimes = &sampler->runtimes,
		.sources = sampler->sources,
	};
	return sources_attach(sampler->sources, &place);
}

static struct err *sampler_put_script_probes(
	struct sampler *sampler, const struct sampler_options *options)
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

struct err *sampler_add_runtimes(struct sampler *sampler, uint32_t runtimes)
{
	runtimes |= sampler->runtimes;
	if (runtimes == sampler->runtimes)
		return NULL;
	try(walkers_load_for(&sampler->walkers, sampler->bpf, runtimes));
	sampler->runtimes = runtimes;
	return NULL;
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

struct err *sampler_create(const struct sampler_options *options, struct sampler **ret)
{
	libbpf_set_print(keep_refusal);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	struct sampler *sampler = mem_zalloc(sizeof(*sampler));
	sampler->sources = options->sources;
	sampler->shadow.statistics_fd = -1;
	sampler->has_shadow = options->script_probes;
	sampler->runtimes = options->runtimes;
	if (sampler->has_shadow)
		sampler->runtimes |= options->script_probes->runtimes;
	struct err *err = NULL;
	if (sampler->has_shadow && !uprobe_has_cookies())
		err = err_new(ERR_UNSUPPORTED, "--usdt-stacks needs Linux 5.15 or later");
	if (!err)
		err = sampler_load(sampler, options);
	if (!err)
		err = attach_tracepoints(sampler);
	if (!err)
		err = attach_sources(sampler, options);
	if (!err)
		err = sampler_put_script_probes(sampler, options);
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
	shadow_deinit(&sampler->shadow);
	ring_buffer__free(sampler->ring);
	sample_bpf__destroy(sampler->bpf);
	walkers_deinit(&sampler->walkers);
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

size_t sampler_list_targets(const struct sampler *sampler, uint32_t *ret, size_t max)
{
	int fd = bpf_map__fd(sampler->bpf->maps.targets);
	size_t count = 0;
	void *from = NULL;
	while (count < max && !bpf_map_get_next_key(fd, from, &ret[count]))
		from = &ret[count++];
	return count;
}

void sampler_drop_target(struct sampler *sampler, uint32_t id)
{
	bpf_map_delete_elem(bpf_map__fd(sampler->bpf->maps.targets), &id);
}

bool sampler_set_thread_context(
	void *context, uint32_t pid, const struct event_thread_context *place)
{
	struct sampler *sampler = context;
	int fd = bpf_map__fd(sampler->bpf->maps.thread_contexts);
	if (!place)
		return !bpf_map_delete_elem(fd, &pid);
	sampler->bpf->bss->has_thread_contexts = 1;
	return !bpf_map_update_elem(fd, &pid, place, BPF_ANY);
}

/* Those of the map that are none any more. */
static void drop_other_cgroups(int fd, const struct target_cgroups *targets)
{
	struct event_cgroup key, next;
	bool has_next = !bpf_map_get_next_key(fd, NULL, &next);
	while (has_next) {
		key = next;
		has_next = !bpf_map_get_next_key(fd, &key, &next);
		bool is_target = false;
		vec_each(&targets->groups, group)
			is_target |= memcmp(group, &key, sizeof(key)) == 0;
		if (!is_target)
			bpf_map_delete_elem(fd, &key);
	}
}

struct err *sampler_set_target_cgroups(
	struct sampler *sampler, const struct target_cgroups *targets)
{
	struct sample_bpf *bpf = sampler->bpf;
	int fd = bpf_map__fd(bpf->maps.target_cgroups);
	uint32_t is_there = 1;
	drop_other_cgroups(fd, targets);
	bpf->bss->first_cgroup_level = targets->first_level;
	bpf->bss->last_cgroup_level = targets->last_level;
	vec_each(&targets->groups, group)
		if (bpf_map_update_elem(fd, group, &is_there, BPF_ANY))
			return err_sys(errno, "cannot write to a BPF map");
	return NULL;
}

uint64_t sampler_cgroups_made(const struct sampler *sampler)
{
	return sampler->bpf->bss->cgroups_made;
}

struct err *sampler_start(struct sampler *sampler, uint64_t now_ns, uint64_t until_ns)
{
	sampler->bpf->bss->until_ns = until_ns;
	return sources_start(sampler->sources, now_ns);
}

bool sampler_is_ready(struct sampler *sampler)
{
	return sources_are_ready(sampler->sources);
}

void sampler_stop(struct sampler *sampler, uint64_t now_ns)
{
	sources_stop(sampler->sources, now_ns);
	shadow_detach(&sampler->shadow);
}

void sampler_divide(struct sampler *sampler, uint64_t now_ns)
{
	sources_divide(sampler->sources, now_ns);
}

bool sampler_finish_some(struct sampler *sampler)
{
	return sources_finish_some(sampler->sources);
}

int sampler_fd(const struct sampler *sampler)
{
	/* Not libbpf's epoll descriptor: the recorder does not wait on that, so it would announce
	 * once only. */
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
		.code_rules = bpf_map__fd(bpf->maps.code_rules),
		.known_runtimes = bpf_map__fd(bpf->maps.known_runtimes),
		.number_own_file = bpf_program__fd(bpf->progs.number_own_file),
		.max_files = bpf->rodata->config.max_files + EVENT_RECORDER_FILES,
		.epoch = &bpf->bss->table_epoch,
		.row_kinds = &bpf->bss->row_kinds,
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

uint64_t sampler_code_unasked(const struct sampler *sampler)
{
	return sampler->bpf->bss->code_unasked;
}

uint64_t sampler_files_full(const struct sampler *sampler)
{
	return sampler->bpf->bss->files_full;
}

uint64_t sampler_programs_skipped(const struct sampler *sampler)
{
	const struct sample_bpf *bpf = sampler->bpf;
	int accounted = source_kernel_program(bpf, "trace");
	uint64_t skipped = 0;
	struct bpf_program *program = NULL;
	while ((program = bpf_object__next_program(bpf->obj, program))) {
		struct bpf_prog_info info = {0};
		uint32_t bytes = sizeof(info);
		int fd = bpf_program__fd(program);
		if (fd >= 0 && fd != accounted && !bpf_obj_get_info_by_fd(fd, &info, &bytes))
			skipped += info.recursion_misses;
	}
	return skipped;
}

uint64_t sampler_targets_full(const struct sampler *sampler)
{
	return sampler->bpf->bss->targets_full;
}

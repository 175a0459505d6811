#include "record/source/source_kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"

enum {
	MAX_NAME_BYTES = 64,
};

/* That of "on_%s" and the like; NULL: there is none. */
static struct bpf_program *source_kernel_find_program(
	const struct sample_bpf *bpf, const char *before, const char *name, const char *behind)
{
	char text[MAX_NAME_BYTES];
	snprintf(text, sizeof(text), "%s%s%s", before, name, behind);
	return bpf_object__find_program_by_name(bpf->obj, text);
}

/* A loop over frames is one helper's (Linux 5.17), or made of tail calls. */
static bool has_loop(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1;
}

struct bpf_program *source_kernel_starter(const struct sample_bpf *bpf, const char *name)
{
	return source_kernel_find_program(bpf, "on_", name, has_loop() ? "" : "_without_loop");
}

void source_kernel_choose(const struct sample_bpf *bpf, const char *name)
{
	bpf_program__set_autoload(source_kernel_starter(bpf, name), true);
	bpf_program__set_autoload(
		source_kernel_find_program(bpf, has_loop() ? "walk_" : "continue_", name, ""),
		true);
	bpf_program__set_autoload(source_kernel_find_program(bpf, "end_", name, ""), true);
}

/* The first one if it was loaded, else the second. */
static const struct bpf_program *loaded_program(
	const struct bpf_program *first, const struct bpf_program *second)
{
	return bpf_program__fd(first) >= 0 ? first : second;
}

const struct bpf_program *source_kernel_walker(const struct sample_bpf *bpf, const char *name)
{
	return loaded_program(source_kernel_find_program(bpf, "walk_", name, ""),
		source_kernel_find_program(bpf, "continue_", name, ""));
}

struct walker_runtimes source_kernel_runtimes(enum runtime_group group, uint32_t runtimes)
{
	uint32_t compilers = runtimes & RUNTIME_MASK_OF_COMPILERS, loops = runtimes & ~compilers;
	if (!compilers || !loops)
		return (struct walker_runtimes){group == RUNTIME_GROUP_LOOPS ? runtimes : 0, 0};
	if (group == RUNTIME_GROUP_LOOPS)
		return (struct walker_runtimes){loops, RUNTIME_MASK_OF_COMPILERS};
	return (struct walker_runtimes){compilers, ~(uint32_t)RUNTIME_MASK_OF_COMPILERS};
}

/* In the map that programs call each other by; `key` is an enum next_program there. */
static struct err *put_program(
	const struct sample_bpf *bpf, const char *name, uint32_t key, int program)
{
	char text[MAX_NAME_BYTES];
	snprintf(text, sizeof(text), "%s_walkers", name);
	int map = bpf_object__find_map_fd_by_name(bpf->obj, text);
	if (bpf_map_update_elem(map, &key, &program, BPF_ANY))
		return err_sys(errno, "cannot chain the BPF programs");
	return NULL;
}

struct err *source_kernel_put_walker(
	const struct sample_bpf *bpf, const char *name, enum runtime_group group, int program)
{
	return put_program(bpf, name, group, program);
}

struct err *source_kernel_program(const struct sample_bpf *bpf, const char *name, int *ret)
{
	int end = bpf_program__fd(source_kernel_find_program(bpf, "end_", name, ""));
	try(put_program(bpf, name, RUNTIME_GROUPS, end));
	try(source_kernel_put_walker(
		bpf, name, RUNTIME_GROUP_LOOPS, bpf_program__fd(source_kernel_walker(bpf, name))));
	*ret = bpf_program__fd(loaded_program(source_kernel_find_program(bpf, "on_", name, ""),
		source_kernel_find_program(bpf, "on_", name, "_without_loop")));
	return NULL;
}

struct err *source_kernel_count(
	const struct source *source, const struct sample_bpf *bpf, struct event_counters **ret)
{
	int nr_possible = libbpf_num_possible_cpus();
	if (nr_possible < 0)
		return err_sys(-nr_possible, "cannot tell the number of CPUs");
	CLEANUP_FREE struct event_counters *counted =
		mem_zalloc_array((size_t)nr_possible, sizeof(*counted));
	if (bpf_map_lookup_elem(bpf_map__fd(bpf->maps.counters), &source->number, counted))
		return err_sys(errno, "cannot read the BPF programs' counters");
	*ret = steal_ptr(counted);
	return NULL;
}

struct err *source_kernel_read(
	struct source *source, const struct sample_bpf *bpf, struct source_cpus *ret)
{
	CLEANUP_FREE struct event_counters *counted = NULL;
	struct cpu_list *cpus = &source->cpus;
	try(source_kernel_count(source, bpf, &counted));
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		if (counted[cpu].of[EVENT_COUNTER_EVENTS].count)
			cpu_list_add(cpus, cpu);
	vec_each(cpus, cpu)
		vec_push(ret, (struct source_cpu){.cpu = (uint32_t)*cpu, .counted = counted[*cpu]});
	return NULL;
}

static uint64_t count_unfinished(const struct event_counters *counted)
{
	const struct event_tally *of = counted->of;
	return of[EVENT_COUNTER_EVENTS].count - of[EVENT_COUNTER_SAMPLES].count -
	       of[EVENT_COUNTER_FILTERED].count - of[EVENT_COUNTER_BELOW].count -
	       of[EVENT_COUNTER_LOST_RING].count - of[EVENT_COUNTER_LOST_BUSY].count;
}

void source_kernel_settle(const struct source *source, const struct sample_bpf *bpf)
{
	enum {
		MAX_WAITS = 1000,
		WAIT_US = 1000,
	};
	for (int i = 0; i < MAX_WAITS; i++) {
		CLEANUP_FREE struct event_counters *counted = NULL;
		struct err *err = source_kernel_count(source, bpf, &counted);
		uint64_t left = 0;
		for (int cpu = 0; !err && cpu < libbpf_num_possible_cpus(); cpu++)
			left += count_unfinished(&counted[cpu]);
		err_destroy(err);
		if (!left)
			return;
		usleep(WAIT_US);
	}
}

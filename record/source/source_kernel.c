#include "record/source/source_kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "record/host/feature.h"

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

/* Programs for a machine whose kernels have it all have no whole_NAME(). */
bool source_kernel_is_whole(const struct sample_bpf *bpf)
{
	return source_kernel_find_program(bpf, "whole_", "tick", "") && !feature_has_tail_calls();
}

static struct bpf_program *find_starter(const struct sample_bpf *bpf, const char *name)
{
	if (source_kernel_is_whole(bpf))
		return source_kernel_find_program(bpf, "on_", name, "_whole");
	struct bpf_program *without_loop =
		has_loop() ? NULL : source_kernel_find_program(bpf, "on_", name, "_without_loop");
	return without_loop ? without_loop : source_kernel_find_program(bpf, "on_", name, "");
}

void source_kernel_choose(const struct sample_bpf *bpf, const char *name)
{
	bpf_program__set_autoload(find_starter(bpf, name), true);
	if (source_kernel_is_whole(bpf))
		bpf_program__set_autoload(
			source_kernel_find_program(bpf, "whole_", name, ""), true);
}

void source_kernel_choose_walker(const struct sample_bpf *bpf, const char *name)
{
	if (source_kernel_is_whole(bpf))
		return;
	bpf_program__set_autoload(
		source_kernel_find_program(bpf, has_loop() ? "walk_" : "continue_", name, ""),
		true);
	bpf_program__set_autoload(source_kernel_find_program(bpf, "end_", name, ""), true);
}

int source_kernel_program(const struct sample_bpf *bpf, const char *name)
{
	static const char *const endings[] = {"", "_without_loop", "_whole"};
	int fd = -1;
	for (size_t i = 0; fd < 0 && i < sizeof(endings) / sizeof(*endings); i++)
		fd = bpf_program__fd(source_kernel_find_program(bpf, "on_", name, endings[i]));
	return fd;
}

struct walker_runtimes source_kernel_runtimes(
	enum runtime_group group, uint32_t runtimes, bool is_whole)
{
	uint32_t compilers = runtimes & RUNTIME_MASK_OF_COMPILERS, loops = runtimes & ~compilers;
	if (is_whole || !compilers || !loops)
		return (struct walker_runtimes){group == RUNTIME_GROUP_LOOPS ? runtimes : 0, 0};
	if (group == RUNTIME_GROUP_LOOPS)
		return (struct walker_runtimes){loops, RUNTIME_MASK_OF_COMPILERS};
	return (struct walker_runtimes){compilers, ~(uint32_t)RUNTIME_MASK_OF_COMPILERS};
}

/* In a map that programs call each other by; `key` is an enum next_program there. */
static struct err *put_program(
	const struct sample_bpf *bpf, const char *map_name, uint32_t key, int program)
{
	int map = bpf_object__find_map_fd_by_name(bpf->obj, map_name);
	if (bpf_map_update_elem(map, &key, &program, BPF_ANY))
		return err_sys(errno, "cannot chain the BPF programs");
	return NULL;
}

struct err *source_kernel_put_walker(const struct sample_bpf *bpf, const struct bpf_program *walker,
	enum runtime_group group, int program)
{
	const char *name = strchr(bpf_program__name(walker), '_') + 1;
	bool is_whole = strncmp(bpf_program__name(walker), "whole_", strlen("whole_")) == 0;
	char map[MAX_NAME_BYTES];
	snprintf(map, sizeof(map), "%s%s", name, is_whole ? "_wholes" : "_walkers");
	try(put_program(bpf, map, group, program));
	if (is_whole)
		return NULL;
	int end = bpf_program__fd(source_kernel_find_program(bpf, "end_", name, ""));
	return put_program(bpf, map, RUNTIME_GROUPS, end);
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

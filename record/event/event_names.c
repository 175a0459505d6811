#include "record/event/event_names.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#ifndef PERF_COUNT_SW_CGROUP_SWITCHES /* Linux 5.13 */
#define PERF_COUNT_SW_CGROUP_SWITCHES 11
#endif

#define HARDWARE(name, alias, config, unit, purpose) \
	{ \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, unit, purpose \
	}
#define SOFTWARE(name, alias, config, unit, purpose) \
	{ \
		name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, unit, purpose \
	}

const struct event_name event_names[] = {
	SOFTWARE("page-faults", "faults", PAGE_FAULTS, "faults",
		"which code touches memory for the first time: growth of memory, cheaply"),
	SOFTWARE(
		"minor-faults", NULL, PAGE_FAULTS_MIN, "faults", "page faults that needed no disk"),
	SOFTWARE("major-faults", NULL, PAGE_FAULTS_MAJ, "faults",
		"page faults that waited for a disk: cold files, swap"),
	SOFTWARE("context-switches", "cs", CONTEXT_SWITCHES, "switches",
		"where threads leave their CPU: locks, reads, sleeps; -e offcpu has their time"),
	SOFTWARE("cpu-migrations", "migrations", CPU_MIGRATIONS, "migrations",
		"threads that are moved to another CPU, and lose its caches"),
	SOFTWARE("cgroup-switches", NULL, CGROUP_SWITCHES, "switches",
		"switches to a task of another control group"),
	SOFTWARE("alignment-faults", NULL, ALIGNMENT_FAULTS, "faults",
		"accesses that the kernel had to mend, on some processors"),
	SOFTWARE("emulation-faults", NULL, EMULATION_FAULTS, "faults",
		"instructions that the kernel had to emulate, on some processors"),
	SOFTWARE("task-clock", NULL, TASK_CLOCK, "ns", "time on a CPU, by the task's own clock"),
	HARDWARE("instructions", NULL, INSTRUCTIONS, "instructions",
		"how much was computed, whatever the clock did"),
	HARDWARE("cache-references", NULL, CACHE_REFERENCES, "accesses",
		"accesses to the last cache"),
	HARDWARE("cache-misses", NULL, CACHE_MISSES, "misses", "accesses that waited for memory"),
	HARDWARE("branch-instructions", "branches", BRANCH_INSTRUCTIONS, "branches",
		"branches, to judge branch-misses by"),
	HARDWARE("branch-misses", NULL, BRANCH_MISSES, "misses",
		"branches that the processor guessed wrong"),
	HARDWARE("bus-cycles", NULL, BUS_CYCLES, "cycles", "cycles of the bus"),
	HARDWARE("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND,
		"cycles", "cycles without an instruction to begin"),
	HARDWARE("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND, "cycles",
		"cycles that waited for memory or a unit"),
	HARDWARE("ref-cycles", NULL, REF_CPU_CYCLES, "cycles",
		"cycles of a clock that does not change its frequency"),
	{0},
};

static bool has_name(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && memcmp(name, text, len) == 0;
}

const struct event_name *event_name_find(const char *text, size_t len)
{
	for (const struct event_name *row = event_names; row->name; row++)
		if (has_name(row->name, text, len) || has_name(row->alias, text, len))
			return row;
	return NULL;
}

bool event_cache_name_at(size_t index, struct event_cache_name *ret)
{
	static const struct {
		const char *name;
		uint64_t config;
	} caches[] =
		{
			{"L1-dcache", PERF_COUNT_HW_CACHE_L1D},
			{"L1-icache", PERF_COUNT_HW_CACHE_L1I},
			{"LLC", PERF_COUNT_HW_CACHE_LL},
			{"dTLB", PERF_COUNT_HW_CACHE_DTLB},
			{"iTLB", PERF_COUNT_HW_CACHE_ITLB},
			{"branch", PERF_COUNT_HW_CACHE_BPU},
			{"node", PERF_COUNT_HW_CACHE_NODE},
		},
	  accesses[] = {
		  {"loads", PERF_COUNT_HW_CACHE_OP_READ << 8},
		  {"load-misses",
			  PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16},
		  {"stores", PERF_COUNT_HW_CACHE_OP_WRITE << 8},
		  {"store-misses", PERF_COUNT_HW_CACHE_OP_WRITE << 8 |
					   PERF_COUNT_HW_CACHE_RESULT_MISS << 16},
		  {"prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH << 8},
		  {"prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 |
					      PERF_COUNT_HW_CACHE_RESULT_MISS << 16},
	  };
	enum {
		CACHES = sizeof(caches) / sizeof(*caches),
		ACCESSES = sizeof(accesses) / sizeof(*accesses),
	};
	if (index >= CACHES * ACCESSES)
		return false;
	size_t cache = index / ACCESSES, access = index % ACCESSES;
	snprintf(ret->name, sizeof(ret->name), "%s-%s", caches[cache].name, accesses[access].name);
	ret->config = caches[cache].config | accesses[access].config;
	return true;
}

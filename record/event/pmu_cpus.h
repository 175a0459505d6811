/*
 * On which CPUs a PMU counts. A processor with two kinds of cores (big.LITTLE, Intel's P and E
 * cores) has a PMU for each kind; one that counts outside of the cores is read on one CPU of each
 * package.
 */
#ifndef EBPROF_PMU_CPUS_H
#define EBPROF_PMU_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "record/host/cpu.h"

/* Those that do not count everywhere. */
struct pmu_cpus {
	struct pmu_cpus_row {
		uint32_t type;    /* as struct perf_event_attr has it */
		bool is_of_cores; /* counts what these cores execute */
		struct cpu_list cpus;
	} * data;
	size_t len, cap;
};

/* From PMU_DEVICES, or a test's folder. */
void pmu_cpus_read(const char *devices, struct pmu_cpus *ret);
void pmu_cpus_deinit(struct pmu_cpus *pmus);
/* Whether an event of this type can be opened on that CPU. */
bool pmu_cpus_has(const struct pmu_cpus *pmus, uint32_t type, int cpu);
/*
 * Whether an event of this type is counted by several PMUs, each on its own cores. The kernel finds
 * the one of a CPU; for a task on any CPU it takes the first, and what the task does on other cores
 * is not counted (Linux 6.18, perf_init_event()).
 */
bool pmu_cpus_are_several(const struct pmu_cpus *pmus, uint32_t type);
/* Whether it is counted on one kind of cores alone, while the processor has others. */
bool pmu_cpus_are_some(const struct pmu_cpus *pmus, uint32_t type);
/* Whether it is counted outside of the cores, where nothing is known of tasks. */
bool pmu_cpus_are_outside(const struct pmu_cpus *pmus, uint32_t type);

#endif

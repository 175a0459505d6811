/* Which perf event a name stands for: those of a PMU by what sysfs says of it. */
#ifndef EBPROF_PMU_H
#define EBPROF_PMU_H

#include <linux/perf_event.h>

#include "format/base/err.h"
#include "record/event/event_spec.h"

#define PMU_DEVICES "/sys/bus/event_source/devices"

/*
 * What an event of the kinds COUNTER and PMU is, with its modifiers, period and frequency. The
 * folder is PMU_DEVICES, or a test's. ERR_USAGE: there is no such PMU, event or term.
 */
struct err *pmu_describe(const char *devices, const struct event_spec *spec,
	struct perf_event_attr *ret) ERR_MUST_CHECK;

/*
 * Opens it once, for this very process or where its PMU is read, to see whether it can be had.
 * Where it is refused with the precise level wanted, lowers that in `attr`; where the PMU tells no
 * levels of privilege apart, leaves out the hypervisor's.
 */
struct err *pmu_try(const char *devices, const struct event_spec *spec,
	struct perf_event_attr *attr) ERR_MUST_CHECK;

#endif

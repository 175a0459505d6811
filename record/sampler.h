/*
 * The timers and the probes, and their BPF programs: loads them, arms the timers, hands out what
 * they send and what they counted.
 */
#ifndef EBPROF_SAMPLER_H
#define EBPROF_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"
#include "record/script_probes.h"
#include "record/shadow.h"
#include "record/table_store.h"
#include "record/ticker.h"
#include "record/usdt.h"

enum sampler_clock {
	SAMPLER_CLOCK_AUTO = 0, /* cycles where they count, else cpu-clock */
	SAMPLER_CLOCK_CYCLES,
	SAMPLER_CLOCK_CPU,
	SAMPLER_CLOCK_NONE, /* probes only */
};

struct sampler_options {
	enum sampler_clock clock;
	uint32_t frequency_hz;             /* 0: use period */
	uint64_t period;                   /* in the clock's unit */
	bool exclude_user, exclude_kernel; /* of ticks */
	const struct usdt *probes; /* borrowed during the call; samples number them from 1 */
	size_t nr_probes;
	const struct script_probes *script_probes; /* or NULL; borrowed likewise */
	const int *cpus;                           /* nr_cpus of them; 0: all that are online */
	size_t nr_cpus;
	/* What has timers of its own while that costs less than timers of the CPUs; see
	 * record/timer_choice.h. Of no ids, or with `cpus`: nothing. Borrowed during the call. */
	struct target_tasks tasks;
	enum event_filter filter;
	uint32_t uid;         /* with EVENT_FILTER_USER */
	uint32_t command_pid; /* of what is a target from its exec on; 0: nothing */
	bool follow_children;
	size_t ring_bytes; /* a power of two of at least a page */
	enum event_call_graph call_graph;
	uint32_t snapshot_bytes; /* at most, of each stack that cannot be unwound at once */
};

struct sampler;

/*
 * Loads the programs, opens the timers, disarmed, and places the probes, whose hits do not count
 * yet. ERR_UNSUPPORTED: this kernel has no such probes, or not so many.
 */
struct err *sampler_create(
	const struct sampler_options *options, struct sampler **ret) ERR_MUST_CHECK;
void sampler_destroy(struct sampler *sampler);

/* Places the script probes from number `first` on, of those it was created with: found since. */
struct err *sampler_add_script_probes(
	struct sampler *sampler, const struct script_probes *probes, size_t first) ERR_MUST_CHECK;
struct err *sampler_add_target(struct sampler *sampler, uint32_t id) ERR_MUST_CHECK;
/* `until_ns`: when sampling ends, CLOCK_MONOTONIC, however late it is stopped; 0: not before. */
struct err *sampler_start(
	struct sampler *sampler, uint64_t now_ns, uint64_t until_ns) ERR_MUST_CHECK;
/* When it returns nothing is sampled any more. */
void sampler_stop(struct sampler *sampler, uint64_t now_ns);
/* To be called now and then: changes to timers of another kind when those are the better ones. */
struct err *sampler_update_timers(struct sampler *sampler, uint64_t now_ns) ERR_MUST_CHECK;
/* `now_ns`: any time when they were stopped. */
struct ticker_times sampler_timer_times(const struct sampler *sampler, uint64_t now_ns);

/* Becomes readable when the ring is a quarter full, or holds news that cannot wait. */
int sampler_fd(const struct sampler *sampler);
typedef void sampler_record_fn(void *context, const void *record, size_t len);
/*
 * Calls fn for what is in the ring; records begin with an enum event_type. False: there may be
 * more. Ends when it has taken as much as the ring holds: on a busy machine records may come as
 * fast as they are taken, and whoever takes them keeps them.
 */
bool sampler_drain(struct sampler *sampler, sampler_record_fn *fn, void *context);
/* Where the BPF side looks for unwind tables; valid as long as the sampler. */
struct table_store_maps sampler_table_maps(const struct sampler *sampler);
/* Makes every stack new: it will be sent again before a sample names it. */
void sampler_forget_stacks(struct sampler *sampler);
/* ... and the names of scripts' functions, too. */
void sampler_forget_codes(struct sampler *sampler);

struct sampler_cpu_counters {
	uint32_t cpu;
	struct event_counters counted;
	/* Ticks that were due by the clock, its count divided by the period, and did not come. What
	 * the timers of tasks lack is the first CPU's. 0 unless asked for. */
	uint64_t skipped;
};

/*
 * Calls fn for each CPU, always the same ones in the same order, new ones last. `with_skipped`:
 * while the timers run, CPUs have to be interrupted, and waited for, to tell that.
 */
typedef void sampler_counters_fn(void *context, const struct sampler_cpu_counters *counters);
struct err *sampler_read_counters(struct sampler *sampler, bool with_skipped,
	sampler_counters_fn *fn, void *context) ERR_MUST_CHECK;
/* Of the probes of script functions; false: there are none. */
bool sampler_read_shadow_cost(const struct sampler *sampler, struct shadow_cost *ret);
/* Not the machine's own one: only its tasks can be sampled. */
bool sampler_is_in_pid_namespace(const struct sampler *sampler);
uint64_t sampler_files_full(const struct sampler *sampler);
uint64_t sampler_targets_full(const struct sampler *sampler);

const char *sampler_event_name(const struct sampler *sampler); /* "cycles", "cpu-clock"; NULL */
const char *sampler_event_unit(const struct sampler *sampler); /* "cycles", "ns" */
uint64_t sampler_period(const struct sampler *sampler);        /* 0 in frequency mode */

#endif

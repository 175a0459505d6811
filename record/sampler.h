/*
 * The BPF programs of the event sources: loads them, attaches the sources, hands out what they
 * send.
 */
#ifndef EBPROF_SAMPLER_H
#define EBPROF_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"
#include "record/cgroup/target_cgroups.h"
#include "record/script/script_probes.h"
#include "record/script/shadow.h"
#include "record/source/sources.h"
#include "record/unwind/table_store.h"

struct sampler_options {
	struct sources *sources; /* that were probed; borrowed as long as the sampler lives */
	const struct script_probes *script_probes; /* or NULL; borrowed during the call */
	const int *cpus;                           /* nr_cpus of them; 0: all that are online */
	size_t nr_cpus;
	/* What has timers of its own while that costs less than timers of the CPUs; see
	 * record/event/timer_choice.h. Of no ids, or with `cpus`: nothing. Borrowed during the
	 * call. */
	struct target_tasks tasks;
	enum event_filter filter;
	uint32_t uid;                /* with EVENT_FILTER_USER */
	uint32_t command_pid;        /* of what is a target from its exec on; 0: nothing */
	uint32_t cgroup_hierarchies; /* with filters by them: bits, see bpf/event.h */
	bool follow_children;
	size_t ring_bytes; /* a power of two of at least a page */
	enum event_call_graph call_graph;
	uint32_t snapshot_bytes; /* at most, of each stack that cannot be unwound at once */
	uint32_t runtimes;       /* bits: whose script frames are found from the beginning on */
	uint32_t label_sources;  /* bits: which labels of samples are read */
	const struct event_variable *variables; /* of environments, sent at each exec */
	size_t nr_variables;
};

struct sampler;

/*
 * Loads the programs and attaches the sources, whose events do not count yet. ERR_UNSUPPORTED:
 * this kernel does not have them.
 */
struct err *sampler_create(
	const struct sampler_options *options, struct sampler **ret) ERR_MUST_CHECK;
void sampler_destroy(struct sampler *sampler);

/* Places the script probes from number `first` on, of those it was created with: found since. */
struct err *sampler_add_script_probes(
	struct sampler *sampler, const struct script_probes *probes, size_t first) ERR_MUST_CHECK;
/*
 * From when it returns on script frames of these runtimes (bits) are found, too: loads the walking
 * programs once more, with them. It takes some tens of milliseconds. One thread may call it, at
 * any time between creation and destruction.
 */
struct err *sampler_add_runtimes(struct sampler *sampler, uint32_t runtimes) ERR_MUST_CHECK;
struct err *sampler_add_target(struct sampler *sampler, uint32_t id) ERR_MUST_CHECK;
/* At most `max` of them, whether they still run or not; how many that are. */
size_t sampler_list_targets(const struct sampler *sampler, uint32_t *ret, size_t max);
/* Also one that has ended, and is none any more. */
void sampler_drop_target(struct sampler *sampler, uint32_t id);
/* Where threads of a process publish what they work at; NULL: nowhere any more. False: there is no
 * room. Fits thread_context_fn. */
bool sampler_set_thread_context(
	void *sampler, uint32_t pid, const struct event_thread_context *place);
/* With filters by control groups, instead of those before. */
struct err *sampler_set_target_cgroups(
	struct sampler *sampler, const struct target_cgroups *targets) ERR_MUST_CHECK;
/* How many the machine has made since the sampler was created; counted with that filter only. */
uint64_t sampler_cgroups_made(const struct sampler *sampler);
/* `until_ns`: when sampling ends, CLOCK_MONOTONIC, however late it is stopped; 0: not before. */
struct err *sampler_start(
	struct sampler *sampler, uint64_t now_ns, uint64_t until_ns) ERR_MUST_CHECK;
/* With options->awaits_stacks: whether stacks of tasks that sleep can be walked. */
bool sampler_is_ready(struct sampler *sampler);
/* When it returns nothing is sampled any more but what sampler_finish_some() makes samples of. */
void sampler_stop(struct sampler *sampler, uint64_t now_ns);
/* What is under way is divided where a file ends. Nothing stops. */
void sampler_divide(struct sampler *sampler, uint64_t now_ns);
/* After both, until it is false: makes samples of what is under way, or was when it was divided.
 * Empty the ring in between. */
bool sampler_finish_some(struct sampler *sampler);

/* Becomes readable when the ring is a quarter full, or holds news that cannot wait. */
int sampler_fd(const struct sampler *sampler);
typedef void sampler_record_fn(void *context, const void *record, size_t len);
/*
 * Calls fn for what is in the ring; records begin with an enum event_type. False: there may be
 * more. Ends when it has taken as much as the ring holds: on a busy machine records may come as
 * fast as they are taken, and the caller keeps those that it took.
 */
bool sampler_drain(struct sampler *sampler, sampler_record_fn *fn, void *context);
/* Where the BPF side looks for unwind tables; valid as long as the sampler. */
struct table_store_maps sampler_table_maps(const struct sampler *sampler);
/* Makes every stack new: it will be sent again before a sample names it. */
void sampler_forget_stacks(struct sampler *sampler);
/* ... and the names of scripts' functions, too. */
void sampler_forget_codes(struct sampler *sampler);

/* Of the probes of script functions; false: there are none. */
bool sampler_read_shadow_cost(const struct sampler *sampler, struct shadow_cost *ret);
/* Not the machine's own one: only its tasks can be sampled. */
bool sampler_is_in_pid_namespace(const struct sampler *sampler);
uint64_t sampler_files_full(const struct sampler *sampler);
/* Steps whose code the recorder was not asked to read, since the ring was too full. */
uint64_t sampler_code_unasked(const struct sampler *sampler);
uint64_t sampler_targets_full(const struct sampler *sampler);
/*
 * Runs of programs that the kernel skipped since the same program was under way on the CPU: from
 * Linux 7.0 on a task may be preempted in the midst of one. Those at tracepoints that the user
 * asked for are not among them: they are lost events of these. Kernels before 5.12 do not tell: 0.
 */
uint64_t sampler_programs_skipped(const struct sampler *sampler);

#endif

#include "record/shadow.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/proc.h"

/* ---- what a hit costs besides the program ---- */

enum {
	TRIAL_CALLS = 500,
	TRIALS = 5,
};

/* As a probe's place is: a no-op. */
void shadow_trial(void);
__asm__(".text\n.globl shadow_trial\n.type shadow_trial, %function\n"
	"shadow_trial: nop\n ret\n.size shadow_trial, . - shadow_trial\n");

/* The quickest of some trials: what disturbs makes them slower only. */
static uint64_t time_calls(void)
{
	uint64_t least = UINT64_MAX;
	for (int trial = 0; trial < TRIALS; trial++) {
		uint64_t start = clock_now_ns();
		for (int i = 0; i < TRIAL_CALLS; i++)
			shadow_trial();
		uint64_t took = clock_now_ns() - start;
		least = took < least ? took : least;
	}
	return least / TRIAL_CALLS;
}

static bool find_trial(void *context, const struct proc_mapping *mapping)
{
	uint64_t *offset = context, at = (uintptr_t)shadow_trial;
	if (at < mapping->start || at >= mapping->end)
		return true;
	*offset = at - mapping->start + mapping->offset;
	return false;
}

/* With place 0, which there is not, the program is done at once. */
static uint64_t try_hits(int program_fd)
{
	uint64_t offset = 0;
	proc_each_mapping((uint32_t)getpid(), NULL, find_trial, &offset);
	struct uprobe_place place = {.path = "/proc/self/exe", .file_fd = -1, .offset = offset};
	struct uprobe uprobe;
	uint64_t without = time_calls();
	struct err *err = offset ? uprobe_attach(&place, program_fd, 0, &uprobe)
				 : err_new(ERR_UNSUPPORTED, "no place to try");
	if (err) {
		err_destroy(err);
		return 0;
	}
	uint64_t with = time_calls();
	uprobe_detach(&uprobe);
	return with > without ? with - without : 0;
}

/* ---- attaching ---- */

static struct err *attach(struct shadow *shadow, const struct script_probe *place, uint32_t number)
{
	if (number >= SHADOW_MAX_PLACES)
		return NULL;
	if (bpf_map_update_elem(shadow->fds.places, &number, &place->shadow, BPF_ANY))
		return err_sys(errno, "cannot write to a BPF map");
	struct uprobe_place at = {
		place->path, place->file_fd, place->offset, place->semaphore_offset, false};
	struct uprobe uprobe;
	try(uprobe_attach(&at, shadow->fds.program, number, &uprobe));
	vec_push(&shadow->uprobes, uprobe);
	return NULL;
}

/* Returns first: a thread that enters a function then will be seen to leave it. */
struct err *shadow_attach_more(
	struct shadow *shadow, const struct script_probes *probes, size_t first)
{
	static const unsigned wanted[] = {SHADOW_IS_RETURN, 0};
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = first; i < probes->places.len; i++) {
			const struct script_probe *place = &probes->places.data[i];
			if ((place->shadow.flags & SHADOW_IS_RETURN) == wanted[pass])
				try(attach(shadow, place, (uint32_t)i + 1));
		}
	return NULL;
}

/* Statistics: Linux 5.8, and only with CAP_SYS_ADMIN. */
bool shadow_init(struct shadow *shadow)
{
	*shadow = (struct shadow){.statistics_fd = bpf_enable_stats(BPF_STATS_RUN_TIME)};
	return shadow->statistics_fd >= 0;
}

struct err *shadow_attach(
	struct shadow *shadow, const struct shadow_fds *fds, const struct script_probes *probes)
{
	shadow->fds = *fds;
	shadow->around_ns = try_hits(fds->program);
	return shadow_attach_more(shadow, probes, 0);
}

/*
 * In the opposite order: the kernel takes milliseconds for each, and what is entered meanwhile must
 * still be heard to be left, or it counts as too deep and as an entry without a return.
 */
void shadow_detach(struct shadow *shadow)
{
	for (size_t i = shadow->uprobes.len; i--;)
		uprobe_detach(&shadow->uprobes.data[i]);
}

/* ---- the bill ---- */

static void shadow_add_counters(const struct shadow *shadow, struct shadow_counters *ret)
{
	int nr_possible = libbpf_num_possible_cpus();
	uint32_t zero = 0;
	if (nr_possible < 0)
		return;
	CLEANUP_FREE struct shadow_counters *counted =
		mem_zalloc_array((size_t)nr_possible, sizeof(*counted));
	if (bpf_map_lookup_elem(shadow->fds.counters, &zero, counted))
		return;
	for (int cpu = 0; cpu < nr_possible; cpu++) {
		for (int i = 0; i < SHADOW_MAX_PLACES; i++)
			ret->hits[i] += counted[cpu].hits[i];
		ret->filtered += counted[cpu].filtered;
		ret->unmatched += counted[cpu].unmatched;
		ret->deep += counted[cpu].deep;
		ret->missed_returns += counted[cpu].missed_returns;
		ret->ns += counted[cpu].ns;
	}
}

void shadow_read_cost(const struct shadow *shadow, struct shadow_cost *ret)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	*ret = (struct shadow_cost){0};
	shadow_add_counters(shadow, &ret->counted);
	ret->clock = shadow->statistics_fd >= 0 ? SHADOW_CLOCK_KERNEL : SHADOW_CLOCK_OWN;
	ret->program_ns = ret->counted.ns;
	if (ret->clock == SHADOW_CLOCK_KERNEL &&
		!bpf_obj_get_info_by_fd(shadow->fds.program, &info, &len))
		ret->program_ns = info.run_time_ns;
	uint64_t hits = 0;
	for (int i = 1; i < SHADOW_MAX_PLACES; i++) /* 0: trials */
		hits += ret->counted.hits[i];
	ret->around_ns = shadow->around_ns * hits;
}

void shadow_deinit(struct shadow *shadow)
{
	shadow_detach(shadow);
	vec_deinit(&shadow->uprobes);
	mem_close_fd(&shadow->statistics_fd);
}

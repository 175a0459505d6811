#include "record/script/shadow.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "record/host/uprobe_trial.h"

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
	shadow->around_ns = uprobe_trial_ns(fds->program); /* with place 0, which there is not */
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

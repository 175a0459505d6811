#include "record/cgroup_filter.h"

#include <errno.h>
#include <string.h>

#include "format/base/clock.h"
#include "format/base/map.h"
#include "format/base/str.h"

enum {
	RENEW_INTERVAL_NS = 200 * 1000 * 1000,
	MAX_SHARE = 100, /* of the time that looking for names takes, between two times */
};

/* What the file has now; a container may stand there for each of its ports. */
static void take_labelled(struct cgroup_filter *filter)
{
	struct strtab seen = {0};
	filter->ids.len = filter->pids.len = 0;
	filter->nr_file_reads = filter->file->nr_reads;
	vec_each(&filter->file->targets, target) {
		if (target->pid) {
			vec_push(&filter->pids, target->pid);
			continue;
		}
		size_t len = strlen(target->container_id);
		if (strtab_intern(&seen, target->container_id, len) == filter->ids.len)
			vec_push(&filter->ids,
				(struct cgroup_name){CGROUP_NAME_ID, target->container_id});
	}
	strtab_deinit(&seen);
	filter->targets.names = filter->ids.data;
	filter->targets.nr_names = filter->ids.len;
}

struct err *cgroup_filter_open(struct cgroup_filter *filter, const struct session_options *options,
	const struct label_file *file)
{
	if (options->target == SESSION_LABELLED) {
		filter->file = file;
		take_labelled(filter);
		return target_cgroups_open(filter->ids.data, filter->ids.len, &filter->targets);
	}
	if (!options->nr_cgroups)
		return NULL;
	return target_cgroups_open(options->cgroups, options->nr_cgroups, &filter->targets);
}

void cgroup_filter_deinit(struct cgroup_filter *filter)
{
	target_cgroups_deinit(&filter->targets);
	vec_deinit(&filter->ids);
	vec_deinit(&filter->pids);
}

/*
 * The file may have more processes than the map has room for: what is left out is counted, and no
 * reason to end a recording.
 */
static struct err *add_labelled_pids(struct cgroup_filter *filter, uint64_t *nr_left_out)
{
	vec_each(&filter->pids, pid) {
		struct err *err = sampler_add_target(filter->sampler, *pid);
		if (err && err_errnum(err) != E2BIG)
			return err;
		*nr_left_out += err != NULL;
		err_destroy(err);
	}
	return NULL;
}

static void drop_pids_but(struct cgroup_filter *filter, const uint32_t *old, size_t nr_old)
{
	struct map kept = {0};
	vec_each(&filter->pids, pid)
		map_put(&kept, *pid, NULL);
	for (size_t i = 0; i < nr_old; i++)
		if (!map_get(&kept, old[i]))
			sampler_drop_target(filter->sampler, old[i]);
	map_deinit(&kept);
}

static struct err *set_cgroups(struct cgroup_filter *filter, uint64_t nr_pids_left_out)
{
	uint64_t nr_left_out = nr_pids_left_out + filter->targets.nr_left_out;
	if (nr_left_out > filter->nr_left_out)
		filter->nr_left_out = nr_left_out;
	return sampler_set_target_cgroups(filter->sampler, &filter->targets);
}

struct err *cgroup_filter_begin(struct cgroup_filter *filter, struct sampler *sampler)
{
	if (!filter->targets.nr_names && !filter->file)
		return NULL;
	uint64_t nr_left_out = 0;
	filter->sampler = sampler;
	try(add_labelled_pids(filter, &nr_left_out));
	filter->nr_made = sampler_cgroups_made(sampler);
	/* What was made since they were looked for, before that was counted. */
	target_cgroups_renew(&filter->targets);
	return set_cgroups(filter, nr_left_out);
}

/*
 * At once: the names of before belonged to what the file had. Processes that stay in the file stay
 * targets all the time; those that are gone make room for those that are new.
 */
static struct err *take_file_again(struct cgroup_filter *filter)
{
	uint64_t nr_left_out = 0;
	VEC(uint32_t) before = {0};
	vec_append(&before, filter->pids.data, filter->pids.len);
	take_labelled(filter);
	drop_pids_but(filter, before.data, before.len);
	vec_deinit(&before);
	try(add_labelled_pids(filter, &nr_left_out));
	target_cgroups_renew(&filter->targets);
	return set_cgroups(filter, nr_left_out);
}

struct err *cgroup_filter_renew(struct cgroup_filter *filter, uint64_t now_ns)
{
	uint64_t interval_ns = filter->cost_ns * MAX_SHARE;
	if (filter->sampler && filter->file && filter->file->nr_reads != filter->nr_file_reads)
		return take_file_again(filter);
	if (interval_ns < RENEW_INTERVAL_NS)
		interval_ns = RENEW_INTERVAL_NS;
	if (!filter->sampler || now_ns - filter->looked_ns < interval_ns)
		return NULL;
	uint64_t nr_made = sampler_cgroups_made(filter->sampler);
	if (nr_made == filter->nr_made)
		return NULL;
	filter->nr_made = nr_made;
	filter->looked_ns = now_ns;
	bool is_other = target_cgroups_renew(&filter->targets);
	filter->cost_ns = clock_now_ns() - now_ns;
	return is_other ? set_cgroups(filter, 0) : NULL;
}

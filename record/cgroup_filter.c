#include "record/cgroup_filter.h"

#include "format/base/clock.h"

enum {
	RENEW_INTERVAL_NS = 200 * 1000 * 1000,
	MAX_SHARE = 100, /* of the time that looking for names takes, between two times */
};

struct err *cgroup_filter_open(
	struct cgroup_filter *filter, const struct cgroup_name *names, size_t nr_names)
{
	return nr_names ? target_cgroups_open(names, nr_names, &filter->targets) : NULL;
}

void cgroup_filter_deinit(struct cgroup_filter *filter)
{
	target_cgroups_deinit(&filter->targets);
}

struct err *cgroup_filter_begin(struct cgroup_filter *filter, struct sampler *sampler)
{
	if (!filter->targets.nr_names)
		return NULL;
	filter->sampler = sampler;
	filter->nr_made = sampler_cgroups_made(sampler);
	/* What was made since they were looked for, before that was counted. */
	target_cgroups_renew(&filter->targets);
	return sampler_set_target_cgroups(sampler, &filter->targets);
}

struct err *cgroup_filter_renew(struct cgroup_filter *filter, uint64_t now_ns)
{
	uint64_t interval_ns = filter->cost_ns * MAX_SHARE;
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
	return is_other ? sampler_set_target_cgroups(filter->sampler, &filter->targets) : NULL;
}

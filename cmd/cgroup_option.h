/*
 * Options that name control groups: containers, paths, units of systemd, with commas in between;
 * each may be repeated.
 */
#ifndef EBPROF_CGROUP_OPTION_H
#define EBPROF_CGROUP_OPTION_H

#include "cmd/opt.h"
#include "record/cgroup/target_cgroups.h"

struct cgroup_option {
	struct cgroup_name *data; /* own their texts */
	size_t len, cap;
};

opt_parse_fn cgroup_option_parse_container, cgroup_option_parse_path,
	cgroup_option_parse_unit; /* struct cgroup_option */
void cgroup_option_deinit(struct cgroup_option *names);

/* The rows of all three; `member` is that of the command's options. */
#define CGROUP_OPTION_ROWS(type, member, verb) \
	{"container", 0, "ID|NAME[,..]", cgroup_option_parse_container, offsetof(type, member), \
		.help = verb " what runs in these containers"}, \
		{"cgroup", 0, "PATH[,..]", cgroup_option_parse_path, offsetof(type, member), \
			.help = verb " what runs in these control groups, or below them"}, \
	{ \
		"unit", 0, "NAME[,..]", cgroup_option_parse_unit, offsetof(type, member), \
			.help = verb " what runs in these units of systemd's" \
	}

#endif

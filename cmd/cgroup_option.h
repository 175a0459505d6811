/* Options that name control groups: a container, a path, a unit of systemd; each may be repeated.
 */
#ifndef EBPROF_CGROUP_OPTION_H
#define EBPROF_CGROUP_OPTION_H

#include "cmd/opt.h"
#include "record/cgroup/target_cgroups.h"

struct cgroup_option {
	struct cgroup_name *data; /* borrow from argv */
	size_t len, cap;
};

opt_parse_fn cgroup_option_parse_container, cgroup_option_parse_path,
	cgroup_option_parse_unit; /* struct cgroup_option */

#endif

#include "cmd/cgroup_option.h"

static struct err *add_cgroup_name(
	struct cgroup_option *names, enum cgroup_name_kind kind, const char *text)
{
	if (!*text)
		return err_new(ERR_USAGE, "it needs a name");
	vec_push(names, (struct cgroup_name){kind, text});
	return NULL;
}

struct err *cgroup_option_parse_container(const struct opt *row, const char *text, void *member)
{
	(void)row;
	return add_cgroup_name(member, CGROUP_NAME_CONTAINER, text);
}

struct err *cgroup_option_parse_path(const struct opt *row, const char *text, void *member)
{
	(void)row;
	return add_cgroup_name(member, CGROUP_NAME_PATH, text);
}

struct err *cgroup_option_parse_unit(const struct opt *row, const char *text, void *member)
{
	(void)row;
	return add_cgroup_name(member, CGROUP_NAME_UNIT, text);
}

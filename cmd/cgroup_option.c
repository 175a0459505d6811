#include "cmd/cgroup_option.h"

#include <string.h>

#include "format/base/mem.h"

static struct err *add_cgroup_names(
	struct cgroup_option *names, enum cgroup_name_kind kind, const char *text)
{
	for (;; text++) {
		size_t len = strcspn(text, ",");
		if (!len)
			return err_new(ERR_USAGE, "an empty name");
		vec_push(names, (struct cgroup_name){kind, mem_strndup(text, len)});
		text += len;
		if (!*text)
			return NULL;
	}
}

struct err *cgroup_option_parse_container(const struct opt *row, const char *text, void *member)
{
	(void)row;
	return add_cgroup_names(member, CGROUP_NAME_CONTAINER, text);
}

struct err *cgroup_option_parse_path(const struct opt *row, const char *text, void *member)
{
	(void)row;
	return add_cgroup_names(member, CGROUP_NAME_PATH, text);
}

struct err *cgroup_option_parse_unit(const struct opt *row, const char *text, void *member)
{
	(void)row;
	return add_cgroup_names(member, CGROUP_NAME_UNIT, text);
}

void cgroup_option_deinit(struct cgroup_option *names)
{
	vec_each(names, name)
		mem_free((void *)name->text);
	vec_deinit(names);
}

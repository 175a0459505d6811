#include "format/base/caller.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/mem.h"

static bool parse_id(const char *text, uint32_t *ret)
{
	char *end;
	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long long id = strtoull(text, &end, 10);
	if (errno || *end || id >= UINT32_MAX) /* -1 is no user: chown() leaves it as it is */
		return false;
	*ret = (uint32_t)id;
	return true;
}

struct caller caller_find(void)
{
	struct caller caller = {0};
	caller.is_set = geteuid() == 0 && parse_id(getenv("SUDO_UID"), &caller.uid) &&
			parse_id(getenv("SUDO_GID"), &caller.gid);
	return caller;
}

bool caller_owns(const struct caller *caller, uint32_t uid)
{
	return uid == geteuid() || (caller->is_set && uid == caller->uid);
}

/* Of this thread alone, other than setgroups(3). */
static bool set_groups(int count, const uint32_t *groups)
{
	return syscall(SYS_setgroups, count, groups) == 0;
}

/* What setfsuid() returns does not tell whether it succeeded. */
static bool is_fs_user(uint32_t uid, uint32_t gid)
{
	return (uint32_t)setfsuid(UINT32_MAX) == uid && (uint32_t)setfsgid(UINT32_MAX) == gid;
}

/* The kernel takes CAP_DAC_OVERRIDE and the like away with the user, and gives them back. */
bool caller_rights_take(const struct caller *caller, struct caller_rights *ret)
{
	*ret = (struct caller_rights){0};
	if (!caller->is_set)
		return true;
	int count = getgroups(0, NULL);
	CLEANUP_FREE uint32_t *groups = mem_zalloc_array((size_t)count + 1, sizeof(*groups));
	count = getgroups(count, groups);
	if (count < 0 || !set_groups(0, NULL))
		return false;
	ret->is_changed = true;
	ret->nr_groups = count;
	ret->groups = steal_ptr(groups);
	setfsgid(caller->gid);
	setfsuid(caller->uid);
	if (is_fs_user(caller->uid, caller->gid))
		return true;
	caller_rights_leave(ret);
	return false;
}

void caller_rights_leave(struct caller_rights *rights)
{
	if (!rights->is_changed)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	set_groups(rights->nr_groups, rights->groups);
	mem_free(rights->groups);
	*rights = (struct caller_rights){0};
}

#include "format/base/caller.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

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

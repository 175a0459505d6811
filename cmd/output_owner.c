#include "cmd/output_owner.h"

#include <stdlib.h>
#include <unistd.h>

#include "cmd/opt.h"

struct output_owner output_owner_find(void)
{
	struct output_owner owner = {0};
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	if (geteuid() || !uid || !gid)
		return owner;
	struct err *err = opt_u32(uid, &owner.uid);
	if (!err)
		err = opt_u32(gid, &owner.gid);
	owner.is_set = !err;
	err_destroy(err);
	return owner;
}

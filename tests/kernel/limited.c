/*
 * Runs a command with little locked memory, which it may not raise:
 *   limited SOFT_BYTES HARD_BYTES COMMAND [ARGUMENT...]
 */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	struct rlimit old, limit = {strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10)};
	/* A container's root may not raise the hard limit; lowering is all it can have. */
	if (setrlimit(RLIMIT_MEMLOCK, &limit) && !getrlimit(RLIMIT_MEMLOCK, &old))
		limit.rlim_max = old.rlim_max;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) ||
		prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0)) {
		perror("limited");
		return 1;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}

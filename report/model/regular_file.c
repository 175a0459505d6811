#include "report/model/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "format/base/mem.h"

/* Their files call themselves regular, but reading them asks the kernel. Source: linux/magic.h */
static bool is_real(const struct statfs *fs)
{
	static const unsigned magics[] = {
		0x9fa0,     /* proc */
		0x62656572, /* sysfs */
		0x64626720, /* debugfs */
		0x74726163, /* tracefs */
		0x73636673, /* securityfs */
		0xcafe4a11, /* bpf */
		0x63677270, /* cgroup2 */
		0x27e0eb,   /* cgroup */
		0x62656570, /* configfs */
		0x6165676c, /* pstore */
		0xde5e81e4, /* efivarfs */
	};
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++)
		if ((unsigned)fs->f_type == magics[i])
			return false;
	return true;
}

int regular_file_open(const char *path, struct stat *st)
{
	struct statfs fs;
	if (stat(path, st) || statfs(path, &fs))
		return -1;
	errno = EINVAL;
	if (!S_ISREG(st->st_mode) || !is_real(&fs))
		return -1;
	/* Should it be another file by now, opening does not wait for anything. */
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, st))
		return -1;
	errno = EINVAL;
	return S_ISREG(st->st_mode) ? steal_fd(fd) : -1;
}

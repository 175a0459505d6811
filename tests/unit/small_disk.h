/* A disk that is soon full. */
#ifndef EBPROF_SMALL_DISK_H
#define EBPROF_SMALL_DISK_H

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum {
	SMALL_DISK_PAGE_BYTES = 4096, /* what is written in these leaves nothing over */
	SMALL_DISK_PAGES = 16,
};

/* Enters one of 16 pages, which goes away with the test's process; skips the test without root. */
static inline void small_disk_enter(void)
{
	CHECK_INT(mkdir("disk", 0700), 0);
	if (geteuid() || unshare(CLONE_NEWNS) ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("tmpfs", "disk", "tmpfs", 0, "size=64k"))
		unit_skip("no tmpfs can be mounted here");
	CHECK_INT(chdir("disk"), 0);
}

/* Another file takes what is left, to the last byte. */
static inline void small_disk_fill(void)
{
	static const uint8_t page[SMALL_DISK_PAGE_BYTES];
	int fd = open("filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	for (size_t len = sizeof(page); len; len /= 2)
		while (write(fd, page, len) > 0)
			;
	close(fd);
}

#endif

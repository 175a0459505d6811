#include "format/elf/elf_scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/mem.h"

enum {
	SHARE = 4, /* of the memory that is free; no more than one in so many bytes is taken */
	PATH_BYTES = 4096,
};

/* ---- memory ---- */

/* False where the file is not there or says "max". */
static bool elf_scratch_read_number(const char *path, uint64_t *ret)
{
	FILE *file = fopen(path, "re");
	bool is_read = file && fscanf(file, "%" SCNu64, ret) == 1;
	if (file)
		fclose(file);
	return is_read;
}

static uint64_t machine_available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kib = 0;
	while (file && !kib && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) != 1)
			kib = 0;
	if (file)
		fclose(file);
	return kib << 10;
}

/* The two generations of control groups. Source: cgroups(7), and the kernel's cgroup-v2.rst. */
struct group_files {
	const char *controller, *root, *limit, *usage;
};

static const struct group_files generations[] = {
	{"", "/sys/fs/cgroup", "memory.max", "memory.current"},
	{"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
};

/* What is left of a group's limit. The caches that it counts would give way: the safe side. */
static uint64_t group_available_bytes(const struct group_files *files, const char *group)
{
	char path[PATH_BYTES];
	uint64_t limit, usage;
	snprintf(path, sizeof(path), "%s%s/%s", files->root, group, files->limit);
	if (!elf_scratch_read_number(path, &limit))
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s%s/%s", files->root, group, files->usage);
	if (!elf_scratch_read_number(path, &usage))
		return UINT64_MAX;
	return limit > usage ? limit - usage : 0;
}

/* A group and all above it; `group` is cut short. */
static uint64_t groups_available_bytes(const struct group_files *files, char *group)
{
	uint64_t least = UINT64_MAX;
	for (;;) {
		uint64_t left = group_available_bytes(files, strcmp(group, "/") ? group : "");
		if (left < least)
			least = left;
		char *slash = strrchr(group, '/');
		if (!slash || !group[1])
			return least;
		slash[slash == group] = 0;
	}
}

/* A line of /proc/self/cgroup: number, controllers, group. */
static uint64_t line_available_bytes(char *line)
{
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(++controllers, ':') : NULL;
	if (!group || group[1] != '/')
		return UINT64_MAX;
	*group++ = 0;
	group[strcspn(group, "\n")] = 0;
	for (size_t i = 0; i < sizeof(generations) / sizeof(*generations); i++)
		if (strcmp(generations[i].controller, controllers) == 0)
			return groups_available_bytes(&generations[i], group);
	return UINT64_MAX;
}

static uint64_t available_bytes(void)
{
	uint64_t least = machine_available_bytes();
	char line[PATH_BYTES];
	FILE *file = fopen("/proc/self/cgroup", "re");
	while (file && fgets(line, sizeof(line), file)) {
		uint64_t left = line_available_bytes(line);
		if (left < least)
			least = left;
	}
	if (file)
		fclose(file);
	return least;
}

static int open_memory(uint64_t len)
{
	if (len > available_bytes() / SHARE)
		return -1;
	CLEANUP_FD int fd = memfd_create("ebprof", MFD_CLOEXEC);
	return fd < 0 || ftruncate(fd, (off_t)len) ? -1 : steal_fd(fd);
}

/* ---- disk ---- */

/* Not every file system has files without a name: overlays of old kernels do not. */
static int open_nameless(void)
{
	const char *directory = getenv("TMPDIR");
	if (!directory || directory[0] != '/')
		directory = "/var/tmp";
	int fd = open(directory, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	char path[PATH_BYTES];
	int len = snprintf(path, sizeof(path), "%s/ebprof-XXXXXX", directory);
	if (len < 0 || (size_t)len >= sizeof(path))
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* Space is taken beforehand: what a full disk refuses later would be a SIGBUS. */
static int open_disk(uint64_t len)
{
	CLEANUP_FD int fd = open_nameless();
	return fd < 0 || posix_fallocate(fd, 0, (off_t)len) ? -1 : steal_fd(fd);
}

int elf_scratch_open(uint64_t len)
{
	int fd = open_memory(len);
	return fd < 0 ? open_disk(len) : fd;
}

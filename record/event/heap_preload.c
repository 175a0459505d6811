#include "record/event/heap_preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/mem.h"
#include "format/base/path.h"
#include "format/base/str.h"
#include "format/elf/elf_file.h"
#include "record/event/heap_functions.h"
#include "record/task/program_files.h"

static const unsigned char sampler_bytes[] = {
#include "record/preload/heap_sampler.inc"
};

/* ---- whether it can be preloaded ---- */

struct preload_check {
	bool is_done; /* the program was seen, which scripts and interpreters of them precede */
	const char *why;
};

static const char *why_not_into(int fd, struct elf_file *elf)
{
	struct heap_functions functions = {0};
	struct stat stat_buffer;
	if (!elf_file_find_section(elf, ".interp"))
		return "is statically linked";
	if (!fstat(fd, &stat_buffer) && stat_buffer.st_mode & (S_ISUID | S_ISGID) &&
		stat_buffer.st_uid != geteuid())
		return "changes its user";
	struct err *err = heap_functions_find(fd, &functions);
	bool has_own = !err && functions.has_allocator, is_go = !err && functions.go.is_go;
	err_destroy(err);
	heap_functions_deinit(&functions);
	if (is_go)
		return "is a program of Go";
	return has_own ? "has an allocator of its own" : NULL;
}

/* Such libraries refuse to run where another one is ahead of them. */
static bool is_sanitizer(const char *path)
{
	static const char *const names[] = {
		"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(path_last_part(path), names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void check_file(void *context, const char *path)
{
	struct preload_check *check = context;
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct elf_file *elf;
	if (check->is_done && !check->why && is_sanitizer(path))
		check->why = "runs under a sanitizer";
	if (check->is_done || fd < 0)
		return;
	struct err *err = elf_file_open(fd, &elf);
	if (!err) {
		check->is_done = true;
		check->why = why_not_into(fd, elf);
		elf_file_destroy(elf);
	}
	err_destroy(err);
}

bool heap_preload_suits(const char *command, const char **why)
{
	struct preload_check check = {.why = "is no program that is known"};
	program_files_each(command, check_file, &check);
	*why = check.why;
	return check.is_done && !check.why;
}

/* ---- the file ---- */

static bool allows_programs(const char *folder)
{
	struct statvfs file_system;
	return !statvfs(folder, &file_system) && !(file_system.f_flag & ST_NOEXEC) &&
	       access(folder, W_OK) == 0;
}

static struct err *make_sampler_folder(struct heap_preload *preload)
{
	static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm", "/run"};
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		struct str path = {0};
		str_printf(&path, "%s/ebprof-XXXXXX", folders[i]);
		char *folder = str_steal(&path);
		if (allows_programs(folders[i]) && mkdtemp(folder)) {
			preload->folder = folder;
			return NULL;
		}
		mem_free(folder);
	}
	return err_new(ERR_IO, "no folder for programs that may be written: /tmp, /var/tmp, "
			       "/dev/shm, /run");
}

static struct err *write_sampler(struct heap_preload *preload)
{
	struct str path = {0};
	try(make_sampler_folder(preload));
	str_printf(&path, "%s/heap_sampler.so", preload->folder);
	preload->path = str_steal(&path);
	preload->fd = open(preload->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (preload->fd < 0 || fchmod(preload->fd, 0755) || chmod(preload->folder, 0755))
		return err_sys(errno, "%s", preload->path);
	for (size_t at = 0; at < sizeof(sampler_bytes);) {
		ssize_t written =
			write(preload->fd, sampler_bytes + at, sizeof(sampler_bytes) - at);
		if (written < 0 && errno != EINTR)
			return err_sys(errno, "%s", preload->path);
		at += written > 0 ? (size_t)written : 0;
	}
	return NULL;
}

struct err *heap_preload_create(struct heap_preload *ret)
{
	struct heap_preload preload = {.fd = -1};
	struct err *err = write_sampler(&preload);
	if (err)
		heap_preload_destroy(&preload);
	else
		*ret = preload;
	return err;
}

void heap_preload_destroy(struct heap_preload *preload)
{
	if (preload->path)
		unlink(preload->path);
	if (preload->folder)
		rmdir(preload->folder);
	mem_close_fd(&preload->fd);
	mem_free(preload->path);
	mem_free(preload->folder);
	*preload = (struct heap_preload){.fd = -1};
}

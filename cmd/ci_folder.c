#include "cmd/ci_folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/base/safe_folder.h"
#include "format/base/str.h"

static struct err *open_kept(const char *path, struct ci_folder *ret)
{
	struct caller caller = caller_find();
	CLEANUP_FD int fd = -1;
	try(safe_folder_make(path, 0777, &caller, &fd, NULL));
	*ret = (struct ci_folder){.path = mem_strdup(path), .is_kept = true, .fd = steal_fd(fd)};
	return NULL;
}

struct err *ci_folder_create(const char *kept, struct ci_folder *ret)
{
	struct caller nobody = {0};
	CLEANUP(str_deinit) struct str path = {0};
	CLEANUP_FD int fd = -1;
	if (kept)
		return open_kept(kept, ret);
	const char *place = getenv("TMPDIR");
	str_printf(&path, "%s/ebprof-ci.%016llx", place && *place ? place : "/tmp",
		(unsigned long long)map_random_seed());
	try(safe_folder_make(str_text(&path), 0700, &nobody, &fd, NULL));
	*ret = (struct ci_folder){.path = str_steal(&path), .fd = steal_fd(fd)};
	return NULL;
}

/* By the descriptor: another folder may have taken the place of this one. */
static void remove_all(struct ci_folder *folder)
{
	DIR *dir = fdopendir(steal_fd(folder->fd));
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_type != DT_DIR)
			unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(folder->path);
}

void ci_folder_deinit(struct ci_folder *folder)
{
	if (folder->path && !folder->is_kept)
		remove_all(folder);
	else if (folder->path)
		mem_close_fd(&folder->fd);
	mem_free(steal_ptr(folder->path));
}

const char *ci_folder_add(const struct ci_folder *folder, const char *name, struct ci_files *files)
{
	struct str path = {0};
	str_printf(&path, "%s/%s", folder->path, name);
	vec_push(files, str_steal(&path));
	return files->data[files->len - 1];
}

void ci_files_deinit(struct ci_files *files)
{
	vec_each(files, file)
		mem_free(*file);
	vec_deinit(files);
}

#include "cmd/ci_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/output_owner.h"
#include "format/base/str.h"

static struct err *make_kept(const char *path)
{
	struct output_owner owner = output_owner_find();
	struct stat st;
	if (mkdir(path, 0777)) {
		if (errno != EEXIST)
			return err_sys(errno, "cannot create %s", path);
		if (stat(path, &st) || !S_ISDIR(st.st_mode))
			return err_new(ERR_USAGE, "%s is no folder", path);
		return NULL;
	}
	if (owner.is_set && chown(path, owner.uid, owner.gid))
		return err_sys(errno, "cannot give %s to user %u", path, owner.uid);
	return NULL;
}

struct err *ci_folder_create(const char *kept, struct ci_folder *ret)
{
	struct str path = {0};
	if (kept) {
		try(make_kept(kept));
		*ret = (struct ci_folder){.path = mem_strdup(kept), .is_kept = true};
		return NULL;
	}
	const char *place = getenv("TMPDIR");
	str_printf(&path, "%s/ebprof-ci.XXXXXX", place && *place ? place : "/tmp");
	if (!mkdtemp(path.data)) {
		struct err *err = err_sys(errno, "cannot create %s", str_text(&path));
		str_deinit(&path);
		return err;
	}
	*ret = (struct ci_folder){.path = str_steal(&path)};
	return NULL;
}

static void remove_all(const char *path)
{
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_type != DT_DIR)
			unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(path);
}

void ci_folder_deinit(struct ci_folder *folder)
{
	if (folder->path && !folder->is_kept)
		remove_all(folder->path);
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

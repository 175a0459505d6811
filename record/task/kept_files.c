#include "record/task/kept_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"

enum {
	/* Together well below the 1,024 descriptors that a process usually may have. */
	MAX_FILES = 256,
	MAX_HERE = 64, /* of them that are at their paths */
	MAX_ROOTS = 32,
};

/* A root directory, as processes see it: by its place and by what is mounted there. */
struct root {
	dev_t device;
	ino_t inode, mounts;
	int fd;
	int mounts_fd; /* as long as it is open, nothing is unmounted when the last process ends */
};

struct kept_files {
	VEC(struct kept_file) list;
	VEC(struct root) roots; /* the first is our own */
	struct map by_object;   /* serial -> index in the list + 1 */
	uint64_t next_sweep_ns; /* files to be given up are not looked for before */
	uint32_t nr_missed;
};

/* ---- root directories ---- */

/* False: the process is gone, or not ours to see. */
static bool open_root(uint32_t pid, struct root *ret)
{
	char path[64];
	struct stat st;
	struct mount_file file;
	CLEANUP_FD int fd = target_file_open_root(pid, &file);
	if (fd < 0)
		return false;
	*ret = (struct root){.device = file.device, .inode = file.inode};
	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	CLEANUP_FD int mounts_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (mounts_fd < 0 || fstat(mounts_fd, &st))
		return false;
	ret->mounts = st.st_ino;
	ret->fd = steal_fd(fd);
	ret->mounts_fd = steal_fd(mounts_fd);
	return true;
}

static void root_deinit(struct root *root)
{
	mem_close_fd(&root->fd);
	mem_close_fd(&root->mounts_fd);
}

/* Takes it over. */
static int keep_root(struct kept_files *files, struct root *root)
{
	vec_each(&files->roots, known) {
		bool is_same = known->device == root->device && known->inode == root->inode &&
			       known->mounts == root->mounts;
		if (!is_same)
			continue;
		root_deinit(root);
		return known == files->roots.data ? -1 : known->fd;
	}
	if (files->roots.len == MAX_ROOTS) {
		root_deinit(root);
		return -1;
	}
	vec_push(&files->roots, *root);
	return root->fd;
}

static int root_of(struct kept_files *files, uint32_t pid)
{
	struct root root;
	return files->roots.len && open_root(pid, &root) ? keep_root(files, &root) : -1;
}

/* ---- files ---- */

static void file_deinit(struct kept_file *file)
{
	mem_close_fd(&file->fd);
	mem_free(file->path);
}

struct kept_files *kept_files_create(void)
{
	struct kept_files *files = mem_zalloc(sizeof(*files));
	struct root own;
	if (open_root((uint32_t)getpid(), &own))
		vec_push(&files->roots, own);
	return files;
}

void kept_files_destroy(struct kept_files *files)
{
	if (!files)
		return;
	vec_each(&files->list, file)
		file_deinit(file);
	vec_each(&files->roots, root)
		root_deinit(root);
	vec_deinit(&files->list);
	vec_deinit(&files->roots);
	map_deinit(&files->by_object);
	mem_free(files);
}

static bool has_own_root(const struct kept_files *files, const struct kept_file *file)
{
	struct mount_file own, root;
	return file->root_fd < 0 || (mount_file_of(files->roots.data[0].fd, &own) &&
					    mount_file_of(file->root_fd, &root) &&
					    own.device == root.device && own.inode == root.inode);
}

/* Whether a reader finds this very file there later, and its debug files as well. */
static bool is_at_path(
	const struct kept_files *files, const struct kept_file *file, const struct object *object)
{
	struct stat kept;
	struct mount_file there;
	return object->path[0] == '/' && !fstat(file->fd, &kept) &&
	       target_file_find(object->files, object->path, &there) &&
	       kept.st_dev == there.device && kept.st_ino == there.inode &&
	       has_own_root(files, file);
}

/* On no disk, such as /tmp, /dev/shm, /run; a machine that has no disk has nothing better. */
static bool will_be_gone(const struct kept_file *file)
{
	struct statfs fs;
	struct stat st, root;
	bool is_memory =
		!fstatfs(file->fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
	return is_memory && !fstat(file->fd, &st) && !stat("/", &root) && st.st_dev != root.st_dev;
}

/* Not in a folder of packages: those change when a system is renewed, programs with each build. */
static bool may_be_rebuilt(const char *path)
{
	static const char *const folders[] = {"/usr/", "/lib", "/bin/", "/sbin/", "/opt/", "/nix/",
		"/gnu/", "/snap/", "/var/lib/"};
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return false;
	return true;
}

/* The same of a file that is not open, by what was noted of it. */
static bool was_at_path(const struct object *object)
{
	struct mount_file there;
	return object->path[0] == '/' && target_file_find(object->files, object->path, &there) &&
	       object->info.inode == there.inode &&
	       object->info.device == (major(there.device) << 20 | minor(there.device));
}

static void give_up_reachable(
	struct kept_files *files, const struct object_table *objects, bool is_over)
{
	size_t left = 0, nr_here = 0;
	map_clear(&files->by_object);
	vec_each(&files->list, file) {
		const struct object *object = object_table_get(objects, file->object);
		bool is_here = is_at_path(files, file, object) && !(is_over && will_be_gone(file));
		bool is_wanted = is_over && may_be_rebuilt(object->path) && nr_here < MAX_HERE;
		if (is_here && !is_wanted) {
			file_deinit(file);
			continue;
		}
		file->is_here = is_here;
		nr_here += is_here;
		files->list.data[left++] = *file;
		*map_put(&files->by_object, file->object, NULL) = left;
	}
	files->list.len = left;
}

static void kept_files_keep(struct kept_files *files, struct object *object, int fd)
{
	struct stat st;
	if (fstat(fd, &st)) {
		mem_close_fd(&fd);
		return;
	}
	struct kept_file file = {
		.object = object->serial,
		.path = mem_strdup(object->path),
		.size_bytes = (uint64_t)st.st_size,
		.mtime_ns = clock_from_timespec(st.st_mtim),
		.fd = fd,
		.root_fd = root_of(files, object->where.pid),
	};
	memcpy(file.build_id, object->info.build_id, object->info.build_id_len);
	file.build_id_len = object->info.build_id_len;
	object->is_kept = true;
	vec_push(&files->list, file);
	*map_put(&files->by_object, object->serial, NULL) = files->list.len;
}

/*
 * A sweep takes milliseconds, and thousands of new files may come in a second: after one that freed
 * little there is none for a while. What finds no room is tried again at the end.
 */
static void kept_files_make_room(struct kept_files *files, const struct object_table *objects)
{
	uint64_t now_ns = clock_now_ns();
	if (now_ns < files->next_sweep_ns)
		return;
	give_up_reachable(files, objects, false);
	bool is_much = files->list.len <= MAX_FILES - MAX_FILES / 8;
	files->next_sweep_ns = is_much ? 0 : now_ns + NS_PER_S;
}

void kept_files_add(
	struct kept_files *files, struct object *object, const struct object_table *objects)
{
	int fd;
	struct elf_file *elf;
	if (object->info.kind != LAYOUT_OBJECT_FILE || map_get(&files->by_object, object->serial))
		return;
	if (files->list.len == MAX_FILES)
		kept_files_make_room(files, objects);
	if (files->list.len == MAX_FILES || !object_open(object, &object->where, &fd, &elf))
		return;
	elf_file_destroy(elf);
	kept_files_keep(files, object, fd);
}

void kept_files_finish(
	struct kept_files *files, const struct object_table *objects, const struct object_ids *ids)
{
	give_up_reachable(files, objects, true);
	vec_each(&objects->objects, it) {
		struct object *object = *it;
		if (!object->where.pid || was_at_path(object))
			continue;
		if (files->list.len < MAX_FILES)
			kept_files_add(files, object, objects);
		files->nr_missed += object->info.kind == LAYOUT_OBJECT_FILE &&
				    object_ids_has(ids, object) &&
				    !map_get(&files->by_object, object->serial);
	}
	vec_each(&files->list, file)
		file->file_id = object_ids_get(ids, object_table_get(objects, file->object));
}

uint32_t kept_files_nr_missed(const struct kept_files *files)
{
	return files ? files->nr_missed : 0;
}

const struct kept_file *kept_files_list(const struct kept_files *files, size_t *count)
{
	*count = files ? files->list.len : 0;
	return files ? files->list.data : NULL;
}

#include "cmd/process_files.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/mem.h"
#include "record/host/host.h"
#include "record/host/target_file.h"
#include "report/model/profile.h"
#include "report/name/debugfile/debug_file.h"

enum {
	/* Each has two descriptors of the 1,024 that a process usually may have. */
	MAX_PROCESS_FILES = 192,
	PROCESS_FILE_PATH_BYTES = 32,
};

struct process_file {
	int fd, root_fd; /* root_fd: -1: none */
	char path[PROCESS_FILE_PATH_BYTES], root[PROCESS_FILE_PATH_BYTES];
	uint8_t build_id[LAYOUT_BUILD_ID_MAX_BYTES];
};

/* Tables do not move: readers of what was found before have no lock. */
struct process_files {
	const struct regular_file_rules *rules;
	struct symbol_file_finder finder;
	pthread_mutex_t mutex;
	struct process_file files[MAX_PROCESS_FILES];
	struct symbol_file_kept kept[MAX_PROCESS_FILES];
	size_t count;
};

static struct debug_identity process_file_identity(const struct layout_object *info)
{
	return (struct debug_identity){
		.build_id = info->build_id,
		.build_id_len = info->build_id_len,
		.size_bytes = info->size_bytes,
		.mtime_ns = info->mtime_ns,
	};
}

static bool process_files_have(const struct process_files *files, const struct layout_object *info)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct symbol_file_kept *kept = &files->kept[i];
		bool is_same = kept->build_id_len == info->build_id_len &&
			       memcmp(kept->build_id, info->build_id, info->build_id_len) == 0;
		if (is_same && (info->build_id_len || (kept->size_bytes == info->size_bytes &&
							      kept->mtime_ns == info->mtime_ns)))
			return true;
	}
	return false;
}

static bool process_file_is_here(struct target_files *targets, const struct profile_object *object)
{
	struct mount_file there;
	return target_file_find(targets, object->path, &there) &&
	       object->info.inode == there.inode &&
	       object->info.device == (major(there.device) << 20 | minor(there.device));
}

/* Process IDs are used again, and what is at a path changes: the file itself says what it is. */
static bool process_file_is_it(
	const struct process_files *files, const char *path, const struct layout_object *info)
{
	struct debug_identity identity = process_file_identity(info);
	struct elf_file *elf;
	int fd;
	if (debug_file_open(path, files->rules, &identity, &fd, &elf) != DEBUG_ACCEPTED)
		return false;
	elf_file_destroy(elf);
	mem_close_fd(&fd);
	return true;
}

/* Takes the descriptor over. */
static bool process_files_keep(struct process_files *files, struct target_files *targets,
	uint32_t pid, const struct layout_object *info, int fd)
{
	struct process_file *file = &files->files[files->count];
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", fd);
	if (!process_file_is_it(files, file->path, info)) {
		mem_close_fd(&fd);
		return false;
	}
	file->fd = fd;
	file->root_fd = target_file_open_folder(targets, pid, false, "/");
	snprintf(file->root, sizeof(file->root), "/proc/self/fd/%d", file->root_fd);
	memcpy(file->build_id, info->build_id, info->build_id_len);
	files->kept[files->count++] = (struct symbol_file_kept){
		.build_id = file->build_id,
		.build_id_len = info->build_id_len,
		.size_bytes = info->size_bytes,
		.mtime_ns = info->mtime_ns,
		.path = file->path,
		.root = file->root_fd < 0 ? NULL : file->root,
	};
	return true;
}

/* What it maps there; or, if it has a part of that only, what is at the path that it sees. */
static bool process_files_open(struct process_files *files, struct target_files *targets,
	const struct profile *profile, const struct layout_mapping *mapping)
{
	struct stat st;
	const struct profile_object *object = &profile->objects.data[mapping->object];
	uint32_t pid = profile->processes.data[mapping->process].info.pid;
	int fd = target_file_open_mapped(
		targets, pid, mapping->start, mapping->start + mapping->length, &st);
	if (fd >= 0 && process_files_keep(files, targets, pid, &object->info, fd))
		return true;
	fd = target_file_open_in_root(targets, pid, object->path, &st);
	return fd >= 0 && process_files_keep(files, targets, pid, &object->info, fd);
}

static bool process_files_want(const struct process_files *files, struct target_files *targets,
	const struct profile_object *object)
{
	return object->is_used && object->info.kind == LAYOUT_OBJECT_FILE &&
	       object->path[0] == '/' && !process_files_have(files, &object->info) &&
	       !process_file_is_here(targets, object);
}

/* Process IDs of another machine, or of an earlier boot, are those of strangers here. */
static bool *find_origins_of_this_boot(const struct profile *profile)
{
	CLEANUP(str_deinit) struct str boot = {0};
	bool is_known = host_put_boot(&boot);
	bool *are_here = mem_zalloc_array(profile->origins.len, sizeof(*are_here));
	for (uint32_t i = 0; is_known && i < profile->origins.len; i++) {
		const char *recorded = profile_origin_meta(profile, i, LAYOUT_META_BOOT);
		are_here[i] = recorded && strcmp(recorded, str_text(&boot)) == 0;
	}
	return are_here;
}

static void process_files_look(struct process_files *files, const struct profile *profile)
{
	enum {
		UNKNOWN,
		WANTED,
		DONE,
	};
	CLEANUP_FREE uint8_t *states = mem_zalloc_array(profile->objects.len, 1);
	CLEANUP_FREE bool *are_here = find_origins_of_this_boot(profile);
	struct target_files *targets = target_files_create(false);
	vec_each(&profile->mappings, mapping) {
		uint8_t *state = &states[mapping->object];
		if (files->count == MAX_PROCESS_FILES)
			break;
		if (!are_here[profile->processes.data[mapping->process].info.origin])
			continue;
		if (*state == UNKNOWN)
			*state = process_files_want(
					 files, targets, &profile->objects.data[mapping->object])
					 ? WANTED
					 : DONE;
		if (*state == WANTED && process_files_open(files, targets, profile, mapping))
			*state = DONE;
	}
	target_files_destroy(targets);
}

static void process_files_find(void *context, const struct profile *profile)
{
	struct process_files *files = context;
	pthread_mutex_lock(&files->mutex);
	process_files_look(files, profile);
	pthread_mutex_unlock(&files->mutex);
}

size_t process_files_count(struct process_files *files)
{
	if (!files)
		return 0;
	pthread_mutex_lock(&files->mutex);
	size_t count = files->count;
	pthread_mutex_unlock(&files->mutex);
	return count;
}

static const struct symbol_file_kept *process_files_found(void *context, size_t *count)
{
	struct process_files *files = context;
	*count = process_files_count(files);
	return files->kept;
}

struct process_files *process_files_create(const struct regular_file_rules *rules)
{
	struct process_files *files = mem_zalloc(sizeof(*files));
	files->rules = rules;
	files->finder = (struct symbol_file_finder){process_files_find, process_files_found, files};
	pthread_mutex_init(&files->mutex, NULL);
	return files;
}

void process_files_destroy(struct process_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->count; i++) {
		mem_close_fd(&files->files[i].fd);
		mem_close_fd(&files->files[i].root_fd);
	}
	pthread_mutex_destroy(&files->mutex);
	mem_free(files);
}

const struct symbol_file_finder *process_files_finder(const struct process_files *files)
{
	return &files->finder;
}

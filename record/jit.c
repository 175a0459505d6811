#include "record/jit.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "record/proc.h"

enum {
	MAX_OPEN = 256,         /* jitdumps, and the /tmps of containers */
	MAX_WANTED = 256 << 10, /* addresses of all images: 2 MiB, and 4 to look them up */
	NS_PER_S = 1000 * 1000 * 1000,
};

static void close_files(struct jit_table *table, struct jit_image *image)
{
	table->nr_open -= (image->tmp_fd >= 0) + (image->dump_fd >= 0);
	mem_close_fd(&image->tmp_fd);
	mem_close_fd(&image->dump_fd);
}

void jit_table_deinit(struct jit_table *table)
{
	vec_each(&table->images, image) {
		close_files(table, image);
		vec_deinit(&image->wanted);
	}
	vec_deinit(&table->images);
	map_deinit(&table->by_object);
}

/* ---- whose memory it is ---- */

static bool is_same_inode(const char *a, const char *b)
{
	struct stat x, y;
	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A private /tmp makes a difference, too: that is another mount namespace with the same root. */
static bool has_our_tmp(uint32_t pid)
{
	char root[32], mounts[32];
	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	snprintf(mounts, sizeof(mounts), "/proc/%u/ns/mnt", pid);
	return is_same_inode(root, "/proc/self/root") && is_same_inode(mounts, "/proc/self/ns/mnt");
}

/* Absolute links do not lead out of the process's root. */
static int open_tmp(uint32_t pid)
{
	char path[32];
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	CLEANUP_FD int root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root_fd < 0 ? -1 : (int)syscall(SYS_openat2, root_fd, "tmp", &how, sizeof(how));
}

/*
 * What can be learned while the process lives. /proc/PID/root goes when it ends, and the mounts of
 * a container come apart then: of its root, /tmp would not be found any more.
 */
static void look_at(struct jit_table *table, struct jit_image *image, const struct process *process)
{
	char path[32];
	struct stat st;
	uint32_t ns_pid = proc_read_ns_pid(process->pid);
	if (!ns_pid)
		ns_pid = process->ns_pid ? process->ns_pid : process->pid;
	snprintf(path, sizeof(path), "/proc/%u", process->pid);
	bool is_alive = !stat(path, &st);
	image->ns_pid = ns_pid;
	image->uid = is_alive ? st.st_uid : geteuid();
	image->has_own_tmp = is_alive ? !has_our_tmp(process->pid) : ns_pid != process->pid;
	if (!image->has_own_tmp || table->nr_open >= MAX_OPEN)
		return;
	image->tmp_fd = open_tmp(process->pid);
	table->nr_open += image->tmp_fd >= 0;
}

static bool is_marker(const struct mapping *mapping)
{
	return mapping->object->info.kind == LAYOUT_OBJECT_FILE &&
	       jitdump_is_marker(mapping->object->path);
}

/* Now: a short-lived process may remove it, and a container takes it along. */
static void open_dump(
	struct jit_table *table, struct jit_image *image, const struct mapping *marker)
{
	if (image->dump_fd >= 0 || table->nr_open >= MAX_OPEN)
		return;
	struct object_location where = {image->pid, marker->start, marker->end};
	image->dump_fd = object_open_any(marker->object, &where);
	table->nr_open += image->dump_fd >= 0;
}

static struct jit_image *image_of(struct jit_table *table, struct process *process)
{
	if (process->compiled)
		return &table->images.data[*map_get(&table->by_object, process->compiled->serial)];
	process->compiled = object_table_anonymous(table->objects);
	struct jit_image image = {
		.object = process->compiled, .pid = process->pid, .tmp_fd = -1, .dump_fd = -1};
	look_at(table, &image, process);
	vec_each(&process->mappings, mapping)
		if (is_marker(mapping))
			open_dump(table, &image, mapping);
	*map_put(&table->by_object, process->compiled->serial, NULL) = table->images.len;
	vec_push(&table->images, image);
	return &table->images.data[table->images.len - 1];
}

void jit_table_note_dump(
	struct jit_table *table, struct process *process, const struct mapping *marker)
{
	if (is_marker(marker))
		open_dump(table, image_of(table, process), marker);
}

struct object *jit_table_object(struct jit_table *table, struct process *process)
{
	image_of(table, process)->start_ns = process->start_ns;
	return process->compiled;
}

struct object *jit_table_object_of(
	struct jit_table *table, struct process *process, const struct mapping *mapping)
{
	bool is_file = mapping->object->info.kind != LAYOUT_OBJECT_ANONYMOUS;
	return is_file ? mapping->object : jit_table_object(table, process);
}

/* ---- what is wanted ---- */

void jit_table_want(struct jit_table *table, const struct object *object, uint64_t address)
{
	uint64_t *index = map_get(&table->by_object, object->serial);
	if (!index || table->nr_wanted >= MAX_WANTED)
		return;
	vec_push(&table->images.data[*index].wanted, address);
	table->nr_wanted++;
}

void jit_table_forget_wanted(struct jit_table *table)
{
	vec_each(&table->images, image)
		vec_deinit(&image->wanted);
	table->nr_wanted = 0;
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static void sort_wanted(struct jit_image *image)
{
	uint64_t *data = image->wanted.data;
	size_t distinct = 0;
	qsort(data, image->wanted.len, sizeof(*data), compare_addresses);
	for (size_t i = 0; i < image->wanted.len; i++)
		if (!i || data[i] != data[i - 1])
			data[distinct++] = data[i];
	image->wanted.len = distinct;
}

/* ---- its files ---- */

static uint64_t realtime_of(uint64_t boottime_ns)
{
	struct timespec boot, real;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &real);
	uint64_t age_ns = (uint64_t)boot.tv_sec * NS_PER_S + (uint64_t)boot.tv_nsec - boottime_ns;
	return (uint64_t)real.tv_sec * NS_PER_S + (uint64_t)real.tv_nsec - age_ns;
}

/* /tmp is everybody's: anybody may have put it there, or another process of the same number. */
static bool is_to_believe(const struct jit_image *image, const struct stat *st)
{
	uint64_t mtime_ns = (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
	bool is_newer = !image->start_ns || mtime_ns + NS_PER_S >= realtime_of(image->start_ns);
	return S_ISREG(st->st_mode) && (st->st_uid == image->uid || st->st_uid == 0) && is_newer;
}

/* No link is followed, and opening never waits. */
static int open_map(const struct jit_image *image)
{
	char name[32];
	struct stat st;
	CLEANUP_FD int own_fd = -1;
	int tmp_fd = image->tmp_fd;
	if (tmp_fd < 0) {
		own_fd = image->has_own_tmp ? open_tmp(image->pid)
					    : open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
		tmp_fd = own_fd;
	}
	if (tmp_fd < 0)
		return -1;
	snprintf(name, sizeof(name), "perf-%u.map", image->ns_pid);
	CLEANUP_FD int fd =
		openat(tmp_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) || !is_to_believe(image, &st))
		return -1;
	return steal_fd(fd);
}

/* ---- names ---- */

struct naming {
	const struct jit_names *names;
	bool *is_known; /* of each wanted address */
};

static void take_place(void *context, const struct jitdump_place *place)
{
	const struct naming *naming = context;
	naming->is_known[place->index] = true;
	naming->names->place(naming->names->context, place);
}

static void name_by_dump(struct jit_image *image, const struct jit_names *names)
{
	size_t count = image->wanted.len, left = 0;
	if (image->dump_fd < 0 || !count)
		return;
	CLEANUP_FREE bool *is_known = mem_zalloc_array(count, sizeof(*is_known));
	struct naming naming = {names, is_known};
	jitdump_read(image->dump_fd, image->wanted.data, count, take_place, &naming);
	for (size_t i = 0; i < count; i++)
		if (!is_known[i])
			image->wanted.data[left++] = image->wanted.data[i];
	image->wanted.len = left;
}

static void name_by_map(struct jit_image *image, const struct jit_names *names)
{
	CLEANUP_FD int fd = image->wanted.len ? open_map(image) : -1;
	if (fd >= 0)
		perf_map_read(
			fd, image->wanted.data, image->wanted.len, names->symbol, names->context);
}

void jit_table_name(struct jit_table *table, const struct object *object, bool is_over,
	const struct jit_names *names)
{
	uint64_t *index = map_get(&table->by_object, object->serial);
	if (!index)
		return;
	struct jit_image *image = &table->images.data[*index];
	table->nr_wanted -= image->wanted.len;
	if (image->wanted.len) {
		sort_wanted(image);
		name_by_dump(image, names);
		name_by_map(image, names);
	}
	vec_deinit(&image->wanted);
	if (is_over)
		close_files(table, image);
}

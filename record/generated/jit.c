#include "record/generated/jit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/bisect.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/base/path.h"
#include "record/host/proc.h"

enum {
	MAX_OPEN = 256,         /* perf maps, jitdumps, and the /tmps of containers */
	MAX_WANTED = 256 << 10, /* addresses of all images: 6 MiB, and twice that to name them */
	MAX_OWNED = 256 << 10,  /* ... with owners */
};

/* It stands still from then on. */
static void close_map(struct jit_table *table, struct jit_image *image)
{
	if (image->map_fd < 0)
		return;
	growth_watch_remove(table->watch, image->growth);
	mem_close_fd(&image->map_fd);
	table->nr_open--;
}

static void close_files(struct jit_table *table, struct jit_image *image)
{
	close_map(table, image);
	table->nr_open -= (image->tmp_fd >= 0) + (image->dump_fd >= 0);
	mem_close_fd(&image->tmp_fd);
	mem_close_fd(&image->dump_fd);
}

void jit_table_deinit(struct jit_table *table)
{
	vec_each(&table->images, image) {
		close_files(table, image);
		vec_deinit(&image->wanted);
		map_deinit(&image->owners);
		file_growth_deinit(image->growth);
		mem_free(image->growth);
	}
	growth_watch_destroy(table->watch);
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
	char mounts[32];
	struct mount_file root, own;
	CLEANUP_FD int root_fd = target_file_open_root(pid, &root);
	CLEANUP_FD int own_fd = target_file_open_root((uint32_t)getpid(), &own);
	snprintf(mounts, sizeof(mounts), "/proc/%u/ns/mnt", pid);
	return root_fd >= 0 && own_fd >= 0 && root.device == own.device &&
	       root.inode == own.inode && is_same_inode(mounts, "/proc/self/ns/mnt");
}

static int open_tmp(const struct jit_table *table, uint32_t pid, bool is_ours)
{
	return target_file_open_folder(table->objects->files, pid, is_ours, "/tmp");
}

/*
 * What can be learned while the process lives. /proc/PID/root goes when it ends, and the mounts of
 * a container come apart then: of its root, /tmp would not be found any more.
 */
static void jit_look_at(
	struct jit_table *table, struct jit_image *image, const struct process *process)
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
	image->tmp_fd = open_tmp(table, process->pid, false);
	image->is_tmp_remote = image->tmp_fd < 0 && errno == EREMOTE;
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
	struct stat st;
	image->dump_fd = object_open_any(marker->object, &where);
	table->nr_open += image->dump_fd >= 0;
	if (image->dump_fd >= 0 && !fstat(image->dump_fd, &st)) {
		image->dump_device = st.st_dev;
		image->dump_inode = st.st_ino;
	}
}

static struct jit_image *image_of(struct jit_table *table, struct process *process)
{
	if (process->compiled)
		return &table->images.data[*map_get(&table->by_object, process->compiled->serial)];
	process->compiled = object_table_anonymous(table->objects);
	struct jit_image image = {
		.object = process->compiled,
		.pid = process->pid,
		.tmp_fd = -1,
		.dump_fd = -1,
		.map_fd = -1,
		.growth = mem_zalloc(sizeof(*image.growth)),
	};
	jit_look_at(table, &image, process);
	struct mapping_cursor cursor = {0};
	for (const struct mapping *mapping;
		(mapping = mapping_table_next(&process->mappings, &cursor));)
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

void jit_table_want(
	struct jit_table *table, const struct object *object, uint64_t address, uint64_t time_ns)
{
	uint64_t *index = map_get(&table->by_object, object->serial);
	if (!index || table->nr_wanted >= MAX_WANTED)
		return;
	vec_push(&table->images.data[*index].wanted,
		(struct jit_wanted){.address = address, .first_ns = time_ns});
	table->nr_wanted++;
}

/* What that code is called. Shared libraries, by how their files' names begin. */
static const struct library_owner {
	const char *prefix, *name;
} libraries[] = {
	{"libpcre2-", "[pcre2 jit]"},
	{"libpcre.so", "[pcre jit]"},
};

const char *jit_owner_by_caller(const char *path, enum runtime_kind kind)
{
	const struct runtime *runtime = runtime_of(kind);
	const char *file = path_last_part(path);
	if (runtime && runtime->called_code)
		return runtime->called_code;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (strncmp(file, libraries[i].prefix, strlen(libraries[i].prefix)) == 0)
			return libraries[i].name;
	return NULL;
}

void jit_table_note_owner(
	struct jit_table *table, const struct object *object, uint64_t address, const char *name)
{
	uint64_t *index = map_get(&table->by_object, object->serial);
	struct map *owners = index ? &table->images.data[*index].owners : NULL;
	uint64_t *owner = owners ? map_get(owners, address) : NULL;
	if (owner && *owner != (uintptr_t)name)
		*owner = 0;
	else if (owners && !owner && table->nr_owned < MAX_OWNED) {
		*map_put(owners, address, NULL) = (uintptr_t)name;
		table->nr_owned++;
	}
}

void jit_table_forget_wanted(struct jit_table *table)
{
	vec_each(&table->images, image)
		vec_deinit(&image->wanted);
	table->nr_wanted = 0;
}

static int jit_compare_wanted(const void *a, const void *b)
{
	const struct jit_wanted *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

static void sort_wanted(struct jit_image *image)
{
	struct jit_wanted *data = image->wanted.data;
	size_t distinct = 0;
	qsort(data, image->wanted.len, sizeof(*data), jit_compare_wanted);
	for (size_t i = 0; i < image->wanted.len; i++)
		if (!i || data[i].address != data[i - 1].address)
			data[distinct++] = data[i];
	image->wanted.len = distinct;
}

/* ---- its files ---- */

static uint64_t realtime_of(uint64_t boottime_ns)
{
	return clock_read_ns(CLOCK_REALTIME) - (clock_read_ns(CLOCK_BOOTTIME) - boottime_ns);
}

/* /tmp is everybody's: any user may have put it there, or another process of the same number. */
static bool is_to_believe(const struct jit_image *image, const struct stat *st)
{
	uint64_t mtime_ns = clock_from_timespec(st->st_mtim);
	bool is_newer = !image->start_ns || mtime_ns + NS_PER_S >= realtime_of(image->start_ns);
	return (st->st_uid == image->uid || st->st_uid == 0) && is_newer;
}

/* No link is followed, and opening never waits. errno: ENOENT when there is none to believe. */
static int open_map(const struct jit_table *table, const struct jit_image *image)
{
	char name[32];
	struct stat st;
	CLEANUP_FD int own_fd = -1;
	int tmp_fd = image->tmp_fd;
	if (tmp_fd < 0) {
		own_fd = open_tmp(table, image->pid, !image->has_own_tmp);
		tmp_fd = own_fd;
	}
	if (tmp_fd < 0)
		return -1;
	snprintf(name, sizeof(name), "perf-%u.map", image->ns_pid);
	CLEANUP_FD int fd = target_file_open_below(table->objects->files, tmp_fd, name, &st);
	if (fd < 0) {
		errno = errno == EINVAL ? ENOENT : errno;
		return -1;
	}
	if (is_to_believe(image, &st))
		return steal_fd(fd);
	errno = ENOENT;
	return -1;
}

/* ---- how a perf map grows ---- */

/* True: it was removed, and perhaps there is another one. */
static bool is_removed(int fd)
{
	struct stat st;
	return !fstat(fd, &st) && !st.st_nlink;
}

/* It is there, perhaps in place of another one. */
static void watch_map(struct jit_table *table, struct jit_image *image, int fd)
{
	if (image->map_fd >= 0) {
		close_map(table, image);
		file_growth_deinit(image->growth);
	}
	if (!table->watch)
		table->watch = growth_watch_create();
	image->map_fd = fd;
	image->nr_misses = 0;
	table->nr_open++;
	growth_watch_add(table->watch, image->growth, fd);
}

static void find_map(struct jit_table *table, struct jit_image *image)
{
	enum {
		MISSES_MAX = 4 /* then the pause between looks is 16 times as long */
	};
	bool is_open = image->map_fd >= 0;
	if (is_open ? !is_removed(image->map_fd) : table->nr_open >= MAX_OPEN)
		return;
	int fd = open_map(table, image);
	if (fd >= 0)
		watch_map(table, image, fd);
	else if (!is_open && errno == ENOENT)
		file_growth_look(image->growth, -1);
	image->nr_misses += fd < 0 && image->nr_misses < MISSES_MAX;
}

void jit_table_watch(struct jit_table *table, uint64_t now_ns)
{
	enum {
		PAUSE_NS = 100 * 1000 * 1000
	};
	vec_each(&table->images, image) {
		if (image->is_over || now_ns < image->look_ns)
			continue;
		find_map(table, image);
		image->look_ns = now_ns + ((uint64_t)PAUSE_NS << image->nr_misses) * 9 / 10;
	}
}

/* ---- time ---- */

enum {
	SHARE = 5,                        /* one part in so many of the time is for reading */
	TIME_MAX_NS = 200 * 1000 * 1000,  /* at once, as the main loop waits for it */
	TIME_LAST_NS = 400 * 1000 * 1000, /* ... when a file ends */
};

/* Processes choose how much there is to read, and how often one of them ends. */
static void refill_time(struct jit_table *table)
{
	uint64_t now_ns = clock_now_ns();
	if (now_ns > table->filled_ns)
		table->time_left_ns += (now_ns - table->filled_ns) / SHARE;
	table->filled_ns = now_ns;
	if (table->time_left_ns > TIME_MAX_NS)
		table->time_left_ns = TIME_MAX_NS;
}

static void spend_time(struct jit_table *table, uint64_t since_cpu_ns)
{
	uint64_t spent_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - since_cpu_ns;
	table->time_left_ns -= spent_ns < table->time_left_ns ? spent_ns : table->time_left_ns;
}

/* ---- names ---- */

/* Images that share a jitdump are named together: so it is read once. */
struct naming {
	struct jit_image **images;
	size_t count;
	const struct jit_names *names;
	struct jit_image *image; /* by its perf map */
};

static struct jit_wanted *find_wanted(const struct jit_image *image, uint64_t address)
{
	struct jit_wanted *data = image->wanted.data;
	size_t at = bisect(image->wanted.len, i, data[i].address < address);
	return at < image->wanted.len && data[at].address == address ? &data[at] : NULL;
}

static void on_dump_place(void *context, const struct code_place *place)
{
	const struct naming *naming = context;
	for (size_t i = 0; i < naming->count; i++) {
		struct jit_wanted *wanted = find_wanted(naming->images[i], place->address);
		if (!wanted)
			continue;
		wanted->is_named = true;
		naming->names->place(naming->names->context, naming->images[i]->object, place);
	}
}

static int jit_compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* What any of the images wants, ascending, each once. */
static uint64_t *all_addresses(const struct naming *naming, size_t *count)
{
	size_t len = 0;
	for (size_t i = 0; i < naming->count; i++)
		len += naming->images[i]->wanted.len;
	uint64_t *addresses = mem_zalloc_array(len, sizeof(*addresses));
	len = 0;
	for (size_t i = 0; i < naming->count; i++)
		vec_each(&naming->images[i]->wanted, wanted)
			addresses[len++] = wanted->address;
	if (len)
		qsort(addresses, len, sizeof(*addresses), jit_compare_addresses);
	*count = 0;
	for (size_t i = 0; i < len; i++)
		if (!i || addresses[i] != addresses[i - 1])
			addresses[(*count)++] = addresses[i];
	return addresses;
}

static void jit_count_unnamed(struct jit_table *table, const struct jit_image *image)
{
	vec_each(&image->wanted, wanted)
		table->given_up += !wanted->is_named;
}

/* The images have one jitdump, that of the first. */
static void name_by_dump(struct jit_table *table, struct naming *naming)
{
	uint64_t begun_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	size_t count;
	CLEANUP_FREE uint64_t *addresses = all_addresses(naming, &count);
	bool is_whole = jitdump_read(naming->images[0]->dump_fd, addresses, count,
		table->time_left_ns, on_dump_place, naming);
	for (size_t i = 0; i < naming->count && !is_whole; i++)
		jit_count_unnamed(table, naming->images[i]);
	spend_time(table, begun_ns);
}

/* What the process registered for debuggers, which was read long since. */
static void name_by_registered(const struct jit_table *table, struct naming *naming)
{
	for (size_t i = 0; i < naming->count && table->registered; i++) {
		struct naming one = {
			.images = &naming->images[i], .count = 1, .names = naming->names};
		size_t count;
		CLEANUP_FREE uint64_t *addresses = all_addresses(&one, &count);
		registered_code_names(table->registered, naming->images[i]->object, addresses,
			count, on_dump_place, &one);
	}
}

/* What is wanted still, as the readers of perf maps want it. */
struct wanted {
	uint64_t *addresses, *first_ns;
	size_t count;
};

static struct wanted wanted_of(const struct jit_image *image)
{
	size_t count = image->wanted.len;
	struct wanted wanted = {
		mem_zalloc_array(count, sizeof(*wanted.addresses)),
		mem_zalloc_array(count, sizeof(*wanted.first_ns)),
		0,
	};
	vec_each(&image->wanted, it) {
		if (it->is_named)
			continue;
		wanted.addresses[wanted.count] = it->address;
		wanted.first_ns[wanted.count++] = it->first_ns;
	}
	return wanted;
}

static void wanted_deinit(struct wanted *wanted)
{
	mem_free(wanted->addresses);
	mem_free(wanted->first_ns);
}

static void on_map_place(void *context, const struct code_place *place)
{
	const struct naming *naming = context;
	struct jit_wanted *wanted = find_wanted(naming->image, place->address);
	if (wanted)
		wanted->is_named = true;
	naming->names->place(naming->names->context, naming->image->object, place);
}

static void on_map_symbol(void *context, const struct perf_map_entry *entry)
{
	const struct naming *naming = context;
	struct jit_image *image = naming->image;
	struct jit_wanted *data = image->wanted.data;
	for (size_t at = bisect(image->wanted.len, i, data[i].address < entry->start);
		at < image->wanted.len && data[at].address - entry->start < entry->size; at++)
		data[at].is_named = true;
	naming->names->symbol(naming->names->context, naming->image->object, entry);
}

/* The last look is ours, the watch must not move what is read meanwhile. */
static void read_map(struct jit_table *table, struct jit_image *image, const struct wanted *wanted,
	struct naming *naming)
{
	struct perf_map_wanted in_map = {wanted->addresses, wanted->first_ns, wanted->count};
	struct perf_map_names out = {on_map_symbol, on_map_place, naming};
	if (!image->is_over)
		find_map(table, image);
	CLEANUP_FD int own_fd = image->map_fd < 0 ? open_map(table, image) : -1;
	int fd = image->map_fd < 0 ? own_fd : image->map_fd;
	if (fd < 0)
		return;
	if (image->map_fd >= 0) {
		growth_watch_remove(table->watch, image->growth);
		file_growth_look(image->growth, fd);
	}
	table->given_up += perf_map_read(fd, image->growth, &in_map, table->time_left_ns, &out);
	if (image->map_fd >= 0)
		growth_watch_add(table->watch, image->growth, fd);
}

static void name_by_map(struct jit_table *table, struct jit_image *image, struct naming *naming)
{
	uint64_t begun_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	struct wanted wanted = wanted_of(image);
	naming->image = image;
	if (wanted.count && table->time_left_ns)
		read_map(table, image, &wanted, naming);
	else if (image->dump_fd < 0) /* else that was counted */
		jit_count_unnamed(table, image);
	wanted_deinit(&wanted);
	spend_time(table, begun_ns);
}

/* What nothing named, as one function for each owner: nobody tells where one begins. */
static void name_by_owner(const struct jit_image *image, const struct jit_names *names)
{
	struct map starts = {0}; /* name -> the first address */
	if (image->owners.len)
		vec_each(&image->wanted, wanted) {
			const uint64_t *owner = map_get(&image->owners, wanted->address);
			if (wanted->is_named || !owner || !*owner)
				continue;
			bool is_new;
			uint64_t *start = map_put(&starts, *owner, &is_new);
			if (is_new)
				*start = wanted->address;
			names->place(names->context, image->object,
				&(struct code_place){.address = wanted->address,
					.start = *start,
					.name = (const char *)(uintptr_t)*owner});
		}
	map_deinit(&starts);
}

static void name_images(struct jit_table *table, struct naming *naming)
{
	for (size_t i = 0; i < naming->count; i++)
		sort_wanted(naming->images[i]);
	name_by_registered(table, naming);
	if (naming->images[0]->dump_fd >= 0)
		name_by_dump(table, naming);
	for (size_t i = 0; i < naming->count; i++) {
		struct jit_image *image = naming->images[i];
		name_by_map(table, image, naming);
		name_by_owner(image, naming->names);
		table->nr_wanted -= image->wanted.len;
		vec_deinit(&image->wanted);
	}
}

void jit_table_name(
	struct jit_table *table, const struct object *object, const struct jit_names *names)
{
	uint64_t *index = map_get(&table->by_object, object->serial);
	if (!index)
		return;
	struct jit_image *image = &table->images.data[*index];
	struct naming naming = {.images = &image, .count = 1, .names = names};
	refill_time(table);
	if (image->wanted.len)
		name_images(table, &naming);
	table->nr_owned -= image->owners.len;
	map_deinit(&image->owners);
	image->is_over = true;
	if (table->registered)
		registered_code_forget(table->registered, object);
	close_files(table, image);
}

static bool has_same_dump(const struct jit_image *a, const struct jit_image *b)
{
	return a == b || (b->dump_fd >= 0 && a->dump_inode == b->dump_inode &&
				 a->dump_device == b->dump_device);
}

void jit_table_name_all(struct jit_table *table, const struct jit_names *names)
{
	VEC(struct jit_image *) group = {0};
	table->time_left_ns = TIME_LAST_NS;
	vec_each(&table->images, first) {
		if (!first->wanted.len)
			continue;
		group.len = 0;
		struct jit_image *end = table->images.data + table->images.len;
		if (first->dump_fd < 0)
			end = first + 1;
		for (struct jit_image *image = first; image < end; image++)
			if (image->wanted.len && has_same_dump(first, image))
				vec_push(&group, image);
		struct naming naming = {.images = group.data, .count = group.len, .names = names};
		name_images(table, &naming);
	}
	vec_deinit(&group);
}

#include "record/task/object.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "format/base/bisect.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/elf/elf_file.h"

static struct object *object_create(
	const struct object_table *table, enum layout_object_kind kind, const char *path)
{
	struct object *object = mem_zalloc(sizeof(*object));
	object->files = table->files;
	object->info.kind = kind;
	object->path = mem_strdup(path);
	return object;
}

static void object_destroy(struct object *object)
{
	mem_free((void *)object->info.segments);
	mem_free(object->path);
	mem_free(object);
}

void object_table_deinit(struct object_table *table)
{
	vec_each(&table->objects, object)
		object_destroy(*object);
	vec_deinit(&table->objects);
	strtab_deinit(&table->keys);
	map_deinit(&table->by_key);
	target_files_destroy(table->files);
	table->files = NULL;
}

static void object_add(struct object_table *table, struct object *object)
{
	object->serial = table->next_serial++;
	vec_push(&table->objects, object);
}

/* The value under a key of text, created as 0. Values are serials plus 1. */
static uint64_t *key_slot(struct object_table *table, const struct str *key)
{
	uint32_t id = strtab_intern(&table->keys, str_text(key), key->len);
	return map_put(&table->by_key, id, NULL);
}

static struct object *object_at(struct object_table *table, uint64_t slot)
{
	return slot ? object_table_get(table, (uint32_t)(slot - 1)) : NULL;
}

static void key_of_build_id(
	struct str *key, const char *path, const uint8_t *build_id, uint32_t build_id_len)
{
	str_printf(key, "b%s", path);
	str_putc(key, '\0');
	str_write(key, build_id, build_id_len);
}

struct object *object_table_by_build_id(struct object_table *table, const char *path,
	const uint8_t *build_id, uint32_t build_id_len)
{
	CLEANUP(str_deinit) struct str key = {0};
	key_of_build_id(&key, path, build_id, build_id_len);
	uint64_t *slot = key_slot(table, &key);
	if (!*slot) {
		struct object *object = object_create(table, LAYOUT_OBJECT_FILE, path);
		object_add(table, object);
		memcpy(object->info.build_id, build_id, build_id_len);
		object->info.build_id_len = build_id_len;
		*slot = object->serial + 1;
	}
	return object_at(table, *slot);
}

struct object *object_table_by_inode(struct object_table *table, const char *path, uint32_t device,
	uint64_t inode, bool is_deleted, const struct object_location *where)
{
	CLEANUP(str_deinit) struct str key = {0};
	str_printf(&key, "i%x:%llx:%d:%s", device, (unsigned long long)inode, is_deleted, path);
	uint32_t inode_key = strtab_intern(&table->keys, str_text(&key), key.len);
	uint64_t *slot = map_put(&table->by_key, inode_key, NULL);
	if (*slot)
		return object_at(table, *slot);
	struct object *object = object_create(table, LAYOUT_OBJECT_FILE, path);
	object->info.device = device;
	object->info.inode = inode;
	object->info.flags |= is_deleted ? LAYOUT_OBJECT_DELETED : 0;
	object_examine(object, where);
	/* The kernel may have announced the same file by its build ID, or may do so yet. */
	str_truncate(&key, 0);
	key_of_build_id(&key, path, object->info.build_id, object->kernel_build_id_len);
	uint64_t *known = object->info.build_id_len ? key_slot(table, &key) : NULL;
	if (known && *known) {
		object_destroy(object);
		object = object_at(table, *known);
	} else {
		object_add(table, object);
		if (known)
			*known = object->serial + 1;
	}
	*map_put(&table->by_key, inode_key, NULL) = object->serial + 1;
	return object;
}

struct object *object_table_special(
	struct object_table *table, enum layout_object_kind kind, const char *name)
{
	CLEANUP(str_deinit) struct str key = {0};
	str_printf(&key, "s%d:%s", kind, name);
	uint64_t *slot = key_slot(table, &key);
	if (!*slot) {
		struct object *object = object_create(table, kind, name);
		object_add(table, object);
		object->is_examined = true;
		*slot = object->serial + 1;
	}
	return object_at(table, *slot);
}

struct object *object_table_anonymous(struct object_table *table)
{
	struct object *object =
		object_create(table, LAYOUT_OBJECT_ANONYMOUS, LAYOUT_ANONYMOUS_PATH);
	object_add(table, object);
	object->is_examined = object->is_kept = true;
	return object;
}

bool object_is_memory(const char *path)
{
	static const char *const memories[] = {"/memfd:doublemapper", "/memfd:vmem"};
	for (size_t i = 0; i < sizeof(memories) / sizeof(*memories); i++) {
		size_t len = strlen(memories[i]);
		/* " (deleted)" follows, or nothing. */
		if (strncmp(path, memories[i], len) == 0 && (!path[len] || path[len] == ' '))
			return true;
	}
	return false;
}

/* ---- freeing ---- */

struct object *object_table_get(const struct object_table *table, uint32_t serial)
{
	size_t at = bisect(table->objects.len, i, table->objects.data[i]->serial < serial);
	bool is_there = at < table->objects.len && table->objects.data[at]->serial == serial;
	return is_there ? table->objects.data[at] : NULL;
}

bool object_table_is_sweep_due(const struct object_table *table)
{
	enum {
		FEW = 4096
	};
	return table->objects.len > (table->sweep_at ? table->sweep_at : FEW);
}

/* A process can have as many of these as it likes. */
static bool may_be_freed(const struct object *object)
{
	enum layout_object_kind kind = object->info.kind;
	bool is_many = kind == LAYOUT_OBJECT_FILE || kind == LAYOUT_OBJECT_ANONYMOUS;
	return is_many && !object->is_used && !object->is_kept;
}

static void forget_keys_of_freed(struct object_table *table)
{
	struct strtab keys = {0};
	struct map by_key = {0};
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&table->by_key, &cursor));) {
		const struct strtab_entry *entry = &table->keys.entries.data[slot->key];
		if (!object_at(table, slot->value))
			continue;
		uint32_t id = strtab_intern(&keys, entry->bytes, entry->len);
		*map_put(&by_key, id, NULL) = slot->value;
	}
	strtab_deinit(&table->keys);
	map_deinit(&table->by_key);
	table->keys = keys;
	table->by_key = by_key;
}

void object_table_sweep(struct object_table *table)
{
	enum {
		MORE = 4096
	};
	size_t left = 0;
	vec_each(&table->objects, it) {
		struct object *object = *it;
		if (may_be_freed(object)) {
			object_destroy(object);
			continue;
		}
		object->is_used = false;
		table->objects.data[left++] = object;
	}
	table->objects.len = left;
	table->sweep_at = 2 * left + MORE;
	forget_keys_of_freed(table);
}

void object_table_forget(const struct object_table *table, struct map *by_serial)
{
	struct map left = {0};
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(by_serial, &cursor));)
		if (object_table_get(table, (uint32_t)slot->key))
			*map_put(&left, slot->key, NULL) = slot->value;
	map_deinit(by_serial);
	*by_serial = left;
}

/* ---- reading the file ---- */

static void object_take_segments(struct object *object, const struct elf_file *elf)
{
	size_t count;
	const struct elf_segment *from = elf_file_segments(elf, &count);
	if (count > LAYOUT_MAX_SEGMENTS)
		count = LAYOUT_MAX_SEGMENTS;
	struct layout_segment *segments = mem_zalloc_array(count, sizeof(*segments));
	for (size_t i = 0; i < count; i++) {
		segments[i] = (struct layout_segment){
			.vaddr = from[i].vaddr,
			.offset = from[i].offset,
			.filesz = from[i].filesz,
			.memsz = from[i].memsz,
			.flags = from[i].flags,
		};
	}
	object->info.segments = segments;
	object->info.nr_segments = (uint32_t)count;
}

/* Whether the build ID that is known is the file's, or as much of it as the kernel knows. */
static bool has_build_id(const struct object *object, struct elf_file *elf)
{
	size_t len;
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	size_t known = object->info.build_id_len;
	return (known == len || (known && known == elf_file_kernel_build_id_len(elf))) &&
	       (!known || memcmp(build_id, object->info.build_id, known) == 0);
}

/* False when the file holds another build ID than the one that is known. */
static bool take_elf(struct object *object, struct elf_file *elf)
{
	size_t len;
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	if (object->info.build_id_len && !has_build_id(object, elf))
		return false;
	if (build_id) {
		memcpy(object->info.build_id, build_id, len);
		object->info.build_id_len = (uint32_t)len;
		object->kernel_build_id_len = (uint32_t)elf_file_kernel_build_id_len(elf);
	} else if (elf_file_build_id_is_given_up(elf)) {
		object->info.flags |= LAYOUT_OBJECT_UNSEARCHED;
	}
	object_take_segments(object, elf);
	return true;
}

static void take_stat(struct object *object, const struct stat *st)
{
	object->info.size_bytes = (uint64_t)st->st_size;
	object->info.mtime_ns = clock_from_timespec(st->st_mtim);
	object->info.inode = st->st_ino;
	object->info.device = major(st->st_dev) << 20 | minor(st->st_dev);
}

static bool is_other_inode(const struct object *object, const struct stat *st)
{
	const struct layout_object *info = &object->info;
	return !info->build_id_len && info->inode && info->inode != st->st_ino;
}

/* What the file tells of the object, if it is the right one. */
static bool learn_of(struct object *object, struct elf_file *elf, const struct stat *st)
{
	object->info.flags |= LAYOUT_OBJECT_CHANGED;
	if (!take_elf(object, elf))
		return false;
	take_stat(object, st);
	object->info.flags &= ~(uint32_t)LAYOUT_OBJECT_CHANGED;
	return true;
}

/* True when the file was the right one. Takes the descriptor. */
typedef bool take_file_fn(void *context, int file_fd, const struct stat *st);

static bool examine_file(void *context, int file_fd, const struct stat *st)
{
	struct object *object = context;
	CLEANUP_FD int fd = file_fd;
	if (is_other_inode(object, st)) {
		object->info.flags |= LAYOUT_OBJECT_CHANGED;
		return false;
	}
	struct elf_file *elf;
	struct err *err = elf_file_open(fd, &elf);
	if (err) { /* a mapped file need not be ELF */
		err_destroy(err);
		take_stat(object, st);
		return true;
	}
	bool is_right = learn_of(object, elf, st);
	elf_file_destroy(elf);
	return is_right;
}

enum place {
	PLACE_MAPPED,
	PLACE_IN_ROOT,
	PLACE_HERE,
	NR_PLACES
};

static int object_open_at(const struct object *object, const struct object_location *where,
	enum place place, struct stat *st)
{
	struct target_files *files = object->files;
	const char *path = object->path;
	errno = ENOENT;
	switch (place) {
	case PLACE_MAPPED:
		return !where->pid ? -1
				   : target_file_open_mapped(
					     files, where->pid, where->start, where->end, st);
	case PLACE_IN_ROOT:
		return !where->pid || path[0] != '/'
			       ? -1
			       : target_file_open_in_root(files, where->pid, path, st);
	default:
		return path[0] != '/' ? -1 : target_file_open_here(files, where->pid, path, st);
	}
}

/*
 * Tries where the file may be until `fn` finds it there. Else errno: EREMOTE as target_file.h says,
 * ETIMEDOUT when its process did not let it be looked for, see proc_access.h.
 */
static bool try_places(const struct object *object, const struct object_location *where,
	take_file_fn *fn, void *context)
{
	bool is_refused = false, is_locked = false;
	for (enum place place = PLACE_MAPPED; place < NR_PLACES; place++) {
		struct stat st;
		int fd = object_open_at(object, where, place, &st);
		if (fd >= 0 && fn(context, fd, &st))
			return true;
		is_refused |= fd < 0 && errno == EREMOTE;
		is_locked |= fd < 0 && errno == ETIMEDOUT;
	}
	errno = is_locked ? ETIMEDOUT : is_refused ? EREMOTE : ENOENT;
	return false;
}

void object_examine(struct object *object, const struct object_location *where)
{
	if (object->is_examined)
		return;
	object->is_examined = true;
	object->info.flags &= ~(uint32_t)LAYOUT_OBJECT_UNREADABLE;
	if (try_places(object, where, examine_file, object))
		return;
	object->info.flags |= LAYOUT_OBJECT_UNREADABLE;
	object->is_examined = errno != ETIMEDOUT;
	if (errno == EREMOTE)
		object->info.flags |= LAYOUT_OBJECT_REMOTE;
}

struct opening {
	struct object *object;
	int fd;
	struct elf_file *elf;
};

/*
 * Where it could not be read so far, since its process did not let it be looked at in time or was
 * gone, this is the first look: what is known by its inode alone has no build ID to compare yet.
 */
static bool is_right_elf(struct object *object, struct elf_file *elf, const struct stat *st)
{
	if (object->is_examined && !(object->info.flags & LAYOUT_OBJECT_UNREADABLE))
		return has_build_id(object, elf);
	if (!learn_of(object, elf, st))
		return false;
	object->is_examined = true;
	object->info.flags &= ~(uint32_t)(LAYOUT_OBJECT_UNREADABLE | LAYOUT_OBJECT_REMOTE);
	return true;
}

static bool open_elf(void *context, int file_fd, const struct stat *st)
{
	struct opening *opening = context;
	CLEANUP_FD int fd = file_fd;
	if (is_other_inode(opening->object, st))
		return false;
	struct elf_file *elf;
	struct err *err = elf_file_open(fd, &elf);
	if (err) {
		err_destroy(err);
		return false;
	}
	if (!is_right_elf(opening->object, elf, st)) {
		elf_file_destroy(elf);
		return false;
	}
	opening->elf = elf;
	opening->fd = steal_fd(fd);
	return true;
}

bool object_open(
	struct object *object, const struct object_location *where, int *fd, struct elf_file **elf)
{
	struct opening opening = {.object = object};
	if (!try_places(object, where, open_elf, &opening))
		return false;
	*fd = opening.fd;
	*elf = opening.elf;
	return true;
}

struct opening_any {
	const struct object *object;
	int fd;
};

static bool object_take_any(void *context, int file_fd, const struct stat *st)
{
	struct opening_any *opening = context;
	CLEANUP_FD int fd = file_fd;
	if (is_other_inode(opening->object, st))
		return false;
	opening->fd = steal_fd(fd);
	return true;
}

int object_open_any(const struct object *object, const struct object_location *where)
{
	struct opening_any opening = {object, -1};
	try_places(object, where, object_take_any, &opening);
	return opening.fd;
}

void object_examine_memory(struct object *object, const void *image, size_t bytes)
{
	if (object->info.nr_segments)
		return;
	struct elf_file *elf;
	struct err *err = elf_file_open_memory(image, bytes, &elf);
	if (err) {
		err_destroy(err);
		return;
	}
	take_elf(object, elf);
	elf_file_destroy(elf);
}

/*
 * ThreadsSMRSupport::_java_thread_list (up to 11 Threads::_thread_list) leads to all threads, of
 * which each knows its number and its java.lang.Thread. Where that has its name, and where a String
 * has its bytes, no table says: the object of a thread of whose name the kernel keeps a part is
 * searched for a string that begins so, and what leads there leads to the others' names, too.
 *
 * Pointers in the heap are of 4 bytes, from a base on and shifted, or of 8; the generational ZGC
 * has them shifted by as much as it has marks below.
 *
 * Sources: src/hotspot/share/runtime/{threadSMR,javaThread}.hpp, oops/compressedOops.hpp,
 * gc/z/zAddress.hpp of JDK 11, 17, 21, 25; processes of these.
 */
#include "record/runtime/java/java_threads.h"

#include <stdio.h>
#include <string.h>

#include "format/base/vec.h"
#include "format/file/thread_name.h"
#include "record/host/proc.h"
#include "record/runtime/java/java_tables.h"
#include "record/runtime/runtime_memory.h"

enum {
	MAX_JAVA_THREADS = 16 << 10,
	MAX_NAME_BYTES = 512,
	NOT_FOUND = 0xffff,
	FIRST_FIELD = 8,    /* of an object */
	THREAD_BYTES = 256, /* of one, that are searched */
	STRING_BYTES = 40,
	FIRST_ZGC_SHIFT = 13,
	LAST_ZGC_SHIFT = 16,
	KEPT_BYTES = THREAD_NAME_KEPT_BYTES + 2, /* with a line's end */
	MAX_TRIES = 16,                          /* threads whose objects are searched */
};

/* How a pointer in the heap is read. */
struct heap_pointers {
	uint8_t bytes; /* 4 or 8 */
	uint8_t shift;
	bool is_marked; /* marks stand below: it is shifted to the right */
	uint64_t base;
};

/* What leads from a thread's object to the text. */
struct name_path {
	struct heap_pointers pointers;
	uint16_t name, value; /* offsets of pointers: in the thread, in the string */
	uint8_t length, text; /* in the array */
};

struct java_threads {
	uint32_t pid;
	uint64_t first;                /* up to 11: address of what points to the first thread */
	uint64_t list;                 /* address of what points to the list */
	uint64_t base_at, shift_at;    /* of compressed pointers */
	uint16_t list_length, threads; /* offsets, */
	uint16_t next;                 /* ... up to 11 this in place of both */
	uint16_t os_thread, number, object;
	bool is_handle; /* `object` points to the pointer */
	struct name_path path;
};

struct java_thread_list {
	VEC(uint64_t) of;
};

/* ---- where it is ---- */

static void take_static_field(
	struct java_threads *of, const char *type, const char *field, uint64_t address)
{
	if (strcmp(type, "ThreadsSMRSupport") == 0 && strcmp(field, "_java_thread_list") == 0)
		of->list = address;
	if (strcmp(type, "Threads") == 0 && strcmp(field, "_thread_list") == 0)
		of->first = address;
	if (strcmp(type, "CompressedOops") != 0 && strcmp(type, "Universe") != 0)
		return;
	if (strcmp(field, "_narrow_oop._base") == 0 || strcmp(field, "_base") == 0)
		of->base_at = address;
	if (strcmp(field, "_narrow_oop._shift") == 0 || strcmp(field, "_shift") == 0)
		of->shift_at = address;
}

static void java_threads_take_field(
	void *context, const char *type, const char *field, bool is_static, uint64_t value)
{
	struct java_threads *of = context;
	const struct {
		const char *type, *field;
		uint16_t *offset;
	} wanted[] = {{"ThreadsList", "_length", &of->list_length},
		{"ThreadsList", "_threads", &of->threads}, {"Thread", "_osthread", &of->os_thread},
		{"JavaThread", "_osthread", &of->os_thread}, {"JavaThread", "_next", &of->next},
		{"OSThread", "_thread_id", &of->number}, {"JavaThread", "_threadObj", &of->object}};
	if (is_static) {
		take_static_field(of, type, field, value);
		return;
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (strcmp(wanted[i].type, type) == 0 && strcmp(wanted[i].field, field) == 0 &&
			value < NOT_FOUND)
			*wanted[i].offset = (uint16_t)value;
}

/* ---- pointers ---- */

static bool java_threads_read_u64(const struct java_threads *of, uint64_t address, uint64_t *ret)
{
	return runtime_read_process(of->pid, address, ret, sizeof(*ret));
}

/* The object that the bytes of a pointer lead to; 0: none. */
static uint64_t follow(const struct heap_pointers *pointers, const uint8_t *bytes)
{
	uint64_t value = 0;
	memcpy(&value, bytes, pointers->bytes);
	if (!value)
		return 0;
	if (pointers->is_marked)
		return value >> pointers->shift;
	return pointers->base + (value << pointers->shift);
}

/* ---- names ---- */

/* The text of an array of bytes, each a character. False: it is not longer than what the kernel
 * keeps, or too long. */
static bool read_characters(const struct java_threads *of, uint64_t array,
	const struct name_path *path, uint8_t text[MAX_NAME_BYTES], uint32_t *len)
{
	return runtime_read_process(of->pid, array + path->length, len, sizeof(*len)) &&
	       *len > THREAD_NAME_KEPT_BYTES && *len <= MAX_NAME_BYTES &&
	       runtime_read_process(of->pid, array + path->text, text, *len);
}

/* The name of a thread's object, by the path. */
static bool read_thread_name(
	const struct java_threads *of, uint64_t object, uint8_t text[MAX_NAME_BYTES], uint32_t *len)
{
	const struct name_path *path = &of->path;
	uint8_t pointer[8];
	if (!runtime_read_process(of->pid, object + path->name, pointer, path->pointers.bytes))
		return false;
	uint64_t string = follow(&path->pointers, pointer);
	if (!string ||
		!runtime_read_process(of->pid, string + path->value, pointer, path->pointers.bytes))
		return false;
	uint64_t array = follow(&path->pointers, pointer);
	return array && read_characters(of, array, path, text, len);
}

/* Whether it is the array of the name that the kernel keeps `comm` of; sets how it is read. */
static bool is_array_of(
	const struct java_threads *of, uint64_t array, const char *comm, struct name_path *path)
{
	/* By the size of the pointer to the class, and whether what follows is aligned. */
	static const struct {
		uint8_t length, text;
	} shapes[] = {{12, 16}, {16, 20}, {16, 24}, {8, 12}};
	uint8_t text[MAX_NAME_BYTES];
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		uint32_t len;
		path->length = shapes[i].length;
		path->text = shapes[i].text;
		if (read_characters(of, array, path, text, &len) &&
			thread_name_is_of((const char *)text, len, comm))
			return true;
	}
	return false;
}

static bool is_string_of(
	const struct java_threads *of, uint64_t string, const char *comm, struct name_path *path)
{
	uint8_t bytes[STRING_BYTES], step = path->pointers.bytes;
	if (!runtime_read_process(of->pid, string, bytes, sizeof(bytes)))
		return false;
	for (size_t at = FIRST_FIELD; at + step <= sizeof(bytes); at += step) {
		uint64_t array = follow(&path->pointers, bytes + at);
		path->value = (uint16_t)at;
		if (array && is_array_of(of, array, comm, path))
			return true;
	}
	return false;
}

/* Searches a thread's object for its name, whose first bytes are known. */
static bool find_path_by(const struct java_threads *of, uint64_t object, const char *comm,
	const struct heap_pointers *pointers, struct name_path *ret)
{
	struct name_path path = {.pointers = *pointers};
	uint8_t bytes[THREAD_BYTES];
	if (!runtime_read_process(of->pid, object, bytes, sizeof(bytes)))
		return false;
	for (size_t at = FIRST_FIELD; at + pointers->bytes <= sizeof(bytes);
		at += pointers->bytes) {
		uint64_t string = follow(pointers, bytes + at);
		path.name = (uint16_t)at;
		if (string && is_string_of(of, string, comm, &path)) {
			*ret = path;
			return true;
		}
	}
	return false;
}

/* ---- threads ---- */

/* The java.lang.Thread of a thread of the virtual machine, if pointers are those; 0: none. */
static uint64_t object_of(
	const struct java_threads *of, uint64_t thread, const struct heap_pointers *pointers)
{
	struct heap_pointers wide = *pointers;
	uint64_t at = thread + of->object;
	uint8_t pointer[8];
	if (of->is_handle && (!java_threads_read_u64(of, at, &at) || !at))
		return 0;
	if (!runtime_read_process(of->pid, at, pointer, sizeof(pointer)))
		return 0;
	/* Outside of the heap they are never compressed. */
	wide.bytes = sizeof(pointer);
	if (!wide.is_marked)
		wide.base = wide.shift = 0;
	return follow(&wide, pointer);
}

static bool find_name_path(struct java_threads *of, uint64_t thread, const char *comm)
{
	struct heap_pointers pointers = {.bytes = 4};
	uint32_t shift = 0;
	if (of->base_at && of->shift_at && java_threads_read_u64(of, of->base_at, &pointers.base) &&
		runtime_read_process(of->pid, of->shift_at, &shift, sizeof(shift)) && shift < 8) {
		pointers.shift = (uint8_t)shift;
		if (find_path_by(of, object_of(of, thread, &pointers), comm, &pointers, &of->path))
			return true;
	}
	pointers = (struct heap_pointers){.bytes = 8};
	if (find_path_by(of, object_of(of, thread, &pointers), comm, &pointers, &of->path))
		return true;
	pointers.is_marked = true;
	for (int marks = FIRST_ZGC_SHIFT; marks <= LAST_ZGC_SHIFT; marks++) {
		pointers.shift = (uint8_t)marks;
		if (find_path_by(of, object_of(of, thread, &pointers), comm, &pointers, &of->path))
			return true;
	}
	return false;
}

static bool read_number(const struct java_threads *of, uint64_t thread, uint32_t *ret)
{
	uint64_t os_thread;
	return java_threads_read_u64(of, thread + of->os_thread, &os_thread) && os_thread &&
	       runtime_read_process(of->pid, os_thread + of->number, ret, sizeof(*ret));
}

/* Characters of Latin-1, as UTF-8. */
static void put_name(uint32_t tid, const uint8_t *text, uint32_t len, struct bytes_buf *ret)
{
	struct bytes_buf name = {0};
	for (uint32_t i = 0; i < len; i++) {
		if (text[i] >= 0x80)
			bytes_put_u8(&name, 0xc0 | text[i] >> 6);
		bytes_put_u8(&name, text[i] < 0x80 ? text[i] : 0x80 | (text[i] & 0x3f));
	}
	bytes_put_u32(ret, tid);
	bytes_put_u32(ret, (uint32_t)name.len);
	bytes_put(ret, name.data, name.len);
	bytes_buf_deinit(&name);
}

/* What the kernel keeps of a thread's name; "" when it is gone. */
static void read_kept_name(const struct java_threads *of, uint32_t tid, char ret[KEPT_BYTES])
{
	char path[64];
	ret[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", of->pid, tid);
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	if (!fgets(ret, KEPT_BYTES, file))
		ret[0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	fclose(file);
}

/* By any of the threads: those of the virtual machine itself have no object. */
static bool find_path_by_any(struct java_threads *of, const uint64_t *threads, uint32_t count)
{
	CLEANUP(map_deinit) struct map inner = {0};
	bool has_namespace = proc_map_inner_threads(of->pid, &inner);
	for (uint32_t i = 0, tries = 0; i < count && tries < MAX_TRIES; i++) {
		uint32_t number;
		char kept[KEPT_BYTES];
		if (!read_number(of, threads[i], &number))
			continue;
		const uint64_t *outer = has_namespace ? map_get(&inner, number) : NULL;
		number = outer ? (uint32_t)*outer : number;
		read_kept_name(of, number, kept);
		if (strlen(kept) != THREAD_NAME_KEPT_BYTES)
			continue;
		if (find_name_path(of, threads[i], kept))
			return true;
		tries++;
	}
	return false;
}

static bool put_names(
	struct java_threads *of, const uint64_t *threads, uint32_t count, struct bytes_buf *ret)
{
	if (!find_path_by_any(of, threads, count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint8_t text[MAX_NAME_BYTES];
		uint32_t len, number;
		uint64_t object = object_of(of, threads[i], &of->path.pointers);
		if (object && read_number(of, threads[i], &number) &&
			read_thread_name(of, object, text, &len))
			put_name(number, text, len, ret);
	}
	return true;
}

static bool java_threads_are_found(const struct java_threads *of)
{
	bool has_list = of->list && of->list_length != NOT_FOUND && of->threads != NOT_FOUND;
	return of->os_thread != NOT_FOUND && of->number != NOT_FOUND && of->object != NOT_FOUND &&
	       (has_list || (of->first && of->next != NOT_FOUND));
}

/* The threads of the virtual machine; none where they cannot be read. */
static void list_java_threads(const struct java_threads *of, struct java_thread_list *ret)
{
	uint64_t list, array, thread;
	uint32_t count;
	if (!of->list) {
		bool is_read = java_threads_read_u64(of, of->first, &thread);
		while (is_read && thread && ret->of.len < MAX_JAVA_THREADS) {
			vec_push(&ret->of, thread);
			is_read = java_threads_read_u64(of, thread + of->next, &thread);
		}
		return;
	}
	if (!java_threads_read_u64(of, of->list, &list) ||
		!runtime_read_process(of->pid, list + of->list_length, &count, sizeof(count)) ||
		!java_threads_read_u64(of, list + of->threads, &array) || count > MAX_JAVA_THREADS)
		return;
	vec_resize(&ret->of, count);
	if (count && !runtime_read_process(of->pid, array, ret->of.data, count * sizeof(thread)))
		ret->of.len = 0;
}

bool java_threads_read(
	uint32_t pid, uint64_t delta, const struct runtime_row *row, struct bytes_buf *ret)
{
	const struct java_row *files = (const void *)row->words;
	struct java_threads of = {.pid = pid,
		.list_length = NOT_FOUND,
		.threads = NOT_FOUND,
		.next = NOT_FOUND,
		.os_thread = NOT_FOUND,
		.number = NOT_FOUND,
		.object = NOT_FOUND};
	struct java_tables tables;
	struct java_thread_list threads = {0};
	if (files->is_complete)
		return false;
	java_tables_init(&tables, pid, delta, files);
	bool is_read = java_tables_each_field(&tables, java_threads_take_field, &of);
	java_tables_deinit(&tables);
	if (!is_read || !java_threads_are_found(&of))
		return false;
	list_java_threads(&of, &threads);
	of.is_handle = true; /* up to 13 it is the pointer itself */
	bool are_put = put_names(&of, threads.of.data, (uint32_t)threads.of.len, ret);
	of.is_handle = false;
	if (!are_put)
		are_put = put_names(&of, threads.of.data, (uint32_t)threads.of.len, ret);
	vec_deinit(&threads.of);
	return are_put;
}

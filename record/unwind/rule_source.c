#include "record/unwind/rule_source.h"

#include <errno.h>
#include <poll.h>

#include "format/base/mem.h"
#include "record/runtime/runtime.h"
#include "record/task/process.h"

enum {
	VDSO_FILE = 0, /* its number, see bpf/event.h */
	WAIT_MS = 5,
};

static const uint64_t pending = 1ULL << 32; /* in place of a table: it is being made */
static const uint64_t failed = 1ULL << 33;  /* beside a table without rules: it was not made */

static void set_table(struct rule_source *rules, const struct object *object, uint64_t table)
{
	*map_put(&rules->tables, object->serial, NULL) = table;
}

uint32_t rule_source_table(const struct rule_source *rules, const struct object *object)
{
	const uint64_t *table = map_get(&rules->tables, object->serial);
	return table && *table != pending ? (uint32_t)*table : TABLE_NOT_STORED;
}

enum runtime_kind rule_source_runtime(const struct rule_source *rules, const struct object *object)
{
	const uint64_t *early = map_get(&rules->runtimes, object->serial);
	uint32_t table = rule_source_table(rules, object);
	enum runtime_kind kind = RUNTIME_NONE;
	if (!table_store_has_runtime(rules->store, table, &kind) && early)
		table_store_has_runtime(rules->store, (uint32_t)*early, &kind);
	return kind;
}

static bool is_pending(const struct rule_source *rules, const struct object *object)
{
	const uint64_t *table = map_get(&rules->tables, object->serial);
	return table && *table == pending;
}

static bool has_failed(const struct rule_source *rules, const struct object *object)
{
	const uint64_t *table = map_get(&rules->tables, object->serial);
	return table && *table & failed;
}

const struct runtime_row *rule_source_runtime_row(
	const struct rule_source *rules, const struct object *object, bool *ret_is_pending)
{
	const uint64_t *early = map_get(&rules->runtimes, object->serial);
	uint32_t table = rule_source_table(rules, object);
	*ret_is_pending = is_pending(rules, object) && !early;
	return table_store_runtime_row(
		rules->store, table == TABLE_NOT_STORED && early ? (uint32_t)*early : table);
}

/* ---- making tables ---- */

/* In a few microseconds, so at once. */
static struct err *provide_vdso(struct rule_source *rules)
{
	size_t bytes;
	const void *image = process_vdso_image(&bytes);
	struct object *vdso = process_vdso(rules->objects);
	struct elf_file *elf;
	if (!image)
		return NULL;
	try(elf_file_open_memory(image, bytes, &elf));
	struct unwind_table table;
	struct err *err = unwind_table_build(elf, &table);
	elf_file_destroy(elf);
	if (err)
		return err;
	uint32_t number = table_store_add(rules->store, &table);
	unwind_table_deinit(&table);
	set_table(rules, vdso, number);
	table_store_bind(rules->store, VDSO_FILE, number);
	return NULL;
}

void rule_source_prepare(struct rule_source *rules)
{
	*rules = (struct rule_source){0};
	live_rows_prepare(&rules->rows);
}

struct err *rule_source_init(struct rule_source *rules, const struct table_store_maps *maps,
	uint64_t max_bytes, const char *cache_folder, struct object_table *objects)
{
	rules->objects = objects;
	try(table_store_create(maps, max_bytes, &rules->store));
	live_rows_init(&rules->rows, rules->store, cache_folder);
	struct cache *cache = NULL;
	err_destroy(table_cache_open(cache_folder, &cache)); /* then without */
	try(table_builder_create(cache, &rules->builder));
	return provide_vdso(rules);
}

void rule_source_deinit(struct rule_source *rules)
{
	table_builder_destroy(rules->builder);
	live_rows_deinit(&rules->rows);
	frame_search_deinit(&rules->search);
	table_store_destroy(rules->store);
	vec_deinit(&rules->wishes);
	map_deinit(&rules->tables);
	map_deinit(&rules->runtimes);
}

void rule_source_mark_objects(const struct rule_source *rules)
{
	vec_each(&rules->objects->objects, object)
		(*object)->is_used |= is_pending(rules, *object);
}

void rule_source_forget_objects(struct rule_source *rules)
{
	object_table_forget(rules->objects, &rules->tables);
	object_table_forget(rules->objects, &rules->runtimes);
}

/*
 * A table, TABLE_ABSENT, or TABLE_NOT_STORED: it is being made, or else is to be asked for again.
 * The first time, *number is set to what the BPF side is to call the file by, unless it is NULL.
 */
static uint32_t table_of(struct rule_source *rules, struct object *object, uint32_t *number)
{
	uint32_t known = rule_source_table(rules, object); /* the store may have dropped it */
	if (table_store_has(rules->store, known))
		return known;
	if (is_pending(rules, object))
		return TABLE_NOT_STORED;
	int fd = -1;
	struct elf_file *elf = NULL;
	bool is_file = object->info.kind == LAYOUT_OBJECT_FILE;
	bool is_open = is_file && object_open(object, &object->where, &fd, &elf);
	if (is_file && !is_open && errno == ETIMEDOUT)
		return TABLE_NOT_STORED;
	if (!is_open) {
		set_table(rules, object, TABLE_ABSENT);
		rules->statistics.failed++;
		return TABLE_ABSENT;
	}
	if (number)
		*number = table_store_number(rules->store, fd);
	set_table(rules, object, pending);
	table_builder_submit(rules->builder, object->serial, fd, elf);
	return TABLE_NOT_STORED;
}

static void grant_wish(struct rule_source *rules, const struct rule_wish *wish, uint32_t table)
{
	const struct event_file *event = &wish->event;
	if (event->file)
		table_store_bind(rules->store, event->file, table);
	if (event->pid)
		table_store_tell_runtime(rules->store, table, event);
	live_rows_meet(&rules->rows, table, event->pid, event->offset - event->start);
}

/* A process whose code of no file waits for its runtime asks again and again. */
static bool is_wished(const struct rule_source *rules, const struct rule_wish *wish)
{
	vec_each(&rules->wishes, other)
		if (other->object == wish->object && other->event.file == wish->event.file &&
			other->event.pid == wish->event.pid)
			return true;
	return false;
}

/* Now, or when it is made; the runtime as soon as it is known. */
static void make_wish(struct rule_source *rules, const struct rule_wish *wish, uint32_t table)
{
	const uint64_t *of_runtime = map_get(&rules->runtimes, wish->object->serial);
	if (table != TABLE_NOT_STORED) {
		grant_wish(rules, wish, table);
		return;
	}
	if (!is_pending(rules, wish->object)) {
		if (wish->event.file)
			table_store_ask_again(rules->store, wish->event.file);
		return;
	}
	bool has_runtime = of_runtime && *of_runtime != TABLE_ABSENT;
	if (has_runtime)
		grant_wish(rules, wish, (uint32_t)*of_runtime);
	if (!has_runtime || !is_wished(rules, wish))
		vec_push(&rules->wishes, *wish);
}

void rule_source_provide(
	struct rule_source *rules, const struct event_file *event, struct object *object)
{
	struct rule_wish wish = {.event = *event, .object = object};
	make_wish(rules, &wish, table_of(rules, object, NULL));
}

void rule_source_expect(struct rule_source *rules, struct event_file *event, struct object *object)
{
	struct rule_wish wish = {.object = object};
	uint32_t table = table_of(rules, object, &event->file);
	wish.event = *event;
	make_wish(rules, &wish, table);
}

void rule_source_meet_code_of_no_file(struct rule_source *rules)
{
	if (!rules->has_met_code_of_no_file)
		table_builder_want(rules->builder, runtimes_of_code_of_no_file());
	rules->has_met_code_of_no_file = true;
}

void rule_source_ask_again(struct rule_source *rules, uint32_t file)
{
	table_store_ask_again(rules->store, file);
}

/* Wishes that the store's making room took back stay wishes: the BPF side asks again. */
static void grant_wishes(struct rule_source *rules, const struct object *object, uint32_t table)
{
	size_t left = 0;
	vec_each(&rules->wishes, wish) {
		if (wish->object == object)
			grant_wish(rules, wish, table);
		else
			rules->wishes.data[left++] = *wish;
	}
	rules->wishes.len = left;
}

/* Wishes for the table stay. */
static void tell_runtime(struct rule_source *rules, const struct object *object, uint32_t table)
{
	*map_put(&rules->runtimes, object->serial, NULL) = table;
	vec_each(&rules->wishes, wish)
		if (wish->object == object && table != TABLE_ABSENT)
			grant_wish(rules, wish, table);
}

/* Frames of what a runtime's compiler made need its row, and no table. */
static uint32_t add_failed(struct rule_source *rules, const struct object *object)
{
	const uint64_t *early = map_get(&rules->runtimes, object->serial);
	bool has_runtime = early && *early != TABLE_ABSENT;
	return has_runtime ? table_store_add_failed(rules->store, (uint32_t)*early) : TABLE_ABSENT;
}

void rule_source_collect(struct rule_source *rules)
{
	live_rows_collect(&rules->rows);
	struct table_result result;
	while (table_builder_take(rules->builder, &result)) {
		struct object *object = object_table_get(rules->objects, (uint32_t)result.id);
		if (result.origin == TABLE_PENDING) {
			const struct runtime_row *row = &result.table.runtime;
			if (object && is_pending(rules, object)) /* it may have its table */
				tell_runtime(rules, object,
					row->kind == RUNTIME_NONE
						? TABLE_ABSENT
						: table_store_add_pending(rules->store, row));
			continue;
		}
		bool is_failed = result.origin == TABLE_FAILED;
		uint32_t table = is_failed ? add_failed(rules, object)
					   : table_store_add(rules->store, &result.table);
		unwind_table_deinit(&result.table);
		set_table(rules, object, table | (is_failed ? failed : 0));
		frame_search_forget(&rules->search, object->serial);
		grant_wishes(rules, object, table);
		rules->statistics.cached += result.origin == TABLE_FROM_CACHE;
		rules->statistics.built += result.origin == TABLE_BUILT;
		rules->statistics.failed += is_failed;
	}
}

bool rule_source_is_making(const struct rule_source *rules)
{
	return rules->wishes.len || live_rows_are_reading(&rules->rows);
}

void rule_source_wait(const struct rule_source *rules)
{
	struct pollfd fds[] = {
		{.fd = table_builder_fd(rules->builder), .events = POLLIN},
		{.fd = live_rows_fd(&rules->rows), .events = POLLIN},
	};
	poll(fds, sizeof(fds) / sizeof(*fds), WAIT_MS);
}

int rule_source_fd(const struct rule_source *rules)
{
	return table_builder_fd(rules->builder);
}

/* ---- rules ---- */

/* Whether it is known that none of the file's functions runs a script. What sees to runtimes may
 * not have come to the file for seconds, on a busy machine. */
static bool has_no_loop(struct rule_source *rules, struct object *object)
{
	const uint64_t *early = map_get(&rules->runtimes, object->serial);
	enum runtime_kind kind = RUNTIME_NONE;
	if (!early)
		return frame_search_is_without_loop(&rules->search, object);
	table_store_has_runtime(rules->store, (uint32_t)*early, &kind);
	return !runtime_has_loop(kind);
}

enum event_stack_end rule_source_find(struct rule_source *rules, struct object *object,
	uint64_t offset, const struct unwind_rule **rule)
{
	if (object->info.kind != LAYOUT_OBJECT_FILE && object->info.kind != LAYOUT_OBJECT_VDSO)
		return EVENT_END_JIT;
	uint32_t table = table_of(rules, object, NULL);
	if (table == TABLE_NOT_STORED)
		return EVENT_END_TABLE_PENDING;
	bool is_failed = has_failed(rules, object);
	if (table == TABLE_ABSENT || is_failed) {
		bool is_searched = is_failed && has_no_loop(rules, object);
		const struct unwind_rule *found =
			is_searched ? frame_search_find(&rules->search, object, offset) : NULL;
		*rule = found ? found : *rule;
		return found ? EVENT_END_COMPLETE : EVENT_END_NO_TABLE;
	}
	*rule = table_store_find(rules->store, table, offset);
	bool is_none = (*rule)->cfa == UNWIND_CFA_NONE && (*rule)->ra != UNWIND_UNDEFINED;
	return is_none ? EVENT_END_NO_RULE : EVENT_END_COMPLETE;
}

enum event_stack_end rule_source_find_ahead(struct rule_source *rules, struct object *object,
	uint64_t offset, const struct unwind_rule **rule)
{
	if (!is_pending(rules, object) || !has_no_loop(rules, object))
		return EVENT_END_TABLE_PENDING;
	*rule = frame_search_find(&rules->search, object, offset);
	return *rule ? EVENT_END_COMPLETE : EVENT_END_TABLE_PENDING;
}

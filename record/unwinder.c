#include "record/unwinder.h"

#include "bpf/unwind_step.h"
#include "format/base/mem.h"
#include "record/process.h"

enum {
	VDSO_FILE = 0, /* its number, see bpf/event.h */
};

/* ---- making tables ---- */

/* In a few microseconds, so at once. */
static struct err *provide_vdso(struct unwinder *unwinder)
{
	size_t bytes;
	const void *image = process_vdso_image(&bytes);
	struct object *vdso = process_vdso(unwinder->objects);
	struct elf_file *elf;
	if (!image)
		return NULL;
	try(elf_file_open_memory(image, bytes, &elf));
	struct unwind_table table;
	struct err *err = unwind_table_build(elf, &table);
	elf_file_destroy(elf);
	if (err)
		return err;
	vdso->table = table_store_add(unwinder->store, &table);
	unwind_table_deinit(&table);
	table_store_bind(unwinder->store, VDSO_FILE, vdso->table);
	return NULL;
}

struct err *unwinder_init(struct unwinder *unwinder, const struct table_store_maps *maps,
	uint64_t max_bytes, const char *cache_folder, struct object_table *objects)
{
	*unwinder = (struct unwinder){.objects = objects};
	try(table_store_create(maps, max_bytes, &unwinder->store));
	struct table_cache *cache = NULL;
	err_destroy(table_cache_open(cache_folder, &cache)); /* then without */
	try(table_builder_create(cache, &unwinder->builder));
	return provide_vdso(unwinder);
}

void unwinder_deinit(struct unwinder *unwinder)
{
	table_builder_destroy(unwinder->builder);
	table_store_destroy(unwinder->store);
	vec_deinit(&unwinder->wishes);
}

/* A table, TABLE_ABSENT, or TABLE_NOT_STORED: it is being made. */
static uint32_t table_of(struct unwinder *unwinder, struct object *object)
{
	if (table_store_has(unwinder->store, object->table))
		return object->table;
	object->table = TABLE_NOT_STORED; /* or it was dropped */
	if (object->is_table_pending)
		return TABLE_NOT_STORED;
	int fd;
	struct elf_file *elf;
	if (object->info.kind != LAYOUT_OBJECT_FILE ||
		!object_open(object, &object->where, &fd, &elf)) {
		object->table = TABLE_ABSENT;
		unwinder->statistics.failed++;
		return TABLE_ABSENT;
	}
	object->is_table_pending = true;
	table_builder_submit(unwinder->builder, object->serial, fd, elf);
	return TABLE_NOT_STORED;
}

void unwinder_provide(struct unwinder *unwinder, uint32_t file, struct object *object)
{
	uint32_t table = table_of(unwinder, object);
	struct unwinder_wish wish = {.file = file, .object = object};
	if (table == TABLE_NOT_STORED)
		vec_push(&unwinder->wishes, wish);
	else
		table_store_bind(unwinder->store, file, table);
}

/* Wishes that the store's making room took back stay wishes: the BPF side asks again. */
static void grant_wishes(struct unwinder *unwinder, const struct object *object)
{
	size_t left = 0;
	vec_each(&unwinder->wishes, wish) {
		if (wish->object == object)
			table_store_bind(unwinder->store, wish->file, object->table);
		else
			unwinder->wishes.data[left++] = *wish;
	}
	unwinder->wishes.len = left;
}

void unwinder_collect(struct unwinder *unwinder)
{
	struct table_result result;
	while (table_builder_take(unwinder->builder, &result)) {
		struct object *object = unwinder->objects->objects.data[result.id];
		object->is_table_pending = false;
		object->table = table_store_add(unwinder->store, &result.table);
		unwind_table_deinit(&result.table);
		grant_wishes(unwinder, object);
		unwinder->statistics.cached += result.origin == TABLE_FROM_CACHE;
		unwinder->statistics.built += result.origin == TABLE_BUILT;
		unwinder->statistics.failed += result.origin == TABLE_FAILED;
	}
}

bool unwinder_wait(struct unwinder *unwinder)
{
	bool is_pending = table_builder_wait(unwinder->builder);
	unwinder_collect(unwinder);
	return is_pending;
}

int unwinder_fd(const struct unwinder *unwinder)
{
	return table_builder_fd(unwinder->builder);
}

/* ---- rules ---- */

static enum event_stack_end find_rule(struct unwinder *unwinder, struct object *object,
	uint64_t offset, const struct unwind_rule **rule)
{
	if (object->info.kind != LAYOUT_OBJECT_FILE && object->info.kind != LAYOUT_OBJECT_VDSO)
		return EVENT_END_JIT;
	uint32_t table = table_of(unwinder, object);
	if (table == TABLE_NOT_STORED)
		return EVENT_END_TABLE_PENDING;
	if (table == TABLE_ABSENT)
		return EVENT_END_NO_TABLE;
	*rule = table_store_find(unwinder->store, table, offset);
	bool is_none = (*rule)->cfa == UNWIND_CFA_NONE && (*rule)->ra != UNWIND_UNDEFINED;
	return is_none ? EVENT_END_NO_RULE : EVENT_END_COMPLETE;
}

enum event_stack_end unwinder_choose_rule(struct unwinder *unwinder, struct object *object,
	uint64_t offset, const struct unwind_registers *regs, const struct unwind_rule **rule,
	bool *is_guess)
{
	enum event_stack_end end = find_rule(unwinder, object, offset, rule);
	*is_guess = end && end != EVENT_END_TABLE_PENDING && unwind_may_guess(regs);
	if (!*is_guess)
		return end;
	*rule = table_store_frame_pointer_rule(unwinder->store);
	return EVENT_END_COMPLETE;
}

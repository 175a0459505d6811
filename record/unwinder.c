#include "record/unwinder.h"

#include <time.h>

#include "bpf/unwind_step.h"
#include "format/base/mem.h"
#include "record/process.h"

enum {
	VDSO_FILE = 0, /* its number, see bpf/event.h */
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Consumes nothing. The table's number in the store. */
static uint32_t build(struct unwinder *unwinder, struct elf_file *elf)
{
	struct unwind_table table;
	uint64_t begun_ns = now_ns();
	struct err *err = unwind_table_build(elf, &table);
	if (err) {
		err_destroy(err);
		return TABLE_ABSENT;
	}
	uint32_t number = table_store_add(unwinder->store, &table);
	unwind_table_deinit(&table);
	unwinder->statistics.built++;
	unwinder->statistics.build_ns += now_ns() - begun_ns;
	return number;
}

static uint32_t make_table(struct unwinder *unwinder, const struct object *object)
{
	if (object->info.kind != LAYOUT_OBJECT_FILE)
		return TABLE_ABSENT;
	CLEANUP_FD int fd = -1;
	struct elf_file *elf;
	if (!object_open(object, &object->where, &fd, &elf))
		return TABLE_ABSENT;
	uint32_t number = build(unwinder, elf);
	elf_file_destroy(elf);
	return number;
}

/* Made on the first call, and again when it was dropped. */
static uint32_t table_of(struct unwinder *unwinder, struct object *object)
{
	if (!table_store_has(unwinder->store, object->table)) {
		object->table = make_table(unwinder, object);
		unwinder->statistics.absent += object->table == TABLE_ABSENT;
	}
	return object->table;
}

static struct err *provide_vdso(struct unwinder *unwinder, struct object *vdso)
{
	size_t bytes;
	const void *image = process_vdso_image(&bytes);
	struct elf_file *elf;
	if (!vdso || !image)
		return NULL;
	try(elf_file_open_memory(image, bytes, &elf));
	vdso->table = build(unwinder, elf);
	elf_file_destroy(elf);
	table_store_bind(unwinder->store, VDSO_FILE, vdso->table);
	return NULL;
}

struct err *unwinder_init(struct unwinder *unwinder, const struct table_store_maps *maps,
	uint64_t max_bytes, struct object *vdso)
{
	*unwinder = (struct unwinder){0};
	try(table_store_create(maps, max_bytes, &unwinder->store));
	return provide_vdso(unwinder, vdso);
}

void unwinder_deinit(struct unwinder *unwinder)
{
	table_store_destroy(unwinder->store);
}

void unwinder_provide(struct unwinder *unwinder, uint32_t file, struct object *object)
{
	table_store_bind(unwinder->store, file, table_of(unwinder, object));
}

enum event_stack_end unwinder_rule(struct unwinder *unwinder, struct object *object,
	uint64_t offset, const struct unwind_rule **rule)
{
	if (object->info.kind != LAYOUT_OBJECT_FILE && object->info.kind != LAYOUT_OBJECT_VDSO)
		return EVENT_END_JIT;
	uint32_t table = table_of(unwinder, object);
	if (table == TABLE_ABSENT)
		return EVENT_END_NO_TABLE;
	*rule = table_store_find(unwinder->store, table, offset);
	bool is_none = (*rule)->cfa == UNWIND_CFA_NONE && (*rule)->ra != UNWIND_UNDEFINED;
	return is_none ? EVENT_END_NO_RULE : EVENT_END_COMPLETE;
}

enum event_stack_end unwinder_choose_rule(struct unwinder *unwinder, struct object *object,
	uint64_t offset, const struct unwind_registers *regs, const struct unwind_rule **rule,
	bool *guess)
{
	enum event_stack_end end = unwinder_rule(unwinder, object, offset, rule);
	*guess = end && unwind_may_guess(regs);
	if (!*guess)
		return end;
	*rule = table_store_frame_pointer_rule(unwinder->store);
	return EVENT_END_COMPLETE;
}

#include "record/unwind/snapshot.h"

#include <string.h>

#include "format/base/mem.h"

enum {
	LARGEST_STACK_BYTES = (EVENT_MAX_SNAPSHOT_CHUNKS + 1) * EVENT_SNAPSHOT_CHUNK_BYTES,
};

static struct snapshot *slot_snapshot(uint64_t value)
{
	return (struct snapshot *)(uintptr_t)value;
}

static void snapshot_destroy(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	vec_deinit(&snapshot->frames);
	vec_deinit(&snapshot->stack);
	vec_deinit(&snapshot->holes);
	mem_free(snapshot);
}

void snapshot_table_deinit(struct snapshot_table *table)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&table->by_hash, &cursor));)
		snapshot_destroy(slot_snapshot(slot->value));
	map_deinit(&table->by_hash);
}

struct snapshot *snapshot_table_find(const struct snapshot_table *table, uint64_t hash)
{
	const uint64_t *slot = map_get(&table->by_hash, hash);
	return slot ? slot_snapshot(*slot) : NULL;
}

void snapshot_table_begin(
	struct snapshot_table *table, const struct event_stack *head, const uint64_t *frames)
{
	struct snapshot *snapshot = mem_zalloc(sizeof(*snapshot));
	snapshot->head = *head;
	vec_append(&snapshot->frames, frames, head->nr_frames);
	uint64_t *slot = map_put(&table->by_hash, head->hash, NULL);
	snapshot_destroy(slot_snapshot(*slot));
	*slot = (uintptr_t)snapshot;
}

void snapshot_table_registers(struct snapshot_table *table, const struct event_snapshot *event)
{
	struct snapshot *snapshot = snapshot_table_find(table, event->hash);
	if (!snapshot)
		return;
	snapshot->has_registers = true;
	snapshot->is_exact = event->is_exact;
	snapshot->is_shown = event->is_shown;
	snapshot->is_uncopied = event->is_uncopied;
	snapshot->found = event->found & (UNWIND_FOUND_KINDS - 1);
	snapshot->registers = event->registers;
	snapshot->code_space = event->code_space;
	memcpy(snapshot->code, event->code, sizeof(snapshot->code));
}

void snapshot_table_piece(struct snapshot_table *table, const struct stack_piece *piece)
{
	struct snapshot *snapshot = snapshot_table_find(table, piece->hash);
	if (!snapshot || !snapshot->has_registers)
		return;
	/* The first begins at the stack pointer or in the red zone below. */
	uint64_t below = snapshot->registers.reg[UNWIND_SP] - piece->address;
	if (!snapshot->stack.len && below < EVENT_SNAPSHOT_CHUNK_BYTES)
		snapshot->stack_address = piece->address;
	uint64_t at = piece->address - snapshot->stack_address, len = snapshot->stack.len;
	if ((!len && at) || at < len || at > LARGEST_STACK_BYTES)
		return;
	if (at > len) {
		vec_push(&snapshot->holes, (struct snapshot_hole){len, at});
		vec_resize(&snapshot->stack, at);
	}
	vec_append(&snapshot->stack, piece->bytes, piece->nr_bytes);
}

size_t snapshot_whole_bytes(const struct snapshot *snapshot)
{
	return snapshot->holes.len ? snapshot->holes.data[0].start : snapshot->stack.len;
}

void snapshot_table_drop(struct snapshot_table *table, uint64_t hash)
{
	snapshot_destroy(snapshot_table_find(table, hash));
	map_remove(&table->by_hash, hash);
}

void snapshot_table_purge(struct snapshot_table *table, uint64_t before_ns)
{
	VEC(uint64_t) old = {0};
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&table->by_hash, &cursor));)
		if (slot_snapshot(slot->value)->head.time_ns < before_ns)
			vec_push(&old, slot->key);
	vec_each(&old, hash)
		snapshot_table_drop(table, *hash);
	vec_deinit(&old);
}

long snapshot_read(void *context, unsigned long long address, unsigned long long *value)
{
	const struct snapshot *snapshot = context;
	uint64_t at = address - snapshot->stack_address;
	if (at >= snapshot->stack.len || snapshot->stack.len - at < sizeof(*value))
		return -1;
	vec_each(&snapshot->holes, hole)
		if (at < hole->end && at + sizeof(*value) > hole->start)
			return -1;
	memcpy(value, snapshot->stack.data + at, sizeof(*value));
	return 0;
}

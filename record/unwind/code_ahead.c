#include "record/unwind/code_ahead.h"

#include <string.h>

#include "bpf/event.h"
#include "format/base/mem.h"
#include "record/task/object.h"

enum {
	MAX_EVENTS = 256,        /* at once */
	MAX_MAPPINGS = 4096,     /* of a process; those of one with more are not looked through */
	MAX_PAGES_OF_STACK = 32, /* JavaScript of a page: 10 to 20 */
	WORD_BYTES = sizeof(uint64_t),
};

void code_ahead_deinit(struct code_ahead *ahead)
{
	vec_deinit(&ahead->events);
	vec_deinit(&ahead->memory);
	map_deinit(&ahead->by_pid);
}

void code_ahead_begin(struct code_ahead *ahead, const struct sideband_batch *batch, size_t first)
{
	ahead->events.len = ahead->memory.len = 0;
	map_clear(&ahead->by_pid);
	for (size_t i = first; i < batch->events.len && ahead->events.len < MAX_EVENTS; i++) {
		const struct sideband_event *event = &batch->events.data[i];
		if (event->kind != SIDEBAND_MAP || sideband_maps_file(event))
			continue;
		struct code_ahead_range range = {event->start, event->start + event->length};
		vec_push(&ahead->events, (struct code_ahead_new){event->pid, range});
	}
}

/* ---- whose code lies where ---- */

static void code_ahead_add_range(struct code_ahead_memory *memory, struct code_ahead_range range)
{
	if (memory->nr_ranges < CODE_AHEAD_RANGES)
		memory->ranges[memory->nr_ranges++] = range;
}

static void find_generated_ranges(const struct code_ahead *ahead,
	const struct process_table *processes, uint32_t pid, struct code_ahead_memory *ret)
{
	const struct process *process = process_table_find(processes, pid);
	struct mapping_cursor cursor = {0};
	vec_each(&ahead->events, event)
		if (event->pid == pid)
			code_ahead_add_range(ret, event->range);
	if (!process || mapping_table_count(&process->mappings) > MAX_MAPPINGS)
		return;
	for (const struct mapping *mapping;
		(mapping = mapping_table_next(&process->mappings, &cursor));)
		if (mapping->object->info.kind == LAYOUT_OBJECT_ANONYMOUS)
			code_ahead_add_range(
				ret, (struct code_ahead_range){mapping->start, mapping->end});
}

static const struct code_ahead_memory *memory_of(
	struct code_ahead *ahead, const struct process_table *processes, uint32_t pid)
{
	bool is_new;
	uint64_t *number = map_put(&ahead->by_pid, pid, &is_new);
	if (is_new) {
		struct code_ahead_memory memory = {0};
		find_generated_ranges(ahead, processes, pid, &memory);
		vec_push(&ahead->memory, memory);
		*number = ahead->memory.len;
	}
	return &ahead->memory.data[*number - 1];
}

/* ---- what a snapshot leads to ---- */

static struct code_ahead_stack *code_ahead_stack_of(struct code_ahead *ahead, uint64_t hash)
{
	for (size_t i = 0; i < CODE_AHEAD_STACKS; i++)
		if (ahead->stacks[i].hash == hash && ahead->stacks[i].pages_left)
			return &ahead->stacks[i];
	return NULL;
}

static void look_at_address(const struct code_ahead *ahead, struct code_ahead_stack *stack,
	const struct code_ahead_memory *memory, struct code_pages *pages, uint64_t address,
	bool is_exact)
{
	for (uint32_t i = 0; i < memory->nr_ranges && stack->pages_left; i++) {
		const struct code_ahead_range *range = &memory->ranges[i];
		if (address - range->start < range->end - range->start) {
			stack->pages_left -= code_pages_expect(pages, stack->pid, range->start,
				range->end, address, stack->time_ns);
			if (ahead->fn)
				ahead->fn(ahead->context, stack->pid, address, is_exact,
					stack->time_ns);
			return;
		}
	}
}

static void look_at_piece(const struct code_ahead *ahead, struct code_ahead_stack *stack,
	const struct code_ahead_memory *memory, struct code_pages *pages,
	const struct stack_piece *piece)
{
	size_t at = -piece->address % WORD_BYTES;
	if (!memory->nr_ranges)
		return;
	for (; at + WORD_BYTES <= piece->nr_bytes && stack->pages_left; at += WORD_BYTES) {
		uint64_t word;
		memcpy(&word, piece->bytes + at, sizeof(word));
		look_at_address(ahead, stack, memory, pages, word, false);
	}
}

void code_ahead_take(struct code_ahead *ahead, const struct process_table *processes,
	struct code_pages *pages, const void *record, size_t len)
{
	const struct event_stack *head = record;
	const struct event_snapshot *snapshot = record;
	const struct stack_piece *piece = record;
	struct code_ahead_stack *stack;
	if (head->type == EVENT_STACK && len >= sizeof(*head) && head->has_snapshot) {
		ahead->stacks[ahead->nr_stacks++ % CODE_AHEAD_STACKS] = (struct code_ahead_stack){
			head->hash, head->time_ns, head->pid, MAX_PAGES_OF_STACK};
	} else if (snapshot->type == EVENT_SNAPSHOT && len >= sizeof(*snapshot)) {
		stack = code_ahead_stack_of(ahead, snapshot->hash);
		if (stack)
			look_at_address(ahead, stack, memory_of(ahead, processes, stack->pid),
				pages, snapshot->registers.ip, snapshot->is_exact);
	} else if (piece->type == EVENT_SNAPSHOT_CHUNK && len >= sizeof(*piece)) {
		stack = code_ahead_stack_of(ahead, piece->hash);
		if (stack)
			look_at_piece(ahead, stack, memory_of(ahead, processes, stack->pid), pages,
				piece);
	}
}

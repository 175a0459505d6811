#include "record/translate.h"

#include <string.h>

#include "record/proc.h"

enum {
	MAX_STACK_HASHES = 256 * 1024,
	DEAD_PROCESS_KEPT_NS = 2000 * 1000 * 1000,
};

void translate_init(struct translate *translate, bool is_system_wide)
{
	*translate = (struct translate){.is_system_wide = is_system_wide};
	translate->processes.objects = &translate->objects;
	stack_table_init(&translate->stacks);
	emitter_init(&translate->emitter, &translate->kernel, &translate->stacks);
}

void translate_deinit(struct translate *translate)
{
	emitter_deinit(&translate->emitter);
	stack_table_deinit(&translate->stacks);
	kernel_deinit(&translate->kernel);
	process_table_deinit(&translate->processes);
	object_table_deinit(&translate->objects);
	map_deinit(&translate->stack_by_hash);
	sideband_batch_clear(&translate->sideband);
	vec_deinit(&translate->sideband.events);
	bytes_buf_deinit(&translate->records);
}

void translate_add_process(struct translate *translate, uint32_t pid, uint64_t now_ns)
{
	process_table_get(&translate->processes, pid, now_ns);
}

void translate_add_all(struct translate *translate, uint64_t now_ns)
{
	struct proc_pids pids = {0};
	proc_list_pids(&pids);
	vec_each(&pids, pid)
		translate_add_process(translate, *pid, now_ns);
	vec_deinit(&pids);
}

/* ---- sideband ---- */

static void apply_map(struct translate *translate, const struct sideband_event *event)
{
	struct process *process = process_table_find(&translate->processes, event->pid);
	if (!process) {
		if (!translate->is_system_wide)
			return;
		process = process_table_get(&translate->processes, event->pid, event->time_ns);
	}
	struct object_table *objects = &translate->objects;
	struct mapping mapping = {
		.start = event->start,
		.end = event->start + event->length,
		.offset = event->offset,
		.time_ns = event->time_ns,
	};
	struct object_location where = {event->pid, mapping.start, mapping.end};
	bool is_file = event->path[0] == '/' && event->path[1] != '/';
	if (strcmp(event->path, "[vdso]") == 0) {
		mapping.object = process_vdso(objects);
		mapping.offset = 0;
		process->has_vdso = true;
	} else if (!is_file) { /* "//anon", "[heap]"... */
		mapping.object = object_table_special(objects, LAYOUT_OBJECT_ANONYMOUS,
			event->path[0] == '[' ? event->path : "[anon]");
		mapping.offset = event->start; /* offsets are addresses */
	} else if (event->build_id_len) {
		mapping.object = object_table_by_build_id(
			objects, event->path, event->build_id, event->build_id_len);
	} else {
		mapping.object = object_table_by_inode(
			objects, event->path, event->device, event->inode, false, &where);
	}
	process_table_map(&translate->processes, process, &mapping);
	if (process->file_epoch == translate->emitter.epoch)
		emitter_mapping(&translate->emitter, process, &mapping);
}

static void apply_event(struct translate *translate, const struct sideband_event *event)
{
	struct process_table *processes = &translate->processes;
	struct process *process = process_table_find(processes, event->pid);
	switch (event->kind) {
	case SIDEBAND_FORK:
		if (translate->is_system_wide || process_table_find(processes, event->parent_pid))
			process_table_fork(
				processes, event->parent_pid, event->pid, event->time_ns);
		break;
	case SIDEBAND_EXEC:
		if (process)
			process_table_exec(processes, process);
		break;
	case SIDEBAND_EXIT:
		process_table_exit(processes, event->pid, event->time_ns);
		break;
	case SIDEBAND_MAP:
		apply_map(translate, event);
		break;
	}
}

static void apply_events_until(struct translate *translate, uint64_t time_ns)
{
	struct sideband_batch *batch = &translate->sideband;
	while (translate->sideband_applied < batch->events.len &&
		batch->events.data[translate->sideband_applied].time_ns <= time_ns)
		apply_event(translate, &batch->events.data[translate->sideband_applied++]);
}

/* Keeps what is not applied yet. Its strings stay in the arena, so that goes only when all is done.
 */
static void drop_applied_events(struct translate *translate)
{
	struct sideband_batch *batch = &translate->sideband;
	size_t left = batch->events.len - translate->sideband_applied;
	if (!left) {
		sideband_batch_clear(batch);
	} else {
		memmove(batch->events.data, batch->events.data + translate->sideband_applied,
			left * sizeof(*batch->events.data));
		batch->events.len = left;
	}
	translate->sideband_applied = 0;
}

/* ---- stacks ---- */

static enum layout_truncation truncation_of(enum event_stack_end end)
{
	switch (end) {
	case EVENT_END_COMPLETE:
		return LAYOUT_COMPLETE;
	case EVENT_END_BROKEN_FRAME_POINTER:
		return LAYOUT_TRUNCATED_FRAME_POINTER;
	case EVENT_END_UNREADABLE:
		return LAYOUT_TRUNCATED_UNREADABLE;
	case EVENT_END_DEPTH:
		return LAYOUT_TRUNCATED_DEPTH;
	case EVENT_END_NO_REGISTERS:
		return LAYOUT_TRUNCATED_NO_REGISTERS;
	}
	return LAYOUT_TRUNCATED_UNKNOWN;
}

/* A return address stands behind its call, perhaps in another function already: look inside. */
static uint64_t lookup_address(const unsigned long long *addresses, uint32_t index)
{
	return index ? addresses[index] - 1 : addresses[index];
}

static uint32_t kernel_stack(struct translate *translate, const struct event_stack *stack)
{
	const unsigned long long *addresses = (const void *)(stack + 1);
	struct stack_table *stacks = &translate->stacks;
	uint32_t node = 0;
	kernel_load(&translate->kernel, &translate->objects);
	for (uint32_t i = stack->nr_frames; i-- > 0;) {
		uint64_t offset;
		struct object *object =
			kernel_resolve(&translate->kernel, lookup_address(addresses, i), &offset);
		node = stack_table_node(stacks, node, stack_table_frame(stacks, object, offset));
	}
	return node;
}

/*
 * Frames are resolved from the leaf outwards: a "caller" in memory that holds
 * no code shows that the chain had left the stack by then, so what lies beyond
 * is dropped. The leaf itself may be anywhere.
 */
static uint32_t user_stack(struct translate *translate, const struct event_stack *stack,
	enum layout_truncation *truncation)
{
	const unsigned long long *addresses = (const void *)(stack + 1);
	struct stack_table *stacks = &translate->stacks;
	struct process *process =
		process_table_get(&translate->processes, stack->pid, stack->time_ns);
	uint32_t frames[EVENT_MAX_USER_FRAMES], count = 0;
	*truncation = truncation_of(stack->end);
	for (; count < stack->nr_frames && count < EVENT_MAX_USER_FRAMES; count++) {
		uint64_t address = lookup_address(addresses, count);
		const struct mapping *mapping = process_find_mapping(
			&translate->processes, process, address, stack->time_ns, count == 0);
		if (!mapping && count) {
			*truncation = LAYOUT_TRUNCATED_FRAME_POINTER;
			break;
		}
		struct object *object = mapping ? mapping->object
						: object_table_special(&translate->objects,
							  LAYOUT_OBJECT_UNKNOWN, "[unknown]");
		uint64_t offset = mapping ? address - mapping->start + mapping->offset : address;
		frames[count] = stack_table_frame(stacks, object, offset);
	}
	uint32_t node = 0;
	if (*truncation)
		node = stack_table_node(stacks, 0, stack_table_frame(stacks, NULL, *truncation));
	while (count)
		node = stack_table_node(stacks, node, frames[--count]);
	return node;
}

/* What stack_by_hash holds; see there. */
static uint64_t pack_stack(
	uint32_t node, enum layout_truncation truncation, const struct process *process)
{
	enum {
		REPLACEMENTS_MASK = 0xffffff
	};
	uint64_t replacements = process ? process->replacements & REPLACEMENTS_MASK : 0;
	return node | (uint64_t)truncation << 32 | replacements << 40;
}

static uint32_t packed_node(uint64_t packed)
{
	return (uint32_t)packed;
}

static enum layout_truncation packed_truncation(uint64_t packed)
{
	return (enum layout_truncation)(packed >> 32 & 0xff);
}

static void take_stack(struct translate *translate, const struct event_stack *stack)
{
	enum layout_truncation truncation = LAYOUT_COMPLETE;
	const struct process *process = NULL;
	uint32_t node;
	if (stack->kind == EVENT_STACK_KERNEL) {
		node = kernel_stack(translate, stack);
	} else {
		node = user_stack(translate, stack, &truncation);
		process = process_table_find(&translate->processes, stack->pid);
	}
	*map_put(&translate->stack_by_hash, stack->hash, NULL) =
		pack_stack(node, truncation, process);
}

/* ---- samples ---- */

/* /proc rounds start times down to a clock tick; samples have nanoseconds. */
static bool is_same_start(uint64_t known_ns, uint64_t sampled_ns)
{
	enum {
		TICK_NS = 10 * 1000 * 1000
	};
	return known_ns / TICK_NS == sampled_ns / TICK_NS;
}

static struct process *process_of(struct translate *translate, const struct event_sample *sample)
{
	struct process *process =
		process_table_get(&translate->processes, sample->pid, sample->time_ns);
	if (process->start_ns && !is_same_start(process->start_ns, sample->start_ns))
		process_table_reused(&translate->processes, process, sample->time_ns);
	process->start_ns = sample->start_ns;
	return process;
}

static void count_stack(struct translate_stats *stats, const struct event_sample *sample,
	enum layout_truncation truncation)
{
	if (!sample->user_hash)
		stats->kernel_only++;
	else if (truncation)
		stats->truncated[truncation]++;
	else
		stats->complete++;
}

/* NULL: the stack never arrived, or its process has mapped other code there since. */
static const uint64_t *find_stack(
	const struct translate *translate, uint64_t hash, const struct process *process)
{
	static const uint64_t none = 0;
	if (!hash)
		return &none;
	const uint64_t *packed = map_get(&translate->stack_by_hash, hash);
	if (!packed)
		return NULL;
	uint64_t now = pack_stack(packed_node(*packed), packed_truncation(*packed), process);
	return *packed == now ? packed : NULL;
}

static void take_sample(struct translate *translate, const struct event_sample *sample)
{
	struct process *process = process_of(translate, sample);
	const uint64_t *user = find_stack(translate, sample->user_hash, process);
	const uint64_t *kernel = find_stack(translate, sample->kernel_hash, NULL);
	translate->stats.received++;
	if (!user || !kernel) {
		translate->stats.unresolved++;
		return;
	}
	uint32_t user_node = packed_node(*user), kernel_node = packed_node(*kernel);
	count_stack(&translate->stats, sample, packed_truncation(*user));
	struct emitter *emitter = &translate->emitter;
	struct layout_sample out = {
		.time_ns = sample->time_ns,
		.event = translate->event_id,
		.thread = emitter_thread(emitter, process, sample->tid, sample->comm),
		.cpu = sample->cpu,
		.weight = 1,
	};
	out.user_stack = emitter_node(emitter, user_node);
	out.kernel_stack = emitter_node(emitter, kernel_node);
	writer_sample(emitter->writer, &out);
}

void translate_collect(void *context, const void *record, size_t len)
{
	struct translate *translate = context;
	/* Aligned, so that records can be read in place. */
	size_t padded = (len + 7) & ~(size_t)7;
	bytes_put_u64(&translate->records, padded);
	bytes_put(&translate->records, record, len);
	vec_resize(&translate->records, translate->records.len + padded - len);
}

static void take_record(struct translate *translate, const uint8_t *record)
{
	const struct event_stack *stack = (const void *)record;
	const struct event_sample *sample = (const void *)record;
	bool is_sample = stack->type == EVENT_SAMPLE;
	apply_events_until(translate, is_sample ? sample->time_ns : stack->time_ns);
	if (is_sample)
		take_sample(translate, sample);
	else if (stack->type == EVENT_STACK)
		take_stack(translate, stack);
}

bool translate_run(struct translate *translate, uint64_t until_ns)
{
	uint64_t replacements = translate->processes.replacements;
	struct bytes_buf *records = &translate->records;
	for (size_t at = 0; at < records->len;) {
		uint64_t len;
		memcpy(&len, records->data + at, sizeof(len));
		take_record(translate, records->data + at + sizeof(len));
		at += sizeof(len) + len;
	}
	records->len = 0;
	apply_events_until(translate, until_ns);
	drop_applied_events(translate);
	if (until_ns - translate->purged_ns > DEAD_PROCESS_KEPT_NS) {
		process_table_purge(&translate->processes, translate->purged_ns);
		translate->purged_ns = until_ns;
	}
	bool is_full = stack_table_is_full(&translate->stacks) ||
		       translate->stack_by_hash.len > MAX_STACK_HASHES;
	if (is_full) {
		stack_table_clear(&translate->stacks, &translate->objects);
		map_deinit(&translate->stack_by_hash);
	}
	return is_full || translate->processes.replacements != replacements;
}

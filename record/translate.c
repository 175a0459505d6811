#include "record/translate.h"

#include <poll.h>
#include <string.h>

#include "format/base/clock.h"
#include "record/event/point_weight.h"
#include "record/host/proc.h"
#include "record/source/event_tally.h"

enum {
	MAX_STACK_HASHES = 256 * 1024,
	DEAD_PROCESS_KEPT_NS = 2000 * 1000 * 1000,
	MAX_WAITING_BYTES = 16 << 20,  /* of what waits for unwind tables and code */
	MAX_READING_BYTES = 12 << 20,  /* ... while code is read for the first of it */
	READING_NS = 10 * 1000 * 1000, /* of a turn: the ring fills up meanwhile */
	WAIT_MS = 10,
	SHORT_WAIT_MS = 2,
};

static void expect_compiled(
	void *context, uint32_t pid, uint64_t address, bool is_exact, uint64_t time_ns)
{
	compiled_frames_expect(context, pid, address - !is_exact, is_exact, time_ns);
}

void translate_init(struct translate *translate, bool is_system_wide)
{
	*translate = (struct translate){.is_system_wide = is_system_wide};
	translate->processes.objects = &translate->objects;
	translate->resolver.processes = &translate->processes;
	translate->resolver.stacks = &translate->stacks;
	translate->resolver.jit = &translate->jit;
	translate->jit.objects = &translate->objects;
	registered_code_init(&translate->registered);
	translate->resolver.registered = translate->jit.registered = &translate->registered;
	stack_table_init(&translate->stacks);
	script_table_init(&translate->scripts, &translate->objects);
	compiled_frames_init(&translate->compiled, &translate->scripts);
	thread_names_init(&translate->thread_names);
	translate->resolver.scripts = &translate->scripts;
	translate->resolver.compiled = &translate->compiled;
	translate->ahead.fn = expect_compiled;
	translate->ahead.context = &translate->compiled;
	emitter_init(&translate->emitter, &translate->kernel, &translate->jit, &translate->stacks);
	translate->emitter.scripts = &translate->scripts;
	translate->emitter.thread_names = &translate->thread_names;
	translate->labels.processes = &translate->processes;
	translate->emitter.labels = &translate->labels;
	process_labels_init(&translate->process_labels);
	translate->labels.contexts = &translate->process_labels.contexts;
}

void translate_deinit(struct translate *translate)
{
	emitter_deinit(&translate->emitter);
	resolver_deinit(&translate->resolver);
	jit_table_deinit(&translate->jit);
	registered_code_deinit(&translate->registered);
	compiled_frames_deinit(&translate->compiled);
	script_table_deinit(&translate->scripts);
	thread_names_deinit(&translate->thread_names);
	snapshot_table_deinit(&translate->snapshots);
	stack_table_deinit(&translate->stacks);
	label_table_deinit(&translate->labels);
	process_labels_deinit(&translate->process_labels);
	blame_table_deinit(&translate->blames);
	kernel_deinit(&translate->kernel);
	process_table_deinit(&translate->processes);
	object_table_deinit(&translate->objects);
	map_deinit(&translate->stack_by_hash);
	early_stacks_deinit(&translate->early);
	thread_times_deinit(&translate->thread_times);
	sleeper_counts_deinit(&translate->sleepers);
	block_devices_deinit(&translate->devices);
	kept_stacks_deinit(&translate->kept_stacks);
	library_watch_deinit(&translate->library);
	sideband_batch_clear(&translate->sideband);
	vec_deinit(&translate->sideband.events);
	bytes_buf_deinit(&translate->records);
	stack_pieces_deinit(&translate->pieces);
	code_ahead_deinit(&translate->ahead);
	for (size_t i = 0; i < EVENT_MAX_SOURCES; i++)
		vec_deinit(&translate->event_ids[i]);
}

void translate_start_readers(struct translate *translate)
{
	target_reader_start(&translate->scripts.reader);
	target_reader_start(&translate->registered.reader);
	target_reader_start(&translate->compiled.reader);
	target_reader_start(&translate->thread_names.reader);
}

void translate_add_process(struct translate *translate, uint32_t pid, uint64_t now_ns)
{
	struct process *process = process_table_get(&translate->processes, pid, now_ns);
	if (translate->resolver.rules)
		resolver_meet_process(&translate->resolver, process);
}

/* ---- sideband ---- */

static struct mapping event_mapping(struct translate *translate, const struct sideband_event *event)
{
	struct object_table *objects = &translate->objects;
	struct mapping mapping = {
		.start = event->start,
		.end = event->start + event->length,
		.offset = event->offset,
		.time_ns = event->time_ns,
	};
	struct object_location where = {event->pid, mapping.start, mapping.end};
	if (strcmp(event->path, "[vdso]") == 0) {
		mapping.object = process_vdso(objects);
		mapping.offset = 0;
	} else if (!sideband_maps_file(event)) {
		mapping.object = object_table_special(objects, LAYOUT_OBJECT_ANONYMOUS,
			event->path[0] == '[' ? event->path : LAYOUT_ANONYMOUS_PATH);
		mapping.offset = event->start; /* offsets are addresses */
	} else if (event->build_id_len) {
		mapping.object = object_table_by_build_id(
			objects, event->path, event->build_id, event->build_id_len);
	} else {
		mapping.object = object_table_by_inode(
			objects, event->path, event->device, event->inode, false, &where);
	}
	return mapping;
}

static void apply_map(struct translate *translate, const struct sideband_event *event)
{
	struct process *process = process_table_find(&translate->processes, event->pid);
	if (!process) {
		if (!translate->is_system_wide)
			return;
		process = process_table_get(&translate->processes, event->pid, event->time_ns);
	}
	struct mapping mapping = event_mapping(translate, event);
	process->has_vdso |= mapping.object->info.kind == LAYOUT_OBJECT_VDSO;
	if (!process_map(process, &mapping))
		return;
	process_contexts_expect(process, event->time_ns);
	if (sideband_maps_file(event))
		jit_table_note_dump(&translate->jit, process, &mapping);
	if (sideband_maps_file(event) && process->compiled)
		registered_code_note_file(&translate->registered, process->compiled);
	if (sideband_maps_file(event) && translate->on_file)
		translate->on_file(translate->on_file_context, mapping.object,
			&(struct object_location){event->pid, mapping.start, mapping.end});
	if (process->file_epoch == translate->emitter.epoch)
		emitter_mapping(&translate->emitter, process, &mapping);
}

static void apply_event(struct translate *translate, const struct sideband_event *event)
{
	struct process_table *processes = &translate->processes;
	struct process *process = process_table_find(processes, event->pid);
	bool is_image_over = event->kind == SIDEBAND_EXIT || event->kind == SIDEBAND_EXEC;
	if (process && is_image_over && translate->on_image_end)
		translate->on_image_end(
			translate->on_image_end_context, event->pid, event->time_ns);
	if (process && is_image_over) {
		emitter_compiled_symbols(&translate->emitter, process);
		process_contexts_forget(&translate->process_labels.contexts, process);
	}
	switch (event->kind) {
	case SIDEBAND_FORK:
		if (translate->is_system_wide || process_table_find(processes, event->parent_pid))
			process_table_fork(
				processes, event->parent_pid, event->pid, event->time_ns);
		break;
	case SIDEBAND_EXEC:
		library_watch_exec(&translate->library, event->pid);
		if (process)
			process_table_exec(processes, process, event->time_ns);
		break;
	case SIDEBAND_EXIT:
		library_watch_exit(&translate->library, event->pid);
		process_table_exit(processes, event->pid, event->time_ns);
		break;
	case SIDEBAND_MAP:
		if (sideband_maps_file(event))
			library_watch_map(&translate->library, event->pid, event->path);
		apply_map(translate, event);
		break;
	case SIDEBAND_STALE:
		if (process)
			process_note_loss(process);
		break;
	case SIDEBAND_LOSS:
		process_table_note_loss(processes, event->time_ns);
		gap_log_end(&translate->gaps, event->start, event->time_ns,
			translate_resolved(translate));
		break;
	case SIDEBAND_PROGRAM:
		kernel_load(&translate->kernel, &translate->objects, event->time_ns);
		kernel_add_program(&translate->kernel, event->start, event->length, event->path);
		break;
	}
}

/* Between two events no object is held but by what is asked here. */
static void sweep_objects(struct translate *translate)
{
	if (!object_table_is_sweep_due(&translate->objects))
		return;
	process_table_mark_objects(&translate->processes);
	resolver_mark_objects(&translate->resolver);
	stack_table_mark_objects(&translate->stacks);
	label_table_mark_objects(&translate->labels, &translate->objects);
	blame_table_mark_objects(&translate->blames, &translate->objects);
	object_ids_mark_objects(&translate->emitter.objects, &translate->objects);
	if (translate->resolver.rules)
		rule_source_mark_objects(translate->resolver.rules);
	object_table_sweep(&translate->objects);
	object_table_forget(&translate->objects, &translate->emitter.objects.by_serial);
	if (translate->resolver.rules)
		rule_source_forget_objects(translate->resolver.rules);
}

static void apply_events_until(struct translate *translate, uint64_t time_ns)
{
	struct sideband_batch *batch = &translate->sideband;
	while (translate->sideband_applied < batch->events.len &&
		batch->events.data[translate->sideband_applied].time_ns <= time_ns) {
		apply_event(translate, &batch->events.data[translate->sideband_applied++]);
		sweep_objects(translate);
	}
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
	kernel_load(&translate->kernel, &translate->objects, stack->time_ns);
	for (uint32_t i = stack->nr_frames; i-- > 0;) {
		uint64_t offset;
		struct object *object = kernel_resolve(
			&translate->kernel, lookup_address(addresses, i), stack->time_ns, &offset);
		node = stack_table_node(stacks, node, stack_table_frame(stacks, object, offset, 0));
	}
	return node;
}

/* What stack_by_hash holds; see there. */
static uint64_t pack_stack(struct resolved_stack stack)
{
	return stack.node | (uint64_t)stack.truncation << 32;
}

static struct resolved_stack unpack_stack(uint64_t packed)
{
	return (struct resolved_stack){
		.node = (uint32_t)packed, .truncation = (enum layout_truncation)(packed >> 32)};
}

static void take_stack(struct translate *translate, const struct event_stack *stack)
{
	const uint64_t *words = (const void *)(stack + 1);
	struct resolved_stack resolved = {0};
	if (stack->has_snapshot) {
		snapshot_table_begin(&translate->snapshots, stack, words);
		return;
	}
	if (stack->kind == EVENT_STACK_KERNEL)
		resolved.node = kernel_stack(translate, stack);
	else
		resolved = resolver_stack(&translate->resolver, stack, words);
	*map_put(&translate->stack_by_hash, stack->hash, NULL) = pack_stack(resolved);
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

static struct process *translate_process_of(
	struct translate *translate, const struct event_sample *sample)
{
	struct process *process =
		process_table_get(&translate->processes, sample->pid, sample->time_ns);
	if (process->start_ns && !is_same_start(process->start_ns, sample->start_ns)) {
		emitter_compiled_symbols(&translate->emitter, process);
		process_table_reused(&translate->processes, process, sample->time_ns);
	}
	process->start_ns = sample->start_ns;
	if (process_note_exec_id(process, sample->exec_id)) {
		emitter_compiled_symbols(&translate->emitter, process);
		process_table_reused(&translate->processes, process, sample->time_ns);
		process->start_ns = sample->start_ns;
		process_note_exec_id(process, sample->exec_id);
		translate->stats.lost_execs++;
	}
	return process;
}

enum found {
	FOUND,
	NOT_FOUND, /* the stack never arrived */
	NOT_YET,   /* it waits for an unwind table */
};

static enum found find_snapshot(
	struct translate *translate, uint64_t hash, bool may_wait, struct resolved_stack *ret)
{
	const struct snapshot *snapshot = snapshot_table_find(&translate->snapshots, hash);
	if (!snapshot)
		return NOT_FOUND;
	return resolver_snapshot(&translate->resolver, snapshot, may_wait, ret) ? FOUND : NOT_YET;
}

static enum found find_stack(
	struct translate *translate, uint64_t hash, bool may_wait, struct resolved_stack *ret)
{
	*ret = (struct resolved_stack){0};
	const uint64_t *packed = hash ? map_get(&translate->stack_by_hash, hash) : NULL;
	if (packed)
		*ret = unpack_stack(*packed);
	return packed || !hash ? FOUND : find_snapshot(translate, hash, may_wait, ret);
}

/* Where a truncated stack ends: in the object of its outermost known frame. */
static void blame_object(struct translate *translate, const struct resolved_stack *stack)
{
	const struct stack_table *stacks = &translate->stacks;
	struct object *object = NULL;
	for (uint32_t i = stack->node; i; i = stacks->nodes.data[i].parent) {
		const struct stack_frame *frame = &stacks->frames.data[stacks->nodes.data[i].frame];
		if (frame->object)
			object = frame->object;
	}
	if (object)
		blame_table_add(&translate->blames, object, stack->truncation);
}

/* What counts the samples with such a stack. */
static uint64_t *outcome_of_stack(struct translate *translate, const struct event_sample *sample,
	const struct resolved_stack *user)
{
	struct translate_stats *stats = &translate->stats;
	if (!sample->user_hash)
		return &stats->kernel_only;
	if (user->is_left)
		return &stats->left;
	if (user->truncation)
		return &stats->truncated[user->truncation];
	return translate->stacks.nodes.data[user->node].is_guessed ? &stats->by_guesses
								   : &stats->complete;
}

static void translate_count_stack(struct translate *translate, const struct event_sample *sample,
	const struct resolved_stack *user)
{
	++*outcome_of_stack(translate, sample, user);
	if (sample->user_hash && !user->is_left && user->truncation)
		blame_object(translate, user);
}

/*
 * A sample amid an exec, when the old program is gone and the new one not mapped yet, would
 * leave its process without a program. The first file that a pending event maps is the program.
 */
static void take_program_from_pending(struct translate *translate, struct process *process)
{
	const struct sideband_batch *batch = &translate->sideband;
	if (mapping_table_count(&process->mappings) ||
		process->file_epoch == translate->emitter.epoch)
		return;
	process->program = (struct mapping){0};
	for (size_t i = translate->sideband_applied; i < batch->events.len; i++) {
		const struct sideband_event *event = &batch->events.data[i];
		if (event->pid != process->pid)
			continue;
		if (event->kind != SIDEBAND_MAP)
			return; /* that is the end of this program */
		if (sideband_maps_file(event)) {
			process->program = event_mapping(translate, event);
			return;
		}
	}
}

static uint32_t translate_event_id(
	const struct translate *translate, const struct event_sample *sample)
{
	const struct translate_events *ids = &translate->event_ids[sample->source];
	return sample->event < ids->len ? ids->data[sample->event] : 0;
}

/* The set of the label table. */
static uint32_t translate_labels_of(
	struct translate *translate, struct process *process, const struct event_sample *sample)
{
	return sample_labels_find(&translate->process_labels, &translate->labels, process, sample,
		&translate->stats.lacking_labels);
}

static void follow_registered_code(
	struct translate *translate, struct process *process, const struct event_sample *sample)
{
	struct registered_code *registered = &translate->registered;
	struct mapping_cursor cursor = {0};
	const struct mapping *first = mapping_table_next(&process->mappings, &cursor);
	while (first && first->object->info.kind != LAYOUT_OBJECT_FILE)
		first = mapping_table_next(&process->mappings, &cursor);
	const struct object *program = first ? first->object : NULL;
	if (process->compiled)
		registered_code_follow(registered, process->compiled, program, sample->time_ns);
	else if (program && registered_code_expects(registered, program))
		registered_code_expect(registered, jit_table_object(&translate->jit, process),
			process->pid, sample->time_ns);
}

/* In the file: one that points chose stands for as many as it does by its size, and is written once
 * more, for their number. */
static void put_values_of_sample(
	struct translate *translate, const struct event_sample *sample, struct layout_sample *out)
{
	struct writer *writer = translate->emitter.writer;
	const struct event_sample count = {.source = sample->counted_by};
	uint64_t mean = sample->value, random = sample->time_ns * 0x9e3779b97f4a7c15;
	if (sample->counted_by)
		out->weight = point_weight_sum(sample->measured, mean);
	writer_sample(writer, out);
	if (!sample->counted_by)
		return;
	out->event = translate_event_id(translate, &count);
	out->weight = point_weight_count(sample->measured, mean, random);
	out->measured = 1;
	writer_sample(writer, out);
}

/*
 * Who ended a wait, or began what has not ended, until the sample of that comes. What a stack left
 * to the reader has more is kept of the latter only. False: not yet.
 */
static bool take_early(
	struct translate *translate, const struct event_sample *sample, bool may_wait)
{
	struct emitter *emitter = &translate->emitter;
	struct process *process = translate_process_of(translate, sample);
	struct resolved_stack user, kernel;
	enum found found = find_stack(translate, sample->user_hash, may_wait, &user);
	if (found == NOT_YET)
		return false;
	if (found == FOUND && find_stack(translate, sample->kernel_hash, false, &kernel) == FOUND) {
		take_program_from_pending(translate, process);
		emitter->sampled_ns = sample->time_ns;
		struct early_stack early = {
			.epoch = emitter->epoch,
			.thread = emitter_thread(emitter, process, sample->tid, sample->comm),
			.user = emitter_node(emitter, user.node),
			.kernel = emitter_node(emitter, kernel.node),
			.outcome = outcome_of_stack(translate, sample, &user),
		};
		if (user.is_left && sample->type == EVENT_BEGUN)
			early.snapshot = emitter_snapshot(emitter, process,
				snapshot_table_find(&translate->snapshots, sample->user_hash));
		early_stacks_put(&translate->early, sample->waker, &early);
	}
	snapshot_table_drop(&translate->snapshots, sample->user_hash);
	return true;
}

/* Ids of an earlier file say nothing in this one. */
static void put_waker(
	struct translate *translate, const struct event_sample *sample, struct layout_sample *out)
{
	struct early_stack waker;
	if (sample->waker == EVENT_WAKER_INTERRUPT)
		out->waker = LAYOUT_WAKER_INTERRUPT;
	if (sample->waker < EVENT_WAKERS ||
		!early_stacks_take(&translate->early, sample->waker, &waker) ||
		waker.epoch != translate->emitter.epoch)
		return;
	out->waker = waker.thread + 1;
	out->waker_user_stack = waker.user;
	out->waker_kernel_stack = waker.kernel;
}

/* Returns what is left of the stack in the file; `snapshot` not 0: it is there already. */
static uint32_t translate_put_sample(struct translate *translate, const struct event_sample *sample,
	const struct resolved_stack *user, const struct resolved_stack *kernel, uint32_t snapshot)
{
	struct emitter *emitter = &translate->emitter;
	struct process *process = translate_process_of(translate, sample);
	take_program_from_pending(translate, process);
	follow_registered_code(translate, process, sample);
	bool is_again = sample->type == EVENT_SAMPLE_AGAIN;
	struct layout_sample out = {
		.time_ns = sample->time_ns,
		.event = is_again ? translate->again_event_id
				  : translate_event_id(translate, sample),
		.thread = emitter_thread(emitter, process, sample->tid, sample->comm),
		.cpu = sample->cpu,
		.weight = sample->value,
		.measured = sample->measured,
		.syscall = sample->syscall,
	};
	/* Behind the thread, with which the process's control group may have been looked at. */
	out.labels = emitter_labels(emitter, translate_labels_of(translate, process, sample));
	emitter->sampled_ns = sample->time_ns;
	out.user_stack = emitter_node(emitter, user->node);
	out.kernel_stack = emitter_node(emitter, kernel->node);
	if (snapshot)
		out.snapshot = snapshot;
	else if (user->is_left)
		out.snapshot = emitter_snapshot(emitter, process,
			snapshot_table_find(&translate->snapshots, sample->user_hash));
	put_waker(translate, sample, &out);
	put_values_of_sample(translate, sample, &out);
	if (!translate->unwritten_ns)
		translate->unwritten_ns = sample->time_ns;
	return out.snapshot;
}

/* The sample, and the one that is made of it. */
static void count_taken(
	struct translate *translate, const struct event_sample *sample, bool is_resolved)
{
	struct translate_taken *taken = &translate->stats.taken[sample->source];
	event_tally_count(&taken->received, sample->measured);
	if (!is_resolved)
		event_tally_count(&taken->unresolved, sample->measured);
	if (!sample->counted_by)
		return;
	taken = &translate->stats.taken[sample->counted_by];
	event_tally_count(&taken->received, 1);
	if (!is_resolved)
		event_tally_count(&taken->unresolved, 1);
}

/* False: not yet. */
static bool take_sample(
	struct translate *translate, const struct event_sample *sample, bool may_wait)
{
	struct resolved_stack user, kernel;
	translate_process_of(translate, sample); /* its mappings are wanted, if it is new */
	enum found found = find_stack(translate, sample->user_hash, may_wait, &user);
	if (found == NOT_YET)
		return false;
	bool is_resolved = found == FOUND &&
			   find_stack(translate, sample->kernel_hash, false, &kernel) == FOUND;
	bool is_again = sample->type == EVENT_SAMPLE_AGAIN;
	uint32_t snapshot = 0;
	if (!is_again) /* the event counts once, by its first sample */
		count_taken(translate, sample, is_resolved);
	if (is_resolved) {
		if (!is_again)
			translate_count_stack(translate, sample, &user);
		if (sample->source == EVENT_SOURCE_WAIT && sample->user_hash &&
			sample->waker == EVENT_WAKER_NONE_YET)
			sleeper_counts_add(&translate->sleepers, translate->resolver.rules,
				translate_process_of(translate, sample), sample->time_ns);
		snapshot = translate_put_sample(translate, sample, &user, &kernel, 0);
	}
	if (is_resolved && sample->counted_by) {
		/* Its hash is that of what is unwound already, so equal ones stay equal. */
		struct kept_stack kept = {user, snapshot, translate->emitter.epoch};
		kept_stacks_put(&translate->kept_stacks, sample->user_hash, &kept);
	}
	if (!sample->is_followed)
		snapshot_table_drop(&translate->snapshots, sample->user_hash);
	return true;
}

/* Of a file that ended between both there are no ids of its stacks: it is not resolved. */
static void take_ended(struct translate *translate, const struct event_sample *sample)
{
	struct process *process = translate_process_of(translate, sample);
	struct early_stack early;
	bool is_there = early_stacks_take(&translate->early, sample->waker, &early) &&
			early.epoch == translate->emitter.epoch;
	count_taken(translate, sample, is_there);
	if (!is_there)
		return;
	++*early.outcome;
	struct layout_sample out = {
		.time_ns = sample->time_ns,
		.event = translate_event_id(translate, sample),
		.thread = early.thread,
		.cpu = sample->cpu,
		.weight = sample->value,
		.measured = sample->measured,
		.user_stack = early.user,
		.kernel_stack = early.kernel,
		.snapshot = early.snapshot,
		.labels = emitter_labels(&translate->emitter,
			block_devices_label(&translate->devices, &translate->labels,
				translate_labels_of(translate, process, sample), sample)),
	};
	writer_sample(translate->emitter.writer, &out);
	if (!translate->unwritten_ns)
		translate->unwritten_ns = sample->time_ns;
}

void translate_take_kept(struct translate *translate, const struct event_sample *sample)
{
	const struct resolved_stack none = {0};
	const struct kept_stack *kept = kept_stacks_find(
		&translate->kept_stacks, sample->user_hash, translate->emitter.epoch);
	count_taken(translate, sample, kept);
	if (kept)
		translate_put_sample(translate, sample, &kept->stack, &none, kept->snapshot);
}

/* Of the time of the allocation, by which a reader finds what was allocated. */
static void take_freed(struct translate *translate, const struct event_sample *sample)
{
	struct emitter *emitter = &translate->emitter;
	struct process *process = translate_process_of(translate, sample);
	const struct kept_stack *kept =
		kept_stacks_find(&translate->kept_stacks, sample->user_hash, emitter->epoch);
	count_taken(translate, sample, kept);
	if (!kept)
		return;
	struct layout_sample out = {
		.time_ns = sample->time_ns,
		.event = translate_event_id(translate, sample),
		.thread = emitter_thread(emitter, process, sample->tid, sample->comm),
		.cpu = sample->cpu,
		.weight = sample->value,
		.measured = sample->measured,
		.user_stack = emitter_node(emitter, kept->stack.node),
		.snapshot = kept->stack.is_left ? kept->snapshot : 0,
	};
	writer_sample(emitter->writer, &out);
	if (!translate->unwritten_ns)
		translate->unwritten_ns = sample->time_ns + sample->measured;
}

uint64_t translate_resolved(const struct translate *translate)
{
	uint64_t samples = 0;
	for (size_t i = 0; i < EVENT_MAX_SOURCES; i++)
		samples += translate->stats.taken[i].received.count -
			   translate->stats.taken[i].unresolved.count;
	return samples;
}

static void take_environment(
	struct translate *translate, const struct event_environment *environment)
{
	struct process *process = process_table_find(&translate->processes, environment->pid);
	environments_take(&translate->process_labels.environments, environment);
	if (process && process->lacks_labels) /* a sample came earlier */
		process->label_generation = 0;
}

void translate_collect(void *context, const void *record, size_t len)
{
	struct translate *translate = context;
	const struct event_code *code = record;
	if (len >= sizeof(*code) && code->type == EVENT_CODE) {
		script_table_take(&translate->scripts, code, len); /* while the process lives */
		return;
	}
	if (code->type == EVENT_ENVIRONMENT) {
		take_environment(translate, record);
		return;
	}
	struct stack_piece piece;
	if (code->type == EVENT_SNAPSHOT_CHUNK) {
		if (!stack_pieces_hold(&translate->pieces, record, len, &piece))
			return;
		record = &piece;
		len = sizeof(piece);
	}
	/* Aligned, so that records can be read in place. */
	size_t padded = (len + 7) & ~(size_t)7;
	bytes_put_u64(&translate->records, padded);
	bytes_put_u64(&translate->records, translate->collected_ns);
	bytes_put(&translate->records, record, len);
	vec_resize(&translate->records, translate->records.len + padded - len);
}

/* ---- waiting ---- */

/* The first word whose code is still being read; NULL: there is none. */
static const uint64_t *find_lacking(
	const struct translate *translate, const struct event_stack *stack)
{
	const uint64_t *words = (const void *)(stack + 1);
	if (stack->kind == EVENT_STACK_KERNEL || !script_table_is_reading(&translate->scripts))
		return NULL;
	for (uint32_t i = 0; i < stack->nr_frames; i++)
		if (words[i] >> EVENT_FRAME_KIND_SHIFT == EVENT_FRAME_RUNTIME &&
			script_table_lacks(&translate->scripts, words[i]))
			return &words[i];
	return NULL;
}

/* Whether the stack has the code of all its frames, or does without what it lacks. */
static bool translate_has_code(
	struct translate *translate, const struct event_stack *stack, bool may_wait)
{
	const uint64_t *word;
	while ((word = find_lacking(translate, stack)) && !may_wait)
		script_table_give_up(&translate->scripts, *word);
	return !word;
}

bool translate_is_waiting(const struct translate *translate)
{
	return translate->records.len != 0;
}

bool translate_awaits_names(const struct translate *translate, uint64_t until_ns)
{
	return thread_names_are_awaited(&translate->thread_names, until_ns);
}

bool translate_is_reading_code(const struct translate *translate)
{
	const struct code_rules *code = translate->resolver.code;
	bool is_reading = (code && code_pages_are_pending(&code->pages)) ||
			  registered_code_is_reading(&translate->registered) ||
			  compiled_frames_are_reading(&translate->compiled);
	return translate_is_waiting(translate) && is_reading;
}

void translate_wait(struct translate *translate)
{
	struct rule_source *rules = translate->resolver.rules;
	struct pollfd fds[] = {
		{.fd = rules ? rule_source_fd(rules) : -1, .events = POLLIN},
		{.fd = script_table_fd(&translate->scripts), .events = POLLIN},
		{.fd = rules ? code_pages_fd(&translate->resolver.code->pages) : -1,
			.events = POLLIN},
		{.fd = registered_code_fd(&translate->registered), .events = POLLIN},
		{.fd = compiled_frames_fd(&translate->compiled), .events = POLLIN},
		{.fd = thread_names_fd(&translate->thread_names), .events = POLLIN},
	};
	bool is_short = registered_code_is_wanted(&translate->registered);
	poll(fds, sizeof(fds) / sizeof(*fds), is_short ? SHORT_WAIT_MS : WAIT_MS);
}

static void take_thread_times(struct translate *translate, const struct event_thread_times *event)
{
	struct event_sample task = {.pid = event->pid,
		.tid = event->tid,
		.exec_id = event->exec_id,
		.time_ns = event->time_ns,
		.start_ns = event->start_ns};
	struct layout_thread_times times = thread_times_take(&translate->thread_times, event);
	apply_events_until(translate, event->time_ns);
	struct process *process = translate_process_of(translate, &task);
	translate->emitter.sampled_ns = event->time_ns;
	times.thread = emitter_thread(&translate->emitter, process, event->tid, event->comm);
	writer_thread_times(translate->emitter.writer, &times);
}

/* ---- records ---- */

/* False: not yet. */
static bool translate_take_record(
	struct translate *translate, const void *record, size_t len, bool may_wait)
{
	const struct event_labels *labels = record;
	const struct event_moved *moved = record;
	struct process *process;
	const struct event_sample *sample = record;
	const struct event_stack *stack = record;
	const struct event_file *file = record;
	switch ((enum event_type)sample->type) {
	case EVENT_SAMPLE:
	case EVENT_SAMPLE_AGAIN:
		apply_events_until(translate, sample->time_ns);
		return take_sample(translate, sample, may_wait);
	case EVENT_WAKER:
	case EVENT_BEGUN:
		apply_events_until(translate, sample->time_ns);
		return take_early(translate, sample, may_wait);
	case EVENT_ENDED:
		apply_events_until(translate, sample->time_ns);
		take_ended(translate, sample);
		break;
	case EVENT_FREED:
		apply_events_until(translate, sample->time_ns + sample->measured);
		take_freed(translate, sample);
		break;
	case EVENT_STACK:
		if (!translate_has_code(translate, stack, may_wait))
			return false;
		apply_events_until(translate, stack->time_ns);
		take_stack(translate, stack);
		break;
	case EVENT_FILE:
		apply_events_until(translate, file->time_ns);
		resolver_take_file(&translate->resolver, file);
		break;
	case EVENT_SNAPSHOT:
		snapshot_table_registers(&translate->snapshots, record);
		break;
	case EVENT_SNAPSHOT_CHUNK:
		snapshot_table_piece(&translate->snapshots, record);
		stack_pieces_release(&translate->pieces, record);
		break;
	case EVENT_LABELS:
		apply_events_until(translate, labels->time_ns);
		label_table_take(&translate->labels, labels, len);
		break;
	case EVENT_MOVED:
		apply_events_until(translate, moved->time_ns);
		process = process_table_find(&translate->processes, moved->pid);
		if (process)
			process_moved(process);
		break;
	case EVENT_THREAD_TIMES:
		take_thread_times(translate, record);
		break;
	case EVENT_CODE:        /* taken when it was collected */
	case EVENT_ENVIRONMENT: /* ... which says whose it is, for samples of amid the exec, too */
	case EVENT_FORKS:       /* it woke the recorder */
		break;
	}
	return true;
}

struct record_head {
	uint64_t len, collected_ns;
};

/* Code that what has just come leads to, see code_ahead.h. */
static void read_ahead(struct translate *translate)
{
	const struct bytes_buf *records = &translate->records;
	struct code_rules *code = translate->resolver.code;
	struct record_head head;
	if (!code || translate->looked_at == records->len)
		return;
	code_ahead_begin(&translate->ahead, &translate->sideband, translate->sideband_applied);
	for (size_t at = translate->looked_at; at < records->len; at += sizeof(head) + head.len) {
		memcpy(&head, records->data + at, sizeof(head));
		code_ahead_take(&translate->ahead, &translate->processes, &code->pages,
			records->data + at + sizeof(head), head.len);
	}
	translate->looked_at = records->len;
}

static uint64_t time_spent_reading(const struct translate *translate)
{
	return translate->resolver.code ? translate->resolver.code->spent_ns : 0;
}

/* From record `at` on. */
static size_t waiting_bytes(const struct translate *translate, size_t at)
{
	return translate->records.len - at + translate->pieces.bytes;
}

/* True when all are done; the others stay. */
static bool take_records(struct translate *translate, uint64_t give_up_ns)
{
	struct bytes_buf *records = &translate->records;
	size_t at = 0;
	uint64_t spent_ns = time_spent_reading(translate);
	translate->is_late = false;
	while (at < records->len && !translate->is_late) {
		struct record_head head;
		memcpy(&head, records->data + at, sizeof(head));
		bool may_wait = head.collected_ns >= give_up_ns &&
				waiting_bytes(translate, at) <= MAX_WAITING_BYTES;
		translate->resolver.is_behind = waiting_bytes(translate, at) > MAX_READING_BYTES;
		const void *record = records->data + at + sizeof(head);
		if (!translate_take_record(translate, record, head.len, may_wait))
			break;
		at += sizeof(head) + head.len;
		translate->is_late = give_up_ns != UINT64_MAX &&
				     waiting_bytes(translate, at) <= MAX_READING_BYTES &&
				     time_spent_reading(translate) - spent_ns > READING_NS;
		if (translate->resolver.code)
			code_pages_collect(&translate->resolver.code->pages);
	}
	if (at) /* there may be no memory yet */
		memmove(records->data, records->data + at, records->len - at);
	records->len -= at;
	translate->looked_at = records->len;
	return records->len == 0;
}

static void purge(struct translate *translate, uint64_t now_ns)
{
	if (now_ns - translate->purged_ns < DEAD_PROCESS_KEPT_NS)
		return;
	process_table_purge(&translate->processes, translate->purged_ns);
	snapshot_table_purge(&translate->snapshots, translate->purged_ns);
	translate->purged_ns = now_ns;
}

static void put_thread_name(
	void *context, uint32_t image, uint32_t tid, const char comm[16], const char *name)
{
	struct translate *translate = context;
	emitter_thread_name(&translate->emitter, image, tid, comm, name);
}

/* Those that will be named again stay. */
static void translate_clear_stacks(struct translate *translate)
{
	struct stack_table old = translate->stacks;
	stack_table_init(&translate->stacks);
	kept_stacks_move(&translate->kept_stacks, &translate->stacks, &old);
	stack_table_deinit(&old);
}

/* Of code without rules, of which more may be known now. */
static void retry_guesses(struct translate *translate)
{
	struct code_rules *code = translate->resolver.code;
	uint64_t now_ns = clock_now_ns();
	vec_each(&translate->registered.news, pid)
		if (code)
			code_rules_retry_soon(code, *pid, now_ns);
	translate->registered.news.len = 0;
	if (code)
		code_rules_retry(code, now_ns);
}

bool translate_run(struct translate *translate, uint64_t until_ns, uint64_t give_up_ns)
{
	script_table_read_again(&translate->scripts, clock_now_ns());
	if (script_table_collect(&translate->scripts)) {
		resolver_forget_nodes(&translate->resolver);
		translate->has_late_names = true;
	}
	registered_code_collect(&translate->registered);
	if (translate->resolver.code)
		code_pages_collect(&translate->resolver.code->pages);
	retry_guesses(translate);
	read_ahead(translate);
	translate->compiled.rules = translate->resolver.rules;
	compiled_frames_collect(&translate->compiled, &translate->processes);
	translate->thread_names.rules = translate->resolver.rules;
	thread_names_collect(
		&translate->thread_names, &translate->processes, put_thread_name, translate);
	if (process_contexts_collect(&translate->process_labels.contexts, &translate->processes))
		translate->labels.is_forgotten = true;
	if (until_ns)
		gap_log_note(&translate->gaps, until_ns, translate_resolved(translate));
	if (!take_records(translate, give_up_ns)) {
		drop_applied_events(translate);
		return false;
	}
	if (until_ns) {
		apply_events_until(translate, until_ns);
		purge(translate, until_ns);
	}
	drop_applied_events(translate);
	bool is_full = stack_table_is_full(&translate->stacks) ||
		       translate->stack_by_hash.len > MAX_STACK_HASHES ||
		       label_table_wants_all(&translate->labels);
	if (is_full) {
		translate_clear_stacks(translate);
		resolver_forget_nodes(&translate->resolver);
		map_deinit(&translate->stack_by_hash);
		label_table_forget_hashes(&translate->labels);
	}
	bool is_renamed = translate->has_late_names && until_ns > translate->renamed_ns + NS_PER_S;
	if (is_renamed) { /* what came under their hashes is there for samples that are under way */
		translate->has_late_names = false;
		translate->renamed_ns = until_ns;
	}
	return is_full || is_renamed;
}

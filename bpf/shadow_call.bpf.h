/* Functions of scripts that are entered and left: how probes change shadow stacks. */
#ifndef EBPROF_SHADOW_CALL_BPF_H
#define EBPROF_SHADOW_CALL_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/registers.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/shadow.bpf.h"
#include "bpf/task_id.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum {
	TEXT_HEAD_BYTES = 16, /* of texts, by which memory that is used again is noticed */
	MAX_NAME_PART_BYTES = RUNTIME_MAX_NAME_BYTES / 2 - 4,
};

/* What a thread's begins as: BPF's own stack has no room for it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shadow_stack);
} no_shadow_stack SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shadow_counters);
} shadow_counters SEC(".maps");

static __always_inline struct shadow_stack *make_shadow_stack(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), zero = 0;
	struct shadow_stack *stack = bpf_map_lookup_elem(&shadow_stacks, &tid);
	const struct shadow_stack *none = bpf_map_lookup_elem(&no_shadow_stack, &zero);
	if (!stack && none && !bpf_map_update_elem(&shadow_stacks, &tid, none, BPF_ANY))
		stack = bpf_map_lookup_elem(&shadow_stacks, &tid);
	if (!stack)
		return 0;
	stack->depth = 0;
	stack->owner = identify_thread();
	return stack;
}

/* ---- arguments ---- */

struct shadow_call {
	__u64 text[SHADOW_TEXTS];
	__u64 sp, identity;
	__u32 line;
	__u32 match;
};

static __noinline __u64 read_argument(void *context, const struct shadow_argument *argument)
{
	__u64 value = 0;
	__s32 bits = (argument->bytes < 0 ? -argument->bytes : argument->bytes) * 8;
	if (argument->source == SHADOW_NOWHERE)
		return 0;
	if (argument->source == SHADOW_CONSTANT)
		return argument->offset;
	if (bpf_probe_read_kernel(&value, sizeof(value), context + argument->register_offset))
		return 0;
	if (argument->source == SHADOW_MEMORY && bpf_probe_read_user(&value, sizeof(value),
							 (const void *)(value + argument->offset)))
		return 0;
	value <<= (64 - bits) & 63;
	return argument->bytes < 0 ? (__u64)((__s64)value >> ((64 - bits) & 63))
				   : value >> ((64 - bits) & 63);
}

static __always_inline __u64 mix_head(__u64 hash, __u64 text)
{
	__u64 head[TEXT_HEAD_BYTES / 8] = {0};
	if (text)
		bpf_probe_read_user_str(head, sizeof(head), (const void *)text);
	return mix(mix(hash, head[0]), head[1]);
}

/* Of what is at these addresses now. */
static __always_inline void identify_call(struct shadow_call *call)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 identity = mix(code_generation, BPF_CORE_READ(task, group_leader, start_boottime));
	identity = mix(identity, bpf_get_current_pid_tgid() >> 32);
	identity = mix(identity, BPF_CORE_READ(task, self_exec_id));
	identity = mix(mix(identity, call->text[SHADOW_NAME]), call->text[SHADOW_FILE]);
	identity = mix(mix(identity, call->text[SHADOW_CLASS]), call->line);
	identity = mix_head(identity, call->text[SHADOW_CLASS]);
	call->identity = mix_head(identity, call->text[SHADOW_NAME]);
}

static __always_inline void read_call(
	struct pt_regs *context, const struct shadow_place *place, struct shadow_call *call)
{
	for (int i = 0; i < SHADOW_TEXTS; i++)
		call->text[i] = read_argument(context, &place->text[i]);
	call->line = read_argument(context, &place->line) & ((1 << RUNTIME_FRAME_CODE_SHIFT) - 1);
	call->match =
		mix(mix(place->runtime, call->text[SHADOW_NAME]), call->text[SHADOW_FILE]) >> 32;
}

/* ---- names ---- */

static __always_inline __u32 append_separator(
	struct runtime_record *record, __u64 at, const struct shadow_place *place, __u64 from)
{
	__u64 start = at;
	asm volatile("" : "+r"(start));
	if (start > RUNTIME_MAX_NAME_BYTES)
		return at;
	if (from) {
		long bytes = bpf_probe_read_user_str(
			record->text + start, sizeof(place->separator), (const void *)from);
		return bytes > 1 ? at + bytes - 1 : at;
	}
	__u32 length = 0;
	for (__u32 i = 0; i < sizeof(place->separator) - 1; i++) {
		record->text[start + i] = place->separator[i];
		length += place->separator[i] != 0;
	}
	return at + length;
}

static __always_inline __u32 append_called(struct runtime_record *record,
	const struct shadow_place *place, const struct shadow_call *call)
{
	__u32 at = append_c_text(
		record, 0, RUNTIME_TEXT_NAME, call->text[SHADOW_CLASS], MAX_NAME_PART_BYTES);
	if (at)
		at = append_separator(record, at, place, call->text[SHADOW_SEPARATOR]);
	__u32 start = at;
	at = append_c_text(
		record, at, RUNTIME_TEXT_NAME, call->text[SHADOW_NAME], MAX_NAME_PART_BYTES);
	record->head.bytes[RUNTIME_TEXT_NAME] = record->head.whole_bytes[RUNTIME_TEXT_NAME] =
		at == start ? 0 : at;
	return at == start ? 0 : at;
}

/* The number of the function's code from now on. 0: it cannot be named now. */
static __noinline __u32 send_call(const struct shadow_place *place, const struct shadow_call *call)
{
	struct scratch *scratch = scratch_of_lane(task_lane());
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record || !try_lane(scratch))
		return 0;
	struct event_code *head = &record->head;
	take_lane(scratch, task_lane());
	scratch->user.head.pid = identify_current().pid;
	scratch->user.head.time_ns = bpf_ktime_get_ns();
	scratch->walk.runtime.row.kind = place->runtime;
	head->version = RUNTIME_VERSION_LINES;
	head->first_line = call->line;
	head->unit[RUNTIME_TEXT_NAME] = head->unit[RUNTIME_TEXT_FILE] = RUNTIME_UNIT_UTF8;
	__u32 at = append_called(record, place, call);
	if (at)
		at = append_c_text(record, at, RUNTIME_TEXT_FILE, call->text[SHADOW_FILE],
			RUNTIME_MAX_FILE_BYTES);
	head->bytes[RUNTIME_TEXT_LINES] = head->whole_bytes[RUNTIME_TEXT_LINES] = 0;
	for (int i = 0; i < RUNTIME_TEXTS; i++)
		head->address[i] = 0; /* not to be read again */
	__u32 number = at ? send_code(scratch, record, at, true, call->identity) : 0;
	leave_lane(scratch);
	return number;
}

/* ---- entering and leaving ---- */

/* Whether what was entered there is gone, now that the native stack is at `sp`. */
static __always_inline bool is_gone(
	const struct shadow_frame *frame, __u64 sp, const struct shadow_place *place)
{
	if (frame->group != place->group)
		return frame->sp + SLACK_BYTES < sp;
	return frame->sp < sp || (frame->sp == sp && place->flags & SHADOW_IS_ALONE);
}

/* That of a thread that is known to have one. */
static __always_inline struct shadow_stack *own_shadow_stack(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	return bpf_map_lookup_elem(&shadow_stacks, &tid);
}

static __always_inline struct shadow_counters *count_calls(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&shadow_counters, &zero);
}

/* What a hit changes, for functions that the verifier looks at once: they take numbers only. */
struct shadow_hit {
	const struct shadow_place *place;
	struct shadow_stack *stack;
	struct shadow_counters *count;
};

static __always_inline bool find_hit(__u32 number, struct shadow_hit *ret)
{
	ret->place = bpf_map_lookup_elem(&shadow_places, &number);
	ret->stack = own_shadow_stack();
	ret->count = count_calls();
	return ret->place && ret->stack && ret->count;
}

/* Drops calls that have ended unseen. A global function, which the verifier looks at once. */
__noinline int drop_ended_calls(__u32 number, __u64 sp);
__noinline int drop_ended_calls(__u32 number, __u64 sp)
{
	struct shadow_hit hit;
	if (!find_hit(number, &hit))
		return 0;
	struct shadow_stack *stack = hit.stack;
	__u32 depth = stack->depth;
	if (depth > SHADOW_MAX_FRAMES)
		depth = SHADOW_MAX_FRAMES;
	__u32 kept = depth;
	for (int i = 0; i < SHADOW_MAX_FRAMES && kept; i++) {
		if (!is_gone(&stack->frame[(kept - 1) & (SHADOW_MAX_FRAMES - 1)], sp, hit.place))
			break;
		kept--;
	}
	if (kept == depth)
		return 0; /* and with it those that are not kept */
	COUNT_MANY(hit.count->missed_returns, stack->depth - kept);
	stack->depth = kept;
	return 0;
}

/* A tick may come between any two of these writes. */
static __noinline int enter_function(struct shadow_stack *stack, const struct shadow_place *place,
	const struct shadow_call *call)
{
	if (!stack)
		return 0;
	__u32 depth = stack->depth;
	if (depth >= SHADOW_MAX_FRAMES)
		return 0;
	struct shadow_frame *frame = &stack->frame[depth & (SHADOW_MAX_FRAMES - 1)];
	frame->sp = call->sp;
	frame->line = call->line;
	frame->match = call->match;
	frame->group = place->group;
	frame->code = find_code(call->identity);
	if (!frame->code)
		frame->code = send_call(place, call);
	asm volatile("" ::: "memory");
	return 0;
}

/* Whether the search for what returns ends without it: this was entered further out. */
static __always_inline bool is_outside(
	const struct shadow_frame *frame, __u64 sp, const struct shadow_place *place)
{
	return frame->sp > (frame->group == place->group ? sp : sp + SLACK_BYTES);
}

static __always_inline bool returns(
	const struct shadow_frame *frame, __u32 match, __u64 sp, const struct shadow_place *place)
{
	return frame->match == match && (frame->group != place->group || frame->sp == sp);
}

/* What is left goes, and all above it. A global function, which the verifier looks at once. */
__noinline int leave_function(__u32 number, __u32 match, __u64 sp);
__noinline int leave_function(__u32 number, __u32 match, __u64 sp)
{
	struct shadow_hit hit;
	if (!find_hit(number, &hit))
		return 0;
	struct shadow_stack *stack = hit.stack;
	__u32 depth = stack->depth;
	if (depth > SHADOW_MAX_FRAMES) {
		stack->depth = depth - 1;
		return 0;
	}
	for (int i = 0; i < SHADOW_MAX_FRAMES && depth; i++) {
		const struct shadow_frame *frame = &stack->frame[--depth & (SHADOW_MAX_FRAMES - 1)];
		if (is_outside(frame, sp, hit.place))
			break;
		if (!returns(frame, match, sp, hit.place))
			continue;
		COUNT_MANY(hit.count->missed_returns, stack->depth - depth - 1);
		stack->depth = depth;
		return 0;
	}
	COUNT(hit.count->unmatched);
	return 0;
}

/*
 * What has two names, as a file of a layer that overlay file systems share, may be probed by each
 * of them: then one hit runs the program twice, for two places, always in one order. The first
 * counts.
 */
static __always_inline bool is_hit_again(struct shadow_stack *stack, __u64 ip, __u32 number)
{
	if (stack->ip == ip && stack->place != number)
		return true;
	stack->ip = ip;
	stack->place = number;
	return false;
}

/* A hit of the probe at the place of this number. */
static __always_inline void take_call(
	struct pt_regs *context, __u32 number, const struct shadow_place *place)
{
	struct shadow_call call = {};
	struct shadow_counters *count = count_calls();
	bool is_return = place->flags & SHADOW_IS_RETURN;
	struct shadow_stack *stack = find_shadow_stack();
	if (!stack && !is_return)
		stack = make_shadow_stack();
	if (!count || (stack && is_hit_again(stack, READ_CONTEXT(REGS_IP(context)), number)))
		return;
	COUNT(count->hits[number & (SHADOW_MAX_PLACES - 1)]);
	if (!stack)
		return;
	read_call(context, place, &call);
	call.sp = READ_CONTEXT(REGS_SP(context)) + place->sp_offset;
	if (is_return) {
		leave_function(number, call.match, call.sp);
		return;
	}
	identify_call(&call);
	drop_ended_calls(number, call.sp);
	if (stack->depth >= SHADOW_MAX_FRAMES)
		COUNT(count->deep);
	else
		enter_function(stack, place, &call);
	stack->depth++;
}

#endif

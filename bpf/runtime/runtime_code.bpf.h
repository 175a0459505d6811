/* The numbers of code, and what is sent of each. */
#ifndef EBPROF_RUNTIME_CODE_BPF_H
#define EBPROF_RUNTIME_CODE_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Raised by the recorder to have all code sent again: it has forgotten what it was sent. */
volatile __u64 code_generation;

/*
 * What code has which number: a set of two places for each hash, without locks, as `seen` is. A
 * word holds both, so that no two CPUs can make one out of two. Code that lost its place is sent
 * again, under another number.
 */
enum {
	CODE_SLOTS_SHIFT = 16,
	CODE_TAG_SHIFT = RUNTIME_FRAME_CODE_BITS,
	CODE_MAX_NUMBER = (1 << RUNTIME_FRAME_CODE_BITS) - 1,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << CODE_SLOTS_SHIFT);
	__type(key, __u32);
	__type(value, __u64);
} runtime_codes SEC(".maps");

struct runtime_record {
	struct event_code head;
	__u8 text[RUNTIME_MAX_TEXT_BYTES + RUNTIME_MAX_LINE_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* lanes: set by the recorder */
	__type(key, __u32);
	__type(value, struct runtime_record);
} runtime_records SEC(".maps");

/* NULL without a scratch alone. */
static __always_inline struct runtime_record *get_runtime_record(const struct scratch *scratch)
{
	if (!scratch)
		return 0;
	__u32 lane = scratch->lane;
	return bpf_map_lookup_elem(&runtime_records, &lane);
}

/* ---- pushing ---- */

/* Of a frame, `place` in the code of that number. */
static __always_inline __u64 runtime_word(__u32 number, __u32 place)
{
	return (__u64)EVENT_FRAME_RUNTIME << EVENT_FRAME_KIND_SHIFT |
	       (__u64)number << RUNTIME_FRAME_CODE_SHIFT |
	       (place & ((1 << RUNTIME_FRAME_CODE_SHIFT) - 1));
}

static __always_inline void push_runtime_word(struct scratch *scratch, __u32 number, __u32 place)
{
	push_word(scratch, runtime_word(number, place));
}

static __always_inline void push_runtime_failure(
	struct scratch *scratch, enum layout_script_failure why)
{
	__u32 kind = scratch->walk.runtime.row.kind;
	push_runtime_word(scratch, 0, kind << RUNTIME_FRAME_FAILED_KIND_SHIFT | why);
}

/* ---- texts ---- */

/*
 * Puts up to `max` of the bytes at `from` behind the `at` that there are already; returns how many
 * there are then. What the ring has left, where the recorder falls behind, is for stacks: it reads
 * tables of lines itself. A global function, since the verifier looks at it once.
 */
__noinline int append_text(__u32 at, __u32 what, __u64 from, __u64 whole, __u32 max);
__noinline int append_text(__u32 at, __u32 what, __u64 from, __u64 whole, __u32 max)
{
	struct runtime_record *record = get_runtime_record(scratch_of_runtimes());
	if (!record || what >= RUNTIME_TEXTS)
		return at;
	struct event_code *head = &record->head;
	head->address[what] = from;
	head->whole_bytes[what] = whole > 0xffffffff ? 0xffffffff : whole;
	head->bytes[what] = 0;
	if (what == RUNTIME_TEXT_LINES && unread_bytes() > config.snapshot_limit_bytes)
		return at;
	__u64 start = at, bytes = whole < max ? whole : max;
	asm volatile("" : "+r"(bytes), "+r"(start)); /* or clang thinks the bounds are known */
	if (!bytes || bytes > RUNTIME_MAX_LINE_BYTES ||
		start > RUNTIME_MAX_NAME_BYTES + RUNTIME_MAX_FILE_BYTES ||
		bpf_probe_read_user(record->text + start, bytes, (const void *)from))
		return at;
	head->bytes[what] = bytes;
	return at + bytes;
}

/* The same of a C string. */
static __always_inline __u32 append_c_text(
	struct runtime_record *record, __u32 at, enum runtime_text what, __u64 from, __u32 max)
{
	struct event_code *head = &record->head;
	head->address[what] = from;
	head->whole_bytes[what] = head->bytes[what] = 0;
	__u64 start = at;
	asm volatile("" : "+r"(start));
	if (!from || start > RUNTIME_MAX_NAME_BYTES + RUNTIME_MAX_FILE_BYTES)
		return at;
	long bytes = bpf_probe_read_user_str(record->text + start, max, (const void *)from);
	if (bytes <= 1 || bytes > max) /* the end counts */
		return at;
	head->whole_bytes[what] = head->bytes[what] = bytes - 1;
	return at + bytes - 1;
}

/* ---- numbers ---- */

static __always_inline __u64 code_tag(__u64 identity)
{
	return identity << CODE_TAG_SHIFT;
}

/* Where the code's number may stand; `way` is 0 or 1. */
static __always_inline __u64 *code_slot(__u64 identity, __u32 way)
{
	__u32 slot = (identity >> (64 - CODE_SLOTS_SHIFT)) ^ way;
	return bpf_map_lookup_elem(&runtime_codes, &slot);
}

/* 0: it has none. */
static __always_inline __u32 find_code(__u64 identity)
{
	for (__u32 way = 0; way < 2; way++) {
		__u64 *slot = code_slot(identity, way);
		__u64 word = slot ? *slot : 0;
		if (word >> CODE_TAG_SHIFT == code_tag(identity) >> CODE_TAG_SHIFT)
			return word & CODE_MAX_NUMBER;
	}
	return 0;
}

static __always_inline void keep_code(__u64 identity, __u32 number)
{
	__u64 *first = code_slot(identity, 0), *second = code_slot(identity, 1);
	if (!first || !second)
		return;
	__u64 *slot = *first && (!*second || number & 1) ? second : first;
	*slot = code_tag(identity) | number;
}

/* 0: they are used up. */
static __always_inline __u32 next_code_number(const struct scratch *scratch)
{
	__u64 number = number_of_lane(scratch, scratch->nr_codes);
	return number < RUNTIME_FIRST_NUMBER_OF_RECORDER ? number : 0;
}

/* What a record says of its code; of each anew, since the next one's may be another runtime's. */
enum code_marks {
	CODE_IS_INLINED = 1, /* functions are, in each other */
	CODE_IS_OF_RUNTIME = 2,
	CODE_HAS_CONTENT = 4, /* its head says it already */
};

/*
 * Sends the record whose texts are there, `bytes` in all. It gets to the recorder before any stack
 * that has its number. 0: it cannot be sent. What could not be read here and now, the recorder
 * tries to, at once.
 */
static __always_inline __u32 send_marked_code(struct scratch *scratch,
	struct runtime_record *record, __u64 bytes, bool is_whole, __u64 identity, __u32 marks)
{
	struct event_code *head = &record->head;
	head->is_inlined = marks & CODE_IS_INLINED;
	head->is_of_runtime = !!(marks & CODE_IS_OF_RUNTIME);
	if (!(marks & CODE_HAS_CONTENT))
		head->content = 0;
	__u32 number = next_code_number(scratch);
	head->type = EVENT_CODE;
	head->number = number;
	head->pid = scratch->user.head.pid;
	head->kind = scratch->walk.runtime.row.kind;
	head->time_ns = scratch->user.head.time_ns;
	asm volatile("" : "+r"(bytes));
	if (!number || bytes > RUNTIME_MAX_TEXT_BYTES)
		return 0;
	__u64 flag = is_whole ? wakeup_flag() : BPF_RB_FORCE_WAKEUP;
	if (!send(record, sizeof(*head) + bytes, flag))
		return 0;
	scratch->nr_codes++;
	keep_code(identity, number);
	return number;
}

static __always_inline __u32 send_code(struct scratch *scratch, struct runtime_record *record,
	__u64 bytes, bool is_whole, __u64 identity)
{
	return send_marked_code(scratch, record, bytes, is_whole, identity, 0);
}

/* Tells processes apart, and the programs that one runs after the other. */
static __always_inline __u64 identify_process(const struct scratch *scratch)
{
	struct task_struct *task = walked_task();
	__u64 identity = mix(code_generation, scratch->sample.start_ns);
	identity = mix(identity, scratch->user.head.pid);
	return mix(identity, BPF_CORE_READ(task, self_exec_id));
}

#endif

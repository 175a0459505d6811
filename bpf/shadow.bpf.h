/*
 * Shadow stacks. Where a probe says that a function is entered, its frame is pushed; where it is
 * left, the frame goes, with all that lie above it.
 *
 * Not every function is left by its probe: exceptions, longjmp() and generators pass it by, and a
 * recording may begin in the middle of everything. So a frame remembers where the native stack was.
 * That grows down. A native frame that lies below one that is alive now is gone, and a script's
 * frames with it: the next event throws them away, without any trust in the probes of
 * returns. Stack pointers tell this exactly where they were taken in one function of the runtime
 * (a group of places), and within SLACK_BYTES elsewhere.
 */
#ifndef EBPROF_SHADOW_BPF_H
#define EBPROF_SHADOW_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/shadow_place.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum {
	/* What the native frames between an interpreter's loop and its probe take, at most. */
	SLACK_BYTES = 512,
};

struct shadow_frame {
	__u64 sp;
	__u32 code;  /* its number; 0: it has none */
	__u32 line;  /* where it was entered */
	__u32 match; /* tells functions apart, for returns */
	__u8 group;
	__u8 zero[3];
};

struct shadow_stack {
	__u64 owner; /* tells threads apart that have the same number one after the other */
	__u32 depth; /* may be more than are kept */
	__u32 place; /* of the last probe that changed it, and where that is */
	__u64 ip;
	struct shadow_frame frame[SHADOW_MAX_FRAMES]; /* outermost first */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SHADOW_MAX_PLACES);
	__type(key, __u32);
	__type(value, struct shadow_place);
} shadow_places SEC(".maps");

/* By thread. One that has not been heard of for long makes room for another. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, struct shadow_stack);
} shadow_stacks SEC(".maps");

/* ---- the thread ---- */

static __always_inline __u64 identify_thread(void)
{
	struct task_struct *task = walked_task();
	return mix(BPF_CORE_READ(task, start_boottime), BPF_CORE_READ(task, self_exec_id)) | 1;
}

/* NULL: it has none. */
static __always_inline struct shadow_stack *find_shadow_stack(void)
{
	__u32 tid = (__u32)walked_pid_tgid();
	struct shadow_stack *stack = bpf_map_lookup_elem(&shadow_stacks, &tid);
	return stack && stack->owner == identify_thread() ? stack : 0;
}

/* ---- samples ---- */

static __always_inline bool is_shadowed(__u32 kind)
{
	return config.shadow_runtimes >> (kind & 31) & 1;
}

/* With the frames that are alive, where the leaf's stack pointer is this. */
static __always_inline void begin_shadow(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct shadow_stack *stack = find_shadow_stack();
	__u64 sp = scratch->leaf.reg[UNWIND_SP];
	runtime->shadow = stack ? RUNTIME_SHADOW_FOUND : RUNTIME_SHADOW_NONE;
	runtime->shadow_left = 0;
	runtime->shadow_is_cut = false;
	if (!stack)
		return;
	runtime->shadow_is_cut = stack->depth > SHADOW_MAX_FRAMES;
	__u32 depth = runtime->shadow_is_cut ? SHADOW_MAX_FRAMES : stack->depth;
	for (int i = 0; i < SHADOW_MAX_FRAMES && depth; i++) {
		if (stack->frame[(depth - 1) & (SHADOW_MAX_FRAMES - 1)].sp + SLACK_BYTES >= sp)
			break;
		depth--;
		runtime->shadow_is_cut = false;
	}
	runtime->shadow_left = depth;
}

/*
 * Whether the thread has a shadow stack. One that never came upon a probe has none, and its script
 * frames are had in another way. A global function, which the verifier looks at once.
 */
__noinline int find_shadow(void);
__noinline int find_shadow(void)
{
	struct scratch *scratch = config.shadow_runtimes ? get_scratch() : 0;
	if (!scratch)
		return 0;
	if (scratch->walk.runtime.shadow == RUNTIME_SHADOW_UNKNOWN)
		begin_shadow(scratch);
	return scratch->walk.runtime.shadow == RUNTIME_SHADOW_FOUND;
}

/* The next frame that was entered below `high`. 0: there is none. */
__noinline int shadow_step(__u64 high);
__noinline int shadow_step(__u64 high)
{
	struct scratch *scratch = config.shadow_runtimes ? get_scratch() : 0;
	const struct shadow_stack *stack = scratch ? find_shadow_stack() : 0;
	if (!stack)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (runtime->shadow_is_cut) {
		runtime->shadow_is_cut = false;
		push_runtime_failure(scratch, LAYOUT_SCRIPT_DEEP);
		return 1;
	}
	__u32 left = runtime->shadow_left;
	if (!left)
		return 0;
	const struct shadow_frame *frame = &stack->frame[(left - 1) & (SHADOW_MAX_FRAMES - 1)];
	if (frame->sp >= high)
		return 0;
	runtime->shadow_left = left - 1;
	if (frame->code)
		push_runtime_word(scratch, frame->code, frame->line);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NAME);
	return 1;
}

#endif

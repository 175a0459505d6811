/*
 * What V8's code on arm64 does at the leaf. node_x86_64.bpf.h has the same functions.
 *
 * A call leaves its return address in x30, and code with a frame begins with stp x29, x30,
 * [sp, #-16]!; mov x29, sp, and ends with ldp x29, x30, [sp], #16.
 *
 * Sources: src/codegen/arm64/macro-assembler-arm64.cc,
 * src/compiler/backend/arm64/code-generator-arm64.cc of V8 10.2, 11.3, 12.4, 13.6; what they come
 * to was seen in Debian's build of 11.3.
 */
#ifndef EBPROF_NODE_ARM64_BPF_H
#define EBPROF_NODE_ARM64_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/node/node_object.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	NODE_FUNCTION_REGISTER = 1, /* x1: functions are called with it */
	/* Between C++'s frame and that which V8 is entered by: d8 to d15, x19 to x28. */
	NODE_ENTRY_SAVED_BYTES = 18 * 8,

	NODE_CODE_ALIGNMENT = 32, /* of where code begins */
	NODE_INSN_BYTES = 4,
	NODE_INSNS = NODE_CODE_BYTES / NODE_INSN_BYTES,

	NODE_PUSH_FRAME = 0xa9bf7bfd,
	NODE_POP_FRAME = 0xa8c17bfd,
	NODE_RET = 0xd65f03c0,
	NODE_JUMP = 0x14000000, /* b */
	NODE_JUMP_MASK = 0xfc000000,
	NODE_CALL = 0x94000000,
	NODE_CALL_REGISTER = 0xd63f0000, /* blr, and which register */
	NODE_JUMP_REGISTER = 0xd61f0000,
	NODE_REGISTER_MASK = 0xfffffc1f,
};

enum node_frame_state {
	NODE_FRAME_IS_MADE,  /* the frame pointer is the code's own */
	NODE_FRAME_IS_NONE,  /* it is the caller's, and the return address is in x30, */
	NODE_FRAME_HAS_LINK, /* ... or both are on top of the stack */
};

static __always_inline __u32 node_insn(const struct node_walk *node, __u32 i)
{
	return ((const __u32 *)node->bytes)[i % NODE_INSNS];
}

/* Whether the code at `from` comes to an instruction before it leads anywhere else. */
static __always_inline bool node_comes_to(const struct node_walk *node, __u32 from, __u32 wanted)
{
	for (__u32 i = from; i < NODE_INSNS; i++) {
		__u32 insn = node_insn(node, i);
		if (insn == wanted)
			return true;
		if (insn == NODE_RET || insn == NODE_POP_FRAME || insn == NODE_PUSH_FRAME ||
			(insn & NODE_JUMP_MASK) == NODE_JUMP ||
			(insn & NODE_REGISTER_MASK) == NODE_JUMP_REGISTER)
			return false;
	}
	return false;
}

/* What is there of the frame of the code at hand where the thread was interrupted. */
__noinline int node_frame_state(__u64 ip);
__noinline int node_frame_state(__u64 ip)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return NODE_FRAME_IS_MADE;
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	if (bpf_probe_read_user(node->bytes, NODE_CODE_BYTES, (const void *)(ip - NODE_INSN_BYTES)))
		return NODE_FRAME_IS_MADE;
	if (node_insn(node, 1) == NODE_PUSH_FRAME || node_insn(node, 0) == NODE_POP_FRAME)
		return NODE_FRAME_IS_NONE;
	if (node_insn(node, 0) == NODE_PUSH_FRAME)
		return NODE_FRAME_HAS_LINK;
	if (node_comes_to(node, 1, NODE_RET))
		return NODE_FRAME_IS_NONE;
	__u64 start = node->code.start;
	if (ip - start >= NODE_CODE_BYTES ||
		bpf_probe_read_user(node->bytes, NODE_CODE_BYTES, (const void *)start))
		return NODE_FRAME_IS_MADE;
	__u32 at = (ip - start) / NODE_INSN_BYTES;
	for (__u32 i = 0; i < NODE_INSNS; i++)
		if (node_insn(node, i) == NODE_PUSH_FRAME)
			return at <= i ? NODE_FRAME_IS_NONE : NODE_FRAME_IS_MADE;
	return NODE_FRAME_IS_MADE;
}

/* To where the return address is, as the state says; the frame pointer is the caller's already. */
static __always_inline enum runtime_leave node_leave_unmade(
	struct walk *walk, enum node_frame_state state)
{
	__u64 sp = walk->regs.reg[UNWIND_SP], ip = walk->regs.reg[UNWIND_RA];
	if (state == NODE_FRAME_HAS_LINK) {
		if (!read_word(sp + 8, &ip))
			return RUNTIME_STAYS;
		sp += 16;
	} else if (!(walk->regs.known >> UNWIND_RA & 1)) {
		return RUNTIME_STAYS;
	}
	walk->regs.ip = without_signature(ip);
	walk->regs.reg[UNWIND_SP] = sp;
	walk->regs.known = 1ULL << UNWIND_SP | 1ULL << UNWIND_FP;
	walk->is_exact = false;
	return RUNTIME_LEFT_UNSEEN;
}

/* ---- builtins ---- */

/*
 * Where a builtin without a frame of its own was called from, as far as x30 says it: behind a call.
 * It may be an older one's, so it counts only if it is in the function's own code. 0: not known.
 */
static __always_inline __u64 node_return_of_builtin(const struct walk *walk)
{
	__u64 address = without_signature(walk->regs.reg[UNWIND_RA]);
	__u32 insn = 0;
	if (!(walk->regs.known >> UNWIND_RA & 1) ||
		bpf_probe_read_user(&insn, sizeof(insn), (const void *)(address - NODE_INSN_BYTES)))
		return 0;
	bool is_call = (insn & NODE_JUMP_MASK) == NODE_CALL ||
		       (insn & NODE_REGISTER_MASK) == NODE_CALL_REGISTER;
	return is_call ? address : 0;
}

/* ---- WebAssembly ---- */

/*
 * Whether a function's code begins with these bytes: stp x29, x30, [sp, #-16]!; mov x29, sp. Or, as
 * its first compiler has it: mov x16, the frame's marker; stp, [sp, #-16]! or, where all of the
 * frame is made at once, [sp, #-32]!. Other code begins like the former, too; but an address in a
 * frame of WebAssembly is behind the beginning of its function, and that makes its frame once.
 * Sources: AssembleConstructFrame() of src/compiler/backend/arm64/code-generator-arm64.cc,
 * EnterFrame() of src/codegen/arm64/macro-assembler-arm64.cc.
 */
static __always_inline bool node_begins_wasm(__u64 head, __u8 type)
{
	const __u32 set_fp = 0x910003fd, set_x16 = 0xd2800010, push_pair = 0xa9800000;
	const __u32 of_push_pair = 0xffc003e0, of_sp = 31 << 5;
	__u32 first = head, second = head >> 32;
	if (first == NODE_PUSH_FRAME)
		return second == set_fp;
	return first == (set_x16 | type * 2U << 5) &&
	       (second & of_push_pair) == (push_pair | of_sp);
}

#endif

/*
 * What V8's code on x86-64 does at the leaf. node_arm64.bpf.h has the same functions.
 *
 * Sources: src/codegen/x64/macro-assembler-x64.cc, src/compiler/backend/x64/code-generator-x64.cc
 * of V8 10.2, 11.3, 12.4, 13.6, 14.6.
 */
#ifndef EBPROF_NODE_X86_64_BPF_H
#define EBPROF_NODE_X86_64_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/node/node_object.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

enum {
	NODE_FUNCTION_REGISTER = 5, /* rdi, by DWARF's numbers: functions are called with it */
	NODE_R10 = 10,

	NODE_CODE_ALIGNMENT = 64,   /* of where code begins */
	NODE_ENTRY_SAVED_BYTES = 0, /* between C++'s frame and that which V8 is entered by */

	NODE_SEARCHED_WORDS = 12, /* of a builtin without a frame: what it may have pushed */
};

/* ---- frames that are half made, or half gone ---- */

enum node_frame_state {
	NODE_FRAME_IS_MADE,   /* the frame pointer is the code's own */
	NODE_FRAME_IS_NONE,   /* it is the caller's; the return address is at the stack's top, */
	NODE_FRAME_HAS_LINK,  /* ... or the second word from there, */
	NODE_FRAME_IS_IN_R10, /* ... or in r10 */
};

/* Bytes 0 to 3 that stand `at`, which may be anywhere: the processor does not mind. */
__attribute__((no_sanitize("alignment"))) static __u32 node_code_bytes(
	const struct node_walk *node, __u32 at)
{
	return *(const __u32 *)(node->bytes + (at & (NODE_CODE_BYTES - 1)));
}

/* [pop rbp] ret; or, where more arguments may have been given than the function takes: cmp rcx,
 * jg, ret; pop r10, lea rsp, push r10, ret. node->bytes begin one ahead. */
static __always_inline enum node_frame_state node_epilogue_state(const struct node_walk *node)
{
	__u32 code = node_code_bytes(node, 1), next = node_code_bytes(node, 5);
	if ((code & 0xfe) == 0xc2)
		return NODE_FRAME_IS_NONE;
	if ((code & 0xffffff) == 0xf98348 && (next & 0xff00ff) == 0xc2007f)
		return NODE_FRAME_IS_NONE;
	if ((code & 0xff00ff) == 0xc2007f)
		return NODE_FRAME_IS_NONE;
	if ((code & 0xffff) == 0x5a41 && code >> 16 == 0x8d48)
		return NODE_FRAME_IS_NONE;
	bool is_dropping = (code == 0xcc648d48 && (next >> 8 & 0xffff) == 0x5241) ||
			   (code == 0xcc248d48 && (next & 0xffff) == 0x5241);
	if (is_dropping)
		return NODE_FRAME_IS_IN_R10;
	return (code & 0xffffff) == 0xc35241 ? NODE_FRAME_IS_IN_R10 : NODE_FRAME_IS_MADE;
}

/* What is there of the frame of the code at hand where the thread was interrupted. */
__noinline int node_frame_state(__u64 ip);
__noinline int node_frame_state(__u64 ip)
{
	enum {
		PUSH_AND_MOVE = 0xe5894855, /* push rbp; mov rbp, rsp */
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	if (!scratch)
		return NODE_FRAME_IS_MADE;
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	if (bpf_probe_read_user(node->bytes, 16, (const void *)(ip - 1)))
		return NODE_FRAME_IS_MADE;
	if (node_code_bytes(node, 1) == PUSH_AND_MOVE)
		return NODE_FRAME_IS_NONE;
	if (node_code_bytes(node, 0) == PUSH_AND_MOVE)
		return NODE_FRAME_HAS_LINK;
	enum node_frame_state state = node_epilogue_state(node);
	__u64 start = node->code.start;
	if (state || ip - start >= NODE_CODE_BYTES ||
		bpf_probe_read_user(node->bytes, NODE_CODE_BYTES, (const void *)start))
		return state;
	for (__u32 i = 0; i + 4 < NODE_CODE_BYTES; i++)
		if (node_code_bytes(node, i) == PUSH_AND_MOVE)
			return ip - start <= i ? NODE_FRAME_IS_NONE : NODE_FRAME_IS_MADE;
	return NODE_FRAME_IS_MADE;
}

/* To where the return address is, as the state says; the frame pointer is the caller's already. */
static __always_inline enum runtime_leave node_leave_unmade(
	struct walk *walk, enum node_frame_state state)
{
	__u64 sp = walk->regs.reg[UNWIND_SP] + (state == NODE_FRAME_HAS_LINK ? 8 : 0);
	__u64 ip = walk->regs.reg[NODE_R10];
	if (state != NODE_FRAME_IS_IN_R10 && !read_word(sp, &ip))
		return RUNTIME_STAYS;
	walk->regs.ip = ip;
	walk->regs.reg[UNWIND_SP] = sp + 8;
	walk->regs.known = 1ULL << UNWIND_SP | 1ULL << UNWIND_FP;
	walk->is_exact = false;
	return RUNTIME_LEFT_UNSEEN;
}

/* ---- builtins ---- */

/*
 * A builtin without a frame of its own was called by the function at hand, whose frame it is on.
 * Where it was called from: the first word from the top of the stack on that a call in the
 * function's own code returns to. What the builtin itself may have pushed are values, no such
 * addresses. 0: this is none.
 */
__noinline int node_is_caller(__u64 at);
__noinline int node_is_caller(__u64 at)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_NODE);
	__u64 address = 0;
	if (!scratch || !read_word(at, &address) || address >> 47 || address >> 16 == 0)
		return 0;
	struct node_walk *node = node_walk(&scratch->walk.runtime);
	if (bpf_probe_read_user(
		    node->bytes, UNWIND_CALL_BYTES, (const void *)(address - UNWIND_CALL_BYTES)) ||
		!unwind_is_call(node->bytes))
		return 0;
	return 1;
}

/* Where the builtin was called from; 0: not found. */
static __always_inline __u64 node_return_of_builtin(const struct walk *walk)
{
	__u64 sp = walk->regs.reg[UNWIND_SP], address = 0;
	bool is_found = false;
	for (int i = 0; i < NODE_SEARCHED_WORDS && !is_found; i++) {
		is_found = node_is_caller(sp + 8 * i);
		address = sp + 8 * i;
	}
	return is_found && read_word(address, &address) ? address : 0;
}

/* ---- WebAssembly ---- */

/*
 * Whether a function's code begins with these bytes: push rbp; mov rbp, rsp; push the frame's
 * marker; push rsi. Or, from V8 13 on, as its first compiler has it: mov r12d, the function's
 * number, or xor r12d, r12d for the first; call. Nothing else is called with that register.
 * Sources: AssembleConstructFrame() of src/compiler/backend/x64/code-generator-x64.cc,
 * CallFrameSetupStub() of src/wasm/baseline/x64/liftoff-assembler-x64-inl.h.
 */
static __always_inline bool node_begins_wasm(__u64 head, __u8 type)
{
	enum {
		MOVE = 0xbc41,
		CALL = 0xe8,
	};
	__u64 prologue = 0x56006ae5894855ULL | (__u64)(type * 2) << 40;
	return head << 8 >> 8 == prologue || (__u32)head == 0xe8e43145 ||
	       ((head & 0xffff) == MOVE && (head >> 48 & 0xff) == CALL);
}

#endif

/*
 * The stack of a thread of HotSpot, and which words of it are return addresses.
 *
 * Sources: src/java/cpu/{x86/frame_x86,aarch64/frame_aarch64}.hpp of JDK 11, 17, 21, 25.
 */
#ifndef EBPROF_JAVA_STACK_BPF_H
#define EBPROF_JAVA_STACK_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/java/java_blob.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

enum {
	JAVA_MAX_STACK = 1 << 24,
	JAVA_MAX_DISTANCE = 1 << 20, /* from the stack pointer to a frame pointer */

	/* Words of an interpreter's frame, the first of which is 9 below the frame pointer. */
	JAVA_FRAME_BELOW = 72,
#if defined(__TARGET_ARCH_x86)
	JAVA_FRAME_BYTECODE = 1,
	JAVA_SHARES_STACK = false,
#elif defined(__TARGET_ARCH_arm64)
	JAVA_FRAME_BYTECODE = 0,
	/* An interpreted method has its frame where its caller, interpreted too, may still push:
	 * above that one's stack pointer. */
	JAVA_SHARES_STACK = true,
#endif
	JAVA_FRAME_METHOD = 6,
	JAVA_FRAME_SENDER = 8, /* the caller's stack pointer */
	JAVA_FRAME_LINK = 9,
	JAVA_FRAME_RETURN = 10,
};

/* ---- the stack ---- */

/* Reads a word of the stack to java->word. 0: it cannot be read. A global function, since the
 * verifier looks at it once. */
__noinline int java_read(__u64 address);
__noinline int java_read(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	return !read_stack(walk, address, &java_walk(&walk->runtime)->word);
}

static __always_inline bool java_read_to(const struct java_walk *java, __u64 address, __u64 *ret)
{
	if (!java_read(address))
		return false;
	*ret = java->word;
	return true;
}

/* ---- return addresses ---- */

/* Whether a call ends where the code at hand was asked for. */
static __always_inline bool java_is_behind_call(const struct java_walk *java)
{
	return unwind_is_call(java->bytes + JAVA_CODE_BEHIND - UNWIND_CALL_BYTES);
}

/* Whether a frame may return there: behind a call, or where the virtual machine lets it. */
__noinline int java_is_return(__u64 address);
__noinline int java_is_return(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct java_walk *java = java_walk(&scratch->walk.runtime);
	address = without_signature(address);
	/* The next frame wants what comes behind, too. */
	if (!java_read_code(java, address))
		return 0;
	if (java_is_behind_call(java))
		return 1;
	const struct java_row *row = java_row(&scratch->walk.runtime);
	__u64 blob = java_find_blob(address), handler = 0;
	if (!blob)
		return 0;
	__u64 name = java_name_of(row, blob);
	enum java_blob_kind kind = java_kind_of(name);
	if (kind == JAVA_INTERPRETER || kind == JAVA_STUBS ||
		name == JAVA_NAME('D', 'e', 'o', 'p', 't', 'i', 'm', 'i'))
		return 1;
	if (kind != JAVA_COMPILED || row->deopt_handler >= JAVA_BLOB_BYTES ||
		!read_word((blob + row->deopt_handler) & ~7ULL, &handler))
		return 0;
	if (row->flags & JAVA_DEOPT_IS_POINTER)
		return address == handler;
	return address == blob + (__u32)(row->deopt_handler & 4 ? handler >> 32 : handler);
}

/* To where what stands on the stack leads; false: that is no return address. */
static __always_inline bool java_try_return(const struct java_walk *java, __u64 at, __u64 *ret)
{
	return java_read_to(java, at, ret) && java_is_return(*ret);
}

/* ---- frames ---- */

/* Leaves a frame of so many words above `sp`, in which the frame pointer was saved first. */
static __always_inline bool java_leave_words(struct java_walk *java, __u64 sp, __u64 words)
{
	java->next_sp = sp + 8 * words;
	return java_read_to(java, java->next_sp - 16, &java->next_fp) &&
	       java_read_to(java, java->next_sp - 8, &java->next_ip);
}

/* By the frame pointer; false: it leads to no return address. */
static __always_inline bool java_leave_by_fp(struct walk *walk, struct java_walk *java)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP];
	java->next_sp = fp + 16;
	return fp >= sp && fp - sp < JAVA_MAX_DISTANCE && java_read_to(java, fp, &java->next_fp) &&
	       java_try_return(java, fp + 8, &java->next_ip);
}

/* The frame that the frame pointer points to, if it is one. */
static __always_inline bool java_read_frame(struct walk *walk, struct java_walk *java)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP];
	if (fp + 16 < sp || fp - sp + 16 > JAVA_MAX_DISTANCE ||
		!read_stack_words(walk, fp - JAVA_FRAME_BELOW, java->frame, sizeof(java->frame)))
		return false;
	if (JAVA_SHARES_STACK && java->frame[JAVA_FRAME_SENDER] <= fp)
		java->frame[JAVA_FRAME_SENDER] = fp + 16;
	return java->frame[JAVA_FRAME_SENDER] > fp;
}

#endif

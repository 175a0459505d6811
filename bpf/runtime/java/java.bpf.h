/*
 * HotSpot: Java's methods as they are interpreted and as they are compiled, and what stands between
 * them. All of it is generated code, in no file. Each frame is left by what the virtual machine
 * itself goes by: compiled code by its frame's size, the interpreter's by its frame pointer; at the
 * leaf, where the frame may be half made or half gone, by the instructions around it.
 *
 * Sources: those of java_x86_64.bpf.h and java_arm64.bpf.h, which have what differs between the
 * machines.
 */
#ifndef EBPROF_JAVA_BPF_H
#define EBPROF_JAVA_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/java/java_blob.bpf.h"
#include "bpf/runtime/java/java_code.bpf.h"
#include "bpf/runtime/java/java_stack.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

#if defined(__TARGET_ARCH_x86)
#include "bpf/runtime/java/java_x86_64.bpf.h"
#elif defined(__TARGET_ARCH_arm64)
#include "bpf/runtime/java/java_arm64.bpf.h"
#endif

enum {
	JAVA_MAX_FRAME_WORDS = 1 << 16,
	JAVA_MAX_PUSHED = 6, /* words that compiled code may have pushed for a while */

	JAVA_ENTRY_FP = 64, /* of a ContinuationEntry: where the carrier goes on */
	JAVA_ENTRY_RETURN = 72,
	JAVA_ENTRY_BYTES = 80,
};

/* ---- frames of compiled code ---- */

/* A caller's frame. What it had pushed for its callee comes first, then what is below it. */
__noinline int java_leave_return(void);
__noinline int java_leave_return(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], words = java->frame_words;
	if (words > JAVA_MAX_FRAME_WORDS)
		return 0;
	if (!words) /* linkers of method handles */
		return java_leave_call(walk, java);
	bool has_code = java->bytes_address == walk->regs.ip || java_read_code(java, walk->regs.ip);
	__u32 pushed = has_code ? java_pops(java) : 0;
	for (__u32 i = 0; i <= JAVA_MAX_PUSHED + 1; i++) {
		__u64 more = i ? i - 1 : pushed;
		if (java_leave_words(java, sp, words + more) && java_is_return(java->next_ip))
			return 1;
	}
	return java_leave_words(java, sp, words);
}

/* 1: the leaf is in the midst of its code, which may have pushed some words for a while. */
__noinline int java_leave_body(void);
__noinline int java_leave_body(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], words = java->frame_words;
	if (words > JAVA_MAX_FRAME_WORDS)
		return 0;
	for (__u32 more = 0; more <= JAVA_MAX_PUSHED; more++) {
		if (words + more < 2) {
			if (java_try_call(walk, java))
				return 1;
			continue;
		}
		if (java_leave_words(java, sp, words + more) && java_is_return(java->next_ip))
			return 1;
	}
	return 0;
}

/* ---- code that says little of its frame ---- */

/* A frame of stubs that has called others. */
static __always_inline bool java_leave_stub_frame(
	struct walk *walk, const struct java_row *row, struct java_walk *java)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP], call_stub = 0;
	read_word(row->call_stub_return - walk->runtime.delta, &call_stub);
	java->next_extra = 0;
	if (walk->regs.ip != call_stub && java_read_code(java, walk->regs.ip) &&
		java_is_carriers(java)) {
		/* Behind a virtual thread's last frame on this stack: the carrier is next. */
		java->next_sp = sp + JAVA_ENTRY_BYTES;
		return java_read_to(java, sp + JAVA_ENTRY_FP, &java->next_fp) &&
		       java_read_to(java, sp + JAVA_ENTRY_RETURN, &java->next_ip);
	}
	if (JAVA_CALL_STUB_EXTRA != 0 && walk->regs.ip == call_stub)
		java_read_to(java, fp + JAVA_CALL_STUB_EXTRA, &java->next_extra);
	java->next_sp = fp + 16;
	if (fp < sp || !java_read_to(java, fp, &java->next_fp) ||
		!java_read_to(java, fp + 8, &java->next_ip))
		return false;
	if (java->next_ip + 1) /* else it is the barrier at a method's entry */
		return true;
	java->next_sp = fp + 24;
	return java_read_to(java, fp + 16, &java->next_ip);
}

/* Of a size that it says, but at the leaf only when all of it is there. */
__noinline int java_leave_sized(void);
__noinline int java_leave_sized(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], words = java->frame_words;
	__u64 fp = walk->regs.reg[UNWIND_FP];
	if (!walk->is_exact)
		return java_leave_words(java, sp, words);
	if (fp >= sp && fp < sp + 8 * words && java_leave_by_fp(walk, java))
		return 1;
	return java_leave_body() || java_try_call(walk, java);
}

/* ---- the interpreter ---- */

/* Where in its method a bytecode is; 0 also where it is not known. */
static __always_inline __u32 java_place_of(
	const struct java_row *row, const struct java_walk *java, __u64 bytecode)
{
	__u64 place = bytecode - java_bytecodes(row, java);
	return place < java->bytecode_bytes ? place : 0;
}

/*
 * Makes the method of the frame at hand that at hand. False: while compiled code is given up,
 * frames of the interpreter stand in its place that have what was on the stack before where their
 * methods will be. A caller's frame has a place among the method's bytecodes, but that of a native
 * one.
 */
static __always_inline bool java_take_frames_method(
	struct walk *walk, const struct java_row *row, struct java_walk *java)
{
	__u64 bytecode = java->frame[JAVA_FRAME_BYTECODE];
	if (java_take_known_method(java->frame[JAVA_FRAME_METHOD], bytecode))
		return true;
	if (!java_take_method(java->frame[JAVA_FRAME_METHOD]))
		return false;
	if (walk->is_exact || !bytecode ||
		bytecode - java_bytecodes(row, java) <= java->bytecode_bytes)
		return true;
	java->method = 0;
	return false;
}

/* 1: the frame at hand is the interpreter's; its method is, too, or 0. */
__noinline int java_leave_interpreter(void);
__noinline int java_leave_interpreter(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	const struct java_row *row = java_row(&walk->runtime);
	struct java_walk *java = java_walk(&walk->runtime);
	java->place = 0;
	if (walk->is_exact && (java_leave_entry() || java_leave_exit()))
		return 1;
	if (!java_read_frame(walk, java))
		return 0;
	bool has_method = java_take_frames_method(walk, row, java);
	if (!has_method && (walk->is_exact || !java_is_return(java->frame[JAVA_FRAME_RETURN])))
		return 0;
	__u64 bytecode = java->frame[JAVA_FRAME_BYTECODE];
	if (walk->is_exact && walk->regs.known >> JAVA_BYTECODE_REGISTER & 1 &&
		java_place_of(row, java, walk->regs.reg[JAVA_BYTECODE_REGISTER]))
		bytecode = walk->regs.reg[JAVA_BYTECODE_REGISTER];
	java->place = has_method ? java_place_of(row, java, bytecode) : 0;
	java->next_ip = java->frame[JAVA_FRAME_RETURN];
	java->next_fp = java->frame[JAVA_FRAME_LINK];
	java->next_sp = java->frame[JAVA_FRAME_SENDER];
	return 1;
}

/* ---- the step ---- */

/* Of a compiled method: 1 when next_ip and what goes with it are set. */
static __always_inline bool java_leave_method(struct walk *walk, const struct java_walk *java)
{
	if (!walk->is_exact)
		return java_leave_return();
	if (java_leave_epilogue())
		return true;
	if (java->kind == JAVA_NATIVE)
		return java_is_whole_native(walk, java) ? java_leave_body() : java_leave_sized();
	return java_leave_prologue() || java_leave_body();
}

static __always_inline bool java_leave_other(
	struct walk *walk, const struct java_row *row, struct java_walk *java)
{
	if (java->kind == JAVA_STUBS && !walk->is_exact)
		return java_leave_stub_frame(walk, row, java);
	if (java->kind == JAVA_UPCALL && !walk->is_exact)
		return java_leave_by_fp(walk, java);
	if (walk->is_exact && java_leave_epilogue())
		return true;
	if (java->kind == JAVA_TABLE || java->kind == JAVA_ADAPTERS ||
		java->kind == JAVA_METHOD_HANDLES || (java->frame_words <= 0 && !walk->is_exact) ||
		(!java->frame_words && java->kind == JAVA_OTHER)) /* called by C++, as cpuid is */
		return java_leave_top();
	if (java->kind == JAVA_STUBS || java->frame_words <= 0)
		return java_leave_stub();
	return java_leave_sized();
}

/* Where in the code of the method at hand its frame is: behind a call, or right there. */
static __always_inline __u32 java_compiled_place(
	struct walk *walk, const struct java_row *row, struct java_walk *java)
{
	__u64 place = walk->regs.ip;
	if (walk->is_exact)
		return ((place - java->code) & (RUNTIME_FRAME_IS_LEAF - 1)) | RUNTIME_FRAME_IS_LEAF;
	/* Its code is not to be used any more: the frame has where it would have gone on. */
	if (place == java_deopt_handler(row, java) && row->original_pc < JAVA_BLOB_BYTES)
		java_read_to(java,
			walk->regs.reg[UNWIND_SP] + java_blob_u32(java, row->original_pc), &place);
	return (place - java->code) & (RUNTIME_FRAME_IS_LEAF - 1);
}

/* Where in the code of a stub its frame is: a call may be the last that it does. */
static __always_inline __u32 java_stub_place(const struct walk *walk, const struct java_walk *java)
{
	__u64 place = walk->regs.ip - java->code;
	return walk->is_exact ? (place & (RUNTIME_FRAME_IS_LEAF - 1)) | RUNTIME_FRAME_IS_LEAF
			      : (place - 1) & (RUNTIME_FRAME_IS_LEAF - 1);
}

/* What is at hand is of another walk. */
static __always_inline void java_forget_walk(struct java_walk *java)
{
	java->at = 0;
	java->bytes_address = 0;
	java->checked_constants = 0;
	java->stops = 0;
}

/* The row of the process's HotSpot is the walk's from now on; false: it has none. */
static __always_inline bool java_take_process(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (!take_known_runtime(scratch, RUNTIME_JAVA))
		return false;
	if (!runtime->has_thread)
		java_forget_walk(java_walk(runtime));
	runtime->has_thread = true;
	if (java_row(runtime)->is_complete)
		return true;
	runtime->file = runtime->row.kind = 0; /* it is to be taken once more */
	ask_to_complete(scratch, RUNTIME_JAVA);
	return false;
}

static __always_inline bool java_claims_anonymous(struct scratch *scratch)
{
	return !scratch->walk.mapping.file && (scratch->walk.runtime.row.kind == RUNTIME_JAVA ||
						      find_known_runtime(scratch, RUNTIME_JAVA));
}

static __always_inline enum runtime_leave java_leave_jit(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	if (!java_take_process(scratch) || !java_take_blob(walk->regs.ip))
		return RUNTIME_STAYS;
	const struct java_row *row = java_row(&walk->runtime);
	java->next_extra = 0;
	java->place = walk->regs.ip - java->code;
	java->method = 0;
	/* It may be giving up compiled code: frames may not have their methods yet, but those that
	 * were there before, which nothing keeps. */
	if (java->kind == JAVA_OTHER)
		java->stops = JAVA_STOPS_UNKNOWN;
	bool is_left = java->kind == JAVA_INTERPRETER ? java_leave_interpreter()
		       : java_is_method(java)         ? java_leave_method(walk, java)
						      : java_leave_other(walk, row, java);
	__u64 sp = walk->regs.reg[UNWIND_SP];
	if (!is_left || java->next_sp < sp || java->next_sp - sp > JAVA_MAX_STACK)
		return RUNTIME_STAYS;
	if (java->kind == JAVA_COMPILED && row->flags & JAVA_HAS_SCOPES) {
		java_push_compiled(java_compiled_place(walk, row, java));
		java->method = 0; /* it is pushed */
	} else if (java_is_method(java)) {
		java->place = 0; /* in the bytecodes: there are none, or they are not known */
		java_take_method(java_blob_u64(java, row->compiled_method));
	}
	if (java->method)
		java_push_method(java->place);
	else if (java->kind != JAVA_COMPILED && (java->kind != JAVA_INTERPRETER || !walk->is_exact))
		java_push_stub(java_stub_place(walk, java));
	walk->regs.ip = without_signature(java->next_ip);
	walk->regs.reg[UNWIND_SP] = java->next_sp;
	walk->regs.reg[UNWIND_FP] = java->next_fp;
	walk->regs.reg[UNWIND_EXTRA] = java->next_extra;
	walk->regs.known = 1ULL << UNWIND_SP | 1ULL << UNWIND_FP |
			   (java->next_extra ? 1ULL << UNWIND_EXTRA : 0);
	walk->is_exact = false;
	return RUNTIME_LEFT_UNSEEN;
}

/* ---- the row ---- */

static const struct runtime_hooks java_hooks = {
	.has_compiler = true,
	.claims_anonymous = java_claims_anonymous,
	.leave_jit = java_leave_jit,
};

#endif

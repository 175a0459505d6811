/*
 * HotSpot: Java's methods as they are interpreted and as they are compiled, and what stands between
 * them. All of it is generated code, in no file. Each frame is left by what the virtual machine
 * itself goes by: compiled code by its frame's size, the interpreter's by its frame pointer; at the
 * leaf, where the frame may be half made or half gone, by the instructions around it.
 *
 * Sources: src/java/cpu/x86/{frame_x86,templateInterpreterGenerator_x86,stubGenerator_x86_64,
 * sharedRuntime_x86_64}.cpp, x86_64.ad of JDK 11, 17, 21, 25; what they come to was seen in
 * Debian's builds of these.
 */
#ifndef EBPROF_JAVA_BPF_H
#define EBPROF_JAVA_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/java/java_blob.bpf.h"
#include "bpf/runtime/java/java_code.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

enum {
	JAVA_RAX = 0, /* DWARF's numbers */
	JAVA_RBX = 3,
	JAVA_R13 = 13,

	JAVA_MAX_FRAME_WORDS = 1 << 16,
	JAVA_MAX_PUSHED = 6, /* words that compiled code may have pushed for a while */
	JAVA_MAX_STACK = 1 << 24,
	JAVA_MAX_DISTANCE = 1 << 20, /* from the stack pointer to a frame pointer */

	/* Words of an interpreter's frame, the first of which is 9 below the frame pointer. */
	JAVA_FRAME_BELOW = 72,
	JAVA_FRAME_BYTECODE = 1,
	JAVA_FRAME_METHOD = 6,
	JAVA_FRAME_SENDER = 8, /* the caller's stack pointer */
	JAVA_FRAME_LINK = 9,
	JAVA_FRAME_RETURN = 10,

	JAVA_CALL_STUB_RBX = -56, /* from the frame pointer */
	JAVA_ENTRY_FP = 64,       /* of a ContinuationEntry: where the carrier goes on */
	JAVA_ENTRY_RETURN = 72,
	JAVA_ENTRY_BYTES = 80,
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

/* Whether a frame may return there: behind a call, or where the virtual machine lets it. */
__noinline int java_is_return(__u64 address);
__noinline int java_is_return(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct java_walk *java = java_walk(&scratch->walk.runtime);
	/* The next frame wants what comes behind, too. */
	if (!java_read_code(java, address))
		return 0;
	if (unwind_is_call(java->bytes + JAVA_CODE_BEHIND - UNWIND_CALL_BYTES))
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

/* ---- frames of compiled code ---- */

/* Leaves a frame of so many words above `sp`, in which the frame pointer was saved first. */
static __always_inline bool java_leave_words(struct java_walk *java, __u64 sp, __u64 words)
{
	java->next_sp = sp + 8 * words;
	return java_read_to(java, java->next_sp - 16, &java->next_fp) &&
	       java_read_to(java, java->next_sp - 8, &java->next_ip);
}

/* How many words the code at `at` takes off the stack first of all: those its call was given. */
static __always_inline __u32 java_pops(const struct java_walk *java)
{
	const __u8 *code = java->bytes;
	__u32 at = JAVA_CODE_BEHIND, words = 0;
	for (int i = 0; i < 4; i++) {
		__u8 is_extended = code[at & 63] == 0x41;
		__u8 op = code[(at + is_extended) & 63];
		if ((op & 0xf8) != 0x58 || (!is_extended && op == 0x5d))
			break;
		words++;
		at += 1 + is_extended;
	}
	return words;
}

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
	if (!words) { /* linkers of method handles */
		java->next_fp = walk->regs.reg[UNWIND_FP];
		java->next_sp = sp + 8;
		return java_read_to(java, sp, &java->next_ip);
	}
	bool has_code = java->bytes_address == walk->regs.ip || java_read_code(java, walk->regs.ip);
	__u32 pushed = has_code ? java_pops(java) : 0;
	for (__u32 i = 0; i <= JAVA_MAX_PUSHED + 1; i++) {
		__u64 more = i ? i - 1 : pushed;
		if (java_leave_words(java, sp, words + more) && java_is_return(java->next_ip))
			return 1;
	}
	return java_leave_words(java, sp, words);
}

/* ---- the leaf ---- */

/* An epilogue at the leaf, as far as its instructions lead on: what is left of the frame. */
struct java_epilogue {
	__u64 sp;       /* behind what is taken off */
	__u64 saved_fp; /* where the frame pointer is taken from; 0: it is the caller's already */
	__u32 at;       /* the byte at hand */
};

static __always_inline __u8 java_byte(const struct java_walk *java, __u32 at)
{
	return java->bytes[at & (JAVA_CODE_BYTES - 1)];
}

/* Four bytes at once, which may stand anywhere: the processor does not mind. */
__attribute__((no_sanitize("alignment"))) static __u32 java_u32(
	const struct java_walk *java, __u32 at)
{
	return *(const __u32 *)(java->bytes + (at & (JAVA_CODE_BYTES - 1)));
}

/* [vzeroupper] [add rsp] [pop rbp] */
static __always_inline void java_take_epilogue(
	const struct java_walk *java, struct java_epilogue *ret)
{
	if ((java_u32(java, ret->at) & 0xffffff) == 0x77f8c5)
		ret->at += 3;
	__u32 add = java_u32(java, ret->at) & 0xffffff;
	if (add == 0xc48348) {
		ret->sp += java_byte(java, ret->at + 3);
		ret->at += 4;
	} else if (add == 0xc48148) {
		ret->sp += java_u32(java, ret->at + 3);
		ret->at += 7;
	}
	if (java_byte(java, ret->at) == 0x5d) {
		ret->saved_fp = ret->sp;
		ret->sp += 8;
		ret->at++;
	}
}

/* Whether the method is left there: by ret, by the poll ahead of it, or by a jump elsewhere. */
static __always_inline bool java_is_left(
	const struct java_walk *java, __u64 pc, __u32 at, bool is_epilogue)
{
	__u32 code = java_u32(java, at), three = code & 0xffffff;
	if ((code & 0xff) == 0xc3)
		return true;
	if ((code & 0xffff) == 0x870f && java_byte(java, at + 6) == 0xc3)
		return true; /* ja; ret */
	if ((code & 0xff00ff) == 0xc30077)
		return true;
	if (code == 0xc3028541)
		return true; /* test (r10), eax; ret: until JDK 15 */
	if (three == 0x978b4d && (java_u32(java, at + 7) & 0xffff) == 0x8541)
		return true; /* mov poll(r15), r10, ahead of that */
	if (!is_epilogue)
		return false;
	if (three == 0x673b49 || three == 0xa73b49)
		return true; /* cmp poll(r15), rsp */
	if ((code & 0xffff) == 0xe3ff || three == 0xe2ff41)
		return true;
	__u64 target = pc + (at - JAVA_CODE_BEHIND) + 5 + (__s64)(__s32)java_u32(java, at + 1);
	return (code & 0xff) == 0xe9 && (target < java->code || target >= java->end);
}

/* The poll ahead of a return has a piece of its own: lea x(rip), r10; mov r10, y(r15); jmp. */
static __always_inline bool java_is_return_poll(const struct java_walk *java, __u64 pc, __u32 at)
{
	__u16 poll = 0;
	if ((java_u32(java, at) & 0xffffff) != 0x158d4c ||
		(java_u32(java, at + 7) & 0xffffff) != 0x97894d || java_byte(java, at + 14) != 0xe9)
		return false;
	__u64 place = pc + at - JAVA_CODE_BEHIND + 7 + (__s64)(__s32)java_u32(java, at + 3);
	return !bpf_probe_read_user(&poll, sizeof(poll), (const void *)place) &&
	       (poll == 0x3b49 || poll == 0x870f);
}

/* 1: the leaf is in an epilogue, and its caller is next. */
__noinline int java_leave_epilogue(void);
__noinline int java_leave_epilogue(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	__u64 pc = walk->regs.ip;
	if (!java_read_code(java, pc))
		return 0;
	struct java_epilogue epilogue = {.sp = walk->regs.reg[UNWIND_SP], .at = JAVA_CODE_BEHIND};
	java_take_epilogue(java, &epilogue);
	bool is_epilogue =
		epilogue.at != JAVA_CODE_BEHIND || java_byte(java, JAVA_CODE_BEHIND - 1) == 0x5d;
	bool is_left = java_is_left(java, pc, epilogue.at, is_epilogue) ||
		       java_is_return_poll(java, pc, JAVA_CODE_BEHIND) ||
		       java_is_return_poll(java, pc, JAVA_CODE_BEHIND - 7) ||
		       java_is_return_poll(java, pc, JAVA_CODE_BEHIND - 14);
	if (!is_left)
		return 0;
	java->next_fp = walk->regs.reg[UNWIND_FP];
	java->next_sp = epilogue.sp + 8;
	return (!epilogue.saved_fp || java_read_to(java, epilogue.saved_fp, &java->next_fp)) &&
	       java_read_to(java, epilogue.sp, &java->next_ip);
}

/* The length of a nop; 0: it is none. Intel SDM, volume 2, "NOP". */
static __always_inline __u32 java_nop(const struct java_walk *java, __u32 at)
{
	__u8 a = java_byte(java, at), b = java_byte(java, at + 1);
	if (a == 0x90)
		return 1;
	if (a == 0x66 && b == 0x90)
		return 2;
	__u32 prefix = a == 0x66;
	at += prefix;
	if (java_byte(java, at) != 0x0f || java_byte(java, at + 1) != 0x1f)
		return 0;
	__u8 form = java_byte(java, at + 2);
	__u32 length = form == 0x00   ? 3
		       : form == 0x40 ? 4
		       : form == 0x44 ? 5
		       : form == 0x80 ? 7
		       : form == 0x84 ? 8
				      : 0;
	return length ? length + prefix : 0;
}

/*
 * One instruction of the prologue at hand. 0: it is none of that. A global function, since the
 * verifier looks at it once.
 */
__noinline int java_advance_prologue(void);
__noinline int java_advance_prologue(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct java_walk *java = java_walk(&scratch->walk.runtime);
	struct java_prologue *prologue = &java->prologue;
	__u32 code = java_u32(java, prologue->at), bytes = 0;
	__u32 three = code & 0xffffff;
	if (three == 0x248489) {
		bytes = 7; /* mov eax, -x(rsp): touches the stack's end */
	} else if ((code & 0xff) == 0x55) {
		bytes = 1; /* push rbp */
		prologue->words = 2;
		prologue->has_fp = true;
	} else if (three == 0xec8b48) {
		bytes = 3; /* mov rsp, rbp */
	} else if (three == 0xec8348 || three == 0xec8148) {
		bytes = three == 0xec8348 ? 4 : 7; /* sub x, rsp */
		prologue->words = java->frame_words;
	} else if (code == 0x246c8948 || code == 0x24ac8948) {
		bytes = code == 0x246c8948 ? 5 : 8; /* mov rbp, x(rsp) */
		prologue->words = java->frame_words;
		prologue->has_fp = true;
	} else {
		bytes = java_nop(java, prologue->at);
	}
	prologue->at += bytes;
	return bytes;
}

/*
 * 1: the leaf is in a prologue, and its caller is next. Ahead of the verified entry, where the
 * receiver's class is checked, there is no frame either.
 */
__noinline int java_leave_prologue(void);
__noinline int java_leave_prologue(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	struct java_prologue *prologue = &java->prologue;
	__u64 entry = java_entry(java_row(&walk->runtime), java), pc = walk->regs.ip;
	if (pc >= entry + JAVA_CODE_BYTES ||
		bpf_probe_read_user(java->bytes, JAVA_CODE_BYTES, (const void *)entry))
		return 0;
	java->bytes_address = 0;
	prologue->at = 0;
	prologue->words = 1;
	prologue->has_fp = false;
	for (int i = 0; i < 10 && pc > entry && prologue->at < pc - entry; i++)
		if (!java_advance_prologue())
			return 0;
	if (prologue->words == (__u32)java->frame_words && prologue->has_fp)
		return 0;
	java->next_fp = walk->regs.reg[UNWIND_FP];
	java->next_sp = walk->regs.reg[UNWIND_SP] + 8ULL * prologue->words;
	return (!prologue->has_fp || java_read_to(java, java->next_sp - 16, &java->next_fp)) &&
	       java_read_to(java, java->next_sp - 8, &java->next_ip);
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
			java->next_fp = walk->regs.reg[UNWIND_FP];
			java->next_sp = sp + 8;
			if (java_try_return(java, sp, &java->next_ip))
				return 1;
			continue;
		}
		if (java_leave_words(java, sp, words + more) && java_is_return(java->next_ip))
			return 1;
	}
	return 0;
}

/* ---- code that says little of its frame ---- */

/* By the frame pointer; false: it leads to no return address. */
static __always_inline bool java_leave_by_fp(struct walk *walk, struct java_walk *java)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP];
	java->next_sp = fp + 16;
	return fp >= sp && fp - sp < JAVA_MAX_DISTANCE && java_read_to(java, fp, &java->next_fp) &&
	       java_try_return(java, fp + 8, &java->next_ip);
}

/* Whether the call ahead of a return address went to the blob at hand. 0: it is not known. */
__noinline int java_calls_blob(__u64 address);
__noinline int java_calls_blob(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	enum {
		MOVE_AND_CALL = 13, /* mov target, r10; call r10 */
		CALL = 5,
	};
	__u8 code[MOVE_AND_CALL];
	__u64 target = 0;
	if (!scratch ||
		bpf_probe_read_user(code, sizeof(code), (const void *)(address - sizeof(code))))
		return 0;
	const struct java_walk *java = java_walk(&scratch->walk.runtime);
	if (code[MOVE_AND_CALL - CALL] == 0xe8) {
		__s32 distance = 0;
		__builtin_memcpy(&distance, code + MOVE_AND_CALL - CALL + 1, sizeof(distance));
		target = address + distance;
	} else if (code[0] == 0x49 && code[1] == 0xba && code[10] == 0x41 && code[11] == 0xff &&
		   code[12] == 0xd2) {
		__builtin_memcpy(&target, code + 2, sizeof(target));
	}
	return target && target >= java->code && target < java->end;
}

/* The caller of the blob at hand: by the frame pointer, or near the top of the stack. */
__noinline int java_leave_stub(void);
__noinline int java_leave_stub(void)
{
	enum {
		SEARCHED_WORDS = 12,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], fp = walk->regs.reg[UNWIND_FP], address = 0;
	bool has_frame = java_leave_by_fp(walk, java);
	if (has_frame && java_calls_blob(java->next_ip))
		return 1;
	for (__u32 i = 0; i < SEARCHED_WORDS; i++) {
		if (!java_read_to(java, sp + i * 8, &address) || !java_calls_blob(address))
			continue;
		java->next_ip = address;
		java->next_sp = sp + i * 8 + 8;
		java->next_fp = fp;
		if (i && fp != sp + i * 8 - 8) /* it was saved first, and is used for something */
			return 1;
		if (i)
			java_read_to(java, sp + i * 8 - 8, &java->next_fp);
		return 1;
	}
	if (has_frame)
		return java_leave_by_fp(walk, java);
	java->next_fp = fp;
	java->next_sp = sp + 8;
	return java_try_return(java, sp, &java->next_ip);
}

/* The first word of the stack's top that is a return address: adapters have pushed little. */
__noinline int java_leave_top(void);
__noinline int java_leave_top(void)
{
	enum {
		SEARCHED_WORDS = 8,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP];
	java->next_fp = walk->regs.reg[UNWIND_FP];
	for (__u32 i = 0; i < SEARCHED_WORDS; i++) {
		java->next_sp = sp + i * 8 + 8;
		if (java_try_return(java, sp + i * 8, &java->next_ip))
			return 1;
	}
	java->next_sp = sp;
	java->next_ip = walk->regs.reg[JAVA_RAX];
	return walk->regs.known >> JAVA_RAX & 1 && java_is_return(java->next_ip);
}

/* A frame of stubs that has called others. */
static __always_inline bool java_leave_stub_frame(
	struct walk *walk, const struct java_row *row, struct java_walk *java)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP], call_stub = 0;
	read_word(row->call_stub_return - walk->runtime.delta, &call_stub);
	java->next_extra = 0;
	if (walk->regs.ip != call_stub && java_read_code(java, walk->regs.ip) &&
		java_byte(java, JAVA_CODE_BEHIND) == 0x49 &&
		java_byte(java, JAVA_CODE_BEHIND + 1) == 0x8b &&
		java_byte(java, JAVA_CODE_BEHIND + 2) == 0xa7) {
		/* Behind a virtual thread's last frame on this stack: the carrier is next. */
		java->next_sp = sp + JAVA_ENTRY_BYTES;
		return java_read_to(java, sp + JAVA_ENTRY_FP, &java->next_fp) &&
		       java_read_to(java, sp + JAVA_ENTRY_RETURN, &java->next_ip);
	}
	if (walk->regs.ip == call_stub)
		java_read_to(java, fp + JAVA_CALL_STUB_RBX, &java->next_extra);
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
	if (java_leave_body())
		return 1;
	java->next_fp = fp;
	java->next_sp = sp + 8;
	return java_try_return(java, sp, &java->next_ip);
}

/* ---- the interpreter ---- */

/* The frame that the frame pointer points to, if it is one. */
static __always_inline bool java_read_frame(struct walk *walk, struct java_walk *java)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP];
	if (fp + 16 < sp || fp - sp + 16 > JAVA_MAX_DISTANCE ||
		bpf_probe_read_user(
			java->frame, sizeof(java->frame), (const void *)(fp - JAVA_FRAME_BELOW)))
		return false;
	return java->frame[JAVA_FRAME_SENDER] > fp;
}

/* Where in its method a bytecode is; 0 also where it is not known. */
static __always_inline __u32 java_place_of(
	const struct java_row *row, const struct java_walk *java, __u64 bytecode)
{
	__u64 place = bytecode - java_bytecodes(row, java);
	return place < java_method_u16(java, row->bytecode_bytes) ? place : 0;
}

/*
 * A method that is being entered: there is no frame yet, or half of one. Its caller's stack
 * pointer is in r13 until the frame has it, and then the place in the bytecodes; the method is in
 * rbx. The return address is on top of the stack, but for a while in rax.
 */
__noinline int java_leave_entry(void);
__noinline int java_leave_entry(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], fp = walk->regs.reg[UNWIND_FP];
	__u64 sender = walk->regs.reg[JAVA_R13], filled = fp - sp;
	bool has_sender = sender > sp && sender - sp < JAVA_MAX_DISTANCE;
	if (!(walk->regs.known >> JAVA_R13 & 1) || !(walk->regs.known >> JAVA_RBX & 1))
		return 0;
	if (filled < JAVA_FRAME_BELOW && !(filled & 7) &&
		java_try_return(java, fp + 8, &java->next_ip) &&
		java_read_to(java, fp, &java->next_fp) &&
		(has_sender || (filled && java_read_to(java, fp - 8, &sender))) && sender > fp &&
		java_take_method(walk->regs.reg[JAVA_RBX])) {
		java->next_sp = sender;
		return 1;
	}
	if (!has_sender || !java_take_method(walk->regs.reg[JAVA_RBX]))
		return 0;
	java->next_sp = sender;
	java->next_fp = fp;
	if (java_try_return(java, sp, &java->next_ip))
		return 1;
	if (java_read_to(java, sp, &java->next_fp) &&
		java_try_return(java, sp + 8, &java->next_ip) && java->next_fp > sp)
		return 1; /* behind push rbp */
	java->next_fp = fp;
	java->next_ip = walk->regs.reg[JAVA_RAX];
	return java_is_return(java->next_ip);
}

/* Whether bytes of the code at hand stand as in `what`. The verifier looks at it once. */
__noinline int java_has_code(__u32 at, __u32 what, __u32 mask);
__noinline int java_has_code(__u32 at, __u32 what, __u32 mask)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	return scratch && (java_u32(java_walk(&scratch->walk.runtime), at) & mask) == what;
}

enum {
	JAVA_EXIT_BYTES = 36, /* from the end of `leave` to the jump */
};

/* Where such bytes stand first, from `from` on; JAVA_CODE_BYTES: not near there. */
__noinline int java_find_code(__u32 from, __u32 what, __u32 mask);
__noinline int java_find_code(__u32 from, __u32 what, __u32 mask)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return JAVA_CODE_BYTES;
	for (__u32 i = 0; i < JAVA_EXIT_BYTES; i++)
		if (java_has_code(from + i, what, mask))
			return from + i;
	return JAVA_CODE_BYTES;
}

/*
 * A method that is being left: behind `leave` the frame pointer is its caller's, until
 * `pop r13; mov rbx, rsp` takes the return address off the stack, and a jump to it ends it.
 */
__noinline int java_leave_exit(void);
__noinline int java_leave_exit(void)
{
	enum {
		BEHIND = 40,
		LEAVE = 0xc9,
		POP_R13 = 0x8b485d41,
		JUMP_R13 = 0xe5ff41,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	if (bpf_probe_read_user(
		    java->bytes, JAVA_CODE_BYTES, (const void *)(walk->regs.ip - BEHIND)))
		return 0;
	__u32 jump = java_find_code(BEHIND, JUMP_R13, 0xffffff);
	if (jump >= JAVA_CODE_BYTES - 3)
		return 0;
	__u32 from = jump > JAVA_EXIT_BYTES ? jump - JAVA_EXIT_BYTES : 0;
	__u32 pop = java_find_code(from, POP_R13, ~0U);
	__u32 leave = java_find_code(from, LEAVE, 0xff);
	if (pop >= jump || leave >= pop || leave >= BEHIND)
		return 0;
	java->method = 0; /* it is gone from the stack */
	java->next_fp = walk->regs.reg[UNWIND_FP];
	java->next_sp = walk->regs.reg[JAVA_RBX];
	java->next_ip = walk->regs.reg[JAVA_R13];
	return pop < BEHIND || java_read_to(java, walk->regs.reg[UNWIND_SP], &java->next_ip);
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
	if (!java_take_method(java->frame[JAVA_FRAME_METHOD]))
		return false;
	if (walk->is_exact || !bytecode ||
		bytecode - java_bytecodes(row, java) <= java_method_u16(java, row->bytecode_bytes))
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
	if (walk->is_exact && walk->regs.known >> JAVA_R13 & 1 &&
		java_place_of(row, java, walk->regs.reg[JAVA_R13]))
		bytecode = walk->regs.reg[JAVA_R13];
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
	__u64 sp = walk->regs.reg[UNWIND_SP];
	if (!walk->is_exact)
		return java_leave_return();
	if (java_leave_epilogue())
		return true;
	if (java->kind == JAVA_NATIVE) {
		bool is_whole = walk->regs.reg[UNWIND_FP] == sp + 8ULL * java->frame_words - 16;
		return is_whole ? java_leave_body() : java_leave_sized();
	}
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

/* The row of the process's HotSpot is the walk's from now on; false: it has none. */
static __always_inline bool java_take_process(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (!take_known_runtime(scratch, RUNTIME_JAVA))
		return false;
	if (!runtime->has_thread)
		java_walk(runtime)->bytes_address = 0; /* it is of another walk */
	runtime->has_thread = true;
	if (java_row(runtime)->is_complete)
		return true;
	runtime->file = runtime->row.kind = 0; /* it is to be taken once more */
	ask_to_complete(scratch, RUNTIME_JAVA);
	return false;
}

static __always_inline bool java_claims_anonymous(struct scratch *scratch)
{
	return !scratch->walk.mapping.file && find_known_runtime(scratch, RUNTIME_JAVA);
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
	walk->regs.ip = java->next_ip;
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

/*
 * The instructions of HotSpot's generated code on x86-64: how far a frame is made or gone at the
 * leaf. java_arm64.bpf.h has the same functions.
 *
 * Sources: src/java/cpu/x86/{templateInterpreterGenerator_x86,stubGenerator_x86_64,
 * sharedRuntime_x86_64}.cpp, x86_64.ad of JDK 11, 17, 21, 25; what they come to was seen in
 * Debian's builds of these.
 */
#ifndef EBPROF_JAVA_X86_64_BPF_H
#define EBPROF_JAVA_X86_64_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/java/java_blob.bpf.h"
#include "bpf/runtime/java/java_code.bpf.h"
#include "bpf/runtime/java/java_stack.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	JAVA_RAX = 0, /* DWARF's numbers */
	JAVA_RBX = 3,
	JAVA_R13 = 13,
	JAVA_BYTECODE_REGISTER = JAVA_R13, /* where the interpreter is in its method */

	JAVA_CALL_STUB_EXTRA = -56, /* rbx of the call stub's caller, from the frame pointer */
};

/* ---- compiled code ---- */

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

/* By the return address on top of the stack, which has nothing else of the frame. */
static __always_inline bool java_leave_call(struct walk *walk, struct java_walk *java)
{
	__u64 sp = walk->regs.reg[UNWIND_SP];
	java->next_fp = walk->regs.reg[UNWIND_FP];
	java->next_sp = sp + 8;
	return java_read_to(java, sp, &java->next_ip);
}

/* The same of a leaf, of which it is not known whether it is there. */
static __always_inline bool java_try_call(struct walk *walk, struct java_walk *java)
{
	__u64 sp = walk->regs.reg[UNWIND_SP];
	java->next_fp = walk->regs.reg[UNWIND_FP];
	java->next_sp = sp + 8;
	return java_try_return(java, sp, &java->next_ip);
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
	if (three == 0x978b4d && java_u32(java, at + 7) == 0xc3028541)
		return true; /* mov poll(r15), r10, ahead of that; loops have such polls, too */
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
	java->bytes_address = 0;
	if (pc >= entry + JAVA_CODE_BYTES ||
		bpf_probe_read_user(java->bytes, JAVA_CODE_BYTES, (const void *)entry))
		return 0;
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

/* Whether a method written in C has all of its frame. */
static __always_inline bool java_is_whole_native(
	const struct walk *walk, const struct java_walk *java)
{
	return walk->regs.reg[UNWIND_FP] ==
	       walk->regs.reg[UNWIND_SP] + 8ULL * java->frame_words - 16;
}

/* ---- stubs ---- */

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
	return java_try_call(walk, java);
}

/* Of code that C++ calls: the frame pointer, if it is the first that the code pushes, is below the
 * return address, and something else in its register. */
static __always_inline void java_take_pushed_fp(struct java_walk *java, __u64 at)
{
	enum {
		PUSH_RBP = 0x55,
	};
	__u8 first = 0;
	if (java->kind == JAVA_OTHER && !bpf_probe_read_user(&first, 1, (const void *)java->code) &&
		first == PUSH_RBP)
		java_read_to(java, at, &java->next_fp);
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
		if (!java_try_return(java, sp + i * 8, &java->next_ip))
			continue;
		if (i)
			java_take_pushed_fp(java, sp + i * 8 - 8);
		return 1;
	}
	java->next_sp = sp;
	java->next_ip = walk->regs.reg[JAVA_RAX];
	return walk->regs.known >> JAVA_RAX & 1 && java_is_return(java->next_ip);
}

/* Whether a stub goes on there with the frame of a virtual thread's carrier: mov x(r15), rsp. */
static __always_inline bool java_is_carriers(const struct java_walk *java)
{
	return java_byte(java, JAVA_CODE_BEHIND) == 0x49 &&
	       java_byte(java, JAVA_CODE_BEHIND + 1) == 0x8b &&
	       java_byte(java, JAVA_CODE_BEHIND + 2) == 0xa7;
}

/* ---- the interpreter ---- */

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
	java->bytes_address = 0;
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

#endif

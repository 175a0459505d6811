/*
 * HotSpot: Java's methods as they are interpreted and as they are compiled, and what stands between
 * them. All of it is generated code, in no file. Each frame is left by what the virtual machine
 * itself goes by: compiled code by its frame's size, the interpreter's by its frame pointer; at the
 * leaf, where the frame may be half made or half gone, by the instructions around it.
 *
 * Sources: src/hotspot/cpu/x86/{frame_x86,templateInterpreterGenerator_x86,stubGenerator_x86_64,
 * sharedRuntime_x86_64}.cpp, x86_64.ad of JDK 11, 17, 21, 25; what they come to was seen in
 * Debian's builds of these.
 */
#ifndef EBPROF_HOTSPOT_BPF_H
#define EBPROF_HOTSPOT_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/hotspot/hotspot_blob.bpf.h"
#include "bpf/runtime/hotspot/hotspot_code.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

enum {
	HOTSPOT_RAX = 0, /* DWARF's numbers */
	HOTSPOT_RBX = 3,
	HOTSPOT_R13 = 13,

	HOTSPOT_MAX_FRAME_WORDS = 1 << 16,
	HOTSPOT_MAX_PUSHED = 6, /* words that compiled code may have pushed for a while */
	HOTSPOT_MAX_STACK = 1 << 24,
	HOTSPOT_MAX_DISTANCE = 1 << 20, /* from the stack pointer to a frame pointer */

	/* Words of an interpreter's frame, the first of which is 9 below the frame pointer. */
	HOTSPOT_FRAME_BELOW = 72,
	HOTSPOT_FRAME_BYTECODE = 1,
	HOTSPOT_FRAME_METHOD = 6,
	HOTSPOT_FRAME_SENDER = 8, /* the caller's stack pointer */
	HOTSPOT_FRAME_LINK = 9,
	HOTSPOT_FRAME_RETURN = 10,

	HOTSPOT_CALL_STUB_RBX = -56, /* from the frame pointer */
	HOTSPOT_ENTRY_FP = 64,       /* of a ContinuationEntry: where the carrier goes on */
	HOTSPOT_ENTRY_RETURN = 72,
	HOTSPOT_ENTRY_BYTES = 80,
};

/* ---- the stack ---- */

/* Reads a word of the stack to hotspot->word. 0: it cannot be read. A global function, since the
 * verifier looks at it once. */
__noinline int hotspot_read(__u64 address);
__noinline int hotspot_read(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	return !read_stack(walk, address, &hotspot_walk(&walk->runtime)->word);
}

static __always_inline bool hotspot_read_to(
	const struct hotspot_walk *hotspot, __u64 address, __u64 *ret)
{
	if (!hotspot_read(address))
		return false;
	*ret = hotspot->word;
	return true;
}

/* ---- return addresses ---- */

/* Whether a frame may return there: behind a call, or where the virtual machine lets it. */
__noinline int hotspot_is_return(__u64 address);
__noinline int hotspot_is_return(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	unsigned char code[UNWIND_CALL_BYTES];
	if (!scratch ||
		bpf_probe_read_user(code, sizeof(code), (const void *)(address - sizeof(code))))
		return 0;
	if (unwind_is_call(code))
		return 1;
	const struct hotspot_row *row = hotspot_row(&scratch->walk.runtime);
	__u64 blob = hotspot_find_blob(address), handler = 0;
	if (!blob)
		return 0;
	__u64 name = hotspot_name_of(row, blob);
	enum hotspot_blob_kind kind = hotspot_kind_of(name);
	if (kind == HOTSPOT_INTERPRETER || kind == HOTSPOT_STUBS ||
		name == HOTSPOT_NAME('D', 'e', 'o', 'p', 't', 'i', 'm', 'i'))
		return 1;
	if (kind != HOTSPOT_COMPILED || row->deopt_handler >= HOTSPOT_BLOB_BYTES ||
		!read_word((blob + row->deopt_handler) & ~7ULL, &handler))
		return 0;
	if (row->flags & HOTSPOT_DEOPT_IS_POINTER)
		return address == handler;
	return address == blob + (__u32)(row->deopt_handler & 4 ? handler >> 32 : handler);
}

/* To where what stands on the stack leads; false: that is no return address. */
static __always_inline bool hotspot_try_return(
	const struct hotspot_walk *hotspot, __u64 at, __u64 *ret)
{
	return hotspot_read_to(hotspot, at, ret) && hotspot_is_return(*ret);
}

/* ---- frames of compiled code ---- */

/* Leaves a frame of so many words above `sp`, in which the frame pointer was saved first. */
static __always_inline bool hotspot_leave_words(struct hotspot_walk *hotspot, __u64 sp, __u64 words)
{
	hotspot->next_sp = sp + 8 * words;
	return hotspot_read_to(hotspot, hotspot->next_sp - 16, &hotspot->next_fp) &&
	       hotspot_read_to(hotspot, hotspot->next_sp - 8, &hotspot->next_ip);
}

/* How many words the code at `at` takes off the stack first of all: those its call was given. */
static __always_inline __u32 hotspot_pops(const struct hotspot_walk *hotspot)
{
	const __u8 *code = hotspot->bytes;
	__u32 at = HOTSPOT_CODE_BEHIND, words = 0;
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
__noinline int hotspot_leave_return(void);
__noinline int hotspot_leave_return(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], words = hotspot->frame_words;
	if (words > HOTSPOT_MAX_FRAME_WORDS)
		return 0;
	if (!words) { /* linkers of method handles */
		hotspot->next_fp = walk->regs.reg[UNWIND_FP];
		hotspot->next_sp = sp + 8;
		return hotspot_read_to(hotspot, sp, &hotspot->next_ip);
	}
	__u32 pushed = hotspot_read_code(hotspot, walk->regs.ip) ? hotspot_pops(hotspot) : 0;
	for (__u32 i = 0; i <= HOTSPOT_MAX_PUSHED + 1; i++) {
		__u64 more = i ? i - 1 : pushed;
		if (hotspot_leave_words(hotspot, sp, words + more) &&
			hotspot_is_return(hotspot->next_ip))
			return 1;
	}
	return hotspot_leave_words(hotspot, sp, words);
}

/* ---- the leaf ---- */

/* An epilogue at the leaf, as far as its instructions lead on: what is left of the frame. */
struct hotspot_epilogue {
	__u64 sp;       /* behind what is taken off */
	__u64 saved_fp; /* where the frame pointer is taken from; 0: it is the caller's already */
	__u32 at;       /* the byte at hand */
};

static __always_inline __u8 hotspot_byte(const struct hotspot_walk *hotspot, __u32 at)
{
	return hotspot->bytes[at & (HOTSPOT_CODE_BYTES - 1)];
}

static __always_inline __u32 hotspot_u32(const struct hotspot_walk *hotspot, __u32 at)
{
	return hotspot_byte(hotspot, at) | hotspot_byte(hotspot, at + 1) << 8 |
	       hotspot_byte(hotspot, at + 2) << 16 | (__u32)hotspot_byte(hotspot, at + 3) << 24;
}

/* [vzeroupper] [add rsp] [pop rbp] */
static __always_inline void hotspot_take_epilogue(
	const struct hotspot_walk *hotspot, struct hotspot_epilogue *ret)
{
	if (hotspot_byte(hotspot, ret->at) == 0xc5 && hotspot_byte(hotspot, ret->at + 1) == 0xf8 &&
		hotspot_byte(hotspot, ret->at + 2) == 0x77)
		ret->at += 3;
	if (hotspot_byte(hotspot, ret->at) == 0x48 && hotspot_byte(hotspot, ret->at + 2) == 0xc4) {
		if (hotspot_byte(hotspot, ret->at + 1) == 0x83) {
			ret->sp += hotspot_byte(hotspot, ret->at + 3);
			ret->at += 4;
		} else if (hotspot_byte(hotspot, ret->at + 1) == 0x81) {
			ret->sp += hotspot_u32(hotspot, ret->at + 3);
			ret->at += 7;
		}
	}
	if (hotspot_byte(hotspot, ret->at) == 0x5d) {
		ret->saved_fp = ret->sp;
		ret->sp += 8;
		ret->at++;
	}
}

/* Whether the method is left there: by ret, by the poll ahead of it, or by a jump elsewhere. */
static __always_inline bool hotspot_is_left(
	const struct hotspot_walk *hotspot, __u64 pc, __u32 at, bool is_epilogue)
{
	__u8 a = hotspot_byte(hotspot, at), b = hotspot_byte(hotspot, at + 1),
	     c = hotspot_byte(hotspot, at + 2);
	if (a == 0xc3)
		return true;
	if (a == 0x0f && b == 0x87 && hotspot_byte(hotspot, at + 6) == 0xc3)
		return true; /* ja; ret */
	if (a == 0x77 && c == 0xc3)
		return true;
	if (a == 0x41 && b == 0x85 && c == 0x02 && hotspot_byte(hotspot, at + 3) == 0xc3)
		return true; /* test (r10), eax; ret: until JDK 15 */
	if (a == 0x4d && b == 0x8b && c == 0x97 && hotspot_byte(hotspot, at + 7) == 0x41 &&
		hotspot_byte(hotspot, at + 8) == 0x85)
		return true; /* mov poll(r15), r10, ahead of that */
	if (!is_epilogue)
		return false;
	if (a == 0x49 && b == 0x3b && (c == 0x67 || c == 0xa7))
		return true; /* cmp poll(r15), rsp */
	if ((a == 0xff && b == 0xe3) || (a == 0x41 && b == 0xff && c == 0xe2))
		return true;
	__u64 target =
		pc + (at - HOTSPOT_CODE_BEHIND) + 5 + (__s64)(__s32)hotspot_u32(hotspot, at + 1);
	return a == 0xe9 && (target < hotspot->code || target >= hotspot->end);
}

/* The poll ahead of a return has a piece of its own: lea x(rip), r10; mov r10, y(r15); jmp. */
static __always_inline bool hotspot_is_return_poll(
	const struct hotspot_walk *hotspot, __u64 pc, __u32 at)
{
	__u8 poll[2];
	if (hotspot_byte(hotspot, at) != 0x4c || hotspot_byte(hotspot, at + 1) != 0x8d ||
		hotspot_byte(hotspot, at + 2) != 0x15 || hotspot_byte(hotspot, at + 7) != 0x4d ||
		hotspot_byte(hotspot, at + 8) != 0x89 || hotspot_byte(hotspot, at + 9) != 0x97 ||
		hotspot_byte(hotspot, at + 14) != 0xe9)
		return false;
	__u64 place =
		pc + at - HOTSPOT_CODE_BEHIND + 7 + (__s64)(__s32)hotspot_u32(hotspot, at + 3);
	return !bpf_probe_read_user(poll, sizeof(poll), (const void *)place) &&
	       ((poll[0] == 0x49 && poll[1] == 0x3b) || (poll[0] == 0x0f && poll[1] == 0x87));
}

/* 1: the leaf is in an epilogue, and its caller is next. */
__noinline int hotspot_leave_epilogue(void);
__noinline int hotspot_leave_epilogue(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	__u64 pc = walk->regs.ip;
	if (!hotspot_read_code(hotspot, pc))
		return 0;
	struct hotspot_epilogue epilogue = {
		.sp = walk->regs.reg[UNWIND_SP], .at = HOTSPOT_CODE_BEHIND};
	hotspot_take_epilogue(hotspot, &epilogue);
	bool is_epilogue = epilogue.at != HOTSPOT_CODE_BEHIND ||
			   hotspot_byte(hotspot, HOTSPOT_CODE_BEHIND - 1) == 0x5d;
	bool is_left = hotspot_is_left(hotspot, pc, epilogue.at, is_epilogue) ||
		       hotspot_is_return_poll(hotspot, pc, HOTSPOT_CODE_BEHIND) ||
		       hotspot_is_return_poll(hotspot, pc, HOTSPOT_CODE_BEHIND - 7) ||
		       hotspot_is_return_poll(hotspot, pc, HOTSPOT_CODE_BEHIND - 14);
	if (!is_left)
		return 0;
	hotspot->next_fp = walk->regs.reg[UNWIND_FP];
	hotspot->next_sp = epilogue.sp + 8;
	return (!epilogue.saved_fp ||
		       hotspot_read_to(hotspot, epilogue.saved_fp, &hotspot->next_fp)) &&
	       hotspot_read_to(hotspot, epilogue.sp, &hotspot->next_ip);
}

/* The length of a nop; 0: it is none. Intel SDM, volume 2, "NOP". */
static __always_inline __u32 hotspot_nop(const struct hotspot_walk *hotspot, __u32 at)
{
	__u8 a = hotspot_byte(hotspot, at), b = hotspot_byte(hotspot, at + 1);
	if (a == 0x90)
		return 1;
	if (a == 0x66 && b == 0x90)
		return 2;
	__u32 prefix = a == 0x66;
	at += prefix;
	if (hotspot_byte(hotspot, at) != 0x0f || hotspot_byte(hotspot, at + 1) != 0x1f)
		return 0;
	__u8 form = hotspot_byte(hotspot, at + 2);
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
__noinline int hotspot_advance_prologue(void);
__noinline int hotspot_advance_prologue(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct hotspot_walk *hotspot = hotspot_walk(&scratch->walk.runtime);
	struct hotspot_prologue *prologue = &hotspot->prologue;
	__u32 code = hotspot_u32(hotspot, prologue->at), bytes = 0;
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
		prologue->words = hotspot->frame_words;
	} else if (code == 0x246c8948 || code == 0x24ac8948) {
		bytes = code == 0x246c8948 ? 5 : 8; /* mov rbp, x(rsp) */
		prologue->words = hotspot->frame_words;
		prologue->has_fp = true;
	} else {
		bytes = hotspot_nop(hotspot, prologue->at);
	}
	prologue->at += bytes;
	return bytes;
}

/*
 * 1: the leaf is in a prologue, and its caller is next. Ahead of the verified entry, where the
 * receiver's class is checked, there is no frame either.
 */
__noinline int hotspot_leave_prologue(void);
__noinline int hotspot_leave_prologue(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	struct hotspot_prologue *prologue = &hotspot->prologue;
	__u64 entry = hotspot_entry(hotspot_row(&walk->runtime), hotspot), pc = walk->regs.ip;
	if (pc >= entry + HOTSPOT_CODE_BYTES ||
		bpf_probe_read_user(hotspot->bytes, sizeof(hotspot->bytes), (const void *)entry))
		return 0;
	prologue->at = 0;
	prologue->words = 1;
	prologue->has_fp = false;
	for (int i = 0; i < 10 && pc > entry && prologue->at < pc - entry; i++)
		if (!hotspot_advance_prologue())
			return 0;
	if (prologue->words == (__u32)hotspot->frame_words && prologue->has_fp)
		return 0;
	hotspot->next_fp = walk->regs.reg[UNWIND_FP];
	hotspot->next_sp = walk->regs.reg[UNWIND_SP] + 8ULL * prologue->words;
	return (!prologue->has_fp ||
		       hotspot_read_to(hotspot, hotspot->next_sp - 16, &hotspot->next_fp)) &&
	       hotspot_read_to(hotspot, hotspot->next_sp - 8, &hotspot->next_ip);
}

/* 1: the leaf is in the midst of its code, which may have pushed some words for a while. */
__noinline int hotspot_leave_body(void);
__noinline int hotspot_leave_body(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], words = hotspot->frame_words;
	if (words > HOTSPOT_MAX_FRAME_WORDS)
		return 0;
	for (__u32 more = 0; more <= HOTSPOT_MAX_PUSHED; more++) {
		if (words + more < 2) {
			hotspot->next_fp = walk->regs.reg[UNWIND_FP];
			hotspot->next_sp = sp + 8;
			if (hotspot_try_return(hotspot, sp, &hotspot->next_ip))
				return 1;
			continue;
		}
		if (hotspot_leave_words(hotspot, sp, words + more) &&
			hotspot_is_return(hotspot->next_ip))
			return 1;
	}
	return 0;
}

/* ---- code that says little of its frame ---- */

/* By the frame pointer; false: it leads to no return address. */
static __always_inline bool hotspot_leave_by_fp(struct walk *walk, struct hotspot_walk *hotspot)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP];
	hotspot->next_sp = fp + 16;
	return fp >= sp && fp - sp < HOTSPOT_MAX_DISTANCE &&
	       hotspot_read_to(hotspot, fp, &hotspot->next_fp) &&
	       hotspot_try_return(hotspot, fp + 8, &hotspot->next_ip);
}

/* Whether the call ahead of a return address went to the blob at hand. 0: it cannot be told. */
__noinline int hotspot_calls_blob(__u64 address);
__noinline int hotspot_calls_blob(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	enum {
		MOVE_AND_CALL = 13, /* mov target, r10; call r10 */
		CALL = 5,
	};
	__u8 code[MOVE_AND_CALL];
	__u64 target = 0;
	if (!scratch ||
		bpf_probe_read_user(code, sizeof(code), (const void *)(address - sizeof(code))))
		return 0;
	const struct hotspot_walk *hotspot = hotspot_walk(&scratch->walk.runtime);
	if (code[MOVE_AND_CALL - CALL] == 0xe8) {
		__s32 distance = 0;
		__builtin_memcpy(&distance, code + MOVE_AND_CALL - CALL + 1, sizeof(distance));
		target = address + distance;
	} else if (code[0] == 0x49 && code[1] == 0xba && code[10] == 0x41 && code[11] == 0xff &&
		   code[12] == 0xd2) {
		__builtin_memcpy(&target, code + 2, sizeof(target));
	}
	return target && target >= hotspot->code && target < hotspot->end;
}

/* Whoever called the blob at hand: by the frame pointer, or near the top of the stack. */
__noinline int hotspot_leave_stub(void);
__noinline int hotspot_leave_stub(void)
{
	enum {
		SEARCHED_WORDS = 12,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], fp = walk->regs.reg[UNWIND_FP], address = 0;
	bool has_frame = hotspot_leave_by_fp(walk, hotspot);
	if (has_frame && hotspot_calls_blob(hotspot->next_ip))
		return 1;
	for (__u32 i = 0; i < SEARCHED_WORDS; i++) {
		if (!hotspot_read_to(hotspot, sp + i * 8, &address) || !hotspot_calls_blob(address))
			continue;
		hotspot->next_ip = address;
		hotspot->next_sp = sp + i * 8 + 8;
		hotspot->next_fp = fp;
		if (i && fp != sp + i * 8 - 8) /* it was saved first, and is used for something */
			return 1;
		if (i)
			hotspot_read_to(hotspot, sp + i * 8 - 8, &hotspot->next_fp);
		return 1;
	}
	if (has_frame)
		return hotspot_leave_by_fp(walk, hotspot);
	hotspot->next_fp = fp;
	hotspot->next_sp = sp + 8;
	return hotspot_try_return(hotspot, sp, &hotspot->next_ip);
}

/* The first word of the stack's top that is a return address: adapters have pushed little. */
__noinline int hotspot_leave_top(void);
__noinline int hotspot_leave_top(void)
{
	enum {
		SEARCHED_WORDS = 8,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP];
	hotspot->next_fp = walk->regs.reg[UNWIND_FP];
	for (__u32 i = 0; i < SEARCHED_WORDS; i++) {
		hotspot->next_sp = sp + i * 8 + 8;
		if (hotspot_try_return(hotspot, sp + i * 8, &hotspot->next_ip))
			return 1;
	}
	hotspot->next_sp = sp;
	hotspot->next_ip = walk->regs.reg[HOTSPOT_RAX];
	return walk->regs.known >> HOTSPOT_RAX & 1 && hotspot_is_return(hotspot->next_ip);
}

/* A frame of stubs that has called others. */
static __always_inline bool hotspot_leave_stub_frame(
	struct walk *walk, const struct hotspot_row *row, struct hotspot_walk *hotspot)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP], call_stub = 0;
	read_word(row->call_stub_return - walk->runtime.delta, &call_stub);
	hotspot->next_extra = 0;
	if (walk->regs.ip != call_stub && hotspot_read_code(hotspot, walk->regs.ip) &&
		hotspot_byte(hotspot, HOTSPOT_CODE_BEHIND) == 0x49 &&
		hotspot_byte(hotspot, HOTSPOT_CODE_BEHIND + 1) == 0x8b &&
		hotspot_byte(hotspot, HOTSPOT_CODE_BEHIND + 2) == 0xa7) {
		/* Behind a virtual thread's last frame on this stack: the carrier is next. */
		hotspot->next_sp = sp + HOTSPOT_ENTRY_BYTES;
		return hotspot_read_to(hotspot, sp + HOTSPOT_ENTRY_FP, &hotspot->next_fp) &&
		       hotspot_read_to(hotspot, sp + HOTSPOT_ENTRY_RETURN, &hotspot->next_ip);
	}
	if (walk->regs.ip == call_stub)
		hotspot_read_to(hotspot, fp + HOTSPOT_CALL_STUB_RBX, &hotspot->next_extra);
	hotspot->next_sp = fp + 16;
	if (fp < sp || !hotspot_read_to(hotspot, fp, &hotspot->next_fp) ||
		!hotspot_read_to(hotspot, fp + 8, &hotspot->next_ip))
		return false;
	if (hotspot->next_ip + 1) /* else it is the barrier at a method's entry */
		return true;
	hotspot->next_sp = fp + 24;
	return hotspot_read_to(hotspot, fp + 16, &hotspot->next_ip);
}

/* Of a size that it says, but at the leaf only when all of it is there. */
__noinline int hotspot_leave_sized(void);
__noinline int hotspot_leave_sized(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], words = hotspot->frame_words;
	__u64 fp = walk->regs.reg[UNWIND_FP];
	if (!walk->is_exact)
		return hotspot_leave_words(hotspot, sp, words);
	if (fp >= sp && fp < sp + 8 * words && hotspot_leave_by_fp(walk, hotspot))
		return 1;
	if (hotspot_leave_body())
		return 1;
	hotspot->next_fp = fp;
	hotspot->next_sp = sp + 8;
	return hotspot_try_return(hotspot, sp, &hotspot->next_ip);
}

/* ---- the interpreter ---- */

/* The frame that the frame pointer points to, if it is one; its method is at hand then. */
static __always_inline bool hotspot_read_frame(struct walk *walk, struct hotspot_walk *hotspot)
{
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP];
	if (fp + 16 < sp || fp - sp + 16 > HOTSPOT_MAX_DISTANCE ||
		bpf_probe_read_user(hotspot->frame, sizeof(hotspot->frame),
			(const void *)(fp - HOTSPOT_FRAME_BELOW)))
		return false;
	return hotspot->frame[HOTSPOT_FRAME_SENDER] > fp &&
	       hotspot_take_method(hotspot->frame[HOTSPOT_FRAME_METHOD]);
}

/* Where in its method a bytecode is; 0 also where it cannot be told. */
static __always_inline __u32 hotspot_place_of(
	const struct hotspot_row *row, const struct hotspot_walk *hotspot, __u64 bytecode)
{
	__u64 place = bytecode - hotspot_bytecodes(row, hotspot);
	return place < hotspot_method_u16(hotspot, row->bytecode_bytes) ? place : 0;
}

/*
 * A method that is being entered: there is no frame yet, or half of one. Its caller's stack
 * pointer is in r13 until the frame has it, and then the place in the bytecodes; the method is in
 * rbx. The return address is on top of the stack, but for a while in rax.
 */
__noinline int hotspot_leave_entry(void);
__noinline int hotspot_leave_entry(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], fp = walk->regs.reg[UNWIND_FP];
	__u64 sender = walk->regs.reg[HOTSPOT_R13], filled = fp - sp;
	bool has_sender = sender > sp && sender - sp < HOTSPOT_MAX_DISTANCE;
	if (!(walk->regs.known >> HOTSPOT_R13 & 1) || !(walk->regs.known >> HOTSPOT_RBX & 1))
		return 0;
	if (filled < HOTSPOT_FRAME_BELOW && !(filled & 7) &&
		hotspot_try_return(hotspot, fp + 8, &hotspot->next_ip) &&
		hotspot_read_to(hotspot, fp, &hotspot->next_fp) &&
		(has_sender || (filled && hotspot_read_to(hotspot, fp - 8, &sender))) &&
		sender > fp && hotspot_take_method(walk->regs.reg[HOTSPOT_RBX])) {
		hotspot->next_sp = sender;
		return 1;
	}
	if (!has_sender || !hotspot_take_method(walk->regs.reg[HOTSPOT_RBX]))
		return 0;
	hotspot->next_sp = sender;
	hotspot->next_fp = fp;
	if (hotspot_try_return(hotspot, sp, &hotspot->next_ip))
		return 1;
	if (hotspot_read_to(hotspot, sp, &hotspot->next_fp) &&
		hotspot_try_return(hotspot, sp + 8, &hotspot->next_ip) && hotspot->next_fp > sp)
		return 1; /* behind push rbp */
	hotspot->next_fp = fp;
	hotspot->next_ip = walk->regs.reg[HOTSPOT_RAX];
	return hotspot_is_return(hotspot->next_ip);
}

/* Whether bytes of the code at hand stand as in `what`. The verifier looks at it once. */
__noinline int hotspot_has_code(__u32 at, __u32 what, __u32 mask);
__noinline int hotspot_has_code(__u32 at, __u32 what, __u32 mask)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	return scratch && (hotspot_u32(hotspot_walk(&scratch->walk.runtime), at) & mask) == what;
}

enum {
	HOTSPOT_EXIT_BYTES = 36, /* from the end of `leave` to the jump */
};

/* Where such bytes stand first, from `from` on; HOTSPOT_CODE_BYTES: not near there. */
__noinline int hotspot_find_code(__u32 from, __u32 what, __u32 mask);
__noinline int hotspot_find_code(__u32 from, __u32 what, __u32 mask)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return HOTSPOT_CODE_BYTES;
	for (__u32 i = 0; i < HOTSPOT_EXIT_BYTES; i++)
		if (hotspot_has_code(from + i, what, mask))
			return from + i;
	return HOTSPOT_CODE_BYTES;
}

/*
 * A method that is being left: behind `leave` the frame pointer is its caller's, until
 * `pop r13; mov rbx, rsp` takes the return address off the stack, and a jump to it ends it.
 */
__noinline int hotspot_leave_exit(void);
__noinline int hotspot_leave_exit(void)
{
	enum {
		BEHIND = 40,
		LEAVE = 0xc9,
		POP_R13 = 0x8b485d41,
		JUMP_R13 = 0xe5ff41,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	if (bpf_probe_read_user(
		    hotspot->bytes, sizeof(hotspot->bytes), (const void *)(walk->regs.ip - BEHIND)))
		return 0;
	__u32 jump = hotspot_find_code(BEHIND, JUMP_R13, 0xffffff);
	if (jump >= HOTSPOT_CODE_BYTES - 3)
		return 0;
	__u32 from = jump > HOTSPOT_EXIT_BYTES ? jump - HOTSPOT_EXIT_BYTES : 0;
	__u32 pop = hotspot_find_code(from, POP_R13, ~0U);
	__u32 leave = hotspot_find_code(from, LEAVE, 0xff);
	if (pop >= jump || leave >= pop || leave >= BEHIND)
		return 0;
	hotspot->method = 0; /* it is gone from the stack */
	hotspot->next_fp = walk->regs.reg[UNWIND_FP];
	hotspot->next_sp = walk->regs.reg[HOTSPOT_RBX];
	hotspot->next_ip = walk->regs.reg[HOTSPOT_R13];
	return pop < BEHIND ||
	       hotspot_read_to(hotspot, walk->regs.reg[UNWIND_SP], &hotspot->next_ip);
}

/* 1: the frame at hand is the interpreter's; its method is, too, or 0. */
__noinline int hotspot_leave_interpreter(void);
__noinline int hotspot_leave_interpreter(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_HOTSPOT);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	const struct hotspot_row *row = hotspot_row(&walk->runtime);
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	hotspot->place = 0;
	if (walk->is_exact && (hotspot_leave_entry() || hotspot_leave_exit()))
		return 1;
	if (!hotspot_read_frame(walk, hotspot))
		return 0;
	__u64 bytecode = hotspot->frame[HOTSPOT_FRAME_BYTECODE];
	if (walk->is_exact && walk->regs.known >> HOTSPOT_R13 & 1 &&
		hotspot_place_of(row, hotspot, walk->regs.reg[HOTSPOT_R13]))
		bytecode = walk->regs.reg[HOTSPOT_R13];
	hotspot->place = hotspot_place_of(row, hotspot, bytecode);
	hotspot->next_ip = hotspot->frame[HOTSPOT_FRAME_RETURN];
	hotspot->next_fp = hotspot->frame[HOTSPOT_FRAME_LINK];
	hotspot->next_sp = hotspot->frame[HOTSPOT_FRAME_SENDER];
	return 1;
}

/* ---- the step ---- */

/* Of a compiled method: 1 when next_ip and what goes with it are set. */
static __always_inline bool hotspot_leave_method(
	struct walk *walk, const struct hotspot_walk *hotspot)
{
	__u64 sp = walk->regs.reg[UNWIND_SP];
	if (!walk->is_exact)
		return hotspot_leave_return();
	if (hotspot_leave_epilogue())
		return true;
	if (hotspot->kind == HOTSPOT_NATIVE) {
		bool is_whole = walk->regs.reg[UNWIND_FP] == sp + 8ULL * hotspot->frame_words - 16;
		return is_whole ? hotspot_leave_body() : hotspot_leave_sized();
	}
	return hotspot_leave_prologue() || hotspot_leave_body();
}

static __always_inline bool hotspot_leave_other(
	struct walk *walk, const struct hotspot_row *row, struct hotspot_walk *hotspot)
{
	if (hotspot->kind == HOTSPOT_STUBS && !walk->is_exact)
		return hotspot_leave_stub_frame(walk, row, hotspot);
	if (hotspot->kind == HOTSPOT_UPCALL && !walk->is_exact)
		return hotspot_leave_by_fp(walk, hotspot);
	if (walk->is_exact && hotspot_leave_epilogue())
		return true;
	if (hotspot->kind == HOTSPOT_TABLE || hotspot->kind == HOTSPOT_ADAPTERS ||
		hotspot->kind == HOTSPOT_METHOD_HANDLES ||
		(hotspot->frame_words <= 0 && !walk->is_exact))
		return hotspot_leave_top();
	if (hotspot->kind == HOTSPOT_STUBS || hotspot->frame_words <= 0)
		return hotspot_leave_stub();
	return hotspot_leave_sized();
}

/* Where in the code of the method at hand its frame is: behind a call, or right there. */
static __always_inline __u32 hotspot_compiled_place(
	struct walk *walk, const struct hotspot_row *row, struct hotspot_walk *hotspot)
{
	__u64 place = walk->regs.ip;
	if (walk->is_exact)
		return ((place - hotspot->code) & (RUNTIME_FRAME_IS_LEAF - 1)) |
		       RUNTIME_FRAME_IS_LEAF;
	/* Its code is not to be used any more: the frame has where it would have gone on. */
	if (place == hotspot_deopt_handler(row, hotspot) && row->original_pc < HOTSPOT_BLOB_BYTES)
		hotspot_read_to(hotspot,
			walk->regs.reg[UNWIND_SP] + hotspot_blob_u32(hotspot, row->original_pc),
			&place);
	return (place - hotspot->code) & (RUNTIME_FRAME_IS_LEAF - 1);
}

/* The row of the process's HotSpot is the walk's from now on; false: it has none. */
static __always_inline bool hotspot_take_process(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (!take_known_runtime(scratch, RUNTIME_HOTSPOT))
		return false;
	if (hotspot_row(runtime)->is_complete)
		return true;
	runtime->file = runtime->row.kind = 0; /* it is to be taken once more */
	ask_to_complete(scratch, RUNTIME_HOTSPOT);
	return false;
}

static __always_inline bool hotspot_claims_anonymous(struct scratch *scratch)
{
	return !scratch->walk.mapping.file && find_known_runtime(scratch, RUNTIME_HOTSPOT);
}

static __always_inline enum runtime_leave hotspot_leave_jit(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct hotspot_walk *hotspot = hotspot_walk(&walk->runtime);
	if (!hotspot_take_process(scratch) || !hotspot_take_blob(walk->regs.ip))
		return RUNTIME_STAYS;
	const struct hotspot_row *row = hotspot_row(&walk->runtime);
	hotspot->next_extra = 0;
	hotspot->place = walk->regs.ip - hotspot->code;
	hotspot->method = 0;
	bool is_left = hotspot->kind == HOTSPOT_INTERPRETER ? hotspot_leave_interpreter()
		       : hotspot_is_method(hotspot)         ? hotspot_leave_method(walk, hotspot)
						    : hotspot_leave_other(walk, row, hotspot);
	__u64 sp = walk->regs.reg[UNWIND_SP];
	if (!is_left || hotspot->next_sp < sp || hotspot->next_sp - sp > HOTSPOT_MAX_STACK)
		return RUNTIME_STAYS;
	if (hotspot->kind == HOTSPOT_COMPILED && row->flags & HOTSPOT_HAS_SCOPES) {
		hotspot_push_compiled(hotspot_compiled_place(walk, row, hotspot));
		hotspot->method = 0; /* it is pushed */
	} else if (hotspot_is_method(hotspot)) {
		hotspot->place = 0; /* in the bytecodes: there are none, or they are not known */
		hotspot_take_method(hotspot_blob_u64(hotspot, row->compiled_method));
	}
	if (hotspot->method)
		hotspot_push_method(hotspot->place);
	else if (hotspot->kind != HOTSPOT_INTERPRETER && hotspot->kind != HOTSPOT_COMPILED)
		hotspot_push_stub();
	walk->regs.ip = hotspot->next_ip;
	walk->regs.reg[UNWIND_SP] = hotspot->next_sp;
	walk->regs.reg[UNWIND_FP] = hotspot->next_fp;
	walk->regs.reg[UNWIND_EXTRA] = hotspot->next_extra;
	walk->regs.known = 1ULL << UNWIND_SP | 1ULL << UNWIND_FP |
			   (hotspot->next_extra ? 1ULL << UNWIND_EXTRA : 0);
	walk->is_exact = false;
	return RUNTIME_LEFT_UNSEEN;
}

/* ---- the row ---- */

static const struct runtime_hooks hotspot_hooks = {
	.claims_anonymous = hotspot_claims_anonymous,
	.leave_jit = hotspot_leave_jit,
};

#endif

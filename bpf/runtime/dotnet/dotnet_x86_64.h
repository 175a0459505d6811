/*
 * Functions of .NET's code on x86-64, and frames of theirs: UNWIND_INFO says what prologues do,
 * epilogues are read forwards. dotnet_arm64.h has the same.
 */
#ifndef EBPROF_DOTNET_X86_64_H
#define EBPROF_DOTNET_X86_64_H

#include "bpf/runtime/dotnet/dotnet_walk.h"

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)

/* ---- functions ---- */

/*
 * Takes the function that has a place in the section from those of the header at hand that begin
 * with one of them: 1. 0: none of these does; negative: there are none.
 */
DOTNET_FUNCTION int dotnet_take_some(unsigned int first, unsigned int place);
DOTNET_FUNCTION int dotnet_take_some(unsigned int first, unsigned int place)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return -1;
	unsigned int count = dotnet->nr_functions;
	unsigned long long at = dotnet->code.header + DOTNET_HEADER_FUNCTIONS +
				(unsigned long long)first * sizeof(dotnet->function);
	if (first >= count)
		return -1;
	/* There may be less, at the end of memory: then only the first. */
	if (dotnet_read(dotnet->functions, sizeof(dotnet->functions), at)) {
		if (dotnet_read(dotnet->functions, sizeof(dotnet->function), at))
			return -1;
		count = first + 1;
	}
	for (unsigned int i = 0; i < DOTNET_FUNCTIONS; i++) {
		const struct dotnet_function *function = &dotnet->functions[i];
		if (first + i >= count)
			return -1;
		if (place < function->begin || place >= function->end)
			continue;
		dotnet->function = *function;
		return 1;
	}
	return 0;
}

/* The function of the header at hand that has a place in the section; it is at hand then. */
DOTNET_FUNCTION int dotnet_take_function(unsigned int place);
DOTNET_FUNCTION int dotnet_take_function(unsigned int place)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	int found = 0;
	if (dotnet_read(&dotnet->nr_functions, sizeof(dotnet->nr_functions),
		    dotnet->code.header + DOTNET_HEADER_COUNT))
		return 0;
	for (unsigned int read = 0; read < DOTNET_READS && !found; read++)
		found = dotnet_take_some(read * DOTNET_FUNCTIONS, place);
	return found > 0;
}

/* Whether the function at hand has a place in the section. */
UNWIND_INLINE _Bool dotnet_has_place(const struct dotnet_walk *dotnet, unsigned long long place)
{
	return !(place < dotnet->function.begin || place >= dotnet->function.end);
}

/* ---- where the caller's frame is ---- */

UNWIND_INLINE unsigned int dotnet_u32(const struct dotnet_walk *dotnet, unsigned int at)
{
	const unsigned char *bytes = dotnet->bytes;
	at &= DOTNET_CODE_BYTES - 1;
	return bytes[at] | (unsigned int)bytes[at + 1] << 8 | (unsigned int)bytes[at + 2] << 16 |
	       (unsigned int)bytes[at + 3] << 24;
}

/* Whether a function is left by a jump that is next in its code. */
UNWIND_INLINE _Bool dotnet_is_jump_out(const struct dotnet_walk *dotnet, unsigned long long pc)
{
	unsigned int at = dotnet->at, code = dotnet_u32(dotnet, at);
	_Bool is_epilogue = at != 0;
	if ((code & 0xff) == 0xe9) {
		unsigned long long target =
			pc + at + 5 + (long long)(int)dotnet_u32(dotnet, at + 1);
		unsigned long long place = target - dotnet->section[DOTNET_SECTION_BEGIN];
		return is_epilogue || place < dotnet->function.begin ||
		       place >= dotnet->function.end;
	}
	if ((code & 0x38ffff) == 0x20ff48) /* jmp with a prefix: that of a tail call */
		return 1;
	return is_epilogue && ((code & 0xff) == 0xeb || (code & 0x38ff) == 0x20ff);
}

/* [vzeroupper] [add rsp, or lea rsp, of rbp] */
UNWIND_INLINE void dotnet_take_frame_end(struct dotnet_walk *dotnet)
{
	unsigned int at = (dotnet_u32(dotnet, 0) & 0xffffff) == 0x77f8c5 ? 3 : 0;
	unsigned int code = dotnet_u32(dotnet, at), wide = dotnet_u32(dotnet, at + 3);
	unsigned int three = code & 0xffffff;
	_Bool is_short = three == 0xc48348 || three == 0x658d48;
	_Bool is_long = three == 0xc48148 || three == 0xa58d48;
	_Bool is_move = three == 0xe58b48 || three == 0xec8948;
	dotnet->state.is_by_fp = three == 0x658d48 || three == 0xa58d48 || is_move;
	dotnet->state.size = is_short ? (int)(signed char)(code >> 24) : is_long ? (int)wide : 0;
	dotnet->at = is_short ? at + 4 : is_long ? at + 7 : is_move ? at + 3 : at;
}

/* The next pop of an epilogue. 0: there is none. A global function: it is verified once. */
DOTNET_FUNCTION int dotnet_take_pop(void);
DOTNET_FUNCTION int dotnet_take_pop(void)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	unsigned int code = dotnet_u32(dotnet, dotnet->at), is_high = (code & 0xff) == 0x41;
	unsigned int op = (is_high ? code >> 8 : code) & 0xff;
	if ((op & 0xf8) != 0x58)
		return 0;
	if (op == 0x5d && !is_high)
		dotnet->state.rbp = dotnet->state.size;
	if (op == 0x5b && !is_high)
		dotnet->state.rbx = dotnet->state.size;
	dotnet->state.size += 8;
	dotnet->at += 1 + is_high;
	return 1;
}

UNWIND_INLINE void dotnet_begin_state(struct dotnet_walk *dotnet)
{
	dotnet->state.rbp = dotnet->state.rbx = UNWIND_INFO_NOT_PUSHED;
	dotnet->state.size = dotnet->state.next = 0;
	dotnet->state.is_by_fp = 0;
}

/*
 * The rule for a leaf in an epilogue, whose pops end in ret, or in a jump to what is called in its
 * place. 0: it is in none.
 */
DOTNET_FUNCTION int dotnet_take_epilogue(unsigned long long pc);
DOTNET_FUNCTION int dotnet_take_epilogue(unsigned long long pc)
{
	enum {
		MAX_POPS = 7,
	};
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	if (dotnet_read(dotnet->bytes, DOTNET_CODE_BYTES, pc))
		return 0;
	dotnet_begin_state(dotnet);
	dotnet_take_frame_end(dotnet);
	for (int i = 0; i < MAX_POPS; i++)
		if (!dotnet_take_pop())
			break;
	if ((dotnet_u32(dotnet, dotnet->at) & 0xff) != 0xc3 && !dotnet_is_jump_out(dotnet, pc))
		return 0;
	unwind_info_put_rule(&dotnet->state, &dotnet->known.rule);
	return 1;
}

/* The next operation of the prologue at hand. 0: it is not understood. */
DOTNET_FUNCTION int dotnet_take_operation(unsigned int offset);
DOTNET_FUNCTION int dotnet_take_operation(unsigned int offset)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	return unwind_info_take(dotnet->info, offset, &dotnet->state);
}

/* The rule by what the function at hand says of its prologue. 0: there is none. */
DOTNET_FUNCTION int dotnet_take_rule(unsigned int offset);
DOTNET_FUNCTION int dotnet_take_rule(unsigned int offset)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	unsigned long long at =
		dotnet->section[DOTNET_SECTION_BEGIN] + dotnet->function.unwind_info;
	if (dotnet_read(dotnet->info, UNWIND_INFO_BYTES, at)) {
		/* The end of memory may be near. */
		if (dotnet_read(dotnet->info, UNWIND_INFO_HEAD_BYTES, at))
			return 0;
		unsigned long long bytes = 2 * (dotnet->info[2] & (UNWIND_INFO_MAX_CODES - 1));
		asm volatile("" : "+r"(bytes));
		if (bytes > 2 * UNWIND_INFO_MAX_CODES ||
			dotnet_read(dotnet->info + UNWIND_INFO_HEAD_BYTES, bytes,
				at + UNWIND_INFO_HEAD_BYTES))
			return 0;
	}
	if (!unwind_info_is_known(dotnet->info))
		return 0;
	dotnet_begin_state(dotnet);
	for (int i = 0; i < UNWIND_INFO_MAX_CODES; i++) {
		if (dotnet->state.next >= dotnet->info[2])
			break;
		if (!dotnet_take_operation(offset))
			return 0;
	}
	unwind_info_put_rule(&dotnet->state, &dotnet->known.rule);
	return 1;
}

#endif

#endif

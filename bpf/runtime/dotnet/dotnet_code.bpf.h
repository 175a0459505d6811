/*
 * Code that .NET's just-in-time compiler made. A map of five levels leads from an address to the
 * section that it lies in; one with methods has a map of where they begin, four bits for 32 bytes.
 * Ahead of a method stands the address of its header, which says what method it is and how its
 * frames are unwound; ahead of a stub what kind of stub it is.
 *
 * Sources: src/coreclr/vm/{codeman,loaderallocator}.{h,cpp}, src/coreclr/inc/nibblemapmacros.h of
 * .NET 8, 9, 10; seen in live processes of 8.0.0 to 10.0.12.
 */
#ifndef EBPROF_DOTNET_CODE_BPF_H
#define EBPROF_DOTNET_CODE_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/dotnet/dotnet_row.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_info.h"

#include <bpf/bpf_helpers.h>

enum {
	DOTNET_MAP_LEVELS = 5,
	DOTNET_MAP_SHIFT = 49, /* of the first level; each one has 8 bits */
	DOTNET_MAX_FRAGMENTS = 8,
	DOTNET_IS_CODE_HEAP = 2, /* flags of a section */
	DOTNET_IS_RANGE_LIST = 4,

	/* Words of what the maps lead to. */
	DOTNET_SECTION_BEGIN = 0,
	DOTNET_SECTION_END = 1,
	DOTNET_SECTION_FLAGS = 2,
	DOTNET_SECTION_HEAP = 5,
	DOTNET_SECTION_WORDS = 6,
	DOTNET_HEAP_MAP_BASE = 4,
	DOTNET_HEAP_MAP = 5,
	DOTNET_HEAP_WORDS = 6,

	/* Of a map of code: eight times four bits a word, the first ones highest. */
	DOTNET_MAP_BYTES_SHIFT = 5,
	DOTNET_MAP_UNIT_SHIFT = 2,
	DOTNET_LINK_KIND = 8, /* the last four bits of a word that is a link are above */
	DOTNET_SEARCHED = 16, /* words at once, ... */
	DOTNET_SEARCHES = 32, /* ... so often: 128 KiB of one method */

	/* Of a header. */
	DOTNET_HEADER_METHOD = 24,
	DOTNET_HEADER_COUNT = 32, /* of functions: the method's own, and its funclets */
	DOTNET_HEADER_FUNCTIONS = 36,
	DOTNET_FUNCTIONS = 4, /* that are read at once, ... */
	DOTNET_READS = 16,    /* ... so often */

	DOTNET_CODE_BYTES = 32,
};

/* A function: addresses are relative to where its section begins. */
struct dotnet_function {
	__u32 begin, end, unwind_info;
};

/* What there is to know of a frame. */
struct dotnet_known {
	__u64 place; /* mix(process, address, whether it is a leaf's); 0: nothing */
	__u64 start, header;
	__u32 number; /* of the code */
	struct unwind_rule rule;
};

struct dotnet_walk {
	__u64 section[DOTNET_SECTION_WORDS];
	__u64 heap[DOTNET_HEAP_WORDS];
	struct dotnet_known known;
	struct dotnet_code code; /* at hand */
	struct dotnet_function function;
	struct dotnet_function functions[DOTNET_FUNCTIONS];
	__u32 map[DOTNET_SEARCHED];
	struct unwind_info_state state;
	__u64 next;         /* in the map of sections */
	__u32 nr_functions; /* of the header at hand */
	__u32 at;           /* in the bytes */
	__u32 above;        /* the stack pointer: where the frame pointer is set to */
	__u8 info[UNWIND_INFO_BYTES + 4];
	__u8 bytes[DOTNET_CODE_BYTES + 8];
};

_Static_assert(sizeof(struct dotnet_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct dotnet_walk *dotnet_walk(const struct runtime_walk *runtime)
{
	return (struct dotnet_walk *)runtime->words;
}

static __always_inline const struct dotnet_row *dotnet_row(const struct runtime_walk *runtime)
{
	return (const struct dotnet_row *)runtime->row.words;
}

/* ---- from an address to where its code begins ---- */

/* To the next level of the map; at the last one, dotnet->next leads to the fragments. 0: there is
 * nothing for the address. A global function, as the next ones: they are verified once. */
__noinline int dotnet_take_level(__u64 address, __u32 level);
__noinline int dotnet_take_level(__u64 address, __u32 level)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	__u64 slot = address >> ((DOTNET_MAP_SHIFT - 8 * level) & 63) & 255;
	if (!read_word(dotnet->next + 8 * slot, &dotnet->next))
		return 0;
	dotnet->next &= ~1ULL; /* a mark of code that may be unloaded */
	return dotnet->next != 0;
}

/* Takes the section of the fragment at hand, if it has the address: 1. 0: it has not, and the next
 * one is at hand; negative: there is none. */
__noinline int dotnet_take_fragment(__u64 address);
__noinline int dotnet_take_fragment(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return -1;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	__u64 fragment[4]; /* next, begin, end, section */
	if (bpf_probe_read_user(fragment, sizeof(fragment), (const void *)dotnet->next))
		return -1;
	dotnet->next = fragment[0] & ~1ULL;
	if (address < fragment[1] || address >= fragment[2])
		return dotnet->next ? 0 : -1;
	return bpf_probe_read_user(
		       dotnet->section, sizeof(dotnet->section), (const void *)fragment[3])
		       ? -1
		       : 1;
}

/* Makes the section of an address that at hand. 0: it is in none. */
__noinline int dotnet_take_section(__u64 address);
__noinline int dotnet_take_section(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	int found = 0;
	if (!scratch)
		return 0;
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	if (!read_word(
		    dotnet_row(runtime)->dac_table - runtime->delta, &dotnet_walk(runtime)->next))
		return 0;
	for (int level = 0; level < DOTNET_MAP_LEVELS; level++)
		if (!dotnet_take_level(address, level))
			return 0;
	for (int i = 0; i < DOTNET_MAX_FRAGMENTS && !found; i++)
		found = dotnet_take_fragment(address);
	return found > 0;
}

/*
 * Looks for the last word of a map that is not 0, ahead of dotnet->next, some words at a time: its
 * number plus 1. 0: not among these, dotnet->next is where the next ones end; negative: there is
 * none.
 */
__noinline long dotnet_search_map(__u64 map);
__noinline long dotnet_search_map(__u64 map)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return -1;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	__u64 end = dotnet->next, first = end < DOTNET_SEARCHED ? 0 : end - DOTNET_SEARCHED;
	__u64 found = 0;
	if (!end || bpf_probe_read_user(
			    dotnet->map, sizeof(dotnet->map), (const void *)(map + 4 * first)))
		return -1;
	for (__u32 i = 0; i < DOTNET_SEARCHED; i++) {
		/* Without a branch: the verifier would follow both ways at every step. */
		__u64 value = dotnet->map[i], at = first + i;
		asm volatile("" : "+r"(value));
		__u64 is_it = (value | -value) >> 63 & (at - end) >> 63;
		found = (found & (is_it - 1)) | ((at + 1) & -is_it);
	}
	dotnet->next = first;
	return found;
}

/*
 * How many bytes behind the map's beginning the code begins that the last entry of a word is of. A
 * global function, which the verifier looks at once.
 */
__noinline __u64 dotnet_last_start(__u32 value, __u64 word, __u32 has_links);
__noinline __u64 dotnet_last_start(__u32 value, __u64 word, __u32 has_links)
{
	__u64 unit = 8 * word + 7;
	if (has_links && (value & 15) > DOTNET_LINK_KIND)
		return (value & ~15U) +
		       (((value & 15) - DOTNET_LINK_KIND - 1) << DOTNET_MAP_UNIT_SHIFT);
	for (int i = 0; i < 7 && !(value & 15); i++) {
		value >>= 4;
		unit--;
	}
	return (unit << DOTNET_MAP_BYTES_SHIFT) + (((value & 15) - 1) << DOTNET_MAP_UNIT_SHIFT);
}

/* Where the code begins that has an address, by the heap at hand. 0: that is not known. */
__noinline __u64 dotnet_find_start(__u64 address);
__noinline __u64 dotnet_find_start(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	struct dotnet_walk *dotnet = dotnet_walk(runtime);
	bool has_links = dotnet_row(runtime)->has_map_links;
	__u64 base = dotnet->heap[DOTNET_HEAP_MAP_BASE], map = dotnet->heap[DOTNET_HEAP_MAP];
	__u64 into = address - base, unit = into >> DOTNET_MAP_BYTES_SHIFT, word = unit >> 3;
	__u64 place = ((into & 31) >> DOTNET_MAP_UNIT_SHIFT) + 1;
	__u32 value = 0;
	if (into >> 32 ||
		bpf_probe_read_user(&value, sizeof(value), (const void *)(map + 4 * word)))
		return 0;
	if (has_links && (value & 15) > DOTNET_LINK_KIND)
		return base + dotnet_last_start(value, word, true);
	/* Entries behind the address's own do not count. */
	value >>= 28 - 4 * (unit & 7);
	if (value & 15 && (value & 15) <= place)
		return base + (unit << DOTNET_MAP_BYTES_SHIFT) +
		       (((value & 15) - 1) << DOTNET_MAP_UNIT_SHIFT);
	value &= ~15U;
	if (value) /* as if the address's were the last of the word */
		return base + dotnet_last_start(value, word, false) -
		       ((7 - (unit & 7)) << DOTNET_MAP_BYTES_SHIFT);
	long found = 0;
	dotnet->next = word;
	for (int i = 0; i < DOTNET_SEARCHES && !found; i++)
		found = dotnet_search_map(map);
	if (found <= 0 ||
		bpf_probe_read_user(&value, sizeof(value), (const void *)(map + 4 * (found - 1))))
		return 0;
	return base + dotnet_last_start(value, found - 1, has_links);
}

/* ---- methods ---- */

/*
 * Takes the function that has a place in the section from those of the header at hand that begin
 * with one of them: 1. 0: none of these does; negative: there are none.
 */
__noinline int dotnet_take_some(__u32 first, __u32 place);
__noinline int dotnet_take_some(__u32 first, __u32 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return -1;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	__u32 count = dotnet->nr_functions;
	__u64 at = dotnet->code.header + DOTNET_HEADER_FUNCTIONS +
		   (__u64)first * sizeof(dotnet->function);
	if (first >= count)
		return -1;
	/* There may be less, at the end of memory: then only the first. */
	if (bpf_probe_read_user(dotnet->functions, sizeof(dotnet->functions), (const void *)at)) {
		if (bpf_probe_read_user(
			    dotnet->functions, sizeof(dotnet->function), (const void *)at))
			return -1;
		count = first + 1;
	}
	for (__u32 i = 0; i < DOTNET_FUNCTIONS; i++) {
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
__noinline int dotnet_take_function(__u32 place);
__noinline int dotnet_take_function(__u32 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	int found = 0;
	if (bpf_probe_read_user(&dotnet->nr_functions, sizeof(dotnet->nr_functions),
		    (const void *)(dotnet->code.header + DOTNET_HEADER_COUNT)))
		return 0;
	for (__u32 read = 0; read < DOTNET_READS && !found; read++)
		found = dotnet_take_some(read * DOTNET_FUNCTIONS, place);
	return found > 0;
}

/* Makes the code of an address that at hand. 0: there is none that is known. */
__noinline int dotnet_take_code(__u64 address);
__noinline int dotnet_take_code(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	struct dotnet_code *code = &dotnet->code;
	code->start = code->method = code->section = 0;
	code->header = DOTNET_STUB_HELPER;
	if (!dotnet_take_section(address))
		return 1;
	__u32 flags = dotnet->section[DOTNET_SECTION_FLAGS];
	code->header = DOTNET_STUB_PRECODE;
	code->section = dotnet->section[DOTNET_SECTION_BEGIN];
	if (flags & DOTNET_IS_RANGE_LIST)
		return 1;
	if (!(flags & DOTNET_IS_CODE_HEAP) ||
		bpf_probe_read_user(dotnet->heap, sizeof(dotnet->heap),
			(const void *)dotnet->section[DOTNET_SECTION_HEAP]))
		return 0;
	code->start = dotnet_find_start(address);
	if (!code->start || !read_word(code->start - 8, &code->header))
		return 0;
	if (code->header < DOTNET_STUB_KINDS) {
		code->start = 0; /* one is as good as the other */
		return 1;
	}
	__u64 place = address - dotnet->section[DOTNET_SECTION_BEGIN];
	return !(place >> 32) && dotnet_take_function(place) &&
	       read_word(code->header + DOTNET_HEADER_METHOD, &code->method) && code->method;
}

/* ---- where the caller's frame is ---- */

static __always_inline __u32 dotnet_u32(const struct dotnet_walk *dotnet, __u32 at)
{
	const __u8 *bytes = dotnet->bytes;
	at &= DOTNET_CODE_BYTES - 1;
	return bytes[at] | (__u32)bytes[at + 1] << 8 | (__u32)bytes[at + 2] << 16 |
	       (__u32)bytes[at + 3] << 24;
}

/* Whether a function is left by a jump that is next in its code. */
static __always_inline bool dotnet_is_jump_out(const struct dotnet_walk *dotnet, __u64 pc)
{
	__u32 at = dotnet->at, code = dotnet_u32(dotnet, at);
	bool is_epilogue = at != 0;
	if ((code & 0xff) == 0xe9) {
		__u64 target = pc + at + 5 + (__s64)(__s32)dotnet_u32(dotnet, at + 1);
		__u64 place = target - dotnet->section[DOTNET_SECTION_BEGIN];
		return is_epilogue || place < dotnet->function.begin ||
		       place >= dotnet->function.end;
	}
	if ((code & 0x38ffff) == 0x20ff48) /* jmp with a prefix: that of a tail call */
		return true;
	return is_epilogue && ((code & 0xff) == 0xeb || (code & 0x38ff) == 0x20ff);
}

/* [vzeroupper] [add rsp, or lea rsp, of rbp] */
static __always_inline void dotnet_take_frame_end(struct dotnet_walk *dotnet)
{
	__u32 at = (dotnet_u32(dotnet, 0) & 0xffffff) == 0x77f8c5 ? 3 : 0;
	__u32 code = dotnet_u32(dotnet, at), wide = dotnet_u32(dotnet, at + 3);
	__u32 three = code & 0xffffff;
	bool is_short = three == 0xc48348 || three == 0x658d48;
	bool is_long = three == 0xc48148 || three == 0xa58d48;
	bool is_move = three == 0xe58b48 || three == 0xec8948;
	dotnet->state.is_by_fp = three == 0x658d48 || three == 0xa58d48 || is_move;
	dotnet->state.size = is_short ? (__s32)(__s8)(code >> 24) : is_long ? (__s32)wide : 0;
	dotnet->at = is_short ? at + 4 : is_long ? at + 7 : is_move ? at + 3 : at;
}

/* The next pop of an epilogue. 0: there is none. A global function: it is verified once. */
__noinline int dotnet_take_pop(void);
__noinline int dotnet_take_pop(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	__u32 code = dotnet_u32(dotnet, dotnet->at), is_high = (code & 0xff) == 0x41;
	__u32 op = (is_high ? code >> 8 : code) & 0xff;
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

static __always_inline void dotnet_begin_state(struct dotnet_walk *dotnet)
{
	dotnet->state.rbp = dotnet->state.rbx = UNWIND_INFO_NOT_PUSHED;
	dotnet->state.size = dotnet->state.next = 0;
	dotnet->state.is_by_fp = false;
}

/*
 * The rule for a leaf in an epilogue, whose pops end in ret, or in a jump to what is called in its
 * place. 0: it is in none.
 */
__noinline int dotnet_take_epilogue(__u64 pc);
__noinline int dotnet_take_epilogue(__u64 pc)
{
	enum {
		MAX_POPS = 7,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	if (bpf_probe_read_user(dotnet->bytes, DOTNET_CODE_BYTES, (const void *)pc))
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
__noinline int dotnet_take_operation(__u32 offset);
__noinline int dotnet_take_operation(__u32 offset)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	return unwind_info_take(dotnet->info, offset, &dotnet->state);
}

/* The rule by what the function at hand says of its prologue. 0: there is none. */
__noinline int dotnet_take_rule(__u32 offset);
__noinline int dotnet_take_rule(__u32 offset)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	__u64 at = dotnet->section[DOTNET_SECTION_BEGIN] + dotnet->function.unwind_info;
	if (bpf_probe_read_user(dotnet->info, UNWIND_INFO_BYTES, (const void *)at)) {
		/* The end of memory may be near. */
		if (bpf_probe_read_user(dotnet->info, UNWIND_INFO_HEAD_BYTES, (const void *)at))
			return 0;
		__u64 bytes = 2 * (dotnet->info[2] & (UNWIND_INFO_MAX_CODES - 1));
		asm volatile("" : "+r"(bytes));
		if (bytes > 2 * UNWIND_INFO_MAX_CODES ||
			bpf_probe_read_user(dotnet->info + UNWIND_INFO_HEAD_BYTES, bytes,
				(const void *)(at + UNWIND_INFO_HEAD_BYTES)))
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

/* ---- where that is said in memory that is not there ---- */

/* The next push of a prologue, if a frame `offset` bytes into the function has done it. 0: it is
 * none. A register's place is counted from the return address down until all of them are known. */
__noinline int dotnet_take_push(__u32 offset);
__noinline int dotnet_take_push(__u32 offset)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	__u32 code = dotnet_u32(dotnet, dotnet->at), is_high = (code & 0xff) == 0x41;
	__u32 op = (is_high ? code >> 8 : code) & 0xff, next = dotnet->at + 1 + is_high;
	if ((op & 0xf8) != 0x50 || next > offset)
		return 0;
	if (op == 0x55 && !is_high)
		dotnet->state.rbp = dotnet->state.size;
	if (op == 0x53 && !is_high)
		dotnet->state.rbx = dotnet->state.size;
	dotnet->state.size += 8;
	dotnet->at = next;
	return 1;
}

/* sub rsp, then lea rbp, of rsp, or mov */
static __always_inline void dotnet_take_frame_begin(struct dotnet_walk *dotnet, __u32 offset)
{
	__u32 at = dotnet->at, code = dotnet_u32(dotnet, at);
	bool is_short = (code & 0xffffff) == 0xec8348, is_long = (code & 0xffffff) == 0xec8148;
	__u32 size = is_short ? code >> 24 : is_long ? dotnet_u32(dotnet, at + 3) : 0;
	at += is_short ? 4 : is_long ? 7 : 0;
	if (at > offset)
		return;
	dotnet->state.size += size;
	code = dotnet_u32(dotnet, at);
	bool is_near = code == 0x246c8d48, is_far = code == 0x24ac8d48;
	bool is_move = (code & 0xffffff) == 0xec8b48;
	__u32 above = is_far ? dotnet_u32(dotnet, at + 4) : dotnet_u32(dotnet, at + 4) & 0xff;
	at += is_near ? 5 : is_far ? 8 : 3;
	dotnet->state.is_by_fp = (is_near || is_far || is_move) && at <= offset;
	dotnet->above = is_move ? 0 : above;
}

/*
 * The rule by the instructions of the prologue: the process has run these, but the page with what
 * it says of them may not be there yet, see dotnet_number_code(). It is believed where it leads
 * behind a call. 0: it does not.
 */
__noinline int dotnet_take_prologue(__u32 offset);
__noinline int dotnet_take_prologue(__u32 offset)
{
	enum {
		MAX_PUSHES = 8,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct dotnet_walk *dotnet = dotnet_walk(&walk->runtime);
	struct unwind_info_state *state = &dotnet->state;
	__u64 begin = dotnet->section[DOTNET_SECTION_BEGIN] + dotnet->function.begin, ra = 0;
	if (bpf_probe_read_user(dotnet->bytes, DOTNET_CODE_BYTES, (const void *)begin))
		return 0;
	dotnet_begin_state(dotnet);
	dotnet->at = 0;
	for (int i = 0; i < MAX_PUSHES; i++)
		if (!dotnet_take_push(offset))
			break;
	dotnet_take_frame_begin(dotnet, offset);
	if (state->is_by_fp)
		state->size -= dotnet->above;
	if (state->rbp != UNWIND_INFO_NOT_PUSHED)
		state->rbp = state->size - 8 - state->rbp;
	if (state->rbx != UNWIND_INFO_NOT_PUSHED)
		state->rbx = state->size - 8 - state->rbx;
	unwind_info_put_rule(state, &dotnet->known.rule);
	__u64 base = walk->regs.reg[state->is_by_fp ? UNWIND_FP : UNWIND_SP];
	return !read_stack(walk, base + (__s64)state->size, &ra) &&
	       !bpf_probe_read_user(
		       dotnet->bytes, UNWIND_CALL_BYTES, (const void *)(ra - UNWIND_CALL_BYTES)) &&
	       unwind_is_call(dotnet->bytes);
}

#endif

/*
 * Functions of .NET's code on arm64, and frames of theirs: records of .xdata say what prologues and
 * epilogues do, and how long functions are. All functions of methods set the frame pointer;
 * funclets keep the method's. dotnet_x86_64.h has the same.
 */
#ifndef EBPROF_DOTNET_ARM64_H
#define EBPROF_DOTNET_ARM64_H

#include "bpf/runtime/dotnet/dotnet_walk.h"

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)

/* ---- functions ---- */

/*
 * Takes the last function that does not begin behind a place from those of the header at hand, as
 * far as it is among some: 1. 0: it may be a later one; negative: there is none. A global function,
 * as the next ones: they are verified once.
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
	/* There may be less, at the end of memory: then only the first. */
	if (first < count && dotnet_read(dotnet->functions, sizeof(dotnet->functions), at)) {
		if (dotnet_read(dotnet->functions, sizeof(dotnet->function), at))
			return -1;
		count = first + 1;
	}
	for (unsigned int i = 0; i < DOTNET_FUNCTIONS; i++) {
		if (first + i >= count || place < dotnet->functions[i].begin)
			return first + i ? 1 : -1;
		dotnet->function = dotnet->functions[i];
	}
	return 0;
}

/* What the function at hand says of itself is at hand then, if it is there. 0: there is none. */
DOTNET_FUNCTION int dotnet_take_head(void);
DOTNET_FUNCTION int dotnet_take_head(void)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	unsigned int words[UNWIND_XDATA_HEAD_WORDS];
	if (!dotnet)
		return 0;
	unsigned long long at =
		dotnet->section[DOTNET_SECTION_BEGIN] + dotnet->function.unwind_info;
	if (dotnet_read(words, sizeof(words), at) || !unwind_xdata_take_head(words, &dotnet->head))
		dotnet->head.bytes = 0;
	return 1;
}

/* Whether the function at hand, which does not begin behind a place in the section, has it. */
UNWIND_INLINE _Bool dotnet_has_place(const struct dotnet_walk *dotnet, unsigned long long place)
{
	return dotnet_take_head() && place >= dotnet->function.begin &&
	       (!dotnet->head.bytes || place - dotnet->function.begin < dotnet->head.bytes);
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
	return found > 0 && dotnet_has_place(dotnet, place);
}

/* ---- codes ---- */

/* The next code of those at hand, see unwind_xdata_take(). */
DOTNET_FUNCTION int dotnet_take_xdata(unsigned int skip);
DOTNET_FUNCTION int dotnet_take_xdata(unsigned int skip)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	return dotnet ? unwind_xdata_take(dotnet->codes, skip, &dotnet->state) : -1;
}

UNWIND_INLINE void dotnet_begin_state(struct dotnet_walk *dotnet)
{
	struct unwind_xdata_state *state = &dotnet->state;
	state->fp = state->ra = UNWIND_XDATA_NOT_SAVED;
	state->size = 0;
	state->at = state->count = state->nexts = 0;
	state->is_by_fp = 0;
}

/* All codes at hand, up to their end; how many these are is in the state. 0: they are not
 * understood. */
DOTNET_FUNCTION int dotnet_run_codes(unsigned int skip);
DOTNET_FUNCTION int dotnet_run_codes(unsigned int skip)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	int taken = 1;
	if (!dotnet)
		return 0;
	dotnet_begin_state(dotnet);
	for (int i = 0; i < UNWIND_XDATA_MAX_CODES; i++) {
		taken = dotnet_take_xdata(skip);
		if (taken <= 0)
			break;
	}
	return !taken;
}

/* Makes the codes that begin so many bytes behind the first those at hand. 0: they cannot be read.
 */
DOTNET_FUNCTION int dotnet_take_codes(unsigned int from);
DOTNET_FUNCTION int dotnet_take_codes(unsigned int from)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet)
		return 0;
	unsigned long long at = dotnet->section[DOTNET_SECTION_BEGIN] +
				dotnet->function.unwind_info + dotnet->head.codes + from;
	unsigned long long bytes = dotnet->head.code_bytes - from;
	if (from >= dotnet->head.code_bytes)
		return 0;
	if (bytes > UNWIND_XDATA_CODE_BYTES)
		bytes = UNWIND_XDATA_CODE_BYTES;
	asm volatile("" : "+r"(bytes));
	return bytes && bytes <= UNWIND_XDATA_CODE_BYTES && !dotnet_read(dotnet->codes, bytes, at);
}

/* ---- where the caller's frame is ---- */

/*
 * Looks among some of the words that epilogues have for the last one of those that do not begin
 * behind an offset in the function, which is at hand then. 0: there are no more.
 */
DOTNET_FUNCTION int dotnet_search_epilogues(unsigned int first, unsigned int offset);
DOTNET_FUNCTION int dotnet_search_epilogues(unsigned int first, unsigned int offset)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet || first >= dotnet->head.nr_epilogues)
		return 0;
	unsigned long long bytes = 4ULL * (dotnet->head.nr_epilogues - first),
			   found = dotnet->epilogue;
	unsigned long long at = dotnet->section[DOTNET_SECTION_BEGIN] +
				dotnet->function.unwind_info + dotnet->head.epilogues +
				4ULL * first;
	if (bytes > sizeof(dotnet->map))
		bytes = sizeof(dotnet->map);
	asm volatile("" : "+r"(bytes));
	if (!bytes || bytes > sizeof(dotnet->map) || dotnet_read(dotnet->map, bytes, at))
		return 0;
	for (unsigned int i = 0; i < DOTNET_SEARCHED; i++) {
		/* Without a branch, see dotnet_search_map(). */
		unsigned long long word = dotnet->map[i], left = bytes, behind = offset;
		asm volatile("" : "+r"(word), "+r"(left), "+r"(behind));
		unsigned long long begin = (word & 0x3ffff) * UNWIND_XDATA_INSN_BYTES;
		unsigned long long is_it = (begin - behind - 1) >> 63 & (4ULL * i - left) >> 63;
		found = (found & (is_it - 1)) | (word & -is_it);
	}
	dotnet->epilogue = found;
	return 1;
}

/* The rule for a leaf in an epilogue. 0: it is in none. */
DOTNET_FUNCTION int dotnet_take_epilogue(unsigned long long pc);
DOTNET_FUNCTION int dotnet_take_epilogue(unsigned long long pc)
{
	enum {
		NONE = 0xffffffff,
		SEARCHES = 4,
	};
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet || !dotnet->head.bytes)
		return 0;
	unsigned int offset = pc - dotnet->section[DOTNET_SECTION_BEGIN] - dotnet->function.begin;
	unsigned int codes = dotnet->head.last;
	dotnet->epilogue = NONE;
	if (codes == UNWIND_XDATA_NO_EPILOGUE) {
		for (unsigned int i = 0; i < SEARCHES; i++)
			if (!dotnet_search_epilogues(i * DOTNET_SEARCHED, offset))
				break;
		if (dotnet->epilogue == NONE)
			return 0;
		codes = unwind_xdata_epilogue_codes(dotnet->epilogue);
	}
	if (!dotnet_take_codes(codes) || !dotnet_run_codes(UNWIND_XDATA_MAX_CODES))
		return 0;
	/* The end of the codes stands for what leaves the function. */
	unsigned int bytes = (dotnet->state.count + 1) * UNWIND_XDATA_INSN_BYTES;
	unsigned int begin = dotnet->epilogue == NONE
				     ? dotnet->head.bytes - bytes
				     : unwind_xdata_epilogue_begin(dotnet->epilogue);
	unsigned int into = offset - begin;
	return into < bytes && dotnet_run_codes(into / UNWIND_XDATA_INSN_BYTES) &&
	       unwind_xdata_put_rule(&dotnet->state, &dotnet->known.rule);
}

/* The rule by what the function at hand says of its prologue. 0: there is none. */
DOTNET_FUNCTION int dotnet_take_rule(unsigned int offset);
DOTNET_FUNCTION int dotnet_take_rule(unsigned int offset)
{
	struct dotnet_walk *dotnet = dotnet_at_hand();
	if (!dotnet || !dotnet->head.bytes || !dotnet_take_codes(0) ||
		!dotnet_run_codes(UNWIND_XDATA_MAX_CODES))
		return 0;
	unsigned int count = dotnet->state.count, done = offset / UNWIND_XDATA_INSN_BYTES;
	return dotnet_run_codes(done < count ? count - done : 0) &&
	       unwind_xdata_put_rule(&dotnet->state, &dotnet->known.rule);
}

#endif

#endif

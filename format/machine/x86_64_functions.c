/*
 * Where functions begin in x86-64 code that no table describes.
 *
 * The code is read from its beginning on, instruction after instruction: compilers and assemblers
 * put nothing else between instructions than nops and int3. A function begins behind an instruction
 * that never goes on (ret, jmp, ud2...) and the nops that fill up, where a call leads to, or where
 * the address is a multiple of 16 and no branch of what came before leads to it or beyond:
 * compilers align blocks inside of functions likewise. A branch back over such a beginning makes it
 * none.
 *
 * Of code that has FDEs, 95 to 99 % of what is found this way are beginnings of those, and it finds
 * most of them; the others, parts that stand apart (foo.cold) among them, are taken for a part of
 * what stands before.
 */
#include "format/machine/x86_64_functions.h"

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/machine/x86_64_insn.h"

enum {
	ALIGNMENT = 16,
	INT3 = 0xcc, /* fills up, too */
	/* A branch that leads further is to another function: assembly shares its ends. */
	BRANCH_MAX = 16 << 10,
};

/* ---- functions ---- */

struct search {
	const uint8_t *bytes;
	size_t len;
	uint64_t address;
	uint8_t *called; /* a bit for each byte that a call leads to */
	size_t reach;    /* a forward branch of the function leads there */
	struct machine_functions *starts;
};

/* Where the instruction at `at` leads to; `len`: out of the code. */
static size_t x86_64_functions_target_of(
	const struct search *search, size_t at, const struct x86_64_insn *insn)
{
	int64_t target = (int64_t)at + insn->len + insn->value;
	return target >= 0 && target < (int64_t)search->len ? (size_t)target : search->len;
}

static void find_called(struct search *search)
{
	struct x86_64_insn insn;
	for (size_t at = 0; at < search->len; at += insn.len) {
		if (!x86_64_insn_decode(search->bytes + at, search->len - at, &insn)) {
			insn.len = 1;
			continue;
		}
		size_t target = insn.kind == X86_64_CALL
					? x86_64_functions_target_of(search, at, &insn)
					: search->len;
		if (target < search->len)
			search->called[target / 8] |= (uint8_t)(1 << target % 8);
	}
}

static bool x86_64_functions_is_called(const struct search *search, size_t at)
{
	return search->called[at / 8] >> at % 8 & 1;
}

/* Whether a function begins at `at`. A call that never returns may stand before it. */
static bool is_start(const struct search *search, size_t at, bool has_ended)
{
	bool is_aligned = (search->address + at) % ALIGNMENT == 0;
	if (!has_ended)
		return is_aligned && x86_64_functions_is_called(search, at);
	return x86_64_functions_is_called(search, at) || !search->starts->len ||
	       (is_aligned && at > search->reach);
}

static void x86_64_functions_follow(
	struct search *search, size_t at, const struct x86_64_insn *insn)
{
	struct machine_functions *starts = search->starts;
	size_t target = x86_64_functions_target_of(search, at, insn);
	size_t distance = target > at ? target - at : at - target;
	if (target == search->len || distance > BRANCH_MAX)
		return;
	size_t behind = bisect(starts->len, i, starts->data[i] <= target);
	bool is_to_start = behind && starts->data[behind - 1] == target;
	bool is_tail_call = insn->kind == X86_64_JUMP && (is_to_start || target > at);
	if (target > at && target - is_tail_call > search->reach)
		search->reach = target - is_tail_call;
	if (target <= at && !is_tail_call)
		while (starts->len > behind &&
			!x86_64_functions_is_called(search, starts->data[starts->len - 1]))
			starts->len--;
}

static bool never_goes_on(const struct x86_64_insn *insn)
{
	return insn->kind == X86_64_RETURN || insn->kind == X86_64_JUMP ||
	       insn->kind == X86_64_JUMP_INDIRECT || insn->kind == X86_64_STOP;
}

void x86_64_find_functions(
	const uint8_t *bytes, size_t len, uint64_t address, struct machine_functions *ret)
{
	struct search search = {.bytes = bytes,
		.len = len,
		.address = address,
		.called = mem_zalloc_array(len / 8 + 1, 1),
		.starts = ret};
	bool has_ended = true;
	struct x86_64_insn insn;
	ret->len = 0;
	find_called(&search);
	for (size_t at = 0; at < len; at += insn.len) {
		if (!x86_64_insn_decode(bytes + at, len - at, &insn))
			insn = (struct x86_64_insn){.len = 1};
		bool is_zeros = insn.len == 2 && !bytes[at] && !bytes[at + 1];
		if (has_ended && (insn.kind == X86_64_FILLER || bytes[at] == INT3 || is_zeros))
			continue;
		if (is_start(&search, at, has_ended)) {
			vec_push(ret, (uint32_t)at);
			search.reach = at;
		}
		has_ended = never_goes_on(&insn);
		if (insn.kind == X86_64_BRANCH || insn.kind == X86_64_JUMP)
			x86_64_functions_follow(&search, at, &insn);
	}
	mem_free(search.called);
}

/* A call that is followed by what fills up never returns. */
size_t x86_64_function_length(const uint8_t *bytes, size_t len)
{
	size_t reach = 0;
	bool is_behind_call = false;
	struct x86_64_insn insn;
	for (size_t at = 0; at < len; at += insn.len) {
		if (!x86_64_insn_decode(bytes + at, len - at, &insn))
			return at > reach ? at : len;
		bool is_filler = insn.kind == X86_64_FILLER || bytes[at] == INT3;
		if (is_behind_call && is_filler && at > reach)
			return at;
		is_behind_call = insn.kind == X86_64_CALL || insn.kind == X86_64_CALL_INDIRECT;
		size_t next = at + insn.len, target = next + (size_t)insn.value;
		bool is_branch = insn.kind == X86_64_BRANCH || insn.kind == X86_64_JUMP;
		if (is_branch && insn.value > 0 && target < len && target > reach)
			reach = target;
		if (never_goes_on(&insn) && next > reach)
			return next;
	}
	return len;
}

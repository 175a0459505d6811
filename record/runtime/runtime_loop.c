#include "record/runtime/runtime_loop.h"

#include <elf.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/machine/arm64_insn.h"

enum {
	MAX_BYTES = 1 << 20, /* of a function; loops have some 50 KiB */
	MAX_CANDIDATES = 64,
};

/*
 * Where the bytes at code[i] jump to, if they are a jump of x86-64 with a distance of 32 bits: an
 * offset from code[0]. That they may be no instruction's beginning does not matter: to hit another
 * function by chance is one in a million.
 */
static bool jump_of_x86_64(const uint8_t *code, size_t i, size_t len, int64_t *target)
{
	size_t at = i + (code[i] == 0xe9 ? 1 : 2); /* jmp, or jcc */
	if (code[i] != 0xe9 && !(code[i] == 0x0f && i + 1 < len && code[i + 1] >> 4 == 8))
		return false;
	if (at + 4 > len)
		return false;
	struct bytes_cursor cursor = bytes_cursor(code + at, 4);
	*target = (int64_t)at + 4 + (int32_t)bytes_get_u32(&cursor);
	return true;
}

static bool jump_of_arm64(const uint8_t *code, size_t i, size_t len, int64_t *target)
{
	if (i % ARM64_INSN_BYTES)
		return false;
	struct arm64_insn insn = arm64_insn_decode(code + i, len - i, i);
	*target = (int64_t)insn.value;
	return insn.kind == ARM64_JUMP || insn.kind == ARM64_BRANCH;
}

static bool jump_at(
	const struct elf_file *elf, const uint8_t *code, size_t i, size_t len, int64_t *target)
{
	return elf_file_machine(elf) == EM_AARCH64 ? jump_of_arm64(code, i, len, target)
						   : jump_of_x86_64(code, i, len, target);
}

static struct err *read_part(
	struct elf_file *elf, const struct runtime_loop_part *part, uint8_t **code, size_t *len)
{
	*len = part->end - part->start < MAX_BYTES ? part->end - part->start : MAX_BYTES;
	return elf_file_read(elf, part->start, *len, code);
}

/* Whether the part jumps into the loop, but not to where it begins. */
static struct err *jumps_back(struct elf_file *elf, const struct runtime_loop_part *part,
	const struct runtime_loop_part *loop, bool *ret)
{
	CLEANUP_FREE uint8_t *code = NULL;
	size_t len;
	int64_t target;
	*ret = false;
	try(read_part(elf, part, &code, &len));
	for (size_t i = 0; i < len && !*ret; i++)
		if (jump_at(elf, code, i, len, &target)) {
			uint64_t offset = part->start + (uint64_t)target;
			*ret = offset > loop->start && offset < loop->end;
		}
	return NULL;
}

struct candidates {
	struct runtime_loop_part parts[MAX_CANDIDATES];
	size_t count;
};

static void add_candidate(struct candidates *candidates, const struct runtime_loop_part *part)
{
	for (size_t i = 0; i < candidates->count; i++)
		if (candidates->parts[i].start == part->start)
			return;
	if (candidates->count < MAX_CANDIDATES)
		candidates->parts[candidates->count++] = *part;
}

/* Functions that the loop jumps to. */
static struct err *runtime_loop_find_candidates(struct elf_file *elf,
	const struct runtime_loop_part *loop, runtime_loop_function_fn *function, void *context,
	struct candidates *ret)
{
	CLEANUP_FREE uint8_t *code = NULL;
	size_t len;
	int64_t target;
	try(read_part(elf, loop, &code, &len));
	for (size_t i = 0; i < len; i++) {
		struct runtime_loop_part part;
		if (!jump_at(elf, code, i, len, &target) || (target >= 0 && target < (int64_t)len))
			continue;
		uint64_t offset = loop->start + (uint64_t)target;
		if (function(context, offset, &part.start, &part.end) && part.start != loop->start)
			add_candidate(ret, &part);
	}
	return NULL;
}

/* Adds a function and what was moved out of it. */
static struct err *runtime_loop_add_function(struct elf_file *elf,
	const struct runtime_loop_part *whole, runtime_loop_function_fn *function, void *context,
	struct runtime_loop *ret)
{
	struct candidates candidates = {.count = 0};
	ret->parts[ret->nr_parts++] = *whole;
	try(runtime_loop_find_candidates(elf, whole, function, context, &candidates));
	for (size_t i = 0; i < candidates.count && ret->nr_parts < RUNTIME_LOOP_MAX_PARTS; i++) {
		bool is_part;
		try(jumps_back(elf, &candidates.parts[i], whole, &is_part));
		if (is_part)
			ret->parts[ret->nr_parts++] = candidates.parts[i];
	}
	return NULL;
}

struct err *runtime_loop_find(struct elf_file *elf, const struct runtime_file *file,
	runtime_loop_function_fn *function, void *context, struct runtime_loop *ret)
{
	struct runtime_loop_part loop = {
		file->loop_start + file->address_to_file, file->loop_end + file->address_to_file};
	struct runtime_loop_part core = {
		file->core_start + file->address_to_file, file->core_end + file->address_to_file};
	ret->nr_parts = 0;
	try(runtime_loop_add_function(elf, &loop, function, context, ret));
	if (!file->core_start || ret->nr_parts == RUNTIME_LOOP_MAX_PARTS)
		return NULL;
	return runtime_loop_add_function(elf, &core, function, context, ret);
}

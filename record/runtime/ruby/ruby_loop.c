/*
 * vm_exec_core() is threaded code: each of some two hundred instructions ends by jumping to where
 * the next one's word points. No other function has a tenth of such jumps. rb_vm_exec() is who
 * calls it; where the two are one, or no caller is known, the loop is all there is.
 */
#include "record/runtime/ruby/ruby_loop.h"

#include <elf.h>
#include <stdlib.h>

#include "bpf/runtime/ruby/ruby_row.h"
#include "format/base/bisect.h"
#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/dwarf/cfi.h"
#include "format/elf/elf_eh_frame.h"
#include "format/machine/arm64_insn.h"
#include "format/machine/machine.h"
#include "record/runtime/runtime_loop.h"

enum {
	MAX_BYTES = 64 << 20, /* of code, and of call frame information */
	MAX_FUNCTIONS = 1 << 20,
	MIN_JUMPS = 32, /* through memory, of the core */
	FEWER = 4,      /* so many times fewer has any other function */
	MAX_CALLERS = 8,
	CALL_BYTES = 5,
};

struct function {
	uint64_t start, end; /* virtual addresses */
	uint32_t jumps;
};

struct search {
	VEC(struct function) functions;
	uint8_t *code;
	uint64_t start, len; /* of the code; virtual address, bytes */
	uint64_t address_to_file;
	bool is_arm64;
};

/* ---- functions ---- */

static int compare_starts(const void *a, const void *b)
{
	const struct function *f = a, *g = b;
	return f->start < g->start ? -1 : f->start > g->start;
}

static struct err *ruby_loop_list_functions(struct elf_file *elf, struct search *search)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct elf_eh_frame found;
	bool is_found;
	try(elf_eh_frame_find(elf, &found, &is_found));
	if (!is_found || found.size > MAX_BYTES)
		return NULL;
	try(elf_file_read(elf, found.offset, found.size, &bytes));
	struct cfi_section section = {
		.kind = CFI_EH_FRAME,
		.bytes = bytes,
		.len = found.size,
		.vaddr = found.vaddr,
		.machine = machine_registers(elf_file_machine(elf)),
		.stop = elf_file_stop(elf),
	};
	struct cfi_reader *reader = cfi_reader_create(&section);
	struct cfi_function function;
	while (cfi_reader_next(reader, &function) && search->functions.len < MAX_FUNCTIONS)
		vec_push(&search->functions,
			((struct function){.start = function.start, .end = function.end}));
	cfi_reader_destroy(reader);
	if (search->functions.len)
		qsort(search->functions.data, search->functions.len, sizeof(struct function),
			compare_starts);
	return NULL;
}

static struct function *ruby_loop_function_at(const struct search *search, uint64_t address)
{
	size_t low = bisect(search->functions.len, i, search->functions.data[i].start <= address);
	struct function *found = low ? &search->functions.data[low - 1] : NULL;
	return found && address < found->end ? found : NULL;
}

static struct err *ruby_loop_read_code(struct elf_file *elf, struct search *search)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		const struct elf_segment *segment = &segments[i];
		if (!(segment->flags & PF_X) || search->code || segment->filesz > MAX_BYTES)
			continue;
		search->start = segment->vaddr;
		search->len = segment->filesz;
		search->address_to_file = segment->offset - segment->vaddr;
		try(elf_file_read(elf, segment->offset, segment->filesz, &search->code));
	}
	return NULL;
}

/* ---- what they do ---- */

/*
 * jmp *disp(%reg), but for that of a PLT and of tables; `code` has a byte before. Bytes that look
 * like it and are not are, most of them, the end of a negative displacement and the prefix of a
 * long nop that follows.
 */
static bool jumps_through_memory_on_x86_64(const uint8_t *code)
{
	enum {
		TO_MEMORY = 4,
		RIP = 5,
		REX_B = 0x41,
		WIDE = 0x66,
	};
	unsigned mode = code[1] >> 6, operation = code[1] >> 3 & 7, base = code[1] & 7;
	if (code[0] != 0xff || (code[-1] != REX_B && (code[-1] == 0xff || code[1] == WIDE)))
		return false;
	return operation == TO_MEMORY && mode != 3 && (mode || base != RIP);
}

/* br xN, with the next function's address as it was loaded a few instructions ahead; what tables of
 * a switch have is added up. */
static bool jumps_through_memory_on_arm64(const struct search *search, uint64_t i)
{
	enum {
		LOOK_BACK = 8,
	};
	const uint8_t *code = search->code + i;
	if (i % ARM64_INSN_BYTES || i + ARM64_INSN_BYTES > search->len)
		return false;
	struct arm64_insn jump = arm64_insn_decode(code, ARM64_INSN_BYTES, 0);
	if (jump.kind != ARM64_JUMP_INDIRECT || jump.base == ARM64_NO_REGISTER)
		return false;
	for (uint64_t back = 1; back <= LOOK_BACK && back * ARM64_INSN_BYTES <= i; back++) {
		struct arm64_insn insn =
			arm64_insn_decode(code - back * ARM64_INSN_BYTES, ARM64_INSN_BYTES, 0);
		if (insn.writes >> jump.base & 1)
			return insn.kind == ARM64_LOAD && insn.bytes == 8;
	}
	return false;
}

static bool is_jump_through_memory(const struct search *search, uint64_t i)
{
	return search->is_arm64 ? jumps_through_memory_on_arm64(search, i)
				: jumps_through_memory_on_x86_64(search->code + i);
}

static const struct function *find_core(struct search *search)
{
	struct function *best = NULL;
	for (uint64_t i = 1; i + 1 < search->len; i++) {
		if (!is_jump_through_memory(search, i))
			continue;
		struct function *function = ruby_loop_function_at(search, search->start + i);
		if (!function)
			continue;
		function->jumps++;
		if (!best || function->jumps > best->jumps)
			best = function;
	}
	if (!best || best->jumps < MIN_JUMPS)
		return NULL;
	vec_each(&search->functions, other)
		if (other != best && other->jumps > best->jumps / FEWER)
			return NULL;
	return best;
}

/* The target of the call at code[i]; 0: it is none. */
static uint64_t call_target(const struct search *search, uint64_t i)
{
	if (search->is_arm64) {
		struct arm64_insn insn =
			arm64_insn_decode(search->code + i, search->len - i, search->start + i);
		return i % ARM64_INSN_BYTES == 0 && insn.kind == ARM64_CALL ? insn.value : 0;
	}
	if (search->code[i] != 0xe8 || i + CALL_BYTES > search->len)
		return 0;
	struct bytes_cursor cursor = bytes_cursor(search->code + i + 1, 4);
	return search->start + i + CALL_BYTES + (uint64_t)(int32_t)bytes_get_u32(&cursor);
}

static bool calls(const struct search *search, const struct function *caller, uint64_t target)
{
	if (caller->start < search->start || caller->end - search->start > search->len)
		return false;
	for (uint64_t i = caller->start - search->start; i < caller->end - search->start; i++)
		if (call_target(search, i) == target)
			return true;
	return false;
}

/*
 * Of those that call the core the one that calls the others: 3.3 may have a function of its own to
 * go on behind exceptions. NULL: it has no caller, or too many.
 */
static const struct function *find_caller(const struct search *search, const struct function *core)
{
	const struct function *callers[MAX_CALLERS], *best = NULL;
	size_t count = 0;
	for (uint64_t i = 0; i < search->len; i++) {
		if (call_target(search, i) != core->start)
			continue;
		const struct function *caller = ruby_loop_function_at(search, search->start + i);
		if (!caller || caller == core || (count && callers[count - 1] == caller))
			continue;
		if (count == MAX_CALLERS)
			return NULL;
		callers[count++] = caller;
	}
	for (size_t i = 0; i < count; i++)
		if (!best || calls(search, callers[i], best->start) ||
			(callers[i]->end - callers[i]->start > best->end - best->start &&
				!calls(search, best, callers[i]->start)))
			best = callers[i];
	return best;
}

/* ---- the whole ---- */

static bool function_of_offset(void *context, uint64_t offset, uint64_t *start, uint64_t *end)
{
	const struct search *search = context;
	const struct function *found =
		ruby_loop_function_at(search, offset - search->address_to_file);
	if (!found)
		return false;
	*start = found->start + search->address_to_file;
	*end = found->end + search->address_to_file;
	return true;
}

/* The core's parts, as addresses. */
static struct err *take_core(struct elf_file *elf, struct search *search,
	const struct function *core, struct runtime_file *file)
{
	struct ruby_row *row = (void *)file->row.words;
	struct runtime_file alone = {.loop_start = core->start,
		.loop_end = core->end,
		.address_to_file = search->address_to_file};
	struct runtime_loop parts;
	try(runtime_loop_find(elf, &alone, function_of_offset, search, &parts));
	for (uint32_t i = 0; i < RUBY_RANGES && i < parts.nr_parts; i++) {
		row->core_start[i] = parts.parts[i].start - search->address_to_file;
		row->core_end[i] = parts.parts[i].end - search->address_to_file;
	}
	file->core_start = core->start;
	file->core_end = core->end;
	return NULL;
}

static struct err *ruby_loop_find_pc(
	struct elf_file *elf, struct search *search, struct runtime_file *file, bool *is_found)
{
	try(ruby_loop_list_functions(elf, search));
	try(ruby_loop_read_code(elf, search));
	const struct function *core = search->code ? find_core(search) : NULL, *loop = NULL;
	if (!core)
		return NULL;
	if (file->loop_start)
		loop = ruby_loop_function_at(search, file->loop_start);
	if (!loop)
		loop = find_caller(search, core);
	if (!loop)
		loop = core;
	file->loop_start = loop->start;
	file->loop_end = loop->end;
	*is_found = true;
	return loop == core ? NULL : take_core(elf, search, core, file);
}

struct err *ruby_loop_find(
	struct elf_file *elf, uint64_t loop, struct runtime_file *file, bool *is_found)
{
	struct search search = {.is_arm64 = elf_file_machine(elf) == EM_AARCH64};
	*is_found = false;
	file->loop_start = loop;
	struct err *err = ruby_loop_find_pc(elf, &search, file, is_found);
	vec_deinit(&search.functions);
	mem_free(search.code);
	return err;
}

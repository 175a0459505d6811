#include "record/runtime/lua/lua_loop.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/dwarf/cfi.h"
#include "format/elf/elf_eh_frame.h"
#include "format/machine/arm64_insn.h"
#include "format/machine/machine.h"
#include "record/runtime/runtime_file.h"

enum {
	SECTION_MAX = 64 << 20, /* bytes */
	FUNCTIONS_MAX = 1 << 20,
	LOOP_MIN_BYTES = 4 << 10, /* that of Lua 5.2 has 6 KiB */
	CALLER_MAX_BYTES = 4 << 10,
	PROLOGUE_BYTES = 64,
	VISITS_MAX = 64,
	DEPTH_MAX = 4,
};

struct function {
	uint64_t start, end;
};

struct search {
	struct elf_file *elf;
	VEC(struct function) functions; /* by address */
	struct {
		const struct function *function;
		uint32_t depth;
	} visits[VISITS_MAX];
	size_t nr_visits;
};

/* ---- functions ---- */

static int lua_loop_compare(const void *left, const void *right)
{
	const struct function *a = left, *b = right;
	return (a->start > b->start) - (a->start < b->start);
}

static struct err *lua_loop_list_functions(struct search *search)
{
	struct elf_eh_frame found;
	bool is_found;
	try(elf_eh_frame_find(search->elf, &found, &is_found));
	if (!is_found || found.size > SECTION_MAX)
		return NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	try(elf_file_read(search->elf, found.offset, found.size, &bytes));
	struct cfi_section section = {
		.kind = CFI_EH_FRAME,
		.bytes = bytes,
		.len = found.size,
		.vaddr = found.vaddr,
		.machine = machine_registers(elf_file_machine(search->elf)),
		.stop = elf_file_stop(search->elf),
	};
	struct cfi_reader *reader = cfi_reader_create(&section);
	struct cfi_function function;
	while (cfi_reader_next(reader, &function) && search->functions.len < FUNCTIONS_MAX)
		vec_push(&search->functions, (struct function){function.start, function.end});
	cfi_reader_destroy(reader);
	if (search->functions.len)
		qsort(search->functions.data, search->functions.len, sizeof(struct function),
			lua_loop_compare);
	return NULL;
}

/* The one that begins at an address; NULL: none does. */
static const struct function *lua_loop_function_at(const struct search *search, uint64_t address)
{
	struct function key = {address, address};
	if (!search->functions.len)
		return NULL;
	return bsearch(
		&key, search->functions.data, search->functions.len, sizeof(key), lua_loop_compare);
}

/* ---- who calls whom ---- */

static void lua_loop_visit(struct search *search, const struct function *function, uint32_t depth)
{
	if (!function)
		return;
	for (size_t i = 0; i < search->nr_visits; i++)
		if (search->visits[i].function == function)
			return;
	if (search->nr_visits == VISITS_MAX)
		return;
	search->visits[search->nr_visits].function = function;
	search->visits[search->nr_visits++].depth = depth;
}

/* The bytes of a function that is no loop; *len 0: there are none. */
static void lua_loop_read_code(const struct search *search, const struct function *function,
	uint8_t code[CALLER_MAX_BYTES], size_t *len)
{
	uint64_t size = function->end - function->start;
	bool is_small = function->end > function->start && size <= CALLER_MAX_BYTES;
	*len = is_small && runtime_file_read(search->elf, function->start, code, size) ? size : 0;
}

/*
 * Where the bytes at code[i] call, or jump to instead; 0: they do not. That they may be no
 * instruction's beginning does not matter: to hit another function's first byte by chance is one
 * in a million.
 */
static uint64_t target_of_x86_64(
	const struct function *function, const uint8_t *code, size_t i, size_t len)
{
	if (i + 5 > len || (code[i] != 0xe8 && code[i] != 0xe9))
		return 0;
	struct bytes_cursor cursor = bytes_cursor(code + i + 1, 4);
	return function->start + i + 5 + (uint64_t)(int64_t)(int32_t)bytes_get_u32(&cursor);
}

static uint64_t target_of_arm64(
	const struct function *function, const uint8_t *code, size_t i, size_t len)
{
	struct arm64_insn insn = arm64_insn_decode(code + i, len - i, function->start + i);
	bool leads_on = insn.kind == ARM64_CALL || insn.kind == ARM64_JUMP;
	return i % ARM64_INSN_BYTES == 0 && leads_on ? insn.value : 0;
}

static uint64_t target_at(const struct search *search, const struct function *function,
	const uint8_t *code, size_t i, size_t len)
{
	return elf_file_machine(search->elf) == EM_AARCH64
		       ? target_of_arm64(function, code, i, len)
		       : target_of_x86_64(function, code, i, len);
}

static void visit_called(struct search *search, size_t number)
{
	const struct function *function = search->visits[number].function;
	uint8_t code[CALLER_MAX_BYTES];
	size_t len;
	lua_loop_read_code(search, function, code, &len);
	for (size_t i = 0; i < len; i++)
		lua_loop_visit(search,
			lua_loop_function_at(search, target_at(search, function, code, i, len)),
			search->visits[number].depth + 1);
}

/* ---- the loop ---- */

/* Whether it pushes rbx, rbp and r12 to r15 as its first pushes. */
static bool pushes_all(const uint8_t code[PROLOGUE_BYTES])
{
	enum {
		RBX = 3,
		RBP = 5,
		ALL = 0xf028, /* bits 3, 5 and 12 to 15 */
	};
	unsigned pushed = 0;
	for (size_t i = 0; i + 1 < PROLOGUE_BYTES && pushed != ALL; i++) {
		if (code[i] == 0x41 && code[i + 1] >= 0x54 && code[i + 1] <= 0x57)
			pushed |= 1U << (8 + (code[++i] & 7));
		else if (code[i] == 0x50 + RBX || code[i] == 0x50 + RBP)
			pushed |= 1U << (code[i] & 7);
	}
	return pushed == ALL;
}

/* Whether it stores x19 to x28 in pairs behind the frame pointer and the return address. */
static bool stores_all(const uint8_t code[PROLOGUE_BYTES])
{
	enum {
		ALL = 0x1ff80000,
	};
	uint32_t stored = 0;
	for (size_t i = 0; i < PROLOGUE_BYTES; i += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(code + i, ARM64_INSN_BYTES, 0);
		if (insn.kind == ARM64_STORE_PAIR && insn.base == ARM64_SP && insn.reg < ARM64_SP &&
			insn.index < ARM64_SP)
			stored |= 1U << insn.reg | 1U << insn.index;
	}
	return (stored & ALL) == ALL;
}

static bool saves_all(const struct search *search, const struct function *function)
{
	uint8_t code[PROLOGUE_BYTES];
	if (!runtime_file_read(search->elf, function->start, code, sizeof(code)))
		return false;
	return elf_file_machine(search->elf) == EM_AARCH64 ? stores_all(code) : pushes_all(code);
}

static uint64_t lua_loop_size_of(const struct function *function)
{
	return function->end - function->start;
}

struct err *lua_loop_find(
	struct elf_file *elf, uint64_t from, uint64_t *start, uint64_t *end, bool *is_found)
{
	struct search search = {.elf = elf};
	const struct function *loop = NULL;
	*is_found = false;
	struct err *err = lua_loop_list_functions(&search);
	lua_loop_visit(&search, lua_loop_function_at(&search, from), 0);
	for (size_t i = 0; i < search.nr_visits; i++) {
		const struct function *function = search.visits[i].function;
		if (search.visits[i].depth < DEPTH_MAX)
			visit_called(&search, i);
		if (lua_loop_size_of(function) >= LOOP_MIN_BYTES &&
			(!loop || lua_loop_size_of(function) > lua_loop_size_of(loop)))
			loop = function;
	}
	if (loop && saves_all(&search, loop)) {
		*start = loop->start;
		*end = loop->end;
		*is_found = true;
	}
	vec_deinit(&search.functions);
	return err;
}

/* The one that holds an address behind its first byte. */
static const struct function *function_around(const struct search *search, uint64_t address)
{
	for (size_t i = 0; i < search->functions.len; i++) {
		const struct function *function = &search->functions.data[i];
		if (address > function->start && address < function->end)
			return function;
	}
	return NULL;
}

struct err *lua_loop_find_assembly(
	struct elf_file *elf, uint64_t from, uint64_t *start, uint64_t *end, bool *is_found)
{
	struct search search = {.elf = elf};
	uint8_t code[CALLER_MAX_BYTES];
	size_t len = 0;
	*is_found = false;
	struct err *err = lua_loop_list_functions(&search);
	const struct function *caller = lua_loop_function_at(&search, from);
	if (caller)
		lua_loop_read_code(&search, caller, code, &len);
	for (size_t i = 0; i < len && !*is_found; i++) {
		uint64_t target = target_at(&search, caller, code, i, len);
		const struct function *around = target ? function_around(&search, target) : NULL;
		if (!around || around == caller || lua_loop_size_of(around) < LOOP_MIN_BYTES)
			continue;
		*start = around->start;
		*end = around->end;
		*is_found = true;
	}
	vec_deinit(&search.functions);
	return err;
}

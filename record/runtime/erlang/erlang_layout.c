/*
 * No symbol says where BEAM keeps its modules and atoms, but both look like nothing else:
 *
 * - The table of atoms has its own name, "atom_tab", behind the functions that it hashes by.
 * - The modules are in three tables, since code is loaded while other code runs: {array, used,
 *   allocated, the one found last}, one behind the other. Their arrays have pairs of addresses that
 *   ascend, each pair a module, and what stands where a module begins is a count of functions and
 *   later their addresses.
 * - Ahead of all modules stands the code that they share, and in it where a scheduler begins: it
 *   makes room for the registers of processes.
 *
 * Sources: struct erl_hash and IndexTable of erts/emulator/beam/{hash,index}.h, struct ranges of
 * beam_ranges.c, BeamCodeHeader of beam_code.h, process_main of
 * jit/x86/{beam_asm_global.hpp.pl,process_main.cpp} and jit/arm/process_main.cpp, OTP 25 to 27.
 */
#include "record/runtime/erlang/erlang_layout.h"

#include <string.h>

#include "bpf/runtime/erlang/erlang_row.h"
#include "format/base/mem.h"
#include "record/runtime/runtime_memory.h"

enum {
	MAX_DATA_BYTES = 16 << 20,
	MAX_CODE_DISTANCE = 256 << 20, /* from functions of the program to its data */

	/* Words of the table of atoms: of its name the place is 0. */
	ATOMS_FUNCTIONS = 7, /* up to there from the name */
	ATOMS_ENTRIES_BYTE = 52,
	ATOMS_SEGMENTS = 7,
	ATOMS_MIN = 512,
	ATOMS_SEARCHED = 4096,
	ATOMS_SEGMENT = 1024,
	ATOM_LEN = 24,
	ATOM_TEXT = 32,
	ATOM_BYTES = 40,
	ATOM_SHIFT = 6,
	ATOM_TAG = 0xb,
	BOXED_TEXT = 16,

	TABLES = 3,
	TABLE_WORDS = 4,
	MAX_MODULES = 1 << 20,
	CHECKED_MODULES = 16, /* of which the head is looked at */
	FIRST_FUNCTIONS_AT = 64,
	LAST_FUNCTIONS_AT = 256,
	MAX_FUNCTIONS = 1 << 16,

	MIN_SHARED_CODE_BYTES = 4 << 10,
	SHARED_CODE_BYTES = 64 << 10, /* at most, ahead of the modules */
	PAGE_BYTES = 4096,
	MIN_REGISTERS_BYTES = 16 << 10,
	MAX_REGISTERS_BYTES = 64 << 10,
	RESUME_SEARCHED = 256, /* bytes of code */
	MAX_OFFSET = 1 << 12,
};

struct data {
	uint32_t pid;
	uint64_t address;
	size_t count;
	uint64_t *words; /* yours */
};

static bool erlang_read_data(uint32_t pid, uint64_t address, uint64_t end, struct data *ret)
{
	uint64_t bytes = (end - address) & ~7ULL;
	*ret = (struct data){.pid = pid, .address = address, .count = bytes / 8};
	if (!bytes || bytes > MAX_DATA_BYTES || address % 8)
		return false;
	ret->words = mem_alloc(bytes);
	return runtime_read_process(pid, address, ret->words, bytes);
}

/* ---- atoms ---- */

static bool is_function(const struct data *data, uint64_t word)
{
	return word < data->address && data->address - word < MAX_CODE_DISTANCE;
}

/* Whether an atom of this text is at the address; by which of both ways it has that. */
static bool is_atom(uint32_t pid, uint64_t address, const char *text, uint8_t *flags)
{
	uint8_t atom[ATOM_BYTES];
	char found[32];
	int16_t len;
	uint64_t at;
	if (!address || !runtime_read_process(pid, address, atom, sizeof(atom)))
		return false;
	memcpy(&len, atom + ATOM_LEN, sizeof(len));
	memcpy(&at, atom + ATOM_TEXT, sizeof(at));
	if (len < 0 || (size_t)len != strlen(text) || (size_t)len > sizeof(found))
		return false;
	for (int way = 0; way <= ERLANG_BOXED_ATOMS; way++) {
		uint64_t place = way ? (at & ~3ULL) + BOXED_TEXT : at;
		if (runtime_read_process(pid, place, found, (size_t)len) &&
			memcmp(found, text, (size_t)len) == 0) {
			*flags = (uint8_t)way;
			return true;
		}
	}
	return false;
}

/* Those that the emulator itself was built with have the lowest numbers. */
static bool find_own_atoms(const struct data *data, size_t name, struct erlang_row *row)
{
	uint32_t entries;
	uint64_t segments = data->words[name + ATOMS_SEGMENTS], segment[ATOMS_SEGMENT];
	memcpy(&entries, (const char *)&data->words[name] + ATOMS_ENTRIES_BYTE, sizeof(entries));
	row->own_module = row->normal_exit = 0;
	if (entries < ATOMS_MIN)
		return false;
	for (uint32_t i = 0; i < entries && i < ATOMS_SEARCHED; i++) {
		uint64_t at;
		if (i % ATOMS_SEGMENT == 0 &&
			(!runtime_read_process(
				 data->pid, segments + i / ATOMS_SEGMENT * 8, &at, 8) ||
				!runtime_read_process(data->pid, at, segment, sizeof(segment))))
			return false;
		uint64_t atom = segment[i % ATOMS_SEGMENT];
		uint32_t term = i << ATOM_SHIFT | ATOM_TAG;
		if (!row->own_module && is_atom(data->pid, atom, "erts_beamasm", &row->flags))
			row->own_module = term;
		if (!row->normal_exit && is_atom(data->pid, atom, "normal_exit", &row->flags))
			row->normal_exit = term;
		if (row->own_module && row->normal_exit)
			return true;
	}
	return false;
}

/* The index of the table's name; 0: there is no such table. */
static size_t find_atom_table(const struct data *data, uint64_t name, struct erlang_row *row)
{
	for (size_t i = ATOMS_FUNCTIONS; i + ATOMS_SEGMENTS < data->count; i++) {
		bool is_table = data->words[i] == name;
		for (size_t k = 1; is_table && k < ATOMS_FUNCTIONS; k++)
			is_table = is_function(data, data->words[i - 1 - k]);
		if (is_table && find_own_atoms(data, i, row))
			return i;
	}
	return 0;
}

/* ---- modules ---- */

struct module {
	uint64_t start, end; /* of its code; the same where it is gone */
};

/* 0: where the functions of a module are is not found out, or it is none. */
static uint16_t find_functions(uint32_t pid, const struct module *module)
{
	uint64_t count, first[2];
	if (!runtime_read_process(pid, module->start, &count, sizeof(count)) || !count ||
		count > MAX_FUNCTIONS)
		return 0;
	for (int at = FIRST_FUNCTIONS_AT; at < LAST_FUNCTIONS_AT; at += 8) {
		uint64_t last[2], behind = module->start + (uint64_t)at + count * 8;
		if (!runtime_read_process(
			    pid, module->start + (uint64_t)at, first, sizeof(first)) ||
			!runtime_read_process(pid, behind - 8, last, sizeof(last)))
			return 0;
		/* The first one follows on their table, the last word is where all of them end. */
		if (first[0] >= behind + 8 && first[0] - behind < PAGE_BYTES &&
			first[0] <= last[0] && first[0] < first[1] && last[0] < last[1] &&
			last[1] <= module->end)
			return (uint16_t)at;
	}
	return 0;
}

struct modules {
	struct module *list; /* yours; NULL: there are none so far */
	uint64_t count;
};

/* False: these words are no table of modules. */
static bool read_modules(const struct data *data, const uint64_t *words, struct modules *ret)
{
	uint64_t array = words[0], count = words[1], allocated = words[2], mid = words[3];
	*ret = (struct modules){0};
	if (!array && !count && !allocated && !mid)
		return true;
	if (!array || array % 8 || !count || count > allocated || allocated > MAX_MODULES ||
		mid < array || mid > array + count * sizeof(struct module) ||
		(mid - array) % sizeof(struct module))
		return false;
	CLEANUP_FREE struct module *list = mem_alloc(count * sizeof(*list));
	if (!runtime_read_process(data->pid, array, list, count * sizeof(*list)))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (!list[i].start || list[i].end < list[i].start ||
			(i && list[i].start < list[i - 1].end))
			return false;
	*ret = (struct modules){steal_ptr(list), count};
	return true;
}

/* Whether some module says where functions are; others are gone. */
static bool find_functions_of(const struct modules *modules, uint32_t pid, struct erlang_row *row)
{
	row->functions_at = 0;
	for (uint64_t i = 0; i < modules->count && i < CHECKED_MODULES && !row->functions_at; i++)
		row->functions_at = find_functions(pid, &modules->list[i]);
	return row->functions_at;
}

/*
 * Three tables in a row: the address of the first, and the modules of one of them, yours; 0: these
 * words are none.
 */
static uint64_t read_tables(
	const struct data *data, size_t at, struct erlang_row *row, struct modules *ret)
{
	bool is_found = false;
	for (size_t i = 0; i < TABLES; i++) {
		struct modules modules;
		if (!read_modules(data, &data->words[at + i * TABLE_WORDS], &modules))
			return 0;
		if (!is_found && find_functions_of(&modules, data->pid, row)) {
			is_found = true;
			mem_free(ret->list);
			*ret = modules;
			continue;
		}
		mem_free(modules.list);
	}
	return is_found ? data->address + at * 8 : 0;
}

/* Whether there are modules in a table. */
static bool has_modules(const struct data *data, size_t at)
{
	struct modules modules;
	if (at + TABLE_WORDS > data->count || !read_modules(data, &data->words[at], &modules))
		return false;
	mem_free(modules.list);
	return modules.count;
}

/* 0: there are none. The modules are yours in any case. */
static uint64_t find_tables(const struct data *data, struct erlang_row *row, struct modules *ret)
{
	uint64_t found = 0;
	size_t at = 0;
	for (; at + TABLES * TABLE_WORDS <= data->count && !found; at++)
		found = read_tables(data, at, row, ret);
	/* Zeros ahead of them look like an empty one. */
	for (at--; found && !has_modules(data, at) && has_modules(data, at + TABLES * TABLE_WORDS);
		at += TABLE_WORDS)
		found += TABLE_WORDS * 8;
	return found;
}

/* ---- shared code ---- */

static uint32_t u32_at(const uint8_t *bytes)
{
	uint32_t value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

/*
 * A scheduler begins with:
 *     sub rsp, all of it; and rsp, -64; mov [rdi], rsp; lea rbx, [rsp + up to the registers]
 * False: it does not begin there. *behind is what follows.
 */
static bool take_scheduler_of_x86_64(
	const uint8_t *code, struct erlang_row *row, const uint8_t **behind)
{
	static const uint8_t sub[] = {0x48, 0x81, 0xec},
			     and_mov[] = {0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x27};
	const uint8_t *lea = code + sizeof(sub) + 4 + sizeof(and_mov);
	if (memcmp(code, sub, sizeof(sub)) != 0 ||
		memcmp(code + sizeof(sub) + 4, and_mov, sizeof(and_mov)) != 0)
		return false;
	if (memcmp(lea, "\x48\x8d\x9c\x24", 4) == 0)
		row->registers_at = u32_at(lea + 4);
	else if (memcmp(lea, "\x48\x8d\x5c\x24", 4) == 0)
		row->registers_at = lea[4];
	else
		return false;
	row->registers_bytes = u32_at(code + sizeof(sub));
	*behind = lea + 5;
	return row->registers_bytes > MIN_REGISTERS_BYTES &&
	       row->registers_bytes < MAX_REGISTERS_BYTES && row->registers_at < PAGE_BYTES;
}

/* The same on arm64, where the registers are at the end of the stack:
 *     stp x29, x30, [sp, -16]!; mov x8, sp; sub x8, x8, all of it, in parts; and x8, x8, -64
 */
static bool take_scheduler_of_arm64(
	const uint8_t *code, struct erlang_row *row, const uint8_t **behind)
{
	enum {
		PARTS = 2,
	};
	const uint32_t push = 0xa9bf7bfd, get_sp = 0x910003e8, sub = 0xd1000108, align = 0x927ae508;
	uint32_t bytes = 0;
	if (u32_at(code) != push || u32_at(code + 4) != get_sp)
		return false;
	code += 8;
	for (int i = 0; i < PARTS && (u32_at(code) & 0xff8003ff) == sub; i++, code += 4)
		bytes += (u32_at(code) >> 10 & 0xfff) << (u32_at(code) >> 22 & 1 ? 12 : 0);
	row->registers_at = 0;
	row->registers_bytes = bytes;
	*behind = code + 4;
	return u32_at(code) == align && bytes > MIN_REGISTERS_BYTES && bytes < MAX_REGISTERS_BYTES;
}

/* Where it takes up a process it keeps where that goes on: mov [r13 + x], rdx; str x2, [x21, x]. */
static bool take_resume(const uint8_t *code, struct erlang_row *row)
{
	const uint32_t store = 0xf90002a2;
	for (size_t i = 0; i < RESUME_SEARCHED; i++) {
		bool is_x86_64 = memcmp(code + i, "\x49\x89\x95", 3) == 0;
		bool is_arm64 = (u32_at(code + i) & 0xffc003ff) == store;
		uint32_t offset =
			is_arm64 ? (u32_at(code + i) >> 10 & 0xfff) * 8 : u32_at(code + i + 3);
		if ((is_x86_64 || is_arm64) && offset < MAX_OFFSET) {
			row->resume_at = (uint16_t)offset;
			return true;
		}
	}
	return false;
}

/* Of the code ahead of a module, `max` bytes at most. */
static bool take_code_ahead(uint32_t pid, uint64_t start, uint64_t max, struct erlang_row *row)
{
	enum {
		LONGEST = 40 + RESUME_SEARCHED, /* of what is looked at at once */
	};
	CLEANUP_FREE uint8_t *code = mem_alloc(SHARED_CODE_BYTES);
	size_t len = start % PAGE_BYTES;
	max = max < SHARED_CODE_BYTES ? max : SHARED_CODE_BYTES;
	if (len && !runtime_read_process(pid, start - len, code + SHARED_CODE_BYTES - len, len))
		return false;
	while (len + PAGE_BYTES <= max &&
		runtime_read_process(pid, start - len - PAGE_BYTES,
			code + SHARED_CODE_BYTES - len - PAGE_BYTES, PAGE_BYTES))
		len += PAGE_BYTES;
	const uint8_t *begin = code + SHARED_CODE_BYTES - len, *behind;
	for (size_t i = 0; i + LONGEST < len; i++)
		if (take_scheduler_of_x86_64(begin + i, row, &behind) ||
			take_scheduler_of_arm64(begin + i, row, &behind))
			return take_resume(behind, row);
	return false;
}

/* It is ahead of the first module of some block of memory. */
static bool take_shared_code(const struct modules *modules, uint32_t pid, struct erlang_row *row)
{
	uint64_t end = 0; /* of the module before */
	for (uint64_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->list[i];
		uint64_t gap = module->start - end;
		if (gap >= MIN_SHARED_CODE_BYTES && take_code_ahead(pid, module->start, gap, row))
			return true;
		end = module->end;
	}
	return false;
}

/* ---- the row ---- */

bool erlang_layout_complete(uint32_t pid, uint64_t delta, struct runtime_row *ret)
{
	struct runtime_row new;
	struct erlang_row *row = (void *)new.words;
	struct data data;
	struct modules modules = {0};
	memcpy(&new, ret, sizeof(new));
	if (row->is_complete)
		return true;
	bool is_read = erlang_read_data(pid, row->data - delta, row->data_end - delta, &data);
	CLEANUP_FREE uint64_t *words = data.words;
	size_t name = is_read ? find_atom_table(&data, row->atoms_name - delta, row) : 0;
	uint64_t tables = name ? find_tables(&data, row, &modules) : 0;
	bool is_complete = tables && take_shared_code(&modules, pid, row);
	mem_free(modules.list);
	if (!is_complete)
		return false;
	row->atoms = (uint32_t)(data.address + (name + ATOMS_SEGMENTS) * 8 + delta);
	row->ranges = (uint32_t)(tables + delta);
	row->is_complete = true;
	*ret = new;
	return true;
}

/*
 * LuaJIT 2.1, whether in a program or in a library: any file that exports its interface. The
 * interpreter, one piece of assembly, is not exported, but lua_call() calls it. Of where
 * it keeps what, that which tells builds apart is checked in the code: 64-bit references by
 * lua_gettop(), and the traces by the instruction that goes to one.
 *
 * Sources: lj_obj.h, lj_jit.h, lj_bc.h, lj_debug.c, vm_x64.dasc, vm_arm64.dasc of
 * LuaJIT 2.1.0-beta3 (2022-03-20), 2.1 of OpenResty 2025-01-17 and 2025-10-30, by offsetof() and
 * BCDEF.
 */
#include <elf.h>
#include <string.h>

#include "bpf/runtime/luajit/luajit_row.h"
#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/elf/elf_dynsym.h"
#include "format/machine/arm64_insn.h"
#include "record/runtime/lua/lua_lines.h"
#include "record/runtime/lua/lua_loop.h"
#include "record/runtime/lua/lua_text.h"
#include "record/runtime/runtime.h"
#include "record/runtime/runtime_memory.h"

enum symbol {
	SET_MODE, /* the first: without it nothing else is looked for */
	CALL,
	GET_TOP,
	SYMBOLS
};

static const char *const names[SYMBOLS] = {
	[SET_MODE] = "luaJIT_setmode",
	[CALL] = "lua_call",
	[GET_TOP] = "lua_gettop",
};

enum {
	VERSION = 21,
	STATE_BASE = 32,   /* lua_State: base, and top behind it */
	GLOBAL_BASE = 376, /* global_State: jit_base */
	GET_TOP_BYTES = 32,
	MAX_LOOP_BYTES = 1 << 20,
	TO_TRACE_INSNS = 6,
};

static const struct lua_code code_of_21 = {
	.sets_a = {0xf782ffffffc3000},
	.sets_from = {0x8000100000000000, 0x1fe3fe},
	.op_mask = 255,
	.shift_a = 8,
	.shift_b = 24,
	.shift_c = 16,
	.mask_b = 255,
	.mask_c = 255,
	.jump_bias = 0x8000,
	.jump_shift = 16,
	.move = 18,
	.call = 66,
	.self = 65, /* CALLM */
	.get_upvalue = 45,
	.get_global = 54,
	.get_field = 57,
	.jump = 88,
};

/* mov 0x28(%rdi),%rax and sub 0x20(%rdi),%rax; ldp xN,xM,[x0,#0x20]. */
static bool loads_wide_references(uint16_t machine, const uint8_t code[GET_TOP_BYTES])
{
	static const uint8_t load[] = {0x48, 0x8b, 0x47, 0x28}, less[] = {0x48, 0x2b, 0x47, 0x20};
	if (machine != EM_AARCH64)
		return memmem(code, GET_TOP_BYTES, load, sizeof(load)) &&
		       memmem(code, GET_TOP_BYTES, less, sizeof(less));
	for (size_t at = 0; at < GET_TOP_BYTES; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(code + at, ARM64_INSN_BYTES, 0);
		if (insn.kind == ARM64_LOAD_PAIR && !insn.base && insn.value == STATE_BASE)
			return true;
	}
	return false;
}

/* Words that are pointers, and where they are. */
static bool has_wide_references(struct elf_file *elf, const struct elf_dynsym *get_top)
{
	uint8_t code[GET_TOP_BYTES];
	return get_top->address && runtime_file_read(elf, get_top->address, code, sizeof(code)) &&
	       loads_wide_references(elf_file_machine(elf), code);
}

static uint32_t luajit_u32_at(const uint8_t *code)
{
	struct bytes_cursor cursor = bytes_cursor(code, 4);
	return bytes_get_u32(&cursor);
}

/*
 * Where a global state's array of traces is: to go to a trace, the interpreter does
 *   mov  traces(%r14),%rcx; mov (%rcx,%rax,8),%rax; mov 0x58(%rax),%rax
 * and, a little later, mov %rdx,jit_base(%r14). 0: it does not, it was built without a compiler.
 */
static uint32_t find_traces_of_x86_64(const uint8_t *code, size_t len)
{
	static const uint8_t to_trace[] = {0x48, 0x8b, 0x04, 0xc1, 0x48, 0x8b, 0x40, 0x58};
	static const uint8_t load[] = {0x49, 0x8b, 0x8e}, store[] = {0x49, 0x89, 0x96};
	enum {
		LOAD_BYTES = 7,
		LOOK_AHEAD = 32,
	};
	for (size_t i = LOAD_BYTES; i + sizeof(to_trace) + LOOK_AHEAD < len; i++) {
		const uint8_t *at = code + i;
		if (memcmp(at, to_trace, sizeof(to_trace)) != 0 ||
			memcmp(at - LOAD_BYTES, load, sizeof(load)) != 0)
			continue;
		const uint8_t *base =
			memmem(at + sizeof(to_trace), LOOK_AHEAD - 4, store, sizeof(store));
		if (base)
			return GLOBAL_BASE + luajit_u32_at(at - 4) -
			       luajit_u32_at(base + sizeof(store));
	}
	return 0;
}

/* The first instruction of the next few that is of a kind and has the base; -1: none is. */
static int find_by_base(const uint8_t *code, enum arm64_kind kind, unsigned base, uint64_t value)
{
	for (int i = 0; i < TO_TRACE_INSNS; i++) {
		struct arm64_insn insn =
			arm64_insn_decode(code + i * ARM64_INSN_BYTES, ARM64_INSN_BYTES, 0);
		if (insn.kind == kind && insn.base == base && insn.value == value)
			return i;
	}
	return -1;
}

/*
 * The same of arm64, where x22 has the global state and x19 its frame's base:
 *   ldr xA,[x22,#traces]; ldr xN,[xA,xN,lsl #3]; ldr xM,[xN,#0x58]; str x19,[x22,#jit_base]
 * and others in between.
 */
static uint32_t find_traces_of_arm64(const uint8_t *code, size_t len)
{
	enum {
		GLOBAL = 22,
		TRACE_CODE = 88,
		BY_NUMBER = 0xf8607800, /* ldr xN, [xA, xM, lsl #3] */
		BY_NUMBER_MASK = 0xffe0fc00,
	};
	for (size_t at = 0; at + 3 * TO_TRACE_INSNS * ARM64_INSN_BYTES <= len;
		at += ARM64_INSN_BYTES) {
		struct arm64_insn array = arm64_insn_decode(code + at, ARM64_INSN_BYTES, 0);
		if (array.kind != ARM64_LOAD || array.base != GLOBAL || array.bytes != 8)
			continue;
		const uint8_t *next = code + at + ARM64_INSN_BYTES;
		for (int i = 0; i < TO_TRACE_INSNS; i++, next += ARM64_INSN_BYTES) {
			uint32_t insn = luajit_u32_at(next);
			if ((insn & BY_NUMBER_MASK) == (uint32_t)BY_NUMBER &&
				(insn >> 5 & 31) == array.reg &&
				find_by_base(next, ARM64_LOAD, insn & 31, TRACE_CODE) > 0 &&
				find_by_base(next, ARM64_STORE, GLOBAL, GLOBAL_BASE) > 0)
				return (uint32_t)array.value;
		}
	}
	return 0;
}

static void take_traces(struct elf_file *elf, const struct runtime_file *file, uint32_t *ret)
{
	uint64_t len = file->loop_end - file->loop_start;
	if (len > MAX_LOOP_BYTES)
		return;
	CLEANUP_FREE uint8_t *code = mem_alloc(len);
	if (runtime_file_read(elf, file->loop_start, code, len))
		*ret = elf_file_machine(elf) == EM_AARCH64 ? find_traces_of_arm64(code, len)
							   : find_traces_of_x86_64(code, len);
}

static struct err *luajit_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct elf_dynsym symbols[SYMBOLS];
	struct luajit_row *row = (void *)file->row.words;
	try(elf_dynsym_find(elf, names, SYMBOLS, symbols));
	file->is_runtime = symbols[SET_MODE].address;
	if (!symbols[SET_MODE].address || !symbols[CALL].address ||
		!has_wide_references(elf, &symbols[GET_TOP]))
		return NULL;
	try(lua_loop_find_assembly(
		elf, symbols[CALL].address, &file->loop_start, &file->loop_end, is_found));
	if (!*is_found)
		return NULL;
	row->version = VERSION;
	row->code = code_of_21;
	row->loop = file->loop_start;
	take_traces(elf, file, &row->traces);
	return NULL;
}

static void luajit_place_of(struct runtime_row *row, uint64_t address_to_file)
{
	struct luajit_row *luajit = (void *)row->words;
	luajit->loop += address_to_file;
}

static bool luajit_is_sound(const struct runtime_row *row)
{
	const struct luajit_row *luajit = (const void *)row->words;
	return luajit->version == VERSION &&
	       memcmp(&luajit->code, &code_of_21, sizeof(code_of_21)) == 0;
}

/* ---- lines ---- */

enum {
	PROTO_BYTES = 104,
	PROTO_NR_CODE = 12,
	PROTO_NR_LINES = 76,
	PROTO_LINES = 80,
	MAX_CODE = 1 << 18,
};

static unsigned luajit_width_of(uint32_t nr_lines)
{
	return nr_lines < 256 ? 1 : nr_lines < 65536 ? 2 : 4;
}

/* How many instructions, how many lines; the line of each from the second on, from the first line.
 */
static uint32_t luajit_line_of(const struct runtime_lines *lines, uint32_t at)
{
	struct bytes_cursor cursor = bytes_cursor(lines->bytes, lines->len);
	uint32_t count = bytes_get_u32(&cursor), nr_lines = bytes_get_u32(&cursor);
	unsigned width = luajit_width_of(nr_lines);
	if (cursor.overrun || at >= count || !at)
		return cursor.overrun ? 0 : lines->first_line;
	uint64_t offset = (uint64_t)(at - 1) * width;
	if (offset + width > bytes_left(&cursor))
		return lines->first_line;
	cursor = bytes_cursor(lines->bytes + LUA_LINES_HEAD_BYTES + offset, width);
	uint32_t line = width == 1   ? bytes_get_u8(&cursor)
			: width == 2 ? bytes_get_u16(&cursor)
				     : bytes_get_u32(&cursor);
	return line <= nr_lines ? lines->first_line + line : 0;
}

static bool luajit_read_lines(const struct event_code *event, struct runtime_text_bytes *ret)
{
	uint8_t proto[PROTO_BYTES];
	uint32_t count, nr_lines;
	uint64_t lines;
	if (!runtime_read_process(
		    event->pid, event->address[RUNTIME_TEXT_LINES], proto, sizeof(proto)))
		return false;
	memcpy(&count, proto + PROTO_NR_CODE, sizeof(count));
	memcpy(&nr_lines, proto + PROTO_NR_LINES, sizeof(nr_lines));
	memcpy(&lines, proto + PROTO_LINES, sizeof(lines));
	if (!lines || count < 2 || count > MAX_CODE)
		return false;
	const struct lua_line_array arrays[2] = {
		{lines, (size_t)(count - 1) * luajit_width_of(nr_lines)}};
	return lua_text_read_arrays(event->pid, (uint32_t[2]){count, nr_lines}, arrays, ret);
}

static bool luajit_read_text(
	const struct event_code *event, enum runtime_text what, struct runtime_text_bytes *ret)
{
	return lua_text_read(event, what, luajit_read_lines, ret);
}

const struct runtime luajit_runtime = {
	.version = 3,
	.name = "luajit",
	.claims_code_of_no_file = true,
	.object = "[lua]",
	.detect = luajit_detect,
	.place = luajit_place_of,
	.is_sound = luajit_is_sound,
	.line_of = luajit_line_of,
	.read_text = luajit_read_text,
};

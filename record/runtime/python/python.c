/*
 * CPython, whether in a program or in a library: any file that exports its interpreter's loop,
 * as every build does for its extension modules.
 */
#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/elf/elf_dynsym.h"
#include "format/machine/arm64_insn.h"
#include "record/runtime/python/python_layout.h"
#include "record/runtime/python/python_lines.h"
#include "record/runtime/python/python_objects.h"
#include "record/runtime/python/python_threads.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread_variable.h"

enum symbol {
	LOOP, /* the first: without it nothing else is looked for */
	RUNTIME,
	CODE_TYPE,
	VERSION,        /* from 3.11 on */
	GET_STATE,      /* a function that looks up the key */
	ONLY_SINCE_310, /* functions that tell versions apart which do not say theirs */
	ONLY_SINCE_39,
	ONLY_SINCE_38,
	SYMBOLS
};

static const char *const names[SYMBOLS] = {
	[LOOP] = "_PyEval_EvalFrameDefault",
	[RUNTIME] = "_PyRuntime",
	[CODE_TYPE] = "PyCode_Type",
	[VERSION] = "Py_Version",
	[GET_STATE] = "PyGILState_GetThisThreadState",
	[ONLY_SINCE_310] = "Py_NewRef",
	[ONLY_SINCE_39] = "PyFrame_GetCode",
	[ONLY_SINCE_38] = "PyCode_NewWithPosOnlyArgs",
};

/* ---- which version ---- */

/* The minor one, 0: unknown. */
static uint32_t python_find_version(struct elf_file *elf, const struct elf_dynsym *symbols)
{
	uint8_t bytes[8];
	if (symbols[VERSION].address) {
		if (!runtime_file_read(elf, symbols[VERSION].address, bytes, sizeof(bytes)))
			return 0;
		struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
		uint64_t version = bytes_get_u64(&cursor); /* PY_VERSION_HEX */
		return version >> 24 == 3 ? version >> 16 & 0xff : 0;
	}
	if (symbols[ONLY_SINCE_310].address)
		return 10;
	if (symbols[ONLY_SINCE_39].address)
		return 9;
	if (symbols[ONLY_SINCE_38].address)
		return 8;
	return symbols[RUNTIME].address ? 7 : 6;
}

/* ---- the key of the thread's state ---- */

enum {
	LOOK_AT_BYTES = 48,
	TSS_KEY = 4, /* offset in Py_tss_t, behind whether there is one */
	MAX_RUNTIME_BYTES = 1 << 20,
};

static uint32_t python_u32_at(const uint8_t *code)
{
	struct bytes_cursor cursor = bytes_cursor(code, 4);
	return bytes_get_u32(&cursor);
}

/*
 * What the instruction at `code`, whose address is `address`, says of where the key is; 0: nothing.
 * In PyGILState_GetThisThreadState that can be:
 *   lea    offset(%reg),%reg     of the Py_tss_t, with _PyRuntime in a register
 *   lea    place(%rip),%reg      of the Py_tss_t; of _PyRuntime it says nothing yet
 *   add    $offset,%rax          to _PyRuntime: of the Py_tss_t
 *   mov    $address,%edi         the same in a program at a fixed address
 *   mov    place(%rip),%edi      the key itself
 *   mov    address,%edi          the same in a program at a fixed address
 */
static uint64_t key_of_instruction(const uint8_t *code, uint64_t address, uint64_t runtime)
{
	bool is_lea = code[0] == 0x48 && code[1] == 0x8d;
	if (is_lea && code[2] >> 6 == 2 && (code[2] & 7) != 4)
		return runtime + python_u32_at(code + 3) + TSS_KEY;
	if (is_lea && (code[2] & 0xc7) == 5) {
		uint64_t place = address + 7 + (uint64_t)(int32_t)python_u32_at(code + 3);
		return place == runtime ? 0 : place + TSS_KEY;
	}
	if (code[0] == 0x48 && code[1] == 0x05)
		return runtime + python_u32_at(code + 2) + TSS_KEY;
	if (code[0] == 0x8b && code[1] == 0x3d)
		return address + 6 + (uint64_t)(int32_t)python_u32_at(code + 2);
	if (code[0] == 0x8b && code[1] == 0x3c && code[2] == 0x25)
		return python_u32_at(code + 3);
	if (code[0] == 0xbf)
		return python_u32_at(code + 1) + (uint64_t)TSS_KEY;
	return 0;
}

static uint64_t find_key_of_x86_64(
	const uint8_t *code, size_t len, uint64_t address, const struct elf_dynsym *runtime)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t key = key_of_instruction(code + i, address + i, runtime->address);
		bool is_inside = key - runtime->address < runtime->size;
		if (key && (runtime->address ? is_inside : code[i] == 0x8b))
			return key;
	}
	return 0;
}

/*
 * The same of arm64: pthread_getspecific() is called with the key, which was loaded from
 *   adrp xN, page; add xN, xN, #_PyRuntime; ldr w0, [xN, #offset]; b pthread_getspecific
 * or PyThread_tss_get() with the address of the Py_tss_t in x0.
 */
static uint64_t find_key_of_arm64(
	const uint8_t *code, size_t len, uint64_t address, const struct elf_dynsym *runtime)
{
	struct arm64_values values = {.known = 0};
	uint64_t loaded_from = 0;
	for (size_t at = 0; at + ARM64_INSN_BYTES <= len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(code + at, len - at, address + at);
		bool leads_on = insn.kind == ARM64_CALL || insn.kind == ARM64_JUMP;
		uint64_t structure = values.known & 1 ? values.value[0] : 0, from;
		bool of_thread;
		if (leads_on && loaded_from)
			return loaded_from;
		if (leads_on && structure > runtime->address &&
			structure - runtime->address < runtime->size)
			return structure + TSS_KEY;
		if (insn.writes & 1)
			loaded_from = 0;
		if (insn.kind == ARM64_LOAD && insn.reg == 0 && insn.bytes == 4 &&
			arm64_values_address(&values, &insn, &from, &of_thread) &&
			from - runtime->address < runtime->size)
			loaded_from = from;
		arm64_values_run(&values, &insn);
	}
	return 0;
}

/* Since 3.7 the key is a part of _PyRuntime; before, a variable of its own. 0: it is not found. */
static uint64_t find_key(struct elf_file *elf, const struct elf_dynsym *symbols)
{
	uint8_t code[LOOK_AT_BYTES + 8];
	const struct elf_dynsym *function = &symbols[GET_STATE], *runtime = &symbols[RUNTIME];
	if (!function->address || !runtime_file_read(elf, function->address, code, sizeof(code)))
		return 0;
	size_t len = function->size < LOOK_AT_BYTES ? function->size : LOOK_AT_BYTES;
	return elf_file_machine(elf) == EM_AARCH64
		       ? find_key_of_arm64(code, len, function->address, runtime)
		       : find_key_of_x86_64(code, len, function->address, runtime);
}

/* From 3.15 on there is no key, but a variable of the thread. */
static bool find_state(
	struct elf_file *elf, const struct elf_dynsym *symbols, struct python_row *row)
{
	struct thread_variable variable;
	row->key = find_key(elf, symbols);
	if (row->key)
		return true;
	if (!thread_variable_find(elf, &symbols[GET_STATE], &variable))
		return false;
	static const uint8_t flags[] = {
		[THREAD_VARIABLE_AT] = PYTHON_STATE_IS_AT,
		[THREAD_VARIABLE_IN_SLOT] = PYTHON_STATE_IS_IN_SLOT,
		[THREAD_VARIABLE_BY_DISTANCE] = PYTHON_STATE_IS_BY_DISTANCE,
	};
	row->flags |= flags[variable.kind];
	row->key = variable.place;
	row->slot_more = variable.more;
	return true;
}

/* ---- the whole ---- */

static bool python_find_layout(struct elf_file *elf, const struct elf_dynsym *symbols,
	uint32_t minor, struct python_row *ret)
{
	uint8_t bytes[PYTHON_DEBUG_OFFSETS_BYTES];
	if (minor < PYTHON_DEBUG_OFFSETS_MINOR)
		return python_layout_of_version(minor, ret);
	return symbols[RUNTIME].address &&
	       runtime_file_read(elf, symbols[RUNTIME].address, bytes, sizeof(bytes)) &&
	       python_layout_of_offsets(bytes, minor, ret);
}

static struct err *python_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct elf_dynsym symbols[SYMBOLS];
	struct python_row *row = (void *)file->row.words;
	if (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64)
		return NULL;
	try(elf_dynsym_find(elf, names, SYMBOLS, symbols));
	if (!symbols[LOOP].address || !symbols[LOOP].size || !symbols[CODE_TYPE].address ||
		symbols[RUNTIME].size > MAX_RUNTIME_BYTES)
		return NULL;
	file->is_runtime = true;
	if (!python_find_layout(elf, symbols, python_find_version(elf, symbols), row))
		return NULL;
	*is_found = find_state(elf, symbols, row);
	row->current += row->current ? symbols[RUNTIME].address : 0;
	row->code_type = symbols[CODE_TYPE].address;
	row->loop = symbols[LOOP].address;
	row->runtime = symbols[RUNTIME].address;
	file->loop_start = symbols[LOOP].address;
	file->loop_end = symbols[LOOP].address + symbols[LOOP].size;
	return NULL;
}

/* ---- texts ---- */

static bool python_read_text(
	const struct event_code *event, enum runtime_text what, struct runtime_text_bytes *ret)
{
	struct python_memory memory = {event->pid, event->version};
	return python_read_string(&memory, event->address[what], what == RUNTIME_TEXT_LINES,
		RUNTIME_MAX_FILE_BYTES, ret);
}

static void python_place(struct runtime_row *row, uint64_t address_to_file)
{
	struct python_row *python = (void *)row->words;
	if (!(python->flags & PYTHON_STATE_IS_AT))
		python->key += address_to_file;
	python->code_type += address_to_file;
	python->loop += address_to_file;
	python->current += python->current ? address_to_file : 0;
	python->runtime += python->runtime ? address_to_file : 0;
}

static bool python_is_sound(const struct runtime_row *row)
{
	return python_layout_is_sound((const void *)row->words);
}

const struct runtime python_runtime = {
	.version = 3,
	.name = "python",
	.object = "[python]",
	.detect = python_detect,
	.place = python_place,
	.is_sound = python_is_sound,
	.next_line = python_next_line,
	.read_text = python_read_text,
	.read_threads = python_threads_read,
	.names_threads_alone = true,
};

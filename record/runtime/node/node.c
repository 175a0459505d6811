/*
 * V8 of Node.js. It shows debuggers where it keeps what, by variables whose names say it
 * (v8dbg_*), and which are constants of the file.
 *
 * Sources: tools/gen-postmortem-metadata.py of V8 10.2, 11.3, 12.4, 13.6, 14.6.
 */
#include <elf.h>
#include <string.h>

#include "bpf/runtime/node/node_row.h"
#include "format/elf/elf_dynsym.h"
#include "record/runtime/node/node_code.h"
#include "record/runtime/node/node_function.h"
#include "record/runtime/runtime.h"

enum symbol {
	SMI_SHIFT, /* the first: without it nothing else is looked for */
	VERSION,
	MINOR_VERSION,
	FUNCTION_TYPE,
	FIRST_FUNCTION_TYPE, /* from V8 12 on; before, functions' types follow on each other */
	LAST_FUNCTION_TYPE,
	SHARED_TYPE,
	SCRIPT_TYPE,
	SCOPE_INFO_TYPE,
	BYTECODE_ARRAY_TYPE,
	FUNCTION_SHARED,
	SHARED_NAME, /* by the name that the field's type had */
	SHARED_NAME_12,
	SHARED_NAME_13,
	SHARED_SCRIPT,
	SHARED_SCRIPT_12,
	SHARED_FLAGS,
	BYTECODE_DATA,
	SCOPE_FIRST,
	SCOPE_LOCALS,
	BASELINE_KIND,
	WASM_FRAME,
	ENTRY_FRAME,
	CONSTRUCT_ENTRY_FRAME,
	CODE_TYPE,
	INSTRUCTIONS_TYPE, /* from V8 11 on: Code and its instructions are two objects */
	INSTRUCTIONS_START,
	SYMBOLS
};

#define SHARED "v8dbg_class_SharedFunctionInfo__"

static const char *const names[SYMBOLS] = {
	[SMI_SHIFT] = "v8dbg_SmiShiftSize",
	[VERSION] = "_ZN2v88internal7Version6major_E",
	[MINOR_VERSION] = "_ZN2v88internal7Version6minor_E",
	[FUNCTION_TYPE] = "v8dbg_type_JSFunction__JS_FUNCTION_TYPE",
	[FIRST_FUNCTION_TYPE] = "v8dbg_FirstJSFunctionType",
	[LAST_FUNCTION_TYPE] = "v8dbg_LastJSFunctionType",
	[SHARED_TYPE] = "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
	[SCRIPT_TYPE] = "v8dbg_type_Script__SCRIPT_TYPE",
	[SCOPE_INFO_TYPE] = "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE",
	[BYTECODE_ARRAY_TYPE] = "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE",
	[FUNCTION_SHARED] = "v8dbg_class_JSFunction__shared__SharedFunctionInfo",
	[SHARED_NAME] = SHARED "name_or_scope_info__Object",
	[SHARED_NAME_12] = SHARED "name_or_scope_info__Tagged_Object_",
	[SHARED_NAME_13] = SHARED "name_or_scope_info__Tagged_NameOrScopeInfoT_",
	[SHARED_SCRIPT] = SHARED "script_or_debug_info__HeapObject",
	[SHARED_SCRIPT_12] = SHARED "script__Tagged_HeapObject_",
	[SHARED_FLAGS] = SHARED "flags__int",
	[BYTECODE_DATA] = "v8dbg_class_BytecodeArray__data__uintptr_t",
	[SCOPE_FIRST] = "v8dbg_scopeinfo_idx_first_vars",
	[SCOPE_LOCALS] = "v8dbg_scopeinfo_idx_ncontextlocals",
	[BASELINE_KIND] = "v8dbg_CodeKindBaseline",
	[WASM_FRAME] = "v8dbg_frametype_WasmFrame",
	[ENTRY_FRAME] = "v8dbg_frametype_EntryFrame",
	[CONSTRUCT_ENTRY_FRAME] = "v8dbg_frametype_ConstructEntryFrame",
	[CODE_TYPE] = "v8dbg_type_Code__CODE_TYPE",
	[INSTRUCTIONS_TYPE] = "v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE",
	[INSTRUCTIONS_START] = "v8dbg_class_InstructionStream__instruction_start__uintptr_t",
};

enum {
	SMI_SHIFT_WITHOUT_COMPRESSION = 31, /* pointers are whole */
	LAST_FUNCTION_BEHIND = 15,          /* of types, before V8 12: constructors of classes */
	VERSION_WITH_SHORT_HEADS = 12,      /* of bytecode arrays */
	MAX_OFFSET = 255,
	MAX_TYPE = 1 << 14,
	OLDEST = 10,
	LATEST = 14,
};

struct values {
	struct elf_dynsym symbols[SYMBOLS];
	int32_t of[SYMBOLS];
};

/* Negative: there is no such symbol, or it is no such value. */
static int32_t node_value(const struct values *values, enum symbol symbol, int32_t max)
{
	int32_t value = values->symbols[symbol].address ? values->of[symbol] : -1;
	return value <= max ? value : -1;
}

/* The same of the first of these that there is. */
static int32_t node_first_value(
	const struct values *values, enum symbol first, enum symbol last, int32_t max)
{
	for (enum symbol symbol = first; symbol <= last; symbol++)
		if (values->symbols[symbol].address)
			return node_value(values, symbol, max);
	return -1;
}

/* By the major version, as far as no variable says it. */
static void take_code(const struct values *values, struct node_row *row)
{
	static const struct {
		uint8_t start, size, flags, deopt, positions, regexp_kind;
		uint8_t deopt_shared, is_wrapped; /* in the data for deoptimization: word */
	} codes[] = {
		[10] = {0, 40, 48, 16, 24, 3, 6, false},
		[11] = {40, 56, 48, 16, 24, 3, 6, false},
		[12] = {40, 52, 48, 8, 16, 3, 6, false},
		[13] = {40, 56, 52, 8, 16, 3, 7, true},
		[14] = {40, 56, 52, 8, 16, 4, 7, true},
	};
	enum {
		HEADER_10 = 128, /* Code and its instructions are one object */
		ARRAY_DATA = 16,
	};
	int32_t baseline = node_value(values, BASELINE_KIND, MAX_OFFSET);
	int32_t code = node_value(values, CODE_TYPE, MAX_TYPE);
	int32_t instructions = node_value(values, INSTRUCTIONS_TYPE, MAX_TYPE);
	int32_t header = node_value(values, INSTRUCTIONS_START, MAX_OFFSET);
	bool is_one = row->version == OLDEST;
	if (baseline < 0 || code < 0 || (!is_one && (instructions < 0 || header < 16)))
		return; /* inlined functions are not found */
	row->baseline_kind = (uint8_t)baseline;
	row->code_type = (uint16_t)code;
	row->instructions_type = (uint16_t)(is_one ? code : instructions);
	row->code_header = (uint8_t)(is_one ? HEADER_10 : header);
	row->code_start = codes[row->version].start;
	row->code_size = codes[row->version].size;
	row->code_flags = codes[row->version].flags;
	row->code_deopt = codes[row->version].deopt;
	row->code_positions = codes[row->version].positions;
	row->regexp_kind = codes[row->version].regexp_kind;
	row->deopt_shared = (uint8_t)(ARRAY_DATA + 8 * codes[row->version].deopt_shared);
	row->deopt_shared_is_wrapped = codes[row->version].is_wrapped;
}

static bool take_row(const struct values *values, struct node_row *row)
{
	int32_t version = node_value(values, VERSION, LATEST);
	int32_t wasm = node_value(values, WASM_FRAME, MAX_OFFSET);
	int32_t entry = node_value(values, ENTRY_FRAME, MAX_OFFSET);
	int32_t construct_entry = node_value(values, CONSTRUCT_ENTRY_FRAME, MAX_OFFSET);
	int32_t minor = node_value(values, MINOR_VERSION, MAX_OFFSET);
	int32_t function = node_value(values, FUNCTION_TYPE, MAX_TYPE);
	int32_t first = node_value(values, FIRST_FUNCTION_TYPE, MAX_TYPE);
	int32_t last = node_value(values, LAST_FUNCTION_TYPE, MAX_TYPE);
	const int32_t types[] = {node_value(values, SHARED_TYPE, MAX_TYPE),
		node_value(values, SCRIPT_TYPE, MAX_TYPE),
		node_value(values, SCOPE_INFO_TYPE, MAX_TYPE),
		node_value(values, BYTECODE_ARRAY_TYPE, MAX_TYPE)};
	const int32_t offsets[] = {node_value(values, FUNCTION_SHARED, MAX_OFFSET),
		node_first_value(values, SHARED_NAME, SHARED_NAME_13, MAX_OFFSET),
		node_first_value(values, SHARED_SCRIPT, SHARED_SCRIPT_12, MAX_OFFSET),
		node_value(values, SHARED_FLAGS, MAX_OFFSET),
		node_value(values, BYTECODE_DATA, MAX_OFFSET),
		node_value(values, SCOPE_FIRST, MAX_OFFSET),
		node_value(values, SCOPE_LOCALS, MAX_OFFSET)};
	if (node_value(values, SMI_SHIFT, MAX_OFFSET) != SMI_SHIFT_WITHOUT_COMPRESSION ||
		version < OLDEST || function < 0)
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i] < 0)
			return false;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		if (offsets[i] < 0)
			return false;
	bool has_range = first >= 0 && last >= first;
	*row = (struct node_row){
		.first_function = (uint16_t)(has_range ? first : function),
		.last_function = (uint16_t)(has_range ? last : function + LAST_FUNCTION_BEHIND),
		.shared_type = (uint16_t)types[0],
		.script_type = (uint16_t)types[1],
		.scope_info_type = (uint16_t)types[2],
		.bytecode_array_type = (uint16_t)types[3],
		.function_shared = (uint8_t)offsets[0],
		.shared_name = (uint8_t)offsets[1],
		.shared_script = (uint8_t)offsets[2],
		.shared_flags = (uint8_t)offsets[3],
		.bytecode_data = (uint8_t)offsets[4],
		.bytecode_positions = version >= VERSION_WITH_SHORT_HEADS ? 24 : 32,
		.scope_first = (uint8_t)offsets[5],
		.scope_locals = (uint8_t)offsets[6],
		.wasm_frame = (uint8_t)(wasm < 0 ? 0 : wasm),
		.entry_frame = (uint8_t)(entry < 0 ? 0 : entry),
		.construct_entry_frame = (uint8_t)(construct_entry < 0 ? 0 : construct_entry),
		.version = (uint8_t)version,
		.minor_version = (uint8_t)(minor < 0 ? 0 : minor),
	};
	take_code(values, row);
	return true;
}

static struct err *node_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct values values = {0};
	if (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64)
		return NULL;
	try(elf_dynsym_find(elf, names, SYMBOLS, values.symbols));
	file->is_runtime = values.symbols[SMI_SHIFT].address;
	if (!file->is_runtime)
		return NULL;
	for (int i = 0; i < SYMBOLS; i++)
		if (values.symbols[i].address && !runtime_file_read(elf, values.symbols[i].address,
							 &values.of[i], sizeof(values.of[i])))
			values.of[i] = 0; /* it lies where nothing but zeros do */
	*is_found =
		take_row(&values, (void *)file->row.words) && runtime_file_take_no_loop(elf, file);
	return NULL;
}

static void node_place_of(struct runtime_row *row, uint64_t address_to_file)
{
	(void)row, (void)address_to_file; /* it has no addresses */
}

static bool node_is_sound(const struct runtime_row *row)
{
	const struct node_row *node = (const void *)row->words;
	return node->version >= OLDEST && node->version <= LATEST &&
	       node->first_function <= node->last_function;
}

const struct runtime node_runtime = {
	.version = 6,
	.name = "node",
	.claims_code_of_no_file = true,
	.object = "[javascript]",
	.detect = node_detect,
	.place = node_place_of,
	.is_sound = node_is_sound,
	.put_texts = node_function_put_texts,
	.next_line = node_function_next_line,
	.is_read_again = true,
	.read_inlined = node_code_read,
	.lacks_name = node_code_lacks_name,
};

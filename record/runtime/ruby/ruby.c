/*
 * CRuby, whether in a program or in a library: any file that exports its version and its functions
 * to extensions, as every build does.
 */
#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "format/machine/arm64_insn.h"
#include "record/runtime/ruby/ruby_layout.h"
#include "record/runtime/ruby/ruby_lines.h"
#include "record/runtime/ruby/ruby_loop.h"
#include "record/runtime/runtime.h"
#include "record/runtime/runtime_memory.h"
#include "record/runtime/thread_variable.h"

enum symbol {
	VERSION,      /* the first: without it nothing else is looked for */
	LOOP,         /* until 3.2 */
	CONTEXT,      /* until 2.7 */
	FIRST_GETTER, /* functions that do nothing but look up the context and what it has */
	SECOND_GETTER,
	THIRD_GETTER,
	COUNT_GETTER,  /* returns the first word of the symbols' table */
	CONSTANT_TEST, /* begins by telling operators */
	SYMBOLS
};

static const char *const names[SYMBOLS] = {
	[VERSION] = "ruby_api_version",
	[LOOP] = "rb_vm_exec",
	[CONTEXT] = "ruby_current_execution_context_ptr",
	[FIRST_GETTER] = "rb_thread_current",
	[SECOND_GETTER] = "rb_errinfo",
	[THIRD_GETTER] = "rb_lastline_get",
	[COUNT_GETTER] = "rb_sym_immortal_count",
	[CONSTANT_TEST] = "rb_is_const_id",
};

/* Three ints: major, minor, teeny. 0: unknown. */
static uint32_t ruby_find_version(struct elf_file *elf, const struct elf_dynsym *symbols)
{
	uint8_t bytes[8];
	if (!symbols[VERSION].address ||
		!runtime_file_read(elf, symbols[VERSION].address, bytes, sizeof(bytes)))
		return 0;
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
	uint32_t major = bytes_get_u32(&cursor), minor = bytes_get_u32(&cursor);
	return major < 10 && minor < 10 ? 10 * major + minor : 0;
}

/* ---- the context ---- */

static bool find_context(
	struct elf_file *elf, const struct elf_dynsym *symbols, struct ruby_row *row)
{
	if (row->thread_id) { /* a version that has a global variable */
		row->flags |= RUBY_CONTEXT_IS_GLOBAL;
		row->context = symbols[CONTEXT].address;
		return row->context;
	}
	struct thread_variable variable;
	for (enum symbol i = FIRST_GETTER; i <= THIRD_GETTER; i++) {
		if (!thread_variable_find(elf, &symbols[i], &variable))
			continue;
		static const uint8_t flags[] = {
			[THREAD_VARIABLE_AT] = RUBY_CONTEXT_IS_AT,
			[THREAD_VARIABLE_IN_SLOT] = RUBY_CONTEXT_IS_IN_SLOT,
			[THREAD_VARIABLE_BY_DISTANCE] = RUBY_CONTEXT_IS_BY_DISTANCE,
		};
		row->flags |= flags[variable.kind];
		row->context = variable.place;
		row->slot_more = variable.more;
		return true;
	}
	return false;
}

/* ---- names of methods ---- */

enum {
	GETTER_BYTES = 16,
	MOV_BYTES = 6,
};

static uint64_t ruby_signed_at(const uint8_t *code)
{
	struct bytes_cursor cursor = bytes_cursor(code, 4);
	return (uint64_t)(int32_t)bytes_get_u32(&cursor);
}

/* The first instructions of a function, behind what marks targets of jumps (endbr64). */
static bool read_first(struct elf_file *elf, const struct elf_dynsym *function, uint64_t *address,
	uint8_t code[GETTER_BYTES])
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	*address = function->address;
	if (!*address || !runtime_file_read(elf, *address, code, GETTER_BYTES))
		return false;
	if (memcmp(code, endbr, sizeof(endbr)) != 0)
		return true;
	*address += sizeof(endbr);
	return runtime_file_read(elf, *address, code, GETTER_BYTES);
}

/*
 *   mov  symbols(%rip),%eax; ret      rb_sym_immortal_count(): last_id, which they begin with
 *   cmp  $last_operator,%rdi          rb_is_const_id(): ...
 */
static bool find_symbols_of_x86_64(struct elf_file *elf, const struct elf_dynsym *symbols,
	uint64_t *table, uint64_t *last_operator)
{
	uint8_t code[GETTER_BYTES];
	uint64_t address;
	if (!read_first(elf, &symbols[COUNT_GETTER], &address, code) || code[0] != 0x8b ||
		code[1] != 0x05 || code[MOV_BYTES] != 0xc3)
		return false;
	*table = address + MOV_BYTES + ruby_signed_at(code + 2);
	if (!read_first(elf, &symbols[CONSTANT_TEST], &address, code) || code[0] != 0x48 ||
		code[1] != 0x81 || code[2] != 0xff)
		return false;
	*last_operator = ruby_signed_at(code + 3);
	return true;
}

/*
 *   adrp x0, page; ldr w0, [x0, #symbols]; ret      of the same
 *   cmp  x0, #last_operator
 */
static bool find_symbols_of_arm64(struct elf_file *elf, const struct elf_dynsym *symbols,
	uint64_t *table, uint64_t *last_operator)
{
	uint8_t code[GETTER_BYTES];
	const struct elf_dynsym *count = &symbols[COUNT_GETTER], *test = &symbols[CONSTANT_TEST];
	struct arm64_values values = {.known = 0};
	bool has_table = false, has_operator = false, of_thread;
	if (!count->address || !runtime_file_read(elf, count->address, code, sizeof(code)))
		return false;
	for (size_t at = 0; at < sizeof(code) && !has_table; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn =
			arm64_insn_decode(code + at, ARM64_INSN_BYTES, count->address + at);
		has_table = insn.kind == ARM64_LOAD && insn.bytes == 4 &&
			    arm64_values_address(&values, &insn, table, &of_thread) && !of_thread;
		arm64_values_run(&values, &insn);
	}
	if (!test->address || !runtime_file_read(elf, test->address, code, sizeof(code)))
		return false;
	for (size_t at = 0; at < sizeof(code) && !has_operator; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(code + at, ARM64_INSN_BYTES, 0);
		has_operator = insn.kind == ARM64_COMPARE && insn.base == 0;
		*last_operator = insn.value;
	}
	return has_table && has_operator;
}

/* Without these, methods written in C have no names. */
static void ruby_find_symbols(
	struct elf_file *elf, const struct elf_dynsym *symbols, struct ruby_row *row)
{
	uint64_t table, last_operator;
	bool is_found = elf_file_machine(elf) == EM_AARCH64
				? find_symbols_of_arm64(elf, symbols, &table, &last_operator)
				: find_symbols_of_x86_64(elf, symbols, &table, &last_operator);
	if (!is_found || last_operator > UINT8_MAX)
		return;
	row->last_operator = (uint8_t)last_operator;
	row->symbols = table;
}

/* ---- the whole ---- */

static struct err *ruby_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct elf_dynsym symbols[SYMBOLS];
	struct ruby_row *row = (void *)file->row.words;
	if (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64)
		return NULL;
	try(elf_dynsym_find(elf, names, SYMBOLS, symbols));
	file->is_runtime = symbols[VERSION].address;
	if (!ruby_layout_of_version(ruby_find_version(elf, symbols), row) ||
		!find_context(elf, symbols, row))
		return NULL;
	ruby_find_symbols(elf, symbols, row);
	try(ruby_loop_find(elf, symbols[LOOP].address, file, is_found));
	row->loop_start = file->loop_start;
	row->loop_end = file->loop_end;
	return NULL;
}

static void ruby_place(struct runtime_row *row, uint64_t address_to_file)
{
	struct ruby_row *ruby = (void *)row->words;
	if (!(ruby->flags & RUBY_CONTEXT_IS_AT))
		ruby->context += address_to_file;
	if (ruby->symbols)
		ruby->symbols += address_to_file;
	ruby->loop_start += address_to_file;
	ruby->loop_end += address_to_file;
	for (size_t i = 0; i < RUBY_RANGES && ruby->core_end[i]; i++) {
		ruby->core_start[i] += address_to_file;
		ruby->core_end[i] += address_to_file;
	}
}

static bool ruby_is_sound(const struct runtime_row *row)
{
	return ruby_layout_is_sound((const void *)row->words);
}

/* ---- texts ---- */

enum {
	OBJECT_TYPE_MASK = 0x1f, /* of the flags that objects begin with */
	STRING = 5,
	IS_NOT_EMBEDDED = 0x2000,
	LENGTH_SHIFT = 14, /* of an embedded string, before 3.2 */
	LENGTH_MASK = 31,
	MAX_ENTRIES = 1 << 16,
	MAX_WORDS = 1 << 20,
};

static bool ruby_read_bytes(uint32_t pid, uint64_t from, size_t len, struct runtime_text_bytes *ret)
{
	ret->len = len;
	ret->unit = 0;
	ret->data = mem_alloc(len);
	if (runtime_read_process(pid, from, ret->data, len))
		return true;
	mem_free(ret->data);
	return false;
}

static bool ruby_read_string(const struct event_code *event, uint64_t at,
	const struct ruby_row *row, struct runtime_text_bytes *ret)
{
	uint64_t object[4]; /* flags, class, length, pointer */
	if (!runtime_read_process(event->pid, at, object, sizeof(object)) ||
		(object[0] & OBJECT_TYPE_MASK) != STRING)
		return false;
	bool is_embedded = !(object[0] & IS_NOT_EMBEDDED);
	uint64_t len = object[2], from = is_embedded ? at + row->string_embedded : object[3];
	if (is_embedded && !(row->flags & RUBY_HAS_STRING_LENGTH))
		len = object[0] >> LENGTH_SHIFT & LENGTH_MASK;
	if (!len || len > RUNTIME_MAX_FILE_BYTES)
		return false;
	return ruby_read_bytes(event->pid, from, len, ret);
}

/* What the BPF side would have put together, had it been shorter; `at` is that of the body. */
static bool ruby_read_lines(const struct event_code *event, uint64_t at, const struct ruby_row *row,
	struct runtime_text_bytes *ret)
{
	uint64_t body[RUBY_BODY_BYTES / 8] = {0};
	if (!runtime_read_process(event->pid, at, body, row->body_bytes))
		return false;
	uint32_t head[2] = {(uint32_t)(body[0] >> 32), (uint32_t)body[row->body_info_size / 8]};
	if (!head[1] || head[1] > MAX_ENTRIES || head[0] > MAX_WORDS)
		return false;
	size_t index = head[1] > 1 ? ruby_index_bytes(head[0]) : 0;
	size_t info = (size_t)head[1] * row->info_bytes;
	ret->unit = 0;
	ret->len = RUBY_LINES_HEAD_BYTES + index + info;
	ret->data = mem_alloc(ret->len);
	memcpy(ret->data, head, RUBY_LINES_HEAD_BYTES);
	uint8_t *to = ret->data + RUBY_LINES_HEAD_BYTES;
	if ((!index || runtime_read_process(event->pid, body[row->body_index / 8], to, index)) &&
		runtime_read_process(event->pid, body[row->body_info / 8], to + index, info))
		return true;
	mem_free(ret->data);
	return false;
}

static bool ruby_read_text(
	const struct event_code *event, enum runtime_text what, struct runtime_text_bytes *ret)
{
	struct ruby_row row;
	uint64_t at = event->address[what];
	if (!ruby_layout_of_version(event->version, &row))
		return false;
	return what == RUNTIME_TEXT_LINES ? ruby_read_lines(event, at, &row, ret)
					  : ruby_read_string(event, at, &row, ret);
}

const struct runtime ruby_runtime = {
	.version = 2,
	.name = "ruby",
	.object = "[ruby]",
	.called_code = "[ruby jit]",
	.detect = ruby_detect,
	.place = ruby_place,
	.is_sound = ruby_is_sound,
	.line_of = ruby_line_of,
	.read_text = ruby_read_text,
};

/*
 * PHP without threads (NTS), whether in a program or in a library, as web servers load it: any
 * file that exports its interpreter's loop and its globals, as every build does for its extensions.
 *
 * Where it keeps what is read out of zend_get_executed_filename_ex(), which goes the same way as
 * the BPF side: from the globals to the frame, by its function or its caller to code of the
 * program, and to the file. The rest has been the same since 7.4, and is taken from there.
 *
 * Sources: Zend/{zend_globals,zend_compile}.h of PHP 7.4.33, 8.2.36, 8.4.28 by offsetof();
 * Zend/zend_execute_API.c.
 */
#include <elf.h>
#include <string.h>

#include "bpf/runtime/php/php_row.h"
#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "format/machine/arm64_insn.h"
#include "record/runtime/runtime.h"
#include "record/runtime/runtime_memory.h"

enum symbol {
	LOOP, /* the first: without it nothing else is looked for */
	GLOBALS,
	GET_FILE,
	SYMBOLS
};

static const char *const names[SYMBOLS] = {
	[LOOP] = "execute_ex",
	[GLOBALS] = "executor_globals",
	[GET_FILE] = "zend_get_executed_filename_ex",
};

enum {
	FIRST_VERSION = 74,
	LAST_VERSION = 85,

	FRAME_FUNCTION = 24, /* zend_execute_data */
	FRAME_PREVIOUS = 48,
	MIN_CODE_FILE = 136, /* zend_op_array: 7.4; 176 is 8.5's */
	MAX_CODE_FILE = PHP_CODE_BYTES - 16,
	STACK_TOP = 32,     /* executor_globals: vm_stack_top, before current_execute_data */
	CODE_START_82 = 64, /* before the file's name */
	CODE_START = 72,    /* until 8.1 */
	CODE_FILE_82 = 152,
	MAX_GLOBALS_BYTES = 1 << 16,
};

/* ---- which version ---- */

enum {
	MAX_TEXT_BYTES = 64 << 20, /* of .rodata: PHP's has 2 MiB */
};

/* "Zend Engine v4.2.35, Copyright ...": 3 is that of PHP 7, 4 that of 8. 0: unknown. */
static uint32_t version_of(const char *text, size_t len)
{
	static const char engine[] = "Zend Engine v";
	const size_t skip = sizeof(engine) - 1;
	for (const char *at = text, *end = text + len; end - at > (ptrdiff_t)skip + 4; at++) {
		at = memchr(at, engine[0], (size_t)(end - at) - skip - 4);
		if (!at)
			return 0;
		if (memcmp(at, engine, skip) != 0)
			continue;
		const char *digit = at + skip;
		bool is_version = (digit[0] == '3' || digit[0] == '4') && digit[1] == '.' &&
				  digit[2] >= '0' && digit[2] <= '9' && digit[3] == '.';
		if (is_version)
			return (uint32_t)(digit[0] - '0' + 4) * 10 + (uint32_t)(digit[2] - '0');
	}
	return 0;
}

static struct err *php_find_version(struct elf_file *elf, uint32_t *ret)
{
	CLEANUP_FREE uint8_t *text = NULL;
	const struct elf_section *section = elf_file_find_section(elf, ".rodata");
	*ret = 0;
	if (!section || section->type == SHT_NOBITS || section->size > MAX_TEXT_BYTES)
		return NULL;
	try(elf_file_read(elf, section->offset, section->size, &text));
	*ret = version_of((const char *)text, section->size);
	return NULL;
}

/* ---- where it keeps what ---- */

enum {
	LOOK_AT_BYTES = 128,
	MAX_INSTRUCTION = 8,
};

static uint32_t php_u32_at(const uint8_t *code)
{
	struct bytes_cursor cursor = bytes_cursor(code, 4);
	return bytes_get_u32(&cursor);
}

/* mov offset(%reg),%reg with an offset of 32 bits, which must be a multiple of 8; 0: it is none. */
static uint32_t far_load(const uint8_t *code)
{
	bool is_load =
		code[0] == 0x48 && code[1] == 0x8b && code[2] >> 6 == 2 && (code[2] & 7) != 4;
	uint32_t offset = is_load ? php_u32_at(code + 3) : 0;
	return offset % 8 ? 0 : offset;
}

/* mov place(%rip),%reg: the address of the place; 0: it is none. */
static uint64_t load_of(const uint8_t *code, uint64_t address)
{
	bool is_load = code[0] == 0x48 && code[1] == 0x8b && (code[2] & 0xc7) == 5;
	return is_load ? address + 7 + (uint64_t)(int32_t)php_u32_at(code + 3) : 0;
}

/* mov offset(%reg),%reg with an offset of 8 bits. */
static bool is_near_load(const uint8_t *code, uint8_t offset)
{
	return code[0] == 0x48 && code[1] == 0x8b && code[2] >> 6 == 1 && (code[2] & 7) != 4 &&
	       code[3] == offset;
}

/*
 * In the order of the function: the frame is what is loaded last before the first frame's
 * function is; the file is loaded after that. Nothing but the right offsets is taken.
 */
struct accessor {
	const struct elf_dynsym *globals;
	uint64_t frame, file;
	bool has_function, has_previous;
};

/* A load from an address that is known, or else by an offset. */
static void accessor_take_load(struct accessor *accessor, uint64_t address, uint64_t offset)
{
	const struct elf_dynsym *globals = accessor->globals;
	bool is_in_globals = address && address - globals->address < globals->size;
	if (!accessor->has_function && !address && offset > FRAME_PREVIOUS &&
		offset < globals->size)
		accessor->frame = globals->address + offset;
	if (!accessor->has_function && is_in_globals)
		accessor->frame = address;
	accessor->has_function |= !address && offset == FRAME_FUNCTION;
	accessor->has_previous |= !address && offset == FRAME_PREVIOUS;
	if (accessor->has_function && !accessor->file && !address && offset >= MIN_CODE_FILE &&
		offset <= MAX_CODE_FILE)
		accessor->file = offset;
}

/* What the bytes between the instructions may look like does not matter. */
static void read_accessor_of_x86_64(
	const uint8_t *code, size_t len, uint64_t address, struct accessor *accessor)
{
	for (size_t i = 0; i + MAX_INSTRUCTION <= len; i++) {
		uint64_t from = load_of(code + i, address + i);
		uint32_t offset = far_load(code + i);
		if (from || offset)
			accessor_take_load(accessor, from, offset);
		if (is_near_load(code + i, FRAME_FUNCTION))
			accessor_take_load(accessor, 0, FRAME_FUNCTION);
		if (is_near_load(code + i, FRAME_PREVIOUS))
			accessor_take_load(accessor, 0, FRAME_PREVIOUS);
	}
}

static void read_accessor_of_arm64(
	const uint8_t *code, size_t len, uint64_t address, struct accessor *accessor)
{
	struct arm64_values values = {.known = 0};
	for (size_t at = 0; at + ARM64_INSN_BYTES <= len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(code + at, len - at, address + at);
		uint64_t from = 0;
		bool of_thread;
		if (insn.kind == ARM64_LOAD && insn.bytes == 8) {
			arm64_values_address(&values, &insn, &from, &of_thread);
			accessor_take_load(accessor, from, insn.value);
		}
		arm64_values_run(&values, &insn);
	}
}

static bool read_accessor(uint16_t elf_machine, const uint8_t *code, size_t len,
	const struct elf_dynsym *symbols, struct php_row *ret)
{
	struct accessor accessor = {.globals = &symbols[GLOBALS]};
	uint64_t address = symbols[GET_FILE].address;
	if (elf_machine == EM_AARCH64)
		read_accessor_of_arm64(code, len, address, &accessor);
	else
		read_accessor_of_x86_64(code, len, address, &accessor);
	uint64_t file = accessor.file;
	ret->frame = accessor.frame;
	ret->code_file = (uint16_t)file;
	ret->code_start = (uint16_t)(file - (file < CODE_FILE_82 ? CODE_START : CODE_START_82));
	return accessor.frame && file && accessor.has_previous;
}

static bool php_find_layout(
	struct elf_file *elf, const struct elf_dynsym *symbols, struct php_row *ret)
{
	uint8_t code[LOOK_AT_BYTES + MAX_INSTRUCTION];
	const struct elf_dynsym *function = &symbols[GET_FILE];
	if (!function->address || !symbols[GLOBALS].address ||
		symbols[GLOBALS].size > MAX_GLOBALS_BYTES ||
		!runtime_file_read(elf, function->address, code, sizeof(code)))
		return false;
	size_t len = function->size < LOOK_AT_BYTES ? function->size : LOOK_AT_BYTES;
	return read_accessor(elf_file_machine(elf), code, len, symbols, ret);
}

/*
 * Where the loop goes from one instruction of the program to the next, jmp *(%r15): the next one
 * may be code that was compiled. 0: this build's loop is another one, which calls; or it is of a
 * machine whose compiled code is not known.
 */
static uint64_t find_jump(struct elf_file *elf, const struct elf_dynsym *loop)
{
	enum {
		LOOP_BEGIN_BYTES = 1024,
	};
	uint8_t code[LOOP_BEGIN_BYTES];
	if (elf_file_machine(elf) != EM_X86_64 || loop->size < sizeof(code) ||
		!runtime_file_read(elf, loop->address, code, sizeof(code)))
		return 0;
	for (size_t i = 0; i + 3 <= sizeof(code); i++)
		if (code[i] == 0x41 && code[i + 1] == 0xff && code[i + 2] == 0x27)
			return loop->address + i;
	return 0;
}

/* Since which version zend_generator is what it is was not looked for further than in these. */
static void take_generator(uint32_t version, struct php_row *row)
{
	bool is_74 = version == 74, is_known = is_74 || (version >= 82 && version <= 84);
	row->generator_frame = is_known ? is_74 ? 64 : 56 : 0;
	row->generator_children = is_known ? is_74 ? 168 : 160 : 0;
	row->generator_child = is_known ? is_74 ? 184 : 168 : 0;
}

static struct err *php_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct elf_dynsym symbols[SYMBOLS];
	struct php_row *row = (void *)file->row.words;
	uint32_t version;
	if (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64)
		return NULL;
	try(elf_dynsym_find(elf, names, SYMBOLS, symbols));
	if (!symbols[LOOP].address || !symbols[LOOP].size)
		return NULL;
	file->is_runtime = true;
	if (!php_find_layout(elf, symbols, row))
		return NULL;
	try(php_find_version(elf, &version));
	row->version = (uint8_t)version;
	row->stack_top = STACK_TOP;
	take_generator(version, row);
	row->loop = symbols[LOOP].address;
	row->resume = find_jump(elf, &symbols[LOOP]);
	file->loop_start = symbols[LOOP].address;
	file->loop_end = symbols[LOOP].address + symbols[LOOP].size;
	*is_found = version >= FIRST_VERSION && version <= LAST_VERSION;
	return NULL;
}

static void php_place(struct runtime_row *row, uint64_t address_to_file)
{
	struct php_row *php = (void *)row->words;
	php->frame += address_to_file;
	php->loop += address_to_file;
	php->resume += php->resume ? address_to_file : 0;
}

static bool php_is_sound(const struct runtime_row *row)
{
	const struct php_row *php = (const void *)row->words;
	return php->version >= FIRST_VERSION && php->version <= LAST_VERSION &&
	       php->code_file >= MIN_CODE_FILE && php->code_file <= MAX_CODE_FILE &&
	       php->code_file % 8 == 0 && php->code_start < php->code_file &&
	       php->code_start % 8 == 0;
}

/* ---- places and texts ---- */

/* A place is a line. */
static uint32_t php_line_of(const struct runtime_lines *lines, uint32_t place)
{
	(void)lines;
	return place;
}

enum {
	FUNCTION_NAME = 8,
	FUNCTION_CLASS = 16,
	CLASS_NAME = 8,
	TEXT_LENGTH = 16, /* zend_string */
	TEXT_BYTES = 24,
};

/* Appends the zend_string that the word at `pointer` points to. False: it cannot be read. */
static bool add_text(uint32_t pid, uint64_t pointer, uint64_t max, struct runtime_text_bytes *ret)
{
	uint64_t text, length;
	if (!runtime_read_process(pid, pointer, &text, sizeof(text)) || !text ||
		!runtime_read_process(pid, text + TEXT_LENGTH, &length, sizeof(length)) || !length)
		return false;
	length = length < max ? length : max;
	ret->data = mem_realloc_array(ret->data, ret->len + length + 2, 1);
	if (!runtime_read_process(pid, text + TEXT_BYTES, ret->data + ret->len, length))
		return false;
	ret->len += length;
	return true;
}

/* "Class::" of a method. False: it cannot be read. */
static bool add_class(uint32_t pid, uint64_t function, struct runtime_text_bytes *ret)
{
	uint64_t class;
	if (!runtime_read_process(pid, function + FUNCTION_CLASS, &class, sizeof(class)))
		return false;
	if (!class)
		return true;
	if (!add_text(pid, class + CLASS_NAME, RUNTIME_MAX_NAME_BYTES, ret))
		return false;
	const uint8_t *zero = memchr(ret->data, 0, ret->len); /* of a class without a name */
	ret->len = zero ? (size_t)(zero - ret->data) : ret->len;
	memcpy(ret->data + ret->len, "::", 2);
	ret->len += 2;
	return true;
}

/* The name by the address of the function; the file by the address of its name. */
static bool php_read_text(
	const struct event_code *event, enum runtime_text what, struct runtime_text_bytes *ret)
{
	struct runtime_text_bytes text = {.unit = RUNTIME_UNIT_UTF8};
	uint64_t at = event->address[what], length;
	bool is_read = false;
	if (what == RUNTIME_TEXT_NAME)
		is_read = add_class(event->pid, at, &text) &&
			  add_text(event->pid, at + FUNCTION_NAME, RUNTIME_MAX_NAME_BYTES, &text);
	else if (what == RUNTIME_TEXT_FILE &&
		 runtime_read_process(event->pid, at + TEXT_LENGTH, &length, sizeof(length)) &&
		 length) {
		text.len = length < RUNTIME_MAX_FILE_BYTES ? length : RUNTIME_MAX_FILE_BYTES;
		text.data = mem_alloc(text.len);
		is_read = runtime_read_process(event->pid, at + TEXT_BYTES, text.data, text.len);
	}
	if (is_read)
		*ret = text;
	else
		mem_free(text.data);
	return is_read;
}

const struct runtime php_runtime = {
	.version = 2,
	.name = "php",
	.claims_code_of_no_file = true,
	.object = "[php]",
	.detect = php_detect,
	.place = php_place,
	.is_sound = php_is_sound,
	.line_of = php_line_of,
	.read_text = php_read_text,
};

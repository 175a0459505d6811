/*
 * Racket CS: Chez Scheme, whose C code a program has in it, and which shows its functions to what
 * the program loads. Where Scheme's stack and its code keep what differs between versions of Chez
 * Scheme; those of one are known. Places that C uses are found in its code.
 *
 * Sources: racket/src/ChezScheme/c/{schlib,scheme}.c of Racket 8.7.
 */
#include <elf.h>
#include <string.h>

#include "bpf/runtime/racket/racket_row.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "format/file/layout.h"
#include "record/runtime/racket/racket_code.h"
#include "record/runtime/runtime.h"

enum racket_symbol {
	HELP, /* the first: without it nothing else is looked for */
	INVOKE,
	KERNEL_VERSION,
	KEY,
	RACKET_SYMBOLS
};

static const char *const symbol_names[RACKET_SYMBOLS] = {
	[HELP] = "S_call_help",
	[INVOKE] = "S_generic_invoke",
	[KERNEL_VERSION] = "Skernel_version",
	[KEY] = "S_tc_key",
};

static const char known_version[] = "9.5.9.8"; /* of Racket 8.7 */

static bool is_known_version(struct elf_file *elf, const struct elf_dynsym *function)
{
	uint8_t bytes[RACKET_TEXT_BYTES];
	const struct racket_code code = {bytes, sizeof(bytes), function->address};
	char version[sizeof(known_version)];
	uint64_t text;
	return runtime_file_read(elf, function->address, bytes, sizeof(bytes)) &&
	       racket_code_find_text(elf_file_machine(elf), &code, &text) &&
	       runtime_file_read(elf, text, version, sizeof(version)) &&
	       memcmp(version, known_version, sizeof(version)) == 0;
}

static bool find_invoke(
	struct elf_file *elf, const struct elf_dynsym *symbols, struct racket_call *ret)
{
	enum {
		MAX_BYTES = 1 << 14,
	};
	const struct elf_dynsym *help = &symbols[HELP];
	if (!help->size || help->size > MAX_BYTES)
		return false;
	CLEANUP_FREE uint8_t *bytes = mem_alloc(help->size);
	const struct racket_code code = {bytes, help->size, help->address};
	return runtime_file_read(elf, help->address, bytes, help->size) &&
	       racket_code_find_call(elf_file_machine(elf), &code, symbols[INVOKE].address, ret);
}

static struct err *racket_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct elf_dynsym symbols[RACKET_SYMBOLS];
	struct racket_row *row = (void *)file->row.words;
	struct racket_call invoke;
	try(elf_dynsym_find(elf, symbol_names, RACKET_SYMBOLS, symbols));
	for (int i = 0; i < RACKET_SYMBOLS; i++)
		if (!symbols[i].address)
			return NULL;
	file->is_runtime = true;
	if (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64)
		return NULL;
	if (!is_known_version(elf, &symbols[KERNEL_VERSION]) || !find_invoke(elf, symbols, &invoke))
		return NULL;
	row->invoke = invoke.argument;
	row->invoke_in_globals = invoke.in_structure;
	row->key = symbols[KEY].address;
	row->help_start = symbols[HELP].address;
	row->help_end = symbols[HELP].address + symbols[HELP].size;
	row->help_return = invoke.returns_to;
	*is_found = runtime_file_take_no_loop(elf, file);
	return NULL;
}

static void racket_place(struct runtime_row *row, uint64_t address_to_file)
{
	struct racket_row *racket = (void *)row->words;
	racket->key += address_to_file;
	racket->invoke += address_to_file;
	racket->help_start += address_to_file;
	racket->help_end += address_to_file;
	racket->help_return += address_to_file;
}

static bool racket_is_sound(const struct runtime_row *row)
{
	const struct racket_row *racket = (const void *)row->words;
	return racket->help_start < racket->help_end;
}

static bool racket_next_line(const struct runtime_lines *lines, struct runtime_line_entry *entry)
{
	(void)lines, (void)entry;
	return false;
}

/*
 * Racket puts a character ahead of names: `[` where a procedure has none but where it stands in its
 * file, `]` where its name begins with one of the two.
 */
static void racket_put_texts(struct str *name, struct str *file)
{
	(void)file;
	CLEANUP(str_deinit) struct str rest = {0};
	const char *text = str_text(name);
	bool is_marked = name->len && (text[0] == '[' || text[0] == ']');
	str_write(&rest, text + is_marked, name->len - is_marked);
	str_truncate(name, 0);
	if (rest.len)
		str_write(name, str_text(&rest), rest.len);
	else
		str_puts(name, LAYOUT_NAMELESS);
}

const struct runtime racket_runtime = {
	.version = 3,
	.name = "racket",
	.claims_code_of_no_file = true,
	.object = "[racket]",
	.detect = racket_detect,
	.place = racket_place,
	.is_sound = racket_is_sound,
	.put_texts = racket_put_texts,
	.next_line = racket_next_line,
};

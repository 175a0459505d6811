/*
 * Perl, whether in a program or in a library: any file that exports its loop and its variables,
 * as every build does for its extension modules. Builds without threads have no PL_thr_key, and
 * are not known.
 */
#include <elf.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "record/runtime/perl/perl_layout.h"
#include "record/runtime/perl/perl_names.h"
#include "record/runtime/runtime.h"

enum symbol {
	LOOP, /* the first: without it nothing else is looked for */
	KEY,
	NEXTSTATE,
	REVISION, /* 5 */
	VERSION,
	OPTIONS, /* of the build, as words */
	SYMBOLS
};

static const char *const names[SYMBOLS] = {
	[LOOP] = "Perl_runops_standard",
	[KEY] = "PL_thr_key",
	[NEXTSTATE] = "Perl_pp_nextstate",
	[REVISION] = "PL_revision",
	[VERSION] = "PL_version",
	[OPTIONS] = "PL_bincompat_options",
};

enum {
	MAX_OPTIONS_BYTES = 4096,
};

/* ---- which build ---- */

static bool has_option(const char *options, const char *option)
{
	size_t len = strlen(option);
	for (const char *at = options; (at = strstr(at, option)); at += len)
		if ((at == options || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

/* Whether structs are as the headers have them without options. */
static bool has_usual_structs(struct elf_file *elf, const struct elf_dynsym *symbol)
{
	static const char *const unusual[] = {
		"DEBUGGING",
		"DEBUG_LEAKING_SCALARS",
		"PERL_MICRO",
		"PERL_RC_STACK",
		"PERL_SAWAMPERSAND",
		"USE_LONG_DOUBLE",
		"USE_QUADMATH",
	};
	CLEANUP_FREE char *options = NULL;
	if (!symbol->address || !symbol->size || symbol->size > MAX_OPTIONS_BYTES)
		return false;
	options = mem_zalloc(symbol->size + 1);
	if (!runtime_file_read(elf, symbol->address, options, symbol->size))
		return false;
	for (size_t i = 0; i < sizeof(unusual) / sizeof(*unusual); i++)
		if (has_option(options, unusual[i]))
			return false;
	return has_option(options, "USE_ITHREADS");
}

static struct err *perl_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct elf_dynsym symbols[SYMBOLS];
	struct perl_row *row = (void *)file->row.words;
	uint8_t revision, version;
	if (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64)
		return NULL;
	try(elf_dynsym_find(elf, names, SYMBOLS, symbols));
	file->is_runtime = symbols[LOOP].address && symbols[REVISION].address;
	if (!symbols[LOOP].address || !symbols[LOOP].size || !symbols[KEY].address ||
		!runtime_file_read(elf, symbols[REVISION].address, &revision, 1) ||
		!runtime_file_read(elf, symbols[VERSION].address, &version, 1) || revision != 5 ||
		!has_usual_structs(elf, &symbols[OPTIONS]) || !perl_layout_of_version(version, row))
		return NULL;
	row->key = symbols[KEY].address;
	row->nextstate = symbols[NEXTSTATE].address;
	file->loop_start = symbols[LOOP].address;
	file->loop_end = symbols[LOOP].address + symbols[LOOP].size;
	*is_found = true;
	return NULL;
}

static void perl_place(struct runtime_row *row, uint64_t address_to_file)
{
	struct perl_row *perl = (void *)row->words;
	perl->key += address_to_file;
	perl->nextstate += address_to_file;
}

static bool perl_is_sound(const struct runtime_row *row)
{
	return perl_layout_is_sound((const void *)row->words);
}

/* The statement says its line itself. */
static uint32_t perl_line_of(const struct runtime_lines *lines, uint32_t place)
{
	(void)lines;
	return place;
}

const struct runtime perl_runtime = {
	.version = 2,
	.name = "perl",
	.object = "[perl]",
	.detect = perl_detect,
	.place = perl_place,
	.is_sound = perl_is_sound,
	.line_of = perl_line_of,
	.read_text = perl_read_text,
};

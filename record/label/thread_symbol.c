#include "record/label/thread_symbol.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "format/machine/machine.h"

#define SYMBOL "otel_thread_ctx_v1"

enum {
	RELOCATIONS_MAX = 64 << 20, /* bytes */
	RELOCATION_BYTES = sizeof(Elf64_Rela),
	PROGRAM_HEADERS_MAX = 64,
};

/* ---- programs ---- */

/*
 * The linker's own arithmetic: variables end where the thread's pointer points to, at a multiple
 * of what they are aligned to, or begin behind its head, likewise. False: the file has none.
 */
static bool find_distance(
	const struct machine *machine, struct elf_file *elf, uint64_t offset, uint64_t *ret)
{
	uint8_t head[sizeof(Elf64_Ehdr)], bytes[PROGRAM_HEADERS_MAX * sizeof(Elf64_Phdr)];
	struct err *err = elf_file_read_into(elf, 0, head, sizeof(head));
	struct bytes_cursor cursor =
		bytes_cursor(head + offsetof(Elf64_Ehdr, e_phoff), sizeof(uint64_t));
	uint64_t at = bytes_get_u64(&cursor);
	cursor = bytes_cursor(head + offsetof(Elf64_Ehdr, e_phnum), sizeof(uint16_t));
	size_t count = bytes_get_u16(&cursor);
	if (count > PROGRAM_HEADERS_MAX)
		count = PROGRAM_HEADERS_MAX;
	if (!err)
		err = elf_file_read_into(elf, at, bytes, count * sizeof(Elf64_Phdr));
	for (size_t i = 0; !err && i < count; i++) {
		const uint8_t *header = bytes + i * sizeof(Elf64_Phdr);
		cursor = bytes_cursor(header, sizeof(Elf64_Phdr));
		uint32_t type = bytes_get_u32(&cursor);
		bytes_get(&cursor, offsetof(Elf64_Phdr, p_memsz) - sizeof(type));
		uint64_t size = bytes_get_u64(&cursor), align = bytes_get_u64(&cursor);
		if (type != PT_TLS)
			continue;
		align = align ? align : 1;
		uint64_t begin = machine->thread_head_bytes;
		uint64_t ahead = (begin ? begin : size) + align - 1;
		ahead -= ahead % align;
		*ret = begin ? offset + ahead : offset - ahead;
		return offset < size;
	}
	err_destroy(err);
	return false;
}

/* A library may be one as well: what can be executed has an interpreter, or is linked for one
 * place. */
static bool is_program(struct elf_file *elf)
{
	return elf_file_type(elf) == ET_EXEC || elf_file_find_section(elf, ".interp");
}

/* ---- libraries ---- */

struct relocations {
	struct elf_file *elf;
	const struct machine_relocations *types;
	const struct elf_section *symbols, *strings;
	struct thread_symbol *ret;
};

static enum thread_symbol_kind kind_of_relocation(
	const struct machine_relocations *types, uint32_t type)
{
	if (type == types->thread_distance)
		return THREAD_SYMBOL_DISTANCE;
	if (type == types->thread_module)
		return THREAD_SYMBOL_MODULE;
	return type == types->thread_descriptor ? THREAD_SYMBOL_DESCRIPTOR : THREAD_SYMBOL_NONE;
}

static bool is_of_thread_symbol(const struct relocations *relocations, uint64_t index)
{
	uint8_t symbol[sizeof(Elf64_Sym)], text[sizeof(SYMBOL)] = {0};
	uint64_t at = index * sizeof(symbol);
	if (!relocations->symbols || at >= relocations->symbols->size)
		return false;
	struct err *err = elf_file_read_into(
		relocations->elf, relocations->symbols->offset + at, symbol, sizeof(symbol));
	struct bytes_cursor cursor = bytes_cursor(symbol, sizeof(symbol));
	uint32_t name = bytes_get_u32(&cursor);
	if (!err)
		err = elf_file_read_into(
			relocations->elf, relocations->strings->offset + name, text, sizeof(text));
	bool is_it = !err && memcmp(text, SYMBOL, sizeof(text)) == 0;
	err_destroy(err);
	return is_it;
}

/* One without a symbol is of the file's own: by its offset, which a module's number has not. */
static void take_relocation(const struct relocations *relocations, struct bytes_cursor *cursor)
{
	uint64_t place = bytes_get_u64(cursor), info = bytes_get_u64(cursor);
	uint64_t addend = bytes_get_u64(cursor);
	enum thread_symbol_kind kind = kind_of_relocation(relocations->types, ELF64_R_TYPE(info));
	struct thread_symbol *ret = relocations->ret;
	if (kind == THREAD_SYMBOL_NONE || ret->kind != THREAD_SYMBOL_UNKNOWN)
		return;
	bool is_own = !ELF64_R_SYM(info) && kind != THREAD_SYMBOL_MODULE && addend == ret->offset;
	if (!is_own && (!ELF64_R_SYM(info) || !is_of_thread_symbol(relocations, ELF64_R_SYM(info))))
		return;
	ret->kind = kind;
	ret->place = place;
}

static struct err *walk_relocations(
	const struct relocations *relocations, const struct elf_section *section)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	if (section->size > RELOCATIONS_MAX)
		return err_new(ERR_FORMAT, "%s: %llu bytes", section->name,
			(unsigned long long)section->size);
	try(elf_file_read(relocations->elf, section->offset, section->size, &bytes));
	struct bytes_cursor cursor = bytes_cursor(bytes, section->size);
	while (bytes_left(&cursor) >= RELOCATION_BYTES)
		take_relocation(relocations, &cursor);
	return NULL;
}

static struct err *find_slot_of_symbol(
	const struct machine *machine, struct elf_file *elf, struct thread_symbol *ret)
{
	const struct elf_section *sections;
	size_t count;
	struct relocations relocations = {.elf = elf, .types = &machine->relocations, .ret = ret};
	try(elf_file_sections(elf, &sections, &count));
	for (size_t i = 1; i < count; i++)
		if (sections[i].type == SHT_DYNSYM && sections[i].link < count) {
			relocations.symbols = &sections[i];
			relocations.strings = &sections[sections[i].link];
		}
	for (size_t i = 1; i < count; i++)
		if (sections[i].type == SHT_RELA && sections[i].flags & SHF_ALLOC)
			try(walk_relocations(&relocations, &sections[i]));
	return NULL;
}

struct err *thread_symbol_find(struct elf_file *elf, struct thread_symbol *ret)
{
	static const char *const names[] = {SYMBOL};
	struct elf_dynsym symbol;
	*ret = (struct thread_symbol){0};
	const struct machine *machine = machine_find(elf_file_machine(elf));
	if (!machine)
		return NULL;
	try(elf_dynsym_find(elf, names, 1, &symbol));
	if (symbol.size != sizeof(uint64_t)) /* a pointer; the first variable is at 0 */
		return NULL;
	*ret = (struct thread_symbol){.kind = THREAD_SYMBOL_UNKNOWN, .offset = symbol.address};
	if (!is_program(elf))
		return find_slot_of_symbol(machine, elf, ret);
	if (find_distance(machine, elf, symbol.address, &ret->place))
		ret->kind = THREAD_SYMBOL_OFFSET;
	return NULL;
}

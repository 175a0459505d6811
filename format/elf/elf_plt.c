#include "format/elf/elf_plt.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/bisect.h"
#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_map.h"
#include "format/machine/machine.h"

enum {
	RELA_BYTES = sizeof(Elf64_Rela),
	SECTION_MAX = 64 << 20,
};

/* ---- relocations ---- */

enum {
	WINDOW_BYTES = RELA_BYTES << 16, /* are read before their pages are given back */
};

/* What the loader puts into a slot. */
struct slot {
	uint64_t address;
	uint32_t symbol;
	uint64_t resolver;
};

struct slots {
	VEC(struct slot) list;
};

static void add_slot(
	struct slots *slots, const struct machine_relocations *types, struct bytes_cursor *cursor)
{
	struct slot slot = {.address = bytes_get_u64(cursor)};
	uint64_t info = bytes_get_u64(cursor), addend = bytes_get_u64(cursor);
	uint32_t type = ELF64_R_TYPE(info);
	if (type == types->irelative)
		slot.resolver = addend;
	else if (type == types->jump_slot || type == types->glob_dat)
		slot.symbol = (uint32_t)ELF64_R_SYM(info);
	if (slot.symbol || slot.resolver)
		vec_push(&slots->list, slot);
}

static struct err *read_slots(struct elf_file *file, const struct machine *machine,
	const struct elf_section *section, struct slots *slots)
{
	CLEANUP(elf_map_release) struct elf_map table = {0};
	uint64_t whole = section->size / RELA_BYTES * RELA_BYTES;
	try(err_wrap(elf_map_range(file, section->offset, whole, &table), "%s", section->name));
	for (uint64_t at = 0; at < whole; at += WINDOW_BYTES) {
		uint64_t len = whole - at < WINDOW_BYTES ? whole - at : WINDOW_BYTES;
		struct bytes_cursor cursor = bytes_cursor(table.bytes + at, len);
		while (bytes_left(&cursor))
			add_slot(slots, &machine->relocations, &cursor);
		elf_map_forget(&table, at, len);
	}
	return NULL;
}

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static const struct slot *find_slot(const struct slots *slots, uint64_t address)
{
	size_t i = bisect(slots->list.len, k, slots->list.data[k].address < address);
	return i < slots->list.len && slots->list.data[i].address == address ? &slots->list.data[i]
									     : NULL;
}

/* ---- stubs ---- */

static bool elf_plt_has_contents(const struct elf_section *section)
{
	return section->type != SHT_NOBITS && !(section->flags & SHF_COMPRESSED) && section->size;
}

static bool is_plt(const struct elf_section *section)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".iplt", ".plt.bnd"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(section->name, names[i]) == 0)
			return elf_plt_has_contents(section) && section->size <= SECTION_MAX;
	return false;
}

/* Relocations of the loaded file, as the loader reads them: not those of one yet to be linked. */
static bool is_relocations(const struct elf_section *section)
{
	return section->type == SHT_RELA && section->flags & SHF_ALLOC &&
	       section->entsize == RELA_BYTES && elf_plt_has_contents(section);
}

/* A stub ends where the next one begins. */
static void end_last_stub(struct elf_plt_stubs *stubs, size_t first, uint64_t address)
{
	if (stubs->list.len == first)
		return;
	struct elf_plt_stub *last = &stubs->list.data[stubs->list.len - 1];
	if (address - last->address < last->size)
		last->size = (uint32_t)(address - last->address);
}

static struct err *read_stubs(struct elf_file *file, const struct machine *machine,
	const struct elf_section *section, uint32_t index, const struct slots *slots,
	struct elf_plt_stubs *stubs)
{
	CLEANUP(elf_map_release) struct elf_map code = {0};
	try(err_wrap(
		elf_map_range(file, section->offset, section->size, &code), "%s", section->name));
	size_t align = machine->plt_align, first = stubs->list.len;
	for (uint64_t at = 0; at < section->size; at += align) {
		uint64_t address = section->addr + at;
		struct machine_plt_stub decoded;
		if (!machine->decode_plt_stub(
			    code.bytes + at, section->size - at, address, &decoded))
			continue;
		const struct slot *slot = find_slot(slots, decoded.slot);
		end_last_stub(stubs, first, address);
		if (!slot)
			continue;
		vec_push(&stubs->list, (struct elf_plt_stub){.address = address,
					       .size = decoded.max_size,
					       .section = index,
					       .symbol = slot->symbol,
					       .resolver = slot->resolver});
		at += machine->plt_stub_min - align;
	}
	end_last_stub(stubs, first, section->addr + section->size);
	return NULL;
}

static struct err *collect_slots(struct elf_file *file, const struct machine *machine,
	const struct elf_section *sections, size_t count, struct slots *slots)
{
	for (size_t i = 1; i < count; i++)
		if (is_relocations(&sections[i]))
			try(read_slots(file, machine, &sections[i], slots));
	if (slots->list.len)
		qsort(slots->list.data, slots->list.len, sizeof(*slots->list.data), compare_slots);
	return NULL;
}

static struct err *read_sections(struct elf_file *file, const struct machine *machine,
	const struct elf_section *sections, size_t count, struct slots *slots,
	struct elf_plt_stubs *stubs)
{
	try(collect_slots(file, machine, sections, count, slots));
	for (size_t i = 1; i < count && slots->list.len; i++)
		if (is_plt(&sections[i]))
			try(read_stubs(file, machine, &sections[i], (uint32_t)i, slots, stubs));
	return NULL;
}

struct err *elf_plt_read(struct elf_file *file, struct elf_plt_stubs *ret)
{
	const struct machine *machine = machine_find(elf_file_machine(file));
	const struct elf_section *sections;
	size_t count, plts = 0;
	try(elf_file_sections(file, &sections, &count));
	for (size_t i = 1; i < count; i++)
		plts += is_plt(&sections[i]);
	if (!plts || !machine)
		return NULL;
	struct slots slots = {0};
	struct err *err = read_sections(file, machine, sections, count, &slots, ret);
	vec_deinit(&slots.list);
	return err;
}

void elf_plt_stubs_deinit(struct elf_plt_stubs *stubs)
{
	vec_deinit(&stubs->list);
}

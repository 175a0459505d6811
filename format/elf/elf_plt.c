#include "format/elf/elf_plt.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/bisect.h"
#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_map.h"

enum {
	RELA_BYTES = sizeof(Elf64_Rela),
	STUB_ALIGN = 8, /* x86-64: the stubs of .plt.got; those of the others have 16 */
	STUB_MIN = 12,  /* arm64: three instructions */
	SECTION_MAX = 64 << 20,
};

/* ---- x86-64 ---- */

static int32_t i32_at(const uint8_t *bytes)
{
	return (int32_t)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
			 (uint32_t)bytes[3] << 24);
}

static bool begins_with(const uint8_t *bytes, size_t len, const char *code, size_t code_len)
{
	return len >= code_len && memcmp(bytes, code, code_len) == 0;
}

#define BEGINS_WITH(bytes, len, code) begins_with(bytes, len, code, sizeof(code) - 1)

/*
 * jmp *slot(%rip), behind endbr64, bnd or mold's mov $index,%r11d; or mov slot(%rip),%r11 and a
 * call, of lld's -z retpolineplt. The table's header, too, has such a jump, behind a push.
 */
static bool decode_x86_64(
	const uint8_t *bytes, size_t len, uint64_t address, struct elf_plt_code *ret)
{
	size_t at = 0;
	if (BEGINS_WITH(bytes, len, "\xf3\x0f\x1e\xfa")) /* endbr64 */
		at += 4;
	if (BEGINS_WITH(bytes + at, len - at, "\x41\xbb") && len - at >= 6) /* mov $,%r11d */
		at += 6;
	if (BEGINS_WITH(bytes + at, len - at, "\xf2\xff\x25")) /* bnd */
		at++;
	uint32_t max_size = 16;
	if (BEGINS_WITH(bytes + at, len - at, "\xff\x25")) { /* jmp *(%rip) */
		at += 2;
	} else if (BEGINS_WITH(bytes + at, len - at, "\x4c\x8b\x1d")) { /* mov (%rip),%r11 */
		at += 3;
		max_size = 32;
	} else {
		return false;
	}
	if (len - at < 4)
		return false;
	ret->slot = address + at + 4 + (uint64_t)(int64_t)i32_at(bytes + at);
	ret->max_size = max_size;
	return true;
}

/* ---- arm64 ---- */

enum {
	INSN = 4,
	BTI_C = 0xd503245f,
	INSNS_BEFORE_BR = 3, /* add, and with pointer authentication autia1716 */
};

static uint32_t insn_at(const uint8_t *bytes, size_t len, size_t at)
{
	return at + INSN <= len ? (uint32_t)i32_at(bytes + at) : 0;
}

/* adrp: the page that it names, from 21 bits in two pieces. */
static uint64_t adrp_page(uint32_t insn, uint64_t address)
{
	uint32_t immediate = (insn >> 5 & 0x7ffff) << 2 | (insn >> 29 & 3);
	int64_t pages = (int64_t)((uint64_t)immediate << 43) >> 43;
	return (address & ~(uint64_t)0xfff) + (uint64_t)pages * 4096;
}

/* [bti c] adrp xN, page; ldr xM, [xN, #offset]; some that read nothing; br xM */
static bool decode_arm64(
	const uint8_t *bytes, size_t len, uint64_t address, struct elf_plt_code *ret)
{
	size_t at = insn_at(bytes, len, 0) == BTI_C ? INSN : 0;
	uint32_t adrp = insn_at(bytes, len, at), ldr = insn_at(bytes, len, at + INSN);
	if ((adrp & 0x9f000000) != 0x90000000 || (ldr & 0xffc00000) != 0xf9400000)
		return false;
	uint32_t page_register = adrp & 31, target_register = ldr & 31;
	if ((ldr >> 5 & 31) != page_register)
		return false;
	uint32_t br = 0xd61f0000 | target_register << 5;
	size_t end = at + 2 * INSN;
	for (int i = 0; i < INSNS_BEFORE_BR; i++, end += INSN) {
		if (insn_at(bytes, len, end) != br)
			continue;
		ret->slot = adrp_page(adrp, address + at) + (ldr >> 10 & 0xfff) * 8;
		ret->max_size = 24;
		return true;
	}
	return false;
}

bool elf_plt_decode(uint16_t machine, const uint8_t *bytes, size_t len, uint64_t address,
	struct elf_plt_code *ret)
{
	if (machine == EM_X86_64)
		return decode_x86_64(bytes, len, address, ret);
	return machine == EM_AARCH64 && decode_arm64(bytes, len, address, ret);
}

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

static void add_slot(struct slots *slots, uint16_t machine, struct bytes_cursor *cursor)
{
	struct slot slot = {.address = bytes_get_u64(cursor)};
	uint64_t info = bytes_get_u64(cursor), addend = bytes_get_u64(cursor);
	uint32_t type = ELF64_R_TYPE(info);
	bool is_x86_64 = machine == EM_X86_64;
	if (type == (is_x86_64 ? R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE))
		slot.resolver = addend;
	else if (type == (is_x86_64 ? R_X86_64_JUMP_SLOT : R_AARCH64_JUMP_SLOT) ||
		 type == (is_x86_64 ? R_X86_64_GLOB_DAT : R_AARCH64_GLOB_DAT))
		slot.symbol = (uint32_t)ELF64_R_SYM(info);
	if (slot.symbol || slot.resolver)
		vec_push(&slots->list, slot);
}

static struct err *read_slots(
	struct elf_file *file, const struct elf_section *section, struct slots *slots)
{
	CLEANUP(elf_map_release) struct elf_map table = {0};
	uint64_t whole = section->size / RELA_BYTES * RELA_BYTES;
	try(err_wrap(elf_map_range(file, section->offset, whole, &table), "%s", section->name));
	for (uint64_t at = 0; at < whole; at += WINDOW_BYTES) {
		uint64_t len = whole - at < WINDOW_BYTES ? whole - at : WINDOW_BYTES;
		struct bytes_cursor cursor = bytes_cursor(table.bytes + at, len);
		while (bytes_left(&cursor))
			add_slot(slots, elf_file_machine(file), &cursor);
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

static bool has_contents(const struct elf_section *section)
{
	return section->type != SHT_NOBITS && !(section->flags & SHF_COMPRESSED) && section->size;
}

static bool is_plt(const struct elf_section *section)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".iplt", ".plt.bnd"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(section->name, names[i]) == 0)
			return has_contents(section) && section->size <= SECTION_MAX;
	return false;
}

/* Relocations of the loaded file, as the loader reads them: not those of one yet to be linked. */
static bool is_relocations(const struct elf_section *section)
{
	return section->type == SHT_RELA && section->flags & SHF_ALLOC &&
	       section->entsize == RELA_BYTES && has_contents(section);
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

static struct err *read_stubs(struct elf_file *file, const struct elf_section *section,
	uint32_t index, const struct slots *slots, struct elf_plt_stubs *stubs)
{
	CLEANUP(elf_map_release) struct elf_map code = {0};
	try(err_wrap(
		elf_map_range(file, section->offset, section->size, &code), "%s", section->name));
	uint16_t machine = elf_file_machine(file);
	size_t align = machine == EM_X86_64 ? STUB_ALIGN : INSN, first = stubs->list.len;
	for (uint64_t at = 0; at < section->size; at += align) {
		uint64_t address = section->addr + at;
		struct elf_plt_code decoded;
		if (!elf_plt_decode(
			    machine, code.bytes + at, section->size - at, address, &decoded))
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
		if (machine == EM_AARCH64) /* behind bti c there would be the same once more */
			at += STUB_MIN - INSN;
	}
	end_last_stub(stubs, first, section->addr + section->size);
	return NULL;
}

static struct err *collect_slots(struct elf_file *file, const struct elf_section *sections,
	size_t count, struct slots *slots)
{
	for (size_t i = 1; i < count; i++)
		if (is_relocations(&sections[i]))
			try(read_slots(file, &sections[i], slots));
	if (slots->list.len)
		qsort(slots->list.data, slots->list.len, sizeof(*slots->list.data), compare_slots);
	return NULL;
}

static struct err *read_sections(struct elf_file *file, const struct elf_section *sections,
	size_t count, struct slots *slots, struct elf_plt_stubs *stubs)
{
	try(collect_slots(file, sections, count, slots));
	for (size_t i = 1; i < count && slots->list.len; i++)
		if (is_plt(&sections[i]))
			try(read_stubs(file, &sections[i], (uint32_t)i, slots, stubs));
	return NULL;
}

struct err *elf_plt_read(struct elf_file *file, struct elf_plt_stubs *ret)
{
	uint16_t machine = elf_file_machine(file);
	const struct elf_section *sections;
	size_t count, plts = 0;
	try(elf_file_sections(file, &sections, &count));
	for (size_t i = 1; i < count; i++)
		plts += is_plt(&sections[i]);
	if (!plts || (machine != EM_X86_64 && machine != EM_AARCH64))
		return NULL;
	struct slots slots = {0};
	struct err *err = read_sections(file, sections, count, &slots, ret);
	vec_deinit(&slots.list);
	return err;
}

void elf_plt_stubs_deinit(struct elf_plt_stubs *stubs)
{
	vec_deinit(&stubs->list);
}

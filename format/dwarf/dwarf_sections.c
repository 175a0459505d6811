#include "format/dwarf/dwarf_sections.h"

#include <elf.h>
#include <string.h>

#include "format/elf/elf_inflate.h"
#include "format/elf/elf_relocate.h"

#define UNPACKED_MAX ((uint64_t)4 << 30)

enum {
	RELOCATED_MAX = 256 << 20,
};

static const char *const names[] = {
#define X(id, name) [id] = name,
	DWARF_SECTIONS(X)
#undef X
};

/*
 * Whether a section is called .NAME or .zNAME, with .dwo behind it or without. The index of a
 * package of .dwo files has none (DWARF 5, 7.3.5).
 */
static bool dwarf_sections_is_called(const char *section, enum dwarf_section_id id, bool is_dwo)
{
	const char *name = names[id];
	size_t len = strlen(name);
	const char *suffix = is_dwo && id != DWARF_CU_INDEX ? ".dwo" : "";
	if (*section++ != '.')
		return false;
	if (*section == 'z')
		section++;
	return strncmp(section, name, len) == 0 && strcmp(section + len, suffix) == 0;
}

/*
 * A .dwo file, which no linker has seen, has several .debug_info.dwo with gcc's
 * -fdebug-types-section: one for each unit of types, and one for the compilation. What is packed
 * does not tell what it is; there the last one counts, as gcc 12 orders them.
 */
static bool is_superseded(const struct dwarf_sections *sections, enum dwarf_section_id id)
{
	return id == DWARF_INFO &&
	       (sections->packed[id].size || dwarf_file_begins_with_types(&sections->file));
}

static void take_section(struct dwarf_sections *sections, enum dwarf_section_id id,
	const struct elf_section *section, bool is_dwo)
{
	bool is_taken = sections->file.sections[id].len || sections->packed[id].size;
	if (!section->size || (is_taken && !(is_dwo && is_superseded(sections, id))))
		return;
	elf_map_release(&sections->maps[id]);
	sections->file.sections[id] = (struct dwarf_span){0};
	sections->packed[id].size = 0;
	if (section->flags & SHF_COMPRESSED || section->name[1] == 'z') {
		sections->packed[id] = *section;
		return;
	}
	struct elf_map *map = &sections->maps[id];
	struct err *err = elf_map_range(sections->elf, section->offset, section->size, map);
	err_destroy(err); /* outside of the file: as good as not there */
	sections->file.sections[id] = (struct dwarf_span){map->bytes, map->len};
}

/* In a file that was not linked yet: a copy, with its values filled in. */
static void take_relocated(struct dwarf_sections *sections, enum dwarf_section_id id,
	const struct elf_section *section, size_t index, const struct elf_layout *layout)
{
	struct elf_map *map = &sections->maps[id];
	if (map->len || !section->size || section->size > RELOCATED_MAX)
		return;
	bool is_packed = section->flags & SHF_COMPRESSED || section->name[1] == 'z';
	struct err *err =
		is_packed ? elf_inflate_map(
				    sections->elf, section, RELOCATED_MAX, sections->budget, map)
			  : elf_map_copy(sections->elf, section->offset, section->size, map);
	if (!err)
		err = elf_relocate(
			sections->elf, layout, index, map->copy ? map->copy : map->base, map->len);
	if (!err)
		sections->file.sections[id] = (struct dwarf_span){map->bytes, map->len};
	err_destroy(err); /* damage: as good as not there */
}

/*
 * Executable sections tell exactly where code stands, also in a separate debug
 * file, which keeps their headers; segments do where the headers were stripped.
 */
static void dwarf_sections_take_code(struct dwarf_sections *sections,
	const struct elf_section *list, size_t count, const struct elf_layout *layout)
{
	bool is_laid_out = layout->addresses.len == count;
	for (size_t i = 0; i < count; i++) {
		uint64_t start = is_laid_out ? layout->addresses.data[i] : list[i].addr;
		if (list[i].flags & SHF_EXECINSTR && list[i].flags & SHF_ALLOC && list[i].size)
			vec_push(&sections->file.code,
				(struct dwarf_code){start, start + list[i].size});
	}
}

bool dwarf_sections_open(
	struct elf_file *elf, bool is_dwo, struct elf_budget *budget, struct dwarf_sections *ret)
{
	const struct elf_section *list;
	size_t count;
	struct elf_layout layout = {0};
	struct err *err = elf_file_sections(elf, &list, &count);
	bool is_linked = is_dwo || elf_file_type(elf) != ET_REL; /* a .dwo needs no values */
	if (!err && !is_linked)
		err = elf_layout_make(elf, &layout);
	if (err) {
		err_destroy(err);
		return false;
	}
	*ret = (struct dwarf_sections){.elf = elf, .budget = budget};
	for (size_t i = 1; i < count; i++) {
		for (size_t id = 0; id < DWARF_SECTION_COUNT && list[i].type != SHT_NOBITS; id++) {
			if (!dwarf_sections_is_called(
				    list[i].name, (enum dwarf_section_id)id, is_dwo))
				continue;
			if (is_linked)
				take_section(ret, (enum dwarf_section_id)id, &list[i], is_dwo);
			else
				take_relocated(
					ret, (enum dwarf_section_id)id, &list[i], i, &layout);
		}
	}
	if (!is_dwo)
		dwarf_sections_take_code(ret, list, count, &layout);
	elf_layout_deinit(&layout);
	if (ret->file.sections[DWARF_INFO].len || ret->packed[DWARF_INFO].size)
		return true;
	dwarf_sections_deinit(ret);
	return false;
}

void dwarf_sections_unpack(struct dwarf_sections *sections, enum dwarf_section_id id)
{
	if (!sections->packed[id].size)
		return;
	struct elf_map *map = &sections->maps[id];
	struct err *err = elf_inflate_map(
		sections->elf, &sections->packed[id], UNPACKED_MAX, sections->budget, map);
	err_destroy(err); /* damage, an unknown compression, too much: as good as not there */
	sections->packed[id].size = 0;
	sections->file.sections[id] = (struct dwarf_span){map->bytes, map->len};
}

void dwarf_sections_deinit(struct dwarf_sections *sections)
{
	for (size_t id = 0; id < DWARF_SECTION_COUNT; id++)
		elf_map_release(&sections->maps[id]);
	dwarf_file_deinit(&sections->file);
}

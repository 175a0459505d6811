#include "format/dwarf/dwarf_unit.h"

#include "format/dwarf/dwarf_line.h"

enum {
	KEPT_BYTES_MAX = 16 << 20,
	EFFORT_FACTOR = 64,
	EFFORT_BASE = 64 << 20,
};

/* ---- attributes ---- */

bool dwarf_attributes_start(
	struct dwarf_attributes *attributes, const struct dwarf_unit *unit, uint64_t offset)
{
	struct dwarf_span info = unit->file->sections[DWARF_INFO];
	if (offset < unit->header.first_die || offset >= unit->header.end)
		return false;
	info.len = unit->header.end;
	struct bytes_cursor values = dwarf_cursor_at(info, offset);
	const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(unit->abbrevs, dwarf_uleb(&values));
	if (!abbrev)
		return false;
	*attributes = (struct dwarf_attributes){
		.unit = unit,
		.specs = dwarf_cursor_at(unit->abbrevs->bytes, abbrev->specs),
		.values = values,
		.tag = abbrev->tag,
	};
	return true;
}

static bool is_reference(uint16_t form)
{
	switch (form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return true;
	default:
		return false;
	}
}

/* Forms whose value is no number of 8 bytes. */
static bool is_bytes(uint16_t form)
{
	switch (form) {
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_exprloc:
	case DW_FORM_data16:
	case DW_FORM_indirect: /* in an indirect one */
		return true;
	default:
		return false;
	}
}

static struct dwarf_value get_value(
	struct bytes_cursor *cursor, uint64_t form, struct dwarf_encoding encoding)
{
	if (form == DW_FORM_indirect)
		form = dwarf_uleb(cursor);
	struct dwarf_value value = {.form = form > UINT16_MAX ? 0 : (uint16_t)form};
	if (value.form == DW_FORM_string)
		value.bytes = dwarf_text(cursor);
	else if (is_bytes(value.form))
		dwarf_form_skip(cursor, value.form, encoding);
	else
		value.number = dwarf_form_number(cursor, value.form, encoding);
	return value;
}

bool dwarf_attributes_next(struct dwarf_attributes *attributes)
{
	uint64_t name = dwarf_uleb(&attributes->specs), form = dwarf_uleb(&attributes->specs);
	if (attributes->specs.overrun || (!name && !form))
		return false;
	attributes->name = name > UINT16_MAX ? 0 : (uint16_t)name;
	if (form == DW_FORM_implicit_const)
		attributes->value = (struct dwarf_value){
			.form = DW_FORM_implicit_const,
			.number = (uint64_t)dwarf_sleb(&attributes->specs),
		};
	else
		attributes->value =
			get_value(&attributes->values, form, attributes->unit->header.encoding);
	return !attributes->values.overrun;
}

/* ---- strings, addresses, references ---- */

static struct dwarf_span dwarf_unit_string_at(struct dwarf_span section, uint64_t offset)
{
	struct bytes_cursor cursor = dwarf_cursor_at(section, offset);
	return dwarf_text(&cursor);
}

static struct dwarf_span indexed_string(const struct dwarf_unit *unit, uint64_t index)
{
	unsigned bytes = unit->header.encoding.offset_bytes;
	uint64_t at;
	if (__builtin_mul_overflow(index, bytes, &at) ||
		__builtin_add_overflow(at, unit->str_offsets_base, &at))
		return (struct dwarf_span){0};
	struct bytes_cursor cursor = dwarf_cursor_at(unit->file->sections[DWARF_STR_OFFSETS], at);
	uint64_t offset = dwarf_unsigned(&cursor, bytes);
	if (cursor.overrun)
		return (struct dwarf_span){0};
	return dwarf_unit_string_at(unit->file->sections[DWARF_STR], offset);
}

struct dwarf_span dwarf_value_string(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	const struct dwarf_file *file = unit->file;
	switch (value->form) {
	case DW_FORM_string:
		return value->bytes;
	case DW_FORM_strp:
		return dwarf_unit_string_at(file->sections[DWARF_STR], value->number);
	case DW_FORM_line_strp:
		return dwarf_unit_string_at(file->sections[DWARF_LINE_STR], value->number);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_string(unit, value->number);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		if (file->alt)
			return dwarf_unit_string_at(file->alt->sections[DWARF_STR], value->number);
		return (struct dwarf_span){0};
	default:
		return (struct dwarf_span){0};
	}
}

bool dwarf_unit_indexed_address(const struct dwarf_unit *unit, uint64_t index, uint64_t *ret)
{
	unsigned bytes = unit->header.encoding.address_bytes;
	uint64_t at;
	if (__builtin_mul_overflow(index, bytes, &at) ||
		__builtin_add_overflow(at, unit->addr_base, &at))
		return false;
	struct bytes_cursor cursor = dwarf_cursor_at(unit->addresses, at);
	uint64_t address = dwarf_unsigned(&cursor, bytes);
	if (cursor.overrun)
		return false;
	*ret = address;
	return true;
}

bool dwarf_value_address(
	const struct dwarf_unit *unit, uint16_t form, uint64_t number, uint64_t *ret)
{
	switch (form) {
	case DW_FORM_addr:
		*ret = number;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return dwarf_unit_indexed_address(unit, number, ret);
	default:
		return false;
	}
}

static struct dwarf_die die_in(
	struct dwarf_reader *reader, const struct dwarf_file *file, uint64_t offset)
{
	if (!file)
		return (struct dwarf_die){0};
	const struct dwarf_unit *unit =
		dwarf_reader_unit(reader, file, dwarf_file_unit_at(file, offset));
	return unit ? (struct dwarf_die){unit, offset} : (struct dwarf_die){0};
}

struct dwarf_die dwarf_value_die(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	uint64_t offset;
	if (is_reference(value->form)) {
		if (__builtin_add_overflow(unit->header.offset, value->number, &offset) ||
			offset >= unit->header.end)
			return (struct dwarf_die){0};
		return (struct dwarf_die){unit, offset};
	}
	switch (value->form) {
	case DW_FORM_ref_addr:
		if (value->number >= unit->header.offset && value->number < unit->header.end)
			return (struct dwarf_die){unit, value->number};
		return die_in(reader, unit->file, value->number);
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return die_in(reader, unit->file->alt, value->number);
	default: /* DW_FORM_ref_sig8 leads to types only */
		return (struct dwarf_die){0};
	}
}

/* ---- roots ---- */

/* Values wait here until the bases are known that some of them count from. */
struct root {
	struct dwarf_value name, comp_dir, dwo_name;
};

static void take_root_attribute(
	struct dwarf_unit *unit, struct root *root, uint16_t name, struct dwarf_value value)
{
	switch (name) {
	case DW_AT_name:
		root->name = value;
		break;
	case DW_AT_comp_dir:
		root->comp_dir = value;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		root->dwo_name = value;
		break;
	case DW_AT_language:
		unit->language = (uint16_t)value.number;
		break;
	case DW_AT_low_pc:
		unit->low_pc = value;
		break;
	case DW_AT_high_pc:
		unit->high_pc = value;
		break;
	case DW_AT_ranges:
		unit->range_list = value;
		break;
	case DW_AT_stmt_list:
		unit->has_lines = true;
		unit->line_offset = value.number;
		break;
	case DW_AT_str_offsets_base:
		unit->str_offsets_base = value.number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		unit->addr_base = value.number;
		break;
	case DW_AT_rnglists_base:
		unit->rnglists_base = value.number;
		break;
	case DW_AT_GNU_ranges_base:
		unit->ranges_base = value.number;
		break;
	case DW_AT_GNU_dwo_id:
		unit->dwo_id = value.number;
		break;
	default:
		break;
	}
}

static void read_root(struct dwarf_unit *unit)
{
	struct dwarf_attributes it;
	struct root root = {0};
	if (!dwarf_attributes_start(&it, unit, unit->header.first_die))
		return;
	while (dwarf_attributes_next(&it))
		take_root_attribute(unit, &root, it.name, it.value);
	unit->name = dwarf_value_string(unit, &root.name);
	unit->comp_dir = dwarf_value_string(unit, &root.comp_dir);
	unit->dwo_name = dwarf_value_string(unit, &root.dwo_name);
	if (!dwarf_value_address(unit, unit->low_pc.form, unit->low_pc.number, &unit->base))
		unit->base = 0;
}

/* ---- readers ---- */

void dwarf_reader_init(struct dwarf_reader *reader, const struct dwarf_file *file)
{
	*reader = (struct dwarf_reader){.file = file};
}

static void forget_all(struct dwarf_reader *reader)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&reader->abbrevs, &cursor));) {
		struct dwarf_abbrevs *abbrevs = (struct dwarf_abbrevs *)(uintptr_t)slot->value;
		dwarf_abbrevs_deinit(abbrevs);
		mem_free(abbrevs);
	}
	cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&reader->units, &cursor));) {
		struct dwarf_unit *unit = (struct dwarf_unit *)(uintptr_t)slot->value;
		dwarf_line_header_destroy(unit->lines);
		mem_free(unit);
	}
	map_clear(&reader->abbrevs);
	map_clear(&reader->units);
	reader->bytes = 0;
}

void dwarf_reader_trim(struct dwarf_reader *reader)
{
	if (reader->bytes > KEPT_BYTES_MAX)
		forget_all(reader);
}

void dwarf_reader_renew_limits(struct dwarf_reader *reader)
{
	reader->effort = reader->scopes_effort = 0;
}

void dwarf_reader_deinit(struct dwarf_reader *reader)
{
	forget_all(reader);
	map_deinit(&reader->abbrevs);
	map_deinit(&reader->units);
}

/* Hostile references must not compile tables for ever. */
static bool can_compile(const struct dwarf_reader *reader, struct dwarf_span section,
	const struct dwarf_unit_header *header)
{
	return header->abbrev_offset < section.len &&
	       reader->effort <= EFFORT_BASE + EFFORT_FACTOR * section.len;
}

/* Tables are shared by offset. */
static const struct dwarf_abbrevs *get_abbrevs(struct dwarf_reader *reader,
	const struct dwarf_file *file, const struct dwarf_unit_header *header)
{
	struct dwarf_span section = file->sections[DWARF_ABBREV];
	struct dwarf_encoding encoding = header->encoding;
	if (!can_compile(reader, section, header))
		return NULL;
	bool added;
	uint64_t key = (uint64_t)(uintptr_t)(section.data + header->abbrev_offset) << 8 |
		       (uint64_t)encoding.version << 4 | (encoding.offset_bytes == 8) << 1 |
		       (encoding.address_bytes == 8);
	uint64_t *slot = map_put(&reader->abbrevs, key, &added);
	if (added) {
		struct dwarf_abbrevs *abbrevs = mem_alloc(sizeof(*abbrevs));
		dwarf_abbrevs_init(abbrevs, section, header->abbrev_offset, encoding);
		reader->effort += abbrevs->parsed;
		reader->bytes +=
			abbrevs->list.cap * sizeof(*abbrevs->list.data) + abbrevs->programs.cap;
		*slot = (uint64_t)(uintptr_t)abbrevs;
	}
	return (const struct dwarf_abbrevs *)(uintptr_t)*slot;
}

static struct dwarf_unit read_unit(const struct dwarf_file *file,
	const struct dwarf_unit_header *header, const struct dwarf_abbrevs *abbrevs)
{
	struct dwarf_unit unit = {
		.file = file,
		.header = *header,
		.abbrevs = abbrevs,
		.addresses = file->sections[DWARF_ADDR],
		.ranges = file->sections[DWARF_RANGES],
		.line_file = file,
		.dwo_id = header->dwo_id,
	};
	if (header->type == DW_UT_split_compile) {
		/* Behind the headers of the only contributions: DWARF 5, 7.26 and 7.28. */
		unit.str_offsets_base = header->encoding.offset_bytes == 8 ? 16 : 8;
		unit.rnglists_base = header->encoding.offset_bytes == 8 ? 20 : 12;
	}
	read_root(&unit);
	return unit;
}

static struct dwarf_unit *create_unit(struct dwarf_reader *reader, const struct dwarf_file *file,
	const struct dwarf_unit_header *header)
{
	const struct dwarf_abbrevs *abbrevs = get_abbrevs(reader, file, header);
	if (!abbrevs)
		return NULL;
	struct dwarf_unit *unit = mem_alloc(sizeof(*unit));
	*unit = read_unit(file, header, abbrevs);
	reader->bytes += sizeof(*unit);
	return unit;
}

bool dwarf_reader_root(struct dwarf_reader *reader, const struct dwarf_file *file, size_t index,
	struct dwarf_unit *ret)
{
	if (index >= file->units.len)
		return false;
	const struct dwarf_unit_header *header = &file->units.data[index];
	struct dwarf_span section = file->sections[DWARF_ABBREV];
	struct bytes_cursor root = dwarf_cursor_at(file->sections[DWARF_INFO], header->first_die);
	uint64_t code = dwarf_uleb(&root);
	if (!code || !can_compile(reader, section, header))
		return false;
	struct dwarf_abbrevs abbrevs;
	dwarf_abbrevs_init_one(&abbrevs, section, header->abbrev_offset, header->encoding, code);
	reader->effort += abbrevs.parsed;
	*ret = read_unit(file, header, &abbrevs);
	ret->abbrevs = NULL;
	dwarf_abbrevs_deinit(&abbrevs);
	return true;
}

struct dwarf_unit *dwarf_reader_unit(
	struct dwarf_reader *reader, const struct dwarf_file *file, size_t index)
{
	if (index >= file->units.len)
		return NULL;
	const struct dwarf_unit_header *header = &file->units.data[index];
	const uint64_t *known = map_get(&reader->units, (uint64_t)(uintptr_t)header);
	if (known)
		return (struct dwarf_unit *)(uintptr_t)*known;
	struct dwarf_unit *unit = create_unit(reader, file, header);
	if (unit)
		*map_put(&reader->units, (uint64_t)(uintptr_t)header, NULL) =
			(uint64_t)(uintptr_t)unit;
	return unit;
}

#include "format/dwarf/dwarf_line.h"

#include "format/base/mem.h"
#include "format/base/str.h"

enum {
	FORMATS_MAX = 32,
	NAMES_MAX = 1 << 20,
};

/* ---- the header ---- */

/* DWARF 4, 6.2.4: names until an empty one; files with directory, time and length. */
static void get_names_v2(struct dwarf_line_header *header, struct bytes_cursor *cursor)
{
	while (!cursor->overrun && header->directories.len < NAMES_MAX) {
		struct dwarf_span name = dwarf_text(cursor);
		if (!name.len)
			break;
		vec_push(&header->directories, name);
	}
	while (!cursor->overrun && header->files.len < NAMES_MAX) {
		struct dwarf_line_file file = {.name = dwarf_text(cursor)};
		if (!file.name.len)
			break;
		file.directory = dwarf_uleb(cursor);
		dwarf_skip_leb(cursor);
		dwarf_skip_leb(cursor);
		vec_push(&header->files, file);
	}
}

struct entry_format {
	uint64_t content;
	uint16_t form;
};

static struct dwarf_span get_path(const struct dwarf_line_header *header,
	const struct dwarf_file *file, struct bytes_cursor *cursor, uint16_t form)
{
	struct dwarf_span section;
	switch (form) {
	case DW_FORM_string:
		return dwarf_text(cursor);
	case DW_FORM_line_strp:
		section = file->sections[DWARF_LINE_STR];
		break;
	case DW_FORM_strp:
		section = file->sections[DWARF_STR];
		break;
	case DW_FORM_strp_sup:
		section = file->alt ? file->alt->sections[DWARF_STR] : (struct dwarf_span){0};
		break;
	default: /* indices need a unit, and no compiler writes them here */
		dwarf_form_skip(cursor, form, header->encoding);
		return (struct dwarf_span){0};
	}
	struct bytes_cursor text =
		dwarf_cursor_at(section, dwarf_unsigned(cursor, header->encoding.offset_bytes));
	return dwarf_text(&text);
}

static size_t get_formats(struct bytes_cursor *cursor, struct entry_format *formats)
{
	size_t count = dwarf_u8(cursor);
	if (count > FORMATS_MAX) {
		dwarf_overrun(cursor);
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		formats[i].content = dwarf_uleb(cursor);
		uint64_t form = dwarf_uleb(cursor);
		formats[i].form = form > UINT16_MAX ? 0 : (uint16_t)form;
	}
	return count;
}

/* DWARF 5, 6.2.4: a format that describes the entries, their number, the entries. */
static void get_entries(struct dwarf_line_header *header, const struct dwarf_file *file,
	struct bytes_cursor *cursor, bool is_directories)
{
	struct entry_format formats[FORMATS_MAX];
	size_t nr_formats = get_formats(cursor, formats);
	uint64_t count = dwarf_uleb(cursor);
	for (uint64_t i = 0; i < count && i < NAMES_MAX && nr_formats && !cursor->overrun; i++) {
		struct dwarf_line_file entry = {0};
		const uint8_t *start = cursor->pos;
		for (size_t j = 0; j < nr_formats; j++) {
			if (formats[j].content == DW_LNCT_path)
				entry.name = get_path(header, file, cursor, formats[j].form);
			else if (formats[j].content == DW_LNCT_directory_index &&
				 dwarf_form_size(formats[j].form, header->encoding) != 16)
				entry.directory = dwarf_form_number(
					cursor, formats[j].form, header->encoding);
			else
				dwarf_form_skip(cursor, formats[j].form, header->encoding);
		}
		if (cursor->overrun || cursor->pos == start) /* no bytes, no end */
			break;
		if (is_directories)
			vec_push(&header->directories, entry.name);
		else
			vec_push(&header->files, entry);
	}
}

/* What stands before the names; false when the program cannot be run. */
static bool get_numbers(struct dwarf_line_header *header, struct bytes_cursor *body)
{
	header->min_instruction_bytes = dwarf_u8(body);
	header->max_operations = header->encoding.version >= 4 ? dwarf_u8(body) : 1;
	header->begins_statements = dwarf_u8(body);
	header->line_base = (int8_t)dwarf_u8(body);
	header->line_range = dwarf_u8(body);
	header->opcode_base = dwarf_u8(body);
	for (unsigned i = 1; i < header->opcode_base; i++)
		header->operands[i] = dwarf_u8(body);
	if (!header->max_operations)
		header->max_operations = 1; /* as some compilers wrote it */
	return !body->overrun && header->line_range && header->opcode_base;
}

static bool get_header(
	struct dwarf_line_header *header, const struct dwarf_file *file, struct bytes_cursor *body)
{
	struct dwarf_encoding *encoding = &header->encoding;
	encoding->version = (uint8_t)dwarf_u16(body);
	if (encoding->version < 2 || encoding->version > 5)
		return false;
	if (encoding->version == 5) {
		encoding->address_bytes = dwarf_u8(body);
		dwarf_u8(body); /* segment selectors: of no machine here */
	}
	struct dwarf_span rest = dwarf_block(body, dwarf_unsigned(body, encoding->offset_bytes));
	struct bytes_cursor names = dwarf_cursor(rest);
	if (body->overrun || !get_numbers(header, &names))
		return false;
	if (encoding->version < 5) {
		get_names_v2(header, &names);
	} else {
		get_entries(header, file, &names, true);
		get_entries(header, file, &names, false);
	}
	header->program = *body;
	return true;
}

struct dwarf_line_header *dwarf_line_header_create(
	const struct dwarf_file *file, uint64_t offset, uint8_t address_bytes)
{
	struct bytes_cursor cursor = dwarf_cursor_at(file->sections[DWARF_LINE], offset);
	struct dwarf_line_header *header = mem_zalloc(sizeof(*header));
	header->encoding.address_bytes = address_bytes;
	struct bytes_cursor body = dwarf_unit_body(&cursor, &header->encoding.offset_bytes);
	if (!body.overrun && get_header(header, file, &body))
		return header;
	dwarf_line_header_destroy(header);
	return NULL;
}

void dwarf_line_header_destroy(struct dwarf_line_header *header)
{
	if (!header)
		return;
	vec_deinit(&header->directories);
	vec_deinit(&header->files);
	mem_free(header);
}

/* ---- paths ---- */

static void put_span(struct str *path, struct dwarf_span span)
{
	if (path->len && path->data[path->len - 1] != '/')
		str_putc(path, '/');
	str_write(path, span.data, (size_t)span.len);
}

static bool is_absolute(struct dwarf_span path)
{
	return path.len && path.data[0] == '/';
}

static bool are_equal(struct dwarf_span a, struct dwarf_span b)
{
	return a.len == b.len && (!a.len || memcmp(a.data, b.data, (size_t)a.len) == 0);
}

bool dwarf_line_put_path(const struct dwarf_line_header *header, struct dwarf_span comp_dir,
	uint64_t number, struct str *path)
{
	bool is_v5 = header->encoding.version >= 5;
	uint64_t index = is_v5 ? number : number - 1;
	if (index >= header->files.len)
		return false;
	const struct dwarf_line_file *file = &header->files.data[index];
	if (!file->name.len)
		return false;
	if (is_absolute(file->name)) {
		str_write(path, file->name.data, (size_t)file->name.len);
		return true;
	}
	/*
	 * Directory 0 is that of the compilation; DWARF 5 has it in its table (6.2.4), where it is
	 * as relative as in the unit with gcc's -ffile-prefix-map, which Debian's packages are
	 * built with.
	 */
	struct dwarf_span directory = {0};
	uint64_t at = is_v5 ? file->directory : file->directory - 1;
	if (at < header->directories.len)
		directory = header->directories.data[at];
	bool is_comp_dir = is_v5 && at == 0 && are_equal(directory, comp_dir);
	if (comp_dir.len && !is_absolute(directory) && !is_comp_dir)
		str_write(path, comp_dir.data, (size_t)comp_dir.len);
	if (directory.len)
		put_span(path, directory);
	put_span(path, file->name);
	return true;
}

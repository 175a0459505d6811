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
	default: /* indices need a unit, and nobody writes them here */
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
		if (cursor->overrun)
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
	dwarf_u8(body); /* default_is_stmt: every row counts here */
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
	/* Directory 0 is that of the compilation; DWARF 5 has it in its table. */
	struct dwarf_span directory = {0};
	uint64_t at = is_v5 ? file->directory : file->directory - 1;
	if (at < header->directories.len)
		directory = header->directories.data[at];
	if (comp_dir.len && !is_absolute(directory))
		str_write(path, comp_dir.data, (size_t)comp_dir.len);
	if (directory.len)
		put_span(path, directory);
	put_span(path, file->name);
	return true;
}

/* ---- the machine ---- */

struct machine {
	const struct dwarf_line_header *header;
	const struct dwarf_file *file;
	const uint64_t *addresses;
	size_t count;
	struct dwarf_row *rows;

	/* Its registers. */
	uint64_t address, operation;
	struct dwarf_row row;

	/* The row that was written last: it holds until the next one's address. */
	struct dwarf_row last;
	uint64_t last_address;
	bool in_sequence;
	size_t left;     /* addresses without a row */
	size_t next;     /* the first address at or behind last_address */
	uint64_t target; /* that address, so that most rows are one comparison */
};

static void reset(struct machine *machine)
{
	machine->address = machine->operation = 0;
	machine->row = (struct dwarf_row){.file = 1, .line = 1, .is_known = true};
	machine->in_sequence = false;
	machine->target = UINT64_MAX;
}

static size_t lower_bound(const uint64_t *addresses, size_t count, uint64_t address)
{
	size_t low = 0;
	while (count) {
		size_t half = count / 2;
		if (addresses[low + half] < address) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

static void seek(struct machine *machine)
{
	machine->next = lower_bound(machine->addresses, machine->count, machine->last_address);
	machine->target =
		machine->next < machine->count ? machine->addresses[machine->next] : UINT64_MAX;
}

/* The first row of a sequence; one of code that was dropped gets no addresses. */
static void start_sequence(struct machine *machine)
{
	machine->in_sequence = true;
	machine->last_address = machine->address;
	if (dwarf_file_is_code(machine->file, machine->address))
		seek(machine);
}

/* Gives the last row to the addresses before the machine's. Where two sequences claim one address
 * the first wins. */
static void pass_addresses(struct machine *machine)
{
	while (machine->next < machine->count &&
		machine->addresses[machine->next] < machine->address) {
		struct dwarf_row *row = &machine->rows[machine->next++];
		if (row->is_known)
			continue;
		*row = machine->last;
		machine->left--;
	}
	machine->target =
		machine->next < machine->count ? machine->addresses[machine->next] : UINT64_MAX;
}

static inline void write_row(struct machine *machine)
{
	if (machine->address > machine->target)
		pass_addresses(machine);
	else if (!machine->in_sequence)
		start_sequence(machine);
	else if (machine->address < machine->last_address && machine->target != UINT64_MAX) {
		machine->last_address = machine->address; /* not allowed, but survivable */
		seek(machine);
	}
	machine->last_address = machine->address;
	machine->last = machine->row;
}

static inline void advance(struct machine *machine, uint64_t operations)
{
	const struct dwarf_line_header *header = machine->header;
	if (header->max_operations == 1) {
		machine->address += operations * header->min_instruction_bytes;
		return;
	}
	/* DWARF 4, 6.2.5.1: instructions of several operations. */
	operations += machine->operation;
	machine->address += operations / header->max_operations * header->min_instruction_bytes;
	machine->operation = operations % header->max_operations;
}

static void run_extended(struct machine *machine, struct bytes_cursor *cursor)
{
	struct dwarf_span span = dwarf_block(cursor, dwarf_uleb(cursor));
	struct bytes_cursor body = dwarf_cursor(span);
	switch ((enum dwarf_lne)dwarf_u8(&body)) {
	case DW_LNE_end_sequence:
		if (machine->in_sequence && machine->address > machine->target)
			pass_addresses(machine);
		reset(machine);
		break;
	case DW_LNE_set_address:
		machine->address = dwarf_unsigned(&body, (unsigned)bytes_left(&body));
		machine->operation = 0;
		break;
	case DW_LNE_define_file: /* gone in DWARF 5, and no compiler wrote it before */
	default:
		break;
	}
}

static uint32_t narrow(uint64_t value)
{
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

static void run_standard(struct machine *machine, struct bytes_cursor *cursor, uint8_t opcode)
{
	const struct dwarf_line_header *header = machine->header;
	switch ((enum dwarf_lns)opcode) {
	case DW_LNS_extended:
		run_extended(machine, cursor);
		break;
	case DW_LNS_copy:
		write_row(machine);
		break;
	case DW_LNS_advance_pc:
		advance(machine, dwarf_uleb(cursor));
		break;
	case DW_LNS_advance_line:
		machine->row.line += (uint32_t)dwarf_sleb(cursor);
		break;
	case DW_LNS_set_file:
		machine->row.file = narrow(dwarf_uleb(cursor));
		break;
	case DW_LNS_set_column:
		machine->row.column = narrow(dwarf_uleb(cursor));
		break;
	case DW_LNS_const_add_pc:
		advance(machine, (255U - header->opcode_base) / header->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		machine->address += dwarf_u16(cursor);
		machine->operation = 0;
		break;
	case DW_LNS_negate_stmt:
	case DW_LNS_set_basic_block:
	case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin:
	case DW_LNS_set_isa:
	default:
		for (unsigned i = 0; i < header->operands[opcode]; i++)
			dwarf_skip_leb(cursor);
		break;
	}
}

/* What a special opcode adds, so that none of them divides. */
struct specials {
	uint8_t operations[256];
	uint32_t lines[256];
};

static void compute_specials(const struct dwarf_line_header *header, struct specials *specials)
{
	for (unsigned i = header->opcode_base; i < 256; i++) {
		unsigned adjusted = i - header->opcode_base;
		specials->operations[i] = (uint8_t)(adjusted / header->line_range);
		specials->lines[i] =
			(uint32_t)(header->line_base + (int)(adjusted % header->line_range));
	}
}

static void run_one(
	struct machine *machine, const struct specials *specials, struct bytes_cursor *cursor)
{
	uint8_t opcode = *cursor->pos++;
	if (opcode < machine->header->opcode_base) {
		run_standard(machine, cursor, opcode);
		return;
	}
	advance(machine, specials->operations[opcode]);
	machine->row.line += specials->lines[opcode];
	write_row(machine);
}

/* Whether the opcodes that run_rows() knows have their usual operands and effects. */
static bool is_usual(const struct dwarf_line_header *header)
{
	static const uint8_t usual[] = {0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0};
	return header->max_operations == 1 && header->opcode_base >= sizeof(usual) &&
	       memcmp(header->operands, usual, sizeof(usual)) == 0;
}

/* A LEB128 of at most two bytes; false leaves *pos alone. */
static inline bool get_short_leb(const uint8_t **pos, const uint8_t *end, uint32_t *value)
{
	if (*pos < end && **pos < 0x80) {
		*value = *(*pos)++;
		return true;
	}
	if (end - *pos < 2 || (*pos)[1] >= 0x80)
		return false;
	*value = ((*pos)[0] & 0x7fU) | (uint32_t)(*pos)[1] << 7;
	*pos += 2;
	return true;
}

static inline bool get_short_sleb(const uint8_t **pos, const uint8_t *end, uint32_t *value)
{
	const uint8_t *start = *pos;
	if (!get_short_leb(pos, end, value))
		return false;
	uint32_t sign = *pos - start == 1 ? 0x40 : 0x2000;
	*value = (*value ^ sign) - sign;
	return true;
}

/*
 * Inside of a sequence, up to the next address that is looked for: the machine with its registers
 * in those of the processor. Stops before whatever else there is; that is for run_one().
 */
static const uint8_t *run_rows(struct machine *machine, const struct specials *specials,
	const uint8_t *pos, const uint8_t *end)
{
	const uint8_t opcode_base = machine->header->opcode_base;
	const uint64_t unit = machine->header->min_instruction_bytes, target = machine->target;
	uint64_t address = machine->address, last_address = machine->last_address;
	struct dwarf_row row = machine->row, last = machine->last;
	for (const uint8_t *next; pos < end; pos = next) {
		uint8_t opcode = *pos;
		uint32_t operand = 0;
		uint64_t to = address;
		next = pos + 1;
		if (opcode >= opcode_base) {
			to += specials->operations[opcode] * unit;
			operand = specials->lines[opcode];
		} else if (opcode == DW_LNS_set_column) {
			if (!get_short_leb(&next, end, &row.column))
				break;
			continue;
		} else if (opcode == DW_LNS_advance_line) {
			if (!get_short_sleb(&next, end, &operand))
				break;
			row.line += operand;
			continue;
		} else if (opcode == DW_LNS_negate_stmt) {
			continue;
		} else if (opcode == DW_LNS_set_file) {
			if (!get_short_leb(&next, end, &row.file))
				break;
			continue;
		} else if (opcode == DW_LNS_advance_pc) {
			if (!get_short_leb(&next, end, &operand))
				break;
			address += operand * unit;
			continue;
		} else if (opcode == DW_LNS_extended) {
			if (end - pos < 4 || pos[1] != 2 || pos[2] != DW_LNE_set_discriminator)
				break;
			next = pos + 4;
			continue;
		} else if (opcode != DW_LNS_copy) {
			break;
		}
		if (to > target || to < last_address)
			break;
		last_address = address = to;
		row.line += operand;
		last = row;
	}
	machine->address = address;
	machine->last_address = last_address;
	machine->row = row;
	machine->last = last;
	return pos;
}

void dwarf_line_run(const struct dwarf_line_header *header, const struct dwarf_file *file,
	const uint64_t *addresses, size_t count, struct dwarf_row *rows)
{
	struct machine machine = {
		.header = header,
		.file = file,
		.addresses = addresses,
		.count = count,
		.rows = rows,
		.left = count,
	};
	struct bytes_cursor cursor = header->program;
	struct specials specials;
	compute_specials(header, &specials);
	bool can_run_rows = is_usual(header);
	reset(&machine);
	while (cursor.pos < cursor.end && machine.left) {
		if (can_run_rows && machine.in_sequence)
			cursor.pos = run_rows(&machine, &specials, cursor.pos, cursor.end);
		if (cursor.pos < cursor.end)
			run_one(&machine, &specials, &cursor);
	}
}

#include "format/dwarf/dwarf_line_machine.h"

struct machine {
	const struct dwarf_line_header *header;
	const struct dwarf_file *file;
	const uint64_t *addresses;
	size_t count;
	struct dwarf_row *rows;

	/* Instead of addresses and rows: dwarf_line_visit(). NULL: not. */
	dwarf_line_visit_fn *visit;
	void *context;

	/* Its registers. */
	uint64_t address, operation;
	struct dwarf_row row;

	/* The row that was written last: it holds until the next one's address. */
	struct dwarf_row last;
	uint64_t last_address;
	bool in_sequence, is_live; /* the sequence's code was not dropped */
	size_t left;               /* addresses without a row */
	size_t next;               /* the first address at or behind last_address */
	uint64_t target;           /* that address, so that most rows are one comparison */
};

static void reset(struct machine *machine)
{
	machine->address = machine->operation = 0;
	machine->row = (struct dwarf_row){.file = 1, .line = 1, .is_known = true};
	machine->row.is_statement = machine->header->begins_statements;
	machine->in_sequence = machine->is_live = false;
	machine->target = UINT64_MAX;
}

static size_t dwarf_line_machine_lower_bound(
	const uint64_t *addresses, size_t count, uint64_t address)
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
	machine->next = dwarf_line_machine_lower_bound(
		machine->addresses, machine->count, machine->last_address);
	machine->target =
		machine->next < machine->count ? machine->addresses[machine->next] : UINT64_MAX;
}

/* The first row of a sequence; one of code that was dropped gets no addresses. */
static void start_sequence(struct machine *machine)
{
	machine->in_sequence = true;
	machine->last_address = machine->address;
	machine->is_live = dwarf_file_is_code(machine->file, machine->address);
	if (machine->is_live)
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

static inline void dwarf_line_machine_write_row(struct machine *machine)
{
	if (machine->visit)
		machine->visit(machine->context, machine->address, &machine->row);
	else if (machine->address > machine->target)
		pass_addresses(machine);
	else if (!machine->in_sequence)
		start_sequence(machine);
	else if (machine->address < machine->last_address && machine->is_live) {
		machine->last_address = machine->address; /* not allowed, but survivable */
		seek(machine);
	}
	machine->last_address = machine->address;
	machine->last = machine->row;
}

static inline void dwarf_line_machine_advance(struct machine *machine, uint64_t operations)
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
		if (machine->visit)
			machine->visit(machine->context, machine->address, NULL);
		else if (machine->in_sequence && machine->address > machine->target)
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

static uint32_t dwarf_line_machine_narrow(uint64_t value)
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
		dwarf_line_machine_write_row(machine);
		break;
	case DW_LNS_advance_pc:
		dwarf_line_machine_advance(machine, dwarf_uleb(cursor));
		break;
	case DW_LNS_advance_line:
		machine->row.line += (uint32_t)dwarf_sleb(cursor);
		break;
	case DW_LNS_set_file:
		machine->row.file = dwarf_line_machine_narrow(dwarf_uleb(cursor));
		break;
	case DW_LNS_set_column:
		machine->row.column = dwarf_line_machine_narrow(dwarf_uleb(cursor));
		break;
	case DW_LNS_const_add_pc:
		dwarf_line_machine_advance(
			machine, (255U - header->opcode_base) / header->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		machine->address += dwarf_u16(cursor);
		machine->operation = 0;
		break;
	case DW_LNS_negate_stmt:
		machine->row.is_statement = !machine->row.is_statement;
		break;
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
	dwarf_line_machine_advance(machine, specials->operations[opcode]);
	machine->row.line += specials->lines[opcode];
	dwarf_line_machine_write_row(machine);
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
 * in those of the processor. Stops before all other opcodes, which run_one() takes.
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

void dwarf_line_visit(
	const struct dwarf_line_header *header, dwarf_line_visit_fn *visit, void *context)
{
	struct machine machine = {.header = header, .visit = visit, .context = context};
	struct bytes_cursor cursor = header->program;
	struct specials specials;
	compute_specials(header, &specials);
	reset(&machine);
	while (cursor.pos < cursor.end)
		run_one(&machine, &specials, &cursor);
}

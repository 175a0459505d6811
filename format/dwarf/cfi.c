/*
 * A frame description is a program for a machine of one table: each
 * instruction changes the rule of a register or moves on to the next address.
 * We only follow four columns of that table - the canonical frame address,
 * the frame pointer, the return address, rbx - since nothing else is needed to
 * walk a stack; the others are parsed and forgotten.
 *
 * Every number in the section is a stranger's: lengths are bounded by the
 * section, the number of instructions by their bytes, the stack of
 * remember/restore by a constant, and addresses must ascend.
 */
#include "format/dwarf/cfi.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"

/* DWARF 5, 7.24, and the GNU and MIPS extensions that gcc and clang emit. */
enum {
	DW_CFA_advance_loc = 0x40, /* with the delta in the low six bits */
	DW_CFA_offset = 0x80,
	DW_CFA_restore = 0xc0,
	DW_CFA_nop = 0x00,
	DW_CFA_set_loc = 0x01,
	DW_CFA_advance_loc1 = 0x02,
	DW_CFA_advance_loc2 = 0x03,
	DW_CFA_advance_loc4 = 0x04,
	DW_CFA_offset_extended = 0x05,
	DW_CFA_restore_extended = 0x06,
	DW_CFA_undefined = 0x07,
	DW_CFA_same_value = 0x08,
	DW_CFA_register = 0x09,
	DW_CFA_remember_state = 0x0a,
	DW_CFA_restore_state = 0x0b,
	DW_CFA_def_cfa = 0x0c,
	DW_CFA_def_cfa_register = 0x0d,
	DW_CFA_def_cfa_offset = 0x0e,
	DW_CFA_def_cfa_expression = 0x0f,
	DW_CFA_expression = 0x10,
	DW_CFA_offset_extended_sf = 0x11,
	DW_CFA_def_cfa_sf = 0x12,
	DW_CFA_def_cfa_offset_sf = 0x13,
	DW_CFA_val_offset = 0x14,
	DW_CFA_val_offset_sf = 0x15,
	DW_CFA_val_expression = 0x16,
	DW_CFA_AARCH64_negate_ra_state = 0x2d, /* pointer authentication: masked when unwinding */
	DW_CFA_GNU_args_size = 0x2e,
	DW_CFA_GNU_negative_offset_extended = 0x2f,
};

/* Operations that the expressions we know are made of. */
enum {
	DW_OP_deref = 0x06,
	DW_OP_const1u = 0x08,
	DW_OP_and = 0x1a,
	DW_OP_plus = 0x22,
	DW_OP_plus_uconst = 0x23,
	DW_OP_shl = 0x24,
	DW_OP_ge = 0x2a,
	DW_OP_lit0 = 0x30,
	DW_OP_breg0 = 0x70,
};

/* Pointer encodings, LSB "DWARF Exception Header Encoding". */
enum {
	DW_EH_PE_absptr = 0x00,
	DW_EH_PE_uleb128 = 0x01,
	DW_EH_PE_udata2 = 0x02,
	DW_EH_PE_udata4 = 0x03,
	DW_EH_PE_udata8 = 0x04,
	DW_EH_PE_sleb128 = 0x09,
	DW_EH_PE_sdata2 = 0x0a,
	DW_EH_PE_sdata4 = 0x0b,
	DW_EH_PE_sdata8 = 0x0c,
	DW_EH_PE_pcrel = 0x10,
	DW_EH_PE_textrel = 0x20,
	DW_EH_PE_datarel = 0x30,
	DW_EH_PE_indirect = 0x80,
	DW_EH_PE_omit = 0xff,
	FORMAT_MASK = 0x0f,
	APPLICATION_MASK = 0x70,
};

enum {
	REMEMBERED_MAX = 64,
	AUGMENTATION_MAX = 16,
	/* Linkers merge equal CIEs, and those of compilers have some 10 bytes of instructions. */
	CIES_MAX = 1 << 16,
	CIE_INSTRUCTIONS_MAX = 256,
	NO_REGISTER = UINT32_MAX,
};

struct cie {
	uint64_t offset; /* in the section */
	uint64_t code_align;
	int64_t data_align;
	uint32_t return_register;
	uint8_t pointer_encoding;
	bool has_augmentation_data;
	bool is_signal_frame;
	struct cfi_row initial; /* what its instructions set up */
	const char *fault;      /* NULL when it is sound */
};

struct cfi_reader {
	struct cfi_section section;
	struct bytes_cursor cursor; /* of cfi_reader_next() */
	struct cfi_result result;
	uint32_t frame_pointer; /* DWARF numbers of the machine's registers */
	uint32_t stack_pointer, instruction_pointer, rbx;
	VEC(struct cie) cies;
	struct map cie_by_offset; /* offset -> index */
	size_t last_cie;          /* most functions share one with their neighbour */
};

/* ---- numbers ---- */

/* Nearly all operands are one byte: the two below are where the time goes. */
static inline uint8_t get_byte(struct bytes_cursor *cursor)
{
	return cursor->pos < cursor->end ? *cursor->pos++ : bytes_get_u8(cursor);
}

static inline uint64_t get_uleb128(struct bytes_cursor *cursor)
{
	if (cursor->pos < cursor->end && *cursor->pos < 0x80)
		return *cursor->pos++;
	return bytes_get_varint(cursor);
}

static int64_t get_sleb128(struct bytes_cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = get_byte(cursor);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift + 7 < 64)
			value |= ~(uint64_t)0 << (shift + 7);
		return (int64_t)value;
	}
	cursor->overrun = true;
	return 0;
}

/* A register number, an offset: what does not fit is no value that a compiler writes. */
static uint32_t get_register(struct bytes_cursor *cursor)
{
	uint64_t value = get_uleb128(cursor);
	if (value > UINT16_MAX)
		cursor->overrun = true;
	return (uint32_t)value;
}

static int32_t narrow(struct bytes_cursor *cursor, int64_t value)
{
	if (value < INT32_MIN || value > INT32_MAX)
		cursor->overrun = true;
	return (int32_t)value;
}

/* value * factor, for factors of a few bytes. */
static int32_t get_scaled(struct bytes_cursor *cursor, int64_t value, int64_t factor)
{
	int64_t product;
	if (__builtin_mul_overflow(value, factor, &product))
		cursor->overrun = true;
	return cursor->overrun ? 0 : narrow(cursor, product);
}

static uint64_t get_plain_pointer(struct bytes_cursor *cursor, uint8_t format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return bytes_get_u64(cursor);
	case DW_EH_PE_uleb128:
		return get_uleb128(cursor);
	case DW_EH_PE_sleb128:
		return (uint64_t)get_sleb128(cursor);
	case DW_EH_PE_udata2:
		return bytes_get_u16(cursor);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int64_t)(int16_t)bytes_get_u16(cursor);
	case DW_EH_PE_udata4:
		return bytes_get_u32(cursor);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int64_t)(int32_t)bytes_get_u32(cursor);
	default:
		cursor->overrun = true;
		return 0;
	}
}

static uint64_t get_pointer(
	const struct cfi_reader *reader, struct bytes_cursor *cursor, uint8_t encoding)
{
	const struct cfi_section *section = &reader->section;
	uint64_t here = section->vaddr + (uint64_t)(cursor->pos - section->bytes);
	uint64_t value = get_plain_pointer(cursor, encoding & FORMAT_MASK);
	if (encoding & DW_EH_PE_indirect) /* memory that only a running process has */
		cursor->overrun = true;
	switch (encoding & APPLICATION_MASK) {
	case 0:
		return value;
	case DW_EH_PE_pcrel:
		return here + value;
	case DW_EH_PE_textrel:
		return section->text_vaddr + value;
	case DW_EH_PE_datarel:
		return section->data_vaddr + value;
	default:
		cursor->overrun = true;
		return 0;
	}
}

/* ---- common information entries ---- */

static const char *parse_augmentation(const struct cfi_reader *reader, struct bytes_cursor *cursor,
	const char *letters, struct cie *cie)
{
	if (!letters[0])
		return NULL;
	if (letters[0] != 'z')
		return "an augmentation without a length";
	cie->has_augmentation_data = true;
	struct bytes_cursor data = bytes_get_cursor(cursor, get_uleb128(cursor));
	for (const char *letter = letters + 1; *letter; letter++) {
		switch (*letter) {
		case 'R':
			cie->pointer_encoding = bytes_get_u8(&data);
			break;
		case 'P': /* the personality routine is for exceptions */
			get_pointer(
				reader, &data, bytes_get_u8(&data) & (uint8_t)~DW_EH_PE_indirect);
			break;
		case 'L':
			bytes_get_u8(&data);
			break;
		case 'S':
			cie->is_signal_frame = true;
			break;
		case 'B': /* arm64: return addresses are signed with the other key */
		case 'G':
			break;
		default:
			return "an unknown augmentation";
		}
	}
	return data.overrun ? "an augmentation that is cut" : NULL;
}

static const char *parse_cie(struct cfi_reader *reader, struct bytes_cursor body, struct cie *cie,
	struct bytes_cursor *instructions)
{
	uint8_t version = bytes_get_u8(&body);
	bool is_known = version == 1 || version == 3 || version == 4;
	if (!is_known)
		return "an unknown version";
	char letters[AUGMENTATION_MAX] = {0};
	for (size_t i = 0; (letters[i] = (char)bytes_get_u8(&body)); i++)
		if (i + 2 > sizeof(letters))
			return "an augmentation that is too long";
	if (version == 4) {
		uint8_t address_bytes = bytes_get_u8(&body), segment_bytes = bytes_get_u8(&body);
		if (address_bytes != 8 || segment_bytes)
			return "addresses of another size";
	}
	cie->code_align = get_uleb128(&body);
	cie->data_align = get_sleb128(&body);
	cie->return_register = version == 1 ? bytes_get_u8(&body) : get_register(&body);
	cie->pointer_encoding = DW_EH_PE_absptr;
	const char *fault = parse_augmentation(reader, &body, letters, cie);
	if (fault)
		return fault;
	if (body.overrun)
		return "a CIE that is cut";
	*instructions = bytes_get_cursor(&body, bytes_left(&body));
	return NULL;
}

/* ---- expressions ---- */

/* breg N, [deref, plus_uconst M]: what compilers write where the stack was realigned. */
static bool parse_deref_expression(struct bytes_cursor expression, struct cfi_row *row)
{
	uint8_t op = bytes_get_u8(&expression);
	if (op < DW_OP_breg0 || op >= DW_OP_breg0 + 32)
		return false;
	int64_t offset = get_sleb128(&expression), offset2 = 0;
	bool is_deref = false;
	while (bytes_left(&expression)) {
		uint8_t next = bytes_get_u8(&expression);
		if (next == DW_OP_deref && !is_deref)
			is_deref = true;
		else if (next == DW_OP_plus_uconst && !is_deref)
			offset += (int64_t)(uint32_t)get_uleb128(&expression);
		else if (next == DW_OP_plus_uconst)
			offset2 += (int64_t)(uint32_t)get_uleb128(&expression);
		else
			return false;
	}
	row->cfa_offset = narrow(&expression, offset);
	row->cfa_offset2 = narrow(&expression, offset2);
	row->cfa_register = (uint8_t)(op - DW_OP_breg0);
	row->cfa_kind = is_deref ? CFI_CFA_DEREF : CFI_CFA_REGISTER;
	return !expression.overrun;
}

/* rsp + 8 + ((rip & 15) >= threshold) << 3: each stub of a PLT pushes in its middle. */
static bool parse_plt_expression(
	const struct cfi_reader *reader, struct bytes_cursor expression, struct cfi_row *row)
{
	const uint8_t *op = bytes_get(&expression, 11);
	if (!op || bytes_left(&expression))
		return false;
	uint8_t sp = (uint8_t)(DW_OP_breg0 + reader->stack_pointer);
	uint8_t ip = (uint8_t)(DW_OP_breg0 + reader->instruction_pointer);
	bool is_plt = op[0] == sp && op[1] == 8 && op[2] == ip && op[3] == 0 &&
		      op[4] == DW_OP_lit0 + 15 && op[5] == DW_OP_and && op[6] >= DW_OP_lit0 &&
		      op[6] < DW_OP_lit0 + 16 && op[7] == DW_OP_ge && op[8] == DW_OP_lit0 + 3 &&
		      op[9] == DW_OP_shl && op[10] == DW_OP_plus;
	if (!is_plt)
		return false;
	row->cfa_kind = CFI_CFA_PLT;
	row->cfa_register = (uint8_t)reader->stack_pointer;
	row->cfa_offset = op[6] - DW_OP_lit0;
	row->cfa_offset2 = 0;
	return true;
}

static void set_cfa_expression(
	const struct cfi_reader *reader, struct bytes_cursor expression, struct cfi_row *row)
{
	struct cfi_row parsed = *row;
	if (parse_deref_expression(expression, &parsed) ||
		parse_plt_expression(reader, expression, &parsed)) {
		*row = parsed;
		return;
	}
	row->cfa_kind = CFI_CFA_EXPRESSION;
	row->cfa_register = 0;
	row->cfa_offset = row->cfa_offset2 = 0;
}

/* ---- the machine ---- */

struct machine {
	struct cfi_reader *reader;
	const struct cie *cie;
	uint64_t end, address; /* of the function; of the row that is being built */
	cfi_on_row *on_row;    /* NULL: the CIE's own instructions make no rows */
	void *context;
	struct cfi_row row;
	unsigned nr_remembered;
	struct cfi_row *remembered; /* REMEMBERED_MAX */
};

/* The column of a register, NULL for those that are not followed. */
static struct cfi_register *column_of(
	const struct machine *machine, struct cfi_row *row, uint32_t reg)
{
	if (reg == machine->cie->return_register)
		return &row->return_address;
	if (reg == machine->reader->frame_pointer)
		return &row->frame_pointer;
	if (reg == machine->reader->rbx)
		return &row->rbx;
	return NULL;
}

static void set_register(
	struct machine *machine, uint32_t reg, enum cfi_register_kind kind, int32_t offset)
{
	struct cfi_register *column = column_of(machine, &machine->row, reg);
	if (column)
		*column = (struct cfi_register){.kind = (uint8_t)kind, .offset = offset};
}

static void restore_register(struct machine *machine, uint32_t reg)
{
	struct cfi_row initial = machine->cie->initial;
	struct cfi_register *column = column_of(machine, &machine->row, reg);
	if (column)
		*column = *column_of(machine, &initial, reg);
}

static void emit(struct machine *machine)
{
	if (!machine->on_row || machine->address >= machine->end)
		return;
	machine->reader->result.rows++;
	machine->on_row(machine->context, machine->address, &machine->row);
}

static const char *advance_to(struct machine *machine, uint64_t address)
{
	if (address < machine->address)
		return "a row that goes back";
	if (address > machine->address)
		emit(machine);
	machine->address = address;
	return NULL;
}

static const char *advance(struct machine *machine, uint64_t delta)
{
	uint64_t step, address;
	if (__builtin_mul_overflow(delta, machine->cie->code_align, &step) ||
		__builtin_add_overflow(machine->address, step, &address))
		return "a row beyond the end of memory";
	return advance_to(machine, address);
}

static void set_cfa(
	struct machine *machine, struct bytes_cursor *cursor, uint32_t reg, int32_t offset)
{
	if (reg > UINT8_MAX)
		cursor->overrun = true;
	machine->row.cfa_kind = CFI_CFA_REGISTER;
	machine->row.cfa_register = (uint8_t)reg;
	machine->row.cfa_offset = offset;
	machine->row.cfa_offset2 = 0;
}

/* def_cfa_register and def_cfa_offset change one half of a rule that must have two. */
static const char *change_cfa(
	struct machine *machine, struct bytes_cursor *cursor, uint32_t reg, int32_t offset)
{
	if (machine->row.cfa_kind != CFI_CFA_REGISTER)
		return "half a rule for the CFA";
	set_cfa(machine, cursor, reg, offset);
	return NULL;
}

/* Instructions with their operand in the low six bits. */
static const char *run_packed(struct machine *machine, struct bytes_cursor *cursor, uint8_t op)
{
	uint32_t low = op & 0x3f;
	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(machine, low);
	case DW_CFA_offset:
		set_register(machine, low, CFI_AT_CFA,
			get_scaled(cursor, (int64_t)get_uleb128(cursor), machine->cie->data_align));
		return NULL;
	default:
		restore_register(machine, low);
		return NULL;
	}
}

/* breg SP + n: where the kernel saved the registers of whom a signal interrupted. */
static void set_register_expression(
	struct machine *machine, uint32_t reg, struct bytes_cursor expression)
{
	uint8_t op = bytes_get_u8(&expression);
	int32_t offset = narrow(&expression, get_sleb128(&expression));
	bool is_at_sp = op == DW_OP_breg0 + machine->reader->stack_pointer &&
			!bytes_left(&expression) && !expression.overrun;
	set_register(machine, reg, is_at_sp ? CFI_AT_SP : CFI_EXPRESSION, is_at_sp ? offset : 0);
}

/* Instructions that change the rule of a register; false: it is none of them. */
static bool run_register(struct machine *machine, struct bytes_cursor *cursor, uint8_t op)
{
	int64_t align = machine->cie->data_align;
	uint32_t reg = 0;
	if ((op >= DW_CFA_offset_extended && op <= DW_CFA_register) || op == DW_CFA_expression ||
		op == DW_CFA_offset_extended_sf ||
		(op >= DW_CFA_val_offset && op <= DW_CFA_val_expression) ||
		op == DW_CFA_GNU_negative_offset_extended)
		reg = get_register(cursor);
	switch (op) {
	case DW_CFA_offset_extended:
		set_register(machine, reg, CFI_AT_CFA,
			get_scaled(cursor, (int64_t)get_uleb128(cursor), align));
		return true;
	case DW_CFA_offset_extended_sf:
		set_register(
			machine, reg, CFI_AT_CFA, get_scaled(cursor, get_sleb128(cursor), align));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		set_register(machine, reg, CFI_AT_CFA,
			get_scaled(cursor, (int64_t)get_uleb128(cursor), -align));
		return true;
	case DW_CFA_val_offset:
		set_register(machine, reg, CFI_CFA_PLUS,
			get_scaled(cursor, (int64_t)get_uleb128(cursor), align));
		return true;
	case DW_CFA_val_offset_sf:
		set_register(
			machine, reg, CFI_CFA_PLUS, get_scaled(cursor, get_sleb128(cursor), align));
		return true;
	case DW_CFA_restore_extended:
		restore_register(machine, reg);
		return true;
	case DW_CFA_undefined:
		set_register(machine, reg, CFI_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set_register(machine, reg, CFI_SAME, 0);
		return true;
	case DW_CFA_register:
		set_register(machine, reg, CFI_IN_REGISTER, (int32_t)get_register(cursor));
		return true;
	case DW_CFA_expression:
		set_register_expression(
			machine, reg, bytes_get_cursor(cursor, get_uleb128(cursor)));
		return true;
	case DW_CFA_val_expression:
		bytes_get(cursor, get_uleb128(cursor));
		set_register(machine, reg, CFI_EXPRESSION, 0);
		return true;
	default:
		return false;
	}
}

/* Instructions that change the rule of the CFA; false: it is none of them. */
static bool run_cfa(
	struct machine *machine, struct bytes_cursor *cursor, uint8_t op, const char **fault)
{
	struct cfi_row *row = &machine->row;
	int64_t align = machine->cie->data_align;
	uint32_t reg;
	switch (op) {
	case DW_CFA_def_cfa:
		reg = get_register(cursor);
		set_cfa(machine, cursor, reg, narrow(cursor, (int64_t)get_uleb128(cursor)));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = get_register(cursor);
		set_cfa(machine, cursor, reg, get_scaled(cursor, get_sleb128(cursor), align));
		return true;
	case DW_CFA_def_cfa_register:
		*fault = change_cfa(machine, cursor, get_register(cursor), row->cfa_offset);
		return true;
	case DW_CFA_def_cfa_offset:
		*fault = change_cfa(machine, cursor, row->cfa_register,
			narrow(cursor, (int64_t)get_uleb128(cursor)));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		*fault = change_cfa(machine, cursor, row->cfa_register,
			get_scaled(cursor, get_sleb128(cursor), align));
		return true;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(
			machine->reader, bytes_get_cursor(cursor, get_uleb128(cursor)), row);
		return true;
	default:
		return false;
	}
}

static const char *run_other(struct machine *machine, struct bytes_cursor *cursor, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_AARCH64_negate_ra_state:
		return NULL;
	case DW_CFA_set_loc:
		return advance_to(machine,
			get_pointer(machine->reader, cursor, machine->cie->pointer_encoding));
	case DW_CFA_advance_loc1:
		return advance(machine, bytes_get_u8(cursor));
	case DW_CFA_advance_loc2:
		return advance(machine, bytes_get_u16(cursor));
	case DW_CFA_advance_loc4:
		return advance(machine, bytes_get_u32(cursor));
	case DW_CFA_remember_state:
		if (machine->nr_remembered == REMEMBERED_MAX)
			return "too many remembered states";
		machine->remembered[machine->nr_remembered++] = machine->row;
		return NULL;
	case DW_CFA_restore_state:
		if (!machine->nr_remembered)
			return "a restore without a remember";
		machine->row = machine->remembered[--machine->nr_remembered];
		return NULL;
	case DW_CFA_GNU_args_size:
		get_uleb128(cursor);
		return NULL;
	default:
		return "an unknown instruction";
	}
}

static const char *run(struct machine *machine, struct bytes_cursor instructions)
{
	while (bytes_left(&instructions)) {
		uint8_t op = get_byte(&instructions);
		const char *fault = NULL;
		if (op & 0xc0)
			fault = run_packed(machine, &instructions, op);
		else if (!run_register(machine, &instructions, op) &&
			 !run_cfa(machine, &instructions, op, &fault))
			fault = run_other(machine, &instructions, op);
		if (fault)
			return fault;
		if (instructions.overrun)
			return "an instruction that is cut";
	}
	return NULL;
}

/* ---- entries ---- */

/* An entry of the section: a CIE, or the FDE of a function. */
struct entry {
	uint64_t offset;    /* of its length field */
	uint64_t id_offset; /* of its id field */
	uint64_t id;
	bool is_64;               /* 64-bit DWARF */
	struct bytes_cursor body; /* behind the id */
};

static bool get_entry(
	const struct cfi_reader *reader, struct bytes_cursor *cursor, struct entry *ret)
{
	const uint8_t *base = reader->section.bytes;
	ret->offset = (uint64_t)(cursor->pos - base);
	uint64_t len = bytes_get_u32(cursor);
	ret->is_64 = len == UINT32_MAX;
	if (ret->is_64)
		len = bytes_get_u64(cursor);
	if (!len || cursor->overrun) /* a length of 0 terminates .eh_frame */
		return false;
	ret->body = bytes_get_cursor(cursor, len);
	ret->id_offset = (uint64_t)(ret->body.pos - base);
	bool is_wide = ret->is_64 && reader->section.kind == CFI_DEBUG_FRAME;
	ret->id = is_wide ? bytes_get_u64(&ret->body) : bytes_get_u32(&ret->body);
	if (ret->is_64 && reader->section.kind == CFI_EH_FRAME && ret->id)
		ret->body.overrun = true; /* nobody writes 64-bit .eh_frame of that kind */
	return !cursor->overrun;
}

static bool is_cie(const struct cfi_reader *reader, const struct entry *entry)
{
	if (reader->section.kind == CFI_EH_FRAME)
		return entry->id == 0;
	return entry->id == (entry->is_64 ? UINT64_MAX : UINT32_MAX);
}

/* .eh_frame: the distance back from the id field; .debug_frame: an offset in the section. */
static uint64_t cie_offset_of(const struct cfi_reader *reader, const struct entry *entry)
{
	return reader->section.kind == CFI_EH_FRAME ? entry->id_offset - entry->id : entry->id;
}

/* Runs the CIE's instructions once: each of its functions begins with what they set up. */
static const char *set_up_cie(struct cfi_reader *reader, struct cie *cie)
{
	const struct cfi_section *section = &reader->section;
	if (cie->offset >= section->len)
		return "no CIE";
	struct bytes_cursor instructions, cursor = bytes_cursor(section->bytes + cie->offset,
						  section->len - (size_t)cie->offset);
	struct entry entry;
	if (!get_entry(reader, &cursor, &entry) || !is_cie(reader, &entry))
		return "no CIE";
	const char *fault = parse_cie(reader, entry.body, cie, &instructions);
	if (fault)
		return fault;
	if (bytes_left(&instructions) > CIE_INSTRUCTIONS_MAX)
		return "a CIE that is too long";
	struct cfi_row remembered[REMEMBERED_MAX];
	struct machine machine = {.reader = reader, .cie = cie, .remembered = remembered};
	/*
	 * What no instruction mentions is undefined in theory; the ABI preserves the frame
	 * pointer and rbx.
	 */
	machine.row.is_signal_frame = cie->is_signal_frame;
	/* arm64 keeps the return address in a register until it is saved. */
	bool is_arm64 = section->machine == EM_AARCH64;
	machine.row.return_address.kind = is_arm64 ? CFI_SAME : CFI_UNDEFINED;
	fault = run(&machine, instructions);
	cie->initial = machine.row;
	return fault;
}

static const struct cie *find_cie(struct cfi_reader *reader, uint64_t offset)
{
	if (reader->cies.len && reader->cies.data[reader->last_cie].offset == offset)
		return &reader->cies.data[reader->last_cie];
	static const struct cie one_too_many = {.fault = "too many CIEs"};
	uint64_t *known = map_get(&reader->cie_by_offset, offset);
	if (!known && reader->cies.len == CIES_MAX)
		return &one_too_many;
	if (known) {
		reader->last_cie = *known;
	} else {
		struct cie cie = {.offset = offset};
		cie.fault = set_up_cie(reader, &cie);
		reader->last_cie = reader->cies.len;
		*map_put(&reader->cie_by_offset, offset, NULL) = reader->cies.len;
		vec_push(&reader->cies, cie);
	}
	return &reader->cies.data[reader->last_cie];
}

static const char *parse_fde(struct cfi_reader *reader, struct entry *entry, const struct cie **cie,
	struct cfi_function *function)
{
	*cie = find_cie(reader, cie_offset_of(reader, entry));
	if ((*cie)->fault)
		return (*cie)->fault;
	struct bytes_cursor *body = &entry->body;
	uint64_t start = get_pointer(reader, body, (*cie)->pointer_encoding);
	uint64_t len = get_plain_pointer(body, (*cie)->pointer_encoding & FORMAT_MASK);
	if ((*cie)->has_augmentation_data)
		bytes_get(body, get_uleb128(body));
	*function = (struct cfi_function){.start = start, .entry = entry->offset};
	if (body->overrun || __builtin_add_overflow(start, len, &function->end))
		return "an FDE that is cut";
	return NULL;
}

static void note_bad(struct cfi_reader *reader, const char *fault, uint64_t offset)
{
	struct cfi_result *result = &reader->result;
	if (result->bad_functions++)
		return;
	result->bad_what = fault;
	result->bad_offset = offset;
}

/* ---- the reader ---- */

struct cfi_reader *cfi_reader_create(const struct cfi_section *section)
{
	struct cfi_reader *reader = mem_zalloc(sizeof(*reader));
	bool is_arm64 = section->machine == EM_AARCH64;
	reader->section = *section;
	reader->cursor = bytes_cursor(section->bytes, section->len);
	reader->frame_pointer = is_arm64 ? 29 : 6;
	reader->stack_pointer = is_arm64 ? 31 : 7;
	reader->instruction_pointer = is_arm64 ? 32 : 16;
	reader->rbx = is_arm64 ? NO_REGISTER : 3;
	return reader;
}

void cfi_reader_destroy(struct cfi_reader *reader)
{
	if (!reader)
		return;
	vec_deinit(&reader->cies);
	map_deinit(&reader->cie_by_offset);
	mem_free(reader);
}

const struct cfi_result *cfi_reader_result(const struct cfi_reader *reader)
{
	return &reader->result;
}

bool cfi_reader_next(struct cfi_reader *reader, struct cfi_function *ret)
{
	struct entry entry;
	while (bytes_left(&reader->cursor) >= 4 && !reader->cursor.overrun) {
		if (!get_entry(reader, &reader->cursor, &entry))
			continue; /* a terminator: static linking leaves some in the middle */
		if (is_cie(reader, &entry))
			continue; /* parsed when the first function needs it */
		const struct cie *cie;
		struct cfi_function function;
		const char *fault = parse_fde(reader, &entry, &cie, &function);
		if (fault) {
			note_bad(reader, fault, entry.offset);
			continue;
		}
		if (!function.start || function.start == function.end)
			continue; /* code that the linker dropped */
		reader->result.functions++;
		*ret = function;
		return true;
	}
	return false;
}

uint64_t cfi_reader_run(
	struct cfi_reader *reader, uint64_t offset, cfi_on_row *on_row, void *context)
{
	struct bytes_cursor cursor =
		bytes_cursor(reader->section.bytes + offset, reader->section.len - (size_t)offset);
	const struct cie *cie;
	struct entry entry;
	struct cfi_function function;
	if (!get_entry(reader, &cursor, &entry) || parse_fde(reader, &entry, &cie, &function))
		return 0; /* cfi_reader_next() gives no such entry */
	struct cfi_row remembered[REMEMBERED_MAX];
	struct machine machine = {
		.reader = reader,
		.cie = cie,
		.address = function.start,
		.end = function.end,
		.on_row = on_row,
		.context = context,
		.row = cie->initial,
		.remembered = remembered,
	};
	const char *fault = run(&machine, entry.body);
	if (fault) {
		note_bad(reader, fault, offset);
		return machine.address < function.end ? machine.address : function.end;
	}
	emit(&machine);
	return function.end;
}

static void ignore_row(void *context, uint64_t address, const struct cfi_row *row)
{
	(void)context, (void)address, (void)row;
}

void cfi_walk(const struct cfi_section *section, const struct cfi_visitor *visitor,
	struct cfi_result *ret)
{
	struct cfi_reader *reader = cfi_reader_create(section);
	struct cfi_function function;
	cfi_on_row *on_row = visitor->row ? visitor->row : ignore_row;
	while (cfi_reader_next(reader, &function)) {
		if (visitor->function &&
			!visitor->function(visitor->context, function.start, function.end))
			break;
		cfi_reader_run(reader, function.entry, on_row, visitor->context);
	}
	*ret = reader->result;
	cfi_reader_destroy(reader);
}

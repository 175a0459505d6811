#include "format/dwarf/cfi_machine.h"

#include "format/dwarf/cfi_numbers.h"
#include "format/dwarf/cfi_operations.h"
#include "format/dwarf/dwarf_cursor.h"
#include "format/dwarf/dwarf_operations.h"

/* ---- numbers ---- */

static int32_t cfi_machine_narrow(struct bytes_cursor *cursor, int64_t value)
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
	return cursor->overrun ? 0 : cfi_machine_narrow(cursor, product);
}

/* ---- expressions ---- */

/* A number that an operation pushes; false: it pushes none, or more than an offset may be. */
static bool cfi_machine_get_constant(struct bytes_cursor *expression, uint8_t op, int64_t *ret)
{
	int64_t value;
	switch (op) {
	case DW_OP_const1u:
		value = bytes_get_u8(expression);
		break;
	case DW_OP_const1s:
		value = (int64_t)(bytes_get_u8(expression) ^ 0x80) - 0x80; /* its sign extended */
		break;
	case DW_OP_const2u:
		value = bytes_get_u16(expression);
		break;
	case DW_OP_const2s:
		value = (int16_t)bytes_get_u16(expression);
		break;
	case DW_OP_constu:
		value = (int64_t)dwarf_uleb(expression);
		break;
	case DW_OP_consts:
		value = dwarf_sleb(expression);
		break;
	default:
		if (op < DW_OP_lit0 || op > DW_OP_lit31)
			return false;
		value = op - DW_OP_lit0;
	}
	*ret = value;
	return value >= INT32_MIN && value <= INT32_MAX;
}

/* What an operation, with the one behind it where it pushes a number, adds; false: it does not. */
static bool get_addend(struct bytes_cursor *expression, uint8_t op, int64_t *ret)
{
	if (op == DW_OP_plus_uconst)
		return cfi_machine_get_constant(expression, DW_OP_constu, ret);
	if (!cfi_machine_get_constant(expression, op, ret))
		return false;
	uint8_t operation = bytes_get_u8(expression);
	if (operation == DW_OP_minus)
		*ret = -*ret;
	return operation == DW_OP_plus || operation == DW_OP_minus;
}

/*
 * breg N, deref, and constants that are added before and behind: compilers write it where the stack
 * was realigned, with plus_uconst; SBCL's start-up code has lit16, plus.
 */
static bool parse_deref_expression(struct bytes_cursor expression, struct cfi_row *row)
{
	uint8_t op = bytes_get_u8(&expression);
	if (op < DW_OP_breg0 || op >= DW_OP_breg0 + 32)
		return false;
	int64_t offsets[2] = {dwarf_sleb(&expression), 0}, addend; /* before and behind deref */
	bool is_deref = false;
	while (bytes_left(&expression)) {
		uint8_t next = bytes_get_u8(&expression);
		if (next == DW_OP_deref && !is_deref)
			is_deref = true;
		else if (!get_addend(&expression, next, &addend) ||
			 __builtin_add_overflow(offsets[is_deref], addend, &offsets[is_deref]))
			return false;
	}
	row->cfa_offset = cfi_machine_narrow(&expression, offsets[0]);
	row->cfa_offset2 = cfi_machine_narrow(&expression, offsets[1]);
	row->cfa_register = (uint8_t)(op - DW_OP_breg0);
	row->cfa_kind = is_deref ? UNWIND_CFA_DEREF : UNWIND_CFA_REGISTER;
	return !expression.overrun;
}

/* rsp + 8 + ((rip & 15) >= threshold) << 3: each stub of a PLT pushes in its middle. */
static bool parse_plt_expression(
	const struct unwind_machine *machine, struct bytes_cursor expression, struct cfi_row *row)
{
	const uint8_t *op = bytes_get(&expression, 11);
	if (!op || bytes_left(&expression))
		return false;
	uint8_t sp = (uint8_t)(DW_OP_breg0 + machine->stack_pointer);
	uint8_t ip = (uint8_t)(DW_OP_breg0 + machine->pc);
	bool is_plt = op[0] == sp && op[1] == 8 && op[2] == ip && op[3] == 0 &&
		      op[4] == DW_OP_lit0 + 15 && op[5] == DW_OP_and && op[6] >= DW_OP_lit0 &&
		      op[6] < DW_OP_lit0 + 16 && op[7] == DW_OP_ge && op[8] == DW_OP_lit0 + 3 &&
		      op[9] == DW_OP_shl && op[10] == DW_OP_plus;
	if (!is_plt)
		return false;
	row->cfa_kind = UNWIND_CFA_PLT;
	row->cfa_register = machine->stack_pointer;
	row->cfa_offset = op[6] - DW_OP_lit0;
	row->cfa_offset2 = 0;
	return true;
}

/* The expression of an instruction; *offset: where it stands, for cfi_expression(). */
static struct bytes_cursor get_expression(
	const struct cfi_machine *machine, struct bytes_cursor *cursor, int32_t *offset)
{
	*offset = cfi_machine_narrow(cursor, cursor->pos - machine->section->bytes);
	return bytes_get_cursor(cursor, dwarf_uleb(cursor));
}

static void set_cfa_expression(struct cfi_machine *machine, struct bytes_cursor *cursor)
{
	int32_t offset;
	struct bytes_cursor expression = get_expression(machine, cursor, &offset);
	struct cfi_row *row = &machine->row;
	if (parse_deref_expression(expression, row) ||
		parse_plt_expression(machine->section->machine, expression, row))
		return;
	row->cfa_kind = UNWIND_CFA_EXPRESSION;
	row->cfa_register = 0;
	row->cfa_offset = offset;
	row->cfa_offset2 = 0;
}

/* ---- the table ---- */

static void set_register(
	struct cfi_machine *machine, uint32_t reg, enum unwind_register kind, int32_t offset)
{
	const int32_t limit = 1 << (CFI_OFFSET_BITS - 1);
	if (reg >= CFI_REGISTERS)
		return;
	bool fits = offset >= -limit && offset < limit;
	machine->row.registers[reg] = fits ? (struct cfi_register){kind & 15, offset}
					   : (struct cfi_register){.kind = UNWIND_UNSUPPORTED};
}

static void restore_register(struct cfi_machine *machine, uint32_t reg)
{
	if (reg < CFI_REGISTERS)
		machine->row.registers[reg] = machine->cie->initial.registers[reg];
}

void cfi_machine_emit(struct cfi_machine *machine)
{
	if (!machine->on_row || machine->address >= machine->end)
		return;
	machine->rows++;
	machine->on_row(machine->context, machine->address, &machine->row);
}

static const char *advance_to(struct cfi_machine *machine, uint64_t address)
{
	if (address < machine->address)
		return "a row that goes back";
	if (address > machine->address)
		cfi_machine_emit(machine);
	machine->address = address;
	return NULL;
}

static const char *cfi_machine_advance(struct cfi_machine *machine, uint64_t delta)
{
	uint64_t step, address;
	if (__builtin_mul_overflow(delta, machine->cie->code_align, &step) ||
		__builtin_add_overflow(machine->address, step, &address))
		return "a row beyond the end of memory";
	return advance_to(machine, address);
}

static void set_cfa(
	struct cfi_machine *machine, struct bytes_cursor *cursor, uint32_t reg, int32_t offset)
{
	if (reg > UINT8_MAX)
		cursor->overrun = true;
	machine->row.cfa_kind = UNWIND_CFA_REGISTER;
	machine->row.cfa_register = (uint8_t)reg;
	machine->row.cfa_offset = offset;
	machine->row.cfa_offset2 = 0;
}

/* def_cfa_register and def_cfa_offset change one half of a rule that must have two. */
static const char *change_cfa(
	struct cfi_machine *machine, struct bytes_cursor *cursor, uint32_t reg, int32_t offset)
{
	if (machine->row.cfa_kind != UNWIND_CFA_REGISTER)
		return "half a rule for the CFA";
	set_cfa(machine, cursor, reg, offset);
	return NULL;
}

/* Instructions with their operand in the low six bits. */
static const char *run_packed(struct cfi_machine *machine, struct bytes_cursor *cursor, uint8_t op)
{
	uint32_t low = op & 0x3f;
	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return cfi_machine_advance(machine, low);
	case DW_CFA_offset:
		set_register(machine, low, UNWIND_AT_CFA,
			get_scaled(cursor, (int64_t)dwarf_uleb(cursor), machine->cie->data_align));
		return NULL;
	default:
		restore_register(machine, low);
		return NULL;
	}
}

/*
 * breg SP + n: where the kernel saved the registers of whom a signal interrupted. breg FP + n: in a
 * frame that was aligned, gcc does so.
 */
static void set_register_expression(
	struct cfi_machine *machine, uint32_t reg, struct bytes_cursor *cursor)
{
	int32_t at;
	struct bytes_cursor expression = get_expression(machine, cursor, &at);
	uint8_t op = bytes_get_u8(&expression);
	int32_t offset = cfi_machine_narrow(&expression, dwarf_sleb(&expression));
	const struct unwind_machine *registers = machine->section->machine;
	bool is_all = !bytes_left(&expression) && !expression.overrun;
	enum unwind_register kind = UNWIND_EXPRESSION;
	if (is_all && op == DW_OP_breg0 + registers->stack_pointer)
		kind = UNWIND_AT_SP;
	else if (is_all && op == DW_OP_breg0 + registers->frame_pointer)
		kind = UNWIND_AT_FP;
	set_register(machine, reg, kind, kind == UNWIND_EXPRESSION ? at : offset);
}

/* The register is what the expression comes to. */
static void set_register_value(
	struct cfi_machine *machine, uint32_t reg, struct bytes_cursor *cursor)
{
	int32_t at;
	get_expression(machine, cursor, &at);
	set_register(machine, reg, UNWIND_VALUE, at);
}

/* Instructions that change the rule of a register; false: it is none of them. */
static bool run_register(struct cfi_machine *machine, struct bytes_cursor *cursor, uint8_t op)
{
	int64_t align = machine->cie->data_align;
	uint32_t reg = 0;
	if ((op >= DW_CFA_offset_extended && op <= DW_CFA_register) || op == DW_CFA_expression ||
		op == DW_CFA_offset_extended_sf ||
		(op >= DW_CFA_val_offset && op <= DW_CFA_val_expression) ||
		op == DW_CFA_GNU_negative_offset_extended)
		reg = cfi_get_register(cursor);
	switch (op) {
	case DW_CFA_offset_extended:
		set_register(machine, reg, UNWIND_AT_CFA,
			get_scaled(cursor, (int64_t)dwarf_uleb(cursor), align));
		return true;
	case DW_CFA_offset_extended_sf:
		set_register(
			machine, reg, UNWIND_AT_CFA, get_scaled(cursor, dwarf_sleb(cursor), align));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		set_register(machine, reg, UNWIND_AT_CFA,
			get_scaled(cursor, (int64_t)dwarf_uleb(cursor), -align));
		return true;
	case DW_CFA_val_offset:
		set_register(machine, reg, UNWIND_CFA_PLUS,
			get_scaled(cursor, (int64_t)dwarf_uleb(cursor), align));
		return true;
	case DW_CFA_val_offset_sf:
		set_register(machine, reg, UNWIND_CFA_PLUS,
			get_scaled(cursor, dwarf_sleb(cursor), align));
		return true;
	case DW_CFA_restore_extended:
		restore_register(machine, reg);
		return true;
	case DW_CFA_undefined:
		set_register(machine, reg, UNWIND_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set_register(machine, reg, UNWIND_SAME, 0);
		return true;
	case DW_CFA_register:
		set_register(machine, reg, UNWIND_IN_REGISTER, (int32_t)cfi_get_register(cursor));
		return true;
	case DW_CFA_expression:
		set_register_expression(machine, reg, cursor);
		return true;
	case DW_CFA_val_expression:
		set_register_value(machine, reg, cursor);
		return true;
	default:
		return false;
	}
}

/* Instructions that change the rule of the CFA; false: it is none of them. */
static bool run_cfa(
	struct cfi_machine *machine, struct bytes_cursor *cursor, uint8_t op, const char **fault)
{
	struct cfi_row *row = &machine->row;
	int64_t align = machine->cie->data_align;
	uint32_t reg;
	switch (op) {
	case DW_CFA_def_cfa:
		reg = cfi_get_register(cursor);
		set_cfa(machine, cursor, reg,
			cfi_machine_narrow(cursor, (int64_t)dwarf_uleb(cursor)));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = cfi_get_register(cursor);
		set_cfa(machine, cursor, reg, get_scaled(cursor, dwarf_sleb(cursor), align));
		return true;
	case DW_CFA_def_cfa_register:
		*fault = change_cfa(machine, cursor, cfi_get_register(cursor), row->cfa_offset);
		return true;
	case DW_CFA_def_cfa_offset:
		*fault = change_cfa(machine, cursor, row->cfa_register,
			cfi_machine_narrow(cursor, (int64_t)dwarf_uleb(cursor)));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		*fault = change_cfa(machine, cursor, row->cfa_register,
			get_scaled(cursor, dwarf_sleb(cursor), align));
		return true;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(machine, cursor);
		return true;
	default:
		return false;
	}
}

static const char *cfi_machine_run_other(
	struct cfi_machine *machine, struct bytes_cursor *cursor, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_AARCH64_negate_ra_state:
		return NULL;
	case DW_CFA_set_loc:
		return advance_to(machine,
			cfi_get_pointer(machine->section, cursor, machine->cie->pointer_encoding));
	case DW_CFA_advance_loc1:
		return cfi_machine_advance(machine, bytes_get_u8(cursor));
	case DW_CFA_advance_loc2:
		return cfi_machine_advance(machine, bytes_get_u16(cursor));
	case DW_CFA_advance_loc4:
		return cfi_machine_advance(machine, bytes_get_u32(cursor));
	case DW_CFA_remember_state:
		if (machine->nr_remembered == CFI_REMEMBERED_MAX)
			return "too many remembered states";
		machine->remembered[machine->nr_remembered++] = machine->row;
		return NULL;
	case DW_CFA_restore_state:
		if (!machine->nr_remembered)
			return "a restore without a remember";
		machine->row = machine->remembered[--machine->nr_remembered];
		return NULL;
	case DW_CFA_GNU_args_size:
		dwarf_uleb(cursor);
		return NULL;
	default:
		return "an unknown instruction";
	}
}

const char *cfi_machine_run(struct cfi_machine *machine, struct bytes_cursor instructions)
{
	while (bytes_left(&instructions)) {
		uint8_t op = dwarf_u8(&instructions);
		const char *fault = NULL;
		if (op & 0xc0)
			fault = run_packed(machine, &instructions, op);
		else if (!run_register(machine, &instructions, op) &&
			 !run_cfa(machine, &instructions, op, &fault))
			fault = cfi_machine_run_other(machine, &instructions, op);
		if (fault)
			return fault;
		if (instructions.overrun)
			return "an instruction that is cut";
		if (cfi_is_stopped(machine->section))
			return "a program that was stopped";
	}
	return NULL;
}

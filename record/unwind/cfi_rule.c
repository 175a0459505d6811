#include "record/unwind/cfi_rule.h"

#include "record/unwind/unwind_table.h"

static bool fits_short(int32_t value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

static uint8_t register_kind(const struct cfi_register *rule)
{
	bool is_register = rule->kind == UNWIND_IN_REGISTER;
	bool fits =
		is_register ? rule->offset <= UNWIND_TABLE_MAX_REGISTER : fits_short(rule->offset);
	return fits && rule->kind < UNWIND_UNSUPPORTED ? rule->kind : UNWIND_UNSUPPORTED;
}

static int16_t register_offset(uint8_t kind, const struct cfi_register *rule)
{
	return kind == UNWIND_UNSUPPORTED ? 0 : (int16_t)rule->offset;
}

static void take_cfa(const struct cfi_row *row, struct unwind_rule *rule)
{
	rule->cfa = UNWIND_CFA_UNSUPPORTED;
	if (row->cfa_register > UNWIND_TABLE_MAX_REGISTER)
		return;
	switch (row->cfa_kind) {
	case UNWIND_CFA_REGISTER:
		rule->cfa = UNWIND_CFA_REGISTER;
		rule->cfa_offset = row->cfa_offset;
		break;
	case UNWIND_CFA_PLT:
		rule->cfa = UNWIND_CFA_PLT;
		rule->cfa_offset = row->cfa_offset;
		break;
	case UNWIND_CFA_DEREF:
		if (!fits_short(row->cfa_offset) || !fits_short(row->cfa_offset2))
			return;
		rule->cfa = UNWIND_CFA_DEREF;
		rule->cfa_offset = (int32_t)((uint32_t)(uint16_t)row->cfa_offset |
					     (uint32_t)row->cfa_offset2 << 16);
		break;
	default:
		return;
	}
	rule->cfa_register = row->cfa_register;
}

struct unwind_rule cfi_rule(const struct cfi_row *row, const struct unwind_machine *machine)
{
	const struct cfi_register *fp = &row->registers[machine->frame_pointer];
	const struct cfi_register *ra = &row->registers[row->return_register];
	const struct cfi_register *extra = &row->registers[machine->extra];
	struct unwind_rule rule = {0};
	rule.flags = row->is_signal_frame ? UNWIND_SIGNAL_FRAME : 0;
	rule.ra = register_kind(ra) & 15;
	if (rule.ra == UNWIND_UNDEFINED) { /* the end of the stack: nothing else is needed */
		rule.cfa = UNWIND_CFA_REGISTER;
		return rule;
	}
	take_cfa(row, &rule);
	rule.fp = register_kind(fp) & 15;
	rule.fp_offset = register_offset(rule.fp, fp);
	rule.ra_offset = register_offset(rule.ra, ra);
	if (machine->extra) {
		rule.extra = register_kind(extra);
		rule.extra_offset = register_offset(rule.extra, extra);
	}
	return rule;
}

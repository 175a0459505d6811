#include "record/cfi_rule.h"

#include "record/unwind_table.h"

static bool fits_short(int32_t value)
{
	return value >= INT16_MIN && value <= INT16_MAX;
}

static uint8_t register_kind(const struct cfi_register *rule)
{
	static const uint8_t kinds[] = {
		[CFI_SAME] = UNWIND_SAME,
		[CFI_AT_CFA] = UNWIND_AT_CFA,
		[CFI_AT_SP] = UNWIND_AT_SP,
		[CFI_IN_REGISTER] = UNWIND_IN_REGISTER,
		[CFI_UNDEFINED] = UNWIND_UNDEFINED,
		[CFI_CFA_PLUS] = UNWIND_UNSUPPORTED,
		[CFI_EXPRESSION] = UNWIND_UNSUPPORTED,
	};
	bool is_register = rule->kind == CFI_IN_REGISTER;
	bool fits =
		is_register ? rule->offset <= UNWIND_TABLE_MAX_REGISTER : fits_short(rule->offset);
	return fits ? kinds[rule->kind] : UNWIND_UNSUPPORTED;
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
	case CFI_CFA_REGISTER:
		rule->cfa = UNWIND_CFA_REGISTER;
		rule->cfa_offset = row->cfa_offset;
		break;
	case CFI_CFA_PLT:
		rule->cfa = UNWIND_CFA_PLT;
		rule->cfa_offset = row->cfa_offset;
		break;
	case CFI_CFA_DEREF:
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

struct unwind_rule cfi_rule(const struct cfi_row *row)
{
	struct unwind_rule rule = {0};
	rule.flags = row->is_signal_frame ? UNWIND_SIGNAL_FRAME : 0;
	rule.ra = register_kind(&row->return_address) & 15;
	if (rule.ra == UNWIND_UNDEFINED) { /* the end of the stack: nothing else is needed */
		rule.cfa = UNWIND_CFA_REGISTER;
		return rule;
	}
	take_cfa(row, &rule);
	rule.fp = register_kind(&row->frame_pointer) & 15;
	rule.fp_offset = register_offset(rule.fp, &row->frame_pointer);
	rule.ra_offset = register_offset(rule.ra, &row->return_address);
	rule.rbx = register_kind(&row->rbx);
	rule.rbx_offset = register_offset(rule.rbx, &row->rbx);
	return rule;
}

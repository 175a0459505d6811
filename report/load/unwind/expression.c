#include "report/load/unwind/expression.h"

#include <stdbool.h>

#include "format/dwarf/dwarf_cursor.h"
#include "format/dwarf/dwarf_operations.h"

enum {
	DEPTH_MAX = 64,
	STEPS_MAX = 1000, /* branches may go back */
};

struct evaluation {
	const struct thread_state *state;
	struct bytes_cursor code;
	uint64_t stack[DEPTH_MAX];
	size_t depth;
	enum event_stack_end fault;
};

static void expression_fail(struct evaluation *it, enum event_stack_end fault)
{
	if (!it->fault)
		it->fault = fault;
}

static void expression_push(struct evaluation *it, uint64_t value)
{
	if (it->depth == DEPTH_MAX)
		expression_fail(it, EVENT_END_UNSUPPORTED);
	else
		it->stack[it->depth++] = value;
}

static uint64_t expression_pop(struct evaluation *it)
{
	if (it->depth)
		return it->stack[--it->depth];
	expression_fail(it, EVENT_END_UNSUPPORTED);
	return 0;
}

/* The n-th value below the top, which is the 0th. */
static uint64_t peek(struct evaluation *it, uint64_t n)
{
	if (n < it->depth)
		return it->stack[it->depth - 1 - n];
	expression_fail(it, EVENT_END_UNSUPPORTED);
	return 0;
}

static void push_register(struct evaluation *it, uint64_t number, uint64_t offset)
{
	uint64_t value = 0;
	if (!thread_state_get(it->state, number, &value))
		expression_fail(it, EVENT_END_REGISTER);
	expression_push(it, value + offset);
}

static void dereference(struct evaluation *it, uint64_t bytes)
{
	uint64_t value = 0, address = expression_pop(it);
	if (!bytes || bytes > 8)
		expression_fail(it, EVENT_END_UNSUPPORTED);
	else if (!thread_state_read(it->state, address, (unsigned)bytes, &value))
		expression_fail(it, EVENT_END_UNREADABLE);
	expression_push(it, value);
}

/* False: the operation is none of these. */
static bool run_constant(struct evaluation *it, uint8_t op)
{
	struct bytes_cursor *code = &it->code;
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		expression_push(it, op - DW_OP_lit0);
		return true;
	}
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_register(it, op - DW_OP_breg0, (uint64_t)dwarf_sleb(code));
		return true;
	}
	uint64_t number;
	switch (op) {
	case DW_OP_const1u:
		number = bytes_get_u8(code);
		break;
	case DW_OP_const1s:
		number = (uint64_t)(int8_t)bytes_get_u8(code);
		break;
	case DW_OP_const2u:
		number = bytes_get_u16(code);
		break;
	case DW_OP_const2s:
		number = (uint64_t)(int16_t)bytes_get_u16(code);
		break;
	case DW_OP_const4u:
		number = bytes_get_u32(code);
		break;
	case DW_OP_const4s:
		number = (uint64_t)(int32_t)bytes_get_u32(code);
		break;
	case DW_OP_const8u:
	case DW_OP_const8s:
		number = bytes_get_u64(code);
		break;
	case DW_OP_constu:
		number = dwarf_uleb(code);
		break;
	case DW_OP_consts:
		number = (uint64_t)dwarf_sleb(code);
		break;
	case DW_OP_bregx:
		number = dwarf_uleb(code);
		push_register(it, number, (uint64_t)dwarf_sleb(code));
		return true;
	default:
		return false;
	}
	expression_push(it, number);
	return true;
}

static uint64_t divide(struct evaluation *it, int64_t a, int64_t b)
{
	if (!b || (a == INT64_MIN && b == -1)) {
		expression_fail(it, EVENT_END_UNSUPPORTED);
		return 0;
	}
	return (uint64_t)(a / b);
}

static uint64_t remainder_of(struct evaluation *it, uint64_t a, uint64_t b)
{
	if (!b)
		expression_fail(it, EVENT_END_UNSUPPORTED);
	return b ? a % b : 0;
}

static uint64_t shift_signed(uint64_t a, uint64_t b)
{
	uint64_t sign = a >> 63 ? ~0ULL : 0;
	if (!b || b > 63)
		return b ? sign : a;
	return a >> b | sign << (64 - b);
}

/* Operations on two values; comparisons are signed. */
static bool run_binary(struct evaluation *it, uint8_t op)
{
	bool is_binary = (op >= DW_OP_and && op <= DW_OP_xor && op != DW_OP_neg &&
				 op != DW_OP_not && op != DW_OP_plus_uconst) ||
			 (op >= DW_OP_eq && op <= DW_OP_ne);
	if (!is_binary)
		return false;
	uint64_t b = expression_pop(it), a = expression_pop(it);
	int64_t sa = (int64_t)a, sb = (int64_t)b;
	switch (op) {
	case DW_OP_and:
		expression_push(it, a & b);
		break;
	case DW_OP_div:
		expression_push(it, divide(it, sa, sb));
		break;
	case DW_OP_minus:
		expression_push(it, a - b);
		break;
	case DW_OP_mod:
		expression_push(it, remainder_of(it, a, b));
		break;
	case DW_OP_mul:
		expression_push(it, a * b);
		break;
	case DW_OP_or:
		expression_push(it, a | b);
		break;
	case DW_OP_plus:
		expression_push(it, a + b);
		break;
	case DW_OP_shl:
		expression_push(it, b < 64 ? a << b : 0);
		break;
	case DW_OP_shr:
		expression_push(it, b < 64 ? a >> b : 0);
		break;
	case DW_OP_shra:
		expression_push(it, shift_signed(a, b));
		break;
	case DW_OP_xor:
		expression_push(it, a ^ b);
		break;
	case DW_OP_eq:
		expression_push(it, sa == sb);
		break;
	case DW_OP_ge:
		expression_push(it, sa >= sb);
		break;
	case DW_OP_gt:
		expression_push(it, sa > sb);
		break;
	case DW_OP_le:
		expression_push(it, sa <= sb);
		break;
	case DW_OP_lt:
		expression_push(it, sa < sb);
		break;
	default:
		expression_push(it, sa != sb);
		break;
	}
	return true;
}

static bool run_stack(struct evaluation *it, uint8_t op)
{
	uint64_t a, b, c;
	switch (op) {
	case DW_OP_dup:
		expression_push(it, peek(it, 0));
		return true;
	case DW_OP_drop:
		expression_pop(it);
		return true;
	case DW_OP_over:
		expression_push(it, peek(it, 1));
		return true;
	case DW_OP_pick:
		expression_push(it, peek(it, bytes_get_u8(&it->code)));
		return true;
	case DW_OP_swap:
		a = expression_pop(it), b = expression_pop(it);
		expression_push(it, a), expression_push(it, b);
		return true;
	case DW_OP_rot: /* the top goes below the two under it */
		a = expression_pop(it), b = expression_pop(it), c = expression_pop(it);
		expression_push(it, a), expression_push(it, c), expression_push(it, b);
		return true;
	default:
		return false;
	}
}

/* Distances count from the end of the operation. */
static void jump(struct evaluation *it, int16_t distance, bool is_taken)
{
	struct bytes_cursor *code = &it->code;
	int64_t target = (int64_t)bytes_offset(code) + distance;
	if (!is_taken)
		return;
	if (target < 0 || target > (int64_t)(bytes_offset(code) + bytes_left(code)))
		expression_fail(it, EVENT_END_UNSUPPORTED);
	else
		code->pos += distance;
}

static void expression_run_other(struct evaluation *it, uint8_t op)
{
	uint64_t a;
	int16_t distance;
	switch (op) {
	case DW_OP_nop:
		break;
	case DW_OP_abs:
		a = expression_pop(it);
		expression_push(it, a >> 63 ? -a : a);
		break;
	case DW_OP_neg:
		expression_push(it, -expression_pop(it));
		break;
	case DW_OP_not:
		expression_push(it, ~expression_pop(it));
		break;
	case DW_OP_plus_uconst:
		expression_push(it, expression_pop(it) + dwarf_uleb(&it->code));
		break;
	case DW_OP_deref:
		dereference(it, 8);
		break;
	case DW_OP_deref_size:
		dereference(it, bytes_get_u8(&it->code));
		break;
	case DW_OP_skip:
		jump(it, (int16_t)bytes_get_u16(&it->code), true);
		break;
	case DW_OP_bra:
		distance = (int16_t)bytes_get_u16(&it->code);
		jump(it, distance, expression_pop(it));
		break;
	default: /* addresses of data, threads' storage, entry values: none of them is for CFI */
		expression_fail(it, EVENT_END_UNSUPPORTED);
		break;
	}
}

enum event_stack_end expression_evaluate(const struct thread_state *state, const uint64_t *cfa,
	struct bytes_cursor expression, uint64_t *value)
{
	struct evaluation it; /* zeros for its stack would cost more than all the rest */
	it.state = state;
	it.code = expression;
	it.depth = 0;
	it.fault = EVENT_END_COMPLETE;
	if (cfa)
		expression_push(&it, *cfa);
	for (int steps = 0; bytes_left(&it.code) && !it.fault; steps++) {
		uint8_t op = bytes_get_u8(&it.code);
		if (!run_constant(&it, op) && !run_binary(&it, op) && !run_stack(&it, op))
			expression_run_other(&it, op);
		if (steps == STEPS_MAX || it.code.overrun)
			expression_fail(&it, EVENT_END_UNSUPPORTED);
	}
	uint64_t result = it.fault ? 0 : expression_pop(&it);
	if (!it.fault)
		*value = result;
	return it.fault;
}

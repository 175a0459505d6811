#include "report/load/unwind/expression.h"

#include <dwarf.h>
#include <stdbool.h>

enum {
	DEPTH_MAX = 64,
	STEPS_MAX = 1000, /* branches may go back */
};

struct evaluation {
	const struct thread_state *state;
	const uint64_t *cfa;
	const Dwarf_Op *ops;
	size_t count;
	uint64_t stack[DEPTH_MAX];
	size_t depth;
	bool is_location; /* the result is where the value stands */
	enum layout_truncation fault;
};

static void fail(struct evaluation *it, enum layout_truncation fault)
{
	if (!it->fault)
		it->fault = fault;
}

static void push(struct evaluation *it, uint64_t value)
{
	if (it->depth == DEPTH_MAX)
		fail(it, LAYOUT_TRUNCATED_UNSUPPORTED);
	else
		it->stack[it->depth++] = value;
}

static uint64_t pop(struct evaluation *it)
{
	if (it->depth)
		return it->stack[--it->depth];
	fail(it, LAYOUT_TRUNCATED_UNSUPPORTED);
	return 0;
}

/* The n-th value below the top, which is the 0th. */
static uint64_t peek(struct evaluation *it, uint64_t n)
{
	if (n < it->depth)
		return it->stack[it->depth - 1 - n];
	fail(it, LAYOUT_TRUNCATED_UNSUPPORTED);
	return 0;
}

static void push_register(struct evaluation *it, uint64_t number, uint64_t offset)
{
	uint64_t value = 0;
	if (!thread_state_get(it->state, number, &value))
		fail(it, LAYOUT_TRUNCATED_REGISTER);
	push(it, value + offset);
}

static void dereference(struct evaluation *it, uint64_t bytes)
{
	uint64_t value = 0, address = pop(it);
	if (!bytes || bytes > 8)
		fail(it, LAYOUT_TRUNCATED_UNSUPPORTED);
	else if (!thread_state_read(it->state, address, (unsigned)bytes, &value))
		fail(it, LAYOUT_TRUNCATED_UNREADABLE);
	push(it, value);
}

/* False: the operation is none of these. */
static bool run_constant(struct evaluation *it, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(it, op->atom - DW_OP_lit0);
		return true;
	}
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		push_register(it, op->atom - DW_OP_breg0, op->number);
		return true;
	}
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		push_register(it, op->atom - DW_OP_reg0, 0);
		return true;
	}
	switch (op->atom) {
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		push(it, op->number); /* libdw has extended the sign */
		return true;
	case DW_OP_regx:
		push_register(it, op->number, 0);
		return true;
	case DW_OP_bregx:
		push_register(it, op->number, op->number2);
		return true;
	default:
		return false;
	}
}

static uint64_t divide(struct evaluation *it, int64_t a, int64_t b)
{
	if (!b || (a == INT64_MIN && b == -1)) {
		fail(it, LAYOUT_TRUNCATED_UNSUPPORTED);
		return 0;
	}
	return (uint64_t)(a / b);
}

static uint64_t remainder_of(struct evaluation *it, uint64_t a, uint64_t b)
{
	if (!b)
		fail(it, LAYOUT_TRUNCATED_UNSUPPORTED);
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
static bool run_binary(struct evaluation *it, const Dwarf_Op *op)
{
	bool is_binary = (op->atom >= DW_OP_and && op->atom <= DW_OP_xor && op->atom != DW_OP_neg &&
				 op->atom != DW_OP_not && op->atom != DW_OP_plus_uconst) ||
			 (op->atom >= DW_OP_eq && op->atom <= DW_OP_ne);
	if (!is_binary)
		return false;
	uint64_t b = pop(it), a = pop(it);
	int64_t sa = (int64_t)a, sb = (int64_t)b;
	switch (op->atom) {
	case DW_OP_and:
		push(it, a & b);
		break;
	case DW_OP_div:
		push(it, divide(it, sa, sb));
		break;
	case DW_OP_minus:
		push(it, a - b);
		break;
	case DW_OP_mod:
		push(it, remainder_of(it, a, b));
		break;
	case DW_OP_mul:
		push(it, a * b);
		break;
	case DW_OP_or:
		push(it, a | b);
		break;
	case DW_OP_plus:
		push(it, a + b);
		break;
	case DW_OP_shl:
		push(it, b < 64 ? a << b : 0);
		break;
	case DW_OP_shr:
		push(it, b < 64 ? a >> b : 0);
		break;
	case DW_OP_shra:
		push(it, shift_signed(a, b));
		break;
	case DW_OP_xor:
		push(it, a ^ b);
		break;
	case DW_OP_eq:
		push(it, sa == sb);
		break;
	case DW_OP_ge:
		push(it, sa >= sb);
		break;
	case DW_OP_gt:
		push(it, sa > sb);
		break;
	case DW_OP_le:
		push(it, sa <= sb);
		break;
	case DW_OP_lt:
		push(it, sa < sb);
		break;
	default:
		push(it, sa != sb);
		break;
	}
	return true;
}

static bool run_stack(struct evaluation *it, const Dwarf_Op *op)
{
	uint64_t a, b, c;
	switch (op->atom) {
	case DW_OP_dup:
		push(it, peek(it, 0));
		return true;
	case DW_OP_drop:
		pop(it);
		return true;
	case DW_OP_over:
		push(it, peek(it, 1));
		return true;
	case DW_OP_pick:
		push(it, peek(it, op->number));
		return true;
	case DW_OP_swap:
		a = pop(it), b = pop(it);
		push(it, a), push(it, b);
		return true;
	case DW_OP_rot: /* the top goes below the two under it */
		a = pop(it), b = pop(it), c = pop(it);
		push(it, a), push(it, c), push(it, b);
		return true;
	default:
		return false;
	}
}

static void run_other(struct evaluation *it, const Dwarf_Op *op)
{
	uint64_t a;
	switch (op->atom) {
	case DW_OP_nop:
		break;
	case DW_OP_abs:
		a = pop(it);
		push(it, a >> 63 ? -a : a);
		break;
	case DW_OP_neg:
		push(it, -pop(it));
		break;
	case DW_OP_not:
		push(it, ~pop(it));
		break;
	case DW_OP_plus_uconst:
		push(it, pop(it) + op->number);
		break;
	case DW_OP_deref:
		dereference(it, 8);
		break;
	case DW_OP_deref_size:
		dereference(it, op->number);
		break;
	case DW_OP_call_frame_cfa: /* libdw puts it before the rules of registers */
		if (!it->cfa)
			fail(it, LAYOUT_TRUNCATED_UNSUPPORTED);
		push(it, it->cfa ? *it->cfa : 0);
		it->is_location = true;
		break;
	case DW_OP_stack_value: /* ... and this behind those that are values */
		it->is_location = false;
		break;
	default: /* addresses of data, threads' storage, entry values: none of them is for CFI */
		fail(it, LAYOUT_TRUNCATED_UNSUPPORTED);
		break;
	}
}

/* The operation to go on with. Branches count bytes, from the end of their own three. */
static size_t next_index(struct evaluation *it, size_t index)
{
	const Dwarf_Op *op = &it->ops[index];
	bool jumps = op->atom == DW_OP_skip || (op->atom == DW_OP_bra && pop(it));
	if (!jumps)
		return index + 1;
	uint64_t target = op->offset + 3 + (uint64_t)(int64_t)(int16_t)op->number;
	for (size_t i = 0; i < it->count; i++)
		if (it->ops[i].offset == target)
			return i;
	fail(it, LAYOUT_TRUNCATED_UNSUPPORTED);
	return it->count;
}

enum layout_truncation expression_evaluate(const struct thread_state *state, const uint64_t *cfa,
	const Dwarf_Op *ops, size_t count, uint64_t *value)
{
	struct evaluation it; /* zeros for its stack would cost more than all the rest */
	it.state = state;
	it.cfa = cfa;
	it.ops = ops;
	it.count = count;
	it.depth = 0;
	it.is_location = false;
	it.fault = LAYOUT_COMPLETE;
	size_t steps = 0;
	for (size_t i = 0; i < count && !it.fault; i = next_index(&it, i)) {
		const Dwarf_Op *op = &ops[i];
		if (++steps > STEPS_MAX)
			fail(&it, LAYOUT_TRUNCATED_UNSUPPORTED);
		else if (op->atom == DW_OP_skip || op->atom == DW_OP_bra)
			continue;
		else if (!run_constant(&it, op) && !run_binary(&it, op) && !run_stack(&it, op))
			run_other(&it, op);
	}
	if (!it.fault && it.is_location)
		dereference(&it, 8);
	uint64_t result = it.fault ? 0 : pop(&it);
	if (!it.fault)
		*value = result;
	return it.fault;
}

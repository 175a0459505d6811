/*
 * How a frame of arm64 is left whose code has no rules, see symbolic.h. Calls put the return
 * address into x30, so it is there or where a function has stored it. That says more than on
 * x86-64: behind a call x30 has an address in the function itself, so a `ret` that is reached by it
 * alone, past the call of a function that never returns, is another function's.
 *
 * An indirect jump is a tail call where x30 was restored, or by the registers that stubs and, for
 * the sake of BTI, tail calls use; any other one may be by a table of cases, amid a function whose
 * x30 has what some call has left there.
 *
 * Sources: "Procedure Call Standard for the Arm 64-bit Architecture", section 6.1.1 (which
 * registers calls preserve); "Arm Architecture Reference Manual for A-profile", D8.4 (BTI).
 */
#include "format/machine/arm64_return.h"

#include "format/base/bytes.h"
#include "format/machine/arm64_insn.h"
#include "format/machine/symbolic.h"

/* Linux, include/uapi/asm-generic/unistd.h. */
enum {
	EXIT = 93,
	EXIT_GROUP = 94,
	RT_SIGRETURN = 139,
	CLONE = 220,
	CLONE3 = 435,
};

enum {
	KERNEL_NUMBER = 8, /* the register that has a system call's */
	STUB_FIRST = 16,   /* x16 and x17 are for stubs */
	STUB_LAST = 17,
};

/* What a call does not preserve: x0 to x18, x30. */
static const uint32_t arm64_scratch_registers = 0x4007ffff;

/* ---- what instructions do ---- */

static struct symbolic_value arm64_value_of(const struct symbolic_state *state, uint8_t reg)
{
	return reg <= ARM64_SP ? state->reg[reg] : (struct symbolic_value){0};
}

static void arm64_set(struct symbolic_state *state, uint8_t reg, struct symbolic_value value)
{
	if (reg > ARM64_SP)
		return;
	state->reg[reg] = value;
	if (reg == ARM64_SP && value.kind == SYMBOLIC_UNKNOWN)
		symbolic_lose_sp(state);
}

static void arm64_forget(struct symbolic_state *state, uint32_t registers)
{
	symbolic_forget(state, registers);
	if (registers >> ARM64_SP & 1)
		symbolic_lose_sp(state);
}

/* A function restores what it saved, not what it does with its data; and it may save what is not
 * known. */
static void arm64_store_at(struct symbolic_state *state, struct symbolic_value at, uint8_t reg)
{
	struct symbolic_value value = arm64_value_of(state, reg);
	if (value.kind != SYMBOLIC_UNKNOWN || reg == ARM64_FP || reg == ARM64_LR)
		symbolic_store(state, at, value);
}

static void arm64_run_memory(struct symbolic_state *state, const struct arm64_insn *insn)
{
	struct symbolic_value base = arm64_value_of(state, insn->base);
	struct symbolic_value at = symbolic_plus(base, (int64_t)insn->value);
	struct symbolic_value behind = symbolic_plus(at, insn->bytes);
	bool is_word = insn->bytes == 8;
	switch ((enum arm64_kind)insn->kind) {
	case ARM64_STORE_PAIR:
		arm64_store_at(state, behind, insn->index);
		arm64_store_at(state, at, insn->reg);
		break;
	case ARM64_STORE:
		if (is_word)
			arm64_store_at(state, at, insn->reg);
		break;
	case ARM64_LOAD_PAIR:
		at = symbolic_load(state, at);
		behind = symbolic_load(state, behind);
		arm64_set(state, insn->reg, at);
		arm64_set(state, insn->index, behind);
		break;
	default:
		at = is_word ? symbolic_load(state, at) : (struct symbolic_value){0};
		arm64_set(state, insn->reg, at);
		break;
	}
	if (insn->step)
		arm64_set(state, insn->base, symbolic_plus(base, insn->step));
}

static struct symbolic_value arm64_sum(
	const struct symbolic_state *state, const struct arm64_insn *insn, bool is_less)
{
	struct symbolic_value base = arm64_value_of(state, insn->base);
	struct symbolic_value index = arm64_value_of(state, insn->index);
	if (index.kind != SYMBOLIC_CONSTANT)
		return (struct symbolic_value){0};
	return symbolic_plus(base, is_less ? -(int64_t)index.addend : index.addend);
}

static struct symbolic_value arm64_insert(
	const struct symbolic_state *state, const struct arm64_insn *insn)
{
	struct symbolic_value old = arm64_value_of(state, insn->reg);
	if (old.kind != SYMBOLIC_CONSTANT)
		return (struct symbolic_value){0};
	uint64_t kept = (uint64_t)(int64_t)old.addend & ~(0xffffULL << insn->shift);
	return symbolic_constant((int64_t)(kept | insn->value));
}

static void arm64_run(struct symbolic_state *state, const struct arm64_insn *insn)
{
	struct symbolic_value base = arm64_value_of(state, insn->base);
	switch ((enum arm64_kind)insn->kind) {
	case ARM64_CONSTANT:
		arm64_set(state, insn->reg, symbolic_constant((int64_t)insn->value));
		break;
	case ARM64_SUM: /* of a pair of registers that is loaded, too */
		base = symbolic_plus(base, (int64_t)insn->value);
		arm64_forget(state, insn->writes & ~(1U << ARM64_SP));
		arm64_set(state, insn->reg, base);
		break;
	case ARM64_SUM_OF:
	case ARM64_DIFFERENCE_OF:
		arm64_set(state, insn->reg,
			arm64_sum(state, insn, insn->kind == ARM64_DIFFERENCE_OF));
		break;
	case ARM64_INSERT:
		arm64_set(state, insn->reg, arm64_insert(state, insn));
		break;
	case ARM64_LOAD:
	case ARM64_STORE:
	case ARM64_LOAD_PAIR:
	case ARM64_STORE_PAIR:
		arm64_run_memory(state, insn);
		break;
	case ARM64_CALL:
	case ARM64_CALL_INDIRECT:
		symbolic_forget(state, arm64_scratch_registers);
		break;
	default:
		arm64_forget(state, insn->writes);
		break;
	}
}

/* ---- following ---- */

static bool arm64_is_kernels(const struct symbolic_state *state, int number)
{
	const struct symbolic_value *value = &state->reg[KERNEL_NUMBER];
	return value->kind == SYMBOLIC_CONSTANT && value->addend == number;
}

static enum symbolic_way arm64_call_kernel(struct symbolic_state *state)
{
	if (arm64_is_kernels(state, EXIT) || arm64_is_kernels(state, EXIT_GROUP) ||
		arm64_is_kernels(state, RT_SIGRETURN))
		return SYMBOLIC_ENDS;
	state->is_forking = arm64_is_kernels(state, CLONE) || arm64_is_kernels(state, CLONE3);
	symbolic_forget(state, 1);
	return SYMBOLIC_GOES_ON;
}

static enum symbolic_way arm64_leave(struct symbolic_reading *reading, uint32_t step,
	const struct symbolic_state *state, const struct arm64_insn *insn)
{
	struct symbolic_state end = *state;
	end.reg[ARM64_LR] = arm64_value_of(state, insn->base);
	return symbolic_accept(reading, step, &end, 0, false) ? SYMBOLIC_FOUND : SYMBOLIC_ENDS;
}

static enum symbolic_way arm64_jump(struct symbolic_reading *reading, uint32_t step,
	const struct symbolic_state *state, const struct arm64_insn *insn, uint64_t next)
{
	const struct symbolic_value first = symbolic_first(ARM64_LR);
	bool is_stub = insn->base >= STUB_FIRST && insn->base <= STUB_LAST;
	bool is_restored = state->reg[ARM64_LR].kind != SYMBOLIC_UNKNOWN &&
			   !symbolic_is_same(&state->reg[ARM64_LR], &first);
	reading->leads_anywhere = true;
	if ((is_stub || is_restored) && symbolic_accept(reading, step, state, 0, true))
		return SYMBOLIC_FOUND;
	symbolic_add_block(reading, true, next, step, state);
	return SYMBOLIC_ENDS;
}

/* Both ways, but for that of a new thread. `*address` is that of the next instruction. */
static void arm64_branch(struct symbolic_reading *reading, uint32_t step,
	struct symbolic_state *state, const struct arm64_insn *insn, uint64_t *address)
{
	bool is_new_threads = state->is_forking && insn->condition <= ARM64_IF_NONZERO;
	bool goes_on_forking = state->is_forking && !is_new_threads;
	state->is_forking = false;
	if (is_new_threads && insn->condition == ARM64_IF_NONZERO)
		*address = insn->value;
	else if (!is_new_threads)
		symbolic_add_block(reading, false, insn->value, step, state);
	state->is_forking = goes_on_forking;
}

static enum symbolic_way arm64_follow(struct symbolic_reading *reading, uint32_t step,
	struct symbolic_state *state, uint64_t *address)
{
	size_t len;
	uint64_t at = *address;
	const uint8_t *bytes = symbolic_code(reading, at, &len);
	if (!bytes || len < ARM64_INSN_BYTES) {
		reading->leads_anywhere = true;
		return SYMBOLIC_ENDS;
	}
	struct arm64_insn insn = arm64_insn_decode(bytes, len, at);
	*address = at + ARM64_INSN_BYTES;
	switch ((enum arm64_kind)insn.kind) {
	case ARM64_RETURN:
		return arm64_leave(reading, step, state, &insn);
	case ARM64_JUMP_INDIRECT:
		return arm64_jump(reading, step, state, &insn, *address);
	case ARM64_JUMP:
		*address = insn.value;
		return SYMBOLIC_GOES_ON;
	case ARM64_BRANCH:
		arm64_branch(reading, step, state, &insn, address);
		return SYMBOLIC_GOES_ON;
	case ARM64_KERNEL:
		return arm64_call_kernel(state);
	case ARM64_COMPARE:
		return SYMBOLIC_GOES_ON;
	case ARM64_STOP:
		return SYMBOLIC_ENDS;
	default:
		break;
	}
	state->is_forking = false;
	arm64_run(state, &insn);
	bool is_lost = symbolic_is_lost(&state->reg[ARM64_SP]) &&
		       state->reg[ARM64_FP].kind == SYMBOLIC_UNKNOWN;
	return is_lost ? SYMBOLIC_ENDS : SYMBOLIC_GOES_ON;
}

static uint8_t arm64_dwarf_number(uint8_t reg)
{
	return reg; /* "DWARF for the Arm 64-bit Architecture", section 4.1 */
}

static const struct symbolic_machine arm64_symbolic = {
	.sp = ARM64_SP,
	.restored = {[SYMBOLIC_FP] = ARM64_FP, [SYMBOLIC_SECOND] = ARM64_LR},
	.has_link = true,
	.insn_max = ARM64_INSN_BYTES,
	.dwarf_number = arm64_dwarf_number,
	.follow = arm64_follow,
};

static bool arm64_insn_at(const struct machine_code *code, uint64_t address, struct arm64_insn *ret)
{
	uint8_t bytes[ARM64_INSN_BYTES];
	if (code->read(code->context, address, bytes, sizeof(bytes)) != sizeof(bytes))
		return false;
	*ret = arm64_insn_decode(bytes, sizeof(bytes), address);
	return true;
}

/* mov x8, number; svc; and then the address. */
static bool arm64_is_behind_forking_call(const struct machine_code *code, uint64_t address)
{
	struct arm64_insn number, call;
	return arm64_insn_at(code, address - 2 * ARM64_INSN_BYTES, &number) &&
	       arm64_insn_at(code, address - ARM64_INSN_BYTES, &call) &&
	       call.kind == ARM64_KERNEL && number.kind == ARM64_CONSTANT &&
	       number.reg == KERNEL_NUMBER && (number.value == CLONE || number.value == CLONE3);
}

bool arm64_find_return(const struct machine_code *code, uint64_t address)
{
	struct symbolic_reading reading = {.machine = &arm64_symbolic, .code = code};
	struct symbolic_state state = {.has_frame_bytes = code->has_frame_bytes,
		.frame_bytes = code->frame_bytes,
		.is_forking = arm64_is_behind_forking_call(code, address)};
	return symbolic_follow(&reading, address, &state);
}

/* ---- from a call ---- */

static bool arm64_accept_no_return(void *context, const struct unwind_rule *rule, bool is_jump)
{
	(void)context, (void)rule, (void)is_jump;
	return false;
}

/* Follows from `begin` to `wanted`, over all returns. */
static bool arm64_follow_to(const struct machine_code *code, uint64_t begin, uint64_t wanted,
	struct symbolic_reading *ret)
{
	const struct machine_code reader = {
		.read = code->read, .accepts = arm64_accept_no_return, .context = code->context};
	struct symbolic_state state = {0};
	*ret = (struct symbolic_reading){
		.machine = &arm64_symbolic, .code = &reader, .wanted = wanted};
	return symbolic_follow(ret, begin, &state);
}

bool arm64_may_have_called(const struct machine_code *code, uint64_t ra, uint64_t address)
{
	struct arm64_insn call;
	struct symbolic_reading reading;
	if (!arm64_insn_at(code, ra - ARM64_INSN_BYTES, &call) || call.kind != ARM64_CALL)
		return true;
	return arm64_follow_to(code, call.value, address, &reading) || reading.leads_anywhere;
}

bool arm64_find_from_call(
	const struct machine_code *code, uint64_t ra, uint64_t address, struct unwind_rule *ret)
{
	struct arm64_insn call;
	struct symbolic_reading reading;
	if (!arm64_insn_at(code, ra - ARM64_INSN_BYTES, &call) || call.kind != ARM64_CALL ||
		!arm64_follow_to(code, call.value, address, &reading))
		return false;
	struct symbolic_step step = symbolic_step_of(&reading.at_wanted, address, 1);
	struct symbolic_state end = {0};
	end.reg[ARM64_SP] = symbolic_first(ARM64_SP);
	end.reg[ARM64_FP] = symbolic_first(ARM64_FP);
	end.reg[ARM64_LR] = symbolic_first(ARM64_LR);
	step.is_forking = false;
	return symbolic_rule(&arm64_symbolic, &step, &end, 0, ret);
}

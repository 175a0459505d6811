/*
 * How a frame of x86-64 is left whose code has no rules, see symbolic.h: the return address is on
 * the stack, below all that `ret` leaves.
 *
 * Source: System V x86-64 psABI, section 3.2 (which registers calls preserve).
 */
#include "format/machine/x86_64_return.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/machine/symbolic.h"
#include "format/machine/x86_64_insn.h"

/* Linux, syscall_64.tbl. */
enum {
	CLONE = 56,
	CLONE3 = 435,
};

enum {
	NR_REGISTERS = 16,
	FRAME_BYTES = 16, /* the frame pointer and the return address */
};

/* What a call does not preserve: rax, rcx, rdx, rsi, rdi, r8 to r11. */
static const uint16_t scratch_registers = 0x0fc7;

/* ---- what instructions do ---- */

static struct symbolic_value of_register(const struct symbolic_state *state, uint8_t reg)
{
	return reg < NR_REGISTERS ? state->reg[reg] : (struct symbolic_value){0};
}

static void x86_64_return_push(struct symbolic_state *state, struct symbolic_value value)
{
	struct symbolic_value *sp = &state->reg[X86_64_SP];
	*sp = symbolic_plus(*sp, -8);
	symbolic_store(state, *sp, value);
}

static struct symbolic_value x86_64_return_pop(struct symbolic_state *state)
{
	struct symbolic_value *sp = &state->reg[X86_64_SP], value = symbolic_load(state, *sp);
	if (state->nr_slots && symbolic_is_same(&state->slots[state->nr_slots - 1].at, sp))
		state->nr_slots--;
	*sp = symbolic_plus(*sp, 8);
	return value;
}

static struct symbolic_value pushed(
	const struct symbolic_state *state, const struct x86_64_insn *insn)
{
	if (insn->reg < NR_REGISTERS)
		return state->reg[insn->reg];
	return insn->base == X86_64_NO_REGISTER ? symbolic_constant(insn->value)
						: (struct symbolic_value){0};
}

/*
 * A caller can make the frame of what it calls: it stores its frame pointer below its own frame,
 * ahead of room for a return address, the frame pointer becomes that place, and the callee leaves
 * as if it had pushed it itself. A function's own frame is right below its return address, unless
 * it was such a callee, which has taken that from there.
 *
 * Source: SBCL 2.2.9, src/compiler/x86-64/call.lisp, "allocate-frame", "call-named".
 */
static void note_callee_frame(struct symbolic_state *state, const struct symbolic_value *at,
	const struct symbolic_value *value)
{
	const struct symbolic_value first_sp = symbolic_first(X86_64_SP);
	bool has_taken_it =
		state->ra_at.kind == SYMBOLIC_SUM && !symbolic_is_same(&state->ra_at, &first_sp);
	bool is_own_frame = at->base == X86_64_SP && at->addend > -FRAME_BYTES && !has_taken_it;
	bool is_place = at->kind == SYMBOLIC_SUM || at->kind == SYMBOLIC_DEREF;
	if (is_place && !is_own_frame && symbolic_is_same(value, &state->reg[X86_64_BP]))
		state->callee_frame = (struct symbolic_slot){*at, *value};
}

static void return_from_call(struct symbolic_state *state)
{
	const struct symbolic_slot *frame = &state->callee_frame;

	symbolic_forget(state, scratch_registers);
	if (frame->at.kind == SYMBOLIC_UNKNOWN ||
		!symbolic_is_same(&frame->at, &state->reg[X86_64_BP]))
		return;
	state->reg[X86_64_SP] = symbolic_plus(frame->at, FRAME_BYTES);
	state->reg[X86_64_BP] = frame->value;
	state->callee_frame = (struct symbolic_slot){0};
}

/* Where the way begins it is on top of the stack, if it begins where the function does. */
static bool is_return_address(const struct symbolic_value *value)
{
	return value->kind == SYMBOLIC_DEREF && value->base == X86_64_SP && !value->offset &&
	       !value->addend;
}

static void execute(struct symbolic_state *state, const struct x86_64_insn *insn)
{
	struct symbolic_value base = of_register(state, insn->base), at, value;
	switch ((enum x86_64_kind)insn->kind) {
	case X86_64_ADDRESS:
		state->reg[insn->reg] = symbolic_plus(base, insn->value);
		break;
	case X86_64_LOAD:
		state->reg[insn->reg] = symbolic_load(state, symbolic_plus(base, insn->value));
		break;
	case X86_64_STORE: /* a function restores what it saved, not what it does with its data */
		value = of_register(state, insn->reg);
		at = symbolic_plus(base, insn->value);
		note_callee_frame(state, &at, &value);
		if (value.kind != SYMBOLIC_UNKNOWN)
			symbolic_store(state, at, value);
		break;
	case X86_64_CONSTANT:
		state->reg[insn->reg] = symbolic_constant(insn->value);
		break;
	case X86_64_PUSH:
		x86_64_return_push(state, pushed(state, insn));
		break;
	case X86_64_POP:
		value = x86_64_return_pop(state);
		at = symbolic_plus(base, insn->value);
		if (insn->reg < NR_REGISTERS)
			state->reg[insn->reg] = value;
		else if (is_return_address(&value) && state->ra_at.kind == SYMBOLIC_SUM)
			state->ra_at = at;
		else if (is_return_address(&value)) /* to where no rule finds it */
			symbolic_forget(state, 1 << X86_64_SP | 1 << X86_64_BP);
		break;
	case X86_64_LEAVE:
		state->reg[X86_64_SP] = state->reg[X86_64_BP];
		state->reg[X86_64_BP] = x86_64_return_pop(state);
		break;
	case X86_64_CALL:
		if (!insn->value) /* only to learn where it is */
			x86_64_return_push(state, (struct symbolic_value){0});
		else
			return_from_call(state);
		break;
	case X86_64_CALL_INDIRECT:
		return_from_call(state);
		break;
	case X86_64_OTHER:
		if (!insn->is_cmov) /* else the way goes on that leaves the stack pointer alone */
			symbolic_forget(state, insn->writes | 1 << X86_64_SP);
		if (!insn->is_cmov) /* an alignment, say */
			symbolic_lose_sp(state);
		break;
	default:
		symbolic_forget(state, insn->writes);
		break;
	}
}

static uint8_t x86_64_dwarf_number(uint8_t reg)
{
	static const uint8_t numbers[8] = {0, 2, 1, 3, 7, 6, 4, 5}; /* psABI, figure 3.36 */
	return reg < 8 ? numbers[reg] : reg;
}

/* ---- following ---- */

static bool decode_at(struct symbolic_reading *reading, uint64_t address, struct x86_64_insn *insn)
{
	size_t len;
	const uint8_t *bytes = symbolic_code(reading, address, &len);
	return bytes && x86_64_insn_decode(bytes, len, insn);
}

static bool accept(struct symbolic_reading *reading, uint32_t last,
	const struct symbolic_state *end, const struct x86_64_insn *insn)
{
	bool is_jump = insn->kind != X86_64_RETURN;
	return symbolic_accept(reading, last, end, is_jump ? 0 : insn->value, is_jump);
}

static bool is_code(const struct symbolic_reading *reading, uint64_t address)
{
	uint8_t byte;
	return reading->code->read(reading->code->context, address, &byte, 1) == 1;
}

/*
 * At the top of the stack stands an address that the way has put there itself: the jump or return
 * at hand goes there, or calls something that will. False: none does.
 */
static bool follow_pushed(
	struct symbolic_reading *reading, uint32_t step, struct symbolic_state *state)
{
	const struct symbolic_value *top = symbolic_written(state, &state->reg[X86_64_SP]);
	if (!top || top->kind != SYMBOLIC_CONSTANT || !is_code(reading, (uint32_t)top->addend))
		return false;
	uint64_t address = (uint32_t)top->addend;
	x86_64_return_pop(state);
	symbolic_forget(state, scratch_registers);
	symbolic_add_block(reading, false, address, step, state);
	return true;
}

/* Never goes on: exit, rt_sigreturn, exit_group. Linux, syscall_64.tbl. */
static bool is_last_call(const struct symbolic_state *state)
{
	const struct symbolic_value *number = &state->reg[X86_64_AX];
	return number->kind == SYMBOLIC_CONSTANT &&
	       (number->addend == 15 || number->addend == 60 || number->addend == 231);
}

/* Returns twice, once as 0 where nothing has called: clone, clone3. */
static bool is_forking_call(const struct symbolic_state *state)
{
	const struct symbolic_value *number = &state->reg[X86_64_AX];
	return number->kind == SYMBOLIC_CONSTANT &&
	       (number->addend == CLONE || number->addend == CLONE3);
}

/* The same of one that ends at an address: mov $number, %eax; syscall. */
static bool is_behind_forking_call(const struct machine_code *code, uint64_t address)
{
	static const uint8_t calls[][7] = {
		{0xb8, CLONE & 255, CLONE >> 8, 0, 0, 0x0f, 0x05},
		{0xb8, CLONE3 & 255, CLONE3 >> 8, 0, 0, 0x0f, 0x05},
	};
	uint8_t bytes[sizeof(calls[0])];
	return code->read(code->context, address - sizeof(bytes), bytes, sizeof(bytes)) ==
		       sizeof(bytes) &&
	       (memcmp(bytes, calls[0], sizeof(bytes)) == 0 ||
		       memcmp(bytes, calls[1], sizeof(bytes)) == 0);
}

/*
 * A function whose callers push as many arguments as they like pops them with its return address in
 * a register, which it pushes again to return there: the caller's stack pointer is not known then,
 * but where the return address was. False: that is not what it does.
 *
 * Source: V8 15.6, MacroAssembler::DropArguments(), src/codegen/x64/macro-assembler-x64.cc.
 */
static bool accept_pushed_again(struct symbolic_reading *reading, uint32_t step,
	const struct symbolic_state *state, const struct symbolic_value *top,
	const struct x86_64_insn *insn)
{
	struct symbolic_state end;
	if (!symbolic_is_lost(&state->reg[X86_64_SP]) || insn->kind != X86_64_RETURN)
		return false;
	end = *state;
	end.reg[X86_64_SP] = symbolic_address_of(top);
	return end.reg[X86_64_SP].kind != SYMBOLIC_UNKNOWN && accept(reading, step, &end, insn);
}

static enum symbolic_way x86_64_return_leave(struct symbolic_reading *reading, uint32_t step,
	struct symbolic_state *state, const struct x86_64_insn *insn, uint64_t next)
{
	bool is_return = insn->kind == X86_64_RETURN;
	const struct symbolic_value *own = symbolic_written(state, &state->reg[X86_64_SP]);
	if (own && accept_pushed_again(reading, step, state, own, insn))
		return SYMBOLIC_FOUND;
	if (follow_pushed(reading, step, state))
		return SYMBOLIC_ENDS;
	if (!own && !insn->is_notrack && accept(reading, step, state, insn))
		return SYMBOLIC_FOUND;
	if (!is_return)
		symbolic_add_block(reading, !insn->is_notrack, next, step, state);
	return SYMBOLIC_ENDS;
}

/* Both ways, but for that of a new thread. `*address` is that of the next instruction. */
static enum symbolic_way x86_64_return_branch(struct symbolic_reading *reading, uint32_t step,
	struct symbolic_state *state, const struct x86_64_insn *insn, uint64_t *address)
{
	uint64_t target = *address + (uint64_t)insn->value;
	bool is_zero = insn->condition == X86_64_IF_ZERO;
	bool is_nonzero = insn->condition == X86_64_IF_NONZERO;
	bool is_new_threads = state->is_forking && (is_zero || is_nonzero);
	bool goes_on_forking = state->is_forking && !is_new_threads;
	symbolic_forget(state, insn->writes);
	state->is_forking = false;
	if (is_new_threads && is_nonzero)
		*address = target;
	else if (!is_new_threads)
		symbolic_add_block(reading, false, target, step, state);
	state->is_forking = goes_on_forking;
	return SYMBOLIC_GOES_ON;
}

/* One instruction. */
static enum symbolic_way x86_64_return_follow(struct symbolic_reading *reading, uint32_t step,
	struct symbolic_state *state, uint64_t *address)
{
	struct x86_64_insn insn;
	if (!decode_at(reading, *address, &insn))
		return SYMBOLIC_ENDS;
	uint64_t next = *address + insn.len, target = next + (uint64_t)insn.value;
	*address = next;
	switch ((enum x86_64_kind)insn.kind) {
	case X86_64_RETURN:
	case X86_64_JUMP_INDIRECT:
		return x86_64_return_leave(reading, step, state, &insn, next);
	case X86_64_JUMP:
		if (follow_pushed(reading, step, state))
			return SYMBOLIC_ENDS;
		*address = target;
		return SYMBOLIC_GOES_ON;
	case X86_64_BRANCH:
		return x86_64_return_branch(reading, step, state, &insn, address);
	case X86_64_TEST_AX:
		return SYMBOLIC_GOES_ON;
	case X86_64_SYSCALL:
		if (is_last_call(state))
			return SYMBOLIC_ENDS;
		state->is_forking = is_forking_call(state);
		symbolic_forget(state, insn.writes);
		return SYMBOLIC_GOES_ON;
	case X86_64_STOP:
		return SYMBOLIC_ENDS;
	default:
		break;
	}
	state->is_forking = false;
	execute(state, &insn);
	return symbolic_is_lost(&state->reg[X86_64_SP]) &&
			       state->reg[X86_64_BP].kind == SYMBOLIC_UNKNOWN &&
			       state->ra_at.kind != SYMBOLIC_SUM
		       ? SYMBOLIC_ENDS
		       : SYMBOLIC_GOES_ON;
}

static const struct symbolic_machine x86_64_symbolic = {
	.sp = X86_64_SP,
	.restored = {[SYMBOLIC_FP] = X86_64_BP, [SYMBOLIC_SECOND] = X86_64_BX},
	.pushed_bytes = 8,
	.insn_max = X86_64_INSN_MAX,
	.dwarf_number = x86_64_dwarf_number,
	.follow = x86_64_return_follow,
};

bool x86_64_find_return(const struct machine_code *code, uint64_t address)
{
	struct symbolic_reading reading = {.machine = &x86_64_symbolic, .code = code};
	struct symbolic_state state = {.has_frame_bytes = code->has_frame_bytes,
		.frame_bytes = code->frame_bytes,
		.is_forking = is_behind_forking_call(code, address)};
	return symbolic_follow(&reading, address, &state);
}

/* ---- from a call ---- */

static uint32_t word_of_code(const uint8_t *bytes)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(uint32_t));
	return bytes_get_u32(&cursor);
}

/* Where the call that ends at an address goes; 0: it does not tell. Intel SDM, volume 2, "CALL". */
static uint64_t target_of_call(const struct machine_code *code, uint64_t ra)
{
	enum {
		REL32_BYTES = 5,
		RIP_BYTES = 6, /* call *disp32(%rip) */
		CALL_REL32 = 0xe8,
	};
	uint8_t call[RIP_BYTES], target[sizeof(uint64_t)];
	if (code->read(code->context, ra - REL32_BYTES, call + 1, REL32_BYTES) != REL32_BYTES)
		return 0;
	uint64_t place = ra + (uint64_t)(int64_t)(int32_t)word_of_code(call + 2);
	if (call[1] == CALL_REL32)
		return place;
	if (code->read(code->context, ra - RIP_BYTES, call, RIP_BYTES) != RIP_BYTES ||
		call[0] != 0xff || call[1] != 0x15 ||
		code->read(code->context, place, target, sizeof(target)) != sizeof(target))
		return 0;
	struct bytes_cursor cursor = bytes_cursor(target, sizeof(target));
	return bytes_get_u64(&cursor);
}

static bool accept_no_return(void *context, const struct unwind_rule *rule, bool is_jump)
{
	(void)context, (void)rule, (void)is_jump;
	return false;
}

/* The rule of `address`, by the way there from where a function begins. */
static bool find_from(
	const struct machine_code *code, uint64_t begin, uint64_t address, struct unwind_rule *ret)
{
	const struct machine_code reader = {
		.read = code->read, .accepts = accept_no_return, .context = code->context};
	struct symbolic_reading reading = {
		.machine = &x86_64_symbolic, .code = &reader, .wanted = address};
	struct symbolic_state state = {.ra_at = symbolic_first(X86_64_SP)};
	if (!symbolic_follow(&reading, begin, &state))
		return false;
	struct symbolic_step step = symbolic_step_of(&reading.at_wanted, address, 1);
	struct symbolic_state end = {0};
	end.reg[X86_64_SP] = reading.at_wanted.ra_at;
	end.reg[X86_64_BP] = symbolic_first(X86_64_BP);
	end.reg[X86_64_BX] = symbolic_first(X86_64_BX);
	step.is_forking = false;
	if (!symbolic_rule(&x86_64_symbolic, &step, &end, 0, ret))
		return false;
	/* Where the caller has made the frame its own frame pointer is there, too. */
	if (end.reg[X86_64_SP].base == X86_64_BP) {
		ret->fp = UNWIND_AT_CFA;
		ret->fp_offset = -FRAME_BYTES;
	}
	return true;
}

/* Where the function that begins there has made its frame pointer and saved registers; 0: it makes
 * none at once. */
static uint64_t find_end_of_pushes(struct symbolic_reading *reading, uint64_t begin)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct x86_64_insn insn;
	uint64_t at = begin;
	bool has_frame = false;
	if (decode_at(reading, at, &insn) && insn.len == sizeof(endbr64) &&
		memcmp(reading->window + (at - reading->window_address), endbr64,
			sizeof(endbr64)) == 0)
		at += insn.len;
	if (!decode_at(reading, at, &insn) || insn.kind != X86_64_PUSH || insn.reg != X86_64_BP)
		return 0;
	at += insn.len;
	while (decode_at(reading, at, &insn)) {
		bool is_frame = insn.kind == X86_64_ADDRESS && insn.reg == X86_64_BP &&
				insn.base == X86_64_SP && !insn.value;
		if (!(has_frame ? insn.kind == X86_64_PUSH : is_frame))
			break;
		has_frame = true;
		at += insn.len;
	}
	return has_frame ? at : 0;
}

/* Whether an address is an instruction of the function that begins there, as far as another one is
 * seen by what fills up the space ahead of it. */
static bool is_in_function(struct symbolic_reading *reading, uint64_t begin, uint64_t address)
{
	struct x86_64_insn insn;
	bool goes_on = true;
	uint64_t at = begin;
	for (int i = 0; at < address && i < SYMBOLIC_MAX_STEPS; i++) {
		if (!decode_at(reading, at, &insn) || (!goes_on && insn.kind == X86_64_FILLER))
			return false;
		goes_on = insn.kind != X86_64_RETURN && insn.kind != X86_64_JUMP &&
			  insn.kind != X86_64_JUMP_INDIRECT && insn.kind != X86_64_STOP;
		at += insn.len;
	}
	return at == address;
}

/*
 * The rule of an instruction that no way leads to but by a table of cases, which is not read: where
 * its function makes a frame pointer before anything else, it has it all along, as have those
 * registers their places that are pushed then.
 */
static bool find_by_prologue(
	const struct machine_code *code, uint64_t begin, uint64_t address, struct unwind_rule *ret)
{
	struct symbolic_reading reading = {.machine = &x86_64_symbolic, .code = code};
	uint64_t pushed = find_end_of_pushes(&reading, begin);
	return pushed && address > pushed && is_in_function(&reading, begin, address) &&
	       find_from(code, begin, pushed, ret) && ret->cfa_register == UNWIND_X86_64_FP;
}

bool x86_64_find_from_call(
	const struct machine_code *code, uint64_t ra, uint64_t address, struct unwind_rule *ret)
{
	uint64_t target = target_of_call(code, ra);
	return target && (find_from(code, target, address, ret) ||
				 find_by_prologue(code, target, address, ret));
}

/* How functions begin that make a frame, or say otherwise that they begin. */
struct begin {
	uint8_t len, ahead; /* bytes; how many of them stand ahead of the function */
	bool is_in_frame;   /* that the caller has made, but for the return address */
	uint8_t bytes[6];
};

/* Whether a function begins `ret->ahead` bytes behind the first of these; else NULL. */
static const struct begin *find_begin(const uint8_t *bytes)
{
	static const struct begin begins[] = {
		{4, 0, false, {0x55, 0x48, 0x89, 0xe5}}, /* push %rbp; mov %rsp, %rbp */
		{4, 0, false, {0x55, 0x48, 0x8b, 0xec}},
		{3, 0, true, {0x8f, 0x45, 0x08}}, /* pop 8(%rbp) */
		/* Poly/ML 5.7, X86CodeGen.ML: of a code object's length word the byte that says
		 * what it is; then, whether the stack has room: cmp 24(%rbp), %rsp; jae. Loops
		 * begin like that, too, but for the byte. */
		{6, 1, false, {0x02, 0x48, 0x3b, 0x65, 0x18, 0x73}},
	};
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (memcmp(bytes, begins[i].bytes, begins[i].len) == 0)
			return &begins[i];
	return NULL;
}

/* The rule of `address`, by the way there from the begin that was seen at `at`. */
static bool find_from_seen(const struct machine_code *code, const struct begin *seen, uint64_t at,
	uint64_t address, struct unwind_rule *ret)
{
	static const struct unwind_rule at_once = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_X86_64_FP,
		.cfa_offset = FRAME_BYTES,
		.fp = UNWIND_AT_CFA,
		.fp_offset = -FRAME_BYTES,
		.ra = UNWIND_AT_SP};
	if (!seen->is_in_frame || at != address)
		return find_from(code, at + seen->ahead, address, ret);
	*ret = at_once;
	return true;
}

bool x86_64_find_from_begin(
	const struct machine_code *code, uint64_t address, struct unwind_rule *ret)
{
	enum {
		MAX_BLOCKS_BACK = 16,
		BLOCK_BYTES = 512, /* none lies in two pages, of which one may not be there */
		MORE_BYTES = 6,    /* of the last one */
		MAX_TRIES = 4,
	};
	int tries = 0;
	uint8_t bytes[BLOCK_BYTES + MORE_BYTES];
	uint64_t block = address - address % BLOCK_BYTES;
	for (int i = 0; i < MAX_BLOCKS_BACK && block; i++, block -= BLOCK_BYTES) {
		size_t got = code->read(code->context, block, bytes, sizeof(bytes));
		if (got < BLOCK_BYTES && i)
			return false;
		size_t end = got > MORE_BYTES ? got - MORE_BYTES : 0;
		size_t last = address - block < end ? address - block + 1 : end;
		for (size_t at = last; at-- > 0;) {
			const struct begin *seen = find_begin(bytes + at);
			if (!seen)
				continue;
			if (tries++ == MAX_TRIES)
				return false;
			if (find_from_seen(code, seen, block + at, address, ret))
				return code->accepts(code->context, ret, false);
		}
	}
	return false;
}

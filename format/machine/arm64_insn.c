#include "format/machine/arm64_insn.h"

#include "format/base/bytes.h"

enum {
	PAGE_SHIFT = 12,
	ZERO = 31,       /* where it is not the stack pointer */
	FIRST_KEPT = 19, /* registers that calls preserve: x19 to x28, and the frame pointer */
};

/* Bits [from, from + count) as a number with a sign. */
static int64_t signed_bits(uint32_t insn, unsigned from, unsigned count)
{
	return (int64_t)((uint64_t)insn << (64 - from - count)) >> (64 - count);
}

static uint8_t number_of(uint32_t insn, unsigned from)
{
	return insn >> from & 31;
}

/* Of registers that are not the stack pointer where they are 31. */
static uint8_t general(uint32_t insn, unsigned from)
{
	uint8_t number = number_of(insn, from);
	return number == ZERO ? ARM64_NO_REGISTER : number;
}

/* ---- what leads elsewhere ---- */

static bool decode_branch(uint32_t insn, uint64_t address, struct arm64_insn *ret)
{
	if ((insn & 0x7c000000) == 0x14000000) { /* b, bl */
		ret->kind = insn >> 31 ? ARM64_CALL : ARM64_JUMP;
		ret->value = address + (uint64_t)signed_bits(insn, 0, 26) * ARM64_INSN_BYTES;
	} else if ((insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000) {
		ret->kind = ARM64_BRANCH; /* b.cond, bc.cond; cbz, cbnz */
		ret->value = address + (uint64_t)signed_bits(insn, 5, 19) * ARM64_INSN_BYTES;
	} else if ((insn & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		ret->kind = ARM64_BRANCH;
		ret->value = address + (uint64_t)signed_bits(insn, 5, 14) * ARM64_INSN_BYTES;
	} else if ((insn & 0xfe000000) == 0xd6000000) { /* br, blr, ret; signed ones */
		unsigned operation = insn >> 21 & 7;
		ret->kind = operation == 2   ? ARM64_RETURN
			    : operation == 1 ? ARM64_CALL_INDIRECT
					     : ARM64_JUMP_INDIRECT;
		ret->base = general(insn, 5);
	} else {
		return false;
	}
	return true;
}

/* ---- sums ---- */

static bool decode_sum(uint32_t insn, uint64_t address, struct arm64_insn *ret)
{
	bool is_wide = insn >> 31;
	ret->reg = general(insn, 0);
	if ((insn & 0x1f000000) == 0x10000000) { /* adr, adrp */
		uint64_t value = (uint64_t)signed_bits(insn, 5, 19) << 2 | (insn >> 29 & 3);
		ret->kind = ARM64_CONSTANT;
		ret->value = is_wide ? (address >> PAGE_SHIFT << PAGE_SHIFT) + (value << PAGE_SHIFT)
				     : address + value;
	} else if ((insn & 0x1f800000) == 0x11000000) { /* add, sub, cmp with a number */
		bool is_less = insn >> 30 & 1, has_flags = insn >> 29 & 1;
		uint64_t value = (uint64_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0);
		ret->base = number_of(insn, 5);
		ret->value = is_less ? 0 - value : value;
		if (!has_flags)
			ret->reg = number_of(insn, 0);
		ret->kind = is_wide ? ARM64_SUM : ARM64_PLAIN;
		if (has_flags && ret->reg == ARM64_NO_REGISTER) {
			ret->kind = ARM64_COMPARE;
			ret->value = value;
		}
	} else if ((insn & 0xffe0fc00) == 0x8b000000) { /* add of registers, not shifted */
		ret->kind = ARM64_SUM_OF;
		ret->base = general(insn, 5);
		ret->index = general(insn, 16);
	} else if ((insn & 0xffe0ffe0) == 0xaa0003e0) { /* mov of registers */
		ret->kind = ARM64_SUM;
		ret->base = general(insn, 16);
		if (ret->base == ARM64_NO_REGISTER)
			ret->kind = ARM64_CONSTANT;
	} else if ((insn & 0x7f800000) == 0x52800000) { /* movz */
		ret->kind = ARM64_CONSTANT;
		ret->value = (uint64_t)(insn >> 5 & 0xffff) << (insn >> 21 & 3) * 16;
	} else if ((insn & 0xffffffe0) == 0xd53bd040) { /* mrs of tpidr_el0 */
		ret->kind = ARM64_THREAD;               /* at 0 from itself */
	} else {
		return false;
	}
	return true;
}

/* ---- memory ---- */

/* Vector registers and what writes its base are none of these. */
static bool decode_memory(uint32_t insn, struct arm64_insn *ret)
{
	unsigned size = insn >> 30, operation = insn >> 22 & 3;
	bool is_load = operation == 1;
	ret->base = number_of(insn, 5);
	ret->reg = general(insn, 0);
	ret->bytes = (uint8_t)(1U << size);
	is_load |= operation >= 2 && size < 3;                                 /* with a sign */
	if ((insn & 0x3f000000) == 0x39000000 && (operation < 2 || is_load)) { /* by a number */
		ret->kind = is_load ? ARM64_LOAD : ARM64_STORE;
		ret->value = (uint64_t)(insn >> 10 & 0xfff) << size;
	} else if ((insn & 0x3f200c00) == 0x38000000 && operation < 2) { /* ldur, stur */
		ret->kind = is_load ? ARM64_LOAD : ARM64_STORE;
		ret->value = (uint64_t)signed_bits(insn, 12, 9);
	} else if ((insn & 0xffe0fc00) == 0xf8606800) { /* ldr by a register, not shifted */
		ret->kind = ARM64_LOAD_OF;
		ret->index = general(insn, 16);
	} else if ((insn & 0xfe400000) == 0xa8000000) { /* stp of 64 bits, in each of its ways */
		ret->kind = ARM64_STORE_PAIR;
		ret->bytes = 8;
		ret->index = general(insn, 10);
		ret->value = (uint64_t)signed_bits(insn, 15, 7) * 8;
	} else {
		return false;
	}
	return true;
}

static uint32_t bit_of(uint8_t reg)
{
	return reg < ARM64_SP ? 1U << reg : 0;
}

/*
 * Of what has no kind: the register that it names first, which most write; of memory, a pair, and
 * the base, which may be moved.
 */
static uint32_t written_by_plain(uint32_t insn)
{
	bool is_memory = (insn & 0x0a000000) == 0x08000000;
	uint32_t more = bit_of(general(insn, 5)) | bit_of(general(insn, 10));
	return bit_of(general(insn, 0)) | (is_memory ? more : 0);
}

static bool moves_base(uint32_t insn)
{
	return insn >> 23 & 1; /* of pairs: before or behind */
}

struct arm64_insn arm64_insn_decode(const uint8_t *code, size_t len, uint64_t address)
{
	const struct arm64_insn none = {
		.reg = ARM64_NO_REGISTER, .base = ARM64_NO_REGISTER, .index = ARM64_NO_REGISTER};
	struct arm64_insn ret = none;
	if (len < ARM64_INSN_BYTES)
		return ret;
	struct bytes_cursor cursor = bytes_cursor(code, ARM64_INSN_BYTES);
	uint32_t insn = bytes_get_u32(&cursor);
	if (decode_branch(insn, address, &ret)) {
		bool is_call = ret.kind == ARM64_CALL || ret.kind == ARM64_CALL_INDIRECT;
		ret.writes = is_call ? 1U << ARM64_LR : 0;
		return ret;
	}
	ret = none;
	bool is_sum = decode_sum(insn, address, &ret);
	if (is_sum)
		ret.writes = bit_of(ret.reg);
	if (is_sum)
		return ret;
	ret = none;
	if (!decode_memory(insn, &ret)) {
		ret = none;
		ret.writes = written_by_plain(insn);
	} else if (ret.kind == ARM64_STORE_PAIR) {
		ret.writes = moves_base(insn) ? bit_of(ret.base) : 0;
	} else if (ret.kind != ARM64_STORE) {
		ret.writes = bit_of(ret.reg);
	}
	return ret;
}

/* ---- what is known ---- */

static bool arm64_values_has(const struct arm64_values *values, uint8_t reg)
{
	return reg < ARM64_SP && values->known >> reg & 1;
}

bool arm64_values_address(const struct arm64_values *values, const struct arm64_insn *insn,
	uint64_t *ret, bool *of_thread)
{
	bool by_number = insn->kind == ARM64_SUM || insn->kind == ARM64_LOAD ||
			 insn->kind == ARM64_STORE || insn->kind == ARM64_STORE_PAIR;
	bool by_register = insn->kind == ARM64_SUM_OF || insn->kind == ARM64_LOAD_OF;
	if ((!by_number && !by_register) || !arm64_values_has(values, insn->base) ||
		(by_register && !arm64_values_has(values, insn->index)))
		return false;
	*ret = values->value[insn->base] + (by_register ? values->value[insn->index] : insn->value);
	uint32_t which = 1U << insn->base | (by_register ? 1U << insn->index : 0);
	*of_thread = values->of_thread & which;
	return true;
}

void arm64_values_run(struct arm64_values *values, const struct arm64_insn *insn)
{
	uint64_t value = insn->value;
	bool of_thread = insn->kind == ARM64_THREAD;
	bool is_sum = insn->kind == ARM64_SUM || insn->kind == ARM64_SUM_OF;
	bool is_known = insn->kind == ARM64_CONSTANT || of_thread ||
			(is_sum && arm64_values_address(values, insn, &value, &of_thread));
	bool is_call = insn->kind == ARM64_CALL || insn->kind == ARM64_CALL_INDIRECT;
	uint32_t bit = is_known ? bit_of(insn->reg) : 0;
	values->known &= ~(insn->writes | (is_call ? (1U << FIRST_KEPT) - 1 : 0));
	values->known |= bit;
	values->of_thread = (values->of_thread & values->known & ~bit) | (of_thread ? bit : 0);
	if (bit)
		values->value[insn->reg] = value;
}

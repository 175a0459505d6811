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
		ret->condition = insn >> 29 & 1 ? insn >> 24 & 1 : insn & 15;
		ret->value = address + (uint64_t)signed_bits(insn, 5, 19) * ARM64_INSN_BYTES;
	} else if ((insn & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		ret->kind = ARM64_BRANCH;
		ret->condition = ARM64_IF_BIT;
		ret->value = address + (uint64_t)signed_bits(insn, 5, 14) * ARM64_INSN_BYTES;
	} else if ((insn & 0xfe000000) == 0xd6000000) { /* br, blr, ret; signed ones */
		unsigned operation = insn >> 21 & 7;
		ret->kind = operation == 2   ? ARM64_RETURN
			    : operation == 1 ? ARM64_CALL_INDIRECT
					     : ARM64_JUMP_INDIRECT;
		ret->base = general(insn, 5);
		if (ret->kind == ARM64_RETURN && ret->base == ARM64_NO_REGISTER) /* retaa, retab */
			ret->base = ARM64_LR;
	} else if ((insn & 0xffe0001f) == 0xd4000001) { /* svc */
		ret->kind = ARM64_KERNEL;
	} else if (!(insn >> 16) || (insn & 0xffe0001f) == 0xd4200000 ||
		   (insn & 0xffe0001f) == 0xd4400000) { /* udf, brk, hlt */
		ret->kind = ARM64_STOP;
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
	} else if ((insn & 0xbfe0fc00) ==
		   0x8b206000) { /* add, sub that may be of the stack pointer */
		ret->kind = insn >> 30 & 1 ? ARM64_DIFFERENCE_OF : ARM64_SUM_OF;
		ret->reg = number_of(insn, 0);
		ret->base = number_of(insn, 5);
		ret->index = general(insn, 16);
	} else if ((insn & 0x7f800000) == 0x52800000) { /* movz */
		ret->kind = ARM64_CONSTANT;
		ret->value = (uint64_t)(insn >> 5 & 0xffff) << (insn >> 21 & 3) * 16;
	} else if ((insn & 0xff800000) == 0x92800000) { /* movn */
		ret->kind = ARM64_CONSTANT;
		ret->value = ~((uint64_t)(insn >> 5 & 0xffff) << (insn >> 21 & 3) * 16);
	} else if ((insn & 0xff800000) == 0xf2800000) { /* movk */
		ret->kind = ARM64_INSERT;
		ret->shift = (insn >> 21 & 3) * 16;
		ret->value = (uint64_t)(insn >> 5 & 0xffff) << ret->shift;
	} else if ((insn & 0xffffffe0) == 0xd53bd040) { /* mrs of tpidr_el0 */
		ret->kind = ARM64_THREAD;               /* at 0 from itself */
	} else {
		return false;
	}
	return true;
}

/* ---- memory ---- */

/* By a number, where the base may be moved ahead (3) or behind (1). Vector registers are none of
 * these. */
static bool decode_moving(uint32_t insn, unsigned size, unsigned operation, struct arm64_insn *ret)
{
	unsigned way = insn >> 10 & 3;
	bool is_load = operation == 1 || (operation >= 2 && size < 3); /* with a sign */
	if ((insn & 0x3f200000) != 0x38000000 || way == 2 || (operation >= 2 && !is_load))
		return false;
	ret->kind = is_load ? ARM64_LOAD : ARM64_STORE;
	int64_t distance = signed_bits(insn, 12, 9);
	ret->value = way == 1 ? 0 : (uint64_t)distance;
	ret->step = way ? (int16_t)distance : 0;
	return true;
}

/* Pairs of 64 bits, in each of their ways: bits 23 and 24 are 1 for "behind", 2 for none, 3 for
 * "ahead"; 0 is that of one that hints at caches. */
static bool decode_pair(uint32_t insn, struct arm64_insn *ret)
{
	unsigned way = insn >> 23 & 3;
	if ((insn & 0xfe000000) != 0xa8000000)
		return false;
	ret->kind = insn >> 22 & 1 ? ARM64_LOAD_PAIR : ARM64_STORE_PAIR;
	ret->bytes = 8;
	ret->index = general(insn, 10);
	int64_t distance = signed_bits(insn, 15, 7) * 8;
	ret->value = way == 1 ? 0 : (uint64_t)distance;
	ret->step = way & 1 ? (int16_t)distance : 0;
	return true;
}

static bool decode_memory(uint32_t insn, struct arm64_insn *ret)
{
	unsigned size = insn >> 30, operation = insn >> 22 & 3;
	bool is_load = operation == 1 || (operation >= 2 && size < 3); /* with a sign */
	ret->base = number_of(insn, 5);
	ret->reg = general(insn, 0);
	ret->bytes = (uint8_t)(1U << size);
	if ((insn & 0x3f000000) == 0x39000000 && (operation < 2 || is_load)) { /* by a number */
		ret->kind = is_load ? ARM64_LOAD : ARM64_STORE;
		ret->value = (uint64_t)(insn >> 10 & 0xfff) << size;
	} else if ((insn & 0xffe0fc00) == 0xf8606800) { /* ldr by a register, not shifted */
		ret->kind = ARM64_LOAD_OF;
		ret->index = general(insn, 16);
	} else {
		return decode_pair(insn, ret) || decode_moving(insn, size, operation, ret);
	}
	return true;
}

static uint32_t bit_of(uint8_t reg)
{
	return reg <= ARM64_SP ? 1U << reg : 0;
}

/* What a pair's distance is a multiple of; bytes. */
static int pair_scale(uint32_t insn)
{
	unsigned size = insn >> 30;
	bool is_vector = insn >> 26 & 1, is_load = insn >> 22 & 1;
	if (is_vector)
		return 4 << size;
	return size == 1 && !is_load ? 16 : 4; /* that with tags */
}

/* Vector registers, and pairs of 32 bits: of these only how the base is moved by a number. */
static bool decode_other_memory(uint32_t insn, struct arm64_insn *ret)
{
	bool is_vector = (insn & 0x0e000000) == 0x0c000000;
	bool is_pair = (insn & 0x3a000000) == 0x28000000;
	bool is_single = (insn & 0x3b200000) == 0x38000000;
	bool is_structure = (insn & 0xbe800000) == 0x0c800000; /* by what a register says, mostly */
	int64_t distance = 0;
	if (!is_vector && !is_pair)
		return false;
	if (is_pair && insn >> 23 & 1)
		distance = signed_bits(insn, 15, 7) * pair_scale(insn);
	else if (is_single && insn >> 10 & 1)
		distance = signed_bits(insn, 12, 9);
	ret->base = number_of(insn, 5);
	if (distance) {
		ret->kind = ARM64_SUM;
		ret->reg = ret->base;
		ret->value = (uint64_t)distance;
	}
	ret->writes = distance || is_structure ? bit_of(ret->base) : 0;
	if (!is_vector && insn >> 22 & 1)
		ret->writes |= bit_of(general(insn, 0)) | bit_of(general(insn, 10));
	return true;
}

/* Of vectors, what computes: some results are in a general register. */
static uint32_t written_by_vector(uint32_t insn)
{
	unsigned operation = insn >> 16 & 7;
	bool is_conversion = (insn & 0x5f20fc00) == 0x1e200000 &&
			     !(operation == 2 || operation == 3 || operation == 7);
	bool is_fixed = (insn & 0x5f200000) == 0x1e000000 && operation < 2;
	bool is_element = (insn & 0xbfe0fc00) == 0x0e003c00 || (insn & 0xbfe0fc00) == 0x0e002c00;
	return is_conversion || is_fixed || is_element ? bit_of(general(insn, 0)) : 0;
}

/* Of memory, what has no kind: by registers, by numbers that scale, exclusively. */
static uint32_t written_by_memory(uint32_t insn)
{
	uint32_t first = bit_of(general(insn, 0)), base = bit_of(number_of(insn, 5));
	bool is_prefetch = (insn & 0xff000000) == 0xd8000000 || (insn & 0xffe00000) == 0xf8800000 ||
			   (insn & 0xffe00c00) == 0xf8a00800 || (insn & 0xffc00000) == 0xf9800000;
	bool is_store_by_register = (insn & 0x3fe00c00) == 0x38200800;
	bool is_exclusive = (insn & 0x3f000000) == 0x08000000;
	bool is_signed = (insn & 0xff200400) == 0xf8200400;
	bool is_tags = (insn & 0xff200000) == 0xd9200000;
	if (is_prefetch || is_store_by_register)
		return 0;
	if (is_exclusive)
		return first | bit_of(general(insn, 10)) | bit_of(general(insn, 16));
	return first | (is_signed || (is_tags && insn >> 10 & 1) ? base : 0);
}

/*
 * Of what has no kind: the register that it names first, which most write. Of logic by a number,
 * and of sums, that may be the stack pointer.
 */
static uint32_t written_by_plain(uint32_t insn)
{
	bool is_logic = (insn & 0x1f800000) == 0x12000000 && (insn >> 29 & 3) != 3;
	bool is_sum = ((insn & 0x1f000000) == 0x11000000 || (insn & 0x1fe00000) == 0x0b200000) &&
		      !(insn >> 29 & 1);
	bool is_scalable = (insn & 0xffa0f800) == 0x04205000;        /* addvl, addpl */
	bool is_scalable_vector = (insn & 0x1e000000) == 0x04000000; /* mostly */
	bool is_signature = (insn & 0xffff0000) == 0xdac10000;       /* added, checked, taken off */
	if ((insn & 0x0e000000) == 0x0e000000)
		return written_by_vector(insn);
	if ((insn & 0x0a000000) == 0x08000000)
		return written_by_memory(insn);
	if (is_scalable)
		return bit_of(number_of(insn, 0));
	if (is_scalable_vector) /* its general registers are no frame's */
		return bit_of(general(insn, 0)) & ~(1U << ARM64_FP | 1U << ARM64_LR);
	if (is_signature)
		return 0;
	return bit_of(is_logic || is_sum ? number_of(insn, 0) : general(insn, 0));
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
		if (!decode_other_memory(insn, &ret))
			ret.writes = written_by_plain(insn);
		return ret;
	}
	bool is_load = ret.kind != ARM64_STORE && ret.kind != ARM64_STORE_PAIR;
	ret.writes = (ret.step ? bit_of(ret.base) : 0) | (is_load ? bit_of(ret.reg) : 0) |
		     (ret.kind == ARM64_LOAD_PAIR ? bit_of(ret.index) : 0);
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

#include "format/machine/x86_64_insn.h"

/* What there is to know of an opcode before its operands are read. */
enum shape {
	NONE = 0,
	MODRM = 1 << 0,
	TO_RM = 1 << 1,  /* writes the register of ModRM's rm, if it is one */
	TO_REG = 1 << 2, /* writes the register of ModRM's reg */
	IMM8 = 1 << 3,
	IMM_Z = 1 << 4, /* of 4 bytes, 2 with prefix 66 */
	BYTES = 1 << 5, /* on registers of 8 bits */
	TO_AX = 1 << 6,
	TO_CX = 1 << 7,
	TO_DX = 1 << 8,
	TO_SI = 1 << 9,
	TO_DI = 1 << 10,
	BAD = 1 << 11, /* none in 64-bit mode */
	RM_REG = MODRM | TO_RM,
	REG_RM = MODRM | TO_REG,
};

/* Opcodes of one byte; those below 40 repeat, see shape_of_byte(). */
static const uint16_t one_byte[256] = {
	[0x60] = BAD,
	[0x61] = BAD,
	[0x62] = BAD,
	[0x63] = REG_RM,
	[0x68] = IMM_Z,
	[0x69] = REG_RM | IMM_Z,
	[0x6a] = IMM8,
	[0x6b] = REG_RM | IMM8,
	[0x6c] = TO_DI | TO_CX,
	[0x6d] = TO_DI | TO_CX,
	[0x6e] = TO_SI | TO_CX,
	[0x6f] = TO_SI | TO_CX,
	[0x80] = RM_REG | IMM8 | BYTES,
	[0x81] = RM_REG | IMM_Z,
	[0x82] = BAD,
	[0x83] = RM_REG | IMM8,
	[0x84] = MODRM,
	[0x85] = MODRM,
	[0x86] = RM_REG | REG_RM | BYTES,
	[0x87] = RM_REG | REG_RM,
	[0x88] = RM_REG | BYTES,
	[0x89] = RM_REG,
	[0x8a] = REG_RM | BYTES,
	[0x8b] = REG_RM,
	[0x8c] = RM_REG,
	[0x8d] = REG_RM,
	[0x8e] = MODRM,
	[0x8f] = RM_REG,
	[0x98] = TO_AX,
	[0x99] = TO_DX,
	[0x9a] = BAD,
	[0x9f] = TO_AX,
	[0xa4] = TO_SI | TO_DI | TO_CX,
	[0xa5] = TO_SI | TO_DI | TO_CX,
	[0xa6] = TO_SI | TO_DI | TO_CX,
	[0xa7] = TO_SI | TO_DI | TO_CX,
	[0xa8] = IMM8,
	[0xa9] = IMM_Z,
	[0xaa] = TO_DI | TO_CX,
	[0xab] = TO_DI | TO_CX,
	[0xac] = TO_AX | TO_SI | TO_CX,
	[0xad] = TO_AX | TO_SI | TO_CX,
	[0xae] = TO_DI | TO_CX,
	[0xaf] = TO_DI | TO_CX,
	[0xc0] = RM_REG | IMM8 | BYTES,
	[0xc1] = RM_REG | IMM8,
	[0xc6] = RM_REG | IMM8 | BYTES,
	[0xc7] = RM_REG | IMM_Z,
	[0xce] = BAD,
	[0xd0] = RM_REG | BYTES,
	[0xd1] = RM_REG,
	[0xd2] = RM_REG | BYTES,
	[0xd3] = RM_REG,
	[0xd4] = BAD,
	[0xd5] = BAD,
	[0xd6] = BAD,
	[0xd7] = TO_AX,
	[0xd8] = MODRM,
	[0xd9] = MODRM,
	[0xda] = MODRM,
	[0xdb] = MODRM,
	[0xdc] = MODRM,
	[0xdd] = MODRM,
	[0xde] = MODRM,
	[0xdf] = MODRM | TO_AX, /* fnstsw %ax */
	[0xe4] = IMM8 | TO_AX,
	[0xe5] = IMM8 | TO_AX,
	[0xe6] = IMM8,
	[0xe7] = IMM8,
	[0xea] = BAD,
	[0xec] = TO_AX,
	[0xed] = TO_AX,
	[0xf6] = RM_REG | BYTES,
	[0xf7] = RM_REG,
	[0xfe] = RM_REG | BYTES,
	[0xff] = RM_REG,
};

static unsigned shape_of_byte(uint8_t opcode)
{
	/* op r/m,reg (8, 32 bits), op reg,r/m, op $,%al, op $,%eax; the last of eight is cmp. */
	static const uint16_t forms[8] = {RM_REG | BYTES, RM_REG, REG_RM | BYTES, REG_RM,
		IMM8 | TO_AX, IMM_Z | TO_AX, BAD, BAD};
	if (opcode >= 0x40)
		return one_byte[opcode];
	unsigned shape = forms[opcode & 7];
	return opcode < 0x38 ? shape : shape & ~(unsigned)(TO_RM | TO_REG | TO_AX);
}

/* Behind 0f, and of the first map of VEX and EVEX. */
static unsigned shape_of_0f(uint8_t opcode)
{
	if (opcode >= 0x40 && opcode <= 0x4f) /* cmov */
		return REG_RM;
	if (opcode >= 0x90 && opcode <= 0x9f) /* set */
		return RM_REG | BYTES;
	if (opcode >= 0xc8 && opcode <= 0xcf) /* bswap */
		return NONE;
	switch (opcode) {
	case 0x05: /* syscall */
	case 0x06: /* clts, sysret, invd, wbinvd, ud2, femms */
	case 0x07:
	case 0x08:
	case 0x09:
	case 0x0b:
	case 0x0e:
	case 0x30: /* wrmsr */
	case 0x34: /* sysenter, sysexit, getsec */
	case 0x35:
	case 0x37:
	case 0x77: /* emms */
	case 0xa0: /* push, pop of fs and gs */
	case 0xa1:
	case 0xa8:
	case 0xa9:
	case 0xaa: /* rsm */
		return NONE;
	case 0x31: /* rdtsc, rdmsr, rdpmc */
	case 0x32:
	case 0x33:
		return TO_AX | TO_DX;
	case 0xa2: /* cpuid; and rbx */
		return TO_AX | TO_CX | TO_DX;
	case 0x0f: /* 3DNow!; shuffles, shifts, comparisons, pinsrw */
	case 0x70:
	case 0x71:
	case 0x72:
	case 0x73:
	case 0xc2:
	case 0xc4:
	case 0xc6:
		return MODRM | IMM8;
	case 0xc5: /* pextrw */
		return REG_RM | IMM8;
	case 0xa4: /* shld, shrd, bt with a constant */
	case 0xac:
	case 0xba:
		return RM_REG | IMM8;
	case 0x01: /* smsw; rdtscp, xgetbv, rdpkru */
		return RM_REG | TO_AX | TO_CX | TO_DX;
	case 0x00: /* sldt, str; moves from control registers */
	case 0x20:
	case 0x21:
	case 0xa5: /* shld, bts, shrd, rdfsbase, btr, btc, rdrand */
	case 0xab:
	case 0xad:
	case 0xae:
	case 0xb3:
	case 0xbb:
	case 0xc7:
		return RM_REG;
	case 0x02: /* lar, lsl; cvttss2si, cvtss2si; movmskps; unsigned ones of EVEX; imul */
	case 0x03:
	case 0x2c:
	case 0x2d:
	case 0x50:
	case 0xaf:
	case 0xb2: /* lss, lfs, lgs; movzx, popcnt, bsf, bsr, movsx; pmovmskb */
	case 0xb4:
	case 0xb5:
	case 0xb6:
	case 0xb7:
	case 0xb8:
	case 0xbc:
	case 0xbd:
	case 0xbe:
	case 0xbf:
	case 0xd7:
		return REG_RM;
	case 0xb0: /* cmpxchg, xadd */
		return RM_REG | BYTES | TO_AX;
	case 0xb1:
		return RM_REG | TO_AX;
	case 0xc0:
		return RM_REG | REG_RM | BYTES;
	case 0xc1:
		return RM_REG | REG_RM;
	default:
		return MODRM;
	}
}

struct decoder {
	const uint8_t *bytes;
	size_t len, at;
	bool has_66, has_f2, has_f3, has_3e, has_w, has_rex, is_vector, is_evex;
	uint8_t high_reg, high_index, high_rm; /* 8, where a prefix says so, or 0 */
	uint8_t mod, reg, rm;                  /* of ModRM */
	uint8_t base;                          /* of its memory, if that is all */
	uint8_t vector_reg;                    /* the register that VEX and EVEX have beside them */
	int64_t displacement, immediate;
	struct x86_64_insn *insn;
};

static bool x86_64_insn_has(const struct decoder *decoder, size_t bytes)
{
	return decoder->len - decoder->at >= bytes;
}

/* A signed value. */
static bool x86_64_insn_take(struct decoder *decoder, size_t bytes, int64_t *ret)
{
	uint64_t value = 0;
	if (!x86_64_insn_has(decoder, bytes))
		return false;
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)decoder->bytes[decoder->at++] << 8 * i;
	*ret = bytes == 1   ? (int8_t)value
	       : bytes == 2 ? (int16_t)value
	       : bytes == 4 ? (int32_t)value
			    : (int64_t)value;
	return true;
}

static bool take_byte(struct decoder *decoder, uint8_t *ret)
{
	if (!x86_64_insn_has(decoder, 1))
		return false;
	*ret = decoder->bytes[decoder->at++];
	return true;
}

/* ---- prefixes ---- */

static bool take_legacy_prefixes(struct decoder *decoder)
{
	for (; x86_64_insn_has(decoder, 1); decoder->at++) {
		uint8_t byte = decoder->bytes[decoder->at];
		decoder->has_66 |= byte == 0x66;
		decoder->has_f2 |= byte == 0xf2;
		decoder->has_f3 |= byte == 0xf3;
		decoder->has_3e |= byte == 0x3e;
		bool is_prefix = byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 ||
				 byte == 0xf3 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
				 byte == 0x26 || byte == 0x64 || byte == 0x65;
		if (!is_prefix)
			return true;
	}
	return false;
}

static void put_high_bits(struct decoder *decoder, bool reg, bool index, bool rm)
{
	decoder->high_reg = reg ? 8 : 0;
	decoder->high_index = index ? 8 : 0;
	decoder->high_rm = rm ? 8 : 0;
}

static void take_rex(struct decoder *decoder)
{
	if (!x86_64_insn_has(decoder, 1) || (decoder->bytes[decoder->at] & 0xf0) != 0x40)
		return;
	uint8_t rex = decoder->bytes[decoder->at++];
	decoder->has_rex = true;
	decoder->has_w = rex & 8;
	put_high_bits(decoder, rex & 4, rex & 2, rex & 1);
}

/* The instruction set extension's own prefix: which map the opcode behind it is of; 0: none. */
static bool take_vector_prefix(struct decoder *decoder, unsigned *map)
{
	const uint8_t *bytes = decoder->bytes + decoder->at;
	size_t left = decoder->len - decoder->at;
	*map = 0;
	if (!left)
		return true;
	bool is_xop = bytes[0] == 0x8f && left > 1 && (bytes[1] & 0x1f) >= 8;
	uint8_t pp, last;
	if (bytes[0] == 0xc5) {
		if (left < 2)
			return false;
		put_high_bits(decoder, !(bytes[1] & 0x80), false, false);
		*map = 1;
		last = bytes[1];
		pp = last & 3;
		decoder->at += 2;
	} else if (bytes[0] == 0xc4 || is_xop) {
		if (left < 3)
			return false;
		put_high_bits(decoder, !(bytes[1] & 0x80), !(bytes[1] & 0x40), !(bytes[1] & 0x20));
		*map = bytes[1] & 0x1f;
		last = bytes[2];
		pp = last & 3;
		decoder->has_w = last & 0x80;
		decoder->at += 3;
	} else if (bytes[0] == 0x62) {
		if (left < 4 || !(bytes[2] & 4)) /* else it is APX's */
			return false;
		put_high_bits(decoder, !(bytes[1] & 0x80), !(bytes[1] & 0x40), !(bytes[1] & 0x20));
		*map = bytes[1] & 7;
		last = bytes[2];
		pp = last & 3;
		decoder->has_w = last & 0x80;
		decoder->is_evex = true;
		decoder->at += 4;
	} else {
		return true;
	}
	decoder->is_vector = true;
	decoder->vector_reg = (uint8_t)~last >> 3 & 15;
	decoder->has_66 = pp == 1;
	decoder->has_f3 = pp == 2;
	decoder->has_f2 = pp == 3;
	return *map != 0;
}

/* ---- operands ---- */

static bool take_modrm(struct decoder *decoder)
{
	uint8_t modrm, sib = 0;
	if (!take_byte(decoder, &modrm))
		return false;
	uint8_t rm = modrm & 7;
	decoder->mod = modrm >> 6;
	decoder->reg = (uint8_t)((modrm >> 3 & 7) | decoder->high_reg);
	decoder->rm = (uint8_t)(rm | decoder->high_rm);
	decoder->base = X86_64_NO_REGISTER;
	if (decoder->mod == 3)
		return true;
	size_t bytes = decoder->mod == 1 ? 1 : decoder->mod == 2 ? 4 : 0;
	if (rm == 4) {
		if (!take_byte(decoder, &sib))
			return false;
		bool has_index = (sib >> 3 & 7) != 4 || decoder->high_index;
		bool has_base = decoder->mod || (sib & 7) != 5;
		if (!has_base)
			bytes = 4;
		else if (!has_index)
			decoder->base = (uint8_t)((sib & 7) | decoder->high_rm);
	} else if (decoder->mod || rm != 5) {
		decoder->base = decoder->rm;
	} else { /* of the instruction's end */
		bytes = 4;
	}
	return !bytes || x86_64_insn_take(decoder, bytes, &decoder->displacement);
}

static uint16_t bit(const struct decoder *decoder, uint8_t reg, unsigned shape)
{
	/* ah, ch, dh, bh */
	if (shape & BYTES && !decoder->has_rex && reg >= 4 && reg < 8)
		reg -= 4;
	return (uint16_t)(1 << reg);
}

static void note_writes(struct decoder *decoder, unsigned shape)
{
	struct x86_64_insn *insn = decoder->insn;
	if (shape & TO_REG)
		insn->writes |= bit(decoder, decoder->reg, shape);
	if (shape & TO_RM && decoder->mod == 3)
		insn->writes |= bit(decoder, decoder->rm, shape);
	insn->writes |= (uint16_t)(!!(shape & TO_AX) << X86_64_AX | !!(shape & TO_CX) << X86_64_CX |
				   !!(shape & TO_DX) << X86_64_DX | !!(shape & TO_SI) << X86_64_SI |
				   !!(shape & TO_DI) << X86_64_DI);
}

static size_t bytes_of_z(const struct decoder *decoder)
{
	return decoder->has_66 && !decoder->has_w ? 2 : 4;
}

static bool take_operands(struct decoder *decoder, unsigned shape)
{
	if (shape & BAD || (shape & MODRM && !take_modrm(decoder)))
		return false;
	note_writes(decoder, shape);
	size_t bytes = shape & IMM8 ? 1 : shape & IMM_Z ? bytes_of_z(decoder) : 0;
	return !bytes || x86_64_insn_take(decoder, bytes, &decoder->immediate);
}

/* ---- what an opcode means ---- */

static void put_address(struct x86_64_insn *insn, uint8_t reg, uint8_t base, int64_t value)
{
	insn->kind = X86_64_ADDRESS;
	insn->reg = reg;
	insn->base = base;
	insn->value = value;
	insn->writes = (uint16_t)(1 << reg);
}

/* 88 to 8b, 8d: between registers, and memory whose address one register tells. */
static void refine_move(struct decoder *decoder, uint8_t opcode)
{
	struct x86_64_insn *insn = decoder->insn;
	bool is_memory = decoder->mod != 3;
	if (!decoder->has_w || (is_memory && decoder->base == X86_64_NO_REGISTER))
		return;
	if (opcode == 0x8d) {
		if (is_memory)
			put_address(insn, decoder->reg, decoder->base, decoder->displacement);
		return;
	}
	if (opcode != 0x89 && opcode != 0x8b)
		return;
	bool is_store = opcode == 0x89;
	if (!is_memory) {
		put_address(insn, is_store ? decoder->rm : decoder->reg,
			is_store ? decoder->reg : decoder->rm, 0);
		return;
	}
	insn->kind = is_store ? X86_64_STORE : X86_64_LOAD;
	insn->reg = decoder->reg;
	insn->base = decoder->base;
	insn->value = decoder->displacement;
}

/* 80, 81, 83: add, or, adc, sbb, and, sub, xor, cmp with a constant. */
static void refine_arithmetic(struct decoder *decoder)
{
	uint8_t operation = decoder->reg & 7;
	bool is_wide = decoder->has_w && decoder->mod == 3;
	if (operation == 7)
		decoder->insn->writes = 0;
	else if (is_wide && (operation == 0 || operation == 5))
		put_address(decoder->insn, decoder->rm, decoder->rm,
			operation ? -decoder->immediate : decoder->immediate);
}

/* f6, f7: test with a constant, not, neg, mul, div. */
static bool refine_unary(struct decoder *decoder, uint8_t opcode)
{
	uint8_t operation = decoder->reg & 7;
	if (operation >= 4)
		decoder->insn->writes = 1 << X86_64_AX | 1 << X86_64_DX;
	if (operation >= 2)
		return true;
	decoder->insn->writes = 0;
	return x86_64_insn_take(
		decoder, opcode == 0xf6 ? 1 : bytes_of_z(decoder), &decoder->immediate);
}

/* fe, ff: inc, dec, call, jmp, push. */
static bool refine_group(struct decoder *decoder, uint8_t opcode)
{
	struct x86_64_insn *insn = decoder->insn;
	uint8_t operation = decoder->reg & 7;
	if (operation < 2) {
		if (opcode == 0xff && decoder->has_w && decoder->mod == 3)
			put_address(insn, decoder->rm, decoder->rm, operation ? -1 : 1);
		return true;
	}
	insn->writes = 0;
	if (opcode != 0xff || operation == 7)
		return false;
	insn->kind = operation < 4   ? X86_64_CALL_INDIRECT
		     : operation < 6 ? X86_64_JUMP_INDIRECT
				     : X86_64_PUSH;
	insn->is_notrack = decoder->has_3e;
	if (operation == 6 && decoder->mod == 3)
		insn->reg = decoder->rm;
	if (operation == 6 && decoder->mod != 3)
		insn->base = decoder->base == X86_64_NO_REGISTER ? X86_64_AX : decoder->base;
	return true;
}

static bool take_branch(struct decoder *decoder, enum x86_64_kind kind, size_t bytes)
{
	decoder->insn->kind = (uint8_t)kind;
	return x86_64_insn_take(decoder, bytes, &decoder->insn->value);
}

/* 50 to 5f, 90 to 97, b0 to bf: the register is part of the opcode. */
static bool take_short(struct decoder *decoder, uint8_t opcode)
{
	struct x86_64_insn *insn = decoder->insn;
	uint8_t reg = (uint8_t)((opcode & 7) | decoder->high_rm);
	if (opcode < 0x60) {
		bool is_push = opcode < 0x58;
		insn->kind = is_push ? X86_64_PUSH : X86_64_POP;
		insn->reg = reg;
		insn->writes = is_push ? 0 : (uint16_t)(1 << reg);
		if (decoder->has_66)
			insn->kind = X86_64_OTHER;
		return true;
	}
	if (opcode < 0x98) {
		if (reg)
			insn->writes = (uint16_t)(1 << reg | 1 << X86_64_AX);
		else
			insn->kind = X86_64_FILLER; /* pause, too */
		return true;
	}
	if (opcode < 0xb8) {
		insn->writes = bit(decoder, reg, BYTES);
		return x86_64_insn_take(decoder, 1, &decoder->immediate);
	}
	insn->writes = (uint16_t)(1 << reg);
	if (!x86_64_insn_take(decoder, decoder->has_w ? 8 : bytes_of_z(decoder), &insn->value))
		return false;
	if (!decoder->has_w)
		insn->value = (uint32_t)insn->value;
	insn->reg = reg;
	insn->kind = decoder->has_66 ? X86_64_PLAIN : X86_64_CONSTANT;
	return true;
}

/* Opcodes of one byte that have no ModRM, or do not only write. True: *is_done tells. */
static bool take_special(struct decoder *decoder, uint8_t opcode, bool *is_done)
{
	struct x86_64_insn *insn = decoder->insn;
	*is_done = true;
	if (opcode >= 0x70 && opcode <= 0x7f) {
		insn->condition = opcode & 15;
		return take_branch(decoder, X86_64_BRANCH, 1);
	}
	if ((opcode >= 0x50 && opcode < 0x60) || (opcode >= 0x90 && opcode < 0x98) ||
		(opcode >= 0xb0 && opcode < 0xc0))
		return take_short(decoder, opcode);
	if (opcode >= 0xa0 && opcode <= 0xa3) {
		insn->writes = opcode < 0xa2 ? 1 << X86_64_AX : 0;
		return x86_64_insn_take(decoder, 8, &decoder->immediate);
	}
	switch (opcode) {
	case 0x68:
	case 0x6a:
		insn->kind = X86_64_PUSH;
		if (decoder->has_66)
			insn->kind = X86_64_OTHER;
		return x86_64_insn_take(
			decoder, opcode == 0x6a ? 1 : bytes_of_z(decoder), &insn->value);
	case 0x9c: /* pushf, popf */
	case 0x9d:
		insn->kind = opcode == 0x9d ? X86_64_POP : X86_64_PUSH;
		insn->base = X86_64_AX; /* no constant */
		return true;
	case 0xc2:
		insn->kind = X86_64_RETURN;
		if (!x86_64_insn_take(decoder, 2, &insn->value))
			return false;
		insn->value &= 0xffff;
		return true;
	case 0xc3:
		insn->kind = X86_64_RETURN;
		return true;
	case 0xc8: /* enter */
		insn->kind = X86_64_OTHER;
		insn->writes = 1 << X86_64_SP | 1 << X86_64_BP;
		return x86_64_insn_take(decoder, 2, &decoder->immediate) &&
		       x86_64_insn_take(decoder, 1, &decoder->immediate);
	case 0xc9:
		insn->kind = X86_64_LEAVE;
		insn->writes = 1 << X86_64_SP | 1 << X86_64_BP;
		return true;
	/* A far return that pops: no compiler's. Poly/ML has these bytes, and those of int, behind
	 * calls of its run-time system: which registers it has; they are skipped. Source:
	 * libpolyml/x86_dep.cpp of Poly/ML 5.9. */
	case 0xca:
		return x86_64_insn_take(decoder, 2, &decoder->immediate);
	case 0xcb: /* far return, iret */
	case 0xcf:
		insn->kind = X86_64_OTHER;
		return true;
	case 0xcd:
		insn->writes = 1 << X86_64_AX;
		return x86_64_insn_take(decoder, 1, &decoder->immediate);
	case 0xcc:
	case 0xf1:
	case 0xf4:
		insn->kind = X86_64_STOP;
		return true;
	case 0xe0: /* loopne, loope, loop, jrcxz */
	case 0xe1:
	case 0xe2:
	case 0xe3:
		insn->condition = 16;
		insn->writes = opcode == 0xe3 ? 0 : 1 << X86_64_CX;
		return take_branch(decoder, X86_64_BRANCH, 1);
	case 0xe8:
		return take_branch(decoder, X86_64_CALL, 4);
	case 0xe9:
		return take_branch(decoder, X86_64_JUMP, 4);
	case 0xeb:
		return take_branch(decoder, X86_64_JUMP, 1);
	default:
		*is_done = false;
		return true;
	}
}

static bool take_one_byte(struct decoder *decoder, uint8_t opcode)
{
	struct x86_64_insn *insn = decoder->insn;
	bool is_done;
	if (!take_special(decoder, opcode, &is_done))
		return false;
	if (is_done)
		return true;
	if (!take_operands(decoder, shape_of_byte(opcode)))
		return false;
	switch (opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
		refine_arithmetic(decoder);
		return true;
	case 0x85:
		if (decoder->mod == 3 && decoder->reg == X86_64_AX && decoder->rm == X86_64_AX &&
			!decoder->has_66)
			insn->kind = X86_64_TEST_AX;
		return true;
	case 0x89:
	case 0x8b:
	case 0x8d:
		refine_move(decoder, opcode);
		return true;
	case 0x8f:
		insn->kind = X86_64_POP;
		insn->reg = decoder->mod == 3 ? decoder->rm : X86_64_NO_REGISTER;
		insn->base = decoder->base;
		insn->value = decoder->displacement;
		return (decoder->reg & 7) == 0;
	case 0xc7: /* xbegin shares it */
		if (decoder->mod == 3 && (decoder->reg & 7) == 0 && !decoder->has_66) {
			insn->kind = X86_64_CONSTANT;
			insn->reg = decoder->rm;
			insn->value = decoder->has_w ? decoder->immediate
						     : (int64_t)(uint32_t)decoder->immediate;
		}
		return true;
	case 0xf6:
	case 0xf7:
		return refine_unary(decoder, opcode);
	case 0xfe:
	case 0xff:
		return refine_group(decoder, opcode);
	default:
		return true;
	}
}

static bool take_0f(struct decoder *decoder, uint8_t opcode)
{
	struct x86_64_insn *insn = decoder->insn;
	if (opcode >= 0x80 && opcode <= 0x8f) {
		insn->condition = opcode & 15;
		return take_branch(decoder, X86_64_BRANCH, 4);
	}
	if (!take_operands(decoder, shape_of_0f(opcode)))
		return false;
	insn->is_cmov = opcode >= 0x40 && opcode <= 0x4f;
	if (opcode >= 0xc8 && opcode <= 0xcf)
		insn->writes = (uint16_t)(1 << ((opcode & 7) | decoder->high_rm));
	switch (opcode) {
	case 0x05:
		insn->kind = X86_64_SYSCALL;
		insn->writes = 1 << X86_64_AX | 1 << X86_64_CX | 1 << 11;
		return true;
	case 0x0b: /* ud2, ud1, ud0 */
	case 0xb9:
	case 0xff:
		insn->kind = X86_64_STOP;
		return true;
	case 0x1e: /* rdssp; endbr64 writes nothing */
		if (decoder->has_f3 && decoder->mod == 3 && (decoder->reg & 7) == 1)
			insn->writes = bit(decoder, decoder->rm, NONE);
		return true;
	case 0x1f:
		insn->kind = X86_64_FILLER;
		return true;
	case 0x7e: /* movd; or movq between vector registers */
		if (!decoder->has_f3 && decoder->mod == 3)
			insn->writes = bit(decoder, decoder->rm, NONE);
		return true;
	case 0xa0:
	case 0xa1:
	case 0xa8:
	case 0xa9:
		insn->kind = opcode & 1 ? X86_64_POP : X86_64_PUSH;
		insn->base = X86_64_AX; /* no constant */
		return true;
	case 0xa2:
		insn->writes |= 1 << X86_64_BX;
		return true;
	case 0xba: /* bt only looks */
		if ((decoder->reg & 7) == 4)
			insn->writes = 0;
		return true;
	case 0xc7: /* cmpxchg8b, cmpxchg16b; of registers rdrand, rdseed */
		if (decoder->mod != 3)
			insn->writes = 1 << X86_64_AX | 1 << X86_64_DX;
		return true;
	default:
		return true;
	}
}

/* Behind 0f 38. */
static bool take_0f38(struct decoder *decoder, uint8_t opcode)
{
	bool is_to_reg = opcode == 0xf6 || opcode == 0xf0 || (opcode == 0xf1 && decoder->has_f2);
	return take_operands(decoder, is_to_reg ? REG_RM : MODRM);
}

/* Extracts, which write a general register; string comparisons. */
static bool take_0f3a(struct decoder *decoder, uint8_t opcode)
{
	bool is_extract = opcode >= 0x14 && opcode <= 0x17;
	bool is_index = opcode == 0x61 || opcode == 0x63;
	return take_operands(
		decoder, (is_extract ? RM_REG : MODRM) | (is_index ? TO_CX : NONE) | IMM8);
}

/* Behind VEX, EVEX, XOP. */
static bool take_vector(struct decoder *decoder, unsigned map, uint8_t opcode)
{
	struct x86_64_insn *insn = decoder->insn;
	unsigned shape = MODRM;
	switch (map) {
	case 1:
		if (opcode == 0x77 && !decoder->is_evex) /* vzeroupper */
			return true;
		if (opcode == 0x70 || opcode == 0x71 || opcode == 0x72 || opcode == 0x73 ||
			opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6))
			shape |= IMM8;
		if (opcode == 0x2c || opcode == 0x2d || opcode == 0x50 || opcode == 0xc5 ||
			opcode == 0xd7 || (!decoder->is_evex && opcode == 0x93) ||
			(decoder->is_evex && (opcode == 0x78 || opcode == 0x79)))
			shape |= TO_REG;
		if (opcode == 0x7e && !decoder->has_f3)
			shape |= TO_RM;
		return take_operands(decoder, shape);
	case 2:
		if (!decoder->is_evex && (opcode == 0xf2 || (opcode >= 0xf5 && opcode <= 0xf7)))
			shape |= TO_REG;
		if (!take_operands(decoder, shape))
			return false;
		if (!decoder->is_evex && (opcode == 0xf3 || opcode == 0xf6)) /* blsr..., mulx */
			insn->writes |= (uint16_t)(1 << decoder->vector_reg);
		return true;
	case 3:
		if (opcode >= 0x14 && opcode <= 0x17)
			shape |= TO_RM;
		if (opcode == 0x61 || opcode == 0x63)
			shape |= TO_CX;
		if (!decoder->is_evex && opcode == 0xf0) /* rorx */
			shape |= TO_REG;
		return take_operands(decoder, shape | IMM8);
	case 5: /* half precision: vcvttsh2si... */
		if (opcode == 0x2c || opcode == 0x2d || opcode == 0x78 || opcode == 0x79)
			shape |= TO_REG;
		if (opcode == 0x7e && !decoder->has_f3)
			shape |= TO_RM;
		return take_operands(decoder, shape);
	case 6:
		return take_operands(decoder, shape);
	case 7: /* rdmsr, wrmsr with a constant */
		return !decoder->is_evex && take_operands(decoder, RM_REG) &&
		       x86_64_insn_take(decoder, 4, &decoder->immediate);
	case 8: /* XOP */
		return take_operands(decoder, shape | IMM8);
	case 9: /* its blsr... write the register beside */
		if (!take_operands(decoder, shape))
			return false;
		if (opcode == 0x01 || opcode == 0x02)
			insn->writes |= (uint16_t)(1 << decoder->vector_reg);
		if (opcode == 0x12)
			insn->writes |= bit(decoder, decoder->rm, NONE);
		return true;
	case 10:
		if (!take_operands(decoder, shape | TO_REG) ||
			!x86_64_insn_take(decoder, 4, &decoder->immediate))
			return false;
		insn->writes |= (uint16_t)(1 << decoder->vector_reg);
		return true;
	default:
		return false;
	}
}

static bool take_opcode(struct decoder *decoder)
{
	unsigned map = 0;
	uint8_t opcode;
	if (!take_legacy_prefixes(decoder))
		return false;
	take_rex(decoder);
	if (!decoder->has_rex && !take_vector_prefix(decoder, &map))
		return false;
	if (!take_byte(decoder, &opcode))
		return false;
	if (decoder->is_vector)
		return take_vector(decoder, map, opcode);
	if (opcode != 0x0f)
		return take_one_byte(decoder, opcode);
	if (!take_byte(decoder, &opcode))
		return false;
	if (opcode != 0x38 && opcode != 0x3a)
		return take_0f(decoder, opcode);
	bool is_38 = opcode == 0x38;
	if (!take_byte(decoder, &opcode))
		return false;
	return is_38 ? take_0f38(decoder, opcode) : take_0f3a(decoder, opcode);
}

static bool moves_sp(const struct x86_64_insn *insn)
{
	return insn->kind == X86_64_ADDRESS || insn->kind == X86_64_LOAD ||
	       insn->kind == X86_64_LEAVE;
}

bool x86_64_insn_decode(const uint8_t *bytes, size_t len, struct x86_64_insn *ret)
{
	*ret = (struct x86_64_insn){.reg = X86_64_NO_REGISTER, .base = X86_64_NO_REGISTER};
	struct decoder decoder = {
		.bytes = bytes, .len = len < X86_64_INSN_MAX ? len : X86_64_INSN_MAX, .insn = ret};
	if (!take_opcode(&decoder))
		return false;
	ret->len = (uint8_t)decoder.at;
	/* pop %rsp, and %rsp, mov of memory to it... */
	if (ret->writes >> X86_64_SP & 1 && !moves_sp(ret))
		ret->kind = X86_64_OTHER;
	return true;
}

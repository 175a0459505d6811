#include "format/machine/x86_64_insn.h"

enum {
	RAX = 0,
	RCX = 1,
	RDX = 2,
};

/* What there is to know of an opcode before its ModRM byte is read. */
enum shape {
	UNKNOWN = 0,
	MODRM = 1 << 0,
	TO_RM = 1 << 1,  /* writes the register or memory of ModRM */
	TO_REG = 1 << 2, /* writes the register of ModRM */
	IMM8 = 1 << 3,
	IMM32 = 1 << 4, /* 16 bits with prefix 66 */
	NOTHING = 1 << 5,
};

#define RM_REG  (MODRM | TO_RM)
#define REG_RM  (MODRM | TO_REG)
#define NO_DEST MODRM

/* The rows 00-3f repeat: op r/m,reg (8, 32 bits), op reg,r/m, op $,%al, op $,%eax. */
static const uint8_t one_byte[256] = {
	[0x63] = REG_RM,
	[0x68] = IMM32,
	[0x69] = REG_RM | IMM32,
	[0x6a] = IMM8,
	[0x6b] = REG_RM | IMM8,
	[0x80] = RM_REG | IMM8,
	[0x81] = RM_REG | IMM32,
	[0x83] = RM_REG | IMM8,
	[0x84] = NO_DEST,
	[0x85] = NO_DEST,
	[0x86] = RM_REG | REG_RM,
	[0x87] = RM_REG | REG_RM,
	[0x88] = RM_REG,
	[0x89] = RM_REG,
	[0x8a] = REG_RM,
	[0x8b] = REG_RM,
	[0x8d] = REG_RM,
	[0x90] = NOTHING,
	[0x98] = NOTHING,
	[0x99] = NOTHING,
	[0xa8] = IMM8,
	[0xa9] = IMM32,
	[0xc0] = RM_REG | IMM8,
	[0xc1] = RM_REG | IMM8,
	[0xc3] = NOTHING,
	[0xc6] = RM_REG | IMM8,
	[0xc7] = RM_REG | IMM32,
	[0xcc] = NOTHING,
	[0xd0] = RM_REG,
	[0xd1] = RM_REG,
	[0xd2] = RM_REG,
	[0xd3] = RM_REG,
	[0xf4] = NOTHING,
	[0xf6] = RM_REG,
	[0xf7] = RM_REG,
	[0xfe] = RM_REG,
	[0xff] = RM_REG,
};

/* Behind 0f. */
static uint8_t two_byte(uint8_t opcode)
{
	if (opcode >= 0x18 && opcode <= 0x1f) /* nop, endbr64, rdssp */
		return opcode == 0x1e ? RM_REG : NO_DEST;
	if (opcode >= 0x40 && opcode <= 0x4f) /* cmov */
		return REG_RM;
	if (opcode >= 0x90 && opcode <= 0x9f) /* set */
		return RM_REG;
	switch (opcode) {
	case 0x05: /* syscall */
	case 0x0b: /* ud2 */
		return NOTHING;
	case 0xaf: /* imul */
	case 0xb6: /* movzx, movsx */
	case 0xb7:
	case 0xbe:
	case 0xbf:
		return REG_RM;
	default:
		return UNKNOWN;
	}
}

/* What is being decoded. */
struct decoding {
	const uint8_t *bytes;
	size_t len, at;
	uint8_t rex;
	bool is_16bit;
	uint8_t mod, reg, rm; /* of ModRM, with REX */
	struct x86_64_insn *insn;
};

static bool has(const struct decoding *decoding, size_t bytes)
{
	return decoding->len - decoding->at >= bytes;
}

/* A signed value of 1, 2 or 4 bytes. */
static bool take_value(struct decoding *decoding, size_t bytes)
{
	uint32_t value = 0;
	if (!has(decoding, bytes))
		return false;
	for (size_t i = 0; i < bytes; i++)
		value |= (uint32_t)decoding->bytes[decoding->at++] << 8 * i;
	decoding->insn->value = bytes == 1   ? (int8_t)value
				: bytes == 2 ? (int16_t)value
					     : (int32_t)value;
	return true;
}

static bool take_modrm(struct decoding *decoding)
{
	if (!has(decoding, 1))
		return false;
	uint8_t modrm = decoding->bytes[decoding->at++], rex = decoding->rex;
	decoding->mod = modrm >> 6;
	decoding->reg = (uint8_t)((modrm >> 3 & 7) | (rex & 4) << 1);
	decoding->rm = (uint8_t)((modrm & 7) | (rex & 1) << 3);
	size_t displacement = decoding->mod == 1 ? 1 : decoding->mod == 2 ? 4 : 0;
	if (decoding->mod == 3)
		return true;
	if ((modrm & 7) == 4) { /* SIB */
		if (!has(decoding, 1))
			return false;
		uint8_t sib = decoding->bytes[decoding->at++];
		if (decoding->mod == 0 && (sib & 7) == 5)
			displacement = 4;
	} else if (decoding->mod == 0 && (modrm & 7) == 5) {
		displacement = 4;
	}
	if (!has(decoding, displacement))
		return false;
	decoding->at += displacement;
	return true;
}

static void note_writes(struct decoding *decoding, uint8_t shape)
{
	struct x86_64_insn *insn = decoding->insn;
	if (shape & TO_REG)
		insn->writes |= (uint16_t)(1 << decoding->reg);
	if (shape & TO_RM && decoding->mod == 3)
		insn->writes |= (uint16_t)(1 << decoding->rm);
}

/* 80, 81, 83: add, or, adc, sbb, and, sub, xor, cmp with a constant. */
static void take_arithmetic(struct decoding *decoding)
{
	struct x86_64_insn *insn = decoding->insn;
	uint8_t operation = decoding->reg & 7;
	bool is_sp = decoding->mod == 3 && decoding->rm == X86_64_SP && decoding->rex & 8;
	if (operation == 7)
		insn->writes = 0;
	if (is_sp && (operation == 0 || operation == 5) && insn->value != INT32_MIN) {
		insn->kind = X86_64_ADD_SP;
		insn->value = operation == 5 ? -insn->value : insn->value;
		insn->writes = 0;
	}
}

/* f6, f7: test with a constant, not, neg, mul, div. fe, ff: inc, dec, call, jmp, push. */
static bool take_group(struct decoding *decoding, uint8_t opcode)
{
	struct x86_64_insn *insn = decoding->insn;
	uint8_t operation = decoding->reg & 7;
	if (opcode == 0xf6 || opcode == 0xf7) {
		if (operation >= 4) /* to rax and rdx */
			insn->writes = 1 << RAX | 1 << RDX;
		if (operation < 2)
			insn->writes = 0;
		size_t bytes = opcode == 0xf6 ? 1 : decoding->is_16bit ? 2 : 4;
		return operation >= 2 || take_value(decoding, bytes);
	}
	if (operation < 2)
		return true;
	insn->writes = 0;
	insn->kind = operation == 2   ? X86_64_CALL
		     : operation == 4 ? X86_64_JUMP_INDIRECT
				      : X86_64_PUSH;
	insn->reg = operation == 6 && decoding->mod == 3 ? decoding->rm : X86_64_NO_REGISTER;
	return opcode == 0xff && (operation == 2 || operation == 4 || operation == 6);
}

/* Opcodes that mean more than their shape says. */
static bool refine(struct decoding *decoding, uint8_t opcode)
{
	struct x86_64_insn *insn = decoding->insn;
	switch (opcode) {
	case 0x68:
	case 0x6a:
		insn->kind = X86_64_PUSH;
		return !decoding->is_16bit;
	case 0x80:
	case 0x81:
	case 0x83:
		take_arithmetic(decoding);
		return true;
	case 0x85:
		if (decoding->mod == 3 && decoding->reg == RAX && decoding->rm == RAX &&
			!decoding->is_16bit)
			insn->kind = X86_64_TEST_AX;
		return true;
	case 0xc3:
		insn->kind = X86_64_RETURN;
		return true;
	case 0xcc:
	case 0xf4:
		insn->kind = X86_64_STOP;
		return true;
	case 0xc7:
		insn->sets_ax = decoding->mod == 3 && decoding->rm == RAX && !decoding->is_16bit;
		return (decoding->reg & 7) == 0;
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff:
		return take_group(decoding, opcode);
	default:
		return true;
	}
}

static bool take_immediate(struct decoding *decoding, uint8_t shape)
{
	if (shape & IMM8)
		return take_value(decoding, 1);
	return !(shape & IMM32) || take_value(decoding, decoding->is_16bit ? 2 : 4);
}

static bool take_branch(struct decoding *decoding, uint8_t condition, size_t bytes)
{
	decoding->insn->kind = condition == 4   ? X86_64_BRANCH_ZERO
			       : condition == 5 ? X86_64_BRANCH_NONZERO
						: X86_64_BRANCH;
	return !decoding->is_16bit && take_value(decoding, bytes);
}

static bool take_two_byte(struct decoding *decoding)
{
	if (!has(decoding, 1))
		return false;
	uint8_t opcode = decoding->bytes[decoding->at++];
	if (opcode >= 0x80 && opcode <= 0x8f)
		return take_branch(decoding, opcode & 15, 4);
	uint8_t shape = two_byte(opcode);
	if (!shape || (shape & MODRM && !take_modrm(decoding)))
		return false;
	note_writes(decoding, shape);
	if (opcode == 0x05) {
		decoding->insn->kind = X86_64_SYSCALL;
		decoding->insn->writes = 1 << RAX | 1 << RCX | 1 << 11;
	} else if (opcode == 0x0b) {
		decoding->insn->kind = X86_64_STOP;
	}
	return true;
}

/* push, pop, xchg with rax, mov of a constant: the register is part of the opcode. */
static bool take_short(struct decoding *decoding, uint8_t opcode)
{
	struct x86_64_insn *insn = decoding->insn;
	uint8_t reg = (uint8_t)((opcode & 7) | (decoding->rex & 1) << 3);
	if (opcode < 0x60) {
		insn->kind = opcode < 0x58 ? X86_64_PUSH : X86_64_POP;
		insn->reg = reg;
		insn->writes = opcode < 0x58 ? 0 : (uint16_t)(1 << reg);
		return !decoding->is_16bit;
	}
	insn->writes = (uint16_t)(1 << reg);
	if (opcode < 0xb8)
		return take_value(decoding, 1); /* mov $,%al */
	if (decoding->is_16bit)
		return take_value(decoding, 2);
	if (decoding->rex & 8) {
		decoding->at += 4;
		return decoding->at <= decoding->len && take_value(decoding, 4);
	}
	insn->sets_ax = reg == RAX;
	return take_value(decoding, 4);
}

static bool take_opcode(struct decoding *decoding, uint8_t opcode)
{
	struct x86_64_insn *insn = decoding->insn;
	if (opcode == 0x0f)
		return take_two_byte(decoding);
	if ((opcode >= 0x50 && opcode < 0x60) || (opcode >= 0xb0 && opcode < 0xc0))
		return take_short(decoding, opcode);
	if (opcode >= 0x70 && opcode < 0x80)
		return take_branch(decoding, opcode & 15, 1);
	if (opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb) {
		insn->kind = opcode == 0xe8 ? X86_64_CALL : X86_64_JUMP;
		return !decoding->is_16bit && take_value(decoding, opcode == 0xeb ? 1 : 4);
	}
	uint8_t shape = one_byte[opcode];
	if (opcode < 0x40) { /* the last of the eight is cmp */
		static const uint8_t forms[8] = {RM_REG, RM_REG, REG_RM, REG_RM, IMM8, IMM32};
		shape = forms[opcode & 7];
		if (opcode >= 0x38)
			shape &= (uint8_t) ~(TO_RM | TO_REG);
		else if ((opcode & 7) >= 4)
			insn->writes = 1 << RAX;
	}
	if (!shape || (shape & MODRM && !take_modrm(decoding)))
		return false;
	note_writes(decoding, shape);
	return take_immediate(decoding, shape) && refine(decoding, opcode);
}

/* Operand size, segments, repeats, bnd; then REX. False: nothing follows. */
static bool take_prefixes(struct decoding *decoding)
{
	for (; has(decoding, 1); decoding->at++) {
		uint8_t byte = decoding->bytes[decoding->at];
		if (byte == 0x66)
			decoding->is_16bit = true;
		else if (byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x26 &&
			 byte != 0x64 && byte != 0x65 && byte != 0xf2 && byte != 0xf3)
			break;
	}
	if (has(decoding, 1) && (decoding->bytes[decoding->at] & 0xf0) == 0x40)
		decoding->rex = decoding->bytes[decoding->at++];
	return has(decoding, 1);
}

bool x86_64_insn_decode(const uint8_t *bytes, size_t len, struct x86_64_insn *ret)
{
	*ret = (struct x86_64_insn){.reg = X86_64_NO_REGISTER};
	struct decoding decoding = {
		.bytes = bytes, .len = len < X86_64_INSN_MAX ? len : X86_64_INSN_MAX, .insn = ret};
	if (!take_prefixes(&decoding) || !take_opcode(&decoding, decoding.bytes[decoding.at++]))
		return false;
	ret->len = (uint8_t)decoding.at;
	/* pop %rsp and whatever else writes it. */
	if (ret->writes >> X86_64_SP & 1)
		ret->kind = X86_64_OTHER;
	return true;
}

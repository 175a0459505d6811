#include "record/runtime/racket/racket_code.h"

#include <elf.h>
#include <string.h>

#include "format/machine/arm64_insn.h"

enum {
	CALL_BYTES = 5,
	LEA_BYTES = 7,
	MOVE_BYTES = 7,
};

/* ---- x86-64 ---- */

/* Where an instruction that ends there leads to, by its last four bytes. */
static uint64_t racket_code_target(const struct racket_code *code, size_t end)
{
	int32_t distance;
	memcpy(&distance, code->bytes + end - sizeof(distance), sizeof(distance));
	return code->address + end + (uint64_t)(int64_t)distance;
}

static bool find_text_of_x86_64(const struct racket_code *code, uint64_t *ret)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x05};
	if (code->len < LEA_BYTES || memcmp(code->bytes, lea, sizeof(lea)) != 0)
		return false;
	*ret = racket_code_target(code, LEA_BYTES);
	return true;
}

static bool find_call_of_x86_64(
	const struct racket_code *code, uint64_t callee, struct racket_call *ret)
{
	static const uint8_t move[] = {0x48, 0x8b, 0x35};
	for (size_t at = MOVE_BYTES; at + CALL_BYTES <= code->len; at++) {
		if (code->bytes[at] != 0xe8 ||
			racket_code_target(code, at + CALL_BYTES) != callee ||
			memcmp(code->bytes + at - MOVE_BYTES, move, sizeof(move)) != 0)
			continue;
		ret->argument = racket_code_target(code, at);
		ret->in_structure = 0;
		ret->returns_to = code->address + at + CALL_BYTES;
		return true;
	}
	return false;
}

/* ---- arm64 ---- */

static bool find_text_of_arm64(const struct racket_code *code, uint64_t *ret)
{
	struct arm64_values values = {.known = 0};
	for (size_t at = 0; at + ARM64_INSN_BYTES <= code->len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn =
			arm64_insn_decode(code->bytes + at, code->len - at, code->address + at);
		arm64_values_run(&values, &insn);
		if (insn.kind == ARM64_RETURN) {
			*ret = values.value[0];
			return values.known & 1;
		}
	}
	return false;
}

/* What registers were loaded from; in_structure: by one that was loaded itself. */
struct racket_loads {
	struct {
		uint64_t from, in_structure;
	} reg[ARM64_NO_REGISTER];
};

static void racket_loads_run(struct racket_loads *loads, const struct arm64_values *values,
	const struct arm64_insn *insn)
{
	uint64_t from, in_structure = 0;
	bool of_thread;
	bool is_load = insn->kind == ARM64_LOAD && insn->bytes == sizeof(uint64_t) &&
		       insn->reg < ARM64_NO_REGISTER && insn->base < ARM64_NO_REGISTER;
	bool is_known =
		is_load && arm64_values_address(values, insn, &from, &of_thread) && !of_thread;
	if (is_load && !is_known && !loads->reg[insn->base].in_structure) {
		from = loads->reg[insn->base].from;
		in_structure = insn->value;
		is_known = from && in_structure;
	}
	for (int i = 0; i < ARM64_NO_REGISTER; i++)
		if (insn->writes >> i & 1)
			loads->reg[i].from = loads->reg[i].in_structure = 0;
	if (!is_known)
		return;
	loads->reg[insn->reg].from = from;
	loads->reg[insn->reg].in_structure = in_structure;
}

static bool find_call_of_arm64(
	const struct racket_code *code, uint64_t callee, struct racket_call *ret)
{
	const int x1 = 1;
	struct arm64_values values = {.known = 0};
	struct racket_loads loads = {0};
	for (size_t at = 0; at + ARM64_INSN_BYTES <= code->len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn =
			arm64_insn_decode(code->bytes + at, code->len - at, code->address + at);
		if (insn.kind == ARM64_CALL && insn.value == callee && loads.reg[x1].from) {
			ret->argument = loads.reg[x1].from;
			ret->in_structure = loads.reg[x1].in_structure;
			ret->returns_to = code->address + at + ARM64_INSN_BYTES;
			return true;
		}
		racket_loads_run(&loads, &values, &insn);
		arm64_values_run(&values, &insn);
	}
	return false;
}

/* ---- both ---- */

bool racket_code_find_text(uint16_t machine, const struct racket_code *code, uint64_t *ret)
{
	return machine == EM_AARCH64 ? find_text_of_arm64(code, ret)
				     : find_text_of_x86_64(code, ret);
}

bool racket_code_find_call(
	uint16_t machine, const struct racket_code *code, uint64_t callee, struct racket_call *ret)
{
	return machine == EM_AARCH64 ? find_call_of_arm64(code, callee, ret)
				     : find_call_of_x86_64(code, callee, ret);
}

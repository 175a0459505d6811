/*
 * Operands as a machine's assembler writes them, which stand in the arguments of USDT probes: %reg,
 * OFF(%reg), $NUMBER on x86-64; reg, [reg], [reg, OFF], NUMBER on arm64. Indexed memory and
 * addresses of variables, which compilers make for constants and globals, are not read.
 *
 * Source: "User Space Probe Implementation" of the SystemTap wiki; gcc 12 for arm64.
 */
#ifndef EBPROF_MACHINE_OPERAND_H
#define EBPROF_MACHINE_OPERAND_H

#include "format/machine/machine.h"

enum machine_operand_kind {
	MACHINE_OPERAND_CONSTANT,
	MACHINE_OPERAND_REGISTER,
	MACHINE_OPERAND_MEMORY,
};

struct machine_operand {
	enum machine_operand_kind kind;
	int value;                /* the constant; of memory, what is added to the register */
	uint16_t register_offset; /* of the register, see struct machine_user_register */
};

/* The operand ends at a space or with the text. False: it is none of these; *ret is undefined. */
bool machine_operand_parse(
	const struct machine *machine, const char *text, struct machine_operand *ret);

#endif

#include "report/load/unwind/thread_state.h"

#include <string.h>

struct thread_state thread_state_of(
	const struct unwind_machine *machine, const struct layout_snapshot *snapshot)
{
	struct thread_state state = {
		.machine = machine,
		.is_exact = snapshot->is_exact,
		.stack_address = snapshot->stack_address,
		.stack = snapshot->stack,
		.stack_bytes = snapshot->stack_bytes,
	};
	struct unwind_registers *registers = &state.registers;
	registers->ip = snapshot->registers[machine->pc];
	registers->known = snapshot->known & ~(1ULL << machine->pc);
	for (unsigned i = 0; i < UNWIND_REGISTERS; i++)
		registers->reg[i] = snapshot->registers[i];
	return state;
}

bool thread_state_get(const struct thread_state *state, uint64_t number, uint64_t *value)
{
	const struct unwind_registers *registers = &state->registers;
	bool is_pc = number == state->machine->pc;
	if (!is_pc && (number >= UNWIND_REGISTERS || !(registers->known >> number & 1)))
		return false;
	*value = is_pc ? registers->ip : registers->reg[number];
	return true;
}

bool thread_state_read(
	const struct thread_state *state, uint64_t address, unsigned bytes, uint64_t *value)
{
	uint64_t offset = address - state->stack_address; /* below the first byte: far above */
	if (bytes > 8 || offset >= state->stack_bytes || state->stack_bytes - offset < bytes)
		return false;
	uint8_t word[8] = {0};
	memcpy(word, state->stack + offset, bytes);
	*value = 0;
	for (int i = 0; i < 8; i++)
		*value |= (uint64_t)word[i] << (8 * i);
	return true;
}

#include "report/unwind/thread_state.h"

bool thread_state_get(const struct thread_state *state, uint64_t number, uint64_t *value)
{
	if (number >= LAYOUT_MAX_REGISTERS || !(state->known >> number & 1))
		return false;
	*value = state->registers[number];
	return true;
}

void thread_state_set(struct thread_state *state, uint64_t number, uint64_t value)
{
	if (number >= LAYOUT_MAX_REGISTERS)
		return;
	state->known |= 1ULL << number;
	state->registers[number] = value;
}

bool thread_state_read(
	const struct thread_state *state, uint64_t address, unsigned bytes, uint64_t *value)
{
	uint64_t offset = address - state->stack_address; /* below the first byte: far above */
	if (offset >= state->stack_bytes || state->stack_bytes - offset < bytes)
		return false;
	*value = 0;
	for (unsigned i = 0; i < bytes; i++)
		*value |= (uint64_t)state->stack[offset + i] << (8 * i);
	return true;
}

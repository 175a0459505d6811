#include "report/load/unwind/thread_state.h"

#include <string.h>

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
	if (bytes > 8 || offset >= state->stack_bytes || state->stack_bytes - offset < bytes)
		return false;
	uint8_t word[8] = {0};
	memcpy(word, state->stack + offset, bytes);
	*value = 0;
	for (int i = 0; i < 8; i++)
		*value |= (uint64_t)word[i] << (8 * i);
	return true;
}

/*
 * A thread at one of its frames, as far as it is known: registers, and the
 * bytes of its stack that were kept. Unwinding goes from one such state to the
 * caller's; the memory stays the same.
 */
#ifndef EBPROF_THREAD_STATE_H
#define EBPROF_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/file/layout.h"
#include "format/unwind/unwind_rule.h"

struct thread_state {
	const struct unwind_machine *machine;
	struct unwind_registers registers;
	bool is_exact;          /* the pc is that of an instruction, not a return address */
	uint64_t stack_address; /* of the first byte of: */
	const uint8_t *stack;   /* borrowed */
	uint32_t stack_bytes;
};

/* Of a snapshot, whose stack it borrows. */
struct thread_state thread_state_of(
	const struct unwind_machine *machine, const struct layout_snapshot *snapshot);
/* False when its value is not known. */
bool thread_state_get(const struct thread_state *state, uint64_t number, uint64_t *value);
/* `bytes` (1 to 8) of memory, little-endian; false when they were not kept. */
bool thread_state_read(
	const struct thread_state *state, uint64_t address, unsigned bytes, uint64_t *value);

#endif

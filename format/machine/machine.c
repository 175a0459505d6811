#include "format/machine/machine.h"

#include <string.h>

static const struct machine *const machines[] = {&machine_x86_64, &machine_arm64};

enum {
	NR_MACHINES = sizeof(machines) / sizeof(*machines),
};

const struct machine *machine_find(uint16_t elf)
{
	for (size_t i = 0; i < NR_MACHINES; i++)
		if (machines[i]->elf == elf)
			return machines[i];
	return NULL;
}

const struct machine *machine_named(const char *uname)
{
	for (size_t i = 0; i < NR_MACHINES; i++)
		if (strcmp(machines[i]->uname, uname) == 0)
			return machines[i];
	return NULL;
}

const char *machine_syscall_name(const struct machine *machine, uint32_t number)
{
	return number < machine->nr_syscalls ? machine->syscalls[number] : NULL;
}

const struct unwind_machine *machine_registers(uint16_t elf)
{
	const struct machine *machine = machine_find(elf);
	return machine ? machine->unwind : NULL;
}

const struct unwind_machine *machine_registers_within(
	const struct machine *machine, unsigned address_bits)
{
	const struct unwind_machine *within =
		machine->unwind_within ? machine->unwind_within(address_bits) : NULL;
	return within ? within : machine->unwind;
}

const struct unwind_machine *machine_native_registers(void)
{
	const struct machine *machine = machine_native();
	return machine_registers_within(
		machine, machine->address_bits ? machine->address_bits() : 0);
}

/* That with the most registers: the pc of one may be another's general register. */
const struct machine *machine_of_snapshot(uint64_t known)
{
	const struct machine *found = NULL;
	for (size_t i = 0; i < NR_MACHINES; i++)
		if (known >> machines[i]->unwind->pc & 1 &&
			(!found || machines[i]->unwind->pc > found->unwind->pc))
			found = machines[i];
	return found;
}

const struct machine *machine_native(void)
{
#if defined(__x86_64__)
	return &machine_x86_64;
#elif defined(__aarch64__)
	return &machine_arm64;
#endif
}

#include "record/event/probe_place.h"

#include "format/base/mem.h"
#include "format/elf/go_pclntab.h"
#include "format/machine/machine.h"

/* `bytes_ahead`: one of a machine's, or NULL. */
static uint64_t place_behind(const struct elf_file *elf, uint64_t entry,
	size_t (*bytes_ahead)(const uint8_t *code, size_t len))
{
	enum {
		CODE_BYTES = 48,
	};
	CLEANUP_FREE uint8_t *code = NULL;
	if (!bytes_ahead)
		return entry;
	struct err *err = elf_file_read(elf, entry, CODE_BYTES, &code);
	uint64_t place = err ? entry : entry + bytes_ahead(code, CODE_BYTES);
	err_destroy(err); /* the file is shorter */
	return place;
}

uint64_t probe_place_cheap(const struct elf_file *elf, uint64_t entry)
{
	const struct machine *machine = machine_find(elf_file_machine(elf));
	return place_behind(elf, entry, machine ? machine->cheap_probe : NULL);
}

uint64_t probe_place_once(struct elf_file *elf, uint64_t entry)
{
	const struct machine *machine = machine_find(elf_file_machine(elf));
	bool is_go = machine && go_pclntab_is_in(elf);
	return place_behind(elf, entry, is_go ? machine->go_stack_check : NULL);
}

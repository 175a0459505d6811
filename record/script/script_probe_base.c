#include "record/script/script_probe_base.h"

#include "bpf/event.h"
#include "format/base/mem.h"
#include "format/dwarf/cfi.h"
#include "format/machine/machine.h"

enum {
	MAX_SECTION_BYTES = 64 << 20,
	MAX_OFFSET = 1 << 16, /* of a CFA */
};

/* A place in the function whose rows are being read. */
struct search {
	uint64_t address;
	bool has_row;
	struct cfi_row row;
};

static void script_probe_base_on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct search *search = context;
	if (address > search->address)
		return;
	search->row = *row;
	search->has_row = true;
}

/* Where a frame begins, from the stack pointer on. */
static bool cfa_offset(const struct search *search, int *ret)
{
	const struct cfi_row *row = &search->row;
	*ret = row->cfa_offset;
	return search->has_row && row->cfa_kind == UNWIND_CFA_REGISTER &&
	       row->cfa_register == UNWIND_SP && *ret > 0 && *ret < MAX_OFFSET;
}

struct found {
	uint64_t function; /* where it starts; 0: not found */
	int cfa_offset;
};

static void script_probe_base_find(const struct cfi_section *section, const uint64_t *addresses,
	struct found *found, size_t count)
{
	struct cfi_reader *reader = cfi_reader_create(section);
	struct cfi_function function;
	while (cfi_reader_next(reader, &function))
		for (size_t i = 0; i < count; i++) {
			if (addresses[i] < function.start || addresses[i] >= function.end)
				continue;
			struct search search = {.address = addresses[i]};
			cfi_reader_run(reader, function.entry, script_probe_base_on_row, &search);
			if (cfa_offset(&search, &found[i].cfa_offset))
				found[i].function = function.start;
		}
	cfi_reader_destroy(reader);
}

/*
 * What stands for a native frame is a byte of it: of a calling function, its lowest one when it
 * called; of the place's own, the one below its stack pointer at the first such place, so that it
 * lies below all that this function calls.
 */
static void put_base(struct script_probe *place, enum script_probe_owner owner,
	const struct found *found, const struct found *first)
{
	if (owner == SCRIPT_PROBE_IN_CALLEE)
		place->shadow.sp_offset = found->cfa_offset;
	else
		place->shadow.sp_offset = found->cfa_offset - first->cfa_offset - 1;
}

/* Callees of one function are in a group, too, as far as each is all that there is in between. */
static void put_bases(enum script_probe_owner owner, struct script_probe *places,
	const struct found *found, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t first = 0;
		while (first < i &&
			(!found[i].function || found[first].function != found[i].function))
			first++;
		places[i].shadow.group = (unsigned char)(first + 1);
		if (found[i].function)
			put_base(&places[i], owner, &found[i], &found[first]);
		else if (owner == SCRIPT_PROBE_IN_FRAME)
			places[i].shadow.sp_offset = -1;
	}
}

void script_probe_base(struct elf_file *elf, enum script_probe_owner owner,
	struct script_probe *places, size_t count)
{
	CLEANUP_FREE struct found *found = mem_zalloc_array(count, sizeof(*found));
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(count, sizeof(*addresses));
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t nr_segments;
	const struct elf_segment *segments = elf_file_segments(elf, &nr_segments);
	for (size_t i = 0; i < count; i++)
		elf_segments_offset_to_vaddr(
			segments, nr_segments, places[i].offset, &addresses[i]);
	const struct elf_section *section = elf_file_find_section(elf, ".eh_frame");
	if (section && section->size <= MAX_SECTION_BYTES)
		err_destroy(elf_file_read(elf, section->offset, section->size, &bytes));
	if (bytes) {
		struct cfi_section frames = {
			.kind = CFI_EH_FRAME,
			.bytes = bytes,
			.len = section->size,
			.vaddr = section->addr,
			.machine = machine_registers(elf_file_machine(elf)),
		};
		script_probe_base_find(&frames, addresses, found, count);
	}
	put_bases(owner, places, found, count);
}

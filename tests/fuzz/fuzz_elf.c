/* Any bytes as an ELF file: segments, build ID, sections, probes, symbols, and the reads in
 * between. */
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"
#include "format/elf/elf_relocate.h"
#include "format/elf/elf_stapsdt.h"
#include "format/elf/elf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void drop(struct err *err)
{
	err_destroy(err);
}

/* The sections' contents are of no matter: zeros stand for them. */
static void relocate(struct elf_file *file, const struct elf_section *sections, size_t count)
{
	enum {
		MAX_BYTES = 4096
	};
	uint8_t contents[MAX_BYTES] = {0};
	struct elf_layout layout = {0};
	struct err *err = elf_layout_make(file, &layout);
	for (size_t i = 1; !err && i < count && i < 64; i++) {
		uint64_t len = sections[i].size < MAX_BYTES ? sections[i].size : MAX_BYTES;
		drop(elf_relocate(file, &layout, i, contents, len));
	}
	drop(err);
	elf_layout_deinit(&layout);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct elf_file *file;
	struct err *err = elf_file_open_memory(bytes, len, &file);
	if (err) {
		drop(err);
		return 0;
	}
	size_t count;
	const struct elf_segment *segments = elf_file_segments(file, &count);
	uint64_t vaddr;
	elf_segments_offset_to_vaddr(segments, count, len / 2, &vaddr);
	elf_file_build_id(file, &count);
	elf_file_find_section(file, ".text");
	const struct elf_section *sections;
	err = elf_file_sections(file, &sections, &count);
	if (!err)
		relocate(file, sections, count);
	drop(err);
	struct elf_stapsdt probes = {0};
	drop(elf_stapsdt_read(file, &probes));
	/* Every name must be readable to its end. */
	volatile char last = 0;
	vec_each(&probes.probes, probe)
		for (const char *c = probe->provider; c <= probe->arguments || c[-1]; c++)
			last = *c;
	elf_stapsdt_deinit(&probes);
	struct elf_symbols symbols = {0};
	drop(elf_symbols_read(file, &symbols));
	vec_each(&symbols.symbols, symbol)
		for (const char *c = elf_symbols_name(&symbols, symbol); *c; c++)
			last = *c;
	(void)last;
	elf_symbols_deinit(&symbols);
	elf_file_destroy(file);
	return 0;
}

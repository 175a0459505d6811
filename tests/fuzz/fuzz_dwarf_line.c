/* Line programs: the header, the machine, the paths. */
#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/dwarf/dwarf_line_machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	ADDRESSES = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct dwarf_file file = {0};
	struct dwarf_row rows[ADDRESSES] = {0};
	uint64_t addresses[ADDRESSES];
	for (size_t i = 0; i < ADDRESSES; i++)
		addresses[i] = 0x1000 + i * 16;
	file.sections[DWARF_LINE] = (struct dwarf_span){bytes, len};
	file.sections[DWARF_LINE_STR] = file.sections[DWARF_STR] = file.sections[DWARF_LINE];
	struct dwarf_line_header *header = dwarf_line_header_create(&file, 0, 8);
	if (!header)
		return 0;
	dwarf_line_run(header, &file, addresses, ADDRESSES, rows);
	struct dwarf_span comp_dir = {(const uint8_t *)"/src", 4};
	CLEANUP(str_deinit) struct str path = {0};
	for (size_t i = 0; i < ADDRESSES; i++) {
		str_truncate(&path, 0);
		dwarf_line_put_path(header, comp_dir, rows[i].file, &path);
	}
	dwarf_line_header_destroy(header);
	return 0;
}

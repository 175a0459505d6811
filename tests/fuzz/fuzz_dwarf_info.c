/* The sections of one file, cut out of the input: units, DIEs, ranges, names, packages. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/dwarf/dwarf_map.h"
#include "format/dwarf/dwarf_names.h"
#include "format/dwarf/dwarf_scopes.h"
#include "format/dwarf/dwarf_split.h"
#include "format/dwarf/dwarf_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	ADDRESSES = 64,
};

/* Each section: its number, a length of three bytes, its bytes. */
static void take_sections(struct dwarf_file *file, struct bytes_cursor input)
{
	while (bytes_left(&input) && !input.overrun) {
		uint8_t id = dwarf_u8(&input);
		uint64_t len = dwarf_unsigned(&input, 3);
		if (len > bytes_left(&input))
			len = bytes_left(&input);
		file->sections[id % DWARF_SECTION_COUNT] = dwarf_block(&input, len);
	}
}

static uint64_t read_names(
	struct dwarf_reader *reader, struct dwarf_unit *unit, const struct dwarf_walk *walk)
{
	uint64_t sum = dwarf_unit_lines(unit) != NULL;
	struct dwarf_scopes scopes = {0};
	struct str text = {0};
	vec_each(&walk->nodes, node) {
		struct dwarf_die die = {unit, node->die};
		struct dwarf_call call;
		struct dwarf_function function;
		dwarf_read_call(reader, die, &call);
		dwarf_read_function(reader, call.function, &function);
		for (uint64_t i = 0; i < function.name.len; i++)
			sum += function.name.data[i];
		str_truncate(&text, 0);
		dwarf_scopes_put(&scopes, reader, call.function, &text);
		sum += text.len;
	}
	str_deinit(&text);
	dwarf_scopes_deinit(&scopes);
	return sum;
}

static void read_units(struct dwarf_file *file)
{
	struct dwarf_reader reader;
	uint64_t addresses[ADDRESSES];
	uint32_t units[ADDRESSES], nodes[ADDRESSES];
	for (size_t i = 0; i < ADDRESSES; i++)
		addresses[i] = 0x1000 + i * 16;
	dwarf_reader_init(&reader, file);
	dwarf_map_addresses(&reader, addresses, ADDRESSES, units);
	for (size_t i = 0; i < file->units.len && i < 64; i++) {
		struct dwarf_unit *unit = dwarf_reader_unit(&reader, file, i);
		struct dwarf_walk walk = {0};
		if (unit) {
			dwarf_walk_unit(&walk, unit, addresses, ADDRESSES, nodes);
			volatile uint64_t sum = read_names(&reader, unit, &walk);
			(void)sum;
		}
		dwarf_walk_deinit(&walk);
		dwarf_reader_trim(&reader);
	}
	dwarf_reader_deinit(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct dwarf_file file = {0}, slice;
	if (!len)
		return 0;
	take_sections(&file, bytes_cursor(bytes, len));
	if (file.sections[DWARF_INFO].len & 1) /* with code that has an end, and without */
		vec_push(&file.code, (struct dwarf_code){0x1000, 0x2000});
	file.alt = &file;
	dwarf_file_read_units(&file);
	read_units(&file);
	if (dwarf_split_take(&file, 1, &slice)) {
		read_units(&slice);
		dwarf_file_deinit(&slice);
	}
	dwarf_file_deinit(&file);
	return 0;
}

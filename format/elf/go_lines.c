#include "format/elf/go_lines.h"

#include "format/elf/go_table.h"

enum {
	NUMBER_BYTES = 4,
};

/*
 * Up to 1.15 one list of offsets in the table, the first of which is how many there are. Then each
 * unit (a package) has a piece of such a list, and offsets count from the files' names on.
 */
uint32_t go_lines_file(struct go_pclntab *table, const struct go_function *function, int32_t value)
{
	bool is_old = table->version == GO_1_2;
	if (value < (is_old ? 1 : 0))
		return UINT32_MAX;
	uint64_t number = (uint64_t)value + (is_old ? 0 : function->unit);
	uint64_t list = is_old ? table->files : table->units;
	struct bytes_cursor cursor = go_table_cursor(table, list + number * NUMBER_BYTES);
	uint32_t offset = bytes_get_u32(&cursor);
	return cursor.overrun ? UINT32_MAX : offset;
}

const char *go_lines_path(struct go_pclntab *table, uint32_t file)
{
	if (file == UINT32_MAX)
		return "";
	return go_table_text(table, (table->version == GO_1_2 ? 0 : table->files) + file);
}

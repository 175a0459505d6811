#include "format/elf/go_table.h"

#include <string.h>

struct bytes_cursor go_table_cursor_of_blocks(struct go_pclntab *table, uint64_t offset)
{
	size_t len;
	const uint8_t *bytes = elf_blocks_view(table->blocks, offset, &len);
	return (struct bytes_cursor){bytes, bytes, bytes ? bytes + len : bytes, !bytes};
}

const char *go_table_text(struct go_pclntab *table, uint64_t offset)
{
	size_t len;
	const uint8_t *bytes = elf_blocks_view(table->blocks, offset, &len);
	if (len > ELF_BLOCKS_VIEW_MAX)
		len = ELF_BLOCKS_VIEW_MAX;
	return len && memchr(bytes, 0, len) ? (const char *)bytes : "";
}

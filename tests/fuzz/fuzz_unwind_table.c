/* Any bytes as an ELF file, from which an unwind table is built: it is sound, or there is none. */
#include <stdint.h>
#include <stdlib.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"
#include "record/unwind/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void search(const struct unwind_table *table)
{
	volatile unsigned sum = 0;
	uint64_t start = (uint64_t)table->first_page << UNWIND_PAGE_SHIFT;
	for (size_t i = 0; i < table->pages.len + 2 && i < 100; i++)
		for (uint64_t into = 0; into < 1 << UNWIND_PAGE_SHIFT; into += 511)
			sum += unwind_table_find(
				table, start + (i << UNWIND_PAGE_SHIFT) + into - 4096)
				       ->cfa;
	(void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct elf_file *file;
	struct unwind_table table;
	struct err *err = elf_file_open_memory(bytes, len, &file);
	if (err) {
		err_destroy(err);
		return 0;
	}
	err = unwind_table_build(file, &table);
	if (!err) {
		struct err *fault = unwind_table_check(&table);
		if (fault)
			abort();
		search(&table);
		unwind_table_deinit(&table);
	}
	err_destroy(err);
	elf_file_destroy(file);
	return 0;
}

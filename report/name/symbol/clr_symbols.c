#include "report/name/symbol/clr_symbols.h"

#include <elf.h>

#include "format/base/str.h"
#include "format/clr/clr_file.h"
#include "format/clr/clr_ready.h"

bool clr_symbols_are_in(struct elf_file *elf)
{
	struct clr_file_image image;
	if (!elf_file_pe(elf) || !clr_file_open(elf, 0, &image))
		return false;
	bool are_in = clr_image_count_functions(&image.image) != 0;
	clr_file_close(&image);
	return are_in;
}

static void add_functions(const struct clr_file_image *file, struct symbol_index *index)
{
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP(clr_ready_deinit) struct clr_ready ready;
	uint32_t count = clr_image_count_functions(&file->image);
	uint64_t address;
	clr_ready_init(&ready, &file->image);
	for (uint32_t i = 0; i < count; i++) {
		struct clr_function function = clr_image_function(&file->image, i);
		str_truncate(&name, 0);
		if (function.end > function.begin &&
			clr_file_address(file, function.begin, &address) &&
			clr_ready_put_name(&ready, i, &name))
			symbol_index_add(index, address, function.end - function.begin,
				str_text(&name), STB_GLOBAL, STT_FUNC);
	}
}

void clr_symbols_add(struct elf_file *elf, struct symbol_index *index)
{
	struct clr_file_image image;
	size_t count = clr_file_count(elf);
	for (size_t i = 0; i < count; i++)
		if (clr_file_open(elf, i, &image)) {
			add_functions(&image, index);
			clr_file_close(&image);
		}
}

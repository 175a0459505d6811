#include "report/name/symbol/clr_symbols.h"

#include <elf.h>

#include "format/base/str.h"
#include "format/clr/clr_ready.h"

static bool clr_symbols_read(void *context, uint64_t offset, void *to, size_t len)
{
	struct err *err = elf_file_read_into(context, offset, to, len);
	bool is_read = !err;
	err_destroy(err);
	return is_read;
}

bool clr_symbols_are_in(struct elf_file *elf)
{
	struct clr_bytes bytes;
	struct clr_image image;
	if (!elf_file_pe(elf))
		return false;
	clr_bytes_init(&bytes, clr_symbols_read, elf, elf_file_size(elf));
	bool are_in = clr_image_open(&bytes, false, &image) && clr_image_count_functions(&image);
	clr_bytes_deinit(&bytes);
	return are_in;
}

static void add_functions(const struct clr_image *image, struct symbol_index *index)
{
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP(clr_ready_deinit) struct clr_ready ready;
	uint32_t count = clr_image_count_functions(image);
	clr_ready_init(&ready, image);
	for (uint32_t i = 0; i < count; i++) {
		struct clr_function function = clr_image_function(image, i);
		str_truncate(&name, 0);
		if (function.end > function.begin && clr_ready_put_name(&ready, i, &name))
			symbol_index_add(index, function.begin, function.end - function.begin,
				str_text(&name), STB_GLOBAL, STT_FUNC);
	}
}

void clr_symbols_add(struct elf_file *elf, struct symbol_index *index)
{
	struct clr_bytes bytes;
	struct clr_image image;
	clr_bytes_init(&bytes, clr_symbols_read, elf, elf_file_size(elf));
	if (clr_image_open(&bytes, false, &image))
		add_functions(&image, index);
	clr_bytes_deinit(&bytes);
}

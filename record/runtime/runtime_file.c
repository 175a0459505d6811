#include "record/runtime/runtime_file.h"

#include <elf.h>

bool runtime_file_read(struct elf_file *elf, uint64_t address, void *to, size_t len)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	uint64_t offset, left;
	if (!elf_segments_vaddr_to_offset(segments, count, address, &offset, &left) || left < len)
		return false;
	struct err *err = elf_file_read_into(elf, offset, to, len);
	bool is_read = !err;
	err_destroy(err);
	return is_read;
}

bool runtime_file_take_no_loop(struct elf_file *elf, struct runtime_file *file)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count; i++)
		if (segments[i].flags & PF_X && segments[i].filesz) {
			file->loop_start = file->loop_end = segments[i].vaddr;
			return true;
		}
	return false;
}

#include "record/runtime/runtime.h"

#include <elf.h>
#include <string.h>

const struct vm_runtime *vm_runtime(enum vm_kind kind)
{
	static const struct vm_runtime *const runtimes[VM_KINDS_END] = {
#define X(constant, number, name) [constant] = &name##_runtime,
		VM_KINDS(X)
#undef X
	};
	return kind < VM_KINDS_END ? runtimes[kind] : NULL;
}

/* Where the loop's segment is mapped, everything else is found from there. */
static bool take_segment(struct elf_file *elf, struct vm_file *file)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		const struct elf_segment *segment = &segments[i];
		if (!(segment->flags & PF_X) || file->loop_start < segment->vaddr ||
			file->loop_end < file->loop_start ||
			file->loop_end - segment->vaddr > segment->filesz)
			continue;
		file->address_to_file = segment->offset - segment->vaddr;
		return true;
	}
	return false;
}

struct err *vm_runtime_detect(struct elf_file *elf, struct vm_file *ret)
{
	*ret = (struct vm_file){0};
	for (enum vm_kind kind = VM_NONE + 1; kind < VM_KINDS_END; kind++) {
		struct vm_file file = {.row.kind = kind};
		bool is_found = false;
		if (!vm_runtime(kind))
			continue;
		try(vm_runtime(kind)->detect(elf, &file, &is_found));
		if (!is_found || !take_segment(elf, &file)) {
			if (file.is_runtime)
				ret->row.unknown = kind;
			continue;
		}
		vm_runtime(kind)->place(&file.row, file.address_to_file);
		*ret = file;
		return NULL;
	}
	return NULL;
}

bool vm_row_is_sound(const struct vm_row *row)
{
	if (row->kind == VM_NONE) {
		const struct vm_row none = {.unknown = row->unknown};
		return memcmp(row, &none, sizeof(none)) == 0 &&
		       (!row->unknown || vm_runtime(row->unknown));
	}
	return vm_runtime(row->kind) && !row->unknown && vm_runtime(row->kind)->is_sound(row);
}

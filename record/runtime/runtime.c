#include "record/runtime/runtime.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/pe_bundle.h"
#include "record/host/siphash.h"

const struct runtime *runtime_of(enum runtime_kind kind)
{
	static const struct runtime *const runtimes[RUNTIME_MAX_KINDS] = {
#define X(constant, number, name) [constant] = &name##_runtime,
		RUNTIMES(X)
#undef X
	};
	return kind < RUNTIME_MAX_KINDS ? runtimes[kind] : NULL;
}

bool runtime_has_loop(enum runtime_kind kind)
{
	const struct runtime *runtime = runtime_of(kind);
	return runtime && !runtime->has_no_frames && !runtime->has_no_loop;
}

uint32_t runtimes_all(void)
{
	uint32_t runtimes = 0;
	for (enum runtime_kind kind = RUNTIME_NONE + 1; kind < RUNTIME_MAX_KINDS; kind++)
		if (runtime_of(kind))
			runtimes |= 1U << kind;
	return runtimes;
}

uint32_t runtimes_with_frames(void)
{
	uint32_t runtimes = 0;
	for (enum runtime_kind kind = RUNTIME_NONE + 1; kind < RUNTIME_MAX_KINDS; kind++)
		if (runtime_of(kind) && !runtime_of(kind)->has_no_frames)
			runtimes |= 1U << kind;
	return runtimes;
}

uint32_t runtimes_of_code_of_no_file(void)
{
	uint32_t runtimes = 0;
	for (enum runtime_kind kind = RUNTIME_NONE + 1; kind < RUNTIME_MAX_KINDS; kind++)
		if (runtime_of(kind) && runtime_of(kind)->claims_code_of_no_file)
			runtimes |= 1U << kind;
	return runtimes;
}

uint64_t runtime_fingerprint(const struct runtime *(*of)(enum runtime_kind kind))
{
	static const uint8_t key[SIPHASH_KEY_BYTES];
	CLEANUP(bytes_buf_deinit) struct bytes_buf rows = {0};
	for (enum runtime_kind kind = RUNTIME_NONE + 1; kind < RUNTIME_MAX_KINDS; kind++) {
		const struct runtime *runtime = of(kind);
		if (!runtime)
			continue;
		bytes_put_u32(&rows, kind);
		bytes_put_u32(&rows, runtime->version);
		bytes_put_blob(&rows, runtime->name, strlen(runtime->name));
	}
	struct siphash hash;
	siphash_init(&hash, key);
	siphash_add(&hash, rows.data, rows.len);
	return siphash_finish(&hash);
}

/* Where the loop's segment is mapped, everything else is found from there. */
static bool take_segment(struct elf_file *elf, struct runtime_file *file)
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

/* Where the last segment ends: files in the same one may follow. Those of a .NET bundle are a
 * segment more, which does not count. */
static uint32_t find_end_page(const struct elf_file *elf)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	const struct pe_bundle *bundle = elf_file_bundle(elf);
	bool has_images = bundle && bundle->images.len;
	uint64_t limit = has_images ? bundle->images.data[0].offset : UINT64_MAX, end = 0;
	for (size_t i = 0; i < count; i++)
		if (segments[i].filesz && segments[i].offset < limit &&
			segments[i].offset + segments[i].filesz > end)
			end = segments[i].offset + segments[i].filesz;
	uint64_t page = (end + (1U << RUNTIME_PAGE_SHIFT) - 1) >> RUNTIME_PAGE_SHIFT;
	return page > UINT32_MAX ? 0 : (uint32_t)page;
}

struct err *runtime_detect(struct elf_file *elf, struct runtime_file *ret)
{
	*ret = (struct runtime_file){0};
	for (enum runtime_kind kind = RUNTIME_NONE + 1; kind < RUNTIME_MAX_KINDS; kind++) {
		struct runtime_file file = {.row.kind = kind};
		bool is_found = false;
		if (!runtime_of(kind))
			continue;
		try(runtime_of(kind)->detect(elf, &file, &is_found));
		bool is_whole =
			is_found && (runtime_of(kind)->has_no_frames || take_segment(elf, &file));
		if (!is_whole) {
			if (file.is_runtime)
				ret->row.unknown = kind;
			continue;
		}
		runtime_of(kind)->place(&file.row, file.address_to_file);
		file.row.end_page = find_end_page(elf);
		*ret = file;
		return NULL;
	}
	return NULL;
}

bool runtime_row_is_sound(const struct runtime_row *row)
{
	if (row->kind == RUNTIME_NONE) {
		const struct runtime_row none = {.unknown = row->unknown};
		return memcmp(row, &none, sizeof(none)) == 0 &&
		       (!row->unknown || runtime_of(row->unknown));
	}
	return runtime_of(row->kind) && !row->unknown && runtime_of(row->kind)->is_sound(row);
}

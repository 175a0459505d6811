#include "format/elf/elf_stapsdt.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_note.h"

enum {
	STAPSDT_TYPE = 3,
	NOTES_MAX_BYTES = 4 << 20, /* of a file; PHP, with hundreds of places, has 30 KiB */
	PROBES_MAX = 1 << 14,
};

static const char owner[] = "stapsdt";

struct reading {
	struct elf_stapsdt *list;
	const struct elf_segment *segments;
	size_t nr_segments;
	/* Where .stapsdt.base is now. A note says where it was when it was linked: prelink moves
	 * files without looking into these notes. */
	bool has_base;
	uint64_t base;
};

/* A text up to its NUL; NULL: there is none. */
static const char *elf_stapsdt_get_text(struct bytes_cursor *cursor)
{
	const char *text = (const char *)cursor->pos;
	size_t len = strnlen(text, bytes_left(cursor));
	return bytes_get(cursor, len + 1) ? text : NULL;
}

static bool find_offset(
	const struct reading *reading, uint64_t address, bool is_code, uint64_t *ret)
{
	uint64_t left;
	for (size_t i = 0; i < reading->nr_segments; i++)
		if (!(reading->segments[i].flags & PF_X) != is_code &&
			elf_segments_vaddr_to_offset(&reading->segments[i], 1, address, ret, &left))
			return true;
	return false;
}

/* Three addresses and three texts. */
static void add_probe(struct reading *reading, const uint8_t *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	uint64_t address = bytes_get_u64(&cursor);
	uint64_t base = bytes_get_u64(&cursor);
	uint64_t semaphore = bytes_get_u64(&cursor);
	uint64_t moved = reading->has_base ? reading->base - base : 0;
	struct elf_stapsdt_probe probe = {.provider = elf_stapsdt_get_text(&cursor)};
	probe.name = elf_stapsdt_get_text(&cursor);
	probe.arguments = elf_stapsdt_get_text(&cursor);
	if (!probe.arguments || !*probe.provider || !*probe.name)
		return;
	if (!find_offset(reading, address + moved, true, &probe.offset))
		return;
	if (semaphore && !find_offset(reading, semaphore + moved, false, &probe.semaphore_offset))
		return; /* it would never be hit */
	vec_push(&reading->list->probes, probe);
}

static void elf_stapsdt_scan_notes(struct reading *reading, const uint8_t *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	struct elf_note note;
	while (reading->list->probes.len < PROBES_MAX && elf_note_next(&cursor, &note))
		if (elf_note_is(&note, owner, STAPSDT_TYPE))
			add_probe(reading, note.desc, note.desc_len);
}

static struct err *read_notes(
	struct reading *reading, const struct elf_file *file, const struct elf_section *section)
{
	uint8_t *bytes;
	if (section->size > NOTES_MAX_BYTES)
		return err_new(ERR_FORMAT, "%llu bytes of notes of probes",
			(unsigned long long)section->size);
	try(err_wrap(
		elf_file_read(file, section->offset, section->size, &bytes), "notes of probes"));
	vec_push(&reading->list->notes, bytes);
	elf_stapsdt_scan_notes(reading, bytes, section->size);
	return NULL;
}

struct err *elf_stapsdt_read(struct elf_file *file, struct elf_stapsdt *ret)
{
	const struct elf_section *sections;
	size_t count;
	try(elf_file_sections(file, &sections, &count));
	struct elf_stapsdt list = {0};
	struct reading reading = {.list = &list};
	reading.segments = elf_file_segments(file, &reading.nr_segments);
	for (size_t i = 1; i < count && !reading.has_base; i++) {
		reading.has_base = strcmp(sections[i].name, ".stapsdt.base") == 0;
		reading.base = sections[i].addr;
	}
	struct err *err = NULL;
	uint64_t bytes = 0;
	for (size_t i = 1; i < count && !err && bytes <= NOTES_MAX_BYTES; i++) {
		if (sections[i].type != SHT_NOTE || !sections[i].size ||
			strcmp(sections[i].name, ".note.stapsdt") != 0)
			continue;
		err = read_notes(&reading, file, &sections[i]);
		bytes += sections[i].size; /* many may lie in the same place */
	}
	if (err)
		elf_stapsdt_deinit(&list);
	else
		*ret = list;
	return err;
}

void elf_stapsdt_deinit(struct elf_stapsdt *list)
{
	vec_each(&list->notes, bytes)
		mem_free(*bytes);
	vec_deinit(&list->notes);
	vec_deinit(&list->probes);
}

#include "report/write/export/pprof_mappings.h"

#include <elf.h>
#include <string.h>

#include "format/base/hex.h"
#include "report/write/export/pprof_labels.h"
#include "report/write/export/protobuf.h"
#include "report/write/info.h"

enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_MEMORY_START = 2,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILE_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
};

uint64_t pprof_mappings_start(
	const struct pprof_mappings *mappings, const struct pprof_mapping *mapping)
{
	return mapping->segment ? mapping->segment->vaddr
				: mappings->profile->objects.data[mapping->object].info.base;
}

/* The mapping of an object's segment, or of all of it (NULL). */
static uint32_t mapping_of(
	struct pprof_mappings *mappings, uint32_t object, const struct layout_segment *segment)
{
	const struct layout_object *info = &mappings->profile->objects.data[object].info;
	uint64_t part = segment ? (uint64_t)(segment - info->segments) + 1 : 0;
	bool added;
	uint64_t *id = map_put(&mappings->ids, (uint64_t)object << 32 | part, &added);
	if (added) {
		struct pprof_mapping mapping = {.object = object, .segment = segment};
		mapping.limit = pprof_mappings_start(mappings, &mapping) +
				(segment ? segment->memsz : info->size_bytes);
		vec_push(&mappings->entries, mapping);
		*id = mappings->entries.len;
	}
	return (uint32_t)*id;
}

/* Files count in virtual addresses, as objdump and nm show them; the kernel in its own. */
struct pprof_place pprof_mappings_place(
	struct pprof_mappings *mappings, const struct profile_frame *frame)
{
	if (!frame->object)
		return (struct pprof_place){0};
	const struct layout_object *info = &mappings->profile->objects.data[frame->object].info;
	for (uint32_t i = 0; i < info->nr_segments; i++) {
		const struct layout_segment *segment = &info->segments[i];
		if (segment->flags & PF_X && frame->offset - segment->offset < segment->filesz)
			return (struct pprof_place){
				.address = frame->offset - segment->offset + segment->vaddr,
				.mapping = mapping_of(mappings, frame->object, segment),
			};
	}
	struct pprof_place place = {
		.address = info->base + frame->offset,
		.mapping = mapping_of(mappings, frame->object, NULL),
	};
	struct pprof_mapping *mapping = &mappings->entries.data[place.mapping - 1];
	if (place.address >= mapping->limit)
		mapping->limit = place.address + 1;
	return place;
}

/* pprof takes the first mapping for the main binary. */
static void add_main(struct pprof_mappings *mappings)
{
	const struct profile *profile = mappings->profile;
	uint32_t program = profile_main_program(profile);
	if (!program)
		return;
	const struct layout_object *info = &profile->objects.data[program].info;
	const struct layout_segment *segment = NULL;
	for (uint32_t i = 0; i < info->nr_segments && !segment; i++)
		if (info->segments[i].flags & PF_X)
			segment = &info->segments[i];
	mapping_of(mappings, program, segment);
}

void pprof_mappings_init(struct pprof_mappings *mappings, const struct profile *profile)
{
	*mappings = (struct pprof_mappings){.profile = profile};
	add_main(mappings);
}

void pprof_mappings_deinit(struct pprof_mappings *mappings)
{
	vec_deinit(&mappings->entries);
	map_deinit(&mappings->ids);
}

/* ---- writing ---- */

static uint32_t filename_of(const struct profile_object *object, struct strtab *strings)
{
	CLEANUP(str_deinit) struct str name = {0};
	str_puts(&name, object->path[0] ? object->path : "[unknown]");
	/* What perf calls the mapping of the kernel, and pprof knows it by. */
	if (object->info.kind == LAYOUT_OBJECT_KERNEL)
		str_puts(&name, "_stext");
	return pprof_string(strings, str_text(&name));
}

static uint32_t build_id_of(const struct profile_object *object, struct strtab *strings)
{
	CLEANUP(str_deinit) struct str text = {0};
	hex_put(&text, object->info.build_id, object->info.build_id_len);
	return pprof_string(strings, str_text(&text));
}

void pprof_mappings_put(const struct pprof_mappings *mappings, size_t index, struct strtab *strings,
	struct bytes_buf *message)
{
	const struct pprof_mapping *mapping = &mappings->entries.data[index];
	const struct profile_object *object = &mappings->profile->objects.data[mapping->object];
	protobuf_put_varint(message, MAPPING_ID, index + 1);
	protobuf_put_varint(message, MAPPING_MEMORY_START, pprof_mappings_start(mappings, mapping));
	protobuf_put_varint(message, MAPPING_MEMORY_LIMIT, mapping->limit);
	if (mapping->segment)
		protobuf_put_varint(message, MAPPING_FILE_OFFSET, mapping->segment->offset);
	protobuf_put_varint(message, MAPPING_FILENAME, filename_of(object, strings));
	protobuf_put_varint(message, MAPPING_BUILD_ID, build_id_of(object, strings));
	/*
	 * Where pprof misses any of these it runs nm and addr2line over the file of that
	 * name on the machine that shows the profile, and believes them more than us. So
	 * all four are claimed once there are symbols, whether or not each line of the
	 * file is known; and also for what is no file, of which no more is known.
	 */
	bool is_settled = object->symbols_from || object->info.kind != LAYOUT_OBJECT_FILE;
	protobuf_put_varint(message, MAPPING_HAS_FUNCTIONS, is_settled);
	protobuf_put_varint(message, MAPPING_HAS_FILENAMES, is_settled);
	protobuf_put_varint(message, MAPPING_HAS_LINE_NUMBERS, is_settled);
	protobuf_put_varint(message, MAPPING_HAS_INLINE_FRAMES, is_settled);
}

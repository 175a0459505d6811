#include "report/write/export/otlp_dictionary.h"

#include <inttypes.h>

#include "format/base/hex.h"
#include "report/write/export/pprof_labels.h"
#include "report/write/export/protobuf.h"

enum dictionary_field {
	DICTIONARY_MAPPING = 1,
	DICTIONARY_LOCATION = 2,
	DICTIONARY_FUNCTION = 3,
	DICTIONARY_LINK = 4,
	DICTIONARY_STRING = 5,
	DICTIONARY_ATTRIBUTE = 6,
	DICTIONARY_STACK = 7,
};

enum mapping_field {
	MAPPING_START = 1,
	MAPPING_LIMIT = 2,
	MAPPING_FILE_OFFSET = 3,
	MAPPING_FILENAME = 4,
	MAPPING_ATTRIBUTES = 5,
};

enum location_field {
	LOCATION_MAPPING = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,
	LOCATION_ATTRIBUTES = 4,
};

enum line_field {
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
};

enum function_field {
	FUNCTION_NAME = 1,
	FUNCTION_SYSTEM_NAME = 2,
	FUNCTION_FILENAME = 3,
	FUNCTION_START_LINE = 4,
};

enum {
	STACK_LOCATION_INDICES = 1,
};

/* All that the table holds of a mapping, but for a limit that grows with the places in it. */
static void put_mapping_key(const struct otlp_dictionary *dictionary,
	const struct pprof_mapping *mapping, struct str *out)
{
	const struct profile_object *object = &dictionary->profile->objects.data[mapping->object];
	const struct layout_segment *segment = mapping->segment;
	str_printf(out, "%" PRIx64 " %" PRIx64 " %" PRIx64 " ",
		pprof_mappings_start(&dictionary->mappings, mapping), segment ? mapping->limit : 0,
		segment ? segment->offset : 0);
	hex_put(out, object->info.build_id, object->info.build_id_len);
	str_printf(out, " %s", object->path);
}

/*
 * Index of the mapping_table. Objects that are told apart by what is not in there, an inode or the
 * time of a file without a build ID, share an entry: the table holds none twice.
 */
static uint32_t mapping_index(struct otlp_dictionary *dictionary, uint32_t id)
{
	if (!id)
		return 0;
	const struct pprof_mapping *mapping = &dictionary->mappings.entries.data[id - 1];
	CLEANUP(str_deinit) struct str key = {0};
	put_mapping_key(dictionary, mapping, &key);
	uint32_t index = strtab_intern(&dictionary->mapping_keys, str_text(&key), key.len);
	if (index > dictionary->distinct.len)
		vec_push(&dictionary->distinct, *mapping);
	struct pprof_mapping *entry = &dictionary->distinct.data[index - 1];
	if (entry->limit < mapping->limit)
		entry->limit = mapping->limit;
	return index;
}

void otlp_dictionary_init(
	struct otlp_dictionary *dictionary, const struct profile *profile, uint32_t labels)
{
	*dictionary = (struct otlp_dictionary){
		.profile = profile,
		.location_of = mem_zalloc_array(profile->frames.len + 1, sizeof(uint32_t)),
		.function_of = mem_zalloc_array(profile->functions.len + 1, sizeof(uint32_t)),
	};
	pprof_string(&dictionary->strings, ""); /* string 0 */
	otlp_table_init(&dictionary->locations);
	otlp_table_init(&dictionary->functions);
	otlp_table_init(&dictionary->stacks);
	otlp_attributes_init(&dictionary->attributes, profile, labels, &dictionary->strings);
	strtab_intern(&dictionary->mapping_keys, "", 0); /* mapping 0 */
	pprof_mappings_init(&dictionary->mappings, profile);
	for (uint32_t id = 1; id <= dictionary->mappings.entries.len; id++)
		mapping_index(dictionary, id);
}

void otlp_dictionary_deinit(struct otlp_dictionary *dictionary)
{
	pprof_mappings_deinit(&dictionary->mappings);
	strtab_deinit(&dictionary->mapping_keys);
	vec_deinit(&dictionary->distinct);
	otlp_attributes_deinit(&dictionary->attributes);
	otlp_table_deinit(&dictionary->locations);
	otlp_table_deinit(&dictionary->functions);
	otlp_table_deinit(&dictionary->stacks);
	strtab_deinit(&dictionary->strings);
	bytes_buf_deinit(&dictionary->message);
	bytes_buf_deinit(&dictionary->inner);
	mem_free(dictionary->location_of);
	mem_free(dictionary->function_of);
}

static void otlp_dictionary_put_text(
	struct otlp_dictionary *dictionary, struct bytes_buf *out, uint32_t field, const char *text)
{
	protobuf_put_varint(out, field, pprof_string(&dictionary->strings, text));
}

static uint32_t function_index(struct otlp_dictionary *dictionary, size_t function)
{
	static const struct profile_function no_stack = {.name = "[no stack]"};
	if (dictionary->function_of[function])
		return dictionary->function_of[function];
	const struct profile_function *it = &no_stack;
	if (function < dictionary->profile->functions.len)
		it = &dictionary->profile->functions.data[function];
	struct bytes_buf message = {0};
	otlp_dictionary_put_text(dictionary, &message, FUNCTION_NAME, it->name);
	otlp_dictionary_put_text(dictionary, &message, FUNCTION_SYSTEM_NAME,
		it->system_name ? it->system_name : it->name);
	if (it->file)
		otlp_dictionary_put_text(dictionary, &message, FUNCTION_FILENAME, it->file);
	protobuf_put_varint(&message, FUNCTION_START_LINE, it->line);
	uint32_t index = otlp_table_take(&dictionary->functions, &message);
	bytes_buf_deinit(&message);
	return dictionary->function_of[function] = index;
}

static void otlp_dictionary_put_line(
	struct otlp_dictionary *dictionary, size_t function, uint32_t line)
{
	protobuf_put_varint(
		&dictionary->inner, LINE_FUNCTION, function_index(dictionary, function));
	protobuf_put_varint(&dictionary->inner, LINE_LINE, line);
	protobuf_put_message(&dictionary->message, LOCATION_LINES, &dictionary->inner);
}

/* What semantic conventions call the frame's runtime; other ones than these are not told apart. */
static const char *frame_type(const struct profile *profile, uint32_t object)
{
	if (!object)
		return NULL;
	if (profile_is_kernel(profile, object))
		return "kernel";
	enum layout_object_kind kind = profile->objects.data[object].info.kind;
	if (kind == LAYOUT_OBJECT_SCRIPT &&
		strcmp(profile->objects.data[object].path, "[python]") == 0)
		return "cpython";
	return kind == LAYOUT_OBJECT_FILE || kind == LAYOUT_OBJECT_VDSO ? "native" : NULL;
}

/* A line for each function that the address stands in, innermost first. */
static void put_location(struct otlp_dictionary *dictionary, size_t recorded)
{
	const struct profile_frame *frames = dictionary->profile->frames.data;
	const struct profile_frame *frame = &frames[recorded];
	struct pprof_place place = pprof_mappings_place(&dictionary->mappings, frame);
	protobuf_put_varint(
		&dictionary->message, LOCATION_MAPPING, mapping_index(dictionary, place.mapping));
	protobuf_put_varint(&dictionary->message, LOCATION_ADDRESS, place.address);
	for (size_t i = frame->innermost ? frame->innermost : recorded; i; i = frames[i].outer)
		otlp_dictionary_put_line(dictionary, frames[i].function, frames[i].line);
	uint64_t type = otlp_attributes_text(&dictionary->attributes, "profile.frame.type",
		frame_type(dictionary->profile, frame->object));
	protobuf_put_packed(&dictionary->message, LOCATION_ATTRIBUTES, &type, type ? 1 : 0);
}

static uint32_t location_index(struct otlp_dictionary *dictionary, size_t frame)
{
	if (dictionary->location_of[frame])
		return dictionary->location_of[frame];
	if (frame < dictionary->profile->frames.len)
		put_location(dictionary, frame);
	else
		otlp_dictionary_put_line(
			dictionary, dictionary->profile->functions.len, 0); /* "no stack" */
	return dictionary->location_of[frame] =
		       otlp_table_take(&dictionary->locations, &dictionary->message);
}

uint32_t otlp_dictionary_stack(struct otlp_dictionary *dictionary, uint32_t stack)
{
	VEC(uint64_t) locations = {0};
	struct profile_walk walk = profile_walk(dictionary->profile, stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		if (!dictionary->profile->frames.data[frame]
				.outer) /* the inlined are lines of it */
			vec_push(&locations, location_index(dictionary, frame));
	if (!locations.len) /* else it would stand for samples of which nothing is known */
		vec_push(&locations, location_index(dictionary, dictionary->profile->frames.len));
	protobuf_put_packed(
		&dictionary->message, STACK_LOCATION_INDICES, locations.data, locations.len);
	vec_deinit(&locations);
	return otlp_table_take(&dictionary->stacks, &dictionary->message);
}

static void put_mapping(struct otlp_dictionary *dictionary, const struct pprof_mapping *mapping,
	struct bytes_buf *out)
{
	const struct profile_object *object = &dictionary->profile->objects.data[mapping->object];
	protobuf_put_varint(
		out, MAPPING_START, pprof_mappings_start(&dictionary->mappings, mapping));
	protobuf_put_varint(out, MAPPING_LIMIT, mapping->limit);
	if (mapping->segment)
		protobuf_put_varint(out, MAPPING_FILE_OFFSET, mapping->segment->offset);
	otlp_dictionary_put_text(dictionary, out, MAPPING_FILENAME, object->path);
	CLEANUP(str_deinit) struct str build_id = {0};
	hex_put(&build_id, object->info.build_id, object->info.build_id_len);
	uint64_t index = otlp_attributes_text(
		&dictionary->attributes, "process.executable.build_id.gnu", str_text(&build_id));
	protobuf_put_packed(out, MAPPING_ATTRIBUTES, &index, index ? 1 : 0);
}

/* Attributes behind what uses them, the strings last. */
void otlp_dictionary_put(struct otlp_dictionary *dictionary, struct bytes_buf *out)
{
	protobuf_put_bytes(out, DICTIONARY_MAPPING, "", 0);
	vec_each(&dictionary->distinct, mapping) {
		put_mapping(dictionary, mapping, &dictionary->message);
		protobuf_put_message(out, DICTIONARY_MAPPING, &dictionary->message);
	}
	otlp_table_put(&dictionary->locations, DICTIONARY_LOCATION, out);
	otlp_table_put(&dictionary->functions, DICTIONARY_FUNCTION, out);
	otlp_links_put(&dictionary->attributes.links, DICTIONARY_LINK, out);
	otlp_table_put(&dictionary->attributes.table, DICTIONARY_ATTRIBUTE, out);
	otlp_table_put(&dictionary->stacks, DICTIONARY_STACK, out);
	vec_each(&dictionary->strings.entries, string)
		protobuf_put_bytes(out, DICTIONARY_STRING, string->bytes, string->len);
}

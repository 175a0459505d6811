#include "format/import/import_names.h"

#include <string.h>

enum {
	PLACE_BYTES = 16, /* from the offset of a place to the next one's */
};

void import_names_init(struct import_names *names, struct import_output *output, const char *path)
{
	*names = (struct import_names){.output = output, .path = path};
}

void import_names_deinit(struct import_names *names)
{
	for (int i = 0; i < IMPORT_NAME_KINDS; i++)
		strtab_deinit(&names->places[i]);
	bytes_buf_deinit(&names->names);
}

/* ---- what names tell ---- */

static bool cut_suffix(const char *name, size_t *len, char letter)
{
	const char suffix[] = {'_', '[', letter, ']'};
	bool has_it = *len > sizeof(suffix) &&
		      memcmp(name + *len - sizeof(suffix), suffix, sizeof(suffix)) == 0;
	*len -= has_it ? sizeof(suffix) : 0;
	return has_it;
}

static enum import_name_kind kind_of_name(const char *name, size_t *len)
{
	return cut_suffix(name, len, 'k')   ? IMPORT_NAME_KERNEL
	       : cut_suffix(name, len, 'j') ? IMPORT_NAME_COMPILED
					    : IMPORT_NAME_USER;
}

static uint32_t object_of_names(struct import_names *names, enum import_name_kind kind)
{
	const struct {
		enum layout_object_kind kind;
		const char *path;
	} objects[IMPORT_NAME_KINDS] = {
		[IMPORT_NAME_USER] = {LAYOUT_OBJECT_UNKNOWN, names->path},
		[IMPORT_NAME_KERNEL] = {LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]"},
		[IMPORT_NAME_COMPILED] = {LAYOUT_OBJECT_ANONYMOUS, LAYOUT_ANONYMOUS_PATH},
	};
	if (!names->objects[kind])
		names->objects[kind] = import_output_object(names->output,
			&(struct layout_object){.kind = objects[kind].kind}, objects[kind].path);
	return names->objects[kind];
}

/* ---- places: a function, and behind it those that are inlined into each other ---- */

static void put_chain_of_names(struct import_names *names, uint32_t object, uint64_t offset)
{
	struct chain_frame *frames = mem_zalloc_array(names->nr_names, sizeof(*frames));
	const char *name = (const char *)names->names.data;
	for (uint32_t i = names->nr_names; i-- > 0; name += strlen(name) + 1) {
		frames[i].function = name;
		frames[i].is_inlined = i + 1 < names->nr_names;
	}
	import_output_chain(
		names->output, object, offset, &(struct chain){frames, names->nr_names});
	mem_free(frames);
}

static void finish_place(struct import_names *names)
{
	if (!names->nr_names)
		return;
	uint32_t object = object_of_names(names, names->kind);
	uint64_t number = strtab_intern(
		&names->places[names->kind], (const char *)names->names.data, names->names.len);
	uint64_t offset = (number + 1) * PLACE_BYTES;
	bool is_new;
	uint32_t frame = import_output_frame(
		names->output, &(struct layout_frame){.object = object, .offset = offset}, &is_new);
	if (is_new)
		put_chain_of_names(names, object, offset);
	names->names.len = names->nr_names = 0;
	*names->top = import_output_node(names->output, *names->top, frame);
}

/* ---- stacks ---- */

void import_names_begin(struct import_names *names, struct layout_sample *sample)
{
	names->sample = sample;
	names->top = &sample->user_stack;
	names->depth = 0;
}

void import_names_add(struct import_names *names, const char *name, size_t len)
{
	bool is_inlined = cut_suffix(name, &len, 'i') && names->nr_names;
	enum import_name_kind kind = kind_of_name(name, &len);
	names->depth++;
	names->nr_deep += names->depth == IMPORT_MAX_DEPTH + 1;
	if (names->depth > IMPORT_MAX_DEPTH)
		return;
	if (!is_inlined)
		finish_place(names);
	if (kind == IMPORT_NAME_KERNEL)
		names->top = &names->sample->kernel_stack;
	if (!len)
		return;
	names->kind = names->nr_names ? names->kind : kind;
	bytes_put(&names->names, name, len);
	bytes_put_u8(&names->names, '\0');
	names->nr_names++;
}

void import_names_end(struct import_names *names)
{
	finish_place(names);
}

void import_names_put_notes(const struct import_names *names, struct str *notes)
{
	if (names->nr_deep)
		str_printf(notes, "%llu %s deeper than %d frames, the innermost are left out\n",
			(unsigned long long)names->nr_deep,
			str_plural(names->nr_deep, "stack is", "stacks are"), IMPORT_MAX_DEPTH);
}

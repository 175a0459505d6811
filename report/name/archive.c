#include "report/name/archive.h"

#include "format/base/map.h"

enum {
	MAX_STACKS = 1 << 20, /* so that they fit into a chunk; the rest is unwound by its reader */
};

/* ---- chains ---- */

/* Symbols of the kernel and of JIT compilers stand in the recording anyway; lines do not. */
static bool needs_chains(const struct profile_object *object)
{
	return object->info.kind == LAYOUT_OBJECT_FILE || object->chains.detail > CHAIN_MAP_SYMBOLS;
}

/*
 * That nothing is known of a place is only kept where there was a file that could have known it; a
 * reader that has a better one asks it again.
 */
static bool archive_is_kept(const struct profile_object *object, const struct chain *chain)
{
	return chain->count || object->chains.detail >= CHAIN_MAP_INLINED ||
	       object->symbols_level >= SYMBOL_LEVEL_DYNSYM;
}

/* Those that the recording does not have yet, and of places that occur in it: a cache has more. */
static void archive_collect(
	const struct profile *profile, struct chain_map *of_object, struct archive_result *result)
{
	vec_each(&profile->frames, frame) {
		const struct profile_object *object = &profile->objects.data[frame->object];
		struct chain chain;
		if (!frame->object || frame->outer)
			continue;
		result->places++;
		result->unknown += !profile->functions.data[frame->function].is_known;
		if (!needs_chains(object) ||
			!chain_map_find_since(
				&object->chains, object->nr_archived, frame->offset, &chain) ||
			!archive_is_kept(object, &chain))
			continue;
		of_object[frame->object].detail = object->chains.detail;
		chain_map_add(&of_object[frame->object], frame->offset, &chain);
	}
}

static void write_chains(
	const struct profile *profile, struct writer *writer, struct archive_result *result)
{
	struct chain_map *of_object = mem_zalloc_array(profile->objects.len, sizeof(*of_object));
	archive_collect(profile, of_object, result);
	for (size_t i = 1; i < profile->objects.len; i++) {
		writer_chains(writer, (uint32_t)i, &of_object[i]);
		result->objects += chain_map_have_names(&of_object[i]);
		chain_map_deinit(&of_object[i]);
	}
	mem_free(of_object);
}

/* ---- stacks ---- */

static bool is_whole(const struct reader_result *file)
{
	return !file->missing_chunks && !file->bad_chunks && !file->damage.regions &&
	       (file->ended || !file->damage.truncated);
}

/* What the reader added when it unwound snapshots stands behind what the file has, in order. */
static void write_stacks(
	const struct profile *profile, struct writer *writer, struct archive_result *result)
{
	const struct layout_position *position = &profile->file.end;
	for (size_t i = position->frame; i < profile->nr_unwound_frames; i++) {
		const struct profile_frame *frame = &profile->frames.data[i];
		writer_frame(
			writer, &(struct layout_frame){frame->object, frame->offset, frame->flags});
	}
	for (size_t i = position->node; i < profile->nr_unwound_nodes; i++)
		writer_node(writer, &profile->nodes.data[i]);
	for (size_t i = 0; i < profile->unwound.len && i < MAX_STACKS; i++) {
		writer_unwound(writer, &profile->unwound.data[i]);
		result->stacks++;
	}
}

struct err *archive_write(
	const struct profile *profile, struct writer_sink sink, struct archive_result *ret)
{
	*ret = (struct archive_result){0};
	struct writer *writer = writer_create_behind(sink, &profile->file.end);
	write_chains(profile, writer, ret);
	if (profile->unwound.len && is_whole(&profile->file))
		write_stacks(profile, writer, ret);
	struct err *err = writer_flush(writer);
	writer_destroy(writer);
	return err;
}

#include "record/runtime/dotnet/dotnet_lines.h"

#include "format/base/mem.h"
#include "format/clr/clr_debug_map.h"
#include "record/runtime/runtime_memory.h"

enum {
	FIRST_WITH_BITS = 10,
	MAX_DEBUG_BYTES = 1 << 20,
	PAGE = 4096,
};

/* ---- lines ---- */

struct live_bytes {
	uint32_t pid;
	uint64_t base;
};

static bool read_live(void *context, uint64_t offset, void *to, size_t len)
{
	const struct live_bytes *live = context;
	return runtime_read_process(live->pid, live->base + offset, to, len);
}

static bool read_debug_map(const struct dotnet_lines *lines, struct clr_debug_map *map)
{
	/* By whole pages, as memory is there or not. */
	struct live_bytes live = {lines->pid, lines->debug_info & ~(uint64_t)(PAGE - 1)};
	struct clr_bytes bytes;
	clr_bytes_init(&bytes, read_live, &live, MAX_DEBUG_BYTES);
	bool is_read = clr_debug_map_read_live(&bytes, lines->debug_info - live.base,
		lines->version >= FIRST_WITH_BITS ? CLR_DEBUG_BITS : CLR_DEBUG_NIBBLES,
		lines->code_bytes, map);
	clr_bytes_deinit(&bytes);
	return is_read;
}

static void add_scopes(const struct clr_debug_map *map, const struct clr_pdb_points *points,
	uint32_t document, struct runtime_inlined *made)
{
	for (size_t i = 0; i < map->points.len; i++) {
		bool is_last = i + 1 == map->points.len;
		uint32_t end = is_last ? (uint32_t)INT32_MAX : map->points.data[i + 1].native;
		const struct clr_pdb_point *point =
			clr_pdb_points_find_code(points, map->points.data[i].il);
		if (end <= map->points.data[i].native)
			continue;
		struct runtime_inlined_scope scope = {.function = 0};
		if (point && point->document == document)
			scope.line = point->line;
		vec_push(&made->scopes, scope);
		struct runtime_inlined_place place = {
			.offset = end - 1, .scope = (uint32_t)made->scopes.len};
		vec_push(&made->places, place);
	}
}

void dotnet_lines_add(
	const struct dotnet_lines *lines, struct str *file, struct runtime_inlined *made)
{
	struct clr_debug_map map = {0};
	struct clr_pdb_points points = {0};
	/* .NET's own libraries have been compiled ahead of time, and come without PDBs: to look for
	 * one at each of their methods would keep names waiting. */
	if (clr_image_count_functions(&lines->image->image) || !lines->debug_info || !lines->method)
		return;
	const struct clr_source *source = dotnet_image_source(lines->image);
	if (!source)
		return;
	clr_source_read_points(source, lines->method, &points);
	const struct clr_pdb_point *first = clr_pdb_points_find(&points, UINT32_MAX);
	if (first && !source->bytes.is_bad && read_debug_map(lines, &map)) {
		clr_source_put_document(source, first->document, file);
		add_scopes(&map, &points, first->document, made);
	}
	clr_debug_map_deinit(&map);
	clr_pdb_points_deinit(&points);
}

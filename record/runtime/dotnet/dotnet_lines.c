#include "record/runtime/dotnet/dotnet_lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/clr/clr_debug_map.h"
#include "format/clr/clr_pdb.h"
#include "record/host/target_file.h"
#include "record/runtime/runtime_memory.h"

enum {
	FIRST_WITH_BITS = 10,
	MAX_DEBUG_BYTES = 1 << 20,
	MAX_MAPS_BYTES = 8 << 20,
	PAGE = 4096,
};

/* ---- where the PDB is ---- */

/* A PDB that is open: a file's, or what was packed into the image. */
struct pdb_bytes {
	int fd; /* -1: it is in memory */
	uint8_t *memory;
	struct clr_bytes bytes;
	struct clr_pdb pdb;
};

static bool read_pdb(void *context, uint64_t offset, void *to, size_t len)
{
	const struct pdb_bytes *pdb = context;
	if (pdb->fd >= 0)
		return pread(pdb->fd, to, len, (off_t)offset) == (ssize_t)len;
	memcpy(to, pdb->memory + offset, len);
	return true;
}

static void pdb_bytes_close(struct pdb_bytes *pdb)
{
	clr_bytes_deinit(&pdb->bytes);
	mem_close_fd(&pdb->fd);
	mem_free(pdb->memory);
}

/* Takes the descriptor or the memory. */
static bool take_pdb(const struct clr_image *image, struct pdb_bytes *pdb, uint64_t size)
{
	clr_bytes_init(&pdb->bytes, read_pdb, pdb, size);
	if (clr_pdb_open(&pdb->bytes, image, &pdb->pdb))
		return true;
	pdb_bytes_close(pdb);
	return false;
}

static bool open_packed_pdb(const struct clr_image *image, struct pdb_bytes *pdb)
{
	size_t len;
	*pdb = (struct pdb_bytes){.fd = -1, .memory = clr_pdb_unpack(image, &len)};
	return pdb->memory && take_pdb(image, pdb, len);
}

static bool open_pdb_at(const struct dotnet_lines *lines, struct target_files *files,
	const char *path, struct pdb_bytes *pdb)
{
	struct stat st;
	*pdb = (struct pdb_bytes){.fd = target_file_open_in_root(files, lines->pid, path, &st)};
	return pdb->fd >= 0 && take_pdb(lines->image, pdb, (uint64_t)st.st_size);
}

/* The path behind the mapping that an address is in, of a line of /proc/PID/maps. */
static bool is_mapped_at(const char *line, uint64_t address, struct str *path)
{
	unsigned long long start, end;
	int at = 0;
	if (sscanf(line, "%llx-%llx %*s %*s %*s %*s %n", &start, &end, &at) < 2 || !at ||
		address < start || address >= end)
		return false;
	if (line[at] == '/')
		str_puts(path, line + at);
	return true;
}

/* Images are mapped without being executable, so that other lists do not have them. */
static void find_mapped_path(uint32_t pid, uint64_t address, struct str *path)
{
	char name[64], *line = NULL;
	size_t cap = 0, read = 0;
	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	FILE *maps = fopen(name, "re");
	ssize_t len;
	while (maps && read < MAX_MAPS_BYTES && (len = getline(&line, &cap, maps)) > 0) {
		read += (size_t)len;
		line[len - 1] = '\0';
		if (is_mapped_at(line, address, path))
			break;
	}
	if (maps)
		fclose(maps);
	free(line);
}

static bool open_pdb(const struct dotnet_lines *lines, struct pdb_bytes *pdb)
{
	CLEANUP(str_deinit) struct str built = {0};
	CLEANUP(str_deinit) struct str path = {0};
	if (open_packed_pdb(lines->image, pdb))
		return true;
	clr_image_put_pdb_path(lines->image, &built);
	if (!built.len)
		return false;
	const char *name = strrchr(str_text(&built), '/');
	name = name ? name + 1 : str_text(&built);
	struct target_files *files = target_files_create(false);
	find_mapped_path(lines->pid, lines->image_base, &path);
	const char *slash = path.len ? strrchr(str_text(&path), '/') : NULL;
	if (slash)
		str_truncate(&path, (size_t)(slash + 1 - str_text(&path)));
	str_puts(&path, name);
	bool is_open =
		(slash && open_pdb_at(lines, files, str_text(&path), pdb)) ||
		(str_text(&built)[0] == '/' && open_pdb_at(lines, files, str_text(&built), pdb));
	target_files_destroy(files);
	return is_open;
}

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
	struct pdb_bytes pdb;
	/* .NET's own libraries have been compiled ahead of time, and come without PDBs: to look for
	 * one at each of their methods would keep names waiting. */
	if (clr_image_count_functions(lines->image) || !lines->debug_info || !lines->method ||
		!open_pdb(lines, &pdb))
		return;
	clr_pdb_read_points(&pdb.pdb, lines->method, &points);
	const struct clr_pdb_point *first = clr_pdb_points_find(&points, UINT32_MAX);
	if (first && !pdb.bytes.is_bad && read_debug_map(lines, &map)) {
		clr_pdb_put_document(&pdb.pdb, first->document, file);
		add_scopes(&map, &points, first->document, made);
	}
	clr_debug_map_deinit(&map);
	clr_pdb_points_deinit(&points);
	pdb_bytes_close(&pdb);
}

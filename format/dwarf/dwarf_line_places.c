#include "format/dwarf/dwarf_line_places.h"

#include <stdlib.h>

#include "format/base/mem.h"
#include "format/base/nearest.h"
#include "format/base/path.h"
#include "format/base/str.h"
#include "format/dwarf/dwarf_line_machine.h"
#include "format/dwarf/dwarf_names.h"
#include "format/dwarf/dwarf_unit.h"

struct line_search {
	const struct dwarf_file *file;
	const char *name;
	uint32_t line;
	struct dwarf_line_places *places;
	struct nearest nearest;
	struct map seen; /* offsets of line programs: units share them */

	/* Of the unit at hand. */
	const struct dwarf_line_header *header;
	struct dwarf_span comp_dir;
	VEC(bool) is_wanted; /* by number of file */
	bool is_inside;      /* the statement before is of the wanted line, too */
};

/* "." and what ".." leaves are dropped, as far as the text tells. */
static void put_plain_path(const char *path, struct str *ret)
{
	if (*path == '/')
		str_putc(ret, '/');
	size_t root = ret->len;
	while (*path) {
		size_t len = strcspn(path, "/");
		if (len == 2 && memcmp(path, "..", 2) == 0 && ret->len > root) {
			const char *parent = strrchr(str_text(ret) + root, '/');
			str_truncate(ret, parent ? (size_t)(parent - str_text(ret)) : root);
		} else if (len && !(len == 1 && *path == '.')) {
			if (ret->len > root)
				str_putc(ret, '/');
			str_write(ret, path, len);
		}
		path += len + (path[len] != 0);
	}
}

static bool ends_with_parts(const char *path, const char *name)
{
	size_t path_len = strlen(path), len = strlen(name);
	if (len > path_len || strcmp(path + path_len - len, name) != 0)
		return false;
	return len == path_len || path[path_len - len - 1] == '/' || *name == '/';
}

static bool put_path_of(const struct line_search *search, size_t number, struct str *ret)
{
	CLEANUP(str_deinit) struct str path = {0};
	if (!dwarf_line_put_path(search->header, search->comp_dir, number, &path))
		return false;
	put_plain_path(str_text(&path), ret);
	return true;
}

static void offer_name(struct line_search *search, const char *path)
{
	const char *name = path_last_part(path);
	nearest_offer(&search->nearest, name);
	if (search->nearest.word != name)
		return;
	mem_free(search->places->nearest);
	search->nearest.word = search->places->nearest = mem_strdup(name);
}

/* False: none of the unit's files is wanted. */
static bool mark_files(struct line_search *search)
{
	bool is_any = false;
	search->is_wanted.len = 0;
	for (size_t i = 0; i <= search->header->files.len; i++) {
		CLEANUP(str_deinit) struct str path = {0};
		bool is_wanted = put_path_of(search, i, &path) &&
				 ends_with_parts(str_text(&path), search->name);
		vec_push(&search->is_wanted, is_wanted);
		is_any |= is_wanted;
		if (path.len && !search->places->has_file)
			offer_name(search, str_text(&path));
	}
	search->places->has_file |= is_any;
	return is_any;
}

static void note_path(struct line_search *search, uint32_t number)
{
	CLEANUP(str_deinit) struct str path = {0};
	put_path_of(search, number, &path);
	vec_each(&search->places->paths, known)
		if (strcmp(*known, str_text(&path)) == 0)
			return;
	vec_push(&search->places->paths, str_steal(&path));
}

static void note_line_with_code(struct line_search *search, uint32_t line)
{
	struct dwarf_line_places *places = search->places;
	if (line < search->line && line > places->before)
		places->before = line;
	if (line > search->line && (!places->after || line < places->after))
		places->after = line;
}

static void take_line_row(void *context, uint64_t address, const struct dwarf_row *row)
{
	struct line_search *search = context;
	if (row && !row->is_statement) /* code that was moved here from elsewhere */
		return;
	bool is_wanted = row && row->file < search->is_wanted.len &&
			 search->is_wanted.data[row->file] && row->line &&
			 dwarf_file_is_code(search->file, address);
	bool is_here = is_wanted && row->line == search->line;
	if (is_here && !search->is_inside) {
		note_path(search, row->file);
		vec_push(&search->places->addresses, address);
	}
	if (is_wanted)
		note_line_with_code(search, row->line);
	search->is_inside = is_here;
}

static void search_unit(struct line_search *search, struct dwarf_unit *unit)
{
	bool is_new = true;
	if (unit->has_lines)
		map_put(&search->seen, unit->line_offset, &is_new);
	search->header = is_new ? dwarf_unit_lines(unit) : NULL;
	search->comp_dir = unit->comp_dir;
	search->is_inside = false;
	if (search->header && mark_files(search))
		dwarf_line_visit(search->header, take_line_row, search);
	dwarf_line_header_destroy(unit->lines);
}

static int compare_line_places(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return left < right ? -1 : left > right;
}

static void sort_line_places(struct dwarf_line_places *places)
{
	size_t kept = 0;
	if (places->addresses.len)
		qsort(places->addresses.data, places->addresses.len, sizeof(uint64_t),
			compare_line_places);
	vec_each(&places->addresses, address)
		if (!kept || places->addresses.data[kept - 1] != *address)
			places->addresses.data[kept++] = *address;
	places->addresses.len = kept;
}

void dwarf_line_places_find(const struct dwarf_file *file, const char *name, uint32_t line,
	struct dwarf_line_places *ret)
{
	*ret = (struct dwarf_line_places){0};
	struct line_search search = {
		.file = file,
		.name = name,
		.line = line,
		.places = ret,
		.nearest = nearest_to(path_last_part(name)),
	};
	struct dwarf_reader reader;
	dwarf_reader_init(&reader, file);
	for (size_t i = 0; i < file->units.len; i++) {
		struct dwarf_unit unit;
		if (dwarf_reader_root(&reader, file, i, &unit))
			search_unit(&search, &unit);
	}
	dwarf_reader_deinit(&reader);
	map_deinit(&search.seen);
	vec_deinit(&search.is_wanted);
	sort_line_places(ret);
}

void dwarf_line_places_deinit(struct dwarf_line_places *places)
{
	vec_deinit(&places->addresses);
	vec_each(&places->paths, path)
		mem_free(*path);
	vec_deinit(&places->paths);
	mem_free(places->nearest);
}

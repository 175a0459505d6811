#include "record/event/source_line.h"

#include <fcntl.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/dwarf/dwarf_line_places.h"
#include "format/dwarf/dwarf_sections.h"

static struct err *no_file_of_name(
	const char *path, const char *file, const struct dwarf_line_places *places)
{
	return err_new(ERR_USAGE, "%s has no code of a source file \"%s\"%s%s%s", path, file,
		places->nearest ? ": did you mean " : "", places->nearest ? places->nearest : "",
		places->nearest ? "?" : "");
}

static struct err *no_code_of_line(
	const char *path, const char *file, uint32_t line, const struct dwarf_line_places *places)
{
	CLEANUP(str_deinit) struct str nearest = {0};
	if (places->before && places->after)
		str_printf(&nearest, "the nearest lines that have some are %u and %u",
			places->before, places->after);
	else if (places->before || places->after)
		str_printf(&nearest, "the nearest line that has some is %u",
			places->before ? places->before : places->after);
	else
		str_printf(&nearest, "no line of that file has any");
	return err_new(
		ERR_USAGE, "%s has no code of %s:%u: %s", path, file, line, str_text(&nearest));
}

static struct err *several_files(
	const char *path, const char *file, uint32_t line, const struct dwarf_line_places *places)
{
	return err_new(ERR_USAGE,
		"%s has code of several files for %s:%u, of %s and %s: give more of the path", path,
		file, line, places->paths.data[0], places->paths.data[1]);
}

/* False: there is no debug information in the file. */
static bool search_file(
	struct elf_file *elf, const char *file, uint32_t line, struct dwarf_line_places *ret)
{
	struct dwarf_sections sections;
	if (!dwarf_sections_open(elf, false, NULL, &sections))
		return false;
	for (int id = 0; id < DWARF_SECTION_COUNT; id++)
		dwarf_sections_unpack(&sections, (enum dwarf_section_id)id);
	dwarf_file_read_units(&sections.file);
	bool has_lines = sections.file.sections[DWARF_LINE].len;
	if (has_lines)
		dwarf_line_places_find(&sections.file, file, line, ret);
	dwarf_sections_deinit(&sections);
	return has_lines;
}

/* As distributions put debug files: by build ID, see GDB's manual, "Separate Debug Files". */
static bool search_debug_file(
	struct elf_file *elf, const char *file, uint32_t line, struct dwarf_line_places *ret)
{
	size_t len;
	const uint8_t *id = elf_file_build_id(elf, &len);
	CLEANUP(str_deinit) struct str path = {0};
	if (len < 2)
		return false;
	str_printf(&path, "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < len; i++)
		str_printf(&path, "%02x", id[i]);
	str_printf(&path, ".debug");
	CLEANUP_FD int fd = open(str_text(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct elf_file *debug = NULL;
	struct err *err = fd < 0 ? NULL : elf_file_open(fd, &debug);
	err_destroy(err); /* as good as not there */
	bool is_found = debug && search_file(debug, file, line, ret);
	elf_file_destroy(debug);
	return is_found;
}

struct err *source_line_find(struct elf_file *elf, const char *path, const char *file,
	uint32_t line, struct source_line *ret)
{
	struct dwarf_line_places places;
	if (!search_file(elf, file, line, &places) && !search_debug_file(elf, file, line, &places))
		return err_new(ERR_USAGE,
			"%s has no line numbers, and there is no debug file of its build ID in "
			"/usr/lib/debug: build it with -g, or install its debug package",
			path);
	struct err *err = NULL;
	if (!places.has_file)
		err = no_file_of_name(path, file, &places);
	else if (!places.addresses.len)
		err = no_code_of_line(path, file, line, &places);
	else if (places.paths.len > 1)
		err = several_files(path, file, line, &places);
	else
		vec_each(&places.addresses, address)
			vec_push(&ret->addresses, *address);
	dwarf_line_places_deinit(&places);
	return err;
}

void source_line_deinit(struct source_line *line)
{
	vec_deinit(&line->addresses);
}

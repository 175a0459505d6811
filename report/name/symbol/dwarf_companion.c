#include "report/name/symbol/dwarf_companion.h"

#include <string.h>
#include <sys/stat.h>

#include "format/base/str.h"
#include "report/model/regular_file.h"

enum {
	PATH_BYTES_MAX = 4096,
};

/* Opens regular files only, as the rules say: the path comes from the file's author. */
static void open_path(struct dwarf_companion *companion, const char *path, bool is_dwo,
	const uint8_t *build_id, size_t build_id_len, const struct dwarf_places *places)
{
	struct stat st;
	CLEANUP_FD int fd = regular_file_open(path, places->rules, &st);
	struct elf_file *elf;
	if (fd < 0)
		return;
	struct err *err = elf_file_open(fd, &elf);
	if (err) {
		err_destroy(err);
		return;
	}
	size_t len;
	const uint8_t *found = elf_file_build_id(elf, &len);
	bool is_right = !build_id_len || (len == build_id_len && memcmp(found, build_id, len) == 0);
	companion->is_open =
		is_right && dwarf_sections_open(elf, is_dwo, places->budget, &companion->sections);
	if (companion->is_open) {
		for (size_t id = 0; id < DWARF_SECTION_COUNT; id++)
			dwarf_sections_unpack(&companion->sections, (enum dwarf_section_id)id);
		companion->sections.elf = NULL; /* all is in memory */
	}
	elf_file_destroy(elf);
}

static void put_beside(struct str *path, const char *file, const char *name)
{
	const char *slash = strrchr(file, '/');
	str_write(path, file, slash ? (size_t)(slash - file) + 1 : 0);
	str_puts(path, name);
}

bool dwarf_companion_open_alt(
	struct dwarf_companion *companion, struct elf_file *elf, const struct dwarf_places *places)
{
	*companion = (struct dwarf_companion){0};
	CLEANUP_FREE char *name = NULL;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t len;
	if (!dwarf_split_alt_link(elf, &name, build_id, &len))
		return true;
	CLEANUP(str_deinit) struct str path = {0};
	if (places->alt_path)
		str_puts(&path, places->alt_path);
	else if (name[0] == '/')
		str_printf(&path, "%s%s", places->root, name);
	else
		put_beside(&path, places->path, name);
	open_path(companion, str_text(&path), false, build_id, len, places);
	if (companion->is_open)
		dwarf_file_read_units(&companion->sections.file);
	return companion->is_open;
}

void dwarf_companion_open_package(
	struct dwarf_companion *companion, const struct dwarf_places *places)
{
	*companion = (struct dwarf_companion){0};
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s.dwp", places->path);
	open_path(companion, str_text(&path), true, NULL, 0, places);
}

void dwarf_companion_open_dwo(struct dwarf_companion *companion, const struct dwarf_unit *skeleton,
	const struct dwarf_places *places)
{
	*companion = (struct dwarf_companion){0};
	struct dwarf_span name = skeleton->dwo_name, dir = skeleton->comp_dir;
	if (name.len + dir.len > PATH_BYTES_MAX || memchr(name.data, 0, (size_t)name.len))
		return;
	CLEANUP(str_deinit) struct str path = {0};
	bool is_absolute = name.data[0] == '/';
	if (is_absolute || (dir.len && dir.data[0] == '/'))
		str_puts(&path, places->root);
	else /* built so as not to tell where: it is not where we happen to be */
		put_beside(&path, places->path, "");
	if (!is_absolute && dir.len) {
		str_write(&path, dir.data, (size_t)dir.len);
		str_putc(&path, '/');
	}
	str_write(&path, name.data, (size_t)name.len);
	open_path(companion, str_text(&path), true, NULL, 0, places);
	if (companion->is_open)
		dwarf_file_read_units(&companion->sections.file);
}

void dwarf_companion_close(struct dwarf_companion *companion)
{
	if (companion->is_open)
		dwarf_sections_deinit(&companion->sections);
	companion->is_open = false;
}

#include "report/name/symbol/kernel_module.h"

#include <dirent.h>
#include <elf.h>
#include <string.h>

#include "format/base/str.h"
#include "format/elf/elf_relocate.h"
#include "format/elf/elf_symbols.h"
#include "report/name/symbol/kernel_file.h"

/* ---- the file ---- */

enum {
	MAX_DEPTH = 16,
	MAX_ENTRIES = 200000, /* of folders; a distribution's kernel has 5,000 */
};

struct search {
	const char *name; /* of the module, of `name_len` bytes */
	size_t name_len;
	const struct profile_object *object;
	const struct symbol_file_options *options;
	struct symbol_file *file;
	struct str path; /* without symfs */
	int entries_left;
};

/* Files have dashes where modules have underscores. */
static bool is_file_of(const struct search *search, const char *file)
{
	for (size_t i = 0; i < search->name_len; i++) {
		char c = file[i] == '-' ? '_' : file[i];
		if (c != search->name[i])
			return false;
	}
	static const char *const suffixes[] = {".ko", ".ko.debug", ".ko.xz", ".ko.zst", ".ko.gz"};
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (strcmp(suffixes[i], file + search->name_len) == 0)
			return true;
	return false;
}

/* Through the usual search, as if the object had this path: that verifies the build ID. */
static bool kernel_module_try_path(struct search *search)
{
	struct profile_object as_file = *search->object;
	as_file.path = str_text(&search->path);
	struct symbol_file_options here = *search->options;
	here.debuginfod = NULL; /* as for the kernel itself */
	symbol_file_find(&as_file, &here, search->file);
	if (search->file->debug && elf_file_type(search->file->debug) == ET_REL)
		return true;
	symbol_file_deinit(search->file);
	return false;
}

static DIR *kernel_module_open_folder(const struct search *search)
{
	CLEANUP(str_deinit) struct str full = {0};
	const char *root = search->options->symfs ? search->options->symfs : "";
	str_printf(&full, "%s%s", root, str_text(&search->path));
	return opendir(str_text(&full));
}

/* Links are not followed: those to the build tree lead far away. */
static bool search_folder(struct search *search, int depth)
{
	DIR *folder = depth < MAX_DEPTH ? kernel_module_open_folder(search) : NULL;
	size_t len = search->path.len;
	bool is_found = false;
	for (struct dirent *entry; folder && !is_found && (entry = readdir(folder));) {
		if (entry->d_name[0] == '.' || search->entries_left-- <= 0)
			continue;
		str_printf(&search->path, "/%s", entry->d_name);
		if (entry->d_type == DT_DIR)
			is_found = search_folder(search, depth + 1);
		else if (entry->d_type == DT_REG && is_file_of(search, entry->d_name))
			is_found = kernel_module_try_path(search);
		str_truncate(&search->path, len);
	}
	if (folder)
		closedir(folder);
	return is_found;
}

static bool kernel_module_find_file(struct search *search, const char *release)
{
	static const char *const folders[] = {
		"/usr/lib/debug/lib/modules/",
		"/usr/lib/debug/usr/lib/modules/",
		"/lib/modules/",
	};
	bool is_found = false;
	for (size_t i = 0; !is_found && i < sizeof(folders) / sizeof(*folders); i++) {
		str_truncate(&search->path, 0);
		str_printf(&search->path, "%s%s", folders[i], release);
		is_found = search_folder(search, 0);
	}
	str_deinit(&search->path);
	return is_found;
}

/* ---- where its sections are ---- */

struct vote {
	uint32_t section;
	uint64_t offset;
	uint32_t count;
};

struct votes {
	struct vote *data;
	size_t len, cap;
};

static void cast_vote(struct votes *votes, uint32_t section, uint64_t offset)
{
	vec_each(votes, vote) {
		if (vote->section == section && vote->offset == offset) {
			vote->count++;
			return;
		}
	}
	vec_push(votes, (struct vote){section, offset, 1});
}

/* Static functions may share a name: then several places are possible, and most symbols decide. */
static void collect_votes(const struct profile *profile, uint32_t object,
	const struct elf_symbols *symbols, struct votes *votes)
{
	enum {
		MAX_VOTES = 4096
	};
	struct strtab names = {0};
	VEC(uint64_t) offsets = {0};
	vec_each(&profile->symbols, symbol)
		if (symbol->object == object &&
			strtab_intern(&names, symbol->name, strlen(symbol->name)) == offsets.len)
			vec_push(&offsets, symbol->offset);
	size_t known = offsets.len;
	vec_each(&symbols->symbols, symbol) {
		const char *name = elf_symbols_name(symbols, symbol);
		uint32_t id = strtab_intern(&names, name, strlen(name));
		if (id < known && votes->len < MAX_VOTES)
			cast_vote(votes, symbol->section, offsets.data[id] - symbol->address);
	}
	strtab_deinit(&names);
	vec_deinit(&offsets);
}

static void place_sections(struct kernel_module_file *module, const struct votes *votes,
	const struct elf_section *sections, const struct elf_layout *layout)
{
	for (uint32_t i = 1; i < layout->addresses.len; i++) {
		const struct vote *best = NULL;
		vec_each(votes, vote)
			if (vote->section == i && (!best || vote->count > best->count))
				best = vote;
		if (best && layout->addresses.data[i])
			vec_push(&module->sections,
				(struct kernel_module_section){
					best->offset, sections[i].size, layout->addresses.data[i]});
	}
}

static void find_sections(
	const struct profile *profile, uint32_t object, struct kernel_module_file *module)
{
	struct elf_file *elf = module->file.debug;
	struct elf_layout layout = {0};
	struct elf_symbols symbols = {0};
	struct votes votes = {0};
	const struct elf_section *sections;
	size_t count;
	struct err *err = elf_file_sections(elf, &sections, &count);
	if (!err)
		err = elf_layout_make(elf, &layout);
	if (!err)
		err = elf_symbols_read(elf, &symbols);
	if (!err) {
		collect_votes(profile, object, &symbols, &votes);
		place_sections(module, &votes, sections, &layout);
	}
	err_destroy(err); /* then no place is known */
	elf_layout_deinit(&layout);
	elf_symbols_deinit(&symbols);
	vec_deinit(&votes);
}

/* ---- */

bool kernel_module_find(const struct profile *profile, uint32_t object,
	const struct symbol_file_options *options, struct kernel_module_file *ret)
{
	const struct profile_object *it = &profile->objects.data[object];
	const char *release = kernel_file_release(profile);
	size_t len = strlen(it->path);
	*ret = (struct kernel_module_file){.file = SYMBOL_FILE_NONE};
	if (!release || !it->info.build_id_len || len < 3 || it->path[0] != '[')
		return false;
	struct search search = {
		.name = it->path + 1,
		.name_len = len - 2,
		.object = it,
		.options = options,
		.file = &ret->file,
		.entries_left = MAX_ENTRIES,
	};
	if (!kernel_module_find_file(&search, release))
		return false;
	find_sections(profile, object, ret);
	return true;
}

uint64_t kernel_module_address(const struct kernel_module_file *module, uint64_t offset)
{
	vec_each(&module->sections, section)
		if (offset - section->offset < section->size)
			return offset - section->offset + section->address;
	return 0;
}

void kernel_module_deinit(struct kernel_module_file *module)
{
	symbol_file_deinit(&module->file);
	vec_deinit(&module->sections);
}

#include "report/name/symbol/kernel_file.h"

#include <string.h>

#include "format/base/str.h"
#include "format/elf/elf_symbols.h"

/* %s is the release, as uname -r says. */
static const char *const places[] = {
	"/usr/lib/debug/boot/vmlinux-%s",            /* Debian, Ubuntu */
	"/usr/lib/debug/lib/modules/%s/vmlinux",     /* Fedora, RHEL, SUSE */
	"/usr/lib/debug/usr/lib/modules/%s/vmlinux", /* the same with /usr merged */
	"/usr/lib/debug/boot/vmlinux-%s.debug",      /* SUSE before */
	"/boot/vmlinux-%s",
	"/lib/modules/%s/build/vmlinux", /* built here */
	"/lib/modules/%s/vmlinux",
};

/* It becomes part of a path. */
static bool is_release(const char *text)
{
	return text && *text && *text != '.' && !strchr(text, '/') && strlen(text) < 128;
}

const char *kernel_file_release(const struct profile *profile)
{
	const char *release = profile_meta(profile, LAYOUT_META_KERNEL);
	return is_release(release) ? release : NULL;
}

/* Through the usual search, as if the object had this path: that verifies the build ID. */
static bool try_place(const struct profile_object *object, const char *place, const char *release,
	const struct symbol_file_options *options, struct symbol_file *ret)
{
	CLEANUP(str_deinit) struct str path = {0};
	struct profile_object as_file = *object;
	const char *mark = strstr(place, "%s");
	str_write(&path, place, (size_t)(mark - place));
	str_printf(&path, "%s%s", release, mark + 2);
	as_file.path = str_text(&path);
	struct symbol_file_options here = *options;
	here.debuginfod = NULL; /* not for each place: it would be asked again and again */
	symbol_file_find(&as_file, &here, ret);
	if (ret->debug)
		return true;
	symbol_file_deinit(ret);
	return false;
}

/* Where the kernel's image begins; its scripts call it so on all architectures. */
static bool kernel_file_find_text(struct elf_file *elf, uint64_t *ret)
{
	struct elf_symbols symbols = {0};
	struct err *err = elf_symbols_read(elf, &symbols);
	bool is_found = false;
	vec_each(&symbols.symbols, symbol) {
		if (is_found || strcmp(elf_symbols_name(&symbols, symbol), "_text") != 0)
			continue;
		*ret = symbol->address;
		is_found = true;
	}
	err_destroy(err);
	elf_symbols_deinit(&symbols);
	return is_found;
}

bool kernel_file_find(const struct profile *profile, const struct profile_object *object,
	const struct symbol_file_options *options, struct kernel_file *ret)
{
	const char *release = kernel_file_release(profile);
	*ret = (struct kernel_file){.file = SYMBOL_FILE_NONE};
	if (!object->info.build_id_len || !object->info.base || !release)
		return false;
	bool is_found = false;
	for (size_t i = 0; !is_found && i < sizeof(places) / sizeof(*places); i++)
		is_found = try_place(object, places[i], release, options, &ret->file);
	return is_found && kernel_file_find_text(ret->file.debug, &ret->base);
}

void kernel_file_deinit(struct kernel_file *file)
{
	symbol_file_deinit(&file->file);
}

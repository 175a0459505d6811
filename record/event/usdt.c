#include "record/event/usdt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/path.h"
#include "format/base/str.h"
#include "format/elf/elf_stapsdt.h"
#include "record/task/program_files.h"

/* ---- the file ---- */

static struct err *read_file(int fd, const char *path, struct elf_stapsdt *ret)
{
	struct elf_file *elf;
	try(err_wrap(elf_file_open(fd, &elf), "%s", path));
	struct err *err = err_wrap(elf_stapsdt_read(elf, ret), "%s", path);
	elf_file_destroy(elf);
	if (!err && !ret->probes.len) {
		elf_stapsdt_deinit(ret);
		err = err_new(ERR_USAGE, "%s has no USDT probes", path);
	}
	return err;
}

/* A FIFO is not to be waited for. */
static struct err *read_probes(const char *path, struct elf_stapsdt *ret)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_sys(errno, "cannot open %s", path);
	return read_file(fd, path, ret);
}

/* ---- listing ---- */

/* In the order of their first coming, all places of a probe as one. */
static void usdt_group(const struct elf_stapsdt *list, usdt_list_fn *fn, void *context)
{
	VEC(struct usdt_listed) groups = {0};
	struct map index_of = {0}; /* key -> index + 1 */
	struct strtab keys = {0};
	CLEANUP(str_deinit) struct str key = {0};
	vec_each(&list->probes, probe) {
		str_truncate(&key, 0);
		str_printf(&key, "%s:%s", probe->provider, probe->name);
		uint64_t *index =
			map_put(&index_of, strtab_intern(&keys, str_text(&key), key.len), NULL);
		if (!*index) {
			vec_push(&groups, (struct usdt_listed){probe->provider, probe->name,
						  probe->arguments, 0, false});
			*index = groups.len;
		}
		struct usdt_listed *group = &groups.data[*index - 1];
		group->nr_places++;
		group->has_semaphore |= probe->semaphore_offset != 0;
	}
	vec_each(&groups, listed)
		fn(context, listed);
	vec_deinit(&groups);
	map_deinit(&index_of);
	strtab_deinit(&keys);
}

struct err *usdt_list(const char *path, usdt_list_fn *fn, void *context)
{
	struct elf_stapsdt list;
	CLEANUP_FREE char *real = program_files_path(path);
	try(read_probes(real ? real : path, &list));
	usdt_group(&list, fn, context);
	elf_stapsdt_deinit(&list);
	return NULL;
}

/* ---- the search ---- */

/* From the right: a path may hold colons, too. */
static struct err *usdt_split(const char *text, struct usdt *usdt)
{
	const char *name = strrchr(text, ':');
	const char *provider = name ? memrchr(text, ':', (size_t)(name - text)) : NULL;
	if (!provider || provider == text || name == provider + 1 || !name[1])
		return err_new(ERR_USAGE, "\"usdt:%s\" is not usdt:PATH:PROVIDER:NAME", text);
	CLEANUP_FREE char *path = mem_strndup(text, (size_t)(provider - text));
	char *real = program_files_path(path);
	if (!real)
		return err_sys(errno, "cannot open %s", path);
	usdt->path = real;
	usdt->provider = mem_strndup(provider + 1, (size_t)(name - provider - 1));
	usdt->name = mem_strdup(name + 1);
	return NULL;
}

static void usdt_add_place(struct usdt *usdt, const struct elf_stapsdt_probe *probe)
{
	vec_each(&usdt->places, place)
		if (place->offset == probe->offset)
			return;
	vec_push(&usdt->places, (struct usdt_place){probe->offset, probe->semaphore_offset});
}

struct wish {
	const struct usdt *usdt;
	struct str *text;
	size_t nr_put, nr_probes;
	bool is_near; /* only those like it are wanted */
};

static bool is_like(const struct usdt *wanted, const struct usdt_listed *probe)
{
	return strcasestr(probe->name, wanted->name) || strcasestr(wanted->name, probe->name);
}

static void put_other(void *context, const struct usdt_listed *probe)
{
	enum {
		MAX_TOLD = 6
	};
	struct wish *wish = context;
	wish->nr_probes++;
	if ((wish->is_near && !is_like(wish->usdt, probe)) || wish->nr_put >= MAX_TOLD)
		return;
	str_printf(wish->text, "%s%s:%s", wish->nr_put++ ? ", " : "", probe->provider, probe->name);
}

static struct err *not_found(const struct usdt *usdt, const struct elf_stapsdt *list)
{
	CLEANUP(str_deinit) struct str others = {0};
	struct wish wish = {.usdt = usdt, .text = &others, .is_near = true};
	usdt_group(list, put_other, &wish);
	if (!wish.nr_put) {
		wish.is_near = false;
		wish.nr_probes = 0;
		usdt_group(list, put_other, &wish);
	}
	return err_new(ERR_USAGE,
		"%s has no USDT probe %s:%s, but %s%s (%zu in all: ebprof record --list-usdt %s)",
		usdt->path, usdt->provider, usdt->name, str_text(&others),
		wish.nr_put < wish.nr_probes ? "..." : "", wish.nr_probes, usdt->path);
}

static struct err *usdt_find_probe(const char *text, struct usdt *usdt)
{
	struct elf_stapsdt list;
	try(usdt_split(text, usdt));
	try(read_probes(usdt->path, &list));
	vec_each(&list.probes, probe)
		if (strcmp(probe->provider, usdt->provider) == 0 &&
			strcmp(probe->name, usdt->name) == 0)
			usdt_add_place(usdt, probe);
	struct err *err = usdt->places.len ? NULL : not_found(usdt, &list);
	elf_stapsdt_deinit(&list);
	struct str event = {0};
	str_printf(&event, "usdt:%s:%s:%s", path_last_part(usdt->path), usdt->provider, usdt->name);
	usdt->event = str_steal(&event);
	return err;
}

struct err *usdt_find(const char *text, struct usdt *ret)
{
	struct usdt usdt = {0};
	struct err *err = usdt_find_probe(text, &usdt);
	if (err)
		usdt_deinit(&usdt);
	else
		*ret = usdt;
	return err;
}

void usdt_deinit(struct usdt *usdt)
{
	free(usdt->path); /* realpath()'s */
	mem_free(usdt->provider);
	mem_free(usdt->name);
	mem_free(usdt->event);
	vec_deinit(&usdt->places);
}

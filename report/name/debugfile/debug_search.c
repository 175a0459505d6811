#include "report/name/debugfile/debug_search.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/hex.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "report/name/debugfile/debug_link.h"

/* One search under way. */
struct walk {
	const struct debug_search *search;
	const char *root;
	const struct debug_identity *identity;
	struct str path; /* of the candidate */
	bool is_over;
	bool has_own; /* it was accepted */
	bool has_link;
	struct debug_link link; /* of the object itself */
	/* Of the object itself, where the recording has no build ID and the file on this machine
	 * does. */
	struct debug_identity found;
	uint8_t found_build_id[ELF_BUILD_ID_MAX];
};

void debug_attempts_add(struct debug_attempts *attempts, const struct debug_attempt *attempt)
{
	struct debug_attempt copy = *attempt;
	copy.path = mem_strdup(attempt->path);
	vec_push(&attempts->list, copy);
}

void debug_attempts_deinit(struct debug_attempts *attempts)
{
	vec_each(&attempts->list, attempt)
		mem_free((void *)attempt->path);
	vec_deinit(&attempts->list);
}

static struct walk debug_search_begin(
	const struct debug_search *search, const struct debug_identity *identity)
{
	const char *root = search->root ? search->root : search->options->symfs;
	return (struct walk){.search = search, .root = root ? root : "", .identity = identity};
}

/* What perf.data says of a library by size and time is found by the build ID from here on. */
static void identify_by_own_file(struct walk *walk, struct elf_file *elf)
{
	size_t len = 0;
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	if (walk->identity->build_id_len || !len || len > sizeof(walk->found_build_id))
		return;
	memcpy(walk->found_build_id, build_id, len);
	walk->found = *walk->identity;
	walk->found.build_id = walk->found_build_id;
	walk->found.build_id_len = len;
	walk->identity = &walk->found;
}

/* Tries the path that was put together, and begins a new one. */
static void debug_search_try_path(
	struct walk *walk, enum debug_place place, const struct debug_identity *identity)
{
	struct debug_attempt attempt = {.place = place, .path = str_text(&walk->path)};
	struct elf_file *elf;
	int fd;
	attempt.verdict =
		debug_file_open(attempt.path, walk->search->options->rules, identity, &fd, &elf);
	/* Where older perfs had a file newer ones have a folder, whose files were tried before. */
	if (place == DEBUG_PLACE_PERF && attempt.verdict == DEBUG_NOT_REGULAR)
		attempt.verdict = DEBUG_ABSENT;
	debug_attempts_add(walk->search->attempts, &attempt);
	if (attempt.verdict == DEBUG_ACCEPTED) {
		if (place == DEBUG_PLACE_OWN) {
			walk->has_own = true;
			walk->has_link = debug_link_read(elf, &walk->link);
			identify_by_own_file(walk, elf);
		}
		walk->is_over = walk->search->take(walk->search->context, &attempt, elf, fd);
	}
	str_truncate(&walk->path, 0);
}

/* "xx/rest" */
static void debug_search_put_build_id(struct str *path, const struct debug_identity *identity)
{
	if (!identity->build_id_len)
		return;
	hex_put(path, identity->build_id, 1);
	str_putc(path, '/');
	hex_put(path, identity->build_id + 1, identity->build_id_len - 1);
}

static void put_directory(struct str *path, const char *of)
{
	const char *slash = strrchr(of, '/');
	str_write(path, of, slash ? (size_t)(slash - of) + 1 : 0);
}

static void try_own_path(struct walk *walk, const char *root, const char *path)
{
	if (walk->is_over || walk->has_own)
		return;
	str_printf(&walk->path, "%s%s", root, path);
	debug_search_try_path(walk, DEBUG_PLACE_OWN, walk->identity);
}

static void try_own(struct walk *walk, const char *object)
{
	try_own_path(walk, walk->root, object);
}

/* `top` is the folder that the build IDs' folders stand in, with a slash at its end. */
static void try_build_id(
	struct walk *walk, enum debug_place place, const char *root, const char *top)
{
	if (walk->is_over || !walk->identity->build_id_len)
		return;
	str_printf(&walk->path, "%s%s", root, top);
	debug_search_put_build_id(&walk->path, walk->identity);
	str_puts(&walk->path, ".debug");
	debug_search_try_path(walk, place, walk->identity);
}

/* A separate file has other sizes and times than the object. */
static struct debug_identity of_separate(const struct walk *walk)
{
	struct debug_identity identity = *walk->identity;
	identity.size_bytes = identity.mtime_ns = 0;
	identity.has_crc = !identity.build_id_len && walk->has_link;
	identity.crc = walk->link.crc;
	return identity;
}

/*
 * Tries a file of a folder of --debug-dir. What has another build ID, or none, is not listed among
 * the files that were tried: a folder may hold hundreds.
 */
static void try_entry(struct walk *walk, const char *dir, const char *name)
{
	struct debug_identity identity = of_separate(walk);
	identity.may_be_packed = false; /* unpacking each file of a folder takes too long */
	CLEANUP(str_deinit) struct str path = {0};
	struct elf_file *elf;
	CLEANUP_FD int fd = -1;
	str_printf(&path, "%s/%s", dir, name);
	if (debug_file_open(str_text(&path), walk->search->options->rules, &identity, &fd, &elf) !=
		DEBUG_ACCEPTED)
		return;
	elf_file_destroy(elf);
	str_puts(&walk->path, str_text(&path));
	debug_search_try_path(walk, DEBUG_PLACE_DIR, &identity);
}

/* An unstripped copy may be called otherwise: the build ID says which file it is. */
static void try_entries(struct walk *walk, const char *dir)
{
	enum {
		ENTRIES_MAX = 512, /* each is opened, for each object */
	};
	DIR *folder = walk->is_over || !walk->identity->build_id_len ? NULL : opendir(dir);
	unsigned count = 0;
	for (const struct dirent *entry; folder && !walk->is_over && (entry = readdir(folder));)
		if (entry->d_name[0] != '.' && entry->d_type != DT_DIR && count++ < ENTRIES_MAX)
			try_entry(walk, dir, entry->d_name);
	if (folder)
		closedir(folder);
}

static void try_debug_dirs(struct walk *walk, const char *object)
{
	const struct symbol_file_options *options = walk->search->options;
	struct debug_identity identity = of_separate(walk);
	for (size_t i = 0; i < options->debug_dirs.len && !walk->is_over; i++) {
		const char *dir = options->debug_dirs.data[i];
		try_build_id(walk, DEBUG_PLACE_DIR, dir, "/.build-id/");
		try_build_id(walk, DEBUG_PLACE_DIR, dir, "/");
		if (object && !walk->is_over) {
			str_printf(&walk->path, "%s%s.debug", dir, object);
			debug_search_try_path(walk, DEBUG_PLACE_DIR, &identity);
		}
		try_entries(walk, dir);
	}
}

static void try_link(struct walk *walk, const char *object)
{
	static const struct {
		const char *top, *below;
	} folders[] = {{"", ""}, {"", ".debug/"}, {"/usr/lib/debug", ""}};
	if (!walk->has_link || walk->is_over)
		return;
	if (!debug_link_is_plain(&walk->link)) {
		debug_attempts_add(
			walk->search->attempts, &(struct debug_attempt){.place = DEBUG_PLACE_LINK,
							.verdict = DEBUG_BAD_LINK,
							.path = walk->link.name});
		return;
	}
	struct debug_identity identity = of_separate(walk);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && !walk->is_over; i++) {
		str_printf(&walk->path, "%s%s", walk->root, folders[i].top);
		put_directory(&walk->path, object);
		str_printf(&walk->path, "%s%s", folders[i].below, walk->link.name);
		debug_search_try_path(walk, DEBUG_PLACE_LINK, &identity);
	}
}

/* Older perfs made a link to the file, newer ones to a folder of files. */
static void try_perf(struct walk *walk)
{
	static const char *const names[] = {"/debug", "/elf", ""};
	const char *home = getenv("HOME");
	if (!home || home[0] != '/' || !walk->identity->build_id_len)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !walk->is_over; i++) {
		str_printf(&walk->path, "%s/.debug/.build-id/", home);
		debug_search_put_build_id(&walk->path, walk->identity);
		str_puts(&walk->path, names[i]);
		debug_search_try_path(walk, DEBUG_PLACE_PERF, walk->identity);
	}
}

static bool debug_search_is_kept(
	const struct symbol_file_kept *kept, const struct debug_identity *identity)
{
	if (identity->build_id_len)
		return kept->build_id_len == identity->build_id_len &&
		       memcmp(kept->build_id, identity->build_id, kept->build_id_len) == 0;
	return !kept->build_id_len && identity->size_bytes &&
	       kept->size_bytes == identity->size_bytes && kept->mtime_ns == identity->mtime_ns;
}

/* By its path in there first: other files may stand beside it. */
static void try_root(struct walk *walk, const struct symbol_file_kept *kept, const char *object)
{
	const char *usual = walk->root;
	walk->root = kept->root;
	if (object)
		try_own(walk, object);
	try_own_path(walk, "", kept->path);
	try_build_id(walk, DEBUG_PLACE_SYSTEM, walk->root, "/usr/lib/debug/.build-id/");
	if (object)
		try_link(walk, object);
	walk->root = usual;
}

static const struct symbol_file_kept *list_kept(
	const struct symbol_file_options *options, size_t *count)
{
	const struct symbol_file_finder *finder = options->finder;
	if (finder)
		return finder->found(finder->context, count);
	*count = options->nr_kept;
	return options->kept;
}

static void try_kept(struct walk *walk, const char *object)
{
	size_t count;
	const struct symbol_file_kept *list = list_kept(walk->search->options, &count);
	for (size_t i = 0; i < count; i++) {
		const struct symbol_file_kept *kept = &list[i];
		if (!debug_search_is_kept(kept, walk->identity))
			continue;
		if (kept->root)
			try_root(walk, kept, object);
		else
			try_own_path(walk, "", kept->path);
	}
}

bool debug_search_has_kept(
	const struct symbol_file_options *options, const struct debug_identity *identity)
{
	size_t count;
	const struct symbol_file_kept *list = list_kept(options, &count);
	for (size_t i = 0; i < count; i++)
		if (debug_search_is_kept(&list[i], identity))
			return true;
	return false;
}

const char *debug_search_root(
	const struct symbol_file_options *options, const struct debug_identity *identity)
{
	size_t count;
	const struct symbol_file_kept *list = list_kept(options, &count);
	for (size_t i = 0; i < count; i++)
		if (list[i].root && debug_search_is_kept(&list[i], identity))
			return list[i].root;
	return options->symfs;
}

void debug_search_object(
	const struct debug_search *search, const char *path, const struct debug_identity *identity)
{
	struct walk walk = debug_search_begin(search, identity);
	const char *object = path && path[0] == '/' ? path : NULL;
	try_kept(&walk, object);
	if (object)
		try_own(&walk, object);
	try_debug_dirs(&walk, object);
	try_build_id(&walk, DEBUG_PLACE_SYSTEM, walk.root, "/usr/lib/debug/.build-id/");
	if (object)
		try_link(&walk, object);
	try_perf(&walk);
	str_deinit(&walk.path);
}

/* ---- what dwz moved out ---- */

/* What follows ".dwz/" in a name like /usr/lib/debug/.dwz/x86_64-linux-gnu/NAME.debug. */
static const char *below_dwz(const char *name)
{
	const char *dwz = strstr(name, "/.dwz/");
	return dwz && !strstr(dwz, "/../") ? dwz + strlen("/.dwz/") : NULL;
}

static void try_below_dwz(
	struct walk *walk, enum debug_place place, const char *top, const char *name)
{
	const char *rest = below_dwz(name);
	if (!rest || walk->is_over)
		return;
	str_printf(&walk->path, "%s/.dwz/%s", top, rest);
	debug_search_try_path(walk, place, walk->identity);
}

void debug_search_alt(const struct debug_search *search, const char *beside, const char *name,
	const struct debug_identity *identity)
{
	struct walk walk = debug_search_begin(search, identity);
	if (name[0] == '/')
		str_puts(&walk.path, walk.root);
	else
		put_directory(&walk.path, beside);
	str_puts(&walk.path, name);
	debug_search_try_path(&walk, DEBUG_PLACE_LINK, identity);
	for (size_t i = 0; i < search->options->debug_dirs.len; i++) {
		const char *dir = search->options->debug_dirs.data[i];
		try_build_id(&walk, DEBUG_PLACE_DIR, dir, "/.build-id/");
		try_build_id(&walk, DEBUG_PLACE_DIR, dir, "/");
		try_below_dwz(&walk, DEBUG_PLACE_DIR, dir, name);
	}
	try_build_id(&walk, DEBUG_PLACE_SYSTEM, walk.root, "/usr/lib/debug/.build-id/");
	CLEANUP(str_deinit) struct str top = {0};
	str_printf(&top, "%s/usr/lib/debug", walk.root);
	try_below_dwz(&walk, DEBUG_PLACE_DWZ, str_text(&top), name);
	str_deinit(&walk.path);
}

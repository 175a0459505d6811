#include "record/task/program_files.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/elf/elf_file.h"
#include "format/machine/machine.h"

enum {
	MAX_SCRIPTS = 4, /* that run each other; the kernel allows as many */
	MAX_LIBRARIES = 256,
	MAX_LINE_BYTES = 256,
	MAX_DYNAMIC_BYTES = 1 << 20,
};

/* Where ld.so looks, without its cache, behind the folders of the machine. */
static const char *const library_folders[] = {
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
};

static bool is_regular(const char *path)
{
	struct stat stat_buffer;
	return !stat(path, &stat_buffer) && S_ISREG(stat_buffer.st_mode);
}

static bool try_folder(
	struct str *path, const char *folder, size_t folder_len, const char *name, bool is_program)
{
	str_truncate(path, 0);
	str_write(path, folder, folder_len);
	str_printf(path, "/%s", name);
	return is_regular(str_text(path)) && (!is_program || !access(str_text(path), X_OK));
}

/* In a list of folders with colons in between. */
static bool program_files_search(
	struct str *path, const char *folders, const char *name, bool is_program)
{
	for (; folders && *folders; folders += *folders == ':') {
		size_t len = strcspn(folders, ":");
		if (len && try_folder(path, folders, len, name, is_program))
			return true;
		folders += len;
	}
	return false;
}

static bool program_files_find_program(const char *name, struct str *path)
{
	if (!strchr(name, '/'))
		return program_files_search(path, getenv("PATH"), name, true);
	str_puts(path, name);
	return is_regular(name);
}

/* ---- libraries ---- */

struct library_search {
	program_file_fn *fn;
	void *context;
	const char *folder; /* of the program: $ORIGIN */
	const char *names;  /* of the file's dynamic string table, which ends with a NUL */
	uint64_t names_len;
	char *own_folders; /* RUNPATH or RPATH */
};

static const char *name_at(const struct library_search *search, uint64_t offset)
{
	return offset < search->names_len ? search->names + offset : "";
}

static void take_own_folders(struct library_search *it, const char *folders)
{
	static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
	struct str text = {0};
	while (*folders) {
		size_t skipped = 0;
		for (size_t i = 0; i < 2 && !skipped; i++)
			if (strncmp(folders, origins[i], strlen(origins[i])) == 0)
				skipped = strlen(origins[i]);
		if (skipped)
			str_puts(&text, it->folder);
		else
			str_putc(&text, *folders);
		folders += skipped ? skipped : 1;
	}
	mem_free(it->own_folders);
	it->own_folders = str_steal(&text);
}

typedef bool library_folder_fn(struct str *path, const char *folder, const char *name);

/* Until fn is true of one. */
static bool program_files_each_folder(library_folder_fn *fn, struct str *path, const char *name)
{
	const char *const *own = machine_native()->library_folders;
	for (size_t i = 0; i < MACHINE_LIBRARY_FOLDERS; i++)
		if (own[i] && fn(path, own[i], name))
			return true;
	for (size_t i = 0; i < sizeof(library_folders) / sizeof(*library_folders); i++)
		if (fn(path, library_folders[i], name))
			return true;
	return false;
}

static bool try_library(struct str *path, const char *folder, const char *name)
{
	return try_folder(path, folder, strlen(folder), name, false);
}

static void find_library(const struct library_search *it, const char *name)
{
	CLEANUP(str_deinit) struct str path = {0};
	if (program_files_search(&path, it->own_folders, name, false) ||
		program_files_search(&path, getenv("LD_LIBRARY_PATH"), name, false) ||
		program_files_each_folder(try_library, &path, name))
		it->fn(it->context, str_text(&path));
}

static void each_entry(struct library_search *it, const uint8_t *bytes, size_t len, bool is_folders)
{
	unsigned nr_libraries = 0;
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	while (bytes_left(&cursor) >= sizeof(Elf64_Dyn) && nr_libraries < MAX_LIBRARIES) {
		uint64_t tag = bytes_get_u64(&cursor), value = bytes_get_u64(&cursor);
		if (tag == DT_NULL)
			break;
		if (is_folders && (tag == DT_RUNPATH || tag == DT_RPATH))
			take_own_folders(it, name_at(it, value));
		if (is_folders || tag != DT_NEEDED)
			continue;
		const char *name = name_at(it, value);
		nr_libraries++;
		if (strchr(name, '/'))
			it->fn(it->context, name);
		else if (*name)
			find_library(it, name);
	}
}

static uint8_t *program_files_read_section(
	const struct elf_file *elf, const struct elf_section *section)
{
	uint8_t *bytes = NULL;
	if (section && section->size <= MAX_DYNAMIC_BYTES)
		err_destroy(elf_file_read(elf, section->offset, section->size, &bytes));
	return bytes;
}

static void each_library(struct elf_file *elf, struct library_search *it)
{
	const struct elf_section *section = elf_file_find_section(elf, ".dynamic");
	uint64_t len = section ? section->size : 0;
	CLEANUP_FREE uint8_t *entries = program_files_read_section(elf, section);
	section = elf_file_find_section(elf, ".dynstr");
	CLEANUP_FREE uint8_t *names = program_files_read_section(elf, section);
	if (!entries || !names)
		return;
	it->names = (const char *)names;
	it->names_len = section->size;
	each_entry(it, entries, len, true);
	each_entry(it, entries, len, false);
	mem_free(it->own_folders);
}

static void tell_program(int fd, const char *path, program_file_fn *fn, void *context)
{
	struct elf_file *elf;
	struct err *err = elf_file_open(fd, &elf);
	if (err) {
		err_destroy(err);
		return;
	}
	fn(context, path);
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *folder = mem_strndup(path, slash ? (size_t)(slash - path) : 0);
	struct library_search it = {.fn = fn, .context = context, .folder = folder};
	each_library(elf, &it);
	elf_file_destroy(elf);
}

/* ---- scripts ---- */

/* The words of "#!/usr/bin/env -S php -n": the last that is no option, of what env is to run. */
static bool read_interpreter(int fd, struct str *ret)
{
	char line[MAX_LINE_BYTES];
	ssize_t got = pread(fd, line, sizeof(line) - 1, 0);
	if (got < 2 || memcmp(line, "#!", 2) != 0)
		return false;
	line[got] = '\0';
	line[strcspn(line, "\n")] = '\0';
	char *rest = NULL, *word = strtok_r(line + 2, " \t", &rest);
	const char *slash = word ? strrchr(word, '/') : NULL;
	if (slash && strcmp(slash, "/env") == 0)
		do
			word = strtok_r(NULL, " \t", &rest);
		while (word && (*word == '-' || strchr(word, '=')));
	if (word)
		str_puts(ret, word);
	return word;
}

void program_files_each(const char *name, program_file_fn *fn, void *context)
{
	CLEANUP(str_deinit) struct str next = {0};
	str_puts(&next, name);
	for (int i = 0; i <= MAX_SCRIPTS; i++) {
		CLEANUP(str_deinit) struct str path = {0};
		if (!program_files_find_program(str_text(&next), &path))
			return;
		CLEANUP_FREE char *real = realpath(str_text(&path), NULL);
		if (!real)
			return;
		CLEANUP_FD int fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		str_truncate(&next, 0);
		if (fd < 0)
			return;
		if (!read_interpreter(fd, &next)) {
			tell_program(fd, real, fn, context);
			return;
		}
	}
}

/* ---- by a name ---- */

/* Of "libc" libc.so.6: without a version it is what linkers read, which may be a text. */
static bool try_versions(struct str *path, const char *folder, const char *name)
{
	static const char mark[] = ".so.";
	CLEANUP(str_deinit) struct str best = {0};
	size_t len = strlen(name);
	DIR *entries = opendir(folder);
	for (struct dirent *it; entries && (it = readdir(entries));) {
		if (strncmp(it->d_name, name, len) != 0 ||
			strncmp(it->d_name + len, mark, strlen(mark)) != 0 ||
			(best.len && strverscmp(it->d_name, str_text(&best)) < 0) ||
			!try_library(path, folder, it->d_name))
			continue;
		str_truncate(&best, 0);
		str_puts(&best, it->d_name);
	}
	if (entries)
		closedir(entries);
	return best.len && try_library(path, folder, str_text(&best));
}

char *program_files_path(const char *name)
{
	CLEANUP(str_deinit) struct str path = {0};
	if (strchr(name, '/') || !access(name, F_OK))
		return realpath(name, NULL);
	if (program_files_search(&path, getenv("PATH"), name, true) ||
		program_files_each_folder(try_library, &path, name) ||
		program_files_each_folder(try_versions, &path, name))
		return realpath(str_text(&path), NULL);
	errno = ENOENT;
	return NULL;
}

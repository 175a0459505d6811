#include "report/symbol/symbol_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/str.h"

/* What one candidate path turned out to be. */
enum verdict {
	VERDICT_ABSENT,
	VERDICT_OTHER_BUILD, /* there, but not what was recorded */
	VERDICT_NOT_ELF,
	VERDICT_ACCEPTED,
};

static bool has_build_id(const struct layout_object *info, struct elf_file *elf)
{
	size_t len;
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	return len == info->build_id_len && memcmp(build_id, info->build_id, len) == 0;
}

static bool is_same_file(const struct layout_object *info, const struct stat *st)
{
	uint64_t mtime_ns =
		(uint64_t)st->st_mtim.tv_sec * 1000000000ULL + (uint64_t)st->st_mtim.tv_nsec;
	return info->size_bytes == (uint64_t)st->st_size && info->mtime_ns == mtime_ns;
}

static bool has_debug_info(struct elf_file *elf)
{
	return elf_file_find_section(elf, ".debug_info") ||
	       elf_file_find_section(elf, ".zdebug_info");
}

static void take_segments(struct symbol_file *file, const struct elf_file *elf)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	if (!file->segments.len)
		vec_append(&file->segments, segments, count);
}

/*
 * Opens regular files only, and never waits: the path comes from the recording. Where it is
 * accepted, *fd and *elf are the caller's.
 */
static enum verdict open_path(
	const struct layout_object *info, const char *path, int *fd, struct elf_file **elf)
{
	CLEANUP_FD int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (opened < 0 || fstat(opened, &st) || !S_ISREG(st.st_mode))
		return VERDICT_ABSENT;
	struct err *err = elf_file_open(opened, elf);
	if (err) {
		err_destroy(err);
		return VERDICT_NOT_ELF;
	}
	bool is_right = info->build_id_len ? has_build_id(info, *elf) : is_same_file(info, &st);
	if (!is_right) {
		elf_file_destroy(*elf);
		return VERDICT_OTHER_BUILD;
	}
	*fd = steal_fd(opened);
	return VERDICT_ACCEPTED;
}

static enum verdict try_path(
	const struct layout_object *info, const char *path, struct symbol_file *file)
{
	CLEANUP_FD int fd = -1;
	struct elf_file *elf;
	enum verdict verdict = open_path(info, path, &fd, &elf);
	if (verdict != VERDICT_ACCEPTED)
		return verdict;
	struct elf_symbols symbols = {0};
	struct err *err = elf_symbols_read(elf, &symbols);
	if (err)
		err_destroy(err); /* a broken table is no table */
	else
		symbol_index_add_elf(file->index, &symbols);
	elf_symbols_deinit(&symbols);
	take_segments(file, elf);
	if (!file->debug && has_debug_info(elf)) {
		file->debug = steal_ptr(elf);
		file->debug_fd = steal_fd(fd);
		file->debug_path = mem_strdup(path);
	}
	elf_file_destroy(elf);
	return verdict;
}

static void put_own_path(struct str *path, const char *root, const struct profile_object *object)
{
	str_truncate(path, 0);
	if (object->path[0] == '/')
		str_printf(path, "%s%s", root, object->path);
}

/* Nothing where there is no build ID. */
static void put_debug_path(struct str *path, const char *root, const struct layout_object *info)
{
	str_truncate(path, 0);
	if (!info->build_id_len)
		return;
	str_printf(path, "%s/usr/lib/debug/.build-id/", root);
	for (uint32_t i = 0; i < info->build_id_len; i++)
		str_printf(path, i ? "%02x" : "%02x/", info->build_id[i]);
	str_puts(path, ".debug");
}

void symbol_file_find(const struct profile_object *object,
	const struct symbol_file_options *options, struct symbol_file *ret)
{
	*ret = (struct symbol_file){.index = symbol_index_create(), .debug_fd = -1};
	const struct layout_object *info = &object->info;
	const char *root = options->symfs ? options->symfs : "";
	enum verdict verdict = VERDICT_ABSENT;
	CLEANUP(str_deinit) struct str path = {0};
	put_own_path(&path, root, object);
	if (path.len) {
		verdict = try_path(info, str_text(&path), ret);
		if (verdict == VERDICT_ACCEPTED)
			ret->path = mem_strdup(str_text(&path));
	}
	/* A stripped binary's full table stands in the distribution's debug package. */
	put_debug_path(&path, root, info);
	if (path.len && try_path(info, str_text(&path), ret) == VERDICT_ACCEPTED && !ret->path)
		ret->path = mem_strdup(str_text(&path));
	symbol_index_build(ret->index);
	if (ret->path)
		return;
	static const char *const problems[] = {
		[VERDICT_ABSENT] = "the file is not on this machine",
		[VERDICT_OTHER_BUILD] = "the file here is another build",
		[VERDICT_NOT_ELF] = "not an ELF file",
		[VERDICT_ACCEPTED] = "",
	};
	ret->problem = problems[verdict];
}

int symbol_file_open(const struct profile_object *object, const struct symbol_file_options *options,
	enum symbol_file_kind kind)
{
	const char *root = options->symfs ? options->symfs : "";
	CLEANUP(str_deinit) struct str path = {0};
	if (kind == SYMBOL_FILE_OWN)
		put_own_path(&path, root, object);
	else
		put_debug_path(&path, root, &object->info);
	int fd = -1;
	struct elf_file *elf;
	if (path.len && open_path(&object->info, str_text(&path), &fd, &elf) == VERDICT_ACCEPTED)
		elf_file_destroy(elf);
	return fd;
}

void symbol_file_deinit(struct symbol_file *file)
{
	mem_free(file->path);
	symbol_index_destroy(file->index);
	vec_deinit(&file->segments);
	elf_file_destroy(file->debug);
	mem_close_fd(&file->debug_fd);
	mem_free(file->debug_path);
	*file = (struct symbol_file){.debug_fd = -1};
}

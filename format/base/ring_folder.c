#include "format/base/ring_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"

enum {
	MS_PER_S = 1000,
	NAME_BYTES = 96,
};

/* ---- names ---- */

void ring_name_put(const struct ring_name *name, struct str *out)
{
	time_t seconds = (time_t)(name->begun_ms / MS_PER_S);
	struct tm utc;
	char stamp[32];
	gmtime_r(&seconds, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &utc);
	str_printf(out, "ebprof-%s.%03uZ", stamp, (unsigned)(name->begun_ms % MS_PER_S));
	if (name->is_ended)
		str_printf(out, "+%llu.%03u", (unsigned long long)(name->lasted_ms / MS_PER_S),
			(unsigned)(name->lasted_ms % MS_PER_S));
	str_puts(out, ".data");
}

/* Lenient: whether the name is ours is seen when it is put together again. */
static void read_ring_name(const char *text, struct ring_name *ret)
{
	struct tm utc = {0};
	unsigned ms = 0;
	unsigned long long lasted_s = 0;
	unsigned lasted_ms = 0;
	int got = sscanf(text, "ebprof-%4d%2d%2dT%2d%2d%2d.%3uZ+%9llu.%3u", &utc.tm_year,
		&utc.tm_mon, &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &ms, &lasted_s,
		&lasted_ms);
	utc.tm_year -= 1900;
	utc.tm_mon--;
	time_t seconds = got >= 7 ? timegm(&utc) : 0;
	*ret = (struct ring_name){
		.begun_ms = seconds > 0 ? (uint64_t)seconds * MS_PER_S + ms : 0,
		.lasted_ms = lasted_s * MS_PER_S + lasted_ms,
		.is_ended = got == 9,
	};
}

bool ring_name_parse(const char *text, struct ring_name *ret)
{
	CLEANUP(str_deinit) struct str again = {0};
	struct ring_name name;
	if (strlen(text) >= NAME_BYTES)
		return false;
	read_ring_name(text, &name);
	ring_name_put(&name, &again);
	if (!name.begun_ms || strcmp(str_text(&again), text) != 0)
		return false;
	*ret = name;
	return true;
}

/* ---- the folder ---- */

static int compare_files(const void *a, const void *b)
{
	const struct ring_file *one = a, *other = b;
	if (one->is.begun_ms != other->is.begun_ms)
		return one->is.begun_ms < other->is.begun_ms ? -1 : 1;
	return strcmp(one->name, other->name);
}

static void add_if_ours(int folder, const char *name, struct ring_files *files)
{
	struct ring_file file = {0};
	struct stat st;
	if (!ring_name_parse(name, &file.is) || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) ||
		!S_ISREG(st.st_mode))
		return;
	file.name = mem_strdup(name);
	file.bytes = (uint64_t)st.st_size;
	file.written_ms = clock_from_timespec(st.st_mtim) / NS_PER_MS;
	vec_push(files, file);
}

struct err *ring_folder_list(int folder, const char *path, struct ring_files *ret)
{
	struct ring_files files = {0};
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	if (!entries) {
		int errnum = errno;
		mem_close_fd(&fd);
		return err_sys(errnum, "%s", path);
	}
	errno = 0;
	for (const struct dirent *entry; (entry = readdir(entries)); errno = 0)
		add_if_ours(folder, entry->d_name, &files);
	int errnum = errno;
	closedir(entries);
	if (errnum) {
		ring_files_deinit(&files);
		return err_sys(errnum, "%s", path);
	}
	if (files.len)
		qsort(files.data, files.len, sizeof(*files.data), compare_files);
	*ret = files;
	return NULL;
}

uint64_t ring_file_end_ms(const struct ring_file *file)
{
	if (file->is.is_ended)
		return file->is.begun_ms + file->is.lasted_ms;
	return file->written_ms > file->is.begun_ms ? file->written_ms : file->is.begun_ms;
}

void ring_file_deinit(struct ring_file *file)
{
	mem_free(file->name);
}

void ring_files_deinit(struct ring_files *files)
{
	vec_each(files, file)
		ring_file_deinit(file);
	vec_deinit(files);
}

/* An entry is a file: its pieces, then a checksum of them, little-endian. */
#include "format/base/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/base/vec.h"

enum {
	CHECKSUM_BYTES = 8,
	UNUSED_SECONDS = 30 * 24 * 3600,
	GROWTH_SHARE = 8,          /* of the limit, and the folder is swept again */
	UNFINISHED_SECONDS = 3600, /* the writer of such a temporary file is dead */
	TOUCH_SECONDS = 24 * 3600,
	FILE_NAME_BYTES = CACHE_NAME_MAX + 32,
};

static const char hex_digits[] = "0123456789abcdef";

/* Of any threads that store. */
struct growth {
	_Atomic uint64_t bytes; /* stored since the folder was swept */
};

struct cache {
	int folder_fd;
	const char *kind;
	uint64_t max_bytes;
	struct growth *growth;
};

/* ---- the folder ---- */

/* NULL when it can be trusted, else why not. */
static const char *distrust(const struct stat *st, mode_t type)
{
	if ((st->st_mode & S_IFMT) != type)
		return type == S_IFDIR ? "not a folder" : "not a regular file";
	if (st->st_uid != geteuid())
		return "owned by another user";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "writable for others";
	return NULL;
}

/*
 * Root that has kept a user's XDG_CACHE_HOME would leave folders there that the user cannot write.
 * What is not there yet will belong to whom its nearest parent belongs to.
 */
static bool is_of_another_user(const char *path)
{
	struct stat st;
	CLEANUP_FREE char *copy = mem_strdup(path);
	for (char *slash; stat(copy, &st); *slash = '\0') {
		slash = strrchr(copy, '/');
		if (!slash || slash == copy)
			return false;
	}
	return st.st_uid != geteuid();
}

static struct err *cache_usual_folder(const char *kind, struct str *path)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	/* Relative ones are to be ignored, says XDG. */
	if (cache && cache[0] == '/' && (geteuid() || !is_of_another_user(cache)))
		str_printf(path, "%s", cache);
	else if (geteuid() == 0)
		str_puts(path, "/var/cache");
	else if (home && home[0] == '/')
		str_printf(path, "%s/.cache", home);
	else
		return err_new(ERR_USAGE, "no home folder to keep it in");
	str_printf(path, "/ebprof/%s", kind);
	return NULL;
}

/* Those that exist stay as they are. */
static void cache_make_folders(const char *path)
{
	CLEANUP_FREE char *copy = mem_strdup(path);
	for (char *at = copy + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = 0;
		mkdir(copy, 0700);
		*at = '/';
	}
	mkdir(copy, 0700);
}

static struct err *cache_open_folder(const char *path, int *ret)
{
	cache_make_folders(path);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return err_sys(errno, "%s", path);
	const char *why = distrust(&st, S_IFDIR);
	if (why)
		return err_new(ERR_PERMISSION, "%s is %s", path, why);
	*ret = steal_fd(fd);
	return NULL;
}

struct err *cache_folder_open(const char *kind, int *ret)
{
	CLEANUP(str_deinit) struct str path = {0};
	try(err_wrap(cache_usual_folder(kind, &path), "cache of %s", kind));
	return err_wrap(cache_open_folder(str_text(&path), ret), "cache of %s", kind);
}

/* ---- names ---- */

/* False for what cannot be an entry's name. */
static bool put_file_name(
	const struct cache *cache, const char *name, const char *ending, char ret[FILE_NAME_BYTES])
{
	size_t len = strlen(name);
	if (!len || len > CACHE_NAME_MAX || strspn(name, hex_digits) != len)
		return false;
	int written = snprintf(ret, FILE_NAME_BYTES, "%s.%s%s", name, cache->kind, ending);
	return written < FILE_NAME_BYTES;
}

/* What else stands in the folder is not ours. */
static bool is_own_name(const struct cache *cache, const char *name, const char *ending)
{
	char own[FILE_NAME_BYTES], digits[CACHE_NAME_MAX + 1];
	size_t len = strspn(name, hex_digits);
	if (len > CACHE_NAME_MAX)
		return false;
	memcpy(digits, name, len);
	digits[len] = 0;
	return put_file_name(cache, digits, ending, own) && strcmp(own, name) == 0;
}

static const char unfinished[] = "-new";

/* ---- what is old ---- */

struct kept {
	int64_t used_ns;
	uint64_t bytes;
	char name[FILE_NAME_BYTES];
};

struct sweep {
	const struct cache *cache;
	time_t now;
	uint64_t bytes;
	VEC(struct kept) kept;
};

static void sweep_file(struct sweep *sweep, const char *name)
{
	int folder_fd = sweep->cache->folder_fd;
	bool is_unfinished = is_own_name(sweep->cache, name, unfinished);
	struct stat st;
	if ((!is_unfinished && !is_own_name(sweep->cache, name, "")) ||
		fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) || distrust(&st, S_IFREG))
		return;
	if (sweep->now - st.st_mtime > (is_unfinished ? UNFINISHED_SECONDS : UNUSED_SECONDS)) {
		unlinkat(folder_fd, name, 0);
		return;
	}
	struct kept kept = {.used_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec,
		.bytes = (uint64_t)st.st_size};
	memcpy(kept.name, name, strlen(name) + 1); /* an own name: it fits */
	sweep->bytes += kept.bytes;
	vec_push(&sweep->kept, kept);
}

static int compare_used(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;
	return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

static void sweep_excess(struct sweep *sweep, uint64_t max_bytes)
{
	if (!max_bytes || sweep->bytes <= max_bytes)
		return;
	qsort(sweep->kept.data, sweep->kept.len, sizeof(*sweep->kept.data), compare_used);
	for (size_t i = 0; i < sweep->kept.len && sweep->bytes > max_bytes; i++) {
		unlinkat(sweep->cache->folder_fd, sweep->kept.data[i].name, 0);
		sweep->bytes -= sweep->kept.data[i].bytes;
	}
}

static void sweep_folder(const struct cache *cache)
{
	int fd = openat(cache->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		mem_close_fd(&fd);
		return;
	}
	struct sweep sweep = {.cache = cache, .now = time(NULL)};
	for (struct dirent *entry; (entry = readdir(folder));)
		sweep_file(&sweep, entry->d_name);
	sweep_excess(&sweep, cache->max_bytes);
	vec_deinit(&sweep.kept);
	closedir(folder);
}

struct err *cache_open(const struct cache_options *options, struct cache **ret)
{
	int fd = -1;
	if (options->folder && !options->folder[0]) {
		*ret = NULL;
		return NULL;
	}
	if (options->folder)
		try(err_wrap(
			cache_open_folder(options->folder, &fd), "cache of %s", options->kind));
	else
		try(cache_folder_open(options->kind, &fd));
	struct cache *cache = mem_zalloc(sizeof(*cache));
	cache->folder_fd = fd;
	cache->kind = options->kind;
	cache->max_bytes = options->max_bytes;
	cache->growth = mem_zalloc(sizeof(*cache->growth));
	sweep_folder(cache);
	*ret = cache;
	return NULL;
}

void cache_close(struct cache *cache)
{
	if (!cache)
		return;
	mem_close_fd(&cache->folder_fd);
	mem_free(cache->growth);
	mem_free(cache);
}

/* ---- checksum ---- */

static uint64_t cache_word_at(const uint8_t *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	return word;
}

/*
 * Four lanes at once, each step of which can be undone: damage to a single word always shows,
 * other damage with a chance of 1 - 2^-64. Eight times as fast as a CRC.
 */
uint64_t cache_checksum(uint64_t sum, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint64_t lanes[4] = {sum, sum + 1, sum + 2, sum + 3};
	sum = map_mix(sum ^ len);
	for (; len >= sizeof(lanes); at += sizeof(lanes), len -= sizeof(lanes))
		for (size_t i = 0; i < 4; i++) {
			uint64_t mixed =
				(lanes[i] ^ cache_word_at(at + 8 * i)) * 0x9e3779b97f4a7c15;
			lanes[i] = mixed ^ mixed >> 32;
		}
	for (size_t i = 0; i < 4; i++)
		sum = map_mix(sum ^ lanes[i]);
	for (; len; len--)
		sum = map_mix(sum ^ *at++);
	return sum;
}

/* ---- storing ---- */

struct cache_writer {
	const struct cache *cache;
	int fd;
	bool is_committed;
	uint64_t checksum, bytes;
	char file[FILE_NAME_BYTES], temporary[FILE_NAME_BYTES];
};

struct err *cache_writer_open(
	const struct cache *cache, const char *name, struct cache_writer **ret)
{
	char file[FILE_NAME_BYTES], temporary[FILE_NAME_BYTES], random[17];
	*ret = NULL;
	if (!cache || !put_file_name(cache, name, "", file))
		return NULL;
	snprintf(random, sizeof(random), "%016llx", (unsigned long long)map_random_seed());
	put_file_name(cache, random, unfinished, temporary);
	int fd = openat(cache->folder_fd, temporary,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(errno, "cache of %s", cache->kind);
	struct cache_writer *writer = mem_zalloc(sizeof(*writer));
	*writer = (struct cache_writer){.cache = cache, .fd = fd};
	memcpy(writer->file, file, sizeof(file));
	memcpy(writer->temporary, temporary, sizeof(temporary));
	*ret = writer;
	return NULL;
}

struct err *cache_writer_put(struct cache_writer *writer, const void *bytes, size_t len)
{
	writer->checksum = cache_checksum(writer->checksum, bytes, len);
	writer->bytes += len;
	return err_wrap(fd_write_all(writer->fd, bytes, len), "cache of %s", writer->cache->kind);
}

/* A recorder may run for months, and each new program is an entry. */
static void note_growth(const struct cache *cache, uint64_t bytes)
{
	uint64_t grown = atomic_fetch_add(&cache->growth->bytes, bytes) + bytes;
	if (!cache->max_bytes || grown <= cache->max_bytes / GROWTH_SHARE)
		return;
	atomic_store(&cache->growth->bytes, 0);
	sweep_folder(cache);
}

struct err *cache_writer_commit(struct cache_writer *writer)
{
	const struct cache *cache = writer->cache;
	try(err_wrap(fd_write_all(writer->fd, &writer->checksum, CHECKSUM_BYTES), "cache of %s",
		cache->kind));
	if (renameat(cache->folder_fd, writer->temporary, cache->folder_fd, writer->file))
		return err_sys(errno, "cache of %s: rename", cache->kind);
	writer->is_committed = true;
	note_growth(cache, writer->bytes + CHECKSUM_BYTES);
	return NULL;
}

void cache_writer_close(struct cache_writer *writer)
{
	if (!writer)
		return;
	if (!writer->is_committed)
		unlinkat(writer->cache->folder_fd, writer->temporary, 0);
	mem_close_fd(&writer->fd);
	mem_free(writer);
}

static struct err *write_pieces(
	struct cache_writer *writer, const struct cache_piece *pieces, size_t nr_pieces)
{
	for (size_t i = 0; i < nr_pieces; i++)
		try(cache_writer_put(writer, pieces[i].bytes, pieces[i].len));
	return cache_writer_commit(writer);
}

struct err *cache_store(const struct cache *cache, const char *name,
	const struct cache_piece *pieces, size_t nr_pieces)
{
	struct cache_writer *writer;
	try(cache_writer_open(cache, name, &writer));
	struct err *err = writer ? write_pieces(writer, pieces, nr_pieces) : NULL;
	cache_writer_close(writer);
	return err;
}

/* ---- loading ---- */

/* An entry in use does not grow old. */
static void touch(int fd, const struct stat *st)
{
	if (time(NULL) - st->st_mtime > TOUCH_SECONDS)
		futimens(fd, NULL);
}

static struct err *open_entry(int fd, struct cache_entry *ret)
{
	struct stat st;
	if (fstat(fd, &st))
		return err_sys(errno, "fstat");
	const char *why = distrust(&st, S_IFREG);
	if (why)
		return err_new(ERR_PERMISSION, "%s", why);
	if (st.st_size < CHECKSUM_BYTES)
		return err_new(ERR_FORMAT, "cut short");
	touch(fd, &st);
	ret->bytes_left = (uint64_t)st.st_size - CHECKSUM_BYTES;
	return NULL;
}

struct err *cache_entry_open(const struct cache *cache, const char *name, struct cache_entry *ret)
{
	char file[FILE_NAME_BYTES];
	*ret = (struct cache_entry){.fd = -1};
	if (!cache || !put_file_name(cache, name, "", file))
		return NULL;
	/* O_NONBLOCK: not to wait for the writer of a FIFO. */
	CLEANUP_FD int fd =
		openat(cache->folder_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? NULL : err_sys(errno, "cached %s", file);
	try(err_wrap(open_entry(fd, ret), "cached %s", file));
	ret->fd = steal_fd(fd);
	return NULL;
}

static struct err *cache_read_all(int fd, void *bytes, size_t len)
{
	ssize_t got = fd_read_fully(fd, bytes, len);
	if (got < 0)
		return err_sys(errno, "read");
	return (size_t)got < len ? err_new(ERR_FORMAT, "cut short") : NULL;
}

struct err *cache_entry_read(struct cache_entry *entry, void *bytes, size_t len)
{
	if (len > entry->bytes_left)
		return err_new(ERR_FORMAT, "cut short");
	try(cache_read_all(entry->fd, bytes, len));
	entry->bytes_left -= len;
	entry->checksum = cache_checksum(entry->checksum, bytes, len);
	return NULL;
}

struct err *cache_entry_check(struct cache_entry *entry)
{
	uint64_t checksum;
	if (entry->bytes_left)
		return err_new(ERR_FORMAT, "of a wrong length");
	try(cache_read_all(entry->fd, &checksum, CHECKSUM_BYTES));
	if (checksum != entry->checksum)
		return err_new(ERR_FORMAT, "damaged");
	return NULL;
}

void cache_entry_close(struct cache_entry *entry)
{
	mem_close_fd(&entry->fd);
}

/*
 * A file: header, build ID, rules, pages, rows, checksum of all that. The two
 * large arrays are read straight to where they are used: as little-endian
 * numbers, which every machine has that this recorder runs on.
 */
#include "record/table_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/elf/elf_file.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rows are not converted");

enum {
	FORMAT_VERSION = 1,
	HEADER_BYTES = 8 + 6 * 4,
	RULE_BYTES = 16,
	CHECKSUM_BYTES = 8,
	UNUSED_SECONDS = 30 * 24 * 3600,
	UNFINISHED_SECONDS = 3600, /* the writer of such a temporary file is dead */
	TOUCH_SECONDS = 24 * 3600,
};

static const char magic[8] = "ebprofUT";
/* Behind a name of hexadecimal digits: what else stands in the folder is not ours. */
static const char suffix[] = ".unwind", temporary_suffix[] = ".unwind-new";

struct table_cache {
	int folder_fd;
};

/* ---- the folder ---- */

/* NULL when it can be trusted, else why not. */
static const char *distrust(const struct stat *st, mode_t type)
{
	if ((st->st_mode & S_IFMT) != type)
		return type == S_IFDIR ? "not a folder" : "not a regular file";
	if (st->st_uid != geteuid())
		return "owned by somebody else";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "writable for others";
	return NULL;
}

static struct err *usual_folder(struct str *path)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (cache && cache[0] == '/') /* relative ones are to be ignored, says XDG */
		str_printf(path, "%s", cache);
	else if (geteuid() == 0)
		str_puts(path, "/var/cache");
	else if (home && home[0] == '/')
		str_printf(path, "%s/.cache", home);
	else
		return err_new(ERR_USAGE, "no home folder to keep unwind tables in");
	str_puts(path, "/ebprof/unwind");
	return NULL;
}

/* Those that exist stay as they are. */
static void make_folders(const char *path)
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

static struct err *open_folder(const char *path, int *ret)
{
	make_folders(path);
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

static void remove_if_old(int folder_fd, const char *name, time_t now)
{
	struct stat st;
	const char *end = name + strspn(name, "0123456789abcdef");
	bool is_temporary = strcmp(end, temporary_suffix) == 0;
	if (end == name || (!is_temporary && strcmp(end, suffix) != 0) ||
		fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) || distrust(&st, S_IFREG))
		return;
	if (now - st.st_mtime > (is_temporary ? UNFINISHED_SECONDS : UNUSED_SECONDS))
		unlinkat(folder_fd, name, 0);
}

static void remove_old_files(int folder_fd)
{
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		mem_close_fd(&fd);
		return;
	}
	time_t now = time(NULL);
	for (struct dirent *entry; (entry = readdir(folder));)
		remove_if_old(folder_fd, entry->d_name, now);
	closedir(folder);
}

struct err *table_cache_open(const char *folder, struct table_cache **ret)
{
	CLEANUP(str_deinit) struct str path = {0};
	int fd = -1;
	if (folder && !folder[0]) {
		*ret = NULL;
		return NULL;
	}
	if (folder)
		str_puts(&path, folder);
	else
		try(usual_folder(&path));
	try(err_wrap(open_folder(str_text(&path), &fd), "cache of unwind tables"));
	remove_old_files(fd);
	struct table_cache *cache = mem_zalloc(sizeof(*cache));
	cache->folder_fd = fd;
	*ret = cache;
	return NULL;
}

void table_cache_close(struct table_cache *cache)
{
	if (!cache)
		return;
	mem_close_fd(&cache->folder_fd);
	mem_free(cache);
}

/* ---- names ---- */

enum {
	NAME_BYTES = 2 * ELF_BUILD_ID_MAX + sizeof(suffix),
};

/* False for a build ID that is none. */
static bool put_name(const uint8_t *build_id, uint32_t len, char name[NAME_BYTES])
{
	if (!len || len > ELF_BUILD_ID_MAX)
		return false;
	for (uint32_t i = 0; i < len; i++)
		snprintf(name + 2 * i, 3, "%02x", build_id[i]);
	strcpy(name + 2 * len, suffix);
	return true;
}

/* ---- checksum ---- */

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	return word;
}

/*
 * Four lanes at once, each step of which can be undone: damage to a single word always shows,
 * other damage with a chance of 1 - 2^-64. Eight times as fast as a CRC.
 */
static uint64_t add_to_checksum(uint64_t sum, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint64_t lanes[4] = {sum, sum + 1, sum + 2, sum + 3};
	sum = map_mix(sum ^ len);
	for (; len >= sizeof(lanes); bytes += sizeof(lanes), len -= sizeof(lanes))
		for (size_t i = 0; i < 4; i++) {
			uint64_t mixed = (lanes[i] ^ word_at(bytes + 8 * i)) * 0x9e3779b97f4a7c15;
			lanes[i] = mixed ^ mixed >> 32;
		}
	for (size_t i = 0; i < 4; i++)
		sum = map_mix(sum ^ lanes[i]);
	for (; len; len--)
		sum = map_mix(sum ^ *bytes++);
	return sum;
}

/* ---- contents ---- */

static void put_rule(struct bytes_buf *out, const struct unwind_rule *rule)
{
	bytes_put_u8(out, rule->cfa);
	bytes_put_u8(out, rule->cfa_register);
	bytes_put_u8(out, (uint8_t)(rule->fp | rule->ra << 4));
	bytes_put_u8(out, rule->flags);
	bytes_put_u32(out, (uint32_t)rule->cfa_offset);
	bytes_put_u16(out, (uint16_t)rule->fp_offset);
	bytes_put_u16(out, (uint16_t)rule->ra_offset);
	bytes_put_u16(out, (uint16_t)rule->rbx_offset);
	bytes_put_u8(out, rule->rbx);
	bytes_put_u8(out, 0);
}

static struct unwind_rule get_rule(struct bytes_cursor *cursor)
{
	struct unwind_rule rule = {
		.cfa = bytes_get_u8(cursor), .cfa_register = bytes_get_u8(cursor)};
	uint8_t kinds = bytes_get_u8(cursor);
	rule.fp = kinds & 15;
	rule.ra = kinds >> 4;
	rule.flags = bytes_get_u8(cursor);
	rule.cfa_offset = (int32_t)bytes_get_u32(cursor);
	rule.fp_offset = (int16_t)bytes_get_u16(cursor);
	rule.ra_offset = (int16_t)bytes_get_u16(cursor);
	rule.rbx_offset = (int16_t)bytes_get_u16(cursor);
	rule.rbx = bytes_get_u8(cursor);
	rule.zero = bytes_get_u8(cursor);
	return rule;
}

static size_t pages_bytes(const struct unwind_table *table)
{
	return table->pages.len * sizeof(*table->pages.data);
}

static size_t rows_bytes(const struct unwind_table *table)
{
	return table->rows.len * sizeof(*table->rows.data);
}

static uint64_t checksum_of(const void *head, size_t len, const struct unwind_table *table)
{
	uint64_t sum = add_to_checksum(0, head, len);
	sum = add_to_checksum(sum, table->pages.data, pages_bytes(table));
	return add_to_checksum(sum, table->rows.data, rows_bytes(table));
}

/* ---- storing ---- */

static void put_head(struct bytes_buf *out, const uint8_t *build_id, uint32_t len,
	const struct unwind_table *table)
{
	bytes_put(out, magic, sizeof(magic));
	bytes_put_u16(out, FORMAT_VERSION);
	bytes_put_u16(out, UNWIND_TABLE_VERSION);
	bytes_put_u32(out, len);
	bytes_put_u32(out, table->first_page);
	bytes_put_u32(out, (uint32_t)table->rules.len);
	bytes_put_u32(out, (uint32_t)table->pages.len);
	bytes_put_u32(out, (uint32_t)table->rows.len);
	bytes_put(out, build_id, len);
	vec_each(&table->rules, rule)
		put_rule(out, rule);
}

static struct err *write_all(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	while (len) {
		ssize_t done = write(fd, at, len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_sys(errno, "write");
		at += done;
		len -= (size_t)done;
	}
	return NULL;
}

static struct err *write_table(
	int fd, const uint8_t *build_id, uint32_t len, const struct unwind_table *table)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf head = {0};
	put_head(&head, build_id, len, table);
	uint64_t checksum = checksum_of(head.data, head.len, table);
	try(write_all(fd, head.data, head.len));
	try(write_all(fd, table->pages.data, pages_bytes(table)));
	try(write_all(fd, table->rows.data, rows_bytes(table)));
	return write_all(fd, &checksum, sizeof(checksum));
}

struct err *table_cache_store(const struct table_cache *cache, const uint8_t *build_id,
	uint32_t len, const struct unwind_table *table)
{
	char name[NAME_BYTES], temporary[16 + sizeof(temporary_suffix)];
	if (!cache || !put_name(build_id, len, name))
		return NULL;
	snprintf(temporary, sizeof(temporary), "%016llx%s", (unsigned long long)map_random_seed(),
		temporary_suffix);
	CLEANUP_FD int fd = openat(cache->folder_fd, temporary,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(errno, "cannot cache an unwind table");
	struct err *err = write_table(fd, build_id, len, table);
	if (!err && renameat(cache->folder_fd, temporary, cache->folder_fd, name))
		err = err_sys(errno, "rename");
	if (err)
		unlinkat(cache->folder_fd, temporary, 0);
	return err_wrap(err, "cannot cache an unwind table");
}

/* ---- loading ---- */

static struct err *read_all(int fd, void *bytes, size_t len)
{
	uint8_t *at = bytes;
	while (len) {
		ssize_t done = read(fd, at, len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_sys(errno, "read");
		if (!done)
			return err_new(ERR_FORMAT, "cut short");
		at += done;
		len -= (size_t)done;
	}
	return NULL;
}

struct sizes {
	uint32_t first_page, rules, pages, rows;
	size_t head_bytes; /* up to the pages */
};

/* Everything that tells how much to read and to allocate, before either is done. */
static struct err *read_sizes(
	const uint8_t header[HEADER_BYTES], uint32_t len, uint64_t file_bytes, struct sizes *ret)
{
	struct bytes_cursor cursor = bytes_cursor(header, HEADER_BYTES);
	if (memcmp(bytes_get(&cursor, sizeof(magic)), magic, sizeof(magic)) != 0)
		return err_new(ERR_FORMAT, "no table");
	if (bytes_get_u16(&cursor) != FORMAT_VERSION ||
		bytes_get_u16(&cursor) != UNWIND_TABLE_VERSION)
		return err_new(ERR_FORMAT, "of another version");
	if (bytes_get_u32(&cursor) != len)
		return err_new(ERR_FORMAT, "of another build ID");
	struct sizes sizes = {.first_page = bytes_get_u32(&cursor)};
	sizes.rules = bytes_get_u32(&cursor);
	sizes.pages = bytes_get_u32(&cursor);
	sizes.rows = bytes_get_u32(&cursor);
	if (sizes.rules > UNWIND_TABLE_MAX_RULES || sizes.pages > UNWIND_MAX_PAGES ||
		sizes.rows > UNWIND_TABLE_MAX_ROWS)
		return err_new(ERR_FORMAT, "too large");
	sizes.head_bytes = HEADER_BYTES + len + (size_t)sizes.rules * RULE_BYTES;
	uint64_t want = sizes.head_bytes + sizes.pages * sizeof(struct unwind_page) +
			(uint64_t)sizes.rows * sizeof(uint32_t) + CHECKSUM_BYTES;
	if (file_bytes != want)
		return err_new(ERR_FORMAT, "of a wrong length");
	*ret = sizes;
	return NULL;
}

static struct err *read_contents(
	int fd, uint8_t *head, const struct sizes *sizes, struct unwind_table *table)
{
	table->first_page = sizes->first_page;
	vec_reserve(&table->pages, sizes->pages);
	vec_reserve(&table->rows, sizes->rows);
	table->pages.len = sizes->pages;
	table->rows.len = sizes->rows;
	uint64_t checksum;
	try(read_all(fd, head + HEADER_BYTES, sizes->head_bytes - HEADER_BYTES));
	try(read_all(fd, table->pages.data, pages_bytes(table)));
	try(read_all(fd, table->rows.data, rows_bytes(table)));
	try(read_all(fd, &checksum, sizeof(checksum)));
	if (checksum != checksum_of(head, sizes->head_bytes, table))
		return err_new(ERR_FORMAT, "damaged");
	return NULL;
}

static struct err *read_table(int fd, const uint8_t *build_id, uint32_t len, uint64_t file_bytes,
	struct unwind_table *table)
{
	uint8_t header[HEADER_BYTES];
	struct sizes sizes = {0};
	try(read_all(fd, header, sizeof(header)));
	try(read_sizes(header, len, file_bytes, &sizes));
	CLEANUP_FREE uint8_t *head = mem_alloc(sizes.head_bytes);
	memcpy(head, header, sizeof(header));
	try(read_contents(fd, head, &sizes, table));
	if (memcmp(head + HEADER_BYTES, build_id, len) != 0)
		return err_new(ERR_FORMAT, "of another build ID");
	struct bytes_cursor cursor =
		bytes_cursor(head + HEADER_BYTES + len, sizes.head_bytes - HEADER_BYTES - len);
	for (uint32_t i = 0; i < sizes.rules; i++)
		vec_push(&table->rules, get_rule(&cursor));
	return unwind_table_check(table);
}

/* A file in use does not grow old. */
static void touch(int fd, const struct stat *st)
{
	if (time(NULL) - st->st_mtime > TOUCH_SECONDS)
		futimens(fd, NULL);
}

static struct err *load(int fd, const uint8_t *build_id, uint32_t len, struct unwind_table *ret)
{
	struct stat st;
	if (fstat(fd, &st))
		return err_sys(errno, "fstat");
	const char *why = distrust(&st, S_IFREG);
	if (why)
		return err_new(ERR_PERMISSION, "%s", why);
	struct unwind_table table = {0};
	struct err *err = read_table(fd, build_id, len, (uint64_t)st.st_size, &table);
	if (err) {
		unwind_table_deinit(&table);
		return err;
	}
	touch(fd, &st);
	*ret = table;
	return NULL;
}

struct err *table_cache_load(const struct table_cache *cache, const uint8_t *build_id, uint32_t len,
	struct unwind_table *ret, bool *is_found)
{
	char name[NAME_BYTES];
	*is_found = false;
	if (!cache || !put_name(build_id, len, name))
		return NULL;
	/* O_NONBLOCK: nobody waits for the writer of a FIFO. */
	CLEANUP_FD int fd =
		openat(cache->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? NULL : err_sys(errno, "cached %s", name);
	try(err_wrap(load(fd, build_id, len, ret), "cached %s", name));
	*is_found = true;
	return NULL;
}

#include "report/name/listing/source_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/base/caller.h"
#include "format/base/clock.h"
#include "format/base/fd.h"
#include "format/base/mem.h"
#include "report/model/regular_file.h"

enum {
	MAX_BYTES = 16 << 20,
	MAX_SHOWN_BYTES = 64 << 20, /* with spaces for tabs */
	TAB_COLUMNS = 8,
	MAX_LINE_BYTES = 8 << 10, /* the rest is left out */
	MAX_TRIED = 256,          /* paths */
	MAX_TOLD = 4,             /* ... of them in the sentence */
};

/* ---- lines ---- */

/* What stands in a column: bytes that go on with a character do not. */
static void put_byte(struct str *text, char byte, size_t *column)
{
	if (byte == '\t') {
		size_t spaces = TAB_COLUMNS - *column % TAB_COLUMNS;
		str_pad(text, ' ', spaces);
		*column += spaces;
		return;
	}
	if (byte == '\0')
		str_puts(text, "\\x00");
	else
		str_putc(text, byte);
	*column += ((unsigned char)byte & 0xc0) != 0x80;
}

static void source_file_split(const char *bytes, size_t len, struct source_file *ret)
{
	for (size_t at = 0; at < len && ret->text.len < MAX_SHOWN_BYTES;) {
		const char *end = memchr(bytes + at, '\n', len - at);
		size_t next = end ? (size_t)(end - bytes) + 1 : len;
		size_t stop = end ? next - 1 : len, column = 0;
		if (stop > at && bytes[stop - 1] == '\r')
			stop--;
		size_t begin = ret->text.len;
		vec_push(&ret->lines, begin);
		for (size_t i = at; i < stop && ret->text.len - begin < MAX_LINE_BYTES; i++)
			put_byte(&ret->text, bytes[i], &column);
		str_putc(&ret->text, '\0');
		at = next;
	}
}

/* ---- a path ---- */

static bool source_file_read_all(int fd, struct str *text)
{
	char block[1 << 16];
	for (;;) {
		ssize_t len = fd_read(fd, block, sizeof(block));
		if (len <= 0)
			return !len;
		if (text->len + (size_t)len > MAX_BYTES)
			return false;
		str_write(text, block, (size_t)len);
	}
}

/* What is shown root's caller must be allowed to read: who made the recording chose the path. */
static int open_for_caller(
	const char *path, const struct regular_file_rules *rules, struct stat *st)
{
	const struct caller caller = caller_find();
	struct caller_rights rights;
	errno = EACCES;
	if (!caller_rights_take(&caller, &rights))
		return -1;
	int fd = regular_file_open(path, rules, st), error = errno;
	caller_rights_leave(&rights);
	errno = error;
	return fd;
}

static const char *source_file_refusal_of(int error)
{
	return error == EREMOTE  ? "it is on a FUSE or network file system that may hang"
	       : error == EACCES ? "permission denied"
				 : NULL;
}

/* True when it is there, whether it can be shown or not, and may be opened. */
static bool source_file_try_path(const char *path, const struct regular_file_rules *rules,
	struct source_file *ret, struct str *refused)
{
	struct stat st;
	CLEANUP_FD int fd = open_for_caller(path, rules, &st);
	const char *refusal = fd < 0 ? source_file_refusal_of(errno) : NULL;
	if (refusal && !refused->len)
		str_printf(refused, "%s cannot be shown: %s", path, refusal);
	if (fd < 0)
		return false;
	CLEANUP(str_deinit) struct str text = {0};
	if (st.st_size > MAX_BYTES || !source_file_read_all(fd, &text)) {
		str_printf(&ret->problem, "%s cannot be shown: %s", path,
			st.st_size > MAX_BYTES ? "it is larger than 16 MB" : "it cannot be read");
		return true;
	}
	ret->path = mem_strdup(path);
	ret->mtime_ns = clock_from_timespec(st.st_mtim);
	source_file_split(str_text(&text), text.len, ret);
	return true;
}

/* ---- the search ---- */

struct search {
	struct source_file *file;
	const struct regular_file_rules *rules;
	struct str tried, refused;
	size_t nr_tried;
};

static bool source_file_look_at(struct search *search, const char *path)
{
	if (source_file_try_path(path, search->rules, search->file, &search->refused))
		return true;
	if (search->nr_tried++ < MAX_TOLD)
		str_printf(&search->tried, "%s%s", search->tried.len ? ", " : "", path);
	return false;
}

void source_file_put_plain_path(struct str *out, const char *path)
{
	for (const char *at = path; *at;) {
		size_t len = strcspn(at, "/");
		bool is_up = len == 2 && at[0] == '.' && at[1] == '.';
		if (is_up) {
			const char *cut = out->len ? strrchr(out->data, '/') : NULL;
			str_truncate(out, cut ? (size_t)(cut - out->data) : 0);
		} else if (len && !(len == 1 && at[0] == '.')) {
			str_putc(out, '/');
			str_write(out, at, len);
		}
		at += len + (at[len] == '/');
	}
}

static bool search_below(struct search *search, const char *dir, const char *plain)
{
	for (const char *at = plain; at && search->nr_tried < MAX_TRIED; at = strchr(at + 1, '/')) {
		CLEANUP(str_deinit) struct str path = {0};
		str_printf(&path, "%s%s", dir, at);
		if (source_file_look_at(search, str_text(&path)))
			return true;
	}
	return false;
}

/* A relative one is not looked for in a folder that has nothing to do with it. */
static void put_not_here(const char *name, const struct search *search, struct str *out)
{
	bool is_in_this_folder = name[0] != '/' && access(name, R_OK) == 0;
	str_printf(out, "the source %s is not here%s%s: --source-dir says where", name,
		search->nr_tried ? "; tried " : "", str_text(&search->tried));
	if (is_in_this_folder)
		str_printf(out, " (--source-dir . takes ./%s)", name);
}

void source_file_read(const char *name, const struct debug_dirs *dirs,
	const struct regular_file_rules *rules, struct source_file *ret)
{
	*ret = (struct source_file){.name = mem_strdup(name)};
	struct search search = {.file = ret, .rules = rules};
	CLEANUP(str_deinit) struct str plain = {0};
	source_file_put_plain_path(&plain, name);
	bool is_found = false;
	for (size_t i = 0; dirs && plain.len && !is_found && i < dirs->len; i++)
		is_found = search_below(&search, dirs->data[i], str_text(&plain));
	if (!is_found && name[0] == '/')
		is_found = source_file_look_at(&search, name);
	if (!is_found && search.nr_tried > MAX_TOLD)
		str_printf(&search.tried, " and %zu more", search.nr_tried - MAX_TOLD);
	if (!is_found && search.refused.len)
		str_puts(&ret->problem, str_text(&search.refused));
	else if (!is_found)
		put_not_here(name, &search, &ret->problem);
	str_deinit(&search.tried);
	str_deinit(&search.refused);
}

void source_file_deinit(struct source_file *file)
{
	mem_free(file->name);
	mem_free(file->path);
	str_deinit(&file->problem);
	str_deinit(&file->text);
	vec_deinit(&file->lines);
}

uint32_t source_file_count(const struct source_file *file)
{
	return (uint32_t)file->lines.len;
}

const char *source_file_line(const struct source_file *file, uint32_t number)
{
	return number && number <= file->lines.len ? file->text.data + file->lines.data[number - 1]
						   : NULL;
}

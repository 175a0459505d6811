#include "record/host/tracefs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/nearest.h"
#include "format/base/str.h"
#include "record/host/feature.h"

/* ---- where it is ---- */

/* *is_closed: it is there, but not for this user. */
static int open_mounted(bool *is_closed)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	*is_closed = false;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		CLEANUP_FD int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && faccessat(fd, "events", F_OK, 0) == 0)
			return steal_fd(fd);
		*is_closed |= errno == EACCES;
	}
	return -1;
}

/* Attached to no folder: gone when it is closed. Linux 5.2; include/uapi/linux/mount.h. */
static int mount_detached(void)
{
	enum {
		CLOEXEC = 1,
		CREATE = 6,
	};
#if defined(SYS_fsopen) && defined(SYS_fsconfig) && defined(SYS_fsmount)
	CLEANUP_FD int context = (int)syscall(SYS_fsopen, "tracefs", CLOEXEC);
	if (context < 0 || syscall(SYS_fsconfig, context, CREATE, NULL, NULL, 0))
		return -1;
	return (int)syscall(SYS_fsmount, context, CLOEXEC, 0);
#else
	(void)CLOEXEC, (void)CREATE;
	errno = ENOSYS;
	return -1;
#endif
}

struct err *tracefs_open(int *ret)
{
	bool is_closed;
	int fd = open_mounted(&is_closed);
	if (fd < 0)
		fd = mount_detached();
	if (fd < 0 && is_closed)
		return err_new(ERR_UNAVAILABLE,
			"tracepoints cannot be listed: this user may not read /sys/kernel/tracing "
			"(needs root, or mount -o remount,gid=GROUP,mode=750 /sys/kernel/tracing)");
	if (fd < 0)
		return feature_explain(err_sys(errno,
			"tracepoints cannot be listed, tracefs is not mounted (mount -t tracefs "
			"nodev /sys/kernel/tracing)"));
	*ret = fd;
	return NULL;
}

/* ---- what there is ---- */

static DIR *open_folder(int at, const char *name)
{
	CLEANUP_FD int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir)
		steal_fd(fd);
	return dir;
}

static void each_of_system(DIR *system, const char *name, tracefs_fn *fn, void *context)
{
	CLEANUP(str_deinit) struct str text = {0};
	for (struct dirent *entry; (entry = readdir(system));) {
		if (*entry->d_name == '.' || entry->d_type != DT_DIR)
			continue;
		str_truncate(&text, 0);
		str_printf(&text, "%s:%s", name, entry->d_name);
		fn(context, str_text(&text));
	}
}

void tracefs_each(int root, tracefs_fn *fn, void *context)
{
	DIR *events = open_folder(root, "events");
	for (struct dirent *entry; events && (entry = readdir(events));) {
		if (*entry->d_name == '.' || entry->d_type != DT_DIR)
			continue;
		DIR *system = open_folder(dirfd(events), entry->d_name);
		if (!system)
			continue;
		each_of_system(system, entry->d_name, fn, context);
		closedir(system);
	}
	if (events)
		closedir(events);
}

/* A file of a tracepoint. False: it cannot be read. */
static bool read_tracepoint_file(
	int root, const char *tracepoint, const char *file, struct str *ret)
{
	CLEANUP(str_deinit) struct str path = {0};
	size_t system_len = strcspn(tracepoint, ":");
	str_printf(&path, "events/%.*s/%s/%s", (int)system_len, tracepoint,
		tracepoint + system_len + 1, file);
	CLEANUP_FD int fd = openat(root, str_text(&path), O_RDONLY | O_CLOEXEC);
	char buffer[4096];
	for (ssize_t got; fd >= 0 && (got = read(fd, buffer, sizeof(buffer))) > 0;)
		str_write(ret, buffer, (size_t)got);
	return ret->len > 0;
}

struct tracepoint_search {
	int root;
	const char *pattern;
	struct tracepoints *found;
	struct nearest nearest;
	char *nearest_name;
};

/* Some tracepoints have no number: those of ftrace itself. */
static void look_at_tracepoint(void *context, const char *name)
{
	struct tracepoint_search *search = context;
	CLEANUP(str_deinit) struct str id = {0};
	const char *before = search->nearest.word;
	nearest_offer(&search->nearest, name);
	if (search->nearest.word != before) { /* the name does not stay */
		mem_free(search->nearest_name);
		search->nearest_name = mem_strdup(name);
		search->nearest.word = search->nearest_name;
	}
	if (fnmatch(search->pattern, name, 0) == 0 &&
		read_tracepoint_file(search->root, name, "id", &id))
		vec_push(search->found,
			(struct tracepoint){mem_strdup(name), strtoull(str_text(&id), NULL, 10)});
}

static int compare_tracepoints(const void *a, const void *b)
{
	return strcmp(((const struct tracepoint *)a)->name, ((const struct tracepoint *)b)->name);
}

struct err *tracefs_find(int root, const char *pattern, struct tracepoints *ret)
{
	size_t before = ret->len;
	struct tracepoint_search search = {root, pattern, ret, nearest_to(pattern), NULL};
	tracefs_each(root, look_at_tracepoint, &search);
	CLEANUP_FREE char *nearest = search.nearest_name;
	if (ret->len == before)
		return err_new(ERR_USAGE,
			"this kernel has no tracepoint \"%s\": %s%s%sebprof list '*:*' shows them",
			pattern, nearest ? "did you mean " : "", nearest ? nearest : "",
			nearest ? "? " : "");
	qsort(ret->data + before, ret->len - before, sizeof(*ret->data), compare_tracepoints);
	return NULL;
}

void tracepoints_deinit(struct tracepoints *tracepoints)
{
	vec_each(tracepoints, tracepoint)
		mem_free(tracepoint->name);
	vec_deinit(tracepoints);
}

/* ---- fields ---- */

/* "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;" */
static void parse_field(const char *line, size_t len, struct tracepoint_fields *ret)
{
	static const char begin[] = "field:";
	CLEANUP_FREE char *text = mem_strndup(line, len);
	char *field = strstr(text, begin), *end = field ? strchr(field, ';') : NULL;
	struct tracepoint_field out = {0};
	unsigned is_signed;
	if (!end || sscanf(end + 1, " offset:%u; size:%u; signed:%u", &out.offset, &out.bytes,
			    &is_signed) != 3)
		return;
	*end = 0;
	field += strlen(begin);
	char *bracket = strchr(field, '['), *name = bracket ? bracket : end;
	out.is_located = strncmp(field, "__data_loc", strlen("__data_loc")) == 0;
	if (out.is_located) /* "__data_loc char[] name" */
		name = end;
	while (name > field && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
		name--;
	size_t name_len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	out.is_text =
		out.is_located ? strstr(field, "char") != NULL : bracket && strstr(field, "char");
	out.is_signed = is_signed != 0;
	out.name = mem_strndup(name, name_len);
	vec_push(ret, out);
}

void tracepoint_fields_parse(const char *format, struct tracepoint_fields *ret)
{
	while (*format) {
		size_t len = strcspn(format, "\n");
		parse_field(format, len, ret);
		format += len + (format[len] != 0);
	}
}

struct err *tracefs_fields(
	int root, const struct tracepoint *tracepoint, struct tracepoint_fields *ret)
{
	CLEANUP(str_deinit) struct str format = {0};
	if (!read_tracepoint_file(root, tracepoint->name, "format", &format))
		return err_sys(errno, "cannot read the fields of tracepoint %s", tracepoint->name);
	tracepoint_fields_parse(str_text(&format), ret);
	return NULL;
}

const char *tracepoint_unit_parse(const char *format, const char *field)
{
	CLEANUP(str_deinit) struct str wanted = {0};
	const char *print = strstr(format, "print fmt:");
	str_printf(&wanted, "%s=%%", field);
	const char *at = print ? strstr(print, str_text(&wanted)) : NULL;
	if (at) {
		at += wanted.len;
		at += strspn(at, "lLuidzt0123456789 ");
		if (strncmp(at, "[ns]", strlen("[ns]")) == 0)
			return "ns";
	}
	return strncmp(field, "bytes", strlen("bytes")) == 0 ? "bytes" : field;
}

struct err *tracefs_unit(
	int root, const struct tracepoint *tracepoint, const char *field, const char **ret)
{
	CLEANUP(str_deinit) struct str format = {0};
	if (!read_tracepoint_file(root, tracepoint->name, "format", &format))
		return err_sys(errno, "cannot read the fields of tracepoint %s", tracepoint->name);
	*ret = tracepoint_unit_parse(str_text(&format), field);
	return NULL;
}

void tracepoint_fields_deinit(struct tracepoint_fields *fields)
{
	vec_each(fields, field)
		mem_free(field->name);
	vec_deinit(fields);
}

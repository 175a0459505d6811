#include "record/host/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/fd.h"
#include "format/base/mem.h"
#include "record/host/proc_access.h"

bool proc_read_file(const char *path, struct str *ret)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	for (;;) {
		char buf[16384];
		ssize_t got = fd_read(fd, buf, sizeof(buf));
		if (got <= 0)
			return got == 0;
		str_write(ret, buf, (size_t)got);
	}
}

/* Of those that tell of memory; see proc_access.h. */
static bool read_locked_file(uint32_t pid, const char *name, struct str *ret)
{
	CLEANUP_FD int fd = proc_access_open(pid, name, O_RDONLY);
	ssize_t got = fd < 0 ? -1 : 1;
	while (got > 0)
		got = proc_access_read(pid, &fd, ret);
	return got == 0;
}

static bool read_pid_file(uint32_t pid, const char *name, struct str *ret)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return proc_read_file(path, ret);
}

/* The kernel writes newlines (and, in some files, backslashes) of names as \ooo. */
static void unescape_octal(char *text)
{
	char *to = text;
	for (const char *from = text; *from;) {
		bool escaped = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' &&
			       from[2] >= '0' && from[2] <= '7' && from[3] >= '0' && from[3] <= '7';
		if (escaped) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
				       (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static bool strip_suffix(char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);
	if (len < suffix_len || strcmp(text + len - suffix_len, suffix) != 0)
		return false;
	text[len - suffix_len] = '\0';
	return true;
}

/* start-end perms offset major:minor inode            path */
static bool parse_mapping(char *line, struct proc_mapping *ret)
{
	char *at = line;
	ret->start = strtoull(at, &at, 16);
	if (*at++ != '-')
		return false;
	ret->end = strtoull(at, &at, 16);
	if (*at++ != ' ' || strlen(at) < 5 || at[2] != 'x')
		return false;
	at += 5;
	ret->offset = strtoull(at, &at, 16);
	unsigned long major = strtoul(at, &at, 16);
	if (*at++ != ':')
		return false;
	unsigned long minor = strtoul(at, &at, 16);
	ret->device = (uint32_t)(major << 20 | minor);
	ret->inode = strtoull(at, &at, 10);
	while (*at == ' ')
		at++;
	ret->is_deleted = strip_suffix(at, " (deleted)");
	unescape_octal(at);
	ret->path = at;
	return true;
}

/* Takes the whole lines of a text away. False: fn has enough. */
static bool proc_take_lines(struct str *text, proc_mapping_fn *fn, void *context)
{
	char *line = text->data, *end = text->data + text->len;
	bool goes_on = true;
	for (char *newline; goes_on && (newline = memchr(line, '\n', (size_t)(end - line)));
		line = newline + 1) {
		struct proc_mapping mapping;
		*newline = '\0';
		if (parse_mapping(line, &mapping))
			goes_on = fn(context, &mapping);
	}
	size_t left = (size_t)(end - line);
	memmove(text->data, line, left);
	str_truncate(text, left);
	return goes_on;
}

static uint64_t proc_each_mapping_of(
	uint32_t tid, struct proc_limit *limit, proc_mapping_fn *fn, void *context)
{
	enum {
		MIN_BYTES = 1 << 20,
	};
	CLEANUP(str_deinit) struct str text = {0};
	CLEANUP_FD int fd = proc_access_open(tid, "maps", O_RDONLY);
	uint64_t begun_ns = clock_now_ns(), total = 0;
	ssize_t got = fd < 0 ? -1 : 1;
	bool is_locked = fd < 0 && errno == ETIMEDOUT;
	while (got > 0 && (got = proc_access_read(tid, &fd, &text)) > 0) {
		if (limit && total > MIN_BYTES && clock_now_ns() - begun_ns > limit->max_ns) {
			limit->is_reached = true;
			break;
		}
		total += (uint64_t)got;
		if (!proc_take_lines(&text, fn, context))
			break;
	}
	is_locked |= got < 0 && errno == ETIMEDOUT;
	if (limit)
		limit->is_locked = is_locked;
	return total;
}

bool proc_each_mapping(uint32_t pid, struct proc_limit *limit, proc_mapping_fn *fn, void *context)
{
	if (proc_each_mapping_of(pid, limit, fn, context))
		return true;
	uint32_t tid = proc_living_thread(pid);
	return tid != pid && proc_each_mapping_of(tid, limit, fn, context);
}

bool proc_read_mapping(
	uint32_t pid, uint64_t start, uint64_t end, struct str *text, struct proc_mapping *ret)
{
	char link[64];
	struct statx file;
	snprintf(link, sizeof(link), "map_files/%llx-%llx", (unsigned long long)start,
		(unsigned long long)end);
	str_truncate(text, 0);
	bool is_read = proc_access_link(pid, link, text, &file);
	uint32_t tid = is_read ? pid : proc_living_thread(pid);
	if (tid != pid)
		is_read = proc_access_link(tid, link, text, &file);
	if (!is_read || !text->len)
		return false;
	*ret = (struct proc_mapping){
		.start = start,
		.end = end,
		.device = file.stx_dev_major << 20 | file.stx_dev_minor,
		.inode = file.stx_ino,
		.is_deleted = strip_suffix(text->data, " (deleted)"),
		.path = text->data,
	};
	return true;
}

bool proc_read_stat(uint32_t pid, struct proc_stat *ret)
{
	enum {
		FIELD_STATE = 3,
		FIELD_PPID = 4,
		FIELD_UTIME = 14,
		FIELD_STIME = 15,
		FIELD_STARTTIME = 22,
	};
	CLEANUP(str_deinit) struct str text = {0};
	if (!read_locked_file(pid, "stat", &text))
		return false;
	char *at = strrchr(str_text(&text), ')'); /* comm may hold anything, parentheses too */
	if (!at)
		return false;
	at++;
	uint64_t start_ticks = 0, cpu_ticks = 0;
	for (int field = FIELD_STATE; field <= FIELD_STARTTIME; field++) {
		while (*at == ' ')
			at++;
		if (field == FIELD_STATE)
			ret->state = *at;
		if (field == FIELD_PPID)
			ret->parent_pid = (uint32_t)strtoul(at, NULL, 10);
		if (field == FIELD_UTIME || field == FIELD_STIME)
			cpu_ticks += strtoull(at, NULL, 10);
		if (field == FIELD_STARTTIME)
			start_ticks = strtoull(at, NULL, 10);
		at += strcspn(at, " ");
	}
	uint64_t tick_ns = 1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK);
	ret->start_ns = start_ticks * tick_ns;
	ret->cpu_ns = cpu_ticks * tick_ns;
	return true;
}

static bool thread_has_ended(uint32_t tid)
{
	struct proc_stat stat;
	return proc_read_stat(tid, &stat) && (stat.state == 'Z' || stat.state == 'X');
}

uint32_t proc_living_thread(uint32_t pid)
{
	if (!thread_has_ended(pid))
		return pid;
	struct proc_pids threads = {0};
	uint32_t living = pid;
	proc_list_threads(pid, &threads);
	for (size_t i = 0; i < threads.len && living == pid; i++)
		if (!thread_has_ended(threads.data[i]))
			living = threads.data[i];
	proc_pids_deinit(&threads);
	return living;
}

bool proc_is_zombie(uint32_t pid)
{
	return thread_has_ended(proc_living_thread(pid));
}

uint32_t proc_read_ns_pid(uint32_t pid)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (!read_pid_file(pid, "status", &text))
		return 0;
	const char *line = strstr(str_text(&text), "\nNSpid:");
	if (!line)
		return 0;
	line += strlen("\nNSpid:");
	uint32_t innermost = 0;
	for (char *end; isspace((unsigned char)*line) && *line != '\n'; line = end) {
		innermost = (uint32_t)strtoul(line, &end, 10);
		if (end == line)
			break;
	}
	return innermost;
}

bool proc_map_inner_threads(uint32_t pid, struct map *ret)
{
	struct proc_pids threads = {0};
	uint32_t inner = proc_read_ns_pid(pid);
	if (!inner || inner == pid)
		return false;
	proc_list_threads(pid, &threads);
	vec_each(&threads, tid) {
		uint32_t inner_tid = proc_read_ns_pid(*tid);
		if (inner_tid)
			*map_put(ret, inner_tid, NULL) = *tid;
	}
	proc_pids_deinit(&threads);
	return true;
}

/* The first number of a line of /proc/PID/status; `label` begins with a newline. */
static bool read_status(uint32_t pid, const char *label, uint32_t *ret)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (!read_pid_file(pid, "status", &text))
		return false;
	const char *line = strstr(str_text(&text), label);
	if (line)
		*ret = (uint32_t)strtoul(line + strlen(label), NULL, 10);
	return line;
}

uint32_t proc_read_tgid(uint32_t tid)
{
	uint32_t tgid = 0;
	read_status(tid, "\nTgid:", &tgid);
	return tgid;
}

bool proc_read_uid(uint32_t pid, uint32_t *ret)
{
	return read_status(pid, "\nUid:", ret);
}

bool proc_read_owner(uint32_t pid, uint32_t *ret)
{
	CLEANUP(str_deinit) struct str text = {0};
	uint32_t ids[4];
	if (!read_pid_file(pid, "status", &text))
		return false;
	const char *line = strstr(str_text(&text), "\nUid:");
	if (!line || sscanf(line + strlen("\nUid:"), "%u %u %u %u", &ids[0], &ids[1], &ids[2],
			     &ids[3]) != 4)
		return false;
	*ret = ids[0];
	return ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3];
}

/* What has ended is in the root of each hierarchy of version 1: kernel/cgroup/cgroup.c, Linux 6.18,
 * cgroup_exit(). */
static bool has_left_cgroups(uint32_t pid)
{
	struct proc_stat stat;
	return !proc_read_stat(pid, &stat) || stat.state == 'Z' || stat.state == 'X';
}

bool proc_read_cgroup(uint32_t pid, struct str *ret)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (!read_pid_file(pid, "cgroup", &text))
		return false;
	/* id:controllers:path, a line each hierarchy; 0:: is version 2 */
	const char *best = NULL;
	int best_rank = 0;
	char *rest = text.data;
	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		int rank = strcmp(path, "/") == 0          ? 1
			   : strstr(controllers, "memory") ? 3
			   : controllers[1] == '\0'        ? 4
							   : 2;
		if (rank > best_rank) {
			best_rank = rank;
			best = path;
		}
	}
	bool is_known = best && (best_rank > 1 || !has_left_cgroups(pid));
	if (is_known)
		str_puts(ret, best);
	return is_known;
}

void proc_pids_deinit(struct proc_pids *pids)
{
	vec_deinit(pids);
}

static void list_numbers(const char *folder, struct proc_pids *ret)
{
	DIR *dir = opendir(folder);
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (isdigit((unsigned char)entry->d_name[0]))
			vec_push(ret, (uint32_t)strtoul(entry->d_name, NULL, 10));
	closedir(dir);
}

void proc_list_pids(struct proc_pids *ret)
{
	list_numbers("/proc", ret);
}

static bool has_pid(const struct proc_pids *pids, uint32_t pid)
{
	for (size_t i = 0; i < pids->len; i++)
		if (pids->data[i] == pid)
			return true;
	return false;
}

bool proc_add_descendants(struct proc_pids *pids)
{
	CLEANUP(proc_pids_deinit) struct proc_pids all = {0};
	size_t before = pids->len, last;
	bool was_paced = proc_access_set_paced(true); /* all are asked, once or twice */
	proc_list_pids(&all);
	do { /* a child may stand before its parent */
		last = pids->len;
		for (size_t i = 0; i < all.len; i++) {
			struct proc_stat stat;
			if (!has_pid(pids, all.data[i]) && proc_read_stat(all.data[i], &stat) &&
				has_pid(pids, stat.parent_pid))
				vec_push(pids, all.data[i]);
		}
	} while (pids->len > last);
	proc_access_set_paced(was_paced);
	return pids->len > before;
}

void proc_list_threads(uint32_t pid, struct proc_pids *ret)
{
	char folder[sizeof("/proc/4294967295/task")];
	snprintf(folder, sizeof(folder), "/proc/%u/task", pid);
	list_numbers(folder, ret);
}

struct err *proc_check_namespace(void)
{
	char target[16] = "";
	ssize_t len = readlink("/proc/self", target, sizeof(target) - 1);
	if (len > 0 && strtoul(target, NULL, 10) == (unsigned long)getpid())
		return NULL;
	return err_new(ERR_UNSUPPORTED,
		"/proc %s: mount this one's (mount -t proc proc /proc; unshare: --mount-proc), "
		"or record outside of it",
		len > 0 ? "shows another PID namespace than the recorder runs in"
			: "is not mounted");
}

/* The second of "CPU_NS QUEUED_NS SLICES", Documentation/scheduler/sched-stats.rst. */
uint64_t proc_queued_ns(int schedstat_fd)
{
	char text[96];
	ssize_t len = pread(schedstat_fd, text, sizeof(text) - 1, 0);
	text[len > 0 ? len : 0] = '\0';
	const char *second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) : 0;
}

bool proc_is_alive(uint32_t pid)
{
	return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

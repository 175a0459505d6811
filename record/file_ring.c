#include "record/file_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/path.h"
#include "format/base/safe_folder.h"

enum {
	TAKE_OVER_MS = 10 * 1000,
	LOOK_US = 1000,
	SETTLING_MS = 10 * 60 * 1000, /* of the time of day, for files of before */
};

static struct ring_moment ring_now(void)
{
	return (struct ring_moment){clock_read_ns(CLOCK_REALTIME) / NS_PER_MS,
		clock_read_ns(CLOCK_BOOTTIME) / NS_PER_MS};
}

/* ---- what there is when it is opened ---- */

/* A recorder's, whatever program it runs by now. */
static bool is_of_our_name(unsigned pid)
{
	char path[64], own[32] = "", its[32] = "";
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	FILE *files[] = {fopen("/proc/self/comm", "re"), fopen(path, "re")};
	char *const texts[] = {own, its};
	for (int i = 0; i < 2; i++) {
		if (!files[i])
			continue;
		if (!fgets(texts[i], sizeof(own), files[i]))
			texts[i][0] = '\0';
		fclose(files[i]);
	}
	return own[0] && strcmp(own, its) == 0;
}

/* The process that has locked the inode, of those of our name; 0: none that can be seen. */
static uint32_t find_holder(const struct file_ring *ring)
{
	struct stat st;
	char *line = NULL;
	size_t size = 0;
	uint32_t found = 0;
	FILE *locks = fopen("/proc/locks", "re");
	if (!locks || fstat(ring->folder, &st)) {
		if (locks)
			fclose(locks);
		return 0;
	}
	while (!found && getline(&line, &size, locks) > 0) {
		unsigned pid;
		unsigned long long inode;
		/* "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"; btrfs has other devices there.
		 */
		if (sscanf(line, "%*u: FLOCK %*s WRITE %u %*x:%*x:%llu", &pid, &inode) == 2 &&
			inode == st.st_ino && is_of_our_name(pid))
			found = pid;
	}
	free(line); /* NOLINT: it is getline()'s */
	fclose(locks);
	return found;
}

/* False: another one has it. */
static struct err *lock_ring(const struct file_ring *ring, bool *ret)
{
	*ret = !flock(ring->folder, LOCK_EX | LOCK_NB);
	return *ret || errno == EWOULDBLOCK
		       ? NULL
		       : err_sys(errno, "%s: cannot be locked", ring->options.folder);
}

static struct err *refuse_second(const struct file_ring *ring)
{
	return err_new(ERR_USAGE,
		"%s: another ebprof record writes there: stop it, give --take-over, or give each a "
		"folder of its own",
		ring->options.folder);
}

/* Nothing writes to it any more: it ended when it was written the last time. */
static void end_cut_file(struct file_ring *ring, struct ring_file *file)
{
	CLEANUP(str_deinit) struct str name = {0};
	struct ring_name is = file->is;
	is.lasted_ms = ring_file_end_ms(file) - is.begun_ms;
	is.is_ended = true;
	ring_name_put(&is, &name);
	if (renameat2(ring->folder, file->name, ring->folder, str_text(&name), RENAME_NOREPLACE))
		return; /* it stays without an end, and is read as such */
	mem_free(file->name);
	file->name = str_steal(&name);
	file->is = is;
}

/* What there is but for a file of our own. */
static struct err *list_ring(struct file_ring *ring, const char *own_name)
{
	struct ring_files files = {0};
	try(ring_folder_list(ring->folder, ring->options.folder, &files));
	vec_each(&files, file) {
		if (own_name && strcmp(file->name, own_name) == 0) {
			ring_file_deinit(file);
			continue;
		}
		if (!file->is.is_ended)
			end_cut_file(ring, file);
		ring->ended_bytes += file->bytes;
		vec_push(&ring->ended, *file);
		vec_push(&ring->ended_at, 0);
	}
	vec_deinit(&files);
	return NULL;
}

static struct err *open_locked(struct file_ring *ring, const struct caller *owner)
{
	bool is_locked;
	try(safe_folder_make(ring->options.folder, 0700, owner, &ring->folder, NULL));
	try(lock_ring(ring, &is_locked));
	if (is_locked)
		return list_ring(ring, NULL);
	if (ring->options.takes_over)
		ring->holder = find_holder(ring);
	return ring->holder ? NULL : refuse_second(ring);
}

struct err *file_ring_take_over(struct file_ring *ring, const char *own_path)
{
	bool is_locked = false;
	uint64_t until_ns = clock_now_ns() + (uint64_t)TAKE_OVER_MS * NS_PER_MS;
	if (!ring->holder)
		return NULL;
	kill((pid_t)ring->holder, SIGTERM); /* it may have ended meanwhile */
	while (!is_locked && clock_now_ns() < until_ns) {
		try(lock_ring(ring, &is_locked));
		if (!is_locked)
			usleep(LOOK_US);
	}
	if (!is_locked)
		return err_new(ERR_UNSUPPORTED,
			"%s: process %u writes there and does not end within %d s of SIGTERM",
			ring->options.folder, ring->holder, TAKE_OVER_MS / 1000);
	ring->holder = 0;
	return list_ring(ring, path_last_part(own_path));
}

void file_ring_release(struct file_ring *ring)
{
	if (ring->folder >= 0 && !ring->holder)
		flock(ring->folder, LOCK_UN);
}

struct err *file_ring_open(
	const struct session_ring *options, const struct caller *owner, struct file_ring *ret)
{
	struct file_ring ring = {.options = *options,
		.folder = -1,
		.opened_at = ring_now().boot_ms,
		.least_wall_ms = UINT64_MAX};
	struct err *err = open_locked(&ring, owner);
	if (err)
		file_ring_deinit(&ring);
	else
		*ret = ring;
	return err;
}

void file_ring_deinit(struct file_ring *ring)
{
	mem_close_fd(&ring->folder);
	ring_files_deinit(&ring->ended);
	vec_deinit(&ring->ended_at);
}

/* ---- one file after the other ---- */

/* Two files may begin within a millisecond, or the time of day have been set back. */
char *file_ring_new_path(const struct file_ring *ring)
{
	CLEANUP(str_deinit) struct str name = {0};
	struct str path = {0};
	struct stat st;
	for (struct ring_name is = {.begun_ms = ring_now().wall_ms};; is.begun_ms++) {
		str_truncate(&name, 0);
		ring_name_put(&is, &name);
		if (fstatat(ring->folder, str_text(&name), &st, AT_SYMLINK_NOFOLLOW))
			break;
	}
	str_printf(&path, "%s/%s", ring->options.folder, str_text(&name));
	return str_steal(&path);
}

char *file_ring_end_name(const char *path, uint64_t lasted_ns)
{
	struct str name = {0};
	struct ring_name is = {0};
	ring_name_parse(path_last_part(path), &is);
	is.lasted_ms = lasted_ns / NS_PER_MS;
	is.is_ended = true;
	ring_name_put(&is, &name);
	return str_steal(&name);
}

void file_ring_add_ended(struct file_ring *ring, const char *name)
{
	struct ring_file file = {0};
	struct stat st;
	if (!ring_name_parse(name, &file.is) ||
		fstatat(ring->folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return; /* another process took it away: it belongs to that one */
	file.name = mem_strdup(name);
	file.bytes = (uint64_t)st.st_size;
	file.written_ms = clock_from_timespec(st.st_mtim) / NS_PER_MS;
	ring->ended_bytes += file.bytes;
	vec_push(&ring->ended, file);
	vec_push(&ring->ended_at, ring_now().boot_ms);
}

/* ---- removing ---- */

/* Others may have removed it, or put something else into its place, which stays. */
static void remove_oldest(struct file_ring *ring)
{
	struct ring_file *oldest = ring->ended.data;
	struct stat st;
	if (!fstatat(ring->folder, oldest->name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
		!unlinkat(ring->folder, oldest->name, 0))
		ring->removed++;
	ring->ended_bytes -= oldest->bytes;
	ring_file_deinit(oldest);
	memmove(oldest, oldest + 1, --ring->ended.len * sizeof(*oldest));
	memmove(ring->ended_at.data, ring->ended_at.data + 1,
		--ring->ended_at.len * sizeof(*ring->ended_at.data));
}

static bool is_too_old(const struct file_ring *ring, const struct ring_moment *now)
{
	uint64_t keep_ms = ring->options.keep_ns / NS_PER_MS;
	uint64_t ended_at = ring->ended_at.data[0];
	if (!keep_ms)
		return false;
	if (ended_at)
		return ended_at + keep_ms < now->boot_ms;
	return now->boot_ms >= ring->opened_at + SETTLING_MS &&
	       ring_file_end_ms(ring->ended.data) + keep_ms < ring->least_wall_ms + now->boot_ms;
}

static bool is_too_much(const struct file_ring *ring, uint64_t current_bytes)
{
	uint64_t keep = ring->options.keep_bytes;
	return keep && ring->ended_bytes + current_bytes > keep;
}

void file_ring_prune_at(
	struct file_ring *ring, uint64_t current_bytes, const struct ring_moment *now)
{
	uint64_t at_boot_ms = now->wall_ms > now->boot_ms ? now->wall_ms - now->boot_ms : 0;
	if (at_boot_ms < ring->least_wall_ms)
		ring->least_wall_ms = at_boot_ms;
	while (ring->ended.len && (is_too_much(ring, current_bytes) || is_too_old(ring, now)))
		remove_oldest(ring);
}

void file_ring_prune(struct file_ring *ring, uint64_t current_bytes)
{
	struct ring_moment now = ring_now();
	file_ring_prune_at(ring, current_bytes, &now);
}

bool file_ring_make_room(struct file_ring *ring)
{
	if (!ring->ended.len)
		return false;
	remove_oldest(ring);
	ring->removed_for_room++;
	return true;
}

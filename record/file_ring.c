#include "record/file_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/path.h"
#include "format/base/safe_folder.h"

enum {
	SETTLING_MS = 10 * 60 * 1000, /* of the time of day, for files of before */
};

static struct ring_moment ring_now(void)
{
	return (struct ring_moment){clock_read_ns(CLOCK_REALTIME) / NS_PER_MS,
		clock_read_ns(CLOCK_BOOTTIME) / NS_PER_MS};
}

/* ---- what there is when it is opened ---- */

static struct err *lock_ring(const struct file_ring *ring)
{
	if (!flock(ring->folder, LOCK_EX | LOCK_NB))
		return NULL;
	if (errno != EWOULDBLOCK)
		return err_sys(errno, "%s: cannot be locked", ring->options.folder);
	return err_new(ERR_USAGE,
		"%s: another ebprof record writes there: stop it, or give each a folder of its own",
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

static struct err *open_locked(struct file_ring *ring, const struct caller *owner)
{
	const char *path = ring->options.folder;
	try(safe_folder_make(path, 0700, owner, &ring->folder, NULL));
	try(lock_ring(ring));
	try(ring_folder_list(ring->folder, path, &ring->ended));
	vec_resize(&ring->ended_at, ring->ended.len);
	vec_each(&ring->ended, file) {
		ring->ended_bytes += file->bytes;
		if (!file->is.is_ended)
			end_cut_file(ring, file);
	}
	return NULL;
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

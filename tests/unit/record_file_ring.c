/* The folder of an endless recording: what is removed of it, when, and what never. */
#include "record/file_ring.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "tests/unit/unit.h"

enum {
	FILE_BYTES = 100,
	MS_PER_MINUTE = 60000,
};

static struct file_ring file_ring;

/* Of a minute, that ended so many minutes ago. */
static char *ended_name(unsigned minutes_ago)
{
	struct str name = {0};
	uint64_t now_ms = clock_read_ns(CLOCK_REALTIME) / NS_PER_MS;
	struct ring_name is = {now_ms - (minutes_ago + 1) * MS_PER_MINUTE, MS_PER_MINUTE, true};
	ring_name_put(&is, &name);
	return str_steal(&name);
}

static void put_bytes(const char *path)
{
	static const char zeros[FILE_BYTES];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, zeros, FILE_BYTES), FILE_BYTES);
	close(fd);
}

static void put_ended(unsigned minutes_ago)
{
	CLEANUP(str_deinit) struct str path = {0};
	CLEANUP_FREE char *name = ended_name(minutes_ago);
	str_printf(&path, "ring/%s", name);
	put_bytes(str_text(&path));
}

static struct err *open_file_ring(uint64_t keep_bytes, uint64_t keep_ns)
{
	struct session_ring options = {"ring", keep_bytes, keep_ns, false};
	struct caller owner = {0};
	return file_ring_open(&options, &owner, &file_ring);
}

static void begin_file_ring(uint64_t keep_bytes, uint64_t keep_ns)
{
	mkdir("ring", 0700);
	for (unsigned minutes_ago = 9; minutes_ago > 0; minutes_ago--)
		put_ended(minutes_ago);
	put_bytes("ring/notes.txt");
	CHECK_OK(open_file_ring(keep_bytes, keep_ns));
	CHECK_INT(file_ring.ended.len, 9);
}

static void end_file_ring(void)
{
	struct ring_files left = {0};
	CHECK_OK(ring_folder_list(file_ring.folder, "ring", &left));
	CHECK_INT(left.len, file_ring.ended.len);
	CHECK_INT(file_ring.ended_bytes, left.len * FILE_BYTES);
	CHECK_INT(access("ring/notes.txt", F_OK), 0);
	ring_files_deinit(&left);
	file_ring_deinit(&file_ring);
}

TEST(file_ring_keeps_so_many_bytes)
{
	begin_file_ring(5 * FILE_BYTES, 0);
	file_ring_prune(&file_ring, FILE_BYTES);
	CHECK_INT(file_ring.ended.len, 4); /* and the one that is being written */
	file_ring_prune(&file_ring, FILE_BYTES);
	CHECK_INT(file_ring.ended.len, 4);
	file_ring_prune(&file_ring, FILE_BYTES + 1);
	CHECK_INT(file_ring.ended.len, 3);
	CHECK_INT(file_ring.removed, 6);
	end_file_ring();
}

/* So many minutes later; the time of day says so many more. */
static void prune_later(unsigned minutes, unsigned set_ahead_minutes)
{
	struct ring_moment now = {clock_read_ns(CLOCK_REALTIME) / NS_PER_MS,
		clock_read_ns(CLOCK_BOOTTIME) / NS_PER_MS};
	now.wall_ms += (uint64_t)(minutes + set_ahead_minutes) * MS_PER_MINUTE;
	now.boot_ms += (uint64_t)minutes * MS_PER_MINUTE;
	file_ring_prune_at(&file_ring, 1ULL << 40, &now);
}

TEST(file_ring_keeps_so_long)
{
	/* What ended 13 and a half minutes ago or later: those of the last three, 10 minutes on. */
	begin_file_ring(0, 810ULL * NS_PER_S);
	file_ring_prune(&file_ring, 1ULL << 40);
	CHECK_INT(file_ring.ended.len, 9);
	prune_later(10, 0);
	CHECK_INT(file_ring.ended.len, 3);
	end_file_ring();
}

TEST(file_ring_outlives_a_clock_that_is_set_ahead)
{
	enum {
		MANY_YEARS = 20 * 365 * 24 * 60 /* minutes */
	};
	begin_file_ring(0, 810ULL * NS_PER_S);
	CLEANUP_FREE char *name = ended_name(0);
	put_ended(0);
	file_ring_add_ended(&file_ring, name);
	CHECK_INT(file_ring.ended.len, 10);
	prune_later(0, MANY_YEARS); /* and from the beginning on */
	prune_later(9, MANY_YEARS);
	CHECK_INT(file_ring.ended.len, 10);
	prune_later(10, 0); /* it was set right */
	prune_later(10, MANY_YEARS);
	CHECK_INT(file_ring.ended.len, 4);
	prune_later(13, MANY_YEARS);
	CHECK_INT(file_ring.ended.len, 1);
	prune_later(14, 0);
	CHECK_INT(file_ring.ended.len, 0);
	end_file_ring();
}

TEST(file_ring_takes_only_its_own_files)
{
	begin_file_ring(FILE_BYTES, 0);
	/* Another file has the place of the oldest now, and the next one was removed. */
	struct str path = {0};
	str_printf(&path, "ring/%s", file_ring.ended.data[0].file.name);
	CHECK_INT(unlink(str_text(&path)), 0);
	CHECK_INT(symlink("notes.txt", str_text(&path)), 0);
	struct str next = {0};
	str_printf(&next, "ring/%s", file_ring.ended.data[1].file.name);
	CHECK_INT(unlink(str_text(&next)), 0);
	file_ring_prune(&file_ring, 0);
	CHECK_INT(file_ring.ended.len, 1);
	CHECK_INT(file_ring.removed, 6);
	struct stat st;
	CHECK_INT(lstat(str_text(&path), &st), 0);
	str_deinit(&path);
	str_deinit(&next);
	end_file_ring();
}

TEST(file_ring_makes_room_until_nothing_is_left)
{
	begin_file_ring(0, 0);
	for (int i = 0; i < 9; i++)
		CHECK(file_ring_make_room(&file_ring));
	CHECK(!file_ring_make_room(&file_ring));
	CHECK_INT(file_ring.removed_for_room, 9);
	end_file_ring();
}

TEST(file_ring_is_one_recorders)
{
	begin_file_ring(0, 0);
	struct file_ring other = file_ring;
	CHECK_ERR(open_file_ring(0, 0), ERR_USAGE, "another ebprof record writes there");
	file_ring = other;
	end_file_ring();
	CHECK_OK(open_file_ring(0, 0));
	end_file_ring();
}

/* ---- one recorder takes it over from another ---- */

static struct err *open_taking_over(const char *folder, struct file_ring *ret)
{
	struct session_ring options = {.folder = folder, .takes_over = true};
	struct caller owner = {0};
	return file_ring_open(&options, &owner, ret);
}

/* Another process of our name, which has that ring until it is signalled. */
static pid_t begin_holder(const char *folder, bool ignores_signals)
{
	int ready[2];
	char byte = 0;
	CHECK_INT(pipe(ready), 0);
	pid_t pid = fork();
	if (!pid) {
		struct file_ring held;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(10); /* if the signal goes to another one */
		signal(SIGTERM, ignores_signals ? SIG_IGN : SIG_DFL);
		err_destroy(open_taking_over(folder, &held));
		CHECK_INT(write(ready[1], &byte, 1), 1);
		for (;;)
			pause();
	}
	CHECK_INT(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* The signal that ends it. */
static int holder_signal(pid_t pid)
{
	int status = 0;
	CHECK_INT(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void kill_holder(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK_INT(holder_signal(pid), SIGKILL);
}

TEST(file_ring_is_taken_over)
{
	begin_file_ring(0, 0);
	file_ring_deinit(&file_ring);
	pid_t holder = begin_holder("ring", false);
	CHECK_OK(open_taking_over("ring", &file_ring));
	CHECK_INT(file_ring.holder.pid, holder);
	CHECK_INT(file_ring.ended.len, 0);
	CHECK_OK(file_ring_take_over(&file_ring, "ring/own.data"));
	CHECK_INT(holder_signal(holder), SIGTERM);
	CHECK_INT(file_ring.ended.len, 9);
	end_file_ring();
}

/* The roots of file systems have one inode number, and so have two recorders' locks then. */
TEST(file_ring_of_another_disk_is_left_alone)
{
	static const char *const disks[] = {"first", "second"};
	pid_t holders[2];
	if (geteuid() || unshare(CLONE_NEWNS) ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		unit_skip("no tmpfs can be mounted here");
	for (int i = 0; i < 2; i++) {
		CHECK_INT(mkdir(disks[i], 0700), 0);
		CHECK_INT(mount("tmpfs", disks[i], "tmpfs", 0, "size=64k"), 0);
		holders[i] = begin_holder(disks[i], false);
	}
	for (int i = 0; i < 2; i++) {
		struct file_ring ring;
		CHECK_OK(open_taking_over(disks[i], &ring));
		CHECK_INT(ring.holder.pid, holders[i]);
		CHECK_OK(file_ring_take_over(&ring, "own.data"));
		CHECK_INT(holder_signal(holders[i]), SIGTERM);
		file_ring_deinit(&ring);
	}
}

/* A process that has the lock and is no recorder is left alone. */
TEST(file_ring_that_no_recorder_has)
{
	begin_file_ring(0, 0);
	file_ring_deinit(&file_ring);
	char own[16];
	prctl(PR_GET_NAME, own);
	prctl(PR_SET_NAME, "stranger");
	pid_t holder = begin_holder("ring", false);
	prctl(PR_SET_NAME, own);
	CHECK_ERR(open_taking_over("ring", &file_ring), ERR_USAGE,
		"ring: it is locked, and no recorder is seen that has it");
	kill_holder(holder);
}

TEST(file_ring_whose_recorder_does_not_end)
{
	begin_file_ring(0, 0);
	file_ring_deinit(&file_ring);
	pid_t holder = begin_holder("ring", true);
	CHECK_OK(open_taking_over("ring", &file_ring));
	file_ring.patience_ms = 20;
	CHECK_ERR(file_ring_take_over(&file_ring, "ring/own.data"), ERR_UNSUPPORTED,
		"does not end within 0.02 s of SIGTERM");
	kill_holder(holder);
	file_ring_deinit(&file_ring);
}

TEST(file_ring_whose_recorder_ended_meanwhile)
{
	begin_file_ring(0, 0);
	file_ring_deinit(&file_ring);
	pid_t holder = begin_holder("ring", false);
	CHECK_OK(open_taking_over("ring", &file_ring));
	kill_holder(holder);
	CHECK_OK(file_ring_take_over(&file_ring, "ring/own.data"));
	CHECK_INT(file_ring.ended.len, 9);
	end_file_ring();
}

/* That one is not signalled: it began after us. */
TEST(file_ring_that_another_recorder_took_first)
{
	begin_file_ring(0, 0);
	file_ring_deinit(&file_ring);
	pid_t holder = begin_holder("ring", false);
	CHECK_OK(open_taking_over("ring", &file_ring));
	kill_holder(holder);
	pid_t later = begin_holder("ring", false);
	file_ring.patience_ms = 20;
	CHECK_ERR(file_ring_take_over(&file_ring, "ring/own.data"), ERR_USAGE,
		"another ebprof record writes there");
	kill_holder(later);
	file_ring_deinit(&file_ring);
}

/* A recorder that was killed leaves a file without an end. */
TEST(file_ring_ends_what_was_cut)
{
	begin_file_ring(0, 0);
	CLEANUP_FREE char *path = file_ring_new_path(&file_ring);
	put_bytes(path);
	file_ring_deinit(&file_ring);
	CHECK_OK(open_file_ring(0, 0));
	CHECK_INT(file_ring.ended.len, 10);
	CHECK(file_ring.ended.data[9].file.is.is_ended);
	CHECK(access(path, F_OK));
	end_file_ring();
}

TEST(file_ring_names_files_by_their_times)
{
	begin_file_ring(0, 0);
	CLEANUP_FREE char *path = file_ring_new_path(&file_ring);
	put_bytes(path);
	CLEANUP_FREE char *second = file_ring_new_path(&file_ring);
	CHECK(strcmp(path, second) < 0);
	CLEANUP_FREE char *name = file_ring_end_name(path, 61500ULL * NS_PER_MS);
	CLEANUP(str_deinit) struct str ended = {0};
	str_printf(&ended, "ring/%s", name);
	CHECK(strstr(name, "Z+61.500.data"));
	CHECK_INT(rename(path, str_text(&ended)), 0);
	file_ring_add_ended(&file_ring, name);
	CHECK_INT(file_ring.ended.len, 10);
	file_ring_add_ended(&file_ring, "ebprof-20261126T140500.000Z+60.000.data"); /* not there */
	CHECK_INT(file_ring.ended.len, 10);
	end_file_ring();
}

/* What mounts are read from mountinfo, and where paths lead: by a made-up table, and in a
 * namespace. */
#include "format/base/mount_view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "tests/unit/unit.h"

static const char text[] =
	"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	"21 20 0:30 / /home rw,nosuid shared:4 - nfs4 server:/home rw,addr=1\n"
	"22 20 0:31 / /a/b rw - tmpfs tmpfs rw\n"
	"23 20 0:32 / /a rw master:1 propagate_from:2 - tmpfs tmpfs rw\n"
	"24 23 0:33 / /a/c\\040d rw - fuse.sshfs me@there rw,user_id=1000,group_id=1000\n"
	"25 24 8:2 / /a/c\\040d rw - xfs /dev/sdb rw\n"
	"no mount\n"
	"26 20 8:3 / /cut rw - ext4 /dev/sdc r";

static void fill(struct mount_table *table, size_t max_bytes)
{
	CLEANUP_FD int fd = memfd_create("mountinfo", MFD_CLOEXEC);
	CHECK_INT(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	CHECK(mount_table_read(table, fd, max_bytes) > 0);
}

static uint64_t next(const struct mount_table *table, uint64_t id, const char *path, size_t begun)
{
	const struct mount *mount = mount_table_next(table, id, path, begun);
	return mount ? mount->id : 0;
}

TEST(mountinfo_is_read_by_whole_lines)
{
	struct mount_table table = {0};
	fill(&table, 1 << 20);
	CHECK_INT(table.mounts.len, 6);
	const struct mount *ssh = mount_table_find(&table, 24);
	CHECK_STR(ssh->point, "/a/c d");
	CHECK_STR(ssh->type, "fuse.sshfs");
	CHECK(ssh->has_owner && ssh->owner_uid == 1000);
	CHECK_INT(mount_table_find(&table, 20)->major_no, 8);
	CHECK(mount_is_remote(ssh));
	CHECK(mount_is_remote(mount_table_find(&table, 21)));
	CHECK(!mount_is_remote(mount_table_find(&table, 22)));
	CHECK(!mount_table_find(&table, 26));
	fill(&table, 60);
	CHECK_INT(table.mounts.len, 1);
	mount_table_deinit(&table);
}

TEST(a_path_enters_what_is_mounted_on_top)
{
	struct mount_table table = {0};
	fill(&table, 1 << 20);
	CHECK_INT(next(&table, 20, "/usr/lib/x", 0), 0);
	CHECK_INT(next(&table, 20, "/homes/x", 0), 0);
	CHECK_INT(next(&table, 20, "/home", 0), 21);
	CHECK_INT(next(&table, 20, "/a/b/x", 0), 23); /* which covers /a/b */
	CHECK_INT(next(&table, 23, "/a/b/x", 2), 0);
	CHECK_INT(next(&table, 23, "/a/c d/x", 2), 25);
	CHECK_INT(next(&table, 25, "/a/c d/x", 6), 0);
	mount_table_deinit(&table);
}

/* ---- real mounts ---- */

struct fixture {
	char folder[64];
	int root_fd;
	struct mount_table mounts;
	uint64_t forbidden;
};

static bool may_enter(void *context, uint64_t id, const struct mount *mount)
{
	const struct fixture *fixture = context;
	(void)mount;
	return id != fixture->forbidden;
}

static void read_mounts(struct fixture *fixture)
{
	CLEANUP_FD int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	CHECK(mount_table_read(&fixture->mounts, fd, 16 << 20) > 0);
}

/* FOLDER/in, a tmpfs with the file `x`, and FOLDER/link, which leads there. */
static void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){.folder = "/tmp/ebprof-unit.XXXXXX"};
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		unit_skip("no mount namespace of one's own");
	CHECK(mkdtemp(fixture->folder));
	CHECK_INT(chdir(fixture->folder), 0);
	CHECK_INT(mkdir("in", 0700), 0);
	CHECK_INT(symlink("../.././tmp/nowhere/../../tmp", "around"), 0);
	CHECK_INT(symlink("in/x", "link"), 0);
	CHECK_INT(symlink("loop", "loop"), 0);
	CHECK_INT(mount("none", "in", "tmpfs", 0, NULL), 0);
	CHECK_INT(close(open("in/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	CHECK_INT(mkfifo("fifo", 0600), 0);
	fixture->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	read_mounts(fixture);
}

static void teardown(struct fixture *fixture)
{
	CHECK_INT(umount2("in", MNT_DETACH), 0);
	CHECK_INT(unlink("fifo") | unlink("link") | unlink("loop") | unlink("around"), 0);
	CHECK_INT(rmdir("in"), 0);
	CHECK_INT(rmdir(fixture->folder), 0);
	mount_table_deinit(&fixture->mounts);
	mem_close_fd(&fixture->root_fd);
}

/* 0, or why it could not be opened. */
static int try_open(
	const struct fixture *fixture, const char *name, bool is_canonical, struct mount_file *file)
{
	char path[128];
	struct mount_view view = {fixture->root_fd, &fixture->mounts, may_enter, (void *)fixture};
	strcpy(path, fixture->folder);
	strcat(path, name);
	CLEANUP_FD int fd = is_canonical ? mount_view_open_canonical(&view, path)
					 : mount_view_open(&view, path);
	if (fd < 0)
		return errno;
	CHECK(mount_file_of(fd, file));
	return 0;
}

static void check_paths(void)
{
	struct fixture fixture;
	struct mount_file file, other;
	struct stat st;
	setup(&fixture);
	CHECK_INT(stat("in/x", &st), 0);
	CHECK_INT(try_open(&fixture, "/in/x", true, &file), 0);
	CHECK(file.inode == st.st_ino && file.device == st.st_dev && S_ISREG(file.mode));
	CHECK_INT(try_open(&fixture, "/link", false, &other), 0);
	CHECK(other.inode == file.inode && other.mount_id == file.mount_id);
	CHECK_INT(try_open(&fixture, "/in/.././in/x", false, &other), 0);
	CHECK_INT(other.inode, file.inode);
	CHECK_INT(try_open(&fixture, "/in/../in/x", true, &other), ENOENT);
	CHECK_INT(try_open(&fixture, "/link", true, &other), 0); /* the link itself */
	CHECK(S_ISLNK(other.mode));
	CHECK_INT(try_open(&fixture, "/loop", false, &other), ELOOP);
	CHECK_INT(try_open(&fixture, "/around", false, &other), ENOENT);
	CHECK_INT(try_open(&fixture, "/in/y", false, &other), ENOENT);
	teardown(&fixture);
}

static void check_mounts(void)
{
	struct fixture fixture;
	struct mount_file file;
	setup(&fixture);
	CHECK_INT(try_open(&fixture, "/in/x", true, &file), 0);
	fixture.forbidden = file.mount_id;
	CHECK_INT(try_open(&fixture, "/in/x", true, &file), EREMOTE);
	CHECK_INT(try_open(&fixture, "/in/absent", true, &file), EREMOTE);
	CHECK_INT(try_open(&fixture, "/link", false, &file), EREMOTE);
	CHECK_INT(try_open(&fixture, "/fifo", true, &file), 0);
	fixture.forbidden = 0;
	/* Mounted after the table was read. */
	CHECK_INT(mount("none", "in", "tmpfs", 0, NULL), 0);
	CHECK_INT(try_open(&fixture, "/in/x", true, &file), EREMOTE);
	read_mounts(&fixture);
	CHECK_INT(try_open(&fixture, "/in/x", true, &file), ENOENT);
	CHECK_INT(umount2("in", MNT_DETACH), 0);
	teardown(&fixture);
}

TEST(paths_lead_through_mounts_and_links)
{
	check_paths();
}

TEST(forbidden_and_unknown_mounts_are_not_entered)
{
	check_mounts();
}

/* As before Linux 5.6. */
static void lose_openat2(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	if (syscall(SYS_openat2, -1, NULL, NULL, 0) != -1 || errno != ENOSYS)
		unit_skip("calls of the kernel cannot be filtered here");
}

TEST(paths_are_the_same_without_openat2)
{
	lose_openat2();
	check_paths();
}

TEST(mounts_are_not_entered_without_openat2)
{
	lose_openat2();
	check_mounts();
}

TEST(only_regular_files_are_opened_again)
{
	struct fixture fixture;
	setup(&fixture);
	CLEANUP_FD int fifo = open("fifo", O_PATH | O_CLOEXEC);
	CHECK_INT(mount_file_reopen(fifo), -1);
	CHECK_INT(errno, EINVAL);
	CLEANUP_FD int x = open("in/x", O_PATH | O_CLOEXEC);
	CLEANUP_FD int fd = mount_file_reopen(x);
	CHECK(fd >= 0);
	teardown(&fixture);
}

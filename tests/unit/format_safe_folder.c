/* Folders that files are created in: whose symbolic links are followed on the way, and whose not.
 */
#include "format/base/safe_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum {
	NOBODY = 65534,
};

static const struct caller no_caller;

static void enter_folder(void)
{
	char folder[] = "/tmp/safe-folder-XXXXXX";
	CHECK(mkdtemp(folder));
	CHECK_INT(chdir(folder), 0);
	CHECK_INT(mkdir("real", 0755), 0);
	CHECK_INT(symlink("real", "link"), 0);
}

static void leave_folder(void)
{
	char path[64];
	CHECK(getcwd(path, sizeof(path)));
	unlink("link");
	rmdir("real/new");
	CHECK_INT(rmdir("real"), 0);
	CHECK_INT(rmdir(path), 0);
}

static void want_same(int fd, const char *path)
{
	struct stat got, want;
	CHECK_INT(fstat(fd, &got), 0);
	CHECK_INT(stat(path, &want), 0);
	CHECK(got.st_dev == want.st_dev && got.st_ino == want.st_ino);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void want_open(const char *path, const char *meant)
{
	int fd = -1;
	CHECK_OK(safe_folder_open(path, &no_caller, &fd));
	want_same(fd, meant);
}

TEST(safe_folder_opens_folders)
{
	enter_folder();
	want_open("real", "real");
	want_open("", ".");
	want_open("/", "/");
	want_open("real/../real/.", "real");
	int fd = -1;
	CHECK_ERR(safe_folder_open("absent", &no_caller, &fd), ERR_IO, "No such file");
	CHECK_INT(fd, -1);
	close(open("real/new", O_CREAT | O_WRONLY, 0600));
	CHECK_ERR(safe_folder_open("real/new", &no_caller, &fd), ERR_IO, "Not a directory");
	unlink("real/new");
	leave_folder();
}

TEST(safe_folder_follows_its_own_links_only)
{
	enter_folder();
	want_open("link", "real");
	if (geteuid() == 0) {
		int fd = -1;
		CHECK_INT(lchown("link", NOBODY, NOBODY), 0);
		struct err *err = safe_folder_open("link", &no_caller, &fd);
		CHECK(err && err_code(err) != ERR_IO);
		err_destroy(err);
		CHECK_INT(fd, -1);
		/* sudo's caller may have links of his own. */
		struct caller caller = {.is_set = true, .uid = NOBODY, .gid = NOBODY};
		CHECK_OK(safe_folder_open("link", &caller, &fd));
		want_same(fd, "real");
	}
	leave_folder();
}

static void want_parent(const char *path, const char *folder, const char *wanted_name)
{
	int fd = -1;
	const char *name = NULL;
	CHECK_OK(safe_folder_open_parent(path, &no_caller, &fd, &name));
	want_same(fd, folder);
	CHECK_STR(name, wanted_name);
}

TEST(safe_folder_takes_paths_apart)
{
	enter_folder();
	want_parent("file", ".", "file");
	want_parent("real/file", "real", "file");
	want_parent("link//file", "real", "file");
	want_parent("/file", "/", "file");
	static const char *const no_names[] = {"", "real/", "real/.", ".."};
	for (size_t i = 0; i < sizeof(no_names) / sizeof(*no_names); i++) {
		int fd = -1;
		const char *name = NULL;
		CHECK_ERR(safe_folder_open_parent(no_names[i], &no_caller, &fd, &name), ERR_USAGE,
			"is no name of a file");
	}
	leave_folder();
}

TEST(safe_folder_makes_folders)
{
	enter_folder();
	umask(022);
	for (int i = 0; i < 2; i++) {
		int fd = -1;
		bool is_made = i;
		struct stat st;
		CHECK_OK(safe_folder_make("real/new", 0777, &no_caller, &fd, &is_made));
		CHECK_INT(is_made, !i);
		CHECK_INT(fstat(fd, &st), 0);
		CHECK_INT(st.st_mode & 07777, 0755);
		want_same(fd, "real/new");
	}
	leave_folder();
}

TEST(safe_folder_gives_new_ones_to_the_caller)
{
	enter_folder();
	if (geteuid())
		unit_skip("only root gives folders away");
	struct caller caller = {.is_set = true, .uid = NOBODY, .gid = NOBODY};
	int fd = -1;
	struct stat st;
	CHECK_OK(safe_folder_make("real/new", 0700, &caller, &fd, NULL));
	CHECK_INT(fstat(fd, &st), 0);
	CHECK_INT(st.st_uid, NOBODY);
	close(fd);
	leave_folder();
}

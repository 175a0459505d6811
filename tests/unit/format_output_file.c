/* New files: what another user puts into their way, at any time, is not replaced. */
#include "format/base/output_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "tests/unit/unit.h"

enum {
	NOBODY = 65534,
};

static void put(const char *path, const char *text, bool is_theirs)
{
	FILE *file = fopen(path, "w");
	CHECK(file);
	fputs(text, file);
	fclose(file);
	if (is_theirs)
		CHECK_INT(chown(path, NOBODY, NOBODY), 0);
}

static void want(const char *path, const char *text)
{
	char bytes[64] = "";
	int fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	CHECK(fd_read_fully(fd, bytes, sizeof(bytes) - 1) >= 0);
	close(fd);
	CHECK_STR(bytes, text);
}

static bool enter_folder(void)
{
	char folder[] = "/tmp/output-file-XXXXXX";
	CHECK(mkdtemp(folder));
	CHECK_INT(chdir(folder), 0);
	return geteuid() == 0;
}

static struct output_file *begin(bool keeps_old)
{
	struct output_file *file = NULL;
	struct output_file_options options = {.path = "out", .keeps_old = keeps_old};
	CHECK_OK(output_file_create(&options, &file));
	CHECK_OK(fd_write_all(output_file_fd(file), "new", 3));
	return file;
}

static void leave_folder(void)
{
	char path[64];
	CHECK(getcwd(path, sizeof(path)));
	unlink("out");
	unlink("out.old");
	CHECK_INT(rmdir(path), 0); /* no temporary file is left */
}

TEST(output_file_appears_and_replaces_its_own)
{
	enter_folder();
	for (int i = 0; i < 2; i++) {
		struct output_file *file = begin(i);
		CHECK_OK(output_file_publish(file));
		output_file_destroy(file);
		want("out", "new");
	}
	want("out.old", "new");
	output_file_destroy(begin(true)); /* not published: nothing happens */
	leave_folder();
}

TEST(output_file_replaces_no_file_that_came_late)
{
	if (enter_folder()) {
		struct output_file *file = begin(false);
		put("out", "theirs", true);
		CHECK_ERR(output_file_publish(file), ERR_PERMISSION, "belongs to user 65534");
		output_file_destroy(file);
		want("out", "theirs");
	}
	leave_folder();
}

TEST(output_file_replaces_no_link_that_came_late)
{
	struct stat st;
	enter_folder();
	struct output_file *file = begin(false);
	CHECK_INT(symlink("/nonexistent", "out"), 0);
	CHECK_ERR(output_file_publish(file), ERR_USAGE, "is a symbolic link");
	output_file_destroy(file);
	CHECK_INT(lstat("out", &st), 0);
	CHECK(S_ISLNK(st.st_mode));
	leave_folder();
}

TEST(output_file_replaces_no_old_file_that_came_late)
{
	if (enter_folder()) {
		put("out", "before", false);
		struct output_file *file = begin(true);
		put("out.old", "theirs", true);
		CHECK_ERR(output_file_publish(file), ERR_PERMISSION, "out.old belongs to user");
		output_file_destroy(file);
		want("out", "before");
		want("out.old", "theirs");
	}
	leave_folder();
}

TEST(output_file_appends_to_no_link)
{
	int fd = -1;
	struct output_file_options options = {.path = "out"};
	enter_folder();
	CHECK_OK(output_file_open_append(&options, &fd));
	close(fd);
	unlink("out");
	CHECK_INT(symlink("/nonexistent", "out"), 0);
	CHECK_ERR(output_file_open_append(&options, &fd), ERR_USAGE, "is a symbolic link");
	leave_folder();
}

static const char spared[] = "\x89RECORD\n";

/* What another command wrote is worth more than what this one makes. */
TEST(output_file_spares_what_begins_as_told)
{
	struct output_file_options options = {.path = "out",
		.spared_head = spared,
		.spared_as = "a recording",
		.spared_bytes = sizeof(spared) - 1};
	struct output_file *file;
	int fd;
	enter_folder();
	put("out", spared, false);
	CHECK_ERR(output_file_create(&options, &file), ERR_USAGE, "out is a recording; remove it");
	CHECK_ERR(output_file_open_append(&options, &fd), ERR_USAGE, "out is a recording");
	want("out", spared);
	put("out", "\x89REC", false);
	CHECK_OK(output_file_create(&options, &file));
	CHECK_OK(output_file_publish(file));
	output_file_destroy(file);
	leave_folder();
}

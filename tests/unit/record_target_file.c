#include "record/host/target_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* That a file is gone is no sign of a file system that may hang. */
TEST(a_file_that_is_gone_is_not_remote)
{
	struct stat st;
	struct target_files *files = target_files_create(false);
	uint32_t pid = (uint32_t)getpid();
	CHECK_INT(target_file_open_in_root(files, pid, "/tmp/there is no such file", &st), -1);
	CHECK_INT(errno, ENOENT);
	CHECK_INT(target_file_open_here(files, pid, "/tmp/there is no such file", &st), -1);
	CHECK_INT(errno, ENOENT);
	CHECK_INT(target_file_open_folder(files, pid, true, "/tmp/no such folder"), -1);
	CHECK_INT(errno, ENOENT);
	target_files_destroy(files);
}

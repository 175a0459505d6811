/* What servers answered, as libdebuginfod tells it. */
#include "report/name/debugfile/debuginfod_transfer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/name/debugfile/debuginfod_unfinished.h"
#include "tests/unit/unit.h"

static void check_log(const char *log, unsigned asked, unsigned unknown, bool is_refused)
{
	struct debuginfod_replies replies = debuginfod_transfer_read_log(log);
	CHECK_INT(replies.asked, asked);
	CHECK_INT(replies.unknown, unknown);
	CHECK_INT(replies.is_refused, is_refused);
}

#define ASK \
	"checking build-id\ninit server 0 http://one/buildid\ninit server 1 http://two/buildid\n"

TEST(only_404_and_410_say_that_nobody_knows)
{
	check_log("", 0, 0, false);
	check_log(ASK "header HTTP/1.1 404 Not Found\r\nheader HTTP/2 410 \r\n", 2, 2, false);
	check_log(ASK "header HTTP/1.1 404 Not Found\nheader HTTP/1.1 500 Oops\n", 2, 1, true);
	check_log(ASK "header HTTP/2 429 \n", 2, 0, true);
	check_log(
		ASK "header HTTP/1.1 404 Not Found\n", 2, 1, false); /* the other: no connection */
	check_log(ASK "header HTTP/1.1 302 Found\nheader HTTP/1.1 404 -\n", 2, 1, false);
	check_log(ASK "header Content-Length: 500\nheader X: HTTP/1.1 500\nheader HTTP/", 2, 0,
		false);
}

/* A server without sections is asked for the whole file. */
TEST(the_last_query_counts)
{
	check_log(ASK "header HTTP/1.1 503 -\n" ASK
		      "header HTTP/1.1 404 -\nheader HTTP/1.1 404 -\n",
		2, 2, false);
}

TEST(unfinished_files_are_told_by_their_names)
{
	CHECK(debuginfod_unfinished_is("/c/0123456789abcdef/section-.debug_str.aB3dE5"));
	CHECK(debuginfod_unfinished_is("/c/0123456789abcdef/debuginfo.aB3dE5"));
	CHECK(!debuginfod_unfinished_is("/c/0123456789abcdef/debuginfo"));
	CHECK(!debuginfod_unfinished_is("/c/0123456789abcdef/section-.symtab.aB3dE"));
	CHECK(!debuginfod_unfinished_is("/c/0123456789abcdef/debuginfo.aB3dE5 (deleted)"));
	CHECK(!debuginfod_unfinished_is("/c/cafe/debuginfo.aB3dE5"));
	CHECK(!debuginfod_unfinished_is("/c/program/debuginfo.aB3dE5"));
	CHECK(!debuginfod_unfinished_is("0123456789abcdef/debuginfo.aB3dE5"));
	CHECK(!debuginfod_unfinished_is("socket:[12345]"));
	CHECK(!debuginfod_unfinished_is(""));
}

TEST(unfinished_files_of_this_process_are_removed)
{
	char folder[] = "/tmp/ebprof-unit-XXXXXX", path[64], mine[96], other[96];
	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/0123456789abcdef", folder);
	snprintf(mine, sizeof(mine), "%s/debuginfo.aaaaaa", path);
	snprintf(other, sizeof(other), "%s/debuginfo.bbbbbb", path);
	CHECK_INT(mkdir(path, 0700), 0);
	int fd = open(mine, O_CREAT | O_WRONLY, 0600);
	close(open(other, O_CREAT | O_WRONLY, 0600));
	debuginfod_unfinished_remove();
	CHECK(access(mine, F_OK) != 0);
	CHECK_INT(access(other, F_OK), 0); /* nobody's, or another report's */
	close(fd);
	unlink(other);
	rmdir(path);
	rmdir(folder);
}

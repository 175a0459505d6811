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

static uint64_t announced(const char *log)
{
	return debuginfod_transfer_read_log(log).content_bytes;
}

TEST(a_length_counts_unless_there_is_a_transfer_encoding)
{
	CHECK_INT(announced(ASK), 0);
	CHECK_INT(announced(ASK "header Content-Length: 500\r\nheader content-length: 7\n"), 500);
	CHECK_INT(announced(ASK "header Content-Length: 500\n" ASK), 0);
	CHECK_INT(announced(ASK "header Content-Length: x\n"), 0);
	CHECK_INT(announced(ASK "header Content-Length: 500\nheader Transfer-Encoding: chunked\n"),
		0);
}

TEST(an_unfinished_file_of_a_build_id_is_measured)
{
	static const uint8_t id[] = {0x01, 0x23, 0xab, 0xcd}, other[] = {0x01, 0x23, 0xab, 0xce};
	char folder[] = "/tmp/unfinished-XXXXXX";
	CHECK(mkdtemp(folder));
	CHECK_INT(chdir(folder), 0);
	CHECK_INT(mkdir("0123abcd", 0700), 0);
	CHECK_INT(debuginfod_unfinished_bytes(id, sizeof(id)), 0);
	int fd = open("0123abcd/section-.debug_info.aB3xYz", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	CHECK_INT(ftruncate(fd, 12345), 0);
	CHECK_INT(debuginfod_unfinished_bytes(id, sizeof(id)), 12345);
	CHECK_INT(debuginfod_unfinished_bytes(other, sizeof(other)), 0);
	debuginfod_unfinished_remove();
	CHECK_INT(rmdir("0123abcd"), 0);
	CHECK_INT(rmdir(folder), 0);
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
	CHECK_INT(access(other, F_OK), 0); /* of no report, or of another one */
	close(fd);
	unlink(other);
	rmdir(path);
	rmdir(folder);
}

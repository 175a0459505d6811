/* What servers answered, as libdebuginfod tells it. */
#include "report/debugfile/debuginfod_transfer.h"
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

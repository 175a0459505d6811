/* Descriptors that another process closes: this one has none of them, and that one none but them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/host/slow_close.h"
#include "tests/unit/unit.h"

static bool is_closed(int fd)
{
	return fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

static bool has_ended(int pipe_end)
{
	char byte;
	return read(pipe_end, &byte, 1) == 0;
}

TEST(all_are_closed_here_and_then_there)
{
	int first[2], second[2];
	CHECK(!pipe(first) && !pipe(second));
	int fds[] = {second[1], first[1]};
	slow_close(fds, 2);
	CHECK(is_closed(first[1]) && is_closed(second[1]));
	CHECK(has_ended(first[0]) && has_ended(second[0]));
	int status = -1;
	CHECK(wait(&status) > 0);
	CHECK(status == 0);
}

TEST(others_are_not_held_there)
{
	int slow[2], other[2];
	CHECK(!pipe(slow) && !pipe(other));
	slow_close(&slow[1], 1);
	close(other[1]);
	CHECK(has_ended(other[0]));
	CHECK(has_ended(slow[0]));
}

TEST(none_needs_no_process)
{
	slow_close(NULL, 0);
	CHECK(wait(NULL) < 0 && errno == ECHILD);
}

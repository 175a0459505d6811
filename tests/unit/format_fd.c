/* Reading and writing in spite of signals, and of pipes that give and take a piece at a time. */
#include "format/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "tests/unit/unit.h"

enum {
	WHOLE = 300000, /* more than a pipe holds */
	PIECE = 1000,
};

static volatile sig_atomic_t nr_signals;

static void count_signal(int number)
{
	(void)number;
	nr_signals = nr_signals + 1;
}

/* System calls are not begun again after it: they fail by EINTR. */
static void be_interrupted(void)
{
	struct sigaction action = {.sa_handler = count_signal};
	sigaction(SIGUSR1, &action, NULL);
}

static void fill(uint8_t *bytes)
{
	for (size_t i = 0; i < WHOLE; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
}

TEST(reading_fully_takes_pieces_and_bears_signals)
{
	int fds[2];
	CHECK(pipe(fds) == 0);
	be_interrupted();
	CLEANUP_FREE uint8_t *want = mem_alloc(WHOLE), *got = mem_zalloc(WHOLE + 1);
	fill(want);
	pid_t child = fork();
	if (child == 0) {
		for (size_t at = 0; at < WHOLE; at += PIECE) {
			kill(getppid(), SIGUSR1);
			if (write(fds[1], want + at, PIECE) != PIECE)
				_exit(1);
		}
		_exit(0);
	}
	close(fds[1]);
	CHECK_INT(fd_read_fully(fds[0], got, WHOLE), WHOLE);
	CHECK(memcmp(got, want, WHOLE) == 0);
	CHECK_INT(fd_read_fully(fds[0], got, 1), 0); /* the end */
	CHECK_INT(fd_read(fds[0], got, 1), 0);
	CHECK(nr_signals > 0);
	int status = -1;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	CHECK_INT(status, 0);
	close(fds[0]);
}

TEST(writing_all_bears_signals_and_slow_readers)
{
	int fds[2];
	CHECK(pipe(fds) == 0);
	be_interrupted();
	CLEANUP_FREE uint8_t *bytes = mem_alloc(WHOLE), *got = mem_alloc(WHOLE);
	fill(bytes);
	pid_t child = fork();
	if (child == 0) {
		close(fds[1]);
		size_t len = 0;
		for (ssize_t count = 1; count > 0 && len < WHOLE; len += (size_t)count) {
			kill(getppid(), SIGUSR1);
			count = read(fds[0], got + len, len + PIECE < WHOLE ? PIECE : WHOLE - len);
		}
		_exit(len != WHOLE || memcmp(got, bytes, WHOLE) != 0);
	}
	close(fds[0]);
	CHECK_OK(fd_write_all(fds[1], bytes, WHOLE));
	close(fds[1]);
	int status = -1;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	CHECK_INT(status, 0);
	CHECK(nr_signals > 0);
}

TEST(a_file_that_ends_early_gives_what_it_has)
{
	int fds[2];
	char got[8] = "";
	CHECK(pipe(fds) == 0);
	CHECK_OK(fd_write_all(fds[1], "abc", 3));
	CHECK_OK(fd_write_all(fds[1], NULL, 0));
	close(fds[1]);
	CHECK_INT(fd_read_fully(fds[0], got, sizeof(got)), 3);
	CHECK_STR(got, "abc");
	CHECK_INT(fd_read_fully(fds[0], got, 0), 0);
	close(fds[0]);
}

TEST(what_cannot_be_read_or_written_says_why)
{
	char byte;
	CHECK_INT(fd_read(-1, &byte, 1), -1);
	CHECK_INT(errno, EBADF);
	CHECK_INT(fd_read_fully(-1, &byte, 1), -1);
	CHECK_INT(errno, EBADF);
	CHECK_ERR(fd_write_all(-1, "x", 1), ERR_IO, "cannot write: Bad file descriptor");
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	CHECK_ERR(fd_write_all(full, "x", 1), ERR_IO, "No space left");
	close(full);
}

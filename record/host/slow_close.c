#include "record/host/slow_close.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int compare_descriptors(const void *a, const void *b)
{
	const int *first = a, *second = b;
	return (*first > *second) - (*first < *second);
}

static void close_descriptors(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

/*
 * Once the parent has closed them, which its end of the pipe tells: the last close waits. All
 * others go first: some process may wait for the end of a pipe. Nothing is called that may need a
 * lock which a thread of the parent's held.
 */
static _Noreturn void close_in_child(const int *fds, size_t count, const int pipe_ends[2])
{
	char byte;
	unsigned from = 0;
	close(pipe_ends[1]);
	while (read(pipe_ends[0], &byte, 1) > 0)
		;
	for (size_t i = 0; i < count; i++) {
		unsigned fd = (unsigned)fds[i];
		if (fd > from)
			syscall(SYS_close_range, from, fd - 1, 0U);
		from = fd + 1;
	}
	syscall(SYS_close_range, from, ~0U, 0U);
	_exit(0); /* which closes these */
}

void slow_close(int *fds, size_t count)
{
	int pipe_ends[2];
	if (!count)
		return;
	qsort(fds, count, sizeof(*fds), compare_descriptors);
	if (pipe2(pipe_ends, O_CLOEXEC)) {
		close_descriptors(fds, count);
		return;
	}
	if (fork() == 0)
		close_in_child(fds, count, pipe_ends);
	close_descriptors(fds, count);
	close_descriptors(pipe_ends, 2);
}

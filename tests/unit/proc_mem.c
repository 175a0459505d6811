/*
 * process_vm_readv(2) of unit tests that run under qemu-user, which has no such call: it reads
 * /proc/PID/mem instead, where an emulated program's addresses are what they are in it. Linked by
 * --wrap, and only into programs that are built for another machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

/* ld's names. NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
	const struct iovec *remote, unsigned long nr_remote, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
	const struct iovec *remote, unsigned long nr_remote, unsigned long flags);

/* Goes over both lists in step; `pid`'s memory ends where a piece cannot be read, as the call does.
 */
static ssize_t read_proc_mem(int file, const struct iovec *local, unsigned long nr_local,
	const struct iovec *remote, unsigned long nr_remote)
{
	size_t at_local = 0, at_remote = 0;
	ssize_t sum = 0;
	while (nr_local && nr_remote) {
		size_t left_local = local->iov_len - at_local;
		size_t left_remote = remote->iov_len - at_remote;
		size_t len = left_local < left_remote ? left_local : left_remote;
		ssize_t got = len ? pread(file, (char *)local->iov_base + at_local, len,
					    (off_t)((uintptr_t)remote->iov_base + at_remote))
				  : 0;
		if (got < 0 || (size_t)got < len) {
			sum += got > 0 ? got : 0;
			if (!sum)
				errno = EFAULT;
			return sum ? sum : -1;
		}
		sum += got;
		at_local += len;
		at_remote += len;
		if (at_local == local->iov_len) {
			local++, nr_local--, at_local = 0;
		}
		if (at_remote == remote->iov_len) {
			remote++, nr_remote--, at_remote = 0;
		}
	}
	return sum;
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr_local,
	const struct iovec *remote, unsigned long nr_remote, unsigned long flags)
{
	char path[32];
	ssize_t got = __real_process_vm_readv(pid, local, nr_local, remote, nr_remote, flags);
	if (got >= 0 || errno != ENOSYS)
		return got;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0) {
		errno = errno == ENOENT ? ESRCH : EPERM;
		return -1;
	}
	got = read_proc_mem(file, local, nr_local, remote, nr_remote);
	int error = errno;
	close(file);
	errno = error;
	return got;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

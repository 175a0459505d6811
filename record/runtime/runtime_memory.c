#include "record/runtime/runtime_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "record/host/proc.h"

static bool read_thread(uint32_t tid, uint64_t address, void *to, size_t len)
{
	struct iovec local = {to, len}, remote = {(void *)(uintptr_t)address, len};
	return process_vm_readv((pid_t)tid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

bool runtime_read_process(uint32_t pid, uint64_t address, void *to, size_t len)
{
	if (read_thread(pid, address, to, len))
		return true;
	uint32_t tid = errno == ESRCH ? proc_living_thread(pid) : pid;
	return tid != pid && read_thread(tid, address, to, len);
}

void runtime_read_parts(
	uint32_t pid, const uint64_t *addresses, size_t count, size_t len, uint8_t *to)
{
	struct iovec local, remote[RUNTIME_MAX_PARTS] = {{0}};
	for (size_t i = 0; i < count; i++)
		remote[i] = (struct iovec){(void *)(uintptr_t)addresses[i], len};
	for (size_t i = 0; i < count; i++) {
		local = (struct iovec){to + i * len, (count - i) * len};
		ssize_t got = process_vm_readv((pid_t)pid, &local, 1, remote + i, count - i, 0);
		i += got < 0 ? 0 : (size_t)got / len;
		if (i < count && !runtime_read_process(pid, addresses[i], to + i * len, len))
			memset(to + i * len, 0, len);
	}
}

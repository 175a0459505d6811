#include "record/runtime/runtime_memory.h"

#include <errno.h>
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

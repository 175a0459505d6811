#include "record/runtime/runtime_memory.h"

#include <sys/uio.h>

bool runtime_read_process(uint32_t pid, uint64_t address, void *to, size_t len)
{
	struct iovec local = {to, len}, remote = {(void *)(uintptr_t)address, len};
	return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

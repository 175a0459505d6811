#include "record/vm/runtime.h"

#include <sys/uio.h>

const struct vm_runtime *vm_runtime(enum vm_kind kind)
{
	static const struct vm_runtime *const runtimes[VM_KINDS_END] = {
#define X(constant, number, name) [constant] = &name##_runtime,
		VM_KINDS(X)
#undef X
	};
	return kind < VM_KINDS_END ? runtimes[kind] : NULL;
}

bool vm_read_process(uint32_t pid, uint64_t address, void *to, size_t len)
{
	struct iovec local = {to, len}, remote = {(void *)(uintptr_t)address, len};
	return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

#include "tests/unit/emulate/memory.h"

#include <bpf/bpf_helpers.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/vec.h"
#include "tests/unit/emulate/kernel.h"

enum {
	KERNEL_BYTES = 4 << 20,
	ALIGNMENT = 256,
};

struct region {
	uint64_t address;
	const uint8_t *bytes;
	size_t len;
};

static struct {
	uint8_t bytes[KERNEL_BYTES] __attribute__((aligned(ALIGNMENT)));
	size_t used;
} kernel;
static struct region variable, entry_stack;
static VEC(struct region) user;

void *emulate_kernel_memory(size_t bytes)
{
	uint8_t *ret = kernel.bytes + kernel.used;
	kernel.used += (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (kernel.used > KERNEL_BYTES)
		__builtin_trap(); /* a fixture larger than this is not meant to be */
	return ret;
}

void emulate_program_variable(const void *place, size_t bytes)
{
	variable = (struct region){(uint64_t)place, place, bytes};
}

void emulate_entry_stack(uint64_t address, const void *bytes, size_t len)
{
	entry_stack = (struct region){address, bytes, len};
}

void emulate_memory(uint64_t address, const void *bytes, size_t len)
{
	vec_push(&user, (struct region){address, bytes, len});
}

/* As the kernel does: what cannot be read is zeroed, all of it. */
static long fail(void *to, unsigned int bytes)
{
	memset(to, 0, bytes);
	return -EFAULT;
}

long bpf_probe_read_kernel(void *to, unsigned int bytes, const void *from)
{
	uint64_t at = (uint64_t)from - (uint64_t)kernel.bytes;
	uint64_t inside = (uint64_t)from - variable.address;
	bool is_variable = inside <= variable.len && bytes <= variable.len - inside;
	uint64_t on_entry = (uint64_t)from - entry_stack.address;
	if (on_entry <= entry_stack.len && bytes <= entry_stack.len - on_entry) {
		memcpy(to, entry_stack.bytes + on_entry, bytes);
		return 0;
	}
	if (!is_variable && (at > kernel.used || bytes > kernel.used - at))
		return fail(to, bytes);
	memcpy(to, from, bytes);
	return 0;
}

long bpf_probe_read_kernel_str(void *to, unsigned int bytes, const void *from)
{
	long len = 0;
	while (len + 1 < (long)bytes &&
		!bpf_probe_read_kernel((char *)to + len, 1, (const char *)from + len) &&
		((char *)to)[len])
		len++;
	((char *)to)[len] = 0;
	return len + 1;
}

/* Regions may adjoin: word by word would do, whole pieces are quicker. */
static size_t read_piece(uint8_t *to, size_t bytes, uint64_t from)
{
	vec_each(&user, region) {
		uint64_t at = from - region->address;
		if (at >= region->len)
			continue;
		if (bytes > region->len - at)
			bytes = region->len - at;
		memcpy(to, region->bytes + at, bytes);
		return bytes;
	}
	return 0;
}

long bpf_probe_read_user(void *to, unsigned int bytes, const void *from)
{
	emulated.user_reads++;
	for (size_t done = 0; done < bytes;) {
		size_t piece =
			read_piece((uint8_t *)to + done, bytes - done, (uint64_t)from + done);
		if (!piece)
			return fail(to, bytes);
		done += piece;
	}
	return 0;
}

long bpf_copy_from_user_task(void *to, unsigned int bytes, const void *from,
	struct task_struct *task, unsigned long long flags)
{
	(void)task, (void)flags; /* there is one process */
	return bpf_probe_read_user(to, bytes, from);
}

/* The bytes up to the zero, that included; the last one is a zero even if the text goes on. */
long bpf_probe_read_user_str(void *to, unsigned int bytes, const void *from)
{
	char *text = to;
	emulated.user_reads++;
	for (unsigned int i = 0; i + 1 < bytes; i++) {
		if (!read_piece((uint8_t *)text + i, 1, (uint64_t)from + i))
			return fail(to, bytes);
		if (!text[i])
			return i + 1;
	}
	text[bytes - 1] = '\0';
	return bytes;
}

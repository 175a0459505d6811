/* Perf maps: the first byte says how dense the wanted addresses are. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "record/perf_map.h"
#include "tests/unit/forged.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct check {
	const uint64_t *addresses;
	size_t count;
	uint64_t sum;
};

/* Whatever is told holds one of the addresses. */
static void on_entry(void *context, const struct perf_map_entry *entry)
{
	struct check *check = context;
	size_t i = 0;
	while (i < check->count && check->addresses[i] - entry->start >= entry->size)
		i++;
	if (i == check->count)
		abort();
	for (i = 0; i < entry->name_len; i++)
		check->sum += (uint8_t)entry->name[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	enum {
		COUNT = 100
	};
	uint64_t addresses[COUNT];
	if (!len)
		return 0;
	for (uint64_t i = 0; i < COUNT; i++)
		addresses[i] = 0x1000 + i * (1 + bytes[0]);
	struct check check = {addresses, COUNT, 0};
	int fd = forged_fd(bytes + 1, len - 1);
	perf_map_read(fd, addresses, COUNT, on_entry, &check);
	close(fd);
	return 0;
}

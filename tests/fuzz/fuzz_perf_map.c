/* Perf maps: the first byte says how dense the wanted addresses are. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/generated/perf_map.h"
#include "tests/unit/forged.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct check {
	const uint64_t *addresses;
	uint64_t *times; /* of each, the newest that was told */
	size_t count;
	uint64_t sum;
};

/* Each function that it reports holds one of the addresses. */
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

/* Each address's functions in the order of their times. */
static void on_place(void *context, const struct code_place *place)
{
	struct check *check = context;
	if (place->index >= check->count || place->address != check->addresses[place->index] ||
		place->start > place->address || place->time_ns < check->times[place->index])
		abort();
	check->times[place->index] = place->time_ns;
	check->sum += strlen(place->name);
}

/* As if the recorder had looked at it now and then. */
static void grow(struct file_growth *growth, size_t len)
{
	enum {
		STEPS = 7
	};
	for (uint64_t i = 0; i <= STEPS; i++)
		file_growth_note(growth, len * i / STEPS, 2 * i, 2 * i + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	enum {
		COUNT = 100
	};
	uint64_t addresses[COUNT], first_ns[COUNT], times[COUNT] = {0};
	struct file_growth growth = {0};
	if (!len)
		return 0;
	for (uint64_t i = 0; i < COUNT; i++)
		addresses[i] = 0x1000 + i * (1 + bytes[0]), first_ns[i] = i % 16;
	struct check check = {addresses, times, COUNT, 0};
	int fd = forged_fd(bytes + 1, len - 1);
	grow(&growth, len - 1);
	struct perf_map_wanted wanted = {addresses, first_ns, COUNT};
	struct perf_map_names names = {on_entry, on_place, &check};
	perf_map_read(fd, &growth, &wanted, UINT32_MAX, &names);
	file_growth_deinit(&growth);
	close(fd);
	return 0;
}

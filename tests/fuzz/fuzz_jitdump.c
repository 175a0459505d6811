/* Jitdumps: the first byte says how dense the wanted addresses are. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/generated/jitdump.h"
#include "tests/unit/forged.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	COUNT = 100
};

struct check {
	uint64_t addresses[COUNT];
	size_t told;
};

static void on_place(void *context, const struct code_place *place)
{
	struct check *check = context;
	bool is_wanted = place->index < COUNT && check->addresses[place->index] == place->address;
	if (!is_wanted || !place->name[0])
		abort();
	check->told += strlen(place->name) + (place->file ? strlen(place->file) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (!len)
		return 0;
	struct check check = {.told = 0};
	for (uint64_t i = 0; i < COUNT; i++)
		check.addresses[i] = 0x1000 + i * (1 + bytes[0]);
	int fd = forged_fd(bytes + 1, len - 1);
	jitdump_read(fd, check.addresses, COUNT, UINT32_MAX, on_place, &check);
	close(fd);
	return 0;
}

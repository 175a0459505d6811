#include "record/label/block_device.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/path.h"

/* /sys/dev/block/8:0 is a link to a folder that is called as the disk is. */
static char *read_device_name(uint32_t number)
{
	char link[64], folder[PATH_MAX];
	uint32_t major = number >> EVENT_DEVICE_MINOR_BITS;
	uint32_t minor = number & ((1U << EVENT_DEVICE_MINOR_BITS) - 1);
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major, minor);
	ssize_t len = readlink(link, folder, sizeof(folder) - 1);
	if (len <= 0)
		return mem_strdup(path_last_part(link));
	folder[len] = 0;
	return mem_strdup(path_last_part(folder));
}

const char *block_devices_name(struct block_devices *devices, uint32_t number)
{
	uint64_t *index = map_put(&devices->by_number, number, NULL);
	if (!*index) {
		vec_push(&devices->names, read_device_name(number));
		*index = devices->names.len;
	}
	return devices->names.data[*index - 1];
}

static const char *block_operation_name(uint32_t operation)
{
	static const char *const names[EVENT_BLOCK_OPERATIONS] = {
		[EVENT_BLOCK_READ] = "read",
		[EVENT_BLOCK_WRITE] = "write",
		[EVENT_BLOCK_FLUSH] = "flush",
		[EVENT_BLOCK_DISCARD] = "discard",
		[EVENT_BLOCK_OTHER] = "other",
	};
	return names[operation < EVENT_BLOCK_OTHER ? operation : EVENT_BLOCK_OTHER];
}

static uint32_t add_text_label(
	struct label_table *labels, uint32_t set, const char *key, const char *text)
{
	return label_table_add(
		labels, set, key, strlen(key), LAYOUT_LABEL_TEXT, text, strlen(text));
}

uint32_t block_devices_label(struct block_devices *devices, struct label_table *labels,
	uint32_t set, const struct event_sample *sample)
{
	if (sample->device)
		set = add_text_label(
			labels, set, "disk", block_devices_name(devices, sample->device));
	return add_text_label(labels, set, "io", block_operation_name(sample->operation));
}

void block_devices_deinit(struct block_devices *devices)
{
	map_deinit(&devices->by_number);
	vec_each(&devices->names, name)
		mem_free(*name);
	vec_deinit(&devices->names);
}

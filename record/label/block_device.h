/* Requests to disks, as labels of samples: the disk's name, and what it was to do. */
#ifndef EBPROF_BLOCK_DEVICE_H
#define EBPROF_BLOCK_DEVICE_H

#include <stdint.h>

#include "bpf/event.h"
#include "format/base/map.h"
#include "format/base/vec.h"
#include "record/label/label_table.h"

/* {0}: none is known yet. */
struct block_devices {
	struct map by_number; /* -> index + 1 of: */
	VEC(char *) names;
};

/*
 * "sda", as /sys has it when the number is first asked for, or "8:0" where that has none. Borrowed.
 */
const char *block_devices_name(struct block_devices *devices, uint32_t number);
/* The set of labels with "disk" and "io" of the sample's request more. */
uint32_t block_devices_label(struct block_devices *devices, struct label_table *labels,
	uint32_t set, const struct event_sample *sample);
void block_devices_deinit(struct block_devices *devices);

#endif

/* Disks and what was asked of them, as labels; and the stacks that come ahead of their samples. */
#include "record/label/block_device.h"

#include <string.h>

#include "record/early_stacks.h"
#include "tests/unit/unit.h"

TEST(a_device_without_a_name_has_its_numbers)
{
	struct block_devices devices = {0};
	uint32_t number = 4095U << EVENT_DEVICE_MINOR_BITS | 77;
	CHECK_STR(block_devices_name(&devices, number), "4095:77");
	CHECK(block_devices_name(&devices, number) == block_devices_name(&devices, number));
	CHECK_INT(devices.names.len, 1);
	block_devices_deinit(&devices);
}

TEST(a_request_has_two_labels)
{
	struct block_devices devices = {0};
	struct label_table labels = {0};
	struct event_sample sample = {
		.device = 4095U << EVENT_DEVICE_MINOR_BITS | 1, .operation = EVENT_BLOCK_FLUSH};
	uint32_t set = block_devices_label(&devices, &labels, 0, &sample);
	CHECK(set);
	CHECK_INT(block_devices_label(&devices, &labels, 0, &sample), set);
	CHECK(labels.sets.data[set].rest);
	sample.device = 0; /* of no disk */
	set = block_devices_label(&devices, &labels, 0, &sample);
	CHECK(set && !labels.sets.data[set].rest);
	label_table_deinit(&labels);
	block_devices_deinit(&devices);
}

TEST(an_early_stack_is_taken_once)
{
	struct early_stacks early = {0};
	struct early_stack stack = {.user = 3}, found = {0};
	CHECK(!early_stacks_take(&early, 5, &found));
	early_stacks_put(&early, 5, &stack);
	stack.user = 4;
	early_stacks_put(&early, 6, &stack);
	CHECK(early_stacks_take(&early, 5, &found));
	CHECK_INT(found.user, 3);
	CHECK(!early_stacks_take(&early, 5, &found));
	stack.user = 7;
	early_stacks_put(&early, 8, &stack);
	CHECK(early_stacks_take(&early, 6, &found));
	CHECK_INT(found.user, 4);
	CHECK(early_stacks_take(&early, 8, &found));
	CHECK_INT(found.user, 7);
	CHECK_INT(early.stacks.len, 2); /* places are used again */
	early_stacks_deinit(&early);
}

/* Where their samples never come. */
TEST(early_stacks_are_bounded)
{
	struct early_stacks early = {0};
	struct early_stack stack = {.user = 3}, found;
	for (uint64_t number = 1; number <= EARLY_STACKS_MAX + 1; number++)
		early_stacks_put(&early, number, &stack);
	CHECK(!early_stacks_take(&early, 1, &found));
	CHECK(early_stacks_take(&early, EARLY_STACKS_MAX + 1, &found));
	early_stacks_deinit(&early);
}

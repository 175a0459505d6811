#include "format/file/columns.h"

#include <string.h>

#include "format/base/map.h"

enum {
	TIME_UNIT_NS =
		1000, /* of the time column: a microsecond takes a byte less than a nanosecond */
};

/* ---- frames ---- */

/* Most recordings hold no frame with a flag, and then no column. */
static void put_frame_flags(
	struct bytes_buf *payload, const struct layout_frame *frames, size_t count)
{
	struct bytes_buf flags = {0};
	bool any = false;
	for (size_t i = 0; i < count; i++) {
		bytes_put_varint(&flags, frames[i].flags);
		any |= frames[i].flags != 0;
	}
	if (any) {
		bytes_put_varint(payload, LAYOUT_FRAME_COLUMN_FLAGS);
		bytes_put_blob(payload, flags.data, flags.len);
	}
	bytes_buf_deinit(&flags);
}

void columns_put_frames(struct bytes_buf *payload, uint32_t first_id,
	const struct layout_frame *frames, size_t count)
{
	bytes_put_varint(payload, first_id);
	bytes_put_varint(payload, count);
	for (size_t i = 0; i < count; i++)
		bytes_put_varint(payload, frames[i].object);
	struct map last_offset = {0};
	for (size_t i = 0; i < count; i++) {
		uint64_t *last = map_put(&last_offset, frames[i].object, NULL);
		bytes_put_zigzag(payload, (int64_t)(frames[i].offset - *last));
		*last = frames[i].offset;
	}
	map_deinit(&last_offset);
	put_frame_flags(payload, frames, count);
}

/* ---- nodes ---- */

void columns_put_nodes(
	struct bytes_buf *payload, uint32_t first_id, const struct layout_node *nodes, size_t count)
{
	bytes_put_varint(payload, first_id);
	bytes_put_varint(payload, count);
	for (size_t i = 0; i < count; i++) {
		uint32_t back = first_id + (uint32_t)i - nodes[i].parent;
		bytes_put_varint(payload, nodes[i].parent ? back : 0);
	}
	uint32_t last = 0;
	for (size_t i = 0; i < count; i++) {
		bytes_put_zigzag(payload, (int64_t)nodes[i].frame - last);
		last = nodes[i].frame;
	}
}

/* ---- samples ---- */

static void columns_put_column(
	struct bytes_buf *payload, enum layout_sample_column column, struct bytes_buf *values)
{
	bytes_put_varint(payload, column);
	bytes_put_blob(payload, values->data, values->len);
	values->len = 0;
}

static uint32_t field_at(const struct layout_sample *sample, size_t field_offset)
{
	uint32_t value;
	memcpy(&value, (const char *)sample + field_offset, sizeof(value));
	return value;
}

/* The columns that stand as they are: any 32-bit field of a sample. */
static void put_field_column(struct bytes_buf *payload, enum layout_sample_column column,
	const struct layout_sample *samples, size_t count, size_t field_offset)
{
	struct bytes_buf values = {0};
	for (size_t i = 0; i < count; i++)
		bytes_put_varint(&values, field_at(&samples[i], field_offset));
	columns_put_column(payload, column, &values);
	bytes_buf_deinit(&values);
}

/* The columns of differences; one that is optional is left out where it holds zeros alone. */
static void put_difference_column(struct bytes_buf *payload, enum layout_sample_column column,
	const struct layout_sample *samples, size_t count, size_t field_offset)
{
	struct bytes_buf values = {0};
	uint32_t last = 0;
	bool any = column == LAYOUT_COLUMN_USER_STACK;
	for (size_t i = 0; i < count; i++) {
		uint32_t value = field_at(&samples[i], field_offset);
		bytes_put_zigzag(&values, (int64_t)value - last);
		last = value;
		any |= value != 0;
	}
	if (any)
		columns_put_column(payload, column, &values);
	bytes_buf_deinit(&values);
}

/* Differences of the time in units. */
static void put_time_column(
	struct bytes_buf *payload, const struct layout_sample *samples, size_t count)
{
	struct bytes_buf values = {0};
	uint64_t last_time = samples[0].time_ns / TIME_UNIT_NS;
	for (size_t i = 0; i < count; i++) {
		uint64_t time = samples[i].time_ns / TIME_UNIT_NS;
		bytes_put_zigzag(&values, (int64_t)(time - last_time));
		last_time = time;
	}
	columns_put_column(payload, LAYOUT_COLUMN_TIME, &values);
	bytes_buf_deinit(&values);
}

static void put_weight_column(
	struct bytes_buf *payload, const struct layout_sample *samples, size_t count)
{
	struct bytes_buf values = {0};
	bool weighted = false;
	for (size_t i = 0; i < count; i++) {
		bytes_put_varint(&values, samples[i].weight);
		weighted |= samples[i].weight != 1;
	}
	if (weighted)
		columns_put_column(payload, LAYOUT_COLUMN_WEIGHT, &values);
	bytes_buf_deinit(&values);
}

/* Differences to the weight, where any sample has one. */
static void put_measured_column(
	struct bytes_buf *payload, const struct layout_sample *samples, size_t count)
{
	struct bytes_buf values = {0};
	bool differs = false;
	for (size_t i = 0; i < count; i++) {
		uint64_t measured = layout_sample_measured(&samples[i]);
		bytes_put_zigzag(&values, (int64_t)(measured - samples[i].weight));
		differs |= measured != samples[i].weight;
	}
	if (differs)
		columns_put_column(payload, LAYOUT_COLUMN_MEASURED, &values);
	bytes_buf_deinit(&values);
}

void columns_put_samples(
	struct bytes_buf *payload, const struct layout_sample *samples, size_t count)
{
	bytes_put_varint(payload, samples[0].event);
	bytes_put_varint(payload, count);
	bytes_put_varint(payload, samples[0].time_ns / TIME_UNIT_NS);
	bytes_put_varint(payload, TIME_UNIT_NS);
	put_time_column(payload, samples, count);
	put_difference_column(payload, LAYOUT_COLUMN_USER_STACK, samples, count,
		offsetof(struct layout_sample, user_stack));
	put_field_column(payload, LAYOUT_COLUMN_THREAD, samples, count,
		offsetof(struct layout_sample, thread));
	put_field_column(
		payload, LAYOUT_COLUMN_CPU, samples, count, offsetof(struct layout_sample, cpu));
	put_field_column(payload, LAYOUT_COLUMN_KERNEL_STACK, samples, count,
		offsetof(struct layout_sample, kernel_stack));
	put_weight_column(payload, samples, count);
	put_measured_column(payload, samples, count);
	put_field_column(payload, LAYOUT_COLUMN_SYSCALL, samples, count,
		offsetof(struct layout_sample, syscall));
	put_field_column(payload, LAYOUT_COLUMN_WAKER, samples, count,
		offsetof(struct layout_sample, waker));
	put_field_column(payload, LAYOUT_COLUMN_WAKER_USER_STACK, samples, count,
		offsetof(struct layout_sample, waker_user_stack));
	put_field_column(payload, LAYOUT_COLUMN_WAKER_KERNEL_STACK, samples, count,
		offsetof(struct layout_sample, waker_kernel_stack));
	put_difference_column(payload, LAYOUT_COLUMN_SNAPSHOT, samples, count,
		offsetof(struct layout_sample, snapshot));
	put_difference_column(payload, LAYOUT_COLUMN_LABELS, samples, count,
		offsetof(struct layout_sample, labels));
}

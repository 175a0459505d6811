#include "format/file/sample_decoder.h"

#include "format/base/vec.h"

enum {
	/* What is decoded ahead of one chunk: of several seconds of a large machine. */
	AHEAD_SAMPLES = 16 << 10,
};

static const char too_few_times[] = "more samples than times";

static const char *get_columns(struct bytes_cursor *cursor, struct sample_columns *ret)
{
	while (bytes_left(cursor)) {
		uint64_t column = bytes_get_varint(cursor);
		struct bytes_cursor values = bytes_get_record(cursor);
		if (cursor->overrun)
			return FAULT_OVERRUN;
		switch (column) {
		case LAYOUT_COLUMN_TIME:
			ret->time = values;
			break;
		case LAYOUT_COLUMN_THREAD:
			ret->thread = values;
			break;
		case LAYOUT_COLUMN_CPU:
			ret->cpu = values;
			break;
		case LAYOUT_COLUMN_USER_STACK:
			ret->user_stack = values;
			break;
		case LAYOUT_COLUMN_KERNEL_STACK:
			ret->kernel_stack = values;
			break;
		case LAYOUT_COLUMN_WEIGHT:
			ret->weight = values;
			break;
		case LAYOUT_COLUMN_MEASURED:
			ret->measured = values;
			break;
		case LAYOUT_COLUMN_SYSCALL:
			ret->syscall = values;
			break;
		case LAYOUT_COLUMN_WAKER:
			ret->waker = values;
			break;
		case LAYOUT_COLUMN_WAKER_USER_STACK:
			ret->waker_user_stack = values;
			break;
		case LAYOUT_COLUMN_WAKER_KERNEL_STACK:
			ret->waker_kernel_stack = values;
			break;
		case LAYOUT_COLUMN_SNAPSHOT:
			ret->snapshot = values;
			break;
		case LAYOUT_COLUMN_LABELS:
			ret->labels = values;
			break;
		default:
			break; /* of a later version */
		}
	}
	return NULL;
}

const char *sample_decoder_init(struct sample_decoder *decoder, struct bytes_cursor *cursor)
{
	*decoder = (struct sample_decoder){.event = bytes_get_u32_varint(cursor)};
	decoder->left = bytes_get_varint(cursor);
	decoder->time = bytes_get_varint(cursor);
	decoder->unit_ns = bytes_get_varint(cursor);
	const char *fault =
		cursor->overrun ? FAULT_OVERRUN : get_columns(cursor, &decoder->columns);
	if (!fault && decoder->left > bytes_left(&decoder->columns.time))
		fault = too_few_times;
	return fault;
}

static uint32_t get_column_u32(struct bytes_cursor *column)
{
	return column->start ? bytes_get_u32_varint(column) : 0;
}

/* Everything of one sample but its time and event. */
static const char *get_sample(struct sample_decoder *decoder, struct layout_sample *ret)
{
	struct sample_columns *columns = &decoder->columns;
	if (columns->user_stack.start)
		decoder->user_stack += (uint64_t)bytes_get_zigzag(&columns->user_stack);
	if (columns->snapshot.start)
		decoder->snapshot += (uint64_t)bytes_get_zigzag(&columns->snapshot);
	if (columns->labels.start)
		decoder->labels += (uint64_t)bytes_get_zigzag(&columns->labels);
	ret->thread = get_column_u32(&columns->thread);
	ret->cpu = get_column_u32(&columns->cpu);
	ret->user_stack = (uint32_t)decoder->user_stack;
	ret->snapshot = (uint32_t)decoder->snapshot;
	ret->labels = (uint32_t)decoder->labels;
	ret->kernel_stack = get_column_u32(&columns->kernel_stack);
	ret->syscall = get_column_u32(&columns->syscall);
	ret->waker = get_column_u32(&columns->waker);
	ret->waker_user_stack = get_column_u32(&columns->waker_user_stack);
	ret->waker_kernel_stack = get_column_u32(&columns->waker_kernel_stack);
	ret->weight = columns->weight.start ? bytes_get_varint(&columns->weight) : 1;
	if (columns->measured.start)
		ret->measured = ret->weight + (uint64_t)bytes_get_zigzag(&columns->measured);
	if (columns->thread.overrun || columns->cpu.overrun || columns->user_stack.overrun ||
		columns->kernel_stack.overrun || columns->weight.overrun ||
		columns->measured.overrun || columns->syscall.overrun || columns->waker.overrun ||
		columns->waker_user_stack.overrun || columns->waker_kernel_stack.overrun ||
		columns->snapshot.overrun || columns->labels.overrun)
		return "sample columns of different lengths";
	if (decoder->user_stack > UINT32_MAX || decoder->snapshot > UINT32_MAX)
		return "a sample whose stack is out of range"; /* below 0 is far above as well */
	if (decoder->labels > UINT32_MAX)
		return "a sample whose labels are out of range";
	if (ret->cpu >= LAYOUT_MAX_CPUS)
		return FAULT_CPU;
	return NULL;
}

const char *sample_decoder_take(
	struct sample_decoder *decoder, struct layout_sample *out, size_t max, size_t *count)
{
	for (*count = 0; *count < max && decoder->left; (*count)++, decoder->left--) {
		struct layout_sample *sample = &out[*count];
		*sample = (struct layout_sample){.event = decoder->event};
		decoder->time += (uint64_t)bytes_get_zigzag(&decoder->columns.time);
		sample->time_ns = decoder->time * decoder->unit_ns;
		if (decoder->columns.time.overrun)
			return too_few_times;
		const char *fault = get_sample(decoder, sample);
		if (fault)
			return fault;
	}
	return NULL;
}

void decoded_samples_fill(
	struct decoded_samples *samples, const void *payload, size_t payload_bytes)
{
	struct bytes_cursor cursor = bytes_cursor(payload, payload_bytes);
	struct sample_decoder decoder;
	const char *fault = sample_decoder_init(&decoder, &cursor);
	samples->is_decoded = !fault && decoder.left <= AHEAD_SAMPLES;
	samples->len = 0;
	if (!samples->is_decoded)
		return;
	vec_reserve(samples, decoder.left);
	samples->fault = sample_decoder_take(&decoder, samples->data, decoder.left, &samples->len);
}

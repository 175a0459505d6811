#include "format/base/map.h"
#include "format/file/decode.h"

/* Columns that a chunk may have or not, until its end: (number, values). NULL or a fault. */
static const char *get_column(
	struct bytes_cursor *cursor, uint64_t *number, struct bytes_cursor *values)
{
	*number = bytes_get_varint(cursor);
	*values = bytes_get_record(cursor);
	return cursor->overrun ? FAULT_OVERRUN : NULL;
}

/* One cursor a column of FRAMES. */
struct frame_columns {
	struct bytes_cursor objects, offsets, flags;
};

static const char *get_frame_columns(
	struct bytes_cursor *cursor, uint32_t count, struct frame_columns *ret)
{
	ret->objects = *cursor;
	for (uint32_t i = 0; i < count; i++)
		bytes_get_varint(cursor);
	ret->offsets = *cursor;
	for (uint32_t i = 0; i < count; i++)
		bytes_get_varint(cursor);
	if (cursor->overrun)
		return FAULT_OVERRUN;
	while (bytes_left(cursor)) {
		uint64_t number;
		struct bytes_cursor values;
		const char *fault = get_column(cursor, &number, &values);
		if (fault)
			return fault;
		if (number == LAYOUT_FRAME_COLUMN_FLAGS) /* others are of a later version */
			ret->flags = values;
	}
	return NULL;
}

const char *decode_frames(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = decode_ids(reader, cursor, TABLE_FRAMES, &id, &count);
	struct frame_columns columns = {0};
	if (!fault)
		fault = get_frame_columns(cursor, count, &columns);
	struct map last_offset = {0};
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct layout_frame frame = {.object = bytes_get_u32_varint(&columns.objects)};
		uint64_t *last = map_put(&last_offset, frame.object, NULL);
		*last += (uint64_t)bytes_get_zigzag(&columns.offsets);
		frame.offset = *last;
		if (columns.flags.start)
			frame.flags = bytes_get_u32_varint(&columns.flags);
		if (columns.objects.overrun || columns.flags.overrun)
			fault = FAULT_OVERRUN;
		else if (reader->visitor->frame)
			reader->visitor->frame(reader->context, id + i, &frame);
	}
	map_deinit(&last_offset);
	return fault;
}

const char *decode_stacks(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = decode_ids(reader, cursor, TABLE_NODES, &id, &count);
	if (fault)
		return fault;
	struct bytes_cursor parents = *cursor;
	for (uint32_t i = 0; i < count; i++)
		bytes_get_varint(cursor);
	uint64_t frame = 0;
	for (uint32_t i = 0; i < count; i++, id++) {
		uint64_t back = bytes_get_varint(&parents);
		frame += (uint64_t)bytes_get_zigzag(cursor);
		if (cursor->overrun)
			return FAULT_OVERRUN;
		if (back >= id || frame > UINT32_MAX) /* below 0 counts as far above */
			return "a stack whose caller or frame is out of range";
		struct layout_node node = {
			.parent = back ? id - (uint32_t)back : 0,
			.frame = (uint32_t)frame,
		};
		if (reader->visitor->node)
			reader->visitor->node(reader->context, id, &node);
	}
	return NULL;
}

static void visit_samples(struct reader *reader, const struct layout_sample *samples, size_t count)
{
	enum {
		SOON = 16, /* how many ahead: as long as memory takes to answer */
	};
	const struct reader_visitor *visitor = reader->visitor;
	if (!visitor->sample)
		return;
	for (size_t i = 0; i < count; i++) {
		if (visitor->sample_soon && i + SOON < count)
			visitor->sample_soon(reader->context, &samples[i + SOON]);
		visitor->sample(reader->context, &samples[i]);
	}
}

const char *decode_samples(struct reader *reader, struct bytes_cursor *cursor)
{
	struct sample_decoder decoder;
	const char *fault = sample_decoder_init(&decoder, cursor);
	if (fault)
		return fault;
	if (!decode_keep(reader, decoder.left, KEPT_SAMPLE))
		return DECODE_TOO_MUCH;
	if (reader->samples->is_decoded) {
		visit_samples(reader, reader->samples->data, reader->samples->len);
		return reader->samples->fault;
	}
	while (!fault && decoder.left) {
		struct layout_sample some[64];
		size_t count;
		fault = sample_decoder_take(&decoder, some, sizeof(some) / sizeof(*some), &count);
		visit_samples(reader, some, count);
	}
	return fault;
}

static const char *decode_snapshot(struct bytes_cursor *record, struct layout_snapshot *ret)
{
	size_t stack_bytes;
	ret->process = bytes_get_u32_varint(record);
	ret->time_ns = bytes_get_varint(record);
	ret->is_exact = bytes_get_varint(record) & LAYOUT_SNAPSHOT_EXACT;
	ret->stack_address = bytes_get_varint(record);
	ret->known = bytes_get_varint(record);
	if (ret->known & ~LAYOUT_REGISTERS_MASK)
		return "a register that cannot be";
	for (int i = 0; i < LAYOUT_MAX_REGISTERS; i++)
		if (ret->known >> i & 1)
			ret->registers[i] = bytes_get_u64(record);
	ret->stack = bytes_get_blob(record, &stack_bytes);
	if (record->overrun)
		return FAULT_OVERRUN;
	if (stack_bytes > LAYOUT_MAX_SNAPSHOT_BYTES)
		return "a snapshot with too much of a stack";
	ret->stack_bytes = (uint32_t)stack_bytes;
	return NULL;
}

const char *decode_snapshots(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = decode_ids(reader, cursor, TABLE_SNAPSHOTS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_snapshot snapshot = {0};
		fault = decode_snapshot(&record, &snapshot);
		if (!fault && reader->visitor->snapshot)
			reader->visitor->snapshot(reader->context, id + i, &snapshot);
	}
	return fault;
}

const char *decode_labels(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = decode_ids(reader, cursor, TABLE_LABELS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_label label = {.rest = bytes_get_u32_varint(&record)};
		label.key = bytes_get_u32_varint(&record);
		label.kind = bytes_get_u32_varint(&record);
		label.value = bytes_get_varint(&record);
		if (record.overrun)
			return FAULT_OVERRUN;
		if (label.rest >= id + i)
			return "a set of labels that has others than those before it";
		if (reader->visitor->label)
			reader->visitor->label(reader->context, id + i, &label);
	}
	return fault;
}

const char *decode_symbols(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct layout_symbol symbol = {0};
		symbol.object = bytes_get_u32_varint(cursor);
		symbol.offset = bytes_get_varint(cursor);
		symbol.size = bytes_get_varint(cursor);
		symbol.name = bytes_get_u32_varint(cursor);
		if (cursor->overrun)
			return FAULT_OVERRUN;
		if (!decode_keep(reader, 1, KEPT_SYMBOL))
			return DECODE_TOO_MUCH;
		if (reader->visitor->symbol)
			reader->visitor->symbol(reader->context, &symbol);
	}
	return NULL;
}

const char *decode_code(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_code code = {0};
		code.object = bytes_get_u32_varint(&record);
		code.offset = bytes_get_varint(&record);
		code.start = code.offset - (uint64_t)bytes_get_zigzag(&record);
		code.time_ns = bytes_get_varint(&record);
		code.name = bytes_get_u32_varint(&record);
		code.file = bytes_get_u32_varint(&record);
		code.line = bytes_get_u32_varint(&record);
		if (bytes_left(&record)) /* since version 1.4 */
			code.sure_ns = bytes_get_varint(&record);
		if (record.overrun)
			return FAULT_OVERRUN;
		if (!decode_keep(reader, 1, KEPT_CODE))
			return DECODE_TOO_MUCH;
		if (reader->visitor->code)
			reader->visitor->code(reader->context, &code);
	}
	return NULL;
}

const char *decode_unwound(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct layout_unwound unwound = {0};
		unwound.snapshot = bytes_get_u32_varint(cursor);
		unwound.node = bytes_get_u32_varint(cursor);
		if (cursor->overrun)
			return FAULT_OVERRUN;
		if (!decode_keep(reader, 1, KEPT_UNWOUND))
			return DECODE_TOO_MUCH;
		if (reader->visitor->unwound)
			reader->visitor->unwound(reader->context, &unwound);
	}
	return NULL;
}

const char *decode_chains(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t object = bytes_get_u32_varint(cursor);
	if (cursor->overrun)
		return FAULT_OVERRUN;
	struct chain_map *chains = NULL;
	if (reader->visitor->chains)
		chains = reader->visitor->chains(reader->context, object);
	if (!chains)
		return NULL;
	if (!decode_keep(reader, bytes_left(cursor), KEPT_CHAIN_BYTE))
		return DECODE_TOO_MUCH;
	return chain_map_decode(chains, cursor);
}

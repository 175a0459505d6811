#include "format/file/decode.h"

enum {
	/*
	 * What a consumer may have to keep of a recording: this much, and so many times the
	 * file's size. Without a limit a forged first id, or a well compressed table, would make
	 * it allocate gigabytes.
	 */
	KEPT_FLOOR = 32 << 20,
	KEPT_RATIO = 256,
};

/* Roughly what a consumer keeps of an entity, or of a hole in its place. */
static const uint32_t kept_bytes[] = {
	[TABLE_STRINGS] = 40,
	[TABLE_EVENTS] = 64,
	[TABLE_OBJECTS] = 512,
	[TABLE_PROCESSES] = 160, /* with the maps that count them */
	[TABLE_THREADS] = 96,
	[TABLE_FRAMES] = 48, /* with the map that decodes them */
	[TABLE_NODES] = 16,
	[TABLE_SNAPSHOTS] = 64, /* they are unwound, not kept */
	[TABLE_ORIGINS] = 128,
	[TABLE_LABELS] = 64,
};

bool decode_keep(struct reader *reader, uint64_t count, uint64_t bytes_each)
{
	uint64_t limit = KEPT_FLOOR + reader->result->file_bytes * KEPT_RATIO;
	if (reader->kept + count * bytes_each > limit)
		return false;
	reader->kept += count * bytes_each;
	return true;
}

const char *decode_ids(struct reader *reader, struct bytes_cursor *cursor, enum table table,
	uint32_t *first_id, uint32_t *count)
{
	uint64_t first = bytes_get_varint(cursor);
	uint64_t n = bytes_get_varint(cursor);
	uint32_t expected = reader->next_id[table];
	if (cursor->overrun || n > bytes_left(cursor)) /* every entity takes a byte at least */
		return FAULT_OVERRUN;
	if (first < expected || first > UINT32_MAX || first + n > UINT32_MAX)
		return "ids out of order";
	if (table == TABLE_EVENTS && first + n > LAYOUT_MAX_EVENTS + 1)
		return "more events than allowed";
	if (!decode_keep(reader, first - expected + n, kept_bytes[table]))
		return DECODE_TOO_MUCH;
	reader->next_id[table] = (uint32_t)(first + n);
	*first_id = (uint32_t)first;
	*count = (uint32_t)n;
	return NULL;
}

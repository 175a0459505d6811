/*
 * Sources: src/objects/string.tq of V8 10.2, 11.3, 12.4, 13.6, 14.6.
 */
#include "record/runtime/node/node_object.h"

#include "format/base/mem.h"
#include "record/runtime/runtime_memory.h"

enum {
	MAP_TYPE = 12,

	STRING_LENGTH = 12,
	STRING_DATA = 16,
	STRING_SECOND = 24,
	LAST_STRING = 127,
	STRING_SHAPE = 7,
	STRING_IS_ONE_BYTE = 8,
	MAX_STRING_DEPTH = 8,
};

bool node_object_read(
	const struct node_reader *reading, uint64_t pointer, uint64_t offset, uint64_t *ret)
{
	return runtime_read_process(reading->pid, pointer - 1 + offset, ret, sizeof(*ret));
}

int node_object_type(const struct node_reader *reading, uint64_t pointer)
{
	uint64_t map;
	uint16_t type;
	if ((pointer & 3) != 1 || !node_object_read(reading, pointer, 0, &map))
		return -1;
	if (!(map & 3) && !runtime_read_process(reading->pid, map, &map, sizeof(map)))
		return -1; /* it was being moved */
	if ((map & 3) != 1 ||
		!runtime_read_process(reading->pid, map - 1 + MAP_TYPE, &type, sizeof(type)))
		return -1;
	return type;
}

bool node_object_is_string(int type)
{
	return type >= 0 && type <= LAST_STRING;
}

/* ---- strings ---- */

enum string_shape {
	STRING_SEQUENTIAL = 0,
	STRING_CONS = 1,
	STRING_EXTERNAL = 2,
	STRING_SLICED = 3,
	STRING_THIN = 5,
};

/* `count` characters at an address, as UTF-8. */
static bool put_characters(const struct node_reader *reading, uint64_t address, int type,
	uint32_t count, struct str *out)
{
	uint32_t unit = type & STRING_IS_ONE_BYTE ? 1 : 2;
	CLEANUP_FREE uint8_t *bytes = mem_alloc((size_t)count * unit + 1);
	if (!runtime_read_process(reading->pid, address, bytes, (size_t)count * unit))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t c = bytes[i * unit];
		if (unit == 2)
			c |= (uint32_t)bytes[i * unit + 1] << 8;
		str_put_code_point(out, c >> 11 == 0x1b || !c ? 0xfffd : c); /* half of a pair */
	}
	return true;
}

static bool read_string_length(const struct node_reader *reading, uint64_t pointer, uint32_t *ret)
{
	return runtime_read_process(reading->pid, pointer - 1 + STRING_LENGTH, ret, sizeof(*ret));
}

static bool put_part_of_string(const struct node_reader *reading, uint64_t pointer, uint32_t from,
	uint32_t max, int depth, struct str *out);

/* What the first of two strings does not have is in the second. */
static bool put_part_of_two(const struct node_reader *reading, uint64_t first, uint64_t second,
	uint32_t from, uint32_t count, int depth, struct str *out)
{
	uint32_t length;
	if (!read_string_length(reading, first, &length))
		return false;
	uint32_t left = from < length ? length - from : 0;
	uint32_t of_first = left < count ? left : count;
	return (!of_first || put_part_of_string(reading, first, from, of_first, depth, out)) &&
	       (of_first == count || put_part_of_string(reading, second, from + of_first - length,
					     count - of_first, depth, out));
}

static bool put_part_of_string(const struct node_reader *reading, uint64_t pointer, uint32_t from,
	uint32_t max, int depth, struct str *out)
{
	int type = node_object_type(reading, pointer);
	uint32_t length, unit = type & STRING_IS_ONE_BYTE ? 1 : 2;
	uint64_t first = 0, second = 0;
	if (!node_object_is_string(type) || depth > MAX_STRING_DEPTH ||
		!read_string_length(reading, pointer, &length))
		return false;
	if (from >= length || !max)
		return true;
	uint32_t count = length - from < max ? length - from : max;
	enum string_shape shape = type & STRING_SHAPE;
	if (shape == STRING_SEQUENTIAL)
		return put_characters(reading, pointer - 1 + STRING_DATA + (uint64_t)from * unit,
			type, count, out);
	if (!node_object_read(reading, pointer, STRING_DATA, &first) ||
		(shape != STRING_THIN &&
			!node_object_read(reading, pointer, STRING_SECOND, &second)))
		return false;
	switch (shape) {
	case STRING_CONS:
		return put_part_of_two(reading, first, second, from, count, depth + 1, out);
	case STRING_EXTERNAL:
		return put_characters(reading, second + (uint64_t)from * unit, type, count, out);
	case STRING_SLICED:
		return put_part_of_string(reading, first,
			from + (uint32_t)(second >> NODE_SMI_SHIFT), count, depth + 1, out);
	case STRING_THIN:
		return put_part_of_string(reading, first, from, count, depth + 1, out);
	default:
		return false;
	}
}

bool node_object_put_string(
	const struct node_reader *reading, uint64_t pointer, uint32_t max, struct str *out)
{
	return put_part_of_string(reading, pointer, 0, max, 0, out);
}

bool node_object_find_characters(
	const struct node_reader *reading, uint64_t pointer, struct node_characters *ret)
{
	uint32_t from = 0, count = UINT32_MAX;
	for (int depth = 0; depth < MAX_STRING_DEPTH; depth++) {
		int type = node_object_type(reading, pointer);
		uint32_t length;
		uint64_t words[2];
		if (!node_object_is_string(type) ||
			!read_string_length(reading, pointer, &length) || from > length ||
			(count != UINT32_MAX && length - from < count))
			return false;
		*ret = (struct node_characters){.address = pointer - 1 + STRING_DATA,
			.unit = type & STRING_IS_ONE_BYTE ? 1 : 2,
			.count = count == UINT32_MAX ? length : count};
		enum string_shape shape = type & STRING_SHAPE;
		if (shape != STRING_SEQUENTIAL &&
			!runtime_read_process(
				reading->pid, pointer - 1 + STRING_DATA, words, sizeof(words)))
			return false;
		if (shape == STRING_EXTERNAL)
			ret->address = words[1];
		ret->address += (uint64_t)from * ret->unit;
		if (shape == STRING_SEQUENTIAL || shape == STRING_EXTERNAL)
			return true;
		if (shape == STRING_SLICED)
			from += (uint32_t)(words[1] >> NODE_SMI_SHIFT);
		count = ret->count;
		pointer = words[0]; /* also of one that was put together, and is flat by now */
	}
	return false;
}

/* ---- arrays ---- */

bool node_object_read_bytes(const struct node_reader *reading, uint64_t array, uint64_t max,
	uint8_t **bytes, uint64_t *len)
{
	if (node_object_type(reading, array) < 0 ||
		!node_object_read(reading, array, NODE_ARRAY_LENGTH, len))
		return false;
	*len >>= NODE_SMI_SHIFT;
	if (*len > max)
		return false;
	*bytes = mem_alloc(*len + 1);
	return runtime_read_process(reading->pid, array - 1 + NODE_ARRAY_DATA, *bytes, *len);
}

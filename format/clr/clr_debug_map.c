#include "format/clr/clr_debug_map.h"

enum {
	MAX_POINTS = 1 << 16,
	IL_BIAS = 3, /* the special places are below 0 */
	FLAG_BITS = 2,
	MAX_WIDTH = 32,

	/* Ahead of the pairs of code that was compiled at run time: a byte of flags. */
	HAS_PATCHPOINTS = 1,
	HAS_RICH = 2, /* a length, and as many bytes */
	HAS_UNINSTRUMENTED = 4,
	KNOWN_FLAGS = 7,
};

/* Numbers of as many nibbles as it takes, the lower one of a byte first; of each the highest bit
 * says that another one follows. */
struct nibbles {
	struct clr_bytes *bytes;
	uint64_t at; /* in nibbles */
};

static uint32_t next_nibble_number(struct nibbles *nibbles)
{
	uint32_t value = 0;
	for (int i = 0; i < 11; i++) {
		uint8_t byte = clr_bytes_u8(nibbles->bytes, nibbles->at / 2);
		uint8_t nibble = nibbles->at & 1 ? byte >> 4 : byte & 15;
		nibbles->at++;
		value = value << 3 | (nibble & 7);
		if (!(nibble & 8))
			return value;
	}
	nibbles->bytes->is_bad = true;
	return 0;
}

/* The rest of the byte is left out. */
static uint64_t byte_behind(const struct nibbles *nibbles)
{
	return (nibbles->at + 1) / 2;
}

static uint64_t get_bits(struct clr_bytes *bytes, uint64_t at, uint64_t bit, uint32_t count)
{
	uint64_t value = 0;
	for (uint32_t done = 0; done < count;) {
		uint32_t into = (uint32_t)((bit + done) & 7);
		uint64_t byte = clr_bytes_u8(bytes, at + (bit + done) / 8) >> into;
		value |= byte << done;
		done += 8 - into;
	}
	return count < 64 ? value & ((1ULL << count) - 1) : value;
}

static bool add_point(struct clr_debug_map *map, uint32_t native, uint32_t il, uint32_t code_bytes)
{
	uint32_t before = map->points.len ? map->points.data[map->points.len - 1].native : 0;
	struct clr_debug_point point = {native, (int32_t)(il - IL_BIAS)};
	if (native < before || native > code_bytes || point.il < CLR_IL_EPILOGUE)
		return false;
	/* Tier 0 counts the turns of a loop at its end, by code of no IL. Behind the epilogue, too,
	 * there is some, of exceptions: that belongs to no statement. */
	if (point.il == CLR_IL_NONE && map->points.len &&
		map->points.data[map->points.len - 1].il != CLR_IL_EPILOGUE)
		point.il = map->points.data[map->points.len - 1].il;
	vec_push(&map->points, point);
	return true;
}

static bool read_nibbles(
	struct nibbles *nibbles, uint32_t count, uint32_t code_bytes, struct clr_debug_map *map)
{
	uint32_t native = 0;
	for (uint32_t i = 0; i < count && !nibbles->bytes->is_bad; i++) {
		native += next_nibble_number(nibbles);
		uint32_t il = next_nibble_number(nibbles);
		next_nibble_number(nibbles); /* flags */
		if (!add_point(map, native, il, code_bytes))
			return false;
	}
	return true;
}

/* All pairs have the same widths: flags, the step in the code, the place in the IL. */
static bool read_bits(
	struct nibbles *nibbles, uint32_t count, uint32_t code_bytes, struct clr_debug_map *map)
{
	uint32_t of_native = next_nibble_number(nibbles) + 1,
		 of_il = next_nibble_number(nibbles) + 1;
	uint64_t at = byte_behind(nibbles), bit = 0, native = 0;
	if (of_native > MAX_WIDTH || of_il > MAX_WIDTH)
		return false;
	for (uint32_t i = 0; i < count && !nibbles->bytes->is_bad; i++) {
		bit += FLAG_BITS;
		native += get_bits(nibbles->bytes, at, bit, of_native);
		bit += of_native;
		uint64_t il = get_bits(nibbles->bytes, at, bit, of_il);
		bit += of_il;
		if (native > code_bytes ||
			!add_point(map, (uint32_t)native, (uint32_t)il, code_bytes))
			return false;
	}
	nibbles->at = 2 * (at + (bit + 7) / 8);
	return true;
}

bool clr_debug_map_read(struct clr_bytes *bytes, uint64_t at, enum clr_debug_packing packing,
	uint32_t code_bytes, struct clr_debug_map *ret)
{
	struct nibbles nibbles = {.bytes = bytes, .at = 2 * at};
	struct clr_debug_map map = {0};
	uint32_t len = next_nibble_number(&nibbles);
	next_nibble_number(&nibbles); /* of what is known of variables */
	uint64_t begin = byte_behind(&nibbles);
	nibbles.at = 2 * begin;
	uint32_t count = len ? next_nibble_number(&nibbles) : 0;
	bool is_sound =
		count <= MAX_POINTS &&
		(packing == CLR_DEBUG_BITS ? read_bits(&nibbles, count, code_bytes, &map)
					   : read_nibbles(&nibbles, count, code_bytes, &map));
	/* What was read is what there is: it would not be in the other packing. */
	if (!is_sound || bytes->is_bad || (len && byte_behind(&nibbles) > begin + len + 1)) {
		clr_debug_map_deinit(&map);
		return false;
	}
	*ret = map;
	return true;
}

/* How long what is said of patchpoints is: where code is left for better one. */
static uint64_t patchpoints_length(
	struct clr_bytes *bytes, uint64_t at, enum clr_debug_packing packing)
{
	return packing == CLR_DEBUG_BITS ? 40 + 4ULL * clr_bytes_u32(bytes, at + 16)
					 : 32 + 4ULL * clr_bytes_u32(bytes, at + 8);
}

bool clr_debug_map_read_live(struct clr_bytes *bytes, uint64_t at, enum clr_debug_packing packing,
	uint32_t code_bytes, struct clr_debug_map *ret)
{
	uint8_t flags = clr_bytes_u8(bytes, at++);
	*ret = (struct clr_debug_map){0};
	if (flags & ~KNOWN_FLAGS)
		return false;
	if (flags & HAS_PATCHPOINTS)
		at += patchpoints_length(bytes, at, packing);
	if (flags & HAS_RICH)
		at += 4 + clr_bytes_u32(bytes, at);
	if (flags & HAS_UNINSTRUMENTED)
		at += 4 + clr_bytes_u32(bytes, at);
	return clr_debug_map_read(bytes, at, packing, code_bytes, ret);
}

void clr_debug_map_deinit(struct clr_debug_map *map)
{
	vec_deinit(&map->points);
}

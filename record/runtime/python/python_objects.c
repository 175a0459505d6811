/*
 * Sources: Objects/dictobject.c, Include/internal/pycore_dict.h, pycore_object.h,
 * Include/cpython/longintrepr.h of CPython 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0, and
 * offsetof() over their headers for x86-64.
 */
#include "record/runtime/python/python_objects.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "record/runtime/python/python_layout.h"
#include "record/runtime/runtime_memory.h"

enum {
	MAX_ITEMS = 16 << 10,
	TEXT_KINDS = 31, /* of a string's state: bytes a character, compact, ASCII */
	TEXT_OF_ASCII = 1 | 8 | 16,
	HEAD = 16,             /* of an object: a count, and behind it its type */
	MORE_OF_HEAD = 16,     /* of free-threaded builds, in front of the type */
	TYPE_BASIC_BYTES = 32, /* offsets in a type */
	TYPE_FLAGS = 168,
	TYPE_DICT_OFFSET = 288,
	TYPE_HAS_INLINE_VALUES = 1 << 2, /* flags, from 3.13 and from 3.11 on */
	TYPE_HAS_MANAGED_DICT = 1 << 4,
	DICT_KEYS = HEAD + 16,   /* a pointer to a table of keys, */
	DICT_VALUES = HEAD + 24, /* ... and to values, unless these are beside the keys */
	KEYS_BYTES = 40,         /* of such a table, in front of indices and entries */
};

static uint8_t minor_of(const struct python_memory *memory)
{
	return memory->version & (uint8_t)~PYTHON_FREE_THREADED;
}

/* What all offsets behind an object's head are more. */
static uint64_t more_of(const struct python_memory *memory)
{
	return memory->version & PYTHON_FREE_THREADED ? MORE_OF_HEAD : 0;
}

bool python_read_u64(const struct python_memory *memory, uint64_t address, uint64_t *ret)
{
	return runtime_read_process(memory->pid, address, ret, sizeof(*ret));
}

/* ---- strings and numbers ---- */

bool python_read_string(const struct python_memory *memory, uint64_t object, bool is_bytes,
	size_t max_bytes, struct runtime_text_bytes *ret)
{
	struct python_row row;
	uint64_t length;
	uint32_t state;
	python_layout_of_texts(memory->version, &row);
	uint64_t start = object + row.bytes_start;
	if (!python_read_u64(memory, object + row.text_length, &length)) /* bytes have it there */
		return false;
	ret->unit = 1;
	if (!is_bytes) {
		if (!runtime_read_process(
			    memory->pid, object + row.text_state, &state, sizeof(state)))
			return false;
		state >>= row.text_kind_shift;
		if (!(state & 8)) /* not compact */
			return false;
		ret->unit = state & 7;
		start = object + (state & 16 ? row.text_ascii : row.text_compact);
	}
	if (!length || length > max_bytes)
		return false;
	ret->len = length * ret->unit;
	ret->data = mem_alloc(ret->len);
	if (runtime_read_process(memory->pid, start, ret->data, ret->len))
		return true;
	mem_free(ret->data);
	return false;
}

bool python_read_number(const struct python_memory *memory, uint64_t object, uint32_t *ret)
{
	uint64_t words[2]; /* how many digits of 30 bits, and the first of them */
	if (!runtime_read_process(
		    memory->pid, object + HEAD + more_of(memory), words, sizeof(words)))
		return false;
	bool has_one =
		minor_of(memory) < 12 ? words[0] == 1 : words[0] >> 3 == 1 && !(words[0] & 3);
	*ret = (uint32_t)words[1];
	return has_one && *ret;
}

/* ---- dictionaries ---- */

/* Where a table of keys has its entries. */
struct key_table {
	uint64_t entries;
	uint32_t count, bytes_each, value_at; /* the last: of an entry, in it */
};

static bool read_key_table(const struct python_memory *memory, uint64_t keys, struct key_table *ret)
{
	uint8_t head[KEYS_BYTES];
	if (!runtime_read_process(memory->pid, keys, head, sizeof(head)))
		return false;
	struct bytes_cursor cursor = bytes_cursor(head, sizeof(head));
	bool is_old = minor_of(memory) < 11;
	bytes_get_u64(&cursor); /* how often it is used */
	uint64_t size = bytes_get_u64(&cursor);
	bytes_get_u64(&cursor);
	uint64_t count = bytes_get_u64(&cursor);
	if (is_old) {
		count = bytes_get_u64(&cursor);
		uint64_t width = size <= UINT8_MAX ? 1 : size <= UINT16_MAX ? 2 : 4;
		if (size > UINT32_MAX)
			return false;
		ret->entries = keys + KEYS_BYTES + size * width;
	} else {
		uint8_t log2_index_bytes = head[9];
		if (log2_index_bytes > 32)
			return false;
		ret->entries = keys + KEYS_BYTES - 8 + (1ULL << log2_index_bytes);
	}
	bool has_hash =
		is_old || head[10] == 0; /* keys that are all strings have none, from 3.11 on */
	ret->bytes_each = has_hash ? 24 : 16;
	ret->value_at = has_hash ? 16 : 8;
	ret->count = (uint32_t)count;
	return count <= MAX_ITEMS;
}

static uint64_t python_word_at(const uint8_t *bytes, size_t at)
{
	struct bytes_cursor cursor = bytes_cursor(bytes + at, 8);
	return bytes_get_u64(&cursor);
}

/* values: where they are, in the order of keys; 0: beside the keys. */
static bool read_items(const struct python_memory *memory, uint64_t keys, uint64_t values,
	struct python_items *ret)
{
	struct key_table table;
	if (!read_key_table(memory, keys, &table))
		return false;
	if (!table.count)
		return true;
	size_t len = (size_t)table.count * table.bytes_each;
	CLEANUP_FREE uint8_t *entries = mem_alloc(len);
	CLEANUP_FREE uint8_t *apart = values ? mem_alloc((size_t)table.count * 8) : NULL;
	if (!runtime_read_process(memory->pid, table.entries, entries, len) ||
		(values &&
			!runtime_read_process(memory->pid, values, apart, (size_t)table.count * 8)))
		return false;
	for (uint32_t i = 0; i < table.count; i++) {
		const uint8_t *entry = entries + (size_t)i * table.bytes_each;
		struct python_item item = {python_word_at(entry, table.value_at - 8),
			apart ? python_word_at(apart, (size_t)i * 8)
			      : python_word_at(entry, table.value_at)};
		if (item.key && item.value)
			vec_push(&ret->of, item);
	}
	return true;
}

/* Where values are that stand apart from keys, from where the dictionary says. */
static uint64_t first_python_value(const struct python_memory *memory, uint64_t values)
{
	return values && minor_of(memory) >= 13 ? values + 8 : values;
}

bool python_read_dict(const struct python_memory *memory, uint64_t object, struct python_items *ret)
{
	uint64_t keys, values, more = more_of(memory);
	return object && python_read_u64(memory, object + more + DICT_KEYS, &keys) &&
	       python_read_u64(memory, object + more + DICT_VALUES, &values) &&
	       read_items(memory, keys, first_python_value(memory, values), ret);
}

void python_items_deinit(struct python_items *items)
{
	vec_deinit(&items->of);
}

/* bytes: of an object, up to where such a string ends. */
static bool is_ascii_string(const struct python_row *row, const uint8_t *bytes, const char *string)
{
	size_t len = strlen(string);
	uint64_t length;
	uint32_t state;
	memcpy(&length, bytes + row->text_length, sizeof(length));
	memcpy(&state, bytes + row->text_state, sizeof(state));
	return length == len && (state >> row->text_kind_shift & TEXT_KINDS) == TEXT_OF_ASCII &&
	       memcmp(bytes + row->text_ascii, string, len) == 0;
}

/* There may be hundreds of keys. */
uint64_t python_items_find(
	const struct python_memory *memory, const struct python_items *items, const char *key)
{
	struct python_row row;
	python_layout_of_texts(memory->version, &row);
	size_t len = row.text_ascii + strlen(key);
	CLEANUP_FREE uint8_t *bytes = mem_alloc(RUNTIME_MAX_PARTS * len);
	for (size_t from = 0, count; from < items->of.len; from += count) {
		uint64_t keys[RUNTIME_MAX_PARTS];
		for (count = 0; count < RUNTIME_MAX_PARTS && from + count < items->of.len; count++)
			keys[count] = items->of.data[from + count].key;
		runtime_read_parts(memory->pid, keys, count, len, bytes);
		for (size_t i = 0; i < count; i++)
			if (is_ascii_string(&row, bytes + i * len, key))
				return items->of.data[from + i].value;
	}
	return 0;
}

/* ---- attributes ---- */

/* The keys that all instances of a class share: an offset in the type. */
static uint64_t shared_keys_at(const struct python_memory *memory)
{
	return minor_of(memory) == 11 ? 872 : 880;
}

/*
 * Up to 3.10 a dictionary is at the offset that the type has. From 3.11 on what an instance has
 * stands in front of it: a pointer to values and one to a dictionary in 3.11, in 3.12 either of
 * them, with the lowest bit set one byte in front of values; from 3.13 on a dictionary, unless the
 * values behind the instance, with a head of four bytes, the last of which says so, are in use.
 */
bool python_read_attributes(
	const struct python_memory *memory, uint64_t object, struct python_items *ret)
{
	uint64_t more = more_of(memory), type, flags, keys, values = 0, dict, bytes;
	uint8_t minor = minor_of(memory);
	if (!python_read_u64(memory, object + more + HEAD - 8, &type) ||
		!python_read_u64(memory, type + more + TYPE_FLAGS, &flags) ||
		!python_read_u64(memory, type + more + shared_keys_at(memory), &keys))
		return false;
	if (minor < 11 || !(flags & TYPE_HAS_MANAGED_DICT)) {
		uint64_t at;
		return python_read_u64(memory, type + more + TYPE_DICT_OFFSET, &at) &&
		       at < INT32_MAX && at && python_read_u64(memory, object + at, &dict) &&
		       python_read_dict(memory, dict, ret);
	}
	if (minor >= 13 && flags & TYPE_HAS_INLINE_VALUES) {
		uint8_t head[4];
		if (!python_read_u64(memory, type + more + TYPE_BASIC_BYTES, &bytes) ||
			!runtime_read_process(memory->pid, object + bytes, head, sizeof(head)))
			return false;
		if (head[3])
			return read_items(memory, keys, object + bytes + 8, ret);
	}
	if (!python_read_u64(memory, object - (more ? 8 : 24), &dict))
		return false;
	if (minor == 11 && !python_read_u64(memory, object - 32, &values))
		return false;
	if (minor == 12 && dict & 1)
		values = dict + 1;
	return values ? read_items(memory, keys, values, ret) : python_read_dict(memory, dict, ret);
}

#include "record/label/process_context.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "format/base/bytes.h"

enum {
	CONTEXT_VERSION = 2,
	MAX_READS = 4, /* until none came between */

	/* How a field of protocol buffers is written: the low three bits of its tag. */
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
	WIRE_BITS = 3,

	CONTEXT_RESOURCE = 1,
	CONTEXT_ATTRIBUTES = 2,
	CONTEXT_RESOURCE_ATTRIBUTES = 1,
	CONTEXT_PAIR_KEY = 1,
	CONTEXT_PAIR_VALUE = 2,
	CONTEXT_VALUE_STRING = 1,
	CONTEXT_VALUE_BOOL = 2,
	CONTEXT_VALUE_INT = 3,
	CONTEXT_VALUE_DOUBLE = 4,
	CONTEXT_VALUE_ARRAY = 5,
	CONTEXT_ARRAY_VALUES = 1,
};

#define KEY_MAP "threadlocal.attribute_key_map"

/* ---- messages ---- */

struct field {
	uint32_t number;
	uint32_t wire;
	uint64_t word;              /* of WIRE_VARINT, WIRE_FIXED64 */
	struct bytes_cursor inside; /* of WIRE_BYTES */
};

/* False: that was the last one, or what follows makes no sense, which sets `overrun`. */
static bool next_field(struct bytes_cursor *message, struct field *ret)
{
	if (!bytes_left(message))
		return false;
	uint64_t tag = bytes_get_varint(message);
	*ret = (struct field){.number = (uint32_t)(tag >> WIRE_BITS),
		.wire = (uint32_t)tag & ((1U << WIRE_BITS) - 1)};
	switch (ret->wire) {
	case WIRE_VARINT:
		ret->word = bytes_get_varint(message);
		break;
	case WIRE_FIXED64:
		ret->word = bytes_get_u64(message);
		break;
	case WIRE_BYTES:
		ret->inside = bytes_get_record(message);
		break;
	case WIRE_FIXED32:
		ret->word = bytes_get_u32(message);
		break;
	default: /* groups, which proto3 does not have */
		message->overrun = true;
	}
	return !message->overrun;
}

static void take_context_text(const struct bytes_cursor *text, struct str *ret)
{
	size_t len = bytes_left(text), whole = len;
	if (len > PROCESS_CONTEXT_MAX_TEXT_BYTES)
		len = PROCESS_CONTEXT_MAX_TEXT_BYTES;
	/* Not amid a character: what begins behind `len` stays out. */
	while (len < whole && len && (text->pos[len] & 0xc0) == 0x80)
		len--;
	for (size_t i = 0; i < len; i++)
		str_putc(ret, text->pos[i] ? (char)text->pos[i] : '?');
}

/* AnyValue. False: it is no text and no number. */
static bool take_context_value(struct bytes_cursor value, struct str *ret)
{
	struct field field;
	double number;
	bool is_taken = false;
	while (next_field(&value, &field)) {
		bool is_known = true;
		str_truncate(ret, 0);
		if (field.number == CONTEXT_VALUE_STRING && field.wire == WIRE_BYTES) {
			take_context_text(&field.inside, ret);
		} else if (field.number == CONTEXT_VALUE_BOOL && field.wire == WIRE_VARINT) {
			str_puts(ret, field.word ? "true" : "false");
		} else if (field.number == CONTEXT_VALUE_INT && field.wire == WIRE_VARINT) {
			str_printf(ret, "%" PRId64, (int64_t)field.word);
		} else if (field.number == CONTEXT_VALUE_DOUBLE && field.wire == WIRE_FIXED64) {
			memcpy(&number, &field.word, sizeof(number));
			str_printf(ret, "%g", number);
		} else {
			is_known = false;
		}
		is_taken |= is_known;
	}
	return is_taken;
}

/* A KeyValue. `value` is that of an AnyValue. */
static void take_context_pair(struct bytes_cursor pair, struct str *key, struct bytes_cursor *value)
{
	struct field field;
	*value = bytes_cursor("", 0);
	while (next_field(&pair, &field)) {
		if (field.wire == WIRE_BYTES && field.number == CONTEXT_PAIR_KEY)
			take_context_text(&field.inside, key);
		if (field.wire == WIRE_BYTES && field.number == CONTEXT_PAIR_VALUE)
			*value = field.inside;
	}
}

static bool take_context_resource(struct bytes_cursor resource, struct process_context *context)
{
	struct field field;
	struct bytes_cursor value;
	size_t count = 0;
	while (next_field(&resource, &field)) {
		if (field.number != CONTEXT_RESOURCE_ATTRIBUTES || field.wire != WIRE_BYTES)
			continue;
		CLEANUP(str_deinit) struct str key = {0}, text = {0};
		take_context_pair(field.inside, &key, &value);
		bool is_text = take_context_value(value, &text);
		if (!key.len || !is_text || count == PROCESS_CONTEXT_MAX_ATTRIBUTES) {
			context->is_short = true;
			continue;
		}
		count++;
		str_write(&context->attributes, str_text(&key), key.len + 1);
		str_write(&context->attributes, str_text(&text), text.len + 1);
	}
	return !resource.overrun;
}

/* An ArrayValue of strings. */
static void take_key_map(struct bytes_cursor array, struct process_context *context)
{
	struct field field;
	size_t count = 0;
	str_truncate(&context->keys, 0);
	while (next_field(&array, &field) && count < PROCESS_CONTEXT_MAX_KEYS) {
		if (field.number != CONTEXT_ARRAY_VALUES || field.wire != WIRE_BYTES)
			continue;
		CLEANUP(str_deinit) struct str key = {0};
		take_context_value(field.inside, &key);
		str_write(&context->keys, str_text(&key), key.len + 1); /* "" keeps its number */
		count++;
	}
}

static void take_context_attribute(struct bytes_cursor pair, struct process_context *context)
{
	CLEANUP(str_deinit) struct str key = {0};
	struct bytes_cursor value;
	struct field field;
	take_context_pair(pair, &key, &value);
	if (strcmp(str_text(&key), KEY_MAP) != 0)
		return;
	while (next_field(&value, &field))
		if (field.number == CONTEXT_VALUE_ARRAY && field.wire == WIRE_BYTES)
			take_key_map(field.inside, context);
}

bool process_context_decode(const uint8_t *message, size_t len, struct process_context *ret)
{
	struct bytes_cursor cursor = bytes_cursor(message, len);
	struct field field;
	bool is_sound = true;
	*ret = (struct process_context){0};
	while (is_sound && next_field(&cursor, &field)) {
		if (field.wire == WIRE_BYTES && field.number == CONTEXT_RESOURCE)
			is_sound = take_context_resource(field.inside, ret);
		else if (field.wire == WIRE_BYTES && field.number == CONTEXT_ATTRIBUTES)
			take_context_attribute(field.inside, ret);
	}
	if (is_sound && !cursor.overrun)
		return true;
	process_context_deinit(ret);
	*ret = (struct process_context){0};
	return false;
}

void process_context_deinit(struct process_context *context)
{
	str_deinit(&context->attributes);
	str_deinit(&context->keys);
}

/* ---- of a process ---- */

bool process_context_is_name(const char *name)
{
	static const char *const names[] = {
		"[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

struct context_head { /* in the process's memory */
	char signature[8];
	uint32_t version, bytes;
	uint64_t published_ns; /* 0: it is being changed */
	uint64_t payload;
};

bool process_context_copy(int memory, uint64_t address, void *to, size_t len)
{
	return pread(memory, to, len, (off_t)address) == (ssize_t)len;
}

bool process_context_read(
	int memory, uint64_t address, uint64_t *published_ns, struct process_context *ret)
{
	for (int i = 0; i < MAX_READS; i++) {
		struct context_head head, again;
		if (!process_context_copy(memory, address, &head, sizeof(head)) ||
			memcmp(head.signature, "OTEL_CTX", sizeof(head.signature)) != 0 ||
			head.version != CONTEXT_VERSION || head.bytes > PROCESS_CONTEXT_MAX_BYTES)
			return false;
		if (!head.published_ns)
			continue;
		CLEANUP_FREE uint8_t *message = mem_alloc(head.bytes + 1);
		bool is_read = process_context_copy(memory, head.payload, message, head.bytes) &&
			       process_context_copy(memory, address, &again, sizeof(again));
		if (!is_read || again.published_ns != head.published_ns)
			continue;
		*published_ns = head.published_ns;
		return process_context_decode(message, head.bytes, ret);
	}
	return false;
}

/*
 * Code that processes showed: any bytes as what the BPF side sent of it, texts and line tables of
 * every runtime among them. Whatever they are, each place has a description whose name is UTF-8.
 *
 * Records follow each other: a byte for the kind, one for the version, two for the characters'
 * widths, three 16-bit lengths, and as many bytes of texts, as far as there are any.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"
#include "format/base/bytes.h"
#include "format/base/str.h"
#include "format/file/layout.h"
#include "record/script/script_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	MAX_RECORDS = 64,
	KINDS = 8, /* some of them unknown */
	MAX_LINE = 1 << 24,
};

struct record {
	struct event_code head;
	uint8_t text[RUNTIME_MAX_TEXT_BYTES];
};

/* Nothing can be read again from a process that there is not. */
static uint32_t take(struct script_table *table, struct bytes_cursor *cursor, uint32_t number)
{
	static struct record record;
	struct event_code *head = &record.head;
	memset(head, 0, sizeof(*head));
	head->type = EVENT_CODE;
	head->number = number;
	head->kind = bytes_get_u8(cursor) % KINDS;
	head->version = bytes_get_u8(cursor);
	head->unit[0] = bytes_get_u8(cursor);
	head->unit[1] = bytes_get_u8(cursor);
	head->first_line = bytes_get_u16(cursor) * 1024U;
	uint32_t claimed = 0;
	for (int i = 0; i < RUNTIME_TEXTS; i++) {
		head->bytes[i] = bytes_get_u16(cursor);
		head->whole_bytes[i] = head->bytes[i];
		claimed += head->bytes[i];
	}
	uint32_t left = (uint32_t)bytes_left(cursor);
	uint32_t used = claimed < left ? claimed : left;
	used = used < sizeof(record.text) ? used : sizeof(record.text);
	for (uint32_t i = 0; i < used; i++)
		record.text[i] = bytes_get_u8(cursor);
	script_table_take(table, head, sizeof(*head) + used);
	return used;
}

static void check_name(const char *name)
{
	size_t len = strlen(name);
	for (size_t i = 0; i < len;) {
		uint32_t c;
		size_t used = str_utf8_decode(name + i, len - i, &c);
		if (!used)
			abort();
		i += used;
	}
}

static void find(struct script_table *table, uint64_t number, uint64_t place)
{
	struct script_place found;
	uint64_t offset;
	const struct object *object =
		script_table_find(table, number << RUNTIME_FRAME_CODE_SHIFT | place, &offset);
	if (!object || object->info.kind != LAYOUT_OBJECT_SCRIPT)
		abort();
	script_table_describe(table, offset, &found);
	if (!found.name || !found.name[0] || found.start > offset || found.line >= MAX_LINE)
		abort();
	check_name(found.name);
	if (found.file)
		check_name(found.file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct object_table objects = {0};
	struct script_table table;
	script_table_init(&table, &objects);
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	uint32_t count = 0;
	while (bytes_left(&cursor) && count < MAX_RECORDS)
		take(&table, &cursor, ++count);
	for (uint64_t number = 0; number <= count + 1; number++)
		for (uint64_t place = 1; place >> RUNTIME_FRAME_CODE_SHIFT == 0; place *= 3)
			find(&table, number, place - 1);
	script_table_deinit(&table);
	object_table_deinit(&objects);
	return 0;
}

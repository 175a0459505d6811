#include "tests/unit/report_protobuf_message.h"

#include <string.h>

#include "tests/unit/unit.h"

void message_parse(struct bytes_cursor cursor, struct message *ret)
{
	memset(ret, 0, sizeof(*ret));
	while (bytes_left(&cursor)) {
		uint64_t key = bytes_get_varint(&cursor);
		uint64_t field = key >> 3;
		CHECK(field && field < MESSAGE_FIELDS);
		if (cursor.overrun || !field || field >= MESSAGE_FIELDS)
			return;
		if ((key & 7) == 0) {
			ret->number[field] = bytes_get_varint(&cursor);
		} else if ((key & 7) == 1) {
			ret->number[field] = bytes_get_u64(&cursor);
		} else {
			CHECK_INT(key & 7, 2);
			struct blobs *blobs = &ret->blobs[field];
			size_t len = bytes_get_varint(&cursor);
			CHECK(blobs->len < MESSAGE_ELEMENTS);
			blobs->at[blobs->len++ % MESSAGE_ELEMENTS] = bytes_get_cursor(&cursor, len);
		}
	}
	CHECK(!cursor.overrun);
}

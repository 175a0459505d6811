/* Protocol Buffers messages taken apart, by a decoder that knows nothing of ours. */
#ifndef EBPROF_REPORT_PROTOBUF_MESSAGE_H
#define EBPROF_REPORT_PROTOBUF_MESSAGE_H

#include "format/base/bytes.h"

enum {
	MESSAGE_FIELDS = 16, /* field numbers of any message are below */
	MESSAGE_ELEMENTS = 32,
};

/* The last number of each field, its blobs in order, and its elements if packed. */
struct message {
	uint64_t number[MESSAGE_FIELDS];
	struct blobs {
		struct bytes_cursor at[MESSAGE_ELEMENTS];
		size_t len;
	} blobs[MESSAGE_FIELDS];
};

void message_parse(struct bytes_cursor cursor, struct message *ret);

#endif

#include "record/live_rows.h"

#include <string.h>

#include "record/runtime/runtime.h"

enum {
	MAX_READING = 16, /* more of the same would say nothing new */
};

struct request {
	uint32_t pid;
	uint64_t delta;
	struct runtime_row row;
};

_Static_assert(sizeof(struct request) <= TARGET_READER_MAX_REQUEST, "a request fits");

/* In the reader's worker: the row, or nothing. */
static void complete_row(const void *bytes, size_t len, struct bytes_buf *ret)
{
	struct request request;
	if (len != sizeof(request))
		return;
	memcpy(&request, bytes, len);
	const struct runtime *runtime = runtime_of(request.row.kind);
	if (runtime && runtime->complete &&
		runtime->complete(request.pid, request.delta, &request.row))
		bytes_put(ret, &request.row, sizeof(request.row));
}

void live_rows_init(struct live_rows *rows, struct table_store *store)
{
	*rows = (struct live_rows){.store = store};
	target_reader_init(&rows->reader, complete_row);
}

void live_rows_deinit(struct live_rows *rows)
{
	target_reader_deinit(&rows->reader);
	vec_deinit(&rows->reading);
}

void live_rows_meet(struct live_rows *rows, uint32_t table, uint32_t pid, uint64_t delta)
{
	const struct runtime_row *row = table_store_runtime_row(rows->store, table);
	if (!row || !runtime_of(row->kind)->complete || runtime_of(row->kind)->is_complete(row) ||
		rows->reading.len - rows->read >= MAX_READING)
		return;
	struct request request; /* no byte of it is left as it was */
	memset(&request, 0, sizeof(request));
	request.pid = pid;
	request.delta = delta;
	request.row = *row;
	vec_push(&rows->reading, table);
	target_reader_submit(&rows->reader, pid, &request, sizeof(request));
}

void live_rows_collect(struct live_rows *rows)
{
	const struct bytes_buf *answer;
	while (rows->read < rows->reading.len && target_reader_take(&rows->reader, &answer)) {
		uint32_t table = rows->reading.data[rows->read++];
		struct runtime_row row;
		if (!answer || answer->len != sizeof(row))
			continue;
		memcpy(&row, answer->data, sizeof(row));
		table_store_complete_row(rows->store, table, &row);
	}
	if (rows->read == rows->reading.len)
		rows->read = rows->reading.len = 0;
}

int live_rows_fd(const struct live_rows *rows)
{
	return target_reader_fd(&rows->reader);
}

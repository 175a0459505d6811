#include "report/write/push/push_ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/cache.h"
#include "format/base/hex.h"
#include "format/base/str.h"
#include "report/model/state_folder.h"

enum {
	SPAN_BYTES = 8,
	MAX_SPANS = 1 << 16, /* a push halves what is too large, and stays far below */
};

static struct err *push_ledger_usual_folder(struct str *path)
{
	if (!state_folder_put("push", path))
		return err_new(ERR_USAGE, "no home folder to keep in what was pushed: set "
					  "XDG_STATE_HOME, or say --state-dir");
	return NULL;
}

/* Spans that are out of order or range were not written by us. */
static struct err *read_spans(
	struct bytes_cursor cursor, uint32_t count, struct push_ledger *ledger)
{
	uint32_t end = 0;
	while (bytes_left(&cursor)) {
		struct push_span span = {.from = bytes_get_u32(&cursor)};
		span.to = bytes_get_u32(&cursor);
		if (cursor.overrun || span.from < end || span.to <= span.from || span.to > count)
			return err_new(ERR_FORMAT, "its spans are out of order");
		end = span.to;
		vec_push(&ledger->done, span);
	}
	return NULL;
}

static struct err *push_ledger_read_entry(
	struct cache_entry *entry, uint32_t count, struct push_ledger *ledger)
{
	if (entry->bytes_left > MAX_SPANS * SPAN_BYTES)
		return err_new(ERR_FORMAT, "it is too long");
	size_t len = (size_t)entry->bytes_left;
	CLEANUP_FREE uint8_t *bytes = mem_zalloc(len + 1);
	try(cache_entry_read(entry, bytes, len));
	try(cache_entry_check(entry));
	return read_spans(bytes_cursor(bytes, len), count, ledger);
}

static struct err *read_ledger(struct push_ledger *ledger, uint32_t count)
{
	struct cache_entry entry = {.fd = -1};
	struct err *err = cache_entry_open(ledger->files, ledger->name, &entry);
	if (!err && entry.fd >= 0)
		err = push_ledger_read_entry(&entry, count, ledger);
	cache_entry_close(&entry);
	return err_wrap(err, "the record of what was pushed cannot be used (--force pushes all)");
}

struct err *push_ledger_open(const char *folder, const uint8_t key[16], uint32_t count,
	bool is_forced, struct push_ledger *ret)
{
	CLEANUP(str_deinit) struct str path = {0};
	struct push_ledger ledger = {0};
	hex_encode(key, 16, ledger.name);
	if (folder)
		str_puts(&path, folder);
	else
		try(push_ledger_usual_folder(&path));
	struct cache_options options = {.kind = "pushed", .folder = str_text(&path)};
	try(cache_open(&options, &ledger.files));
	struct err *err = is_forced ? NULL : read_ledger(&ledger, count);
	if (err)
		push_ledger_close(&ledger);
	else
		*ret = ledger;
	return err;
}

void push_ledger_close(struct push_ledger *ledger)
{
	cache_close(ledger->files);
	vec_deinit(&ledger->done);
}

bool push_ledger_next(
	const struct push_ledger *ledger, uint32_t from, uint32_t count, struct push_span *ret)
{
	uint32_t to = count;
	vec_each(&ledger->done, span) {
		if (span->to <= from)
			continue;
		if (span->from <= from) {
			from = span->to;
			continue;
		}
		to = span->from;
		break;
	}
	*ret = (struct push_span){from, to};
	return from < to;
}

/* Keeps them in order and apart. */
static void push_ledger_insert(struct push_ledger *ledger, struct push_span span)
{
	size_t kept = 0, at = 0;
	vec_each(&ledger->done, other) {
		if (other->to == span.from) {
			span.from = other->from;
		} else if (other->from == span.to) {
			span.to = other->to;
		} else {
			ledger->done.data[kept++] = *other;
			if (other->to < span.from)
				at = kept;
		}
	}
	ledger->done.len = kept;
	vec_push(&ledger->done, span);
	memmove(ledger->done.data + at + 1, ledger->done.data + at,
		(kept - at) * sizeof(*ledger->done.data));
	ledger->done.data[at] = span;
}

struct err *push_ledger_add(struct push_ledger *ledger, struct push_span span)
{
	push_ledger_insert(ledger, span);
	if (!ledger->files)
		return NULL;
	struct bytes_buf bytes = {0};
	vec_each(&ledger->done, done) {
		bytes_put_u32(&bytes, done->from);
		bytes_put_u32(&bytes, done->to);
	}
	struct cache_piece piece = {bytes.data, bytes.len};
	struct err *err = cache_store(ledger->files, ledger->name, &piece, 1);
	bytes_buf_deinit(&bytes);
	return err_wrap(err, "cannot note what was pushed");
}

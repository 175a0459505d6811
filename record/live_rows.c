#include "record/live_rows.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/hex.h"
#include "record/siphash.h"

#include "record/runtime/runtime.h"

enum {
	MAX_READING = 16, /* more of the same would say nothing new */
	KEPT_BYTES = 1 << 20,
	KEPT_NAME_BYTES = 2 * 16 + 1,
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

void live_rows_init(struct live_rows *rows, struct table_store *store, const char *cache_folder)
{
	struct cache_options options = {
		.kind = "runtime", .folder = cache_folder, .max_bytes = KEPT_BYTES};
	*rows = (struct live_rows){.store = store};
	err_destroy(cache_open(&options, &rows->kept)); /* then without */
	target_reader_init(&rows->reader, complete_row);
	target_reader_start(&rows->reader); /* the recorder is small still */
}

void live_rows_deinit(struct live_rows *rows)
{
	target_reader_deinit(&rows->reader);
	vec_deinit(&rows->reading);
	cache_close(rows->kept);
}

/* ---- rows that are kept ---- */

/* By what the file says of it, and in what way this program understands that. */
static void put_kept_name(const struct runtime_row *row, char ret[KEPT_NAME_BYTES])
{
	static const uint8_t key[SIPHASH_KEY_BYTES];
	uint64_t hashes[2] = {0};
	for (uint64_t i = 0; i < 2; i++) {
		struct siphash hash;
		siphash_init(&hash, key);
		siphash_add(&hash, &i, sizeof(i));
		siphash_add(&hash, &runtime_of(row->kind)->version, sizeof(uint32_t));
		siphash_add(&hash, row, sizeof(*row));
		hashes[i] = siphash_finish(&hash);
	}
	hex_encode(hashes, sizeof(hashes), ret);
}

static struct err *read_kept(struct cache_entry *entry, struct runtime_row *ret)
{
	if (entry->fd < 0 || entry->bytes_left != sizeof(*ret))
		return err_new(ERR_FORMAT, "no row is kept");
	try(cache_entry_read(entry, ret, sizeof(*ret)));
	return cache_entry_check(entry);
}

static bool load_kept(
	const struct live_rows *rows, const struct runtime_row *row, struct runtime_row *ret)
{
	char name[KEPT_NAME_BYTES];
	struct cache_entry entry;
	put_kept_name(row, name);
	struct err *err = cache_entry_open(rows->kept, name, &entry);
	if (!err)
		err = read_kept(&entry, ret);
	cache_entry_close(&entry);
	bool is_sound = !err && ret->kind == row->kind && runtime_of(ret->kind)->is_complete(ret);
	err_destroy(err);
	return is_sound;
}

/* Whether the process is root's or our own: one of another user could make others' recordings
 * wrong. */
static bool is_trusted(uint32_t pid)
{
	char path[32];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) == 0 && (st.st_uid == 0 || st.st_uid == getuid());
}

static void keep_row(const struct live_rows *rows, uint32_t pid, const struct runtime_row *old,
	const struct runtime_row *row)
{
	char name[KEPT_NAME_BYTES];
	struct cache_piece piece = {.bytes = row, .len = sizeof(*row)};
	if (!runtime_of(old->kind)->is_kept(old) || !is_trusted(pid))
		return;
	put_kept_name(old, name);
	err_destroy(
		cache_store(rows->kept, name, &piece, 1)); /* the next recording reads it again */
}

/* ---- meeting processes ---- */

void live_rows_meet(struct live_rows *rows, uint32_t table, uint32_t pid, uint64_t delta)
{
	const struct runtime_row *row = table_store_runtime_row(rows->store, table);
	struct runtime_row kept;
	if (!row || !runtime_of(row->kind)->complete || runtime_of(row->kind)->is_complete(row) ||
		rows->reading.len - rows->read >= MAX_READING)
		return;
	if (runtime_of(row->kind)->is_kept(row) && load_kept(rows, row, &kept)) {
		table_store_complete_row(rows->store, table, &kept);
		return;
	}
	struct request request; /* no byte of it is left as it was */
	memset(&request, 0, sizeof(request));
	request.pid = pid;
	request.delta = delta;
	request.row = *row;
	struct live_row_job job = {.table = table, .pid = pid};
	vec_push(&rows->reading, job);
	target_reader_submit(&rows->reader, pid, &request, sizeof(request));
}

void live_rows_collect(struct live_rows *rows)
{
	const struct bytes_buf *answer;
	while (rows->read < rows->reading.len && target_reader_take(&rows->reader, &answer)) {
		struct live_row_job job = rows->reading.data[rows->read++];
		struct runtime_row row;
		if (!answer || answer->len != sizeof(row))
			continue;
		memcpy(&row, answer->data, sizeof(row));
		const struct runtime_row *old = table_store_runtime_row(rows->store, job.table);
		if (!runtime_of(old->kind)->is_complete(old))
			keep_row(rows, job.pid, old, &row);
		table_store_complete_row(rows->store, job.table, &row);
	}
	if (rows->read == rows->reading.len)
		rows->read = rows->reading.len = 0;
}

int live_rows_fd(const struct live_rows *rows)
{
	return target_reader_fd(&rows->reader);
}

#include "record/unwind/live_rows.h"

#include <string.h>
#include <unistd.h>

#include "format/base/hex.h"
#include "record/host/proc.h"
#include "record/host/siphash.h"

#include "record/runtime/runtime.h"

enum {
	MAX_READING = 16,                      /* more of the same would say nothing new */
	MAX_USERS_ROWS = RUNTIME_MAX_ROWS / 4, /* the files have the others */
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
static void complete_row(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	(void)kept;
	struct request request;
	if (len != sizeof(request))
		return;
	memcpy(&request, bytes, len);
	const struct runtime *runtime = runtime_of(request.row.kind);
	if (runtime && runtime->complete &&
		runtime->complete(request.pid, request.delta, &request.row))
		bytes_put(ret, &request.row, sizeof(request.row));
}

void live_rows_prepare(struct live_rows *rows)
{
	*rows = (struct live_rows){0};
	target_reader_init(&rows->reader, complete_row);
	target_reader_start(&rows->reader);
}

void live_rows_init(struct live_rows *rows, struct table_store *store, const char *cache_folder)
{
	struct cache_options options = {
		.kind = "runtime", .folder = cache_folder, .max_bytes = KEPT_BYTES};
	rows->store = store;
	err_destroy(cache_open(&options, &rows->kept)); /* then without */
}

void live_rows_deinit(struct live_rows *rows)
{
	target_reader_deinit(&rows->reader);
	vec_deinit(&rows->reading);
	vec_deinit(&rows->users);
	vec_deinit(&rows->of_files);
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

static void keep_row(
	const struct live_rows *rows, const struct runtime_row *old, const struct runtime_row *row)
{
	char name[KEPT_NAME_BYTES];
	struct cache_piece piece = {.bytes = row, .len = sizeof(*row)};
	if (!runtime_of(old->kind)->is_kept(old))
		return;
	put_kept_name(old, name);
	err_destroy(
		cache_store(rows->kept, name, &piece, 1)); /* the next recording reads it again */
}

/* ---- rows of users ---- */

/* Whether the row that a process of this user completed holds for everybody's. */
static bool is_trusted(uint32_t uid)
{
	return uid == 0 || uid == getuid();
}

/* NULL: no process of the user has completed the row of this file so far. */
static const struct users_row *find_users_row(
	const struct live_rows *rows, const struct runtime_row *of_file, uint32_t uid)
{
	vec_each(&rows->users, users)
		if (users->of_file == of_file && users->uid == uid)
			return users;
	return NULL;
}

static void tell_users_row(
	const struct live_rows *rows, const struct users_row *users, uint32_t pid, uint64_t delta)
{
	if (users->number)
		table_store_tell_users_row(rows->store, users->number, users->uid, pid, delta);
}

/* The first row that a process of the user completed is the user's. */
static void take_users_row(struct live_rows *rows, const struct live_row_job *job,
	const struct runtime_row *of_file, const struct runtime_row *row)
{
	const struct users_row *known = find_users_row(rows, of_file, job->uid);
	if (!known) {
		struct users_row users = {.of_file = of_file, .uid = job->uid};
		if (rows->users.len < MAX_USERS_ROWS)
			users.number = table_store_add_row(rows->store, row);
		vec_push(&rows->users, users);
		known = &rows->users.data[rows->users.len - 1];
	}
	tell_users_row(rows, known, job->pid, job->delta);
}

/* ---- meeting processes ---- */

const struct runtime_row *live_rows_of_file(const struct live_rows *rows, uint32_t table)
{
	const struct runtime_row *now = table_store_runtime_row(rows->store, table);
	vec_each(&rows->of_files, known)
		if (known->now == now)
			return &known->row;
	return now && !runtime_of(now->kind)->complete ? now : NULL;
}

static void keep_row_of_file(struct live_rows *rows, uint32_t table, const struct runtime_row *row)
{
	if (runtime_of(row->kind)->read_threads && !live_rows_of_file(rows, table))
		vec_push(&rows->of_files, (struct file_row){row, *row});
}

void live_rows_meet(struct live_rows *rows, uint32_t table, uint32_t pid, uint64_t delta)
{
	const struct runtime_row *row = table_store_runtime_row(rows->store, table);
	struct runtime_row kept;
	if (!row || !runtime_of(row->kind)->complete || runtime_of(row->kind)->is_complete(row))
		return;
	keep_row_of_file(rows, table, row);
	if (rows->reading.len - rows->read >= MAX_READING)
		return;
	if (runtime_of(row->kind)->is_kept(row) && load_kept(rows, row, &kept)) {
		table_store_complete_row(rows->store, table, &kept);
		return;
	}
	uint32_t uid;
	if (!proc_read_owner(pid, &uid))
		return;
	const struct users_row *users = is_trusted(uid) ? NULL : find_users_row(rows, row, uid);
	if (users) {
		tell_users_row(rows, users, pid, delta);
		return;
	}
	struct request request; /* no byte of it is left as it was */
	memset(&request, 0, sizeof(request));
	request.pid = pid;
	request.delta = delta;
	request.row = *row;
	struct live_row_job job = {.table = table, .pid = pid, .uid = uid, .delta = delta};
	vec_push(&rows->reading, job);
	target_reader_submit(&rows->reader, pid, &request, sizeof(request));
}

void live_rows_collect(struct live_rows *rows)
{
	const struct bytes_buf *answer;
	while (rows->read < rows->reading.len && target_reader_take(&rows->reader, &answer)) {
		struct live_row_job job = rows->reading.data[rows->read++];
		struct runtime_row row;
		uint32_t uid;
		/* It may have become another user's while it was read. */
		if (!answer || answer->len != sizeof(row) || !proc_read_owner(job.pid, &uid) ||
			uid != job.uid)
			continue;
		memcpy(&row, answer->data, sizeof(row));
		const struct runtime_row *old = table_store_runtime_row(rows->store, job.table);
		if (runtime_of(old->kind)->is_complete(old))
			continue;
		if (!is_trusted(uid)) {
			take_users_row(rows, &job, old, &row);
			continue;
		}
		keep_row(rows, old, &row);
		table_store_complete_row(rows->store, job.table, &row);
	}
	if (rows->read == rows->reading.len)
		rows->read = rows->reading.len = 0;
}

bool live_rows_are_reading(const struct live_rows *rows)
{
	return rows->read < rows->reading.len;
}

int live_rows_fd(const struct live_rows *rows)
{
	return target_reader_fd(&rows->reader);
}

/*
 * The file is written from its start to its end while units are read, so that neither blocks nor
 * texts have to be in memory: of a text only a hash of 88 bits and its offset are kept, to find it
 * again when another unit has it, too.
 */
#include "report/name/symbol/address_index_writer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "report/name/symbol/address_index_block.h"
#include "report/name/symbol/address_index_layout.h"

enum {
	BLOCK_BYTES = 4 << 10,
	BUFFER_BYTES = 64 << 10, /* a multiple of a page */
};

#define FILE_BYTES_MAX ((uint64_t)1 << 30)

struct row {
	uint64_t start;
	uint32_t code_bytes, offset, bytes;
};

struct index_writer {
	struct cache_writer *file;
	atomic_bool failed;
	pthread_mutex_t lock; /* of all that follows */
	struct bytes_buf buffer, sums;
	uint64_t flushed;  /* bytes of the file before the buffer */
	struct map stored; /* hash of a text or function -> other bits of a hash << 32 | offset */
	uint64_t seeds[2];
	VEC(struct row) rows;
};

/* One of the threads that units are read by. */
struct index_thread {
	struct index_writer *writer;
	struct address_index_names names;
	struct address_index_block block;
	struct map offsets; /* of a text in memory -> where it stands in the file */
};

/* ---- the file ---- */

static void address_index_writer_fail(struct index_writer *writer, struct err *err)
{
	if (err)
		atomic_store(&writer->failed, true);
	err_destroy(err);
}

static void address_index_writer_flush(struct index_writer *writer)
{
	const struct bytes_buf *buffer = &writer->buffer;
	for (size_t at = 0; at < buffer->len; at += ADDRESS_INDEX_PAGE_BYTES) {
		size_t left = buffer->len - at;
		bytes_put_u64(&writer->sums,
			cache_checksum(0, buffer->data + at,
				left < ADDRESS_INDEX_PAGE_BYTES ? left : ADDRESS_INDEX_PAGE_BYTES));
	}
	if (!atomic_load(&writer->failed))
		address_index_writer_fail(
			writer, cache_writer_put(writer->file, buffer->data, buffer->len));
	writer->flushed += buffer->len;
	writer->buffer.len = 0;
}

/* Returns where it stands. */
static uint32_t address_index_writer_append(
	struct index_writer *writer, const void *bytes, size_t len)
{
	uint64_t offset = writer->flushed + writer->buffer.len;
	if (offset + len > FILE_BYTES_MAX) {
		atomic_store(&writer->failed, true);
		return 0;
	}
	for (const uint8_t *at = bytes; len;) {
		size_t room = BUFFER_BYTES - writer->buffer.len, part = len < room ? len : room;
		bytes_put(&writer->buffer, at, part);
		at += part;
		len -= part;
		if (writer->buffer.len == BUFFER_BYTES)
			address_index_writer_flush(writer);
	}
	return (uint32_t)offset;
}

/* The same for what may stand there already. */
static uint32_t append_once(struct index_writer *writer, const void *bytes, size_t len)
{
	uint64_t check = map_hash_bytes(bytes, len, writer->seeds[1]) >> 32 << 32;
	uint64_t hash = map_hash_bytes(bytes, len, writer->seeds[0]);
	bool is_new;
	pthread_mutex_lock(&writer->lock);
	uint64_t *stored = map_put(&writer->stored, hash, &is_new);
	bool is_there = !is_new && (*stored ^ check) >> 32 == 0;
	uint32_t offset =
		is_there ? (uint32_t)*stored : address_index_writer_append(writer, bytes, len);
	*stored = check | offset;
	pthread_mutex_unlock(&writer->lock);
	return offset;
}

/* ---- ranges of code ---- */

static uint32_t text_offset(void *context, const char *text)
{
	struct index_thread *thread = context;
	bool is_new;
	uint64_t *offset = map_put(&thread->offsets, (uint64_t)(uintptr_t)text, &is_new);
	if (is_new)
		*offset = append_once(thread->writer, text, strlen(text) + 1);
	return (uint32_t)*offset;
}

static uint32_t function_offset(
	void *context, uint32_t name, uint32_t decl_file, uint32_t decl_line)
{
	struct index_thread *thread = context;
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	bytes_put_varint(&bytes, name);
	bytes_put_varint(&bytes, decl_file);
	bytes_put_varint(&bytes, decl_line);
	return append_once(thread->writer, bytes.data, bytes.len);
}

static void end_block(struct index_thread *thread)
{
	struct index_writer *writer = thread->writer;
	struct address_index_block *block = &thread->block;
	if (block->start == block->end)
		return;
	pthread_mutex_lock(&writer->lock);
	struct row row = {
		.start = block->start,
		.code_bytes = (uint32_t)(block->end - block->start),
		.offset = address_index_writer_append(writer, block->bytes.data, block->bytes.len),
		.bytes = (uint32_t)block->bytes.len,
	};
	vec_push(&writer->rows, row);
	pthread_mutex_unlock(&writer->lock);
	address_index_block_reset(block);
}

static void address_index_writer_take(
	void *context, unsigned number, uint64_t start, uint64_t end, const struct chain *chain)
{
	struct index_thread *thread = &((struct index_thread *)context)[number];
	struct address_index_block *block = &thread->block;
	if (start != block->end || block->bytes.len >= BLOCK_BYTES ||
		end - block->start > UINT32_MAX)
		end_block(thread);
	if (end - start <= UINT32_MAX)
		address_index_block_put(block, start, end, chain, &thread->names);
	else if (chain->count)
		atomic_store(&thread->writer->failed, true);
}

/* Blocks know texts by where they are in memory. */
static void address_index_writer_forget(void *context, unsigned number)
{
	struct index_thread *thread = &((struct index_thread *)context)[number];
	end_block(thread);
	map_clear(&thread->offsets);
}

static bool write_blocks(struct index_writer *writer, struct dwarf_resolver *resolver)
{
	unsigned count = dwarf_resolver_threads(resolver);
	CLEANUP_FREE struct index_thread *threads = mem_zalloc_array(count, sizeof(*threads));
	for (unsigned i = 0; i < count; i++) {
		threads[i].writer = writer;
		threads[i].names =
			(struct address_index_names){&threads[i], text_offset, function_offset};
	}
	struct dwarf_survey_taker taker = {
		threads, address_index_writer_take, address_index_writer_forget};
	bool is_whole = dwarf_resolver_survey(resolver, &taker);
	for (unsigned i = 0; i < count; i++) {
		end_block(&threads[i]);
		address_index_block_deinit(&threads[i].block);
		map_deinit(&threads[i].offsets);
	}
	return is_whole;
}

/* ---- what leads to it ---- */

static int address_index_writer_compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static uint64_t write_table(struct index_writer *writer)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf table = {0};
	if (writer->rows.len)
		qsort(writer->rows.data, writer->rows.len, sizeof(*writer->rows.data),
			address_index_writer_compare_rows);
	vec_each(&writer->rows, row) {
		bytes_put_u64(&table, row->start);
		bytes_put_u32(&table, row->code_bytes);
		bytes_put_u32(&table, row->offset);
		bytes_put_u32(&table, row->bytes);
	}
	uint64_t offset = address_index_writer_append(writer, table.data, table.len);
	address_index_writer_flush(writer);
	return offset;
}

static struct err *address_index_writer_write_trailer(
	struct index_writer *writer, uint64_t table_offset)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf trailer = {0};
	const struct bytes_buf *sums = &writer->sums;
	bytes_put_u32(&trailer, ADDRESS_INDEX_VERSION);
	bytes_put_u32(&trailer, (uint32_t)writer->rows.len);
	bytes_put_u64(&trailer, table_offset);
	bytes_put_u64(&trailer, writer->flushed);
	bytes_put_u64(&trailer, cache_checksum(0, sums->data, sums->len));
	bytes_put_u64(&trailer, cache_checksum(0, trailer.data, trailer.len));
	try(cache_writer_put(writer->file, sums->data, sums->len));
	try(cache_writer_put(writer->file, trailer.data, trailer.len));
	return cache_writer_commit(writer->file);
}

static bool write_file(struct index_writer *writer, struct dwarf_resolver *resolver)
{
	const uint8_t version[] = {ADDRESS_INDEX_VERSION, 0, 0, 0};
	address_index_writer_append(writer, version, sizeof(version));
	if (!write_blocks(writer, resolver))
		return false;
	uint64_t table_offset = write_table(writer);
	if (!atomic_load(&writer->failed))
		address_index_writer_fail(
			writer, address_index_writer_write_trailer(writer, table_offset));
	return !atomic_load(&writer->failed);
}

bool address_index_write(
	const struct cache *cache, const char *name, struct dwarf_resolver *resolver)
{
	struct index_writer writer = {.seeds = {map_random_seed(), map_random_seed()}};
	struct err *err = cache_writer_open(cache, name, &writer.file);
	err_destroy(err);
	if (err || !writer.file)
		return false;
	pthread_mutex_init(&writer.lock, NULL);
	bool is_written = write_file(&writer, resolver);
	pthread_mutex_destroy(&writer.lock);
	bytes_buf_deinit(&writer.buffer);
	bytes_buf_deinit(&writer.sums);
	map_deinit(&writer.stored);
	vec_deinit(&writer.rows);
	cache_writer_close(writer.file);
	return is_written;
}

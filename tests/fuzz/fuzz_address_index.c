/*
 * A cached address index: any bytes as the file, and, since its checksums keep a fuzzer out, any
 * bytes as what they protect: texts, functions, blocks and the table of these.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "report/name/symbol/address_index.h"
#include "report/name/symbol/address_index_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const char name[] = "abcdef01";
static char folder[] = "/tmp/ebprof-fuzz.XXXXXX", path[64];
static struct cache *cache;

static void remove_folder(void)
{
	unlink(path);
	rmdir(folder);
}

static void open_cache(void)
{
	if (cache)
		return;
	struct err *err = mkdtemp(folder) ? address_index_cache_open(folder, &cache) : NULL;
	if (err || !cache)
		abort();
	snprintf(path, sizeof(path), "%s/%s.index", folder, name);
	atexit(remove_folder);
}

static size_t read_text(const char *text)
{
	return text ? strlen(text) : 0;
}

static void look_up(uint64_t address)
{
	enum {
		COUNT = 256,
	};
	static uint64_t addresses[COUNT];
	static struct chain chains[COUNT];
	struct address_index *index = address_index_open(cache, name);
	for (size_t i = 0; i < COUNT; i++)
		addresses[i] = i < COUNT / 2 ? i * 3 : address + i;
	volatile size_t sum = 0;
	if (index && address_index_run(index, addresses, COUNT, chains))
		for (size_t i = 0; i < COUNT; i++)
			for (uint32_t j = 0; j < chains[i].count; j++)
				sum += read_text(chains[i].frames[j].function) +
				       read_text(chains[i].frames[j].file) +
				       read_text(chains[i].frames[j].decl_file);
	address_index_close(index);
}

static void store(const struct bytes_buf *file)
{
	struct cache_piece piece = {file->data, file->len};
	if (cache_store(cache, name, &piece, 1))
		abort();
}

/* Checksums as they should be. */
static void put_sums(struct bytes_buf *file, uint32_t nr_blocks, uint64_t table_offset)
{
	struct bytes_buf sums = {0}, trailer = {0};
	for (size_t at = 0; at < file->len; at += ADDRESS_INDEX_PAGE_BYTES) {
		size_t left = file->len - at;
		bytes_put_u64(&sums,
			cache_checksum(0, file->data + at,
				left < ADDRESS_INDEX_PAGE_BYTES ? left : ADDRESS_INDEX_PAGE_BYTES));
	}
	bytes_put_u32(&trailer, ADDRESS_INDEX_VERSION);
	bytes_put_u32(&trailer, nr_blocks);
	bytes_put_u64(&trailer, table_offset);
	bytes_put_u64(&trailer, file->len);
	bytes_put_u64(&trailer, cache_checksum(0, sums.data, sums.len));
	bytes_put_u64(&trailer, cache_checksum(0, trailer.data, trailer.len));
	bytes_put(file, sums.data, sums.len);
	bytes_put(file, trailer.data, trailer.len);
	bytes_buf_deinit(&sums);
	bytes_buf_deinit(&trailer);
}

/* A byte tells which; then number of blocks, offset of the table, an address, and the rest. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	struct bytes_buf file = {0};
	bool is_raw = bytes_get_u8(&cursor) & 1;
	uint32_t nr_blocks = is_raw ? 0 : bytes_get_u16(&cursor);
	uint64_t table_offset = is_raw ? 0 : bytes_get_u32(&cursor);
	uint64_t address = is_raw ? 0 : bytes_get_u64(&cursor);
	if (cursor.overrun)
		return 0;
	open_cache();
	bytes_put(&file, cursor.pos, bytes_left(&cursor));
	if (!is_raw)
		put_sums(&file, nr_blocks, table_offset);
	store(&file);
	look_up(address);
	bytes_buf_deinit(&file);
	return 0;
}

/*
 * An entry: a version, how often it was stored before, and the number of bytes of answers, then the
 * answers, in one part.
 */
#include "report/name/symbol/answer_cache.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/bytes.h"
#include "format/base/hex.h"
#include "format/base/mem.h"

enum {
	FORMAT_VERSION = 5, /* also when the same files give other answers than before */
	HEADER_BYTES = 4 + 4 + 8,
	MAX_ENTRY_BYTES = 256 << 20,
};

struct err *answer_cache_open(const char *folder, struct cache **ret)
{
	struct cache_options options = {
		.kind = "answers",
		.folder = folder,
		.max_bytes = (uint64_t)ANSWER_CACHE_MAX_MB << 20,
	};
	return cache_open(&options, ret);
}

/* ---- keys ---- */

/* False when the file cannot be told from another. */
static bool add_file(const char *path, uint64_t *identity)
{
	struct stat st;
	if (!path)
		return true;
	if (stat(path, &st))
		return false;
	const uint64_t facts[] = {st.st_dev, st.st_ino, (uint64_t)st.st_size,
		(uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec,
		(uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec};
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		*identity = map_mix(*identity ^ facts[i]) + i;
	return true;
}

struct answer_key answer_cache_key(
	const struct layout_object *object, const struct symbol_file *file)
{
	struct answer_key key = {.name = ""};
	uint64_t identity =
		map_mix(FORMAT_VERSION << 16 | (uint64_t)file->level << 8 | (file->lines != NULL));
	if (!file->path || !object->build_id_len ||
		2 * object->build_id_len + 16 >= CACHE_NAME_MAX || /* names add a digit */
		!add_file(file->path, &identity))
		return key;
	identity = map_mix(identity);
	if (!add_file(file->debug_path, &identity))
		return key;
	hex_encode(object->build_id, object->build_id_len, key.name);
	sprintf(key.name + 2 * object->build_id_len, "%016llx", (unsigned long long)identity);
	return key;
}

/* ---- loading ---- */

static struct err *read_answers(
	struct cache_entry *entry, struct answer_key *key, struct answers *answers)
{
	uint8_t header[HEADER_BYTES];
	try(cache_entry_read(entry, header, sizeof(header)));
	struct bytes_cursor cursor = bytes_cursor(header, sizeof(header));
	if (bytes_get_u32(&cursor) != FORMAT_VERSION)
		return err_new(ERR_FORMAT, "of another version");
	uint32_t nr_before = bytes_get_u32(&cursor);
	uint64_t len = bytes_get_u64(&cursor);
	if (len != entry->bytes_left || len > MAX_ENTRY_BYTES)
		return err_new(ERR_FORMAT, "of a wrong length");
	CLEANUP_FREE uint8_t *bytes = mem_alloc(len);
	try(cache_entry_read(entry, bytes, len));
	try(cache_entry_check(entry));
	const char *fault = answers_take(answers, steal_ptr(bytes), len);
	if (fault)
		return err_new(ERR_FORMAT, "%s", fault);
	key->nr_stored = nr_before < UINT32_MAX ? nr_before + 1 : nr_before;
	key->checksum = entry->checksum;
	return NULL;
}

void answer_cache_load(const struct cache *cache, struct answer_key *key, struct answers *answers)
{
	struct cache_entry entry;
	struct err *err = cache_entry_open(cache, key->name, &entry);
	if (!err && entry.fd >= 0)
		err = read_answers(&entry, key, answers);
	cache_entry_close(&entry);
	if (err)
		answers_deinit(answers);
	err_destroy(err);
}

/* ---- storing ---- */

void answer_cache_store(
	const struct cache *cache, struct answer_key *key, const struct answers *answers)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf part = {0}, header = {0};
	key->checksum = 0;
	if (!cache || !key->name[0])
		return;
	answers_encode_all(answers, &part);
	if (part.len > MAX_ENTRY_BYTES)
		return;
	bytes_put_u32(&header, FORMAT_VERSION);
	bytes_put_u32(&header, key->nr_stored);
	bytes_put_u64(&header, part.len);
	const struct cache_piece pieces[] = {{header.data, header.len}, {part.data, part.len}};
	struct err *err = cache_store(cache, key->name, pieces, sizeof(pieces) / sizeof(*pieces));
	if (!err)
		key->checksum = cache_checksum(
			cache_checksum(0, header.data, header.len), part.data, part.len);
	err_destroy(err);
}

/* An entry: a version, the checksum of the answers' entry, then the names. */
#include "report/name/symbol/name_cache.h"

#include <stdio.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"

enum {
	FORMAT_VERSION = 1, /* also when names are shown in another way than before */
	HEADER_BYTES = 4 + 8,
	MAX_ENTRY_BYTES = 256 << 20,
};

struct err *name_cache_open(const char *folder, struct cache **ret)
{
	struct cache_options options = {
		.kind = "names",
		.folder = folder,
		.max_bytes = (uint64_t)NAME_CACHE_MAX_MB << 20,
	};
	return cache_open(&options, ret);
}

struct entry_name {
	char text[CACHE_NAME_MAX + 2];
};

static struct entry_name name_of(const struct answer_key *key, enum demangle_mode mode)
{
	struct entry_name name;
	snprintf(name.text, sizeof(name.text), "%s%x", key->name, (unsigned)mode);
	return name;
}

static struct err *read_entry(struct cache_entry *entry, const struct answer_key *key,
	struct answers *answers, struct shown_names *names)
{
	uint8_t header[HEADER_BYTES];
	try(cache_entry_read(entry, header, sizeof(header)));
	struct bytes_cursor cursor = bytes_cursor(header, sizeof(header));
	if (bytes_get_u32(&cursor) != FORMAT_VERSION)
		return err_new(ERR_FORMAT, "of another version");
	if (bytes_get_u64(&cursor) != key->checksum)
		return err_new(ERR_FORMAT, "of other answers");
	uint64_t len = entry->bytes_left;
	if (len > MAX_ENTRY_BYTES)
		return err_new(ERR_FORMAT, "of a wrong length");
	CLEANUP_FREE uint8_t *bytes = mem_realloc_array(NULL, len, 1);
	try(cache_entry_read(entry, bytes, len));
	try(cache_entry_check(entry));
	return shown_names_take(names, answers, steal_ptr(bytes), len)
		       ? NULL
		       : err_new(ERR_FORMAT, "names that are none");
}

void name_cache_load(const struct cache *cache, const struct answer_key *key,
	struct answers *answers, struct shown_names *names)
{
	struct cache_entry entry;
	if (!key->checksum)
		return;
	struct entry_name name = name_of(key, names->mode);
	struct err *err = cache_entry_open(cache, name.text, &entry);
	if (!err && entry.fd >= 0)
		err = read_entry(&entry, key, answers, names);
	cache_entry_close(&entry);
	if (err)
		shown_names_deinit(names);
	err_destroy(err);
}

void name_cache_store(const struct cache *cache, const struct answer_key *key,
	const struct answers *answers, const struct shown_names *names)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf header = {0}, body = {0};
	if (!cache || !key->checksum)
		return;
	bytes_put_u32(&header, FORMAT_VERSION);
	bytes_put_u64(&header, key->checksum);
	shown_names_encode(names, answers, &body);
	if (body.len > MAX_ENTRY_BYTES)
		return;
	struct entry_name name = name_of(key, names->mode);
	const struct cache_piece pieces[] = {{header.data, header.len}, {body.data, body.len}};
	err_destroy(cache_store(cache, name.text, pieces, sizeof(pieces) / sizeof(*pieces)));
}

/*
 * An entry: a version, how often its chains were stored before, the number of bytes of chains and
 * of names in each mode; then the chains in one part, then the names.
 */
#include "report/name/symbol/symbol_cache.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/bytes.h"
#include "format/base/hex.h"
#include "format/base/mem.h"

enum {
	FORMAT_VERSION = 14, /* also when the same files give other chains or names than before */
	NR_PARTS = 1 + SYMBOL_CACHE_MODES,
	HEADER_BYTES = 4 + 4 + 8 * NR_PARTS,
	MAX_ENTRY_BYTES = 512 << 20,
};

struct err *symbol_cache_open(const char *folder, struct cache **ret)
{
	struct cache_options options = {
		.kind = "answers",
		.folder = folder,
		.max_bytes = (uint64_t)SYMBOL_CACHE_MAX_MB << 20,
	};
	return cache_open(&options, ret);
}

/* ---- which one ---- */

/* False when the file cannot be distinguished from another. */
static bool symbol_cache_add_file(const char *path, uint64_t *identity)
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

void symbol_cache_find(const struct layout_object *object, const struct symbol_file *file,
	struct symbol_cache_entry *ret)
{
	*ret = (struct symbol_cache_entry){.name = ""};
	uint64_t identity =
		map_mix(FORMAT_VERSION << 16 | (uint64_t)file->level << 8 | (file->lines != NULL));
	if (!file->path || !object->build_id_len ||
		2 * object->build_id_len + 16 > CACHE_NAME_MAX ||
		!symbol_cache_add_file(file->path, &identity))
		return;
	identity = map_mix(identity);
	if (!symbol_cache_add_file(file->debug_path, &identity))
		return;
	identity = map_mix(identity);
	if (!symbol_cache_add_file(file->clr_pdb_path, &identity))
		return;
	hex_encode(object->build_id, object->build_id_len, ret->name);
	sprintf(ret->name + 2 * object->build_id_len, "%016llx", (unsigned long long)identity);
}

void symbol_cache_entry_deinit(struct symbol_cache_entry *entry)
{
	for (int mode = 0; mode < SYMBOL_CACHE_MODES; mode++)
		bytes_buf_deinit(&entry->names[mode]);
}

/* ---- loading ---- */

/* What was read of an entry, until its checksum has proved it. */
struct parts {
	uint32_t nr_stored;
	uint8_t *bytes[NR_PARTS];
	size_t lens[NR_PARTS];
};

static struct err *read_parts(struct cache_entry *from, struct parts *parts)
{
	uint8_t header[HEADER_BYTES];
	try(cache_entry_read(from, header, sizeof(header)));
	struct bytes_cursor cursor = bytes_cursor(header, sizeof(header));
	if (bytes_get_u32(&cursor) != FORMAT_VERSION)
		return err_new(ERR_FORMAT, "of another version");
	parts->nr_stored = bytes_get_u32(&cursor);
	uint64_t left = from->bytes_left;
	for (int i = 0; i < NR_PARTS; i++) {
		uint64_t len = bytes_get_u64(&cursor);
		if (len > left || len > MAX_ENTRY_BYTES)
			return err_new(ERR_FORMAT, "of a wrong length");
		left -= len;
		parts->lens[i] = len;
	}
	if (left)
		return err_new(ERR_FORMAT, "of a wrong length");
	for (int i = 0; i < NR_PARTS; i++) {
		parts->bytes[i] = mem_alloc(parts->lens[i] + 1);
		try(cache_entry_read(from, parts->bytes[i], parts->lens[i]));
	}
	return cache_entry_check(from);
}

static struct err *take_parts(struct parts *parts, struct symbol_cache_entry *entry,
	struct chain_map *chains, struct shown_names *names)
{
	const char *fault = chain_map_take(chains, steal_ptr(parts->bytes[0]), parts->lens[0]);
	if (fault)
		return err_new(ERR_FORMAT, "%s", fault);
	for (int mode = 0; mode < SYMBOL_CACHE_MODES; mode++) {
		size_t len = parts->lens[1 + mode];
		if (!names || mode != (int)names->mode)
			bytes_put(&entry->names[mode], parts->bytes[1 + mode], len);
		else if (len &&
			 !shown_names_take(names, chains, steal_ptr(parts->bytes[1 + mode]), len))
			return err_new(ERR_FORMAT, "names that are none");
	}
	entry->is_there = true;
	entry->nr_stored = parts->nr_stored < UINT32_MAX ? parts->nr_stored + 1 : UINT32_MAX;
	return NULL;
}

void symbol_cache_load(const struct cache *cache, struct symbol_cache_entry *entry,
	struct chain_map *chains, struct shown_names *names)
{
	struct cache_entry from;
	struct parts parts = {0};
	struct err *err = cache_entry_open(cache, entry->name, &from);
	if (!err && from.fd >= 0) {
		err = read_parts(&from, &parts);
		if (!err)
			err = take_parts(&parts, entry, chains, names);
	}
	cache_entry_close(&from);
	for (int i = 0; i < NR_PARTS; i++)
		mem_free(parts.bytes[i]);
	if (err) {
		chain_map_deinit(chains);
		symbol_cache_entry_deinit(entry);
		if (names)
			shown_names_deinit(names);
	}
	err_destroy(err);
}

/* ---- storing ---- */

void symbol_cache_store(const struct cache *cache, struct symbol_cache_entry *entry,
	const struct chain_map *chains, bool are_chains_new, const struct shown_names *names)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf header = {0}, part = {0};
	if (!cache || !entry->name[0] || !(are_chains_new || (entry->is_there && names)))
		return;
	if (are_chains_new) /* names stand in the order of the chains' functions */
		symbol_cache_entry_deinit(entry);
	if (names)
		shown_names_encode(names, chains, &entry->names[names->mode]);
	chain_map_encode_all(chains, &part);
	struct cache_piece pieces[1 + NR_PARTS] = {[1] = {part.data, part.len}};
	size_t bytes = part.len;
	bytes_put_u32(&header, FORMAT_VERSION);
	bytes_put_u32(&header, entry->nr_stored - !are_chains_new);
	bytes_put_u64(&header, part.len);
	for (int mode = 0; mode < SYMBOL_CACHE_MODES; mode++) {
		const struct bytes_buf *of_mode = &entry->names[mode];
		pieces[2 + mode] = (struct cache_piece){of_mode->data, of_mode->len};
		bytes_put_u64(&header, of_mode->len);
		bytes += of_mode->len;
	}
	pieces[0] = (struct cache_piece){header.data, header.len};
	struct err *err = bytes > MAX_ENTRY_BYTES
				  ? NULL
				  : cache_store(cache, entry->name, pieces, 1 + NR_PARTS);
	err_destroy(err);
}

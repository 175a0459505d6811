#include "format/elf/elf_dynsym.h"

#include <elf.h>
#include <endian.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"

enum {
	TABLE_MAX = 256 << 20, /* bytes; libLLVM's have 4 MiB */
};

static const struct elf_section *find_table(const struct elf_section *sections, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (sections[i].type == SHT_DYNSYM && sections[i].entsize == sizeof(Elf64_Sym))
			return &sections[i];
	return NULL;
}

static struct err *elf_dynsym_read_table(
	const struct elf_file *file, const struct elf_section *table, uint8_t **ret)
{
	if (table->size > TABLE_MAX || table->size > elf_file_size(file))
		return err_new(
			ERR_FORMAT, "%s: %llu bytes", table->name, (unsigned long long)table->size);
	return err_wrap(elf_file_read(file, table->offset, table->size, ret), "%s", table->name);
}

/* A name may be the end of a longer one, which linkers put there once. */
static bool elf_dynsym_has_name(const uint8_t *names, uint64_t len, const char *name)
{
	return memmem(names, len, name, strlen(name) + 1);
}

static void elf_dynsym_take_symbol(struct bytes_cursor *cursor, const uint8_t *names, uint64_t len,
	const char *const *wanted, size_t count, struct elf_dynsym *ret)
{
	uint32_t name = bytes_get_u32(cursor);
	bytes_get_u16(cursor); /* st_info, st_other */
	uint16_t section = bytes_get_u16(cursor);
	struct elf_dynsym symbol = {.address = bytes_get_u64(cursor)};
	symbol.size = bytes_get_u64(cursor);
	if (section == SHN_UNDEF || name >= len)
		return;
	for (size_t i = 0; i < count; i++)
		if (strcmp((const char *)names + name, wanted[i]) == 0)
			ret[i] = symbol;
}

/* ---- by the hash table ---- */

enum {
	HASH_HEAD_BYTES = 16,
	HASH_MAX_CHAIN = 64 << 10, /* symbols whose hashes share a bucket: a few, if it is sound */
	HASH_WINDOW = 64,          /* of them are read at once */
};

enum hash_answer {
	HASH_UNKNOWN, /* there is no such table, or it makes no sense */
	HASH_ABSENT,
	HASH_FOUND,
};

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static bool elf_dynsym_read_words(
	const struct elf_file *file, uint64_t offset, uint32_t *words, size_t count)
{
	struct err *err = elf_file_read_into(file, offset, words, count * sizeof(*words));
	err_destroy(err);
	for (size_t i = 0; !err && i < count; i++)
		words[i] = le32toh(words[i]);
	return !err;
}

/* What a hash table needs of a file. */
struct hash_search {
	const struct elf_file *file;
	const struct elf_section *symbols, *strings;
	const char *name;
	struct elf_dynsym *ret;
};

/* Whether the symbol has the name, and what it says. */
static bool take_hashed(const struct hash_search *search, uint32_t index)
{
	uint8_t bytes[sizeof(Elf64_Sym)];
	char text[64];
	size_t len = strlen(search->name) + 1;
	uint64_t at = (uint64_t)index * sizeof(bytes);
	if (at + sizeof(bytes) > search->symbols->size || len > sizeof(text))
		return false;
	struct err *err = elf_file_read_into(
		search->file, search->symbols->offset + at, bytes, sizeof(bytes));
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
	uint32_t name = err ? UINT32_MAX : bytes_get_u32(&cursor);
	if (!err && name < search->strings->size && search->strings->size - name >= len)
		err = elf_file_read_into(search->file, search->strings->offset + name, text, len);
	else
		text[0] = '\0';
	bool is_it = !err && memcmp(text, search->name, len) == 0;
	err_destroy(err);
	bytes_get(&cursor, 4); /* st_info, st_other, st_shndx: what is hashed is defined */
	struct elf_dynsym symbol = {.address = bytes_get_u64(&cursor)};
	symbol.size = bytes_get_u64(&cursor);
	if (is_it)
		*search->ret = symbol;
	return is_it;
}

/* From a bucket's first symbol on; the last one of it has an odd hash. */
static enum hash_answer search_chain(
	const struct hash_search *search, uint64_t chain, uint32_t first, uint32_t index)
{
	uint32_t hash = hash_name(search->name), hashes[HASH_WINDOW];
	uint64_t count = search->symbols->size / sizeof(Elf64_Sym);
	for (int step = 0; step < HASH_MAX_CHAIN && index < count; step++, index++) {
		size_t at = (size_t)step % HASH_WINDOW;
		size_t left = (size_t)(count - index);
		if (!at &&
			!elf_dynsym_read_words(search->file, chain + (uint64_t)(index - first) * 4,
				hashes, left < HASH_WINDOW ? left : HASH_WINDOW))
			return HASH_UNKNOWN;
		if ((hashes[at] | 1) == (hash | 1) && take_hashed(search, index))
			return HASH_FOUND;
		if (hashes[at] & 1)
			return HASH_ABSENT;
	}
	return HASH_UNKNOWN;
}

/* Source: the GNU hash section as binutils 2.40 writes it (elflink.c). */
static enum hash_answer find_hashed(
	const struct hash_search *search, const struct elf_section *table)
{
	uint32_t head[HASH_HEAD_BYTES / 4], bucket, hash = hash_name(search->name);
	if (!elf_dynsym_read_words(search->file, table->offset, head, HASH_HEAD_BYTES / 4) ||
		!head[0])
		return HASH_UNKNOWN;
	uint32_t buckets = head[0], first = head[1], filter_words = head[2];
	uint64_t at = table->offset + HASH_HEAD_BYTES + (uint64_t)filter_words * 8;
	uint64_t chain = at + (uint64_t)buckets * 4;
	if (chain - table->offset > table->size ||
		!elf_dynsym_read_words(
			search->file, at + (uint64_t)(hash % buckets) * 4, &bucket, 1))
		return HASH_UNKNOWN;
	if (!bucket)
		return HASH_ABSENT;
	return bucket < first ? HASH_UNKNOWN : search_chain(search, chain, first, bucket);
}

/* Two or three reads instead of all tables. */
static enum hash_answer find_first_hashed(
	const struct elf_section *sections, size_t count, const struct hash_search *search)
{
	for (size_t i = 1; i < count; i++)
		if (sections[i].type == SHT_GNU_HASH)
			return find_hashed(search, &sections[i]);
	return HASH_UNKNOWN;
}

/* ---- by all names ---- */

struct err *elf_dynsym_find(
	struct elf_file *file, const char *const *names, size_t count, struct elf_dynsym *ret)
{
	const struct elf_section *sections;
	size_t nr_sections;
	memset(ret, 0, count * sizeof(*ret));
	try(elf_file_sections(file, &sections, &nr_sections));
	const struct elf_section *table = find_table(sections, nr_sections);
	if (!table)
		return NULL;
	if (!table->link || table->link >= nr_sections)
		return err_new(ERR_FORMAT, "%s: string table %u of %zu sections", table->name,
			table->link, nr_sections);
	const struct elf_section *strings = &sections[table->link];
	struct elf_dynsym hashed = {0};
	struct hash_search search = {file, table, strings, names[0], &hashed};
	enum hash_answer answer = find_first_hashed(sections, nr_sections, &search);
	if (answer == HASH_FOUND)
		ret[0] = hashed;
	if (answer == HASH_ABSENT || (answer == HASH_FOUND && count == 1))
		return NULL;
	CLEANUP_FREE uint8_t *text = NULL; /* with a NUL behind */
	try(elf_dynsym_read_table(file, strings, &text));
	if (!elf_dynsym_has_name(text, strings->size, names[0]))
		return NULL;
	CLEANUP_FREE uint8_t *symbols = NULL;
	try(elf_dynsym_read_table(file, table, &symbols));
	struct bytes_cursor cursor = bytes_cursor(symbols, table->size);
	while (bytes_left(&cursor) >= sizeof(Elf64_Sym))
		elf_dynsym_take_symbol(&cursor, text, strings->size, names, count, ret);
	return NULL;
}

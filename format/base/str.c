#include "format/base/str.h"

#include <stdio.h>
#include <string.h>

static void str_reserve(struct str *s, size_t extra)
{
	size_t need = s->len + extra + 1;
	if (need <= s->cap)
		return;
	size_t cap = s->cap ? s->cap * 2 : 64;
	if (cap < need)
		cap = need;
	s->data = mem_realloc_array(s->data, cap, 1);
	s->cap = cap;
}

void str_write(struct str *s, const void *bytes, size_t len)
{
	str_reserve(s, len);
	if (len) /* nothing may come as NULL, which memcpy refuses (C11 7.24.1) */
		memcpy(s->data + s->len, bytes, len);
	s->len += len;
	s->data[s->len] = '\0';
}

void str_putc(struct str *s, char c)
{
	str_write(s, &c, 1);
}

void str_puts(struct str *s, const char *text)
{
	str_write(s, text, strlen(text));
}

void str_pad(struct str *s, char c, size_t count)
{
	str_reserve(s, count);
	memset(s->data + s->len, c, count);
	s->len += count;
	s->data[s->len] = '\0';
}

void str_vprintf(struct str *s, const char *fmt, va_list args)
{
	va_list again;
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, fmt, args);
	if (len > 0) { /* below 0: libc refuses it, as text beyond INT_MAX; nothing is appended */
		str_reserve(s, (size_t)len);
		vsnprintf(s->data + s->len, (size_t)len + 1, fmt, again);
		s->len += (size_t)len;
	}
	va_end(again);
}

void str_printf(struct str *s, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	str_vprintf(s, fmt, args);
	va_end(args);
}

const char *str_plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

void str_truncate(struct str *s, size_t len)
{
	if (len >= s->len)
		return;
	s->len = len;
	s->data[len] = '\0';
}

const char *str_text(const struct str *s)
{
	return s->data ? s->data : "";
}

char *str_steal(struct str *s)
{
	char *text = s->data ? s->data : mem_strdup("");
	*s = (struct str){0};
	return text;
}

void str_deinit(struct str *s)
{
	mem_free(s->data);
	*s = (struct str){0};
}

/* ---- showing foreign bytes ---- */

/* RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
size_t str_utf8_decode(const char *bytes, size_t len, uint32_t *code_point)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)bytes;
	if (!len)
		return 0;
	if (p[0] < 0x80) {
		*code_point = p[0];
		return 1;
	}
	size_t need = p[0] >= 0xf0 && p[0] < 0xf8 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 0;
	if (!need || need > len || p[0] >= 0xf8)
		return 0;
	uint32_t code = p[0] & (0xffU >> (need + 1));
	for (size_t i = 1; i < need; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < smallest[need] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*code_point = code;
	return need;
}

/* Code points that act on a terminal or reorder what stands beside them. */
static bool is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0)          /* C0, DEL, C1 */
	       || code == 0x061c || code == 0x200e || code == 0x200f /* bidi marks */
	       || code == 0x2028 || code == 0x2029                   /* line, paragraph separator */
	       || (code >= 0x202a && code <= 0x202e) /* bidi embeddings, overrides */
	       || (code >= 0x2066 && code <= 0x2069) /* bidi isolates */
	       || code == 0xfeff;                    /* byte order mark */
}

void str_put_code_point(struct str *s, uint32_t code_point)
{
	if (code_point < 0x80) {
		str_putc(s, (char)code_point);
	} else if (code_point < 0x800) {
		str_putc(s, (char)(0xc0 | code_point >> 6));
		str_putc(s, (char)(0x80 | (code_point & 0x3f)));
	} else if (code_point < 0x10000) {
		str_putc(s, (char)(0xe0 | code_point >> 12));
		str_putc(s, (char)(0x80 | (code_point >> 6 & 0x3f)));
		str_putc(s, (char)(0x80 | (code_point & 0x3f)));
	} else {
		str_putc(s, (char)(0xf0 | code_point >> 18));
		str_putc(s, (char)(0x80 | (code_point >> 12 & 0x3f)));
		str_putc(s, (char)(0x80 | (code_point >> 6 & 0x3f)));
		str_putc(s, (char)(0x80 | (code_point & 0x3f)));
	}
}

/* Of the printable ASCII that it begins with: nearly all of nearly every text; not of what may
 * begin a command. */
static size_t plain_len(const char *bytes, size_t len)
{
	size_t i = 0;
	while (i < len && bytes[i] >= 0x20 && bytes[i] < 0x7f && bytes[i] != '#')
		i++;
	return i;
}

bool str_is_log_command(const char *bytes, size_t len)
{
	size_t at = 2;
	if (len <= at || bytes[0] != '#' || bytes[1] != '#')
		return false;
	while (at < len &&
		((bytes[at] >= 'a' && bytes[at] <= 'z') || (bytes[at] >= 'A' && bytes[at] <= 'Z')))
		at++;
	return at < len && bytes[at] == '[';
}

void str_put_escaped(struct str *s, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint32_t code = 0;
		size_t plain = plain_len(bytes + i, len - i);
		str_write(s, bytes + i, plain);
		i += plain;
		if (i == len)
			break;
		size_t used = str_utf8_decode(bytes + i, len - i, &code);
		if (used && !is_unsafe(code) && !str_is_log_command(bytes + i, len - i)) {
			str_write(s, bytes + i, used);
			i += used;
			continue;
		}
		for (size_t end = i + (used ? used : 1); i < end; i++)
			str_printf(s, "\\x%02x", (unsigned char)bytes[i]);
	}
}

void str_puts_escaped(struct str *s, const char *text)
{
	str_put_escaped(s, text, strlen(text));
}

/* ---- interned strings ---- */

static uint64_t *str_slot_of(struct strtab *table, const char *bytes, size_t len)
{
	if (!table->by_hash.len)
		table->seed = map_random_seed();
	return map_put(&table->by_hash, map_hash_bytes(bytes, len, table->seed), NULL);
}

/* Those that were added can be found from now on. */
static void hash_added(struct strtab *table)
{
	while (table->hashed < table->entries.len) {
		struct strtab_entry *entry = &table->entries.data[table->hashed++];
		uint64_t *slot = str_slot_of(table, entry->bytes, entry->len);
		entry->next = (uint32_t)*slot;
		*slot = table->hashed;
	}
}

/* Among those with one hash, from the number `id` on, plus 1. 0: it is not there. */
static uint32_t find_entry(const struct strtab *table, uint32_t id, const char *bytes, size_t len)
{
	for (; id; id = table->entries.data[id - 1].next) {
		const struct strtab_entry *entry = &table->entries.data[id - 1];
		if (entry->len == len && memcmp(entry->bytes, bytes, len) == 0)
			break;
	}
	return id;
}

bool strtab_find(struct strtab *table, const char *bytes, size_t len, uint32_t *ret)
{
	hash_added(table);
	const uint64_t *slot = table->by_hash.len ? map_get(&table->by_hash,
							    map_hash_bytes(bytes, len, table->seed))
						  : NULL;
	uint32_t id = slot ? find_entry(table, (uint32_t)*slot, bytes, len) : 0;
	if (id)
		*ret = id - 1;
	return id;
}

uint32_t strtab_intern(struct strtab *table, const char *bytes, size_t len)
{
	hash_added(table);
	uint64_t *slot = str_slot_of(table, bytes, len);
	uint32_t id = find_entry(table, (uint32_t)*slot, bytes, len);
	if (id)
		return id - 1;
	vec_push(&table->entries, (struct strtab_entry){
					  .bytes = arena_strndup(&table->arena, bytes, len),
					  .len = (uint32_t)len,
					  .next = (uint32_t)*slot,
				  });
	*slot = table->hashed = table->entries.len;
	return (uint32_t)table->entries.len - 1;
}

uint32_t strtab_add(struct strtab *table, const char *bytes, size_t len)
{
	vec_push(&table->entries, (struct strtab_entry){.bytes = bytes, .len = (uint32_t)len});
	return (uint32_t)table->entries.len - 1;
}

const char *strtab_get(const struct strtab *table, uint32_t id)
{
	return table->entries.data[id].bytes;
}

void strtab_deinit(struct strtab *table)
{
	arena_deinit(&table->arena);
	vec_deinit(&table->entries);
	map_deinit(&table->by_hash);
}

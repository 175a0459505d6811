/*
 * Source: the output of rustc's legacy mangling (compiler/rustc_symbol_mangling,
 * 1.63): each part of the path is its decimal length and its bytes, and
 * - what is no letter, digit, _ or . stands as $NAME$ or $uHEX$;
 * - :: within a part stands as two dots;
 * - a part that would begin with $ has a _ in front.
 */
#include "report/name/demangle/rust_legacy.h"

#include <string.h>

#include "format/base/hex.h"

enum {
	HASH_DIGITS = 16,
	/*
	 * A hash that uses fewer different digits is taken for a C++ name: chance
	 * makes one among 10^8 look so.
	 */
	HASH_DIFFERENT_DIGITS = 5,
};

struct part {
	const char *text;
	size_t len;
};

/* They are in lower case. */
static int rust_legacy_hex_value(char c)
{
	return c >= 'A' && c <= 'F' ? -1 : hex_digit_value(c);
}

static bool is_hash(const struct part *part)
{
	if (part->len != HASH_DIGITS + 1 || part->text[0] != 'h')
		return false;
	unsigned seen = 0;
	for (size_t i = 1; i < part->len; i++) {
		int value = rust_legacy_hex_value(part->text[i]);
		if (value < 0)
			return false;
		seen |= 1U << value;
	}
	return __builtin_popcount(seen) >= HASH_DIFFERENT_DIGITS;
}

/* Takes the next part off [*at, end); false where there is none, or one that is longer than that.
 */
static bool next_part(const char **at, const char *end, struct part *part)
{
	size_t len = 0;
	const char *text = *at;
	while (text < end && *text >= '0' && *text <= '9' && len <= (size_t)(end - *at))
		len = len * 10 + (size_t)(*text++ - '0');
	if (text == *at || !len || len > (size_t)(end - text))
		return false;
	*part = (struct part){text, len};
	*at = text + len;
	return true;
}

/* $NAME$ at the beginning of `text`: prints what it stands for and returns its length, or 0. */
static size_t put_escape(const char *text, size_t len, struct demangle_sink *sink)
{
	static const struct {
		char name[3], text[2];
	} escapes[] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"}, {"GT", ">"}, {"LP", "("},
		{"RP", ")"}, {"C", ","}};
	const char *end = len > 1 ? memchr(text + 1, '$', len - 1) : NULL;
	if (!end)
		return 0;
	size_t name_len = (size_t)(end - text) - 1;
	for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++)
		if (strlen(escapes[i].name) == name_len &&
			memcmp(text + 1, escapes[i].name, name_len) == 0) {
			demangle_sink_puts(sink, escapes[i].text);
			return name_len + 2;
		}
	if (name_len < 2 || name_len > 7 || text[1] != 'u')
		return 0;
	uint32_t code = 0;
	for (const char *digit = text + 2; digit < end; digit++) {
		int value = rust_legacy_hex_value(*digit);
		if (value < 0)
			return 0;
		code = code << 4 | (uint32_t)value;
	}
	bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
	bool is_code = code <= 0x10ffff && (code < 0xd800 || code >= 0xe000);
	if (is_control || !is_code)
		return 0;
	demangle_sink_code_point(sink, code);
	return name_len + 2;
}

static void rust_legacy_put_part(const struct part *part, struct demangle_sink *sink)
{
	const char *at = part->text, *end = part->text + part->len;
	if (part->len > 1 && at[0] == '_' && at[1] == '$')
		at++;
	while (at < end) {
		size_t left = (size_t)(end - at), used = 1;
		if (*at == '$') {
			used = put_escape(at, left, sink);
			if (!used) { /* none that is known: the rest as it is */
				demangle_sink_write(sink, at, left);
				return;
			}
		} else if (left > 1 && at[0] == '.' && at[1] == '.') {
			demangle_sink_puts(sink, "::");
			used = 2;
		} else {
			while (used < left && at[used] != '$' && at[used] != '.')
				used++;
			demangle_sink_write(sink, at, used);
		}
		at += used;
	}
}

size_t rust_legacy_demangle(const char *mangled, size_t len, struct demangle_sink *sink)
{
	if (len < 3 || memcmp(mangled, "_ZN", 3) != 0)
		return 0;
	const char *start = mangled + 3, *at = start, *end = mangled + len;
	struct part part = {0};
	while (next_part(&at, end, &part))
		;
	if (at == end || *at != 'E' || !part.len || !is_hash(&part))
		return 0;
	size_t used = (size_t)(at + 1 - mangled);
	for (size_t i = 0; i < used; i++)
		if ((unsigned char)mangled[i] >= 0x7f || mangled[i] < ' ')
			return 0;
	const char *hash = part.text;
	at = start;
	for (bool is_first = true; next_part(&at, end, &part) && part.text != hash;
		is_first = false) {
		if (!is_first)
			demangle_sink_puts(sink, "::");
		rust_legacy_put_part(&part, sink);
	}
	return used;
}

/*
 * Source: "v0 Symbol Format" in the rustc book, const and const-data; for
 * strings and structured values, which stable Rust does not have there (1.95),
 * the proposal that rustc follows (rust-lang/rust#87194).
 */
#include "report/name/demangle/rust_v0_const.h"

#include <stdio.h>
#include <string.h>

/* const-data: hexadecimal digits up to a _. */
struct hex {
	const char *digits;
	size_t len;
};

static unsigned hex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct hex read_hex(struct rust_v0 *v0)
{
	struct hex hex = {.digits = v0->text + v0->pos};
	for (;;) {
		char c = rust_v0_next(v0);
		if (c == '_')
			return hex;
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
			rust_v0_fail(v0);
			return (struct hex){0};
		}
		hex.len++;
	}
}

/* False when it has more than 64 bits. */
static bool hex_value(const struct hex *hex, uint64_t *value)
{
	size_t i = 0;
	while (i < hex->len && hex->digits[i] == '0')
		i++;
	if (hex->len - i > 16)
		return false;
	*value = 0;
	for (; i < hex->len; i++)
		*value = *value << 4 | hex_digit(hex->digits[i]);
	return true;
}

static void read_integer(struct rust_v0 *v0)
{
	struct hex hex = read_hex(v0);
	uint64_t value;
	if (hex_value(&hex, &value)) {
		rust_v0_put_number(v0, value);
	} else {
		rust_v0_puts(v0, "0x");
		rust_v0_put(v0, hex.digits, hex.len);
	}
}

static void read_bool(struct rust_v0 *v0)
{
	struct hex hex = read_hex(v0);
	uint64_t value;
	if (!hex_value(&hex, &value) || value > 1)
		rust_v0_fail(v0);
	else
		rust_v0_puts(v0, value ? "true" : "false");
}

/* As in a literal that is quoted by `quote`. */
static void put_escaped(struct rust_v0 *v0, uint32_t code, char quote)
{
	static const char plain[] = "\t\r\n\\", letters[] = "trn\\";
	const char *known = code && code < 0x80 ? strchr(plain, (int)code) : NULL;
	char text[16];
	if (!code) {
		rust_v0_puts(v0, "\\0");
	} else if (known) {
		rust_v0_puts(v0, "\\");
		rust_v0_put(v0, &letters[known - plain], 1);
	} else if (code == (unsigned char)quote) {
		rust_v0_puts(v0, "\\");
		rust_v0_put(v0, &quote, 1);
	} else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
		snprintf(text, sizeof(text), "\\u{%x}", (unsigned)code);
		rust_v0_puts(v0, text);
	} else {
		rust_v0_put_code_point(v0, code);
	}
}

static bool is_code_point(uint64_t code)
{
	return code <= 0x10ffff && (code < 0xd800 || code >= 0xe000);
}

static void read_char(struct rust_v0 *v0)
{
	struct hex hex = read_hex(v0);
	uint64_t code;
	if (!hex_value(&hex, &code) || !is_code_point(code)) {
		rust_v0_fail(v0);
		return;
	}
	rust_v0_puts(v0, "'");
	put_escaped(v0, (uint32_t)code, '\'');
	rust_v0_puts(v0, "'");
}

/* The bytes of a string in UTF-8, two digits each. */
static void read_string(struct rust_v0 *v0)
{
	struct hex hex = read_hex(v0);
	if (hex.len % 2)
		rust_v0_fail(v0);
	rust_v0_puts(v0, "\"");
	for (size_t i = 0; i < hex.len && !v0->has_failed && !v0->sink->is_over;) {
		char bytes[4];
		size_t have = 0;
		for (size_t at = i; have < sizeof(bytes) && at < hex.len; at += 2)
			bytes[have++] = (char)(hex_digit(hex.digits[at]) << 4 |
					       hex_digit(hex.digits[at + 1]));
		uint32_t code;
		size_t used = str_utf8_decode(bytes, have, &code);
		if (used)
			put_escaped(v0, code, '"');
		else
			rust_v0_fail(v0);
		i += used * 2;
	}
	rust_v0_puts(v0, "\"");
}

static void read_item(struct rust_v0 *v0)
{
	rust_v0_const(v0, true);
}

static void read_field(struct rust_v0 *v0)
{
	rust_v0_disambiguator(v0);
	struct rust_v0_identifier name = rust_v0_identifier(v0);
	rust_v0_put_identifier(v0, &name);
	rust_v0_puts(v0, ": ");
	rust_v0_const(v0, true);
}

/* A struct's or variant's path; then nothing, a tuple or fields. */
static void read_structure(struct rust_v0 *v0)
{
	rust_v0_path(v0, true);
	switch (rust_v0_next(v0)) {
	case 'U':
		break;
	case 'T':
		rust_v0_puts(v0, "(");
		rust_v0_list(v0, read_item, ", ");
		rust_v0_puts(v0, ")");
		break;
	case 'S':
		rust_v0_puts(v0, " { ");
		rust_v0_list(v0, read_field, ", ");
		rust_v0_puts(v0, " }");
		break;
	default:
		rust_v0_fail(v0);
	}
}

static void read_expression(struct rust_v0 *v0, char tag)
{
	switch (tag) {
	case 'e': /* a str, of which literals are references */
		rust_v0_puts(v0, "*");
		read_string(v0);
		break;
	case 'R':
	case 'Q':
		rust_v0_puts(v0, tag == 'R' ? "&" : "&mut ");
		rust_v0_const(v0, true);
		break;
	case 'A':
		rust_v0_puts(v0, "[");
		rust_v0_list(v0, read_item, ", ");
		rust_v0_puts(v0, "]");
		break;
	case 'T':
		rust_v0_puts(v0, "(");
		if (rust_v0_list(v0, read_item, ", ") == 1)
			rust_v0_puts(v0, ",");
		rust_v0_puts(v0, ")");
		break;
	case 'V':
		read_structure(v0);
		break;
	default:
		rust_v0_fail(v0);
	}
}

static void read_const(struct rust_v0 *v0, char tag, bool in_expression)
{
	struct rust_v0_reference back;
	if (tag == 'p') {
		rust_v0_puts(v0, "_");
	} else if (tag == 'b') {
		read_bool(v0);
	} else if (tag == 'c') {
		read_char(v0);
	} else if (tag && strchr("htmyoj", tag)) {
		read_integer(v0);
	} else if (tag && strchr("aslxni", tag)) {
		if (rust_v0_eat(v0, 'n'))
			rust_v0_puts(v0, "-");
		read_integer(v0);
	} else if (tag == 'R' && rust_v0_eat(v0, 'e')) {
		read_string(v0);
	} else if (tag == 'B') {
		if (rust_v0_follow(v0, &back)) {
			rust_v0_const(v0, in_expression);
			rust_v0_return(v0, &back);
		}
	} else {
		if (!in_expression)
			rust_v0_puts(v0, "{");
		read_expression(v0, tag);
		if (!in_expression)
			rust_v0_puts(v0, "}");
	}
}

void rust_v0_const(struct rust_v0 *v0, bool in_expression)
{
	if (!rust_v0_enter(v0))
		return;
	read_const(v0, rust_v0_next(v0), in_expression);
	rust_v0_leave(v0);
}

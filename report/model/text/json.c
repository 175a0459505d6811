#include "report/model/text/json.h"

#include <string.h>

enum {
	MAX_DIGITS = 20, /* of 2^64 - 1 */
};

/* ---- strings ---- */

static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\' && byte != '#';
}

/* Controls, and what JavaScript once took for the end of a line. */
static bool needs_code(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
}

void json_quote(struct str *out, const char *text)
{
	size_t len = strlen(text);
	str_putc(out, '"');
	for (size_t i = 0; i < len;) {
		size_t run = 0;
		while (i + run < len && is_plain((unsigned char)text[i + run]))
			run++;
		str_write(out, text + i, run);
		i += run;
		if (i == len)
			break;
		uint32_t code = 0;
		size_t used = str_utf8_decode(text + i, len - i, &code);
		if (!used)
			str_puts(out, "\\ufffd");
		else if (code == '"' || code == '\\')
			str_printf(out, "\\%c", (char)code);
		else if (needs_code(code) || str_is_log_command(text + i, len - i))
			str_printf(out, "\\u%04x", code);
		else
			str_write(out, text + i, used);
		i += used ? used : 1;
	}
	str_putc(out, '"');
}

/* ---- what stands between values ---- */

static void json_flush(struct json *json, size_t limit)
{
	if (json->out.len <= limit)
		return;
	if (!json->err)
		json->err = json->sink.write(json->sink.context, json->out.data, json->out.len);
	str_truncate(&json->out, 0);
}

static void separate(struct json *json)
{
	if (json->needs_comma)
		str_putc(&json->out, ',');
	if (json->begins_line)
		str_putc(&json->out, '\n');
	json->begins_line = false;
	json->needs_comma = true;
	json_flush(json, BYTE_SINK_PIECE_BYTES);
}

static void json_begin(struct json *json, char bracket)
{
	separate(json);
	str_putc(&json->out, bracket);
	json->needs_comma = false;
}

static void end(struct json *json, char bracket)
{
	json->needs_comma = false;
	separate(json);
	str_putc(&json->out, bracket);
}

void json_object(struct json *json)
{
	json_begin(json, '{');
}

void json_object_end(struct json *json)
{
	end(json, '}');
}

void json_array(struct json *json)
{
	json_begin(json, '[');
}

void json_array_end(struct json *json)
{
	end(json, ']');
}

void json_key(struct json *json, const char *key)
{
	separate(json);
	str_putc(&json->out, '"');
	str_puts(&json->out, key);
	str_puts(&json->out, "\":");
	json->needs_comma = false;
}

void json_foreign_key(struct json *json, const char *key)
{
	json_text(json, key);
	str_putc(&json->out, ':');
	json->needs_comma = false;
}

void json_line(struct json *json)
{
	json->begins_line = true;
}

struct err *json_finish(struct json *json)
{
	str_putc(&json->out, '\n');
	json_flush(json, 0);
	str_deinit(&json->out);
	return steal_ptr(json->err);
}

/* ---- values ---- */

void json_text(struct json *json, const char *text)
{
	separate(json);
	json_quote(&json->out, text);
}

/* Not by printf: some formats are tens of millions of numbers. */
static char *put_digits(char *end, uint64_t value)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return end;
}

void json_number(struct json *json, uint64_t value)
{
	char digits[MAX_DIGITS], *end = digits + sizeof(digits);
	char *begin = put_digits(end, value);
	separate(json);
	str_write(&json->out, begin, (size_t)(end - begin));
}

void json_exact(struct json *json, uint64_t value)
{
	bool is_long = value >> 53;
	char text[MAX_DIGITS + 2], *end = text + sizeof(text);
	if (is_long)
		*--end = '"';
	char *begin = put_digits(end, value);
	if (is_long) {
		*--begin = '"';
		end++;
	}
	separate(json);
	str_write(&json->out, begin, (size_t)(end - begin));
}

void json_decimal(struct json *json, uint64_t value, unsigned digits)
{
	char text[MAX_DIGITS + 1], *end = text + sizeof(text), *begin = end;
	for (; digits && value % 10 == 0; digits--)
		value /= 10;
	for (unsigned i = 0; i < digits; i++, value /= 10)
		*--begin = (char)('0' + value % 10);
	if (digits)
		*--begin = '.';
	begin = put_digits(begin, value);
	separate(json);
	str_write(&json->out, begin, (size_t)(end - begin));
}

void json_literal(struct json *json, const char *literal)
{
	separate(json);
	str_puts(&json->out, literal);
}

void json_bool(struct json *json, bool value)
{
	json_literal(json, value ? "true" : "false");
}

void json_null(struct json *json)
{
	json_literal(json, "null");
}

/* ---- members ---- */

void json_put_array(struct json *json, const char *key)
{
	json_key(json, key);
	json_array(json);
}

void json_put_object(struct json *json, const char *key)
{
	json_key(json, key);
	json_object(json);
}

void json_put_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

void json_put_number(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_number(json, value);
}

void json_put_exact(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_exact(json, value);
}

void json_put_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

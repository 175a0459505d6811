#include "format/base/json_value.h"

#include <stdint.h>
#include <string.h>

#include "format/base/str.h"

enum {
	MAX_DEPTH = 64,
};

struct parser {
	const char *begin, *at, *end;
	struct arena *arena;
	struct str text;
	unsigned depth;
};

static struct err *json_refuse(const struct parser *parser, const char *why)
{
	return err_new(
		ERR_FORMAT, "no JSON at byte %zu: %s", (size_t)(parser->at - parser->begin), why);
}

static void skip_json_blanks(struct parser *parser)
{
	while (parser->at < parser->end && strchr(" \t\r\n", *parser->at) && *parser->at)
		parser->at++;
}

/* The next character, behind blanks; 0: the text ends. */
static char peek_json(struct parser *parser)
{
	skip_json_blanks(parser);
	return parser->at < parser->end ? *parser->at : '\0';
}

static struct err *expect(struct parser *parser, char wanted)
{
	if (peek_json(parser) != wanted)
		return json_refuse(
			parser, wanted == ':' ? "a \":\" is missing" : "a quote is missing");
	parser->at++;
	return NULL;
}

/* ---- strings ---- */

/* Four digits. */
static bool take_digits(struct parser *parser, uint32_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		char c = parser->at < parser->end ? *parser->at : '\0';
		const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;
		if (!found)
			return false;
		*ret = *ret << 4 | (uint32_t)(found - digits);
		parser->at++;
	}
	return true;
}

/* Behind "\u". Halves of a pair that stand alone, and NUL, become U+FFFD. */
static struct err *take_code_point(struct parser *parser)
{
	uint32_t code, low;
	if (!take_digits(parser, &code))
		return json_refuse(parser, "\\u has four digits");
	if (code >= 0xd800 && code < 0xdc00 && parser->end - parser->at >= 6 &&
		parser->at[0] == '\\' && parser->at[1] == 'u') {
		const char *before = parser->at;
		parser->at += 2;
		if (take_digits(parser, &low) && low >= 0xdc00 && low < 0xe000)
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		else
			parser->at = before;
	}
	bool is_alone = code >= 0xd800 && code < 0xe000;
	str_put_code_point(&parser->text, is_alone || !code ? 0xfffd : code);
	return NULL;
}

static struct err *take_escape(struct parser *parser)
{
	static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	char c = parser->at < parser->end ? *parser->at++ : '\0';
	const char *found = c ? strchr(escapes, c) : NULL;
	if (c == 'u')
		return take_code_point(parser);
	if (!found)
		return json_refuse(parser, "an escape that there is not");
	str_putc(&parser->text, meanings[found - escapes]);
	return NULL;
}

/* From its quote on. */
static struct err *take_string(struct parser *parser, const char **ret)
{
	try(expect(parser, '"'));
	str_truncate(&parser->text, 0);
	for (;;) {
		if (parser->at == parser->end)
			return json_refuse(parser, "a string does not end");
		unsigned char c = (unsigned char)*parser->at;
		if (c < ' ')
			return json_refuse(parser, "a control character in a string");
		parser->at++;
		if (c == '"')
			break;
		if (c == '\\')
			try(take_escape(parser));
		else
			str_putc(&parser->text, (char)c);
	}
	*ret = arena_strndup(parser->arena, str_text(&parser->text), parser->text.len);
	return NULL;
}

/* ---- values ---- */

static struct err *take_json_value(struct parser *parser, struct json_value *ret);

/* What stands between brackets, with commas. */
static struct err *take_members(struct parser *parser, struct json_value *ret)
{
	char close = *parser->at++ == '[' ? ']' : '}';
	const struct json_value **link = &ret->first;
	ret->kind = close == ']' ? JSON_ARRAY : JSON_OBJECT;
	if (++parser->depth > MAX_DEPTH)
		return json_refuse(parser, "brackets in too many others");
	for (bool is_first = true; peek_json(parser) != close; is_first = false) {
		struct json_value *member = arena_alloc(parser->arena, sizeof(*member));
		if (!is_first && *parser->at++ != ',')
			return json_refuse(parser, "a comma or bracket is missing");
		if (close == '}') {
			try(take_string(parser, &member->key));
			try(expect(parser, ':'));
		}
		try(take_json_value(parser, member));
		*link = member;
		link = &member->next;
	}
	parser->at++;
	parser->depth--;
	return NULL;
}

static struct err *take_json_word(struct parser *parser, struct json_value *ret)
{
	static const struct {
		const char *word;
		enum json_kind kind;
	} words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t len = strlen(words[i].word);
		if ((size_t)(parser->end - parser->at) < len ||
			memcmp(parser->at, words[i].word, len) != 0)
			continue;
		parser->at += len;
		ret->kind = words[i].kind;
		return NULL;
	}
	return json_refuse(parser, "a value is missing");
}

/* What may be of a number; who wants it as one reads it. */
static void take_json_number(struct parser *parser, struct json_value *ret)
{
	const char *begin = parser->at;
	while (parser->at < parser->end && *parser->at && strchr("+-.0123456789eE", *parser->at))
		parser->at++;
	ret->kind = JSON_NUMBER;
	ret->text = arena_strndup(parser->arena, begin, (size_t)(parser->at - begin));
}

static struct err *take_json_value(struct parser *parser, struct json_value *ret)
{
	char c = peek_json(parser);
	if (c == '{' || c == '[')
		return take_members(parser, ret);
	if (c == '"') {
		ret->kind = JSON_STRING;
		return take_string(parser, &ret->text);
	}
	if (c == '-' || (c >= '0' && c <= '9')) {
		take_json_number(parser, ret);
		return NULL;
	}
	return take_json_word(parser, ret);
}

struct err *json_value_parse(
	const char *text, size_t len, struct arena *arena, const struct json_value **ret)
{
	struct parser parser = {.begin = text, .at = text, .end = text + len, .arena = arena};
	struct json_value *value = arena_alloc(arena, sizeof(*value));
	struct err *err = take_json_value(&parser, value);
	if (!err && peek_json(&parser))
		err = json_refuse(&parser, "something behind its end");
	str_deinit(&parser.text);
	if (!err)
		*ret = value;
	return err;
}

const struct json_value *json_value_member(const struct json_value *object, const char *key)
{
	if (!object || object->kind != JSON_OBJECT)
		return NULL;
	for (const struct json_value *it = object->first; it; it = it->next)
		if (strcmp(it->key, key) == 0)
			return it;
	return NULL;
}

const char *json_value_text(const struct json_value *value)
{
	return value && value->kind == JSON_STRING ? value->text : NULL;
}

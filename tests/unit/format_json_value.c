#include <string.h>

#include "format/base/json_value.h"
#include "tests/unit/unit.h"

static struct arena arena;

static const struct json_value *parsed(const char *text)
{
	const struct json_value *value = NULL;
	CHECK_OK(json_value_parse(text, strlen(text), &arena, &value));
	return value;
}

static void check_refused(const char *text, const char *why)
{
	const struct json_value *value = NULL;
	CHECK_ERR(json_value_parse(text, strlen(text), &arena, &value), ERR_FORMAT, why);
	CHECK(!value);
}

TEST(json_values_are_read)
{
	const struct json_value *value = parsed(
		" {\"a\": [1, -2.5e3, true, false, null], \"b\":{\"c\" : \"x\"}, \"d\":{}} ");
	CHECK_INT(value->kind, JSON_OBJECT);
	const struct json_value *list = json_value_member(value, "a");
	CHECK_INT(list->kind, JSON_ARRAY);
	CHECK_STR(list->first->text, "1");
	CHECK_STR(list->first->next->text, "-2.5e3");
	CHECK_INT(list->first->next->next->kind, JSON_TRUE);
	CHECK_STR(json_value_text(json_value_member(json_value_member(value, "b"), "c")), "x");
	CHECK(!json_value_member(value, "x") && !json_value_member(list, "x"));
	CHECK(!json_value_member(NULL, "x") && !json_value_text(NULL));
	CHECK(!json_value_text(list->first));
	CHECK(!json_value_member(value, "d")->first);
	arena_deinit(&arena);
}

TEST(json_strings_are_unescaped)
{
	CHECK_STR(parsed("\"a\\n\\\"\\\\\\/\\u00e9\\ud83d\\ude00\"")->text,
		"a\n\"\\/\xc3\xa9\xf0\x9f\x98\x80");
	CHECK_STR(parsed("\"\\u0000\\ud83dx\\udc00\"")->text,
		"\xef\xbf\xbd\xef\xbf\xbdx\xef\xbf\xbd"); /* none of these is a character */
	arena_deinit(&arena);
}

TEST(what_is_no_json_is_refused)
{
	char deep[200];
	check_refused("", "at byte 0");
	check_refused("{\"a\" 1}", "\":\"");
	check_refused("[1 2]", "a comma or bracket");
	check_refused("[1,", "at byte 3");
	check_refused("{1:2}", "a quote");
	check_refused("\"abc", "does not end");
	check_refused("\"a\nb\"", "control character");
	check_refused("\"\\x\"", "an escape");
	check_refused("\"\\u12g4\"", "four digits");
	check_refused("nul", "a value");
	check_refused("1 1", "behind its end");
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	check_refused(deep, "too many others");
	arena_deinit(&arena);
}

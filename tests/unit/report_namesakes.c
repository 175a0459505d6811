#include "report/name/namesakes.h"

#include "format/base/mem.h"
#include "tests/unit/unit.h"

enum {
	SCRIPT,
	LIBRARY,
	OTHER_SCRIPT,
};

static const struct profile_object objects[] = {
	[SCRIPT] = {.info = {.kind = LAYOUT_OBJECT_SCRIPT}},
	[LIBRARY] = {.info = {.kind = LAYOUT_OBJECT_FILE}},
	[OTHER_SCRIPT] = {.info = {.kind = LAYOUT_OBJECT_SCRIPT}},
};

/* Their names as they are to be shown. */
static void check_names(
	const struct profile_function *functions, size_t count, const char *const *wanted)
{
	CLEANUP_FREE uint8_t *nr_parts = namesakes_find(objects, functions, count);
	CLEANUP(str_deinit) struct str name = {0};
	for (size_t i = 0; i < count; i++) {
		str_truncate(&name, 0);
		namesakes_put_name(&functions[i], nr_parts[i], &name);
		CHECK_STR(str_text(&name), wanted[i]);
	}
}

#define FUNCTION(called, of, in, at) \
	{ \
		.name = (called), .object = (of), .file = (in), .line = (at), .is_known = true \
	}

TEST(names_get_as_much_of_a_path_as_they_need)
{
	static const struct profile_function functions[] = {
		FUNCTION("alone", SCRIPT, "/a.py", 1),
		FUNCTION("run", SCRIPT, "/x/a.py", 1),
		FUNCTION("run", SCRIPT, "/x/b.py", 1),
		FUNCTION("<module>", SCRIPT, "/app/x/__init__.py", 1),
		FUNCTION("<module>", SCRIPT, "/app/y/__init__.py", 1),
		FUNCTION("<module>", SCRIPT, "/app/main.py", 1),
		FUNCTION("<module>", SCRIPT, "__init__.py", 1),
		FUNCTION("new", SCRIPT, "/c.rb", 10),
		FUNCTION("new", SCRIPT, "/c.rb", 20),
		FUNCTION("deep", SCRIPT, "/1/a/b/c/d/e/f/g.pl", 0),
		FUNCTION("deep", SCRIPT, "/2/a/b/c/d/e/f/g.pl", 0),
	};
	static const char *const wanted[] = {
		"alone",
		"run (a.py:1)",
		"run (b.py:1)",
		"<module> (x/__init__.py:1)",
		"<module> (y/__init__.py:1)",
		"<module> (main.py:1)",
		"<module> (__init__.py:1)",
		"new (c.rb:10)",
		"new (c.rb:20)",
		"deep (/1/a/b/c/d/e/f/g.pl)",
		"deep (/2/a/b/c/d/e/f/g.pl)",
	};
	check_names(functions, sizeof(functions) / sizeof(*functions), wanted);
}

TEST(what_is_one_function_needs_no_place)
{
	static const struct profile_function functions[] = {
		FUNCTION("run", SCRIPT, "/a.py", 1), /* in two processes */
		FUNCTION("run", SCRIPT, "/a.py", 1),
		FUNCTION("run", LIBRARY, "/a.c", 1),
		FUNCTION("run", LIBRARY, "/b.c", 1), /* native: its object is what it is in */
		FUNCTION("run", OTHER_SCRIPT, "/b.pl", 1),
		FUNCTION("run", SCRIPT, NULL, 0),
	};
	static const char *const wanted[] = {"run", "run", "run", "run", "run", "run"};
	check_names(functions, sizeof(functions) / sizeof(*functions), wanted);
	CHECK(namesakes_are_one(objects, &functions[0], &functions[1]));
	CHECK(namesakes_are_one(objects, &functions[2], &functions[3]));
	CHECK(!namesakes_are_one(objects, &functions[0], &functions[4]));
	CHECK(!namesakes_are_one(objects, &functions[0], &functions[5]));
	static const uint32_t wanted_groups[] = {0, 0, 2, 2, 4, 5};
	CLEANUP_FREE uint32_t *groups =
		namesakes_group(objects, functions, sizeof(functions) / sizeof(*functions));
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		CHECK_INT(groups[i], wanted_groups[i]);
}

/* The first of three is there twice: all of them need a place. */
TEST(each_of_the_copies_has_the_place)
{
	static const struct profile_function functions[] = {
		FUNCTION("run", SCRIPT, "/a.py", 0),
		FUNCTION("run", SCRIPT, "/a.py", 0),
		FUNCTION("run", SCRIPT, "/b.py", 0),
		FUNCTION("run", SCRIPT, "/a.py", 0),
	};
	static const char *const wanted[] = {
		"run (a.py)", "run (a.py)", "run (b.py)", "run (a.py)"};
	check_names(functions, sizeof(functions) / sizeof(*functions), wanted);
}

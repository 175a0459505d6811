#include "report/name/namesakes.h"

#include "format/base/mem.h"
#include "tests/unit/unit.h"

enum {
	SCRIPT,
	LIBRARY,
	OTHER_SCRIPT,
};

/* Their names as they are to be shown. */
static void check_names(
	const struct profile_function *functions, size_t count, const char *const *wanted)
{
	CLEANUP_FREE uint8_t *nr_parts = namesakes_find(functions, count, NULL);
	CLEANUP(str_deinit) struct str name = {0};
	for (size_t i = 0; i < count; i++) {
		str_truncate(&name, 0);
		namesakes_put_name(&functions[i], nr_parts[i], &name);
		CHECK_STR(str_text(&name), wanted[i]);
	}
}

#define FUNCTION(called, of, in, at) \
	{ \
		.name = (called), .object = (of), .file = (in), .line = (at), .is_known = true, \
		.is_script = (of) != LIBRARY, .is_declared = (of) == LIBRARY && (in) \
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
		FUNCTION("run", LIBRARY, "/x/a.h", 1),
		FUNCTION("run", LIBRARY, "/y/../x/a.h", 1),
		FUNCTION("run", OTHER_SCRIPT, "/b.pl", 1),
		FUNCTION("go", SCRIPT, NULL, 0),
	};
	static const char *const wanted[] = {"run", "run", "run", "run", "run", "go"};
	check_names(functions, sizeof(functions) / sizeof(*functions), wanted);
	static const uint32_t wanted_groups[] = {0, 0, 2, 2, 4, 5};
	CLEANUP_FREE uint32_t *groups =
		namesakes_group(functions, sizeof(functions) / sizeof(*functions));
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		CHECK_INT(groups[i], wanted_groups[i]);
}

/* In C each file may have a static function of the name; of one, nothing may tell where it is. */
TEST(native_functions_of_several_files_are_several)
{
	static const struct profile_function functions[] = {
		FUNCTION("work", LIBRARY, "/src/a.c", 7), FUNCTION("work", LIBRARY, "/src/b.c", 7),
		FUNCTION("work", LIBRARY, NULL, 0), FUNCTION("work", LIBRARY, "/src/b.c", 7),
		FUNCTION("work", LIBRARY, "/src/b.c", 9), /* a lambda */
	};
	static const char *const wanted[] = {
		"work (a.c:7)", "work (b.c:7)", "work", "work (b.c:7)", "work (b.c:9)"};
	static const uint32_t wanted_groups[] = {0, 1, 2, 1, 4};
	check_names(functions, sizeof(functions) / sizeof(*functions), wanted);
	CLEANUP_FREE uint32_t *groups =
		namesakes_group(functions, sizeof(functions) / sizeof(*functions));
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		CHECK_INT(groups[i], wanted_groups[i]);
	CHECK(namesakes_are_shown_as(&functions[1], "work (b.c:7)"));
}

/* Of a function that was compiled twice, the file may be known of one copy alone. */
TEST(of_one_known_file_all_are)
{
	static const struct profile_function functions[] = {
		FUNCTION("work", LIBRARY, NULL, 0),
		FUNCTION("work", LIBRARY, "/src/b.c", 7),
	};
	static const char *const wanted[] = {"work", "work"};
	check_names(functions, sizeof(functions) / sizeof(*functions), wanted);
	CLEANUP_FREE uint32_t *groups =
		namesakes_group(functions, sizeof(functions) / sizeof(*functions));
	CHECK_INT(groups[1], 0);
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

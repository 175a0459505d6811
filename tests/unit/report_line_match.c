/* Lines of one function on two sides, by its declaration or by how samples are spread. */
#include "report/compare/line_match.h"

#include <string.h>

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* A function whose declaration is known, if that is not 0, and samples of two of its lines. */
static struct profile *make_lined(
	uint32_t declared, const uint32_t lines[2], const unsigned counts[2])
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "python");
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t frame = fixture_line(
			&fixture, object, LAYOUT_SCRIPT_FIRST + i, "f", "/x/f.py", lines[i]);
		fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, counts[i]);
	}
	struct profile *profile = fixture_profile(&fixture);
	vec_each(&profile->functions, function) {
		if (!function->name || strcmp(function->name, "f") != 0)
			continue;
		function->is_declared = declared;
		function->line = declared;
	}
	return profile;
}

/* The base's line 12 as the new side has it; 0: all lines are one. */
static uint32_t where_12_is(struct profile *base, struct profile *new)
{
	struct function_match functions;
	struct line_match lines;
	uint32_t number = 0;
	function_match_init(&functions, base, new);
	line_match_init(&lines, &functions);
	while (strcmp(base->functions.data[number].name, "f") != 0)
		number++;
	uint32_t id = function_match_id(&functions, MATCH_BASE, number);
	uint32_t line =
		line_match_is_edited(&lines, id) ? 0 : line_match_line(&lines, MATCH_BASE, id, 12);
	CHECK_INT(line_match_line(&lines, MATCH_NEW, id, 12), 12);
	line_match_deinit(&lines);
	function_match_deinit(&functions);
	profile_destroy(base);
	profile_destroy(new);
	return line;
}

static const unsigned many[] = {900, 100}, swapped[] = {100, 900}, few[] = {4, 1};
static const uint32_t at_12[] = {12, 13}, at_11[] = {11, 12}, at_20[] = {20, 21};

TEST(lines_move_with_the_declaration)
{
	CHECK_INT(where_12_is(make_lined(10, at_12, many), make_lined(9, at_11, many)), 11);
	CHECK_INT(where_12_is(make_lined(10, at_12, few), make_lined(18, at_20, few)), 20);
	CHECK_INT(where_12_is(make_lined(10, at_12, many), make_lined(10, at_12, many)), 12);
}

TEST(without_a_declaration_lines_move_by_their_samples)
{
	CHECK_INT(where_12_is(make_lined(0, at_12, many), make_lined(0, at_11, many)), 11);
	CHECK_INT(where_12_is(make_lined(0, at_12, many), make_lined(0, at_20, many)), 20);
	/* Too few to tell. */
	CHECK_INT(where_12_is(make_lined(0, at_12, few), make_lined(0, at_20, few)), 12);
}

/* The declaration stands where it did, and what took most is another line. */
TEST(lines_that_changed_places_are_one)
{
	CHECK_INT(where_12_is(make_lined(10, at_12, many), make_lined(10, at_12, swapped)), 0);
}

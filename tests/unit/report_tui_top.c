#include <stdio.h>
#include <string.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

enum {
	FUNCTIONS = 1500, /* more than are brought in order at once */
	WIDTH = 80,
	HEIGHT = 24,
	FIRST = 3, /* line of rows: behind title, tabs and header */
	LAST = HEIGHT - 3,
};

/* All take the same, so that names decide, but "middle", which takes more. */
static struct profile *many_functions(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/program");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "function_%04u", i * 7 % FUNCTIONS);
		uint32_t frame = fixture_frame(&fixture, object, 0x10 + i * 0x10, name);
		fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 1);
	}
	uint32_t middle = fixture_frame(&fixture, object, 0x100000, "middle");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, middle), 0, 5);
	return fixture_profile(&fixture);
}

static void begin(struct screen *screen)
{
	screen_init(screen, many_functions(), WIDTH, HEIGHT);
}

static void want_on_line(struct screen *screen, int y, const char *name)
{
	const char *line = screen_line(screen, y);
	if (!strstr(line, name))
		unit_fail(__FILE__, __LINE__, "line %d is \"%s\", without %s", y, line, name);
}

TEST(top_is_in_order_wherever_one_looks)
{
	struct screen screen;
	begin(&screen);
	want_on_line(&screen, FIRST, "middle");
	want_on_line(&screen, FIRST + 1, "function_0000");
	want_on_line(&screen, LAST, "function_0017");
	screen_type(&screen, "G");
	want_on_line(&screen, LAST, "function_1499");
	want_on_line(&screen, FIRST, "function_1481");
	for (int page = 0; page < 40; page++)
		screen_key(&screen, INPUT_PAGE_UP);
	CHECK_INT(screen_selected(&screen), LAST - 18);
	screen_type(&screen, "g");
	for (int page = 0; page < 40; page++)
		screen_key(&screen, INPUT_PAGE_DOWN);
	want_on_line(&screen, LAST, "function_0719"); /* 40 pages of 18 lines */
	screen_deinit(&screen);
}

TEST(top_turned_round_begins_with_the_last)
{
	struct screen screen;
	begin(&screen);
	screen_type(&screen, "sg");
	want_on_line(&screen, FIRST, "function_1499");
	screen_type(&screen, "G");
	want_on_line(&screen, LAST, "middle");
	want_on_line(&screen, LAST - 1, "function_0000");
	screen_deinit(&screen);
}

TEST(top_shows_the_top_when_the_order_changes)
{
	struct screen screen;
	begin(&screen);
	for (int page = 0; page < 45; page++)
		screen_key(&screen, INPUT_PAGE_DOWN);
	uint32_t function = app_function(&screen.app);
	const char *name = model_function(screen.app.model, function)->name;
	CHECK_STR(name, "function_0809");
	screen_type(&screen, "<");
	CHECK_INT(screen_selected(&screen), FIRST);
	want_on_line(&screen, FIRST, "middle");
	screen_type(&screen, "G");
	screen_type(&screen, "s");
	CHECK_INT(screen_selected(&screen), FIRST);
	want_on_line(&screen, FIRST, "function_1499");
	screen_deinit(&screen);
}

/* By thread, all rows are others: where the old one stands now is of no use. */
TEST(top_shows_the_top_when_the_groups_change)
{
	struct screen screen;
	begin(&screen);
	screen_type(&screen, "G");
	want_on_line(&screen, LAST, "function_1499");
	screen_type(&screen, "bgjj\n");
	CHECK(strstr(screen_line(&screen, 2), "thread"));
	CHECK_INT(screen_selected(&screen), FIRST);
	want_on_line(&screen, FIRST, "middle");
	screen_deinit(&screen);
}

TEST(top_goes_to_the_next_match_and_round)
{
	struct screen screen;
	begin(&screen);
	screen_type(&screen, "/_[01]777|_0003|middle\n");
	want_on_line(&screen, screen_selected(&screen), "middle"); /* the hottest */
	static const char *const ahead[] = {
		"function_0003", "function_0777", "middle", "function_0003"};
	for (size_t i = 0; i < sizeof(ahead) / sizeof(*ahead); i++) {
		screen_type(&screen, "n");
		want_on_line(&screen, screen_selected(&screen), ahead[i]);
	}
	static const char *const back[] = {"middle", "function_0777", "function_0003"};
	for (size_t i = 0; i < sizeof(back) / sizeof(*back); i++) {
		screen_type(&screen, "N");
		want_on_line(&screen, screen_selected(&screen), back[i]);
	}
	screen_type(&screen, "sn"); /* turned round, from the other end on */
	want_on_line(&screen, screen_selected(&screen), "function_0777");
	screen_type(&screen, "n");
	want_on_line(&screen, screen_selected(&screen), "function_0003");
	screen_deinit(&screen);
}

/* Neither half of such a name tells which function it is. */
TEST(top_leaves_out_template_arguments_where_room_is_short)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/program");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	static const char whole[] = "std::map<std::string, std::vector<int> >::find(std::string "
				    "const&, std::vector<int> const&)";
	uint32_t frame = fixture_frame(&fixture, object, 0x10, whole);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 1);
	struct screen screen;
	screen_init(&screen, fixture_profile(&fixture), WIDTH, HEIGHT);
	want_on_line(&screen, FIRST, "std::map<...>::find");
	CHECK(!strstr(screen_line(&screen, FIRST), "const&"));
	screen_resize(&screen, 200, HEIGHT);
	want_on_line(&screen, FIRST, whole);
	screen_deinit(&screen);
}

/* Words of the format stand for sentences, which say what helps. */
TEST(what_has_no_name_says_why_when_it_is_selected)
{
	struct fixture fixture;
	struct screen screen;
	fixture_init(&fixture);
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t program = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/usr/bin/program");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	uint32_t pending = fixture_frame(
		&fixture, script, LAYOUT_SCRIPT_PENDING, "[unnamed: runtime_pending]");
	uint32_t cut = fixture_frame(&fixture, 0, LAYOUT_TRUNCATED_DEPTH, NULL);
	uint32_t work = fixture_frame(&fixture, program, 0x10, "work");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, pending), 0, 3);
	uint32_t rest = fixture_frame(&fixture, program, 0x20, "rest");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cut, work), 0, 2);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cut, rest), 0, 1);
	screen_init(&screen, fixture_profile(&fixture), 150, HEIGHT);
	screen_type(&screen, "g");
	CHECK(strstr(screen_line(&screen, HEIGHT - 2),
		"[unnamed: runtime_pending]  it was not known yet that the process is"));
	screen_type(&screen, "j");
	CHECK(strstr(screen_line(&screen, HEIGHT - 2), "work  program"));
	screen_type(&screen, "3gE");
	while (!strstr(screen_line(&screen, screen_selected(&screen)), "[truncated"))
		screen_type(&screen, "j");
	CHECK(strstr(screen_line(&screen, HEIGHT - 2),
		"[truncated: depth_limit]  the stack is deeper than the recorder goes"));
	screen_deinit(&screen);
}

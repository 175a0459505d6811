#include <string.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

static uint32_t process_in(struct fixture *fixture, uint32_t pid, uint32_t exe, const char *cgroup,
	const char *container)
{
	struct layout_process process = {
		.pid = pid,
		.exe = exe,
		.cgroup = fixture_string(fixture, cgroup),
		.container = fixture_string(fixture, container),
	};
	return writer_process(fixture->writer, &process);
}

/* Two containers: one of a process with two threads and one of one thread, one of a process. */
static struct profile *two_containers(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t server = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/usr/sbin/server");
	uint32_t shell = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/bin/sh");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, server, 16, "run"));
	uint32_t busy = process_in(&fixture, 100, server, "/a/b", "web");
	uint32_t other = process_in(&fixture, 200, shell, "/a/c", "web");
	uint32_t third = process_in(&fixture, 300, shell, "/user", "");
	fixture_samples(&fixture, fixture_thread(&fixture, busy, 101, "io"), stack, 0, 500);
	fixture_samples(&fixture, fixture_thread(&fixture, busy, 100, "server"), stack, 0, 100);
	fixture_samples(&fixture, fixture_thread(&fixture, other, 200, "sh"), stack, 0, 150);
	fixture_samples(&fixture, fixture_thread(&fixture, third, 300, "io"), stack, 0, 250);
	return fixture_profile(&fixture);
}

static void open_view(struct screen *tui)
{
	screen_init(tui, two_containers(), 80, 16);
	screen_type(tui, "6");
}

TEST(processes_levels_open_and_close)
{
	struct screen tui;
	open_view(&tui);
	CHECK_STR(screen_line(&tui, 2),
		"  sharev              samples        CPU container or cgroup, process, thread");
	CHECK_STR(
		screen_line(&tui, 3), "  75.00% ########         750    0.750 s - web (3 threads)");
	CHECK_STR(screen_line(&tui, 4),
		"  60.00% ######           600    0.600 s   + server 100 (2 threads)");
	CHECK_STR(screen_line(&tui, 5), "  15.00% ##               150    0.150 s     sh 200");
	CHECK_STR(screen_line(&tui, 6),
		"  25.00% ###              250    0.250 s - /user (1 thread)");
	CHECK_STR(screen_line(&tui, 7), "  25.00% ###              250    0.250 s     io 300");
	screen_type(&tui, "j+");
	CHECK_STR(screen_line(&tui, 5), "  50.00% #####            500    0.500 s       io:101");
	CHECK_STR(
		screen_line(&tui, 6), "  10.00% #                100    0.100 s       server:100");
	screen_type(&tui, "jj-"); /* to the process, which is closed next */
	CHECK_STR(
		screen_line(&tui, 6), "  10.00% #                100    0.100 s       server:100");
	screen_type(&tui, "-");
	CHECK(strstr(screen_line(&tui, 5), "  sh 200"));
	screen_type(&tui, "C");
	CHECK(strstr(screen_line(&tui, 3), "+ web (3 threads)"));
	CHECK(strstr(screen_line(&tui, 4), "+ /user (1 thread)"));
	screen_type(&tui, "Ee");
	screen_deinit(&tui);
}

/* Its first thread was not sampled: it is not called as its other threads are. */
TEST(a_process_is_called_by_its_program)
{
	struct fixture fixture;
	struct screen tui;
	fixture_init(&fixture);
	uint32_t server = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/usr/sbin/server");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, server, 16, "run"));
	uint32_t process = process_in(&fixture, 100, server, "/a", "");
	uint32_t unknown = process_in(&fixture, 200, 0, "/a", "");
	fixture_samples(&fixture, fixture_thread(&fixture, process, 101, "io"), stack, 0, 500);
	fixture_samples(&fixture, fixture_thread(&fixture, unknown, 201, "net"), stack, 0, 50);
	screen_init(&tui, fixture_profile(&fixture), 80, 16);
	screen_type(&tui, "6");
	CHECK(strstr(screen_text(&tui), " server 100"));
	CHECK(strstr(screen_text(&tui), " net 200"));
	screen_deinit(&tui);
}

/* A second filter that is the same would need another Esc. */
TEST(a_filter_is_added_once)
{
	struct screen tui;
	open_view(&tui);
	screen_type(&tui, "Egjjt");
	screen_type(&tui, "t");
	CHECK_INT(tui.app.trail.done.len, 1);
	CHECK(strstr(screen_text(&tui), "it is filtered so already"));
	screen_deinit(&tui);
}

TEST(processes_enter_filters_on_each_level)
{
	struct screen tui;
	open_view(&tui);
	screen_type(&tui, "g");
	screen_key(&tui, INPUT_ENTER);
	CHECK_INT(tui.app.wish.scope.terms.data[0].kind, SCOPE_CONTAINER);
	CHECK_INT(tui.app.model->slice.whole.samples, 750);
	screen_type(&tui, "j");
	screen_key(&tui, INPUT_ENTER);
	CHECK_INT(tui.app.wish.scope.terms.data[1].kind, SCOPE_PROCESS);
	CHECK_INT(tui.app.model->slice.whole.samples, 600);
	screen_type(&tui, "ejj");
	screen_key(&tui, INPUT_ENTER);
	CHECK_INT(tui.app.wish.scope.terms.data[2].kind, SCOPE_THREAD);
	CHECK_INT(tui.app.model->slice.whole.samples, 100);
	CHECK(strstr(screen_line(&tui, 2), "> web > pid 100 > server:100"));
	screen_deinit(&tui);
}

TEST(processes_selection_is_that_of_all_views)
{
	struct screen tui;
	open_view(&tui);
	screen_type(&tui, "Ejj5");
	CHECK(strstr(screen_line(&tui, 14), "io:101"));
	screen_type(&tui, "1t");
	CHECK_INT(tui.app.model->slice.whole.samples, 500);
	/* What is not there any more leaves its process selected. */
	screen_key(&tui, INPUT_ESCAPE);
	screen_type(&tui, "6");
	CHECK(screen_style_at(&tui, 60, 5) & STYLE_SELECTED);
	screen_type(&tui, "k-");
	CHECK(screen_style_at(&tui, 60, 4) & STYLE_SELECTED);
	screen_type(&tui, "t");
	CHECK(strstr(screen_line(&tui, 15), "this is a process: e opens it"));
	screen_type(&tui, "jt"); /* a process of one thread */
	CHECK_INT(tui.app.model->slice.whole.samples, 150);
	screen_deinit(&tui);
}

/* Of 100 only its thread io is left: that is none of the process's own name, and has an ID. */
TEST(a_process_keeps_its_name_when_its_first_thread_is_filtered_out)
{
	struct screen tui;
	open_view(&tui);
	screen_type(&tui, "Ejjt");
	CHECK_INT(tui.app.model->slice.whole.samples, 500);
	CHECK(strstr(screen_text(&tui), "server 100"));
	CHECK(strstr(screen_text(&tui), "io:101"));
	screen_deinit(&tui);
}

TEST(processes_menu_keeps_comm_process_and_container)
{
	static const struct {
		enum action action;
		unsigned samples;
	} choices[] = {{ACTION_ONLY_COMM, 750}, {ACTION_ONLY_PROCESS, 600},
		{ACTION_ONLY_CONTAINER, 750}, {ACTION_ONLY_THREAD, 500}};
	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
		struct screen tui;
		open_view(&tui);
		screen_type(&tui, "EjjM");
		for (size_t at = 0; tui.app.overlay.actions.data[at] != choices[i].action; at++)
			screen_type(&tui, "j");
		screen_key(&tui, INPUT_ENTER);
		CHECK_INT(tui.app.model->slice.whole.samples, choices[i].samples);
		screen_deinit(&tui);
	}
}

TEST(processes_order_by_columns)
{
	struct screen tui;
	open_view(&tui);
	screen_type(&tui, ">>>"); /* by name */
	CHECK(strstr(screen_line(&tui, 3), "/user"));
	screen_type(&tui, "s");
	CHECK(strstr(screen_line(&tui, 3), "web"));
	CHECK(strstr(screen_line(&tui, 4), "sh 200"));
	screen_mouse(&tui, INPUT_PRESS, 5, 2);
	CHECK(strstr(screen_line(&tui, 4), "server 100"));
	screen_resize(&tui, 130, 16);
	screen_type(&tui, "<>>>s"); /* by when they began, latest first */
	CHECK(strstr(screen_line(&tui, 2), "first^"));
	CHECK(strstr(screen_line(&tui, 3), "/user"));
	screen_deinit(&tui);
}

/* Where the selected row stands in another order is of no interest. */
TEST(processes_show_the_top_when_the_order_changes)
{
	struct screen tui;
	open_view(&tui);
	screen_type(&tui, "G");
	CHECK_INT(screen_selected(&tui), 7);
	screen_type(&tui, ">");
	CHECK_INT(screen_selected(&tui), 3);
	screen_type(&tui, "G");
	screen_mouse(&tui, INPUT_PRESS, 2, 2);
	CHECK_INT(screen_selected(&tui), 3);
	screen_deinit(&tui);
}

static void want_selected_row(struct screen *tui, const char *name)
{
	const char *line = screen_line(tui, screen_selected(tui));
	if (!strstr(line, name))
		unit_fail(__FILE__, __LINE__, "selected is \"%s\", not %s", line, name);
}

/* What matches are threads and processes, not functions; closed ones are opened for it. */
TEST(processes_are_searched_by_name)
{
	struct screen tui;
	open_view(&tui);
	screen_type(&tui, "/^sh 2\n");
	want_selected_row(&tui, " sh 200");
	CHECK(strstr(screen_line(&tui, 2), "/^sh 2: 1/1"));
	CHECK(!strchr(screen_line(&tui, 2), '%'));
	CHECK(screen_style(&tui, "sh 200") & STYLE_MATCH);
	CHECK(!(screen_style(&tui, " sh 200") & STYLE_MATCH));
	CHECK_INT(screen_style(&tui, "/user") & STYLE_MASK, STYLE_DIM);
	screen_type(&tui, "n");
	CHECK(strstr(screen_line(&tui, 15), "no other match"));
	screen_type(&tui, "/io:10\n");
	want_selected_row(&tui, " io:101");
	screen_type(&tui, "/server\n"); /* by the program, too: its two threads and itself */
	want_selected_row(&tui, "server 100 (2");
	CHECK(strstr(screen_text(&tui), "/server: 1/3"));
	screen_type(&tui, "nn");
	want_selected_row(&tui, " server:100");
	CHECK(strstr(screen_text(&tui), "/server: 3/3"));
	screen_type(&tui, "N");
	want_selected_row(&tui, " io:101");
	screen_type(&tui, "/nothinglikeit\n");
	CHECK(strstr(screen_line(&tui, 15), "nothing matches"));
	CHECK(!(screen_style(&tui, "server:100") & STYLE_MATCH));
	screen_deinit(&tui);
}

/* The row of another view's match is no reason to stay. */
TEST(timeline_is_searched_by_name)
{
	struct screen tui;
	screen_init(&tui, two_containers(), 80, 16);
	screen_type(&tui, "5/run\n");
	CHECK(strstr(screen_line(&tui, 15), "nothing matches"));
	screen_type(&tui, "/sh\n");
	CHECK(strstr(screen_text(&tui), "/sh: 1/2")); /* "io 300" runs /bin/sh */
	CHECK(screen_style(&tui, "sh:200") & STYLE_MATCH);
	screen_deinit(&tui);
}

TEST(processes_columns_go_in_order)
{
	struct screen tui;
	open_view(&tui);
	screen_resize(&tui, 130, 16);
	CHECK_STR(screen_line(&tui, 5),
		"  15.00% ##               150    0.150 s    0.60 s    0.75 s sh                  "
		"     sh 200");
	screen_resize(&tui, 55, 16);
	CHECK_STR(screen_line(&tui, 5), "  15.00%       150     sh 200");
	screen_resize(&tui, 20, 5);
	CHECK_STR(screen_line(&tui, 2), "  75.00% - web~eads)");
	screen_type(&tui, "\\nothing here");
	screen_key(&tui, INPUT_ENTER);
	screen_type(&tui, "jklhGg+-eECvls<>");
	screen_key(&tui, INPUT_ENTER);
	screen_mouse(&tui, INPUT_PRESS, 3, 3);
	screen_mouse(&tui, INPUT_WHEEL_DOWN, 3, 3);
	for (int height = 5; height < 12; height++)
		for (int width = 20; width < 140; width += 7)
			screen_resize(&tui, width, height);
	screen_deinit(&tui);
}

TEST(processes_whole_name_and_copy)
{
	struct screen tui;
	open_view(&tui);
	screen_type(&tui, "jy");
	CHECK_STR(str_text(&tui.app.to_copy), "server 100");
	screen_type(&tui, "w");
	CHECK(strstr(screen_resize(&tui, 80, 24), "program    /usr/sbin/server"));
	CHECK(strstr(str_text(&tui.text), "container  web"));
	CHECK(strstr(str_text(&tui.text), "cgroup     /a/b"));
	screen_deinit(&tui);
}

/* Time that threads waited is no CPU time, and what has another unit is no time. */
TEST(processes_have_values_in_the_unit_of_the_event)
{
	static const struct {
		const char *event, *unit, *title, *value;
	} cases[] = {
		{"cpu-clock", "ns", "        CPU ", "    2.000 s "},
		{"offcpu", "ns", "       time ", "    2.000 s "},
		{"page-faults", "faults", "     faults ", " 2000000000 "},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fixture fixture;
		fixture_init(&fixture);
		uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/bin/sh");
		uint32_t stack =
			FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 16, "run"));
		uint32_t process = process_in(&fixture, 200, object, "/a", "");
		uint32_t thread = fixture_thread(&fixture, process, 200, "sh");
		fixture.event = fixture_event(&fixture, cases[i].event, cases[i].unit, 1000000);
		fixture_samples(&fixture, thread, stack, 0, 2000);
		struct profile *profile = fixture_profile(&fixture);
		profile->events.data[fixture.event].source = i == 1 ? "wait" : NULL;
		struct screen tui;
		screen_init(&tui, profile, 80, 16);
		screen_type(&tui, "6");
		CHECK(strstr(screen_line(&tui, 2), cases[i].title));
		CHECK(strstr(screen_line(&tui, 3), cases[i].value));
		screen_deinit(&tui);
	}
}

#include <string.h>

#include "report/analyse/filter.h"
#include "report/analyse/hidden_frames.h"
#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

/*
 * 10 samples: start -> loop -> outer() -> loop -> inner(): 3 its own, 2 in malloc, 1 of them a
 * fault in the kernel; and start -> malloc of another thread, 5.
 */
static struct profile *mixed_profile(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t native = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t process = fixture_process(&fixture, 1, 0);
	uint32_t thread = fixture_thread(&fixture, process, 1, "app");
	uint32_t other = fixture_thread(&fixture, process, 2, "pool");
	uint32_t start = fixture_frame(&fixture, native, 0x10, "start");
	uint32_t loop = fixture_frame(&fixture, native, 0x20, "loop");
	uint32_t outer =
		fixture_line(&fixture, script, LAYOUT_SCRIPT_FIRST, "outer", "/src/app.py", 3);
	uint32_t inner =
		fixture_line(&fixture, script, 2 * LAYOUT_SCRIPT_FIRST, "inner", "/src/app.py", 7);
	uint32_t leaf = fixture_frame(&fixture, native, 0x30, "malloc");
	uint32_t only = fixture_frame(&fixture, native, 0x50, "memcpy");
	uint32_t fault = fixture_frame(&fixture, kernel, 0x40, "page_fault");
	uint32_t whole = FIXTURE_STACK(&fixture, start, loop, outer, loop, inner, leaf, only);
	fixture_samples(&fixture, thread, whole, FIXTURE_STACK(&fixture, fault), 1);
	fixture_samples(&fixture, thread, whole, 0, 1);
	fixture_samples(
		&fixture, thread, FIXTURE_STACK(&fixture, start, loop, outer, loop, inner), 0, 3);
	fixture_samples(&fixture, other, FIXTURE_STACK(&fixture, start, leaf), 0, 5);
	return fixture_profile(&fixture);
}

static void begin(struct screen *screen, enum view_id view, bool hides_native)
{
	struct app_options options = {.file_name = "x.data", .hides_native = hides_native};
	screen_init_with(screen, mixed_profile(), 80, 16, options, view);
	/* What is not as it would be without a wish has to be wished for. */
	CHECK_INT(screen->app.wish.serial > 0, hides_native);
}

static void select_function(struct screen *screen, const char *name)
{
	vec_each(&screen->app.model->functions, weight)
		if (strcmp(model_function(screen->app.model, weight->function)->name, name) == 0)
			app_select(&screen->app, weight->frame);
}

static const char *selected_name(const struct screen *screen)
{
	return model_function(screen->app.model, app_function(&screen->app))->name;
}

TEST(native_frames_go_and_come_in_top)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, false);
	CHECK(strstr(screen_text(&screen), "memcpy"));
	CHECK(strstr(screen_text(&screen), "page_fault"));
	CHECK(!strstr(screen_text(&screen), "[no native]"));
	screen_type(&screen, "S");
	CHECK_STR(screen_lines(&screen, 2, 6),
		"[no native]\n"
		"   selfv    total file                         function\n"
		"  50.00%   50.00% [python]          #####      inner\n"
		"  50.00%   50.00% [vdso]            #####      malloc\n"
		"   0.00%   50.00% [python]                     outer\n"
		"   0.00%   50.00% [vdso]                       start\n");
	screen_type(&screen, "S");
	CHECK(strstr(screen_text(&screen), "memcpy"));
	screen_deinit(&screen);
}

TEST(hidden_native_frames_leave_what_the_filter_leaves)
{
	struct profile *filtered = mixed_profile();
	filter_samples(filtered, &(struct filter){.hidden = HIDDEN_NATIVE});
	struct screen hidden, left_out;
	begin(&hidden, VIEW_TREE, true);
	struct app_options options = {.file_name = "x.data"};
	screen_init_with(&left_out, filtered, 80, 15, options, VIEW_TREE);
	CLEANUP_FREE char *want = mem_strdup(screen_lines(&left_out, 2, 6));
	CHECK_STR(screen_lines(&hidden, 3, 6), want);
	screen_deinit(&hidden);
	screen_deinit(&left_out);
}

TEST(a_selected_branch_becomes_that_of_the_script)
{
	struct screen screen;
	begin(&screen, VIEW_TREE, false);
	select_function(&screen, "memcpy");
	screen_type(&screen, "13");
	CHECK_STR(selected_name(&screen), "memcpy");
	screen_type(&screen, "S");
	CHECK_STR(selected_name(&screen), "inner");
	CHECK_STR(screen_line(&screen, screen_selected(&screen)),
		"  50.00%   50.00% #####        outer > inner  [python]");
	screen_type(&screen, "S");
	CHECK_STR(selected_name(&screen), "inner");
	CHECK(strstr(screen_line(&screen, screen_selected(&screen)), "inner"));
	CHECK(strstr(screen_text(&screen), "loop"));
	screen_deinit(&screen);
}

TEST(a_zoom_goes_on_leading_to_the_script)
{
	struct screen screen;
	begin(&screen, VIEW_FLAME, false);
	select_function(&screen, "inner");
	screen_type(&screen, "3\n");
	CHECK(strstr(screen_line(&screen, 2), "in inner"));
	CHECK_INT(app_zoomed_node(&screen.app) != 0, true);
	screen_type(&screen, "S4");
	uint32_t zoomed = app_zoomed_node(&screen.app);
	const struct tree_node *node = &screen.app.model->names->tree.nodes.data[zoomed];
	CHECK_STR(model_function(screen.app.model, node->function)->name, "inner");
	CHECK(strstr(screen_line(&screen, 2), "[no native] > in inner"));
	CHECK(!strstr(screen_text(&screen), "loop"));
	/* ... also one that was made meanwhile. */
	screen_type(&screen, "R");
	select_function(&screen, "inner");
	screen_type(&screen, "3\nS");
	zoomed = app_zoomed_node(&screen.app);
	node = &screen.app.model->names->tree.nodes.data[zoomed];
	CHECK_STR(model_function(screen.app.model, node->function)->name, "inner");
	CHECK(strstr(screen_text(&screen), "malloc"));
	screen_deinit(&screen);
}

TEST(a_native_centre_gives_way_to_the_script)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, false);
	select_function(&screen, "memcpy");
	screen_type(&screen, "2S");
	CHECK_STR(selected_name(&screen), "inner");
	CHECK(strstr(screen_text(&screen), "outer"));
	CHECK(!strstr(screen_text(&screen), "no samples of it"));
	screen_deinit(&screen);
}

TEST(lines_of_scripts_have_what_native_code_took)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, true);
	select_function(&screen, "inner");
	screen_type(&screen, "7");
	const struct annotation *annotation = screen.app.model->annotation;
	CHECK(annotation && annotation->whole.self_samples == 5);
	screen_type(&screen, "S");
	annotation = screen.app.model->annotation;
	CHECK(annotation && annotation->whole.self_samples == 3);
	screen_deinit(&screen);
}

TEST(the_key_is_offered_where_there_are_scripts)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, false);
	CHECK(strstr(screen_line(&screen, 15), "S no native"));
	screen_type(&screen, "5"); /* of threads, whatever they run */
	CHECK(!strstr(screen_line(&screen, 15), "S no native"));
	screen_type(&screen, "1S");
	CHECK(!strstr(screen_line(&screen, 15), "S no native"));
	screen_deinit(&screen);
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	fixture_samples(&fixture, thread, 0, 0, 1);
	screen_init(&screen, fixture_profile(&fixture), 80, 16);
	CHECK(!strstr(screen_line(&screen, 15), "S no native"));
	screen_type(&screen, "S");
	CHECK(!screen.app.wish.hides_native);
	CHECK(strstr(screen_line(&screen, 15), "no frames of scripts"));
	screen_deinit(&screen);
}

/* run() of two files, and twice of one of them. */
TEST(functions_of_scripts_with_one_name_are_apart)
{
	struct fixture fixture;
	struct screen screen;
	fixture_init(&fixture);
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	for (uint32_t i = 1; i < 4; i++) {
		uint32_t run = fixture_line(&fixture, script, i * LAYOUT_SCRIPT_FIRST, "run",
			i < 3 ? "/src/a.py" : "/src/b.py", i);
		fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, run), 0, i);
	}
	screen_init(&screen, fixture_profile(&fixture), 80, 16);
	CHECK_INT(screen.app.model->functions.len, 2);
	CHECK(strstr(screen_text(&screen), "run (a.py)"));
	CHECK(strstr(screen_text(&screen), "run (b.py)"));
	screen_deinit(&screen);
}

TEST(the_kernels_frames_go_and_come)
{
	struct screen screen;
	begin(&screen, VIEW_TOP, false);
	CHECK(strstr(screen_text(&screen), "page_fault"));
	screen_type(&screen, "H");
	CHECK_STR(screen_lines(&screen, 2, 1), "[no kernel]\n");
	CHECK(!strstr(screen_text(&screen), "page_fault"));
	CHECK(strstr(screen_text(&screen), "20.00%   20.00% [vdso]            ##         memcpy"));
	screen_type(&screen, "K");
	CHECK(strstr(screen_line(&screen, 15), "the kernel's frames are hidden: H shows them"));
	screen_type(&screen, "R"); /* undoes filters; this is none */
	CHECK(strstr(screen_line(&screen, 15), "nothing to reset; [no kernel] is no filter: H"));
	screen_type(&screen, "\\memcpy\nR");
	CHECK_INT(screen.app.trail.done.len, 0);
	CHECK(strstr(screen_line(&screen, 15), "[no kernel] is no filter: H shows those frames"));
	screen_type(&screen, "3A");
	CHECK(!strstr(screen_text(&screen), "page_fault"));
	screen_type(&screen, "S");
	CHECK_STR(screen_lines(&screen, 2, 1), "[no native] [no kernel]\n");
	screen_type(&screen, "SH1");
	CHECK(strstr(screen_text(&screen), "page_fault"));
	screen_type(&screen, "o");
	CHECK(strstr(screen_text(&screen), "[ ] the kernel's frames as parts of the programs"));
	screen_type(&screen, "q");
	screen_deinit(&screen);
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	fixture_samples(&fixture, thread, 0, 0, 1);
	screen_init(&screen, fixture_profile(&fixture), 80, 16);
	screen_type(&screen, "H");
	CHECK(!screen.app.wish.hides_kernel);
	CHECK(strstr(screen_line(&screen, 15), "no frames of the kernel"));
	screen_deinit(&screen);
}

/* The view of lines: keys in, cells out. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

static char source_path[] = "/tmp/ebprof-view.XXXXXX";

struct opened {
	struct screen screen;
	struct code_options code;
	unsigned listed;
};

static const char source[] = "int work(int n)\n"
			     "{\n"
			     "\tif (n > 1) /* \x1b[31m */\n"
			     "\t\treturn n; /* quick */\n"
			     "\treturn work(n - 1);\n"
			     "}\n"
			     "\n"
			     "int other;\n";

static void write_source(void)
{
	int fd = mkstemp(source_path);
	CHECK(fd >= 0 && write(fd, source, sizeof(source) - 1) == (ssize_t)sizeof(source) - 1);
	close(fd);
}

/* work(): 15 ms in line 3, 5 ms in line 4, 10 of the former below line 5. */
static struct profile *make_profile(void)
{
	struct fixture f;
	fixture_init(&f);
	uint32_t object = fixture_object(&f, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t process = fixture_process(&f, 1, 0);
	uint32_t thread = fixture_thread(&f, process, 1, "x");
	uint32_t main = fixture_frame(&f, object, 0x100, "main");
	uint32_t lines[] = {fixture_frame(&f, object, 0x203, "work"),
		fixture_frame(&f, object, 0x204, "work"), fixture_frame(&f, object, 0x205, "work")};
	fixture_samples(&f, thread, FIXTURE_STACK(&f, main, lines[0]), 0, 5);
	fixture_samples(&f, thread, FIXTURE_STACK(&f, main, lines[1]), 0, 5);
	fixture_samples(&f, thread, FIXTURE_STACK(&f, main, lines[2], lines[0]), 0, 10);
	fixture_samples(&f, thread, FIXTURE_STACK(&f, main), 0, 2);
	struct profile *profile = fixture_profile(&f);
	for (uint32_t i = 0; i < 3; i++) {
		profile->frames.data[lines[i]].file = source_path;
		profile->frames.data[lines[i]].line = 3 + i;
	}
	return profile;
}

static void read_code(struct opened *it)
{
	struct app *app = &it->screen.app;
	if (app->listing_wish == it->listed)
		return;
	it->listed = app->listing_wish;
	struct listing_request request = code_request(&it->code, app->model, app->is_intel);
	app_update_listing(app, listing_create(&request));
}

static void press(struct opened *it, const char *keys)
{
	for (; *keys; keys++) {
		char key[] = {*keys, '\0'};
		screen_type(&it->screen, key);
		read_code(it);
	}
}

static void open_view_of(struct opened *it, struct profile *profile, int width, int height)
{
	*it = (struct opened){0};
	struct app_options options = {.file_name = "x.data", .code = &it->code};
	screen_init_with(&it->screen, profile, width, height, options, VIEW_TOP);
	press(it, "a");
}

static void open_view(struct opened *it, int width, int height)
{
	write_source();
	open_view_of(it, make_profile(), width, height);
}

static void close_view(struct opened *it)
{
	screen_deinit(&it->screen);
	unlink(source_path);
}

TEST(source_with_shares)
{
	struct opened it;
	open_view(&it, 80, 16);
	const char *text = screen_text(&it.screen);
	CHECK(strstr(text, "\n  75.00%   75.00%      3         if (n > 1) /* \\x1b[31m */"));
	CHECK(strstr(text, "\n  25.00%   25.00%      4                 return n;"));
	CHECK(strstr(text, "\n           50.00%      5         return work(n - 1);"));
	CHECK(strstr(text, "work  source; % of function; 90.91% of all"));
	CHECK(strstr(screen_lines(&it.screen, screen_selected(&it.screen), 1), "if (n > 1)"));
	press(&it, "%%");
	CHECK(strstr(screen_text(&it.screen), "\n      15       15      3"));
	close_view(&it);
}

TEST(source_keys)
{
	struct opened it;
	open_view(&it, 80, 16);
	press(&it, "n");
	CHECK(strstr(screen_lines(&it.screen, screen_selected(&it.screen), 1), "quick"));
	press(&it, "nN");
	CHECK(strstr(screen_lines(&it.screen, screen_selected(&it.screen), 1), "quick"));
	press(&it, "/other\nn");
	CHECK(strstr(screen_lines(&it.screen, screen_selected(&it.screen), 1), "int other;"));
	press(&it, "/nothing\nn");
	CHECK(strstr(screen_text(&it.screen), "nothing matches"));
	press(&it, "l");
	CHECK(strstr(screen_text(&it.screen), "\n  75.00%   75.00%      3 if (n > 1)"));
	press(&it, "h\n");
	CHECK(strstr(screen_text(&it.screen), "if (n > 1)"));
	press(&it, "e");
	CHECK(strstr(screen_text(&it.screen), "no vmlinux of the recorded kernel is here"));
	close_view(&it);
}

static void check_not_code(size_t member, const char *why)
{
	write_source();
	struct profile *profile = make_profile();
	*(uint32_t *)((char *)profile + member) =
		profile->frames.data[profile->frames.len - 1].object;
	struct opened it;
	open_view_of(&it, profile, 80, 16);
	press(&it, "n\n");
	CHECK(strstr(screen_text(&it.screen), why));
	close_view(&it);
}

TEST(source_of_a_wait)
{
	check_not_code(offsetof(struct profile, wait_object), "a wait is no code");
}

TEST(source_of_a_system_call)
{
	check_not_code(offsetof(struct profile, syscall_object), "a system call's name is no code");
}

/* Names that come leave the selection where it was; another function begins anew. */
TEST(source_selection_stays)
{
	struct opened it;
	open_view(&it, 80, 16);
	press(&it, "jj");
	CHECK(strstr(screen_lines(&it.screen, screen_selected(&it.screen), 1), "work(n - 1)"));
	screen_rename(&it.screen);
	read_code(&it);
	CHECK(strstr(screen_lines(&it.screen, screen_selected(&it.screen), 1), "work(n - 1)"));
	press(&it, "1ja");
	CHECK(strstr(screen_text(&it.screen), "main"));
	CHECK(strstr(screen_text(&it.screen), "there is no debug information that tells lines"));
	press(&it, "1ka");
	CHECK(strstr(screen_lines(&it.screen, screen_selected(&it.screen), 1), "if (n > 1)"));
	close_view(&it);
}

TEST(source_on_small_screens)
{
	struct opened it;
	open_view(&it, 20, 5);
	CHECK(strstr(screen_text(&it.screen), "\n  75.00%         if"));
	press(&it, "l");
	CHECK(strstr(screen_text(&it.screen), "\n  75.00% if (n > 1)"));
	close_view(&it);
}

TEST(source_printed)
{
	struct opened it;
	open_view(&it, 40, 10);
	CLEANUP(str_deinit) struct str text = {0};
	views[VIEW_SOURCE]->print(it.screen.app.states[VIEW_SOURCE], &it.screen.app, &text);
	CHECK(strstr(str_text(&text), "# work\n"));
	CHECK(strstr(
		str_text(&text), "  75.00%  75.00%      3          if (n > 1) /* \\x1b[31m */\n"));
	close_view(&it);
}

/* Without a selection the hottest function, which stays when no samples are left. */
TEST(source_of_nothing)
{
	struct opened it;
	open_view(&it, 80, 16);
	app_select(&it.screen.app, 0);
	app_show(&it.screen.app, VIEW_TOP);
	press(&it, "a");
	CHECK(strstr(screen_text(&it.screen), "work  source"));
	press(&it, "eeoEC\nnN+-Gg!.\n");
	CHECK(strstr(screen_text(&it.screen), "0.00% of all"));
	press(&it, "eeoEC\nnN+-Gg");
	close_view(&it);
}

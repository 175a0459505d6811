#include <string.h>

#include "report/analyse/wait_reasons.h"
#include "tests/unit/report_tui_fixture.h"
#include "tests/unit/unit.h"

struct waits {
	struct fixture fixture;
	uint32_t script, event, thread[2];
};

static void waits_of_two_threads(struct waits *waits)
{
	*waits = (struct waits){0};
	fixture_init(&waits->fixture);
	struct fixture *fixture = &waits->fixture;
	struct layout_event event = {
		.name = fixture_string(fixture, "offcpu"),
		.unit = fixture_string(fixture, "ns"),
		.source = fixture_string(fixture, "wait"),
	};
	waits->script = fixture_object(fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t process = fixture_process(fixture, 10, 0);
	waits->thread[0] = fixture_thread(fixture, process, 10, "shop");
	waits->thread[1] = fixture_thread(fixture, process, 11, "ticker");
	waits->event = writer_event(fixture->writer, &event);
}

/* `kernel`: its stack; 0: none. */
static void waits_add(struct waits *waits, int thread, uint32_t stack, uint32_t kernel, uint64_t ns)
{
	struct layout_sample sample = {
		.time_ns = waits->fixture.time_ns += 1000000,
		.event = waits->event,
		.thread = waits->thread[thread],
		.user_stack = stack,
		.kernel_stack = kernel,
		.weight = ns,
		.measured = ns,
	};
	writer_sample(waits->fixture.writer, &sample);
}

/* Two threads of a script that sleep by the C library, one also reads; both ran for 10 ms. */
static struct profile *waiting(void)
{
	struct waits waits;
	waits_of_two_threads(&waits);
	struct fixture *fixture = &waits.fixture;
	uint32_t libc = fixture_object(fixture, LAYOUT_OBJECT_VDSO, "libc.so.6");
	uint32_t start = fixture_frame(fixture, libc, 0x10, "start_thread");
	uint32_t sleep = fixture_frame(fixture, libc, 0x20, "nanosleep");
	uint32_t leaf = fixture_frame(fixture, libc, 0x30, "syscall");
	uint32_t pause = fixture_line(fixture, waits.script, 0x40, "pause_for_orders", NULL, 0);
	uint32_t read = fixture_line(fixture, waits.script, 0x50, "read_orders", NULL, 0);
	uint32_t busy = fixture_line(fixture, waits.script, 0x60, "compute", NULL, 0);
	uint32_t sleeper = FIXTURE_STACK(fixture, start, pause, sleep, leaf);
	uint32_t reader = FIXTURE_STACK(fixture, start, read, leaf);
	uint32_t computing = FIXTURE_STACK(fixture, start, busy);
	for (int i = 0; i < 5; i++)
		waits_add(&waits, 1, sleeper, 0, 300000000);
	waits_add(&waits, 0, sleeper, 0, 100000000);
	waits_add(&waits, 0, reader, 0, 50000000);
	fixture_samples(fixture, waits.thread[0], computing, 0, 10);
	fixture_samples(fixture, waits.thread[1], computing, 0, 10);
	return fixture_profile(fixture);
}

/* A row for each thread and stack; Enter shows those waits, whatever event was shown before. */
TEST(a_wait_is_chosen_from_the_menu)
{
	struct screen screen;
	screen_init(&screen, waiting(), 80, 16);
	screen_type(&screen, "%%"); /* samples */
	while (!strstr(screen_line(&screen, 0), "cpu-clock"))
		screen_type(&screen, "m");
	screen_type(&screen, "W");
	const char *text = screen_text(&screen);
	CHECK(strstr(text, " longest times     in all  thread            reason     function < "));
	CHECK(strstr(
		text, "300.0 ms     5     1.50 s  ticker:11         -          pause_for_orders"));
	CHECK(!strstr(strstr(text, "longest"), "#"));
	CHECK(strstr(screen_line(&screen, 15), "Enter only these waits  Esc close"));
	screen_type(&screen, "j");
	screen_rename(&screen); /* the menu stays open when names come */
	screen_type(&screen, "j\n");
	CHECK(strstr(screen_line(&screen, 0), "offcpu"));
	CHECK(strstr(screen_text(&screen), "shop:10"));
	CHECK_INT(app_event(&screen.app)->wait != PROFILE_NO_WAIT, true);
	CHECK(strstr(screen_text(&screen), "read_orders"));
	CHECK_INT(screen.app.trail.done.len, 1);
	screen_type(&screen, "\x1b");
	CHECK_INT(screen.app.trail.done.len, 0);
	CHECK(strstr(screen_text(&screen), "pause_for_orders"));
	screen_deinit(&screen);
}

/* What waits is not as hot as what runs. */
TEST(waits_have_marks_of_their_own_in_the_time_view)
{
	struct screen screen;
	screen_init(&screen, waiting(), 80, 16);
	screen.grid.colours = GRID_MONO;
	while (!strstr(screen_line(&screen, 0), "wall"))
		screen_type(&screen, "m");
	screen_type(&screen, "5");
	CHECK(strstr(screen_text(&screen), "~~~~"));
	while (!strstr(screen_line(&screen, 0), "cpu-clock"))
		screen_type(&screen, "m");
	CHECK(!strstr(screen_text(&screen), "~"));
	screen_deinit(&screen);
}

/* One function sleeps three times and waits for a lock twice, in another thread it sleeps once. */
static struct profile *waiting_for_two_reasons(void)
{
	struct waits waits;
	waits_of_two_threads(&waits);
	struct fixture *fixture = &waits.fixture;
	uint32_t kernel = fixture_object(fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t produce = fixture_line(fixture, waits.script, 0x40, "produce", NULL, 0);
	uint32_t producing = FIXTURE_STACK(fixture, produce);
	uint32_t nap = fixture_frame(fixture, kernel, 0x10, "do_nanosleep");
	uint32_t lock = fixture_frame(fixture, kernel, 0x20, "futex_do_wait");
	uint32_t sleeper = FIXTURE_STACK(fixture, nap), locked = FIXTURE_STACK(fixture, lock);
	for (int i = 0; i < 3; i++)
		waits_add(&waits, 0, producing, sleeper, 300000000);
	for (int i = 0; i < 2; i++)
		waits_add(&waits, 0, producing, locked, 200000000);
	waits_add(&waits, 1, producing, sleeper, 100000000);
	struct profile *profile = fixture_profile(fixture);
	wait_reasons_add(profile);
	return profile;
}

TEST(a_row_of_the_menu_shows_its_waits_alone)
{
	struct screen screen;
	screen_init(&screen, waiting_for_two_reasons(), 80, 16);
	screen_type(&screen, "W\n");
	CHECK(strstr(screen_text(&screen), "[wait: sleep]"));
	CHECK_INT(screen.app.model->slice.whole.samples, 3);
	CHECK(strstr(screen_text(&screen), "shop:10 sleep in produce"));
	CHECK_INT(screen.app.trail.done.len, 1);
	screen_type(&screen, "Wj\n"); /* another row takes its place */
	CHECK(strstr(screen_text(&screen), "[wait: futex]"));
	CHECK_INT(screen.app.model->slice.whole.samples, 2);
	CHECK_INT(screen.app.trail.done.len, 1);
	screen_type(&screen, "\x1b");
	CHECK_INT(screen.app.trail.done.len, 0);
	CHECK_INT(screen.app.model->slice.whole.samples, 6);
	screen_type(&screen, "WjZ"); /* the menu's row is not what Z is about */
	CHECK(strstr(screen_line(&screen, 15), "Enter shows a wait's function, and Z then"));
	screen_deinit(&screen);
}

/* One function is called by two, and sleeps in the same way: rows that look alike. */
static struct profile *waiting_for_two_callers(bool is_second_first)
{
	struct waits waits;
	waits_of_two_threads(&waits);
	struct fixture *fixture = &waits.fixture;
	uint32_t kernel = fixture_object(fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t first = fixture_line(fixture, waits.script, 0x40, "first", NULL, 0);
	uint32_t second = fixture_line(fixture, waits.script, 0x50, "second", NULL, 0);
	uint32_t produce = fixture_line(fixture, waits.script, 0x60, "produce", NULL, 0);
	uint32_t nap = fixture_frame(fixture, kernel, 0x10, "do_nanosleep");
	uint32_t sleeper = FIXTURE_STACK(fixture, nap);
	uint32_t of_first = FIXTURE_STACK(fixture, first, produce);
	uint32_t of_second = FIXTURE_STACK(fixture, second, produce);
	if (is_second_first)
		waits_add(&waits, 0, of_second, sleeper, 200000000);
	for (int i = 0; i < 3; i++)
		waits_add(&waits, 0, of_first, sleeper, 300000000);
	for (int i = 0; i < 2; i++)
		waits_add(&waits, 0, of_second, sleeper, 200000000);
	struct profile *profile = fixture_profile(fixture);
	wait_reasons_add(profile);
	return profile;
}

TEST(a_row_of_the_menu_is_its_stack)
{
	struct screen screen;
	screen_init(&screen, waiting_for_two_callers(false), 80, 16);
	screen_type(&screen, "W\n");
	CHECK_INT(screen.app.model->slice.whole.samples, 3);
	CHECK(!strstr(screen_text(&screen), "second"));
	screen_type(&screen, "Wj\n");
	CHECK_INT(screen.app.model->slice.whole.samples, 2);
	CHECK(!strstr(screen_text(&screen), "first"));
	screen_deinit(&screen);
}

/* In a newer state of a recording stacks have other numbers. */
TEST(a_renewed_row_of_the_menu_is_its_stack)
{
	struct screen screen;
	screen_init(&screen, waiting_for_two_callers(false), 80, 16);
	screen_type(&screen, "Wj\n");
	CHECK_INT(screen.app.model->slice.whole.samples, 2);
	screen_renew(&screen, waiting_for_two_callers(true));
	CHECK_INT(screen.app.model->slice.whole.samples, 3);
	CHECK(strstr(screen_text(&screen), "shop:10 sleep in produce"));
	CHECK(!strstr(screen_text(&screen), "first"));
	screen_renew(&screen, waiting_for_two_reasons());
	CHECK_INT(screen.app.model->slice.whole.samples, 0);
	CHECK(strstr(screen_text(&screen), "waits that are not there any more"));
	screen_deinit(&screen);
}

/* What other filters leave out is no row. */
TEST(the_menu_of_waits_has_what_filters_leave)
{
	struct screen screen;
	screen_init(&screen, waiting_for_two_reasons(), 80, 16);
	screen_type(&screen, "\\futex_do_wait\n");
	screen_type(&screen, "W");
	CHECK(strstr(screen_text(&screen), "futex"));
	CHECK(!strstr(screen_text(&screen), "ticker:11"));
	screen_type(&screen, "\n");
	CHECK_INT(screen.app.model->slice.whole.samples, 2);
	CHECK_INT(screen.app.trail.done.len, 2);
	screen_type(&screen, "!futex_do_wait\nW");
	CHECK(strstr(screen_text(&screen), "no waits here"));
	screen_deinit(&screen);
}

/* All that wait wait in the same few functions: what the program does is found below these. */
TEST(of_those_without_time_the_program_comes_first)
{
	struct screen screen;
	screen_init(&screen, waiting(), 80, 16);
	while (!strstr(screen_line(&screen, 0), "offcpu"))
		screen_type(&screen, "m");
	screen_type(&screen, "g");
	CHECK(strstr(screen_line(&screen, 3), "syscall"));
	CHECK(strstr(screen_line(&screen, 4), "pause_for_orders"));
	CHECK(strstr(screen_line(&screen, 5), "read_orders"));
	CHECK(strstr(screen_line(&screen, 6), "start_thread"));
	CHECK(strstr(screen_line(&screen, 7), "nanosleep"));
	screen_deinit(&screen);
}

/* What waits without a thread is in no view, which is said, until the next key. */
TEST(that_goroutines_wait_without_threads_is_told_once)
{
	struct waits waits;
	waits_of_two_threads(&waits);
	struct fixture *fixture = &waits.fixture;
	uint32_t program = fixture_object(fixture, LAYOUT_OBJECT_VDSO, "server");
	uint32_t park = fixture_frame(fixture, program, 0x10, "runtime.notesleep");
	waits_add(&waits, 0, FIXTURE_STACK(fixture, park), 0, 5000000);
	struct screen screen;
	screen_init(&screen, fixture_profile(fixture), 110, 14);
	CHECK(strstr(screen_text(&screen), "not among these: waits of goroutines"));
	screen_type(&screen, "j");
	CHECK(!strstr(screen_text(&screen), "not among these"));
	screen_type(&screen, "3");
	CHECK(!strstr(screen_text(&screen), "not among these"));
	screen_deinit(&screen);
}

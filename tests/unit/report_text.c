#include "report/analyse/hidden_frames.h"
#include "report/write/text/text.h"
#include "report/write/text/text_fields.h"
#include "report/write/text/text_names.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* run() of two files of a script, one below the other, and one of a library that has no file. */
static struct profile *namesakes(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t native = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t main = fixture_line(&fixture, script, 0x10000001, "main", "/app/a.py", 9);
	uint32_t one = fixture_line(&fixture, script, 0x20000001, "run", "/app/a.py", 2);
	uint32_t other = fixture_line(&fixture, script, 0x30000001, "run", "/app/\033b.py", 5);
	uint32_t leaf = fixture_frame(&fixture, native, 0x10, "run");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, one), 0, 6);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, other, leaf), 0, 2);
	return fixture_profile(&fixture);
}

TEST(the_tree_tells_functions_of_scripts_apart)
{
	struct profile *profile = namesakes();
	CLEANUP(str_deinit) struct str text = {0};
	text_put_tree(profile, false, &(struct text_options){0}, &text);
	CHECK_STR(str_text(&text), "#  total     self  calls\n"
				   " 100.00%    0.00%  main\n"
				   "  75.00%   75.00%  | run (a.py)\n"
				   "  25.00%    0.00%  | run (\\x1bb.py)\n"
				   "  25.00%   25.00%  | | run\n");
	profile_destroy(profile);
}

/* A line is printed as long as there is room when it begins. */
TEST(a_long_tree_is_cut_and_says_so)
{
	struct profile *profile = namesakes();
	CLEANUP(str_deinit) struct str whole = {0};
	CLEANUP(str_deinit) struct str text = {0};
	CLEANUP(str_deinit) struct str want = {0};
	text_put_tree(profile, false, &(struct text_options){0}, &whole);
	text_put_tree(profile, false, &(struct text_options){.max_bytes = 1}, &text);
	size_t lines = 0;
	for (const char *at = str_text(&whole); *at; at++)
		lines += *at == '\n';
	const char *second = strchr(strchr(str_text(&whole), '\n') + 1, '\n') + 1;
	str_write(&want, str_text(&whole), (size_t)(second - str_text(&whole)));
	str_printf(&want, "# %zu more branches: the tree is longer", lines - 2);
	CHECK(lines > 3);
	CHECK(strncmp(str_text(&text), str_text(&want), want.len) == 0);
	profile_destroy(profile);
}

TEST(the_table_tells_functions_of_scripts_apart)
{
	struct profile *profile = namesakes();
	CLEANUP(str_deinit) struct str text = {0};
	struct table_options options = {.columns = {COLUMN_FILE, COLUMN_SYM}, .nr_columns = 2};
	struct table table;
	table_init(&table, profile, &options);
	struct filter filter = {0};
	text_put_table(profile, &table, &options, &(struct text_options){.filter = &filter}, &text);
	table_deinit(&table);
	CHECK_STR(str_text(&text), "#   self    total   samples  file      symbol\n"
				   "  75.00%   75.00%         6  [python]  [.] run (a.py)\n"
				   "  25.00%   25.00%         2  [vdso]    [.] run\n"
				   "   0.00%  100.00%         0  [python]  [.] main\n"
				   "   0.00%   25.00%         0  [python]  [.] run (\\x1bb.py)\n");
	profile_destroy(profile);
}

TEST(numbers_in_front_are_chosen)
{
	struct profile *profile = namesakes();
	CLEANUP(str_deinit) struct str text = {0};
	struct table_options options = {.columns = {COLUMN_COMM}, .nr_columns = 1};
	struct table table;
	table_init(&table, profile, &options);
	struct filter filter = {0};
	text_put_table(profile, &table, &options,
		&(struct text_options){.filter = &filter,
			.fields = {TEXT_FIELD_VALUE, TEXT_FIELD_SAMPLES},
			.nr_fields = 2},
		&text);
	table_deinit(&table);
	CHECK_STR(str_text(&text), "#   value   samples  comm\n"
				   "  8000000         8  app\n");
	profile_destroy(profile);
}

TEST(what_is_left_out_is_added_up)
{
	struct profile *profile = namesakes();
	CLEANUP(str_deinit) struct str text = {0};
	struct table_options options = {.columns = {COLUMN_SOURCE}, .nr_columns = 1};
	struct table table;
	table_init(&table, profile, &options);
	struct filter filter = {0};
	text_put_table(profile, &table, &options,
		&(struct text_options){.filter = &filter, .percent_limit = 50}, &text);
	table_deinit(&table);
	CHECK_STR(str_text(&text), "#   self    total   samples  source\n"
				   "  75.00%  100.00%         6  /app/a.py\n"
				   "# 2 more rows below 50%, together 25.00% self\n");
	profile_destroy(profile);
}

/* With a function that takes no time itself, in front of the limit by what it calls. */
static void put_filtered_table(const struct profile *profile, const struct filter *filter,
	enum column column, struct str *out)
{
	struct table_options options = {.columns = {column}, .nr_columns = 1};
	struct table table;
	table_init(&table, profile, &options);
	str_truncate(out, 0);
	text_put_table(profile, &table, &options,
		&(struct text_options){.filter = filter, .percent_limit = 30}, out);
	table_deinit(&table);
}

TEST(functions_that_are_asked_for_are_rows_by_their_total)
{
	struct profile *profile = namesakes();
	CLEANUP(str_deinit) struct str text = {0};
	static const char *const caller[] = {"main"}, *const file[] = {"[vdso]"},
				 *const python[] = {"[python]"};
	struct filter by_name = {.symbols = {caller, 1}}, by_file = {.dsos = {file, 1}},
		      of_python = {.dsos = {python, 1}};
	put_filtered_table(profile, &by_name, COLUMN_SYM, &text);
	CHECK_STR(str_text(&text), "#   self    total   samples  symbol\n"
				   "   0.00%  100.00%         0  [.] main\n");
	put_filtered_table(profile, &by_name, COLUMN_COMM, &text);
	CHECK_STR(str_text(&text), "#   self    total   samples  comm\n"
				   " 100.00%  100.00%         8  app\n");
	put_filtered_table(profile, &by_file, COLUMN_SYM, &text);
	CHECK_STR(str_text(&text), "#   self    total   samples  symbol\n"
				   "# 1 more row below 30%\n");
	put_filtered_table(profile, &of_python, COLUMN_SYM, &text);
	CHECK_STR(str_text(&text), "#   self    total   samples  symbol\n"
				   "  75.00%   75.00%         6  [.] run (a.py)\n"
				   "# 2 more rows below 30%, together 0.00% self\n");
	profile_destroy(profile);
}

TEST(a_column_tells_files_apart)
{
	struct profile *profile = namesakes();
	CLEANUP(str_deinit) struct str text = {0};
	struct table_options options = {.columns = {COLUMN_SYM, COLUMN_SOURCE}, .nr_columns = 2};
	struct table table;
	table_init(&table, profile, &options);
	struct filter filter = {0};
	text_put_table(profile, &table, &options, &(struct text_options){.filter = &filter}, &text);
	table_deinit(&table);
	CHECK_STR(str_text(&text), "#   self    total   samples  symbol    source\n"
				   "  75.00%   75.00%         6  [.] run   /app/a.py\n"
				   "  25.00%   25.00%         2  [.] run   -\n"
				   "   0.00%  100.00%         0  [.] main  /app/a.py\n"
				   "   0.00%   25.00%         0  [.] run   /app/\\x1bb.py\n");
	profile_destroy(profile);
}

TEST(where_there_are_scripts_native_frames_can_be_left_out)
{
	struct profile *profile = namesakes();
	CLEANUP(str_deinit) struct str text = {0};
	text_put_script_hint(profile, &(struct filter){.hidden = HIDDEN_NATIVE}, &text);
	CHECK_STR(str_text(&text), "");
	text_put_script_hint(profile, &(struct filter){0}, &text);
	CHECK_STR(str_text(&text), "# 100% of samples are in functions of [python]: --no-native "
				   "shows only these of their stacks\n");
	str_truncate(&text, 0);
	profile->samples.len = 0;
	text_put_script_hint(profile, &(struct filter){0}, &text);
	CHECK_STR(str_text(&text), "");
	profile_destroy(profile);
}

TEST(the_table_shows_containers_short_and_else_control_groups)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t frame = fixture_frame(&fixture, object, 0x10, "run");
	uint32_t first = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t second = fixture_thread(&fixture, fixture_process(&fixture, 2, 0), 2, "app");
	fixture_samples(&fixture, first, FIXTURE_STACK(&fixture, frame), 0, 3);
	fixture_samples(&fixture, second, FIXTURE_STACK(&fixture, frame), 0, 1);
	struct profile *profile = fixture_profile(&fixture);
	vec_each(&profile->processes, process) {
		process->container =
			process->info.pid == 1 ? "0123456789abcdef0123456789abcdef" : "";
		process->cgroup = "/user.slice";
		process->unit = process->info.pid == 2 ? "web.service" : "";
	}
	CLEANUP(str_deinit) struct str text = {0};
	struct table_options options = {
		.columns = {COLUMN_CONTAINER, COLUMN_COMM}, .nr_columns = 2};
	struct table table;
	table_init(&table, profile, &options);
	struct filter filter = {0};
	text_put_table(profile, &table, &options, &(struct text_options){.filter = &filter}, &text);
	table_deinit(&table);
	CHECK_STR(str_text(&text), "#   self    total   samples  container/cgroup  comm\n"
				   "  75.00%   75.00%         3  0123456789ab      app\n"
				   "  25.00%   25.00%         1  /user.slice       app\n");
	vec_each(&profile->processes, process) {
		process->container = "";
	}
	str_truncate(&text, 0);
	table_init(&table, profile, &options);
	text_put_table(profile, &table, &options, &(struct text_options){.filter = &filter}, &text);
	table_deinit(&table);
	CHECK(strstr(str_text(&text), "  cgroup       comm\n"));
	options.columns[0] = COLUMN_UNIT;
	str_truncate(&text, 0);
	table_init(&table, profile, &options);
	text_put_table(profile, &table, &options, &(struct text_options){.filter = &filter}, &text);
	table_deinit(&table);
	CHECK_STR(str_text(&text), "#   self    total   samples  unit         comm\n"
				   "  75.00%   75.00%         3  -            app\n"
				   "  25.00%   25.00%         1  web.service  app\n");
	profile_destroy(profile);
}

/* ---- for a terminal ---- */

/* start > run, which calls two functions: one of a long name, one of a short one. */
static struct profile *make_chain(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t program = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t start = fixture_frame(&fixture, program, 0x10, "start");
	uint32_t run = fixture_frame(&fixture, program, 0x20, "run");
	uint32_t get = fixture_frame(&fixture, program, 0x30, "_ZN2ns3getIiEEvT_");
	uint32_t put = fixture_frame(&fixture, program, 0x40, "put");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, start, run, get), 0, 3);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, start, run, put), 0, 1);
	return fixture_profile(&fixture);
}

TEST(a_chain_without_a_branch_is_a_line_of_a_terminal)
{
	struct profile *profile = make_chain();
	CLEANUP(str_deinit) struct str text = {0}, narrow = {0};
	text_put_tree(profile, false, &(struct text_options){.columns = 80}, &text);
	CHECK(strstr(str_text(&text), " 100.00%    0.00%  start > run\n"));
	CHECK(strstr(str_text(&text), "  75.00%   75.00%  | void ns::get<int>(int)\n") ||
		strstr(str_text(&text), "  75.00%   75.00%  | ns::get<int>(int)\n"));
	text_put_tree(profile, false, &(struct text_options){.columns = 32}, &narrow);
	CHECK(strstr(str_text(&narrow), "  75.00%   75.00%  | get<...>\n"));
	profile_destroy(profile);
}

/* work() was compiled twice. */
TEST(functions_that_are_shown_as_one_are_one_branch)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t program = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t start = fixture_frame(&fixture, program, 0x10, "start");
	uint32_t once = fixture_frame(&fixture, program, 0x20, "work");
	uint32_t again = fixture_frame(&fixture, program, 0x30, "work");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, start, once), 0, 3);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, start, again), 0, 1);
	struct profile *profile = fixture_profile(&fixture);
	CLEANUP(str_deinit) struct str text = {0};
	CLEANUP(bytes_buf_deinit) struct bytes_buf picture = {0};
	text_put_tree(profile, false, &(struct text_options){0}, &text);
	CHECK(strstr(str_text(&text), " 100.00%  100.00%  | work\n"));
	fixture_export(profile, EXPORT_SVG, 0, &picture);
	bytes_put_u8(&picture, 0);
	CHECK(strstr((const char *)picture.data, "work ([vdso]): 100.00%, 4 samples"));
	profile_destroy(profile);
}

TEST(rows_of_a_flat_profile_are_most_of_its_time)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t program = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	for (uint32_t i = 0; i < 10; i++) {
		char name[] = {'f', (char)('0' + i), 0};
		uint32_t frame = fixture_frame(&fixture, program, 0x10 * (i + 1), name);
		fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 1);
	}
	struct profile *profile = fixture_profile(&fixture);
	struct table_options columns = {.columns = {COLUMN_SYM}, .nr_columns = 1};
	struct text_options options = {.percent_limit = 20, .shows_most = true};
	struct table table;
	struct filter filter = {0};
	options.filter = &filter;
	CLEANUP(str_deinit) struct str text = {0}, limited = {0};
	table_init(&table, profile, &columns);
	text_put_table(profile, &table, &columns, &options, &text);
	CHECK(strstr(str_text(&text),
		"# 1 more row, together 10.00% self (--percent-limit 0 shows them)"));
	options.shows_most = false;
	text_put_table(profile, &table, &columns, &options, &limited);
	CHECK(strstr(str_text(&limited), "# 10 more rows below 20%, together 100.00% self\n"));
	table_deinit(&table);
	profile_destroy(profile);
}

static void put_rows(const struct profile *profile, bool by_total, struct str *out)
{
	struct table_options columns = {
		.columns = {COLUMN_SYM}, .nr_columns = 1, .by_total = by_total};
	struct filter filter = {0};
	struct table table;
	str_truncate(out, 0);
	table_init(&table, profile, &columns);
	text_put_table(profile, &table, &columns, &(struct text_options){.filter = &filter}, out);
	table_deinit(&table);
}

/* As in the terminal: a library's start stands behind what it starts, the kernel behind both. */
TEST(rows_without_self_begin_with_the_program)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t app = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t libc = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	uint32_t start = fixture_frame(&fixture, libc, 0x10, "a_start");
	uint32_t main = fixture_line(&fixture, app, 0x10000001, "main", "/app/a.py", 9);
	uint32_t work = fixture_line(&fixture, app, 0x20000001, "work", "/app/a.py", 2);
	uint32_t entry = fixture_frame(&fixture, kernel, 0x10, "a_entry");
	uint32_t wait = fixture_frame(&fixture, kernel, 0x20, "schedule");
	uint32_t waiting = FIXTURE_STACK(&fixture, start, main, work);
	fixture_samples(&fixture, thread, waiting, FIXTURE_STACK(&fixture, entry, wait), 2);
	struct profile *profile = fixture_profile(&fixture);
	CLEANUP(str_deinit) struct str text = {0};
	static const char rows[] = " 100.00%  100.00%         2  [k] schedule\n"
				   "   0.00%  100.00%         0  [.] main\n"
				   "   0.00%  100.00%         0  [.] work\n"
				   "   0.00%  100.00%         0  [.] a_start\n"
				   "   0.00%  100.00%         0  [k] a_entry\n";
	for (int by_total = 0; by_total < 2; by_total++) {
		put_rows(profile, by_total, &text);
		const char *behind_titles = strchr(str_text(&text), '\n');
		CHECK_STR(behind_titles + 1, rows);
	}
	profile_destroy(profile);
}

static void put_filtered_head(uint64_t left, uint64_t all, bool has_percent, struct str *out)
{
	struct fixture fixture;
	uint32_t thread, object = fixture_begin(&fixture, "app", &thread);
	uint32_t frame = fixture_frame(&fixture, object, 0x10, "work");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 3);
	struct profile *profile = fixture_profile(&fixture);
	struct event_choices choices;
	event_choices_init(&choices, profile);
	struct text_head head = {
		.event = main_event_of(profile),
		.choices = &choices,
		.samples = left,
		.samples_before_filter = all,
		.samples_of_all_events = all,
		.has_percent = has_percent,
	};
	str_truncate(out, 0);
	text_put_head(profile, &head, out);
	event_choices_deinit(&choices);
	profile_destroy(profile);
}

/* The profile has three samples: what a filter of samples left, or all where it is one of rows. */
TEST(a_head_says_what_percents_are_of)
{
	CLEANUP(str_deinit) struct str out = {0};
	put_filtered_head(3, 5, true, &out);
	CHECK(strstr(str_text(&out), ", 3 of 5 samples (percent of these 3), "));
	put_filtered_head(2, 3, true, &out);
	CHECK(strstr(str_text(&out), ", 2 of 3 samples (percent of all 3), "));
	put_filtered_head(2, 5, true, &out);
	CHECK(strstr(str_text(&out), ", 2 of 5 samples (percent of 3), "));
	put_filtered_head(3, 5, false, &out);
	CHECK(strstr(str_text(&out), ", 3 of 5 samples, "));
	put_filtered_head(3, 3, true, &out);
	CHECK(strstr(str_text(&out), ", 3 samples, "));
}

/* A timer's samples were lost, and of the waits other ones; the head is of waits. */
TEST(a_head_says_what_its_own_event_lost)
{
	static const struct {
		const char *name;
		uint64_t lost;
	} sources[] = {{"heap", 3}, {"wait", 7}, {"heap-used", 150}};
	struct profile profile = {.counters[LAYOUT_COUNTER_LOST_RING] = 40};
	struct profile_event timer = {.name = "cpu-clock", .unit = "ns"};
	struct profile_event waits = {.name = "offcpu", .unit = "ns", .source = "wait"};
	uint64_t lost = 0;
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		struct profile_source source = {.name = sources[i].name};
		source.tallies[LAYOUT_EVENTS_LOST_RING].count = sources[i].lost;
		vec_push(&profile.sources, source);
	}
	CHECK(profile_event_lost(&profile, &waits, &lost));
	CHECK_INT(lost, 7);
	CHECK(!profile_event_lost(&profile, &timer, &lost));
	vec_deinit(&profile.sources);
}

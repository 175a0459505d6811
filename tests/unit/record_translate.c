/* Stacks become places in files, by what was mapped at their time. */
#include <poll.h>
#include <unistd.h>

#include "bpf/runtime/runtime_row.h"
#include "format/base/clock.h"
#include "tests/unit/record_translate_fixture.h"

/* ---- places in files ---- */

TEST(a_file_announced_is_what_its_number_means)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x123), in_file(9, 0xffffffffff), in_file(7, 0)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_map(&fixture, 11, 0x20000, "/lib/b");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_file(&fixture, 9, 20, 0x20000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 3);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 1);
	check_sample(&result, 0, "/bin/a+123 /lib/b+ffffffffff /bin/a+0");
	CHECK_INT(fixture.translate.stats.complete, 1);
	teardown(&fixture);
}

TEST(a_file_never_announced_is_unknown)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x10), in_file(8, 0x20), in_file(0x3ffff, 0x30)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 3);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	check_sample(&result, 0, "/bin/a+10 [unknown]+20 [unknown]+30");
	teardown(&fixture);
}

/* Deep enough for runs of frames; the second stack is the first but for its leaf. */
TEST(stacks_that_share_callers_keep_their_frames)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	uint64_t words[12];
	for (uint64_t i = 0; i < 12; i++)
		words[i] = in_file(7, i);
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 12);
	push_sample(&fixture, 101, 20, "a");
	words[0] = in_file(7, 0xff);
	push_stack(&fixture, 102, 21, EVENT_END_COMPLETE, words, 12);
	push_stack(&fixture, 103, 22, EVENT_END_COMPLETE, words + 2, 10);
	push_stack(&fixture, 104, 23, EVENT_END_UNREADABLE, words, 12);
	for (uint64_t hash = 102; hash <= 104; hash++)
		push_sample(&fixture, hash, 24, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 4);
#define CALLERS \
	"/bin/a+2 /bin/a+3 /bin/a+4 /bin/a+5 /bin/a+6 /bin/a+7 /bin/a+8 /bin/a+9 " \
	"/bin/a+a /bin/a+b"
	check_sample(&result, 0, "/bin/a+0 /bin/a+1 " CALLERS);
	check_sample(&result, 1, "/bin/a+ff /bin/a+1 " CALLERS);
	check_sample(&result, 2, CALLERS);
	check_sample(&result, 3, "/bin/a+ff /bin/a+1 " CALLERS " #3");
#undef CALLERS
	CHECK_INT(result.samples[2].user_stack,
		result.nodes[result.nodes[result.samples[0].user_stack].parent].parent);
	teardown(&fixture);
}

/* The ring had more than was taken at once: what it still has is older than some events. */
TEST(events_wait_for_records_that_are_older)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 1), in_file(8, 2), in_file(9, 3)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_map(&fixture, 30, 0x10000, "/lib/b");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, &words[0], 1);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 0, UINT64_MAX);
	push_file(&fixture, 8, 25, 0x10000, 0);
	push_stack(&fixture, 102, 25, EVENT_END_COMPLETE, &words[1], 1);
	push_sample(&fixture, 102, 25, "a");
	push_file(&fixture, 9, 40, 0x10000, 0);
	push_stack(&fixture, 103, 40, EVENT_END_COMPLETE, &words[2], 1);
	push_sample(&fixture, 103, 40, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 3);
	check_sample(&result, 0, "/bin/a+1");
	check_sample(&result, 1, "/bin/a+2");
	check_sample(&result, 2, "/lib/b+3");
	teardown(&fixture);
}

/* The sample is of the time of the end, with the stack of the beginning. */
TEST(what_ends_has_the_stack_that_came_before)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t word = in_file(7, 0x123);
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, &word, 1);
	push_part(&fixture, EVENT_BEGUN, 101, 5000, 20);
	push_part(&fixture, EVENT_ENDED, 0, 5000, 30);
	push_part(&fixture, EVENT_ENDED, 0, 5001, 31); /* whose beginning did not come */
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 1);
	check_sample(&result, 0, "/bin/a+123");
	CHECK_INT(result.samples[0].weight, 600);
	CHECK_INT(result.samples[0].measured, 300);
	CHECK(result.samples[0].labels);
	CHECK_INT(fixture.translate.stats.complete, 1);
	CHECK_INT(fixture.translate.stats.taken[0].received.count, 2);
	CHECK_INT(fixture.translate.stats.taken[0].unresolved.count, 1);
	teardown(&fixture);
}

/* What stacks of it were is not what the next one's frames are. */
TEST(a_number_can_come_to_mean_another_file)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	uint64_t words[8];
	for (uint64_t i = 0; i < 8; i++)
		words[i] = in_file(7, i);
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_map(&fixture, 10, 0x20000, "/b");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 8);
	push_sample(&fixture, 101, 20, "a");
	push_file(&fixture, 7, 30, 0x20000, 0);
	push_stack(&fixture, 102, 30, EVENT_END_COMPLETE, words, 8);
	push_sample(&fixture, 102, 30, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 2);
	check_sample(&result, 0,
		"/bin/a+0 /bin/a+1 /bin/a+2 /bin/a+3 /bin/a+4 /bin/a+5 /bin/a+6 /bin/a+7");
	check_sample(&result, 1, "/b+0 /b+1 /b+2 /b+3 /b+4 /b+5 /b+6 /b+7");
	teardown(&fixture);
}

/* No such mapping, one of another offset, a number beyond all: nothing is learned. */
TEST(a_file_that_no_mapping_shows_is_unknown)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(1, 0x10), in_file(2, 0x20), in_file(3, 0x30)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 1, 20, 0x50000, 0);
	push_file(&fixture, 2, 20, 0x10000, 0x3000);
	push_file(&fixture, 1 << EVENT_FRAME_FILE_BITS, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 3);
	push_sample(&fixture, 101, 20, "a");
	/* Announced again, as for a table that was dropped, it is. */
	push_file(&fixture, 1, 30, 0x10000, 0);
	push_stack(&fixture, 102, 30, EVENT_END_COMPLETE, words, 1);
	push_sample(&fixture, 102, 30, "a");
	/* What is known stays known. */
	push_file(&fixture, 1, 40, 0x50000, 0);
	push_stack(&fixture, 103, 40, EVENT_END_COMPLETE, words, 1);
	push_sample(&fixture, 103, 40, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	check_sample(&result, 0, "[unknown]+10 [unknown]+20 [unknown]+30");
	check_sample(&result, 1, "/bin/a+10");
	check_sample(&result, 2, "/bin/a+10");
	teardown(&fixture);
}

/* The announcement is looked up in the mappings of its time. */
TEST(a_file_is_that_of_its_time)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(1, 0x10), in_file(2, 0x10)};
	push_map(&fixture, 10, 0x10000, "/bin/first");
	push_file(&fixture, 1, 20, 0x10000, 0);
	push_exec(&fixture, 30);
	push_map(&fixture, 31, 0x10000, "/bin/second");
	push_file(&fixture, 2, 40, 0x10000, 0);
	push_stack(&fixture, 101, 41, EVENT_END_COMPLETE, words, 2);
	push_sample(&fixture, 101, 41, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	check_sample(&result, 0, "/bin/first+10 /bin/second+10");
	teardown(&fixture);
}

/* The BPF side sends a stack once for all processes: the other process maps the file elsewhere. */
static void check_program(const struct result *result, size_t process, const char *want)
{
	CHECK(process < result->nr_processes);
	uint32_t exe = result->processes[process].exe;
	CHECK_STR(exe ? result->strings[result->object_paths[exe]] : "-", want);
}

/* The kernel announces the exec before it maps the new program, and may be sampled in between. */
TEST(a_process_sampled_amid_its_exec_has_a_program)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_map_of(&fixture, PID, 10, 0x10000, "/bin/driver");
	push_sample(&fixture, 0, 15, "driver");
	push_exec(&fixture, 20);
	push_sample(&fixture, 0, 25, "compiler");
	push_map_of(&fixture, PID + 1, 30, 0x1000, "/bin/other");
	push_map_of(&fixture, PID, 30, 0x7000, "[vdso]");
	push_map_of(&fixture, PID, 31, 0x10000, "/bin/compiler");
	push_map_of(&fixture, PID, 32, 0x20000, "/lib/loader");
	push_sample(&fixture, 0, 35, "compiler");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 3);
	CHECK_INT(result.nr_processes, 2);
	check_program(&result, 0, "/bin/driver");
	check_program(&result, 1, "/bin/compiler");
	teardown(&fixture);
}

TEST(the_next_program_is_not_this_one)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_exec(&fixture, 20);
	push_sample(&fixture, 0, 25, "brief");
	push_exec(&fixture, 30);
	push_map_of(&fixture, PID, 31, 0x10000, "/bin/next");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_processes, 1);
	check_program(&result, 0, "-");
	teardown(&fixture);
}

TEST(the_same_stack_in_two_processes_is_one)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x123), in_file(7, 0x456)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_map_of(&fixture, PID + 1, 11, 0x70000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 2);
	push_sample(&fixture, 101, 20, "a");
	push_sample_of(&fixture, PID + 1, 101, 0, 21, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 2);
	check_sample(&result, 1, "/bin/a+123 /bin/a+456");
	CHECK_INT(result.samples[0].user_stack, result.samples[1].user_stack);
	CHECK(result.samples[0].thread != result.samples[1].thread);
	teardown(&fixture);
}

TEST(frames_of_no_file)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {word_of(EVENT_FRAME_ANONYMOUS, 0x7f0012345678),
		word_of(EVENT_FRAME_VDSO, 0xabc), word_of(5, 0x10),
		word_of(EVENT_FRAME_ANONYMOUS, 0x10)};
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 4);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	check_sample(&result, 0, "[anon]+7f0012345678 [vdso]+abc [anon]+10");
	teardown(&fixture);
}

static void log_owner(void *context, const struct object *object, const struct code_place *place)
{
	(void)object;
	str_printf(context, "%llx %s;", (unsigned long long)place->address, place->name);
}

/* Innermost are two frames of the library's code, then one that the program calls itself. */
TEST(code_of_no_file_is_of_the_library_that_calls_it)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	CLEANUP(str_deinit) struct str got = {0};
	struct jit_names names = {.place = log_owner, .context = &got};
	const uint64_t words[] = {word_of(EVENT_FRAME_ANONYMOUS, 0x7000),
		word_of(EVENT_FRAME_ANONYMOUS, 0x7010), in_file(8, 0x20), in_file(7, 0x10),
		word_of(EVENT_FRAME_ANONYMOUS, 0x9000), in_file(7, 0x10)};
	const uint64_t cut[] = {word_of(EVENT_FRAME_ANONYMOUS, 0x8000)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_map(&fixture, 10, 0x20000, "/lib/libpcre2-8.so.0.11.2");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_file(&fixture, 8, 20, 0x20000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 6);
	push_stack(&fixture, 102, 20, EVENT_END_NO_RULE, cut, 1);
	push_sample(&fixture, 101, 20, "a");
	push_sample(&fixture, 102, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	jit_table_name_all(&fixture.translate.jit, &names);
	CHECK_STR(str_text(&got), "7000 [pcre2 jit];7010 [pcre2 jit];");
	read_back(&fixture, &result);
	teardown(&fixture);
}

TEST(guesses_are_marked)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x10), guessed(in_file(7, 0x10)),
		guessed(word_of(EVENT_FRAME_ANONYMOUS, 0x7f0000000000)), guessed(0x10020)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 4);
	push_sample(&fixture, 101, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	check_sample(&result, 0, "/bin/a+10 /bin/a+10? [anon]+7f0000000000? /bin/a+20?");
	CHECK_INT(fixture.translate.stats.complete, 0); /* the root is reached, not proven */
	CHECK_INT(fixture.translate.stats.by_guesses, 1);
	teardown(&fixture);
}

/* ---- threads ---- */

/* What a runtime calls a thread is another name of it, once in each file. */
TEST(threads_get_the_names_that_runtimes_have)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x10)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 1);
	push_sample(&fixture, 101, 20, "connection-acce");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	struct process *process = process_table_find(&fixture.translate.processes, PID);
	struct emitter *emitter = &fixture.translate.emitter;
	emitter_thread_name(
		emitter, process->image, PID, "connection-acce", "connection-acceptor-a");
	emitter_thread_name(emitter, process->image, PID, "of another name", "is no name of it");
	emitter_thread_name(
		emitter, process->image + 1, PID, "connection-acce", "connection-acceptor-b");
	read_back(&fixture, &result);
	CHECK_STR(result.thread_names, "connection-acce;connection-acceptor-a;");
	teardown(&fixture);
}

/* ---- addresses ---- */

TEST(addresses_are_resolved_by_the_mappings_of_their_time)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	static const uint64_t address[] = {0x10800};
	/* The same address before and after an exec: two programs. */
	push_map(&fixture, 10, 0x10000, "/bin/first");
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, address, 1);
	push_sample(&fixture, 101, 20, "first");
	push_exec(&fixture, 30);
	push_map(&fixture, 31, 0x10000, "/bin/second");
	push_stack(&fixture, 102, 40, EVENT_END_COMPLETE, address, 1);
	push_sample(&fixture, 102, 40, "second");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 2);
	check_sample(&result, 0, "/bin/first+800");
	check_sample(&result, 1, "/bin/second+800");
	CHECK(result.samples[0].thread != result.samples[1].thread);
	CHECK_INT(fixture.translate.stats.complete, 2);
	teardown(&fixture);
}

/* The BPF side names the place inside the call already; what it names is taken as it is. */
TEST(addresses_are_looked_up_as_they_are)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	static const uint64_t addresses[] = {0x10010, 0x10fff, 0x11000};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_COMPLETE, addresses, 3);
	push_sample(&fixture, 7, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	check_sample(&result, 0, "/bin/a+10 /bin/a+fff [unknown]+11000");
	teardown(&fixture);
}

TEST(a_broken_stack_says_why_at_its_end)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	static const uint64_t addresses[] = {0x10010, 0x10020};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_NO_RULE, addresses, 2);
	push_stack(&fixture, 8, 20, 200, addresses, 1); /* a reason of some later version */
	push_sample(&fixture, 7, 20, "a");
	push_sample(&fixture, 8, 21, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	CHECK_INT(fixture.translate.stats.truncated[LAYOUT_TRUNCATED_NO_RULE], 1);
	CHECK_INT(fixture.translate.stats.truncated[LAYOUT_TRUNCATED_UNKNOWN], 1);
	CHECK_INT(fixture.translate.stats.complete, 0);
	read_back(&fixture, &result);
	check_cut_sample(&result, 0, "/bin/a+10 /bin/a+20", LAYOUT_TRUNCATED_NO_RULE);
	check_cut_sample(&result, 1, "/bin/a+10", LAYOUT_TRUNCATED_UNKNOWN);
	teardown(&fixture);
}

/* ---- the rest ---- */

TEST(a_sample_whose_stack_never_came_is_counted)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	push_sample(&fixture, 99, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	CHECK_INT(fixture.translate.stats.taken[EVENT_SOURCE_TIMER].received.count, 1);
	CHECK_INT(fixture.translate.stats.taken[EVENT_SOURCE_TIMER].unresolved.count, 1);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 0);
	teardown(&fixture);
}

TEST(events_behind_the_horizon_wait)
{
	struct fixture fixture;
	setup(&fixture);
	push_map(&fixture, 10, 0x10000, "/lib/a");
	push_map(&fixture, 60, 0x20000, "/lib/b");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	CHECK_INT(fixture.translate.sideband.events.len, 1);
	struct process *process = process_table_find(&fixture.translate.processes, PID);
	CHECK(process && mapping_table_count(&process->mappings) == 1);
	translate_run(&fixture.translate, 70, UINT64_MAX);
	CHECK_INT(fixture.translate.sideband.events.len, 0);
	CHECK_INT(mapping_table_count(&process->mappings), 2);
	teardown(&fixture);
}

/* ---- what a process maps without end ---- */

/* The kernel does not announce that a file is unmapped; that another one is in its place tells. */
TEST(files_that_are_mapped_no_more_are_freed)
{
	enum {
		FILES = 40 * 1000,
		KEPT_MAX = 10 * 1000,
	};
	struct fixture fixture;
	struct result result;
	static char paths[FILES][16];
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x123), in_file(8, 0x10)};
	push_map(&fixture, 10, 0x20000, "/bin/a");
	push_map(&fixture, 10, 0x40000, "/lib/b");
	push_file(&fixture, 7, 11, 0x20000, 0);
	push_file(&fixture, 8, 11, 0x40000, 0);
	for (int i = 0; i < FILES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/memfd:%d", i);
		push_map(&fixture, 20, 0x80000, paths[i]);
	}
	push_stack(&fixture, 101, 30, EVENT_END_COMPLETE, words, 2);
	push_sample(&fixture, 101, 30, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	CHECK(fixture.translate.objects.objects.len < KEPT_MAX);
	CHECK(fixture.translate.objects.keys.entries.len < KEPT_MAX);
	read_back(&fixture, &result);
	check_sample(&result, 0, "/bin/a+123 /lib/b+10");
	teardown(&fixture);
}

/* ---- waiting ---- */

static void never_read(void **kept, const void *request, size_t len, struct bytes_buf *ret)
{
	(void)kept;
	(void)request, (void)len, (void)ret;
	pause();
}

/* A name, some time after it was asked for. */
static void read_late(void **kept, const void *request, size_t len, struct bytes_buf *ret)
{
	(void)kept;
	(void)request, (void)len;
	poll(NULL, 0, 50);
	bytes_put_u8(ret, RUNTIME_UNIT_UTF8);
	bytes_put_u32(ret, 4);
	bytes_put(ret, "late", 4);
}

/* A function's code, whose name is to be read from this very process. */
static void push_code(struct fixture *fixture, uint32_t number, target_read_fn *read)
{
	struct event_code code = {.type = EVENT_CODE,
		.kind = RUNTIME_PYTHON,
		.pid = (uint32_t)getpid(),
		.number = number};
	code.whole_bytes[RUNTIME_TEXT_NAME] = 4;
	code.address[RUNTIME_TEXT_NAME] = 0x1000;
	fixture->translate.scripts.reader.fn = read;
	translate_collect(&fixture->translate, &code, sizeof(code));
}

static uint64_t in_script(uint32_t number)
{
	return word_of(EVENT_FRAME_RUNTIME, (uint64_t)number << RUNTIME_FRAME_CODE_SHIFT);
}

static bool is_given_up(const struct fixture *fixture)
{
	return fixture->translate.scripts.given_up == 1;
}

TEST(what_waits_goes_out_when_its_time_is_over)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	struct translate *translate = &fixture.translate;
	translate->collected_ns = 100;
	push_code(&fixture, 1, never_read);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, &(uint64_t){in_script(1)}, 1);
	push_sample(&fixture, 101, 20, "a");
	push_sample(&fixture, 0, 30, "behind");
	translate_run(translate, 50, 100);
	CHECK(translate_is_waiting(translate));
	CHECK_INT(translate_resolved(translate), 0);
	translate->collected_ns = 200;
	push_sample(&fixture, 0, 40, "new");
	translate_run(translate, 50, 101);
	CHECK(!translate_is_waiting(translate));
	CHECK(is_given_up(&fixture));
	CHECK_INT(translate_resolved(translate), 3);
	CHECK_INT(translate->unwritten_ns, 20);
	read_back(&fixture, &result);
	check_stack(&result, result.samples[1].user_stack, "");
	CHECK_INT(result.nr_samples, 3);
	teardown(&fixture);
}

/* Stacks that were sent have no place for it: they come once more, but not for each name. */
TEST(a_name_that_comes_late_has_stacks_sent_anew)
{
	struct fixture fixture;
	setup(&fixture);
	struct translate *translate = &fixture.translate;
	push_code(&fixture, 1, read_late);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, &(uint64_t){in_script(1)}, 1);
	translate_run(translate, 50, 0);
	CHECK(translate_is_waiting(translate));
	CHECK(!translate_run(translate, NS_PER_S, UINT64_MAX));
	CHECK(is_given_up(&fixture));
	while (script_table_is_reading(&translate->scripts))
		CHECK(!translate_run(translate, 0, UINT64_MAX));
	CHECK(translate_run(translate, NS_PER_S + 1ULL, UINT64_MAX));
	CHECK(!translate_run(translate, 3ULL * NS_PER_S, UINT64_MAX));
	translate->has_late_names = true;
	CHECK(translate_run(translate, 4ULL * NS_PER_S, UINT64_MAX));
	translate->has_late_names = true;
	CHECK(!translate_run(translate, 5ULL * NS_PER_S, UINT64_MAX));
	CHECK(translate_run(translate, 5ULL * NS_PER_S + 1, UINT64_MAX));
	teardown(&fixture);
}

TEST(too_much_does_not_wait)
{
	struct fixture fixture;
	setup(&fixture);
	struct translate *translate = &fixture.translate;
	push_code(&fixture, 1, never_read);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, &(uint64_t){in_script(1)}, 1);
	translate_run(translate, 50, 0);
	CHECK(translate_is_waiting(translate));
	while (translate->records.len <= 16 << 20)
		push_sample(&fixture, 0, 20, "a");
	translate_run(translate, 50, 0);
	CHECK(!translate_is_waiting(translate));
	CHECK(is_given_up(&fixture));
	teardown(&fixture);
}

/* ---- labels: sample_labels.c, as translate.c asks it ---- */

static void push_labels(struct fixture *fixture, uint64_t hash, uint64_t time_ns, uint8_t source,
	uint8_t kind, uint64_t value)
{
	struct {
		struct event_labels head;
		struct event_label label;
		uint64_t value;
	} record = {
		.head = {.type = EVENT_LABELS,
			.pid = PID,
			.hash = hash,
			.time_ns = time_ns,
			.bytes = sizeof(record.label) + sizeof(record.value)},
		.label = {.source = source, .kind = kind, .value_bytes = sizeof(record.value)},
		.value = value,
	};
	translate_collect(&fixture->translate, &record, sizeof(record));
}

static void push_labelled_sample(struct fixture *fixture, uint64_t labels, uint64_t time_ns)
{
	struct event_sample sample = {.type = EVENT_SAMPLE,
		.pid = PID,
		.tid = PID,
		.time_ns = time_ns,
		.user_hash = 101,
		.start_ns = 5,
		.value = 1,
		.labels = labels};
	translate_collect(&fixture->translate, &sample, sizeof(sample));
}

TEST(samples_have_their_sets_of_labels_and_what_is_missing_is_counted)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x123)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 1);
	push_labels(&fixture, 16, 20, EVENT_LABEL_GOROUTINE, EVENT_LABEL_NUMBER, 4711);
	push_labels(&fixture, 32, 20, EVENT_LABEL_GO_CREATOR, EVENT_LABEL_PLACE, 0x10020);
	push_labels(&fixture, 48, 20, EVENT_LABEL_GO_CREATOR, EVENT_LABEL_PLACE, 0x99999999);
	push_labelled_sample(&fixture, 0, 21);
	push_labelled_sample(&fixture, 16 | EVENT_LABELS_SET, 22);
	push_labelled_sample(&fixture, 16 | EVENT_LABELS_SET | EVENT_LABELS_CUT, 23);
	push_labelled_sample(&fixture, 32 | EVENT_LABELS_SET, 24);
	push_labelled_sample(&fixture, 48 | EVENT_LABELS_SET, 25); /* in no file */
	push_labelled_sample(&fixture, 64 | EVENT_LABELS_SET, 26); /* that never came */
	push_labelled_sample(&fixture, EVENT_LABELS_UNKNOWN, 27);
	push_labelled_sample(&fixture, EVENT_LABELS_UNREAD, 28);
	translate_run(&fixture.translate, 50, UINT64_MAX);
	read_back(&fixture, &result);
	CHECK_INT(result.nr_samples, 8);
	static const uint32_t sets[] = {0, 1, 1, 2, 0, 0, 0, 0};
	for (size_t i = 0; i < 8; i++)
		CHECK_INT(result.samples[i].labels, sets[i]);
	CHECK_STR(result.strings[result.labels[1].key], "goroutine");
	CHECK_INT(result.labels[1].kind, LAYOUT_LABEL_NUMBER);
	CHECK_INT(result.labels[1].value, 4711);
	CHECK_STR(result.strings[result.labels[2].key], "go-creator");
	CHECK_INT(result.labels[2].kind, LAYOUT_LABEL_PLACE);
	CHECK_INT(result.frames[result.labels[2].value].offset, 0x1f); /* in the call */
	const struct lacking_labels *lacking = &fixture.translate.stats.lacking_labels;
	CHECK_INT(lacking->cut, 1);
	CHECK_INT(lacking->unknown, 1 + 1); /* and the one before the first that has some */
	CHECK_INT(lacking->unread, 1);
	CHECK_INT(lacking->left_out, 2);
	teardown(&fixture);
}

/* ---- waits that go on at the end ---- */

static void push_wait(struct fixture *fixture, uint64_t hash, uint64_t waker)
{
	struct event_sample sample = {
		.type = EVENT_SAMPLE,
		.source = EVENT_SOURCE_WAIT,
		.pid = PID,
		.tid = PID,
		.time_ns = 30,
		.user_hash = hash,
		.start_ns = 5,
		.value = 1,
		.waker = waker,
		.comm = "a",
	};
	translate_collect(&fixture->translate, &sample, sizeof(sample));
}

/* Those that are over had their scripts' functions read in the kernel. */
TEST(sleepers_are_counted)
{
	struct fixture fixture;
	setup(&fixture);
	const uint64_t words[] = {in_file(7, 0x123)};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_file(&fixture, 7, 20, 0x10000, 0);
	push_stack(&fixture, 101, 20, EVENT_END_COMPLETE, words, 1);
	push_wait(&fixture, 101, EVENT_WAKER_NONE_YET);
	push_wait(&fixture, 101, EVENT_WAKER_UNKNOWN);
	push_wait(&fixture, 0, EVENT_WAKER_NONE_YET); /* of the kernel's own */
	translate_run(&fixture.translate, 50, UINT64_MAX);
	CHECK_INT(sleeper_counts_take(&fixture.translate.sleepers, UINT32_MAX), 1);
	CHECK_INT(sleeper_counts_take(&fixture.translate.sleepers, UINT32_MAX),
		0); /* the next file's */
	push_wait(&fixture, 101, EVENT_WAKER_NONE_YET);
	translate_run(&fixture.translate, 60, UINT64_MAX);
	CHECK_INT(sleeper_counts_take(&fixture.translate.sleepers, 1U << RUNTIME_PYTHON), 0);
	teardown(&fixture);
}

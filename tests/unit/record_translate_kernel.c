/* Frames of the kernel get their names from the running one. */
#include "tests/unit/record_translate_fixture.h"

static void give_kernel(struct fixture *fixture)
{
	static const char text[] = "100000 T _text\n100100 t f\n100200 T g\n100200 T g_alias\n"
				   "100300 t h\n200000 T _etext\n400000 t m_init\t[m]\n";
	struct kernel *kernel = &fixture->translate.kernel;
	char modules[] = "m 4096 0 - Live 0x400000\n";
	kernel->objects = &fixture->translate.objects;
	kernel->object =
		object_table_special(kernel->objects, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	kernel->object->info.base = 0x100000;
	kernel_take_modules(kernel, modules);
	int fd = forged_fd(text, sizeof(text) - 1);
	kernel_symbols_read(&kernel->symbols, fd);
	kernel->symbols.is_ready = true;
	close(fd);
}

/* A return address stands behind its call, perhaps in another function already: look inside. */
TEST(callers_in_the_kernel_are_looked_up_inside_their_call)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	give_kernel(&fixture);
	static const uint64_t addresses[] = {0x100210, 0x100200, 0x400001};
	push_kernel_stack(&fixture, 55, 20, addresses, 3);
	push_sample_of(&fixture, PID, 0, 55, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	CHECK_INT(fixture.translate.stats.kernel_only, 1);
	emitter_kernel_symbols(&fixture.translate.emitter);
	read_back(&fixture, &result);
	check_stack(&result, result.samples[0].kernel_stack,
		"[kernel.kallsyms]+210 [kernel.kallsyms]+1ff [m]+0");
	CHECK_INT(result.samples[0].user_stack, 0);
	CHECK_STR(str_text(&fixture.symbols), "m_init [m] 0+0;"
					      "f [kernel.kallsyms] 100+100;"
					      "g [kernel.kallsyms] 200+100;");
	teardown(&fixture);
}

/* Not when a frame is written: they may have to be waited for. And each once. */
TEST(symbols_of_the_kernel_come_with_the_flush)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	give_kernel(&fixture);
	struct emitter *emitter = &fixture.translate.emitter;
	static const uint64_t one[] = {0x100100}, two[] = {0x100110}, other[] = {0x100300};
	push_kernel_stack(&fixture, 1, 20, one, 1);
	push_kernel_stack(&fixture, 2, 20, two, 1);
	push_sample_of(&fixture, PID, 0, 1, 20, "a");
	push_sample_of(&fixture, PID, 0, 2, 20, "a");
	push_sample_of(&fixture, PID, 0, 2, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	CHECK_INT(emitter->unnamed.len, 2);
	CHECK(emitter_bytes_pending(emitter) > 0);
	emitter_kernel_symbols(emitter);
	CHECK_OK(writer_flush(fixture.writer));
	push_kernel_stack(&fixture, 3, 60, other, 1);
	push_sample_of(&fixture, PID, 0, 1, 60, "a");
	push_sample_of(&fixture, PID, 0, 3, 60, "a");
	translate_run(&fixture.translate, 70, UINT64_MAX);
	CHECK_INT(emitter->unnamed.len, 1);
	emitter_kernel_symbols(emitter);
	CHECK_INT(emitter->unnamed.len, 0);
	CHECK_INT(emitter_bytes_pending(emitter), 0);
	read_back(&fixture, &result);
	CHECK_STR(str_text(&fixture.symbols), "f [kernel.kallsyms] 100+100;"
					      "h [kernel.kallsyms] 300+ffd00;");
	teardown(&fixture);
}

/* Its own are not among them: a name of what lies ahead of it in memory would be wrong. */
TEST(a_module_newer_than_the_symbols_has_no_names)
{
	struct fixture fixture;
	struct result result;
	setup(&fixture);
	give_kernel(&fixture);
	char modules[] = "late 4096 0 - Live 0x500000\n";
	kernel_take_modules(&fixture.translate.kernel, modules);
	static const uint64_t address[] = {0x500010};
	push_kernel_stack(&fixture, 1, 20, address, 1);
	push_sample_of(&fixture, PID, 0, 1, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	emitter_kernel_symbols(&fixture.translate.emitter);
	read_back(&fixture, &result);
	check_stack(&result, result.samples[0].kernel_stack, "[late]+10");
	CHECK_STR(str_text(&fixture.symbols), "");
	teardown(&fixture);
}

TEST(without_kernel_frames_symbols_are_not_waited_for)
{
	struct fixture fixture;
	setup(&fixture);
	static const uint64_t address[] = {0x10800};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_COMPLETE, address, 1);
	push_sample(&fixture, 7, 20, "a");
	translate_run(&fixture.translate, 50, UINT64_MAX);
	emitter_kernel_symbols(&fixture.translate.emitter);
	CHECK(!fixture.translate.kernel.symbols.is_ready);
	CHECK(!fixture.translate.kernel.objects);
	teardown(&fixture);
}

TEST(the_next_file_gets_everything_anew)
{
	struct fixture fixture;
	setup(&fixture);
	give_kernel(&fixture);
	static const uint64_t user[] = {0x10800}, kernel[] = {0x100100};
	push_map(&fixture, 10, 0x10000, "/bin/a");
	push_stack(&fixture, 7, 20, EVENT_END_COMPLETE, user, 1);
	push_kernel_stack(&fixture, 8, 20, kernel, 1);
	for (int file = 0; file < 2; file++) {
		/* The second time the stacks are known to the sampler: only their hashes come. */
		struct result result;
		push_sample_of(&fixture, PID, 7, 8, 50, "a");
		translate_run(&fixture.translate, 60, UINT64_MAX);
		emitter_kernel_symbols(&fixture.translate.emitter);
		read_back(&fixture, &result);
		CHECK_INT(result.nr_samples, 1);
		check_sample(&result, 0, "/bin/a+800");
		check_stack(&result, result.samples[0].kernel_stack, "[kernel.kallsyms]+100");
		CHECK_STR(str_text(&fixture.symbols), "f [kernel.kallsyms] 100+100;");
		writer_destroy(fixture.writer);
		fixture.file.len = 0;
		fixture.writer = writer_create((struct writer_sink){keep, &fixture.file});
		emitter_begin_file(&fixture.translate.emitter, fixture.writer);
	}
	teardown(&fixture);
}

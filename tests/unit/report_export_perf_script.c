#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static void check_script(struct fixture *fixture, const char *want)
{
	struct profile *profile = fixture_profile(fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_PERF_SCRIPT, 0, &out);
	CHECK_STR((const char *)out.data, want);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

/* Each sample, in order of time, leaf first. */
TEST(perf_script_has_a_record_a_sample)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/opt/my app (deleted)");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t jit = fixture_object(&fixture, LAYOUT_OBJECT_ANONYMOUS, "[anon]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 11, "V8 W");
	uint32_t work = fixture_frame(&fixture, user, 0x20, "_Z4worki");
	uint32_t nameless = fixture_frame(&fixture, user, 0x90, NULL);
	uint32_t read = fixture_frame(&fixture, kernel, 0x30, "sys_read");
	uint32_t made = fixture_frame(&fixture, jit, 0x7f0010, "made");
	uint32_t depth = fixture_frame(&fixture, 0, LAYOUT_TRUNCATED_DEPTH, NULL);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, nameless, work),
		FIXTURE_STACK(&fixture, read), 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, depth, made), 0, 1);
	fixture_samples(&fixture, thread, 0, 0, 1);
	check_script(&fixture, "V8_W 10/11 [000] 1.001000: 1000000 cpu-clock:\n"
			       "\tffffffff81000030 sys_read+0x0 ([kernel.kallsyms])\n"
			       "\t              20 work(int)+0x0 (/opt/my_app)\n"
			       "\t              90 [unknown] (/opt/my_app)\n"
			       "\n"
			       "V8_W 10/11 [000] 1.002000: 1000000 cpu-clock:\n"
			       "\t          7f0010 made+0x0 (//anon)\n"
			       "\t               0 [truncated: depth_limit] ([unknown])\n"
			       "\n"
			       "V8_W 10/11 [000] 1.003000: 1000000 cpu-clock:\n"
			       "\n");
}

/* The file of a script stands where others have that of their code: no bracket of the kernel. */
TEST(perf_script_of_scripts)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t python = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "py");
	uint32_t known = fixture_line(&fixture, python, 0x10000001, "f", "/my app/a.py", 7);
	uint32_t unknown = fixture_line(&fixture, python, 0x10000002, "g", NULL, 0);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, known, unknown), 0, 1);
	check_script(&fixture, "py 10/10 [000] 1.001000: 1000000 cpu-clock:\n"
			       "\t        10000002 g+0x2 (//script)\n"
			       "\t        10000001 f+0x1 (/my_app/a.py)\n"
			       "\n");
}

/* Comments, names of one character, parentheses and line ends that readers would fall over. */
TEST(perf_script_hostile_names)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[v d\nso]");
	uint32_t process = fixture_process(&fixture, 1, 0);
	static const char *const comms[] = {"#x", "x", "", "a 12/13 \n"};
	uint32_t local = fixture_frame(&fixture, object, 0x10, "(anonymous namespace)::f()");
	uint32_t lines = fixture_frame(&fixture, object, 0x20, "a\n\nb 1/1 [000] 1.0: 1 c:");
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t thread = fixture_thread(&fixture, process, i + 1, comms[i]);
		uint32_t stack = FIXTURE_STACK(&fixture, i % 2 ? lines : local);
		fixture_samples(&fixture, thread, i < 2 ? stack : 0, 0, 1);
	}
	fixture.event = fixture_event(&fixture, "my event", "", 0);
	fixture_samples(&fixture, fixture_thread(&fixture, process, 9, "ab"), 0, 0, 1);
	check_script(&fixture,
		"_#x 1/1 [000] 1.001000: 1000000 cpu-clock:\n"
		"\t              10 ::(anonymous namespace)::f()+0x0 ([v_d\\x0aso])\n"
		"\n"
		"x  1/2 [000] 1.002000: 1000000 cpu-clock:\n"
		"\t              20 a\\x0a\\x0ab 1/1 [000] 1.0: 1 c:+0x0 ([v_d\\x0aso])\n"
		"\n"
		"[unknown] 1/3 [000] 1.003000: 1000000 cpu-clock:\n"
		"\n"
		"a_12/13_\\x0a 1/4 [000] 1.004000: 1000000 cpu-clock:\n"
		"\n"
		"ab 1/9 [000] 1.005000: 1 my_event:\n"
		"\n");
}

TEST(perf_script_of_nothing_is_nothing)
{
	struct fixture fixture;
	fixture_init(&fixture);
	check_script(&fixture, "");
}

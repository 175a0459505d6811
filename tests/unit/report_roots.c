#include "report/analyse/roots.h"

#include <string.h>

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* Two threads of one process and one of another; main > work, and a kernel's stack on it. */
static struct profile *three_threads(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	struct layout_process nginx = {
		.pid = 10,
		.cgroup = fixture_string(&fixture, "/pods/web"),
		.container = fixture_string(&fixture, "web"),
	};
	uint32_t first = writer_process(fixture.writer, &nginx);
	uint32_t second = fixture_process(&fixture, 20, 0);
	uint32_t leader = fixture_thread(&fixture, first, 10, "nginx");
	uint32_t worker = fixture_thread(&fixture, first, 11, "io 7");
	uint32_t other = fixture_thread(&fixture, second, 20, "sh");
	uint32_t main = fixture_frame(&fixture, user, 0x10, "main");
	uint32_t work = fixture_frame(&fixture, user, 0x20, "work");
	uint32_t stack = FIXTURE_STACK(&fixture, main, work);
	uint32_t read = FIXTURE_STACK(&fixture, fixture_frame(&fixture, kernel, 0x30, "sys_read"));
	fixture_samples(&fixture, leader, stack, read, 1);
	fixture_samples(&fixture, worker, stack, read, 2);
	fixture_samples(&fixture, worker, 0, 0, 4);
	fixture_samples(&fixture, other, stack, 0, 8);
	return fixture_profile(&fixture);
}

static void check_folded(const struct roots *roots, const char *want)
{
	struct profile *profile = three_threads();
	struct bytes_buf out = {0};
	roots_add(profile, roots);
	fixture_export(profile, EXPORT_FOLDED, 0, &out);
	CHECK_STR((const char *)out.data, want);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

#define CHECK_BY(want, ...) \
	check_folded(&(struct roots){.kinds = {__VA_ARGS__}, \
			     .count = sizeof((enum root_kind[]){__VA_ARGS__}) / \
				      sizeof(enum root_kind)}, \
		want)

TEST(without_roots_stacks_stay)
{
	check_folded(&(struct roots){0}, "io_7 4\n"
					 "io_7;main;work;sys_read_[k] 2\n"
					 "nginx;main;work;sys_read_[k] 1\n"
					 "sh;main;work 8\n");
}

TEST(roots_by_each_kind)
{
	CHECK_BY(
		"nginx:10 4\nnginx:10;main;work;sys_read_[k] 3\nsh:20;main;work 8\n", ROOT_PROCESS);
	CHECK_BY("io 7:11 4\nio 7:11;main;work;sys_read_[k] 2\n"
		 "nginx:10;main;work;sys_read_[k] 1\nsh:20;main;work 8\n",
		ROOT_THREAD);
	CHECK_BY("io_7 4\nio_7;main;work;sys_read_[k] 2\n"
		 "nginx;main;work;sys_read_[k] 1\nsh;main;work 8\n",
		ROOT_COMM);
	CHECK_BY("[no container];main;work 8\nweb 4\nweb;main;work;sys_read_[k] 3\n",
		ROOT_CONTAINER);
	CHECK_BY("/pods/web 4\n/pods/web;main;work;sys_read_[k] 3\n[no cgroup];main;work 8\n",
		ROOT_CGROUP);
	CHECK_BY("[kernel.kallsyms];main;work;sys_read_[k] 3\n[no file] 4\n[vdso];main;work 8\n",
		ROOT_FILE);
	CHECK_BY("CPU:0 4\nCPU:0;main;work 8\nCPU:0;main;work;sys_read_[k] 3\n", ROOT_CPU);
	CHECK_BY("[no origin] 4\n[no origin];main;work 8\n"
		 "[no origin];main;work;sys_read_[k] 3\n",
		ROOT_ORIGIN);
}

TEST(the_first_root_is_the_outermost)
{
	CHECK_BY("[no container];sh:20;main;work 8\nweb;nginx:10 4\n"
		 "web;nginx:10;main;work;sys_read_[k] 3\n",
		ROOT_CONTAINER, ROOT_PROCESS);
}

static size_t count_of(const struct bytes_buf *text, const char *word)
{
	size_t count = 0;
	for (const char *at = (const char *)text->data; (at = strstr(at, word)); at++)
		count++;
	return count;
}

TEST(roots_are_in_every_format_that_is_text)
{
	static const enum export_format formats[] = {EXPORT_FOLDED, EXPORT_SPEEDSCOPE,
		EXPORT_FIREFOX, EXPORT_CHROME, EXPORT_JSON, EXPORT_CSV, EXPORT_PERF_SCRIPT,
		EXPORT_CALLGRIND, EXPORT_SVG};
	static const struct roots by_process = {.kinds = {ROOT_PROCESS}, .count = 1};
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct profile *profile = three_threads();
		struct bytes_buf out = {0};
		roots_add(profile, &by_process);
		fixture_export(profile, formats[i], FIXTURE_LABELS, &out);
		CHECK(count_of(&out, "nginx:10") && count_of(&out, "sh:20"));
		bytes_buf_deinit(&out);
		profile_destroy(profile);
	}
}

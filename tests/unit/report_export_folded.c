#include <string.h>

#include "format/base/err.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static void check_folded(struct fixture *fixture, const char *want)
{
	struct profile *profile = fixture_profile(fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_FOLDED, 0, &out);
	CHECK_STR((const char *)out.data, want);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

TEST(folded_lines_are_aggregated_and_sorted)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t module = fixture_object(&fixture, LAYOUT_OBJECT_MODULE, "[ext4]");
	uint32_t file = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/nonexistent/lib.so");
	uint32_t process = fixture_process(&fixture, 10, 0);
	uint32_t first = fixture_thread(&fixture, process, 10, "app");
	uint32_t second = fixture_thread(&fixture, process, 11, "app");
	uint32_t main = fixture_frame(&fixture, user, 0x10, "main");
	uint32_t work = fixture_frame(&fixture, user, 0x20, "_Z4worki");
	uint32_t read = fixture_frame(&fixture, kernel, 0x30, "sys_read");
	uint32_t ext4 = fixture_frame(&fixture, module, 0x40, "ext4_read");
	uint32_t unknown = fixture_frame(&fixture, file, 0x50, NULL);
	uint32_t depth = fixture_frame(&fixture, 0, LAYOUT_TRUNCATED_DEPTH, NULL);
	uint32_t in_work = FIXTURE_STACK(&fixture, main, work);
	uint32_t in_main = FIXTURE_STACK(&fixture, main);
	uint32_t truncated = FIXTURE_STACK(&fixture, depth, unknown, work);
	uint32_t in_kernel = FIXTURE_STACK(&fixture, read, ext4);
	fixture_samples(&fixture, first, in_work, in_kernel, 3);
	fixture_samples(&fixture, second, in_work, in_kernel, 2); /* another thread, equal name */
	fixture_samples(&fixture, first, truncated, 0, 4);
	fixture_samples(&fixture, first, in_main, 0, 1);
	fixture_samples(&fixture, first, 0, 0, 1);
	fixture_samples(&fixture, first, 0, in_kernel, 1);
	check_folded(&fixture, "app 1\n"
			       "app;[truncated: depth_limit];lib.so+0x50;work(int) 4\n"
			       "app;main 1\n"
			       "app;main;work(int);sys_read_[k];ext4_read_[k] 5\n"
			       "app;sys_read_[k];ext4_read_[k] 1\n");
}

/* Two places in one function are one line, and "a;b" comes behind "a" but before "aa". */
TEST(folded_merges_equal_names)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t other = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso32]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	uint32_t a = fixture_frame(&fixture, object, 0x10, "a");
	uint32_t aa = fixture_frame(&fixture, object, 0x20, "aa");
	uint32_t plus = fixture_frame(&fixture, object, 0x30, "a+");
	uint32_t again = fixture_frame(&fixture, other, 0x10, "a");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, aa), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, a, a), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, a), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, plus), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, again, a), 0, 6);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, again), 0, 10);
	check_folded(&fixture, "x;a 11\nx;a+ 1\nx;a;a 7\nx;aa 1\n");
}

/* Lines are in the order of their bytes also where comms begin with each other. */
TEST(folded_sorts_comms_with_what_follows)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t process = fixture_process(&fixture, 1, 0);
	uint32_t longer = fixture_thread(&fixture, process, 1, "a-b");
	uint32_t shorter = fixture_thread(&fixture, process, 2, "a");
	uint32_t last = fixture_thread(&fixture, process, 3, "ab");
	uint32_t m = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 0x10, "m"));
	uint32_t f = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 0x20, "f"));
	const uint32_t threads[] = {last, longer, shorter};
	for (int i = 0; i < 3; i++) {
		fixture_samples(&fixture, threads[i], m, 0, 1);
		fixture_samples(&fixture, threads[i], 0, 0, 2);
		fixture_samples(&fixture, threads[i], f, 0, 3);
	}
	check_folded(
		&fixture, "a 2\na-b 2\na-b;f 3\na-b;m 1\na;f 3\na;m 1\nab 2\nab;f 3\nab;m 1\n");
}

TEST(folded_hostile_names)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t process = fixture_process(&fixture, 1, 0);
	uint32_t odd = fixture_thread(&fixture, process, 1, "a b;c\n");
	uint32_t nameless = fixture_thread(&fixture, process, 2, "");
	uint32_t number = fixture_thread(&fixture, process, 3, "w 7");
	uint32_t breaks = fixture_frame(&fixture, object, 0x10, "one;two\nthree\tfour");
	uint32_t bytes = fixture_frame(&fixture, object, 0x20, "\xff\x1b[31m\xe2\x80\xae");
	uint32_t count = fixture_frame(&fixture, object, 0x30, "clone 12");
	uint32_t decimal = fixture_frame(&fixture, object, 0x40, "part  1.5");
	uint32_t blank = fixture_frame(&fixture, object, 0x50, " ");
	uint32_t empty = fixture_frame(&fixture, object, 0x60, "");
	uint32_t latin = fixture_frame(&fixture, object, 0x70, "gr\xc3\xbc\xc3\x9f operator new");
	fixture_samples(&fixture, odd, FIXTURE_STACK(&fixture, breaks, bytes), 0, 1);
	fixture_samples(&fixture, nameless, FIXTURE_STACK(&fixture, count), 0, 1);
	fixture_samples(&fixture, nameless, FIXTURE_STACK(&fixture, decimal), 0, 1);
	fixture_samples(&fixture, nameless, FIXTURE_STACK(&fixture, blank, latin), 0, 1);
	fixture_samples(&fixture, number, FIXTURE_STACK(&fixture, empty, latin), 0, 1);
	check_folded(&fixture, "[unknown];_;gr\xc3\xbc\xc3\x9f operator new 1\n"
			       "[unknown];clone_12 1\n"
			       "[unknown];part__1.5 1\n"
			       "a_b:c\\x0a;one:two\\x0athree\\x09four;\\xff\\x1b[31m"
			       "\\xe2\\x80\\xae 1\n"
			       "w_7;[vdso]+0x60;gr\xc3\xbc\xc3\x9f operator new 1\n");
}

TEST(folded_of_nothing_is_nothing)
{
	struct fixture fixture;
	fixture_init(&fixture);
	check_folded(&fixture, "");
}

/* The counts of two events cannot be added: the one with more samples is it. */
TEST(folded_keeps_one_event)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	fixture_samples(&fixture, thread, 0, 0, 3);
	fixture.event = fixture_event(&fixture, "off-cpu", "ns", 1);
	fixture_samples(&fixture, thread, 0, 0, 2);
	check_folded(&fixture, "x 3\n");
}

/* Frames that damage took leave holes in the table, which have no name of their own. */
TEST(folded_of_a_damaged_recording)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	fixture_flush(&fixture);
	fixture.is_dropping = true;
	uint32_t lost = fixture_frame(&fixture, object, 0x10, NULL);
	fixture_flush(&fixture);
	fixture.is_dropping = false;
	uint32_t kept = fixture_frame(&fixture, object, 0x20, "kept");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, lost, kept), 0, 2);
	check_folded(&fixture, "x;kept 2\n");
}

static struct err *fail_to_write(void *context, const void *bytes, size_t len)
{
	(void)context, (void)bytes, (void)len;
	return err_new(ERR_IO, "the disk is full");
}

TEST(exporters_pass_errors_of_the_sink)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	fixture_samples(&fixture, thread, 0, 0, 1);
	struct profile *profile = fixture_profile(&fixture);
	struct export_options options = {.labels = FIXTURE_LABELS};
	struct byte_sink sink = {.write = fail_to_write};
	size_t count;
	const struct exporter *exporters = export_all(&count);
	for (size_t i = 0; i < count; i++)
		CHECK_ERR(exporters[i].write(profile, &options, sink), ERR_IO, "disk is full");
	profile_destroy(profile);
}

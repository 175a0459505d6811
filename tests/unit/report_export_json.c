#include <string.h>

#include "format/base/err.h"
#include "report/model/text/byte_sink.h"
#include "report/model/text/json.h"
#include "report/write/export/lanes.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* ---- the writer ---- */

static void check_quoted(const char *text, const char *want)
{
	struct str out = {0};
	json_quote(&out, text);
	CHECK_STR(str_text(&out), want);
	str_deinit(&out);
}

TEST(json_strings)
{
	check_quoted("", "\"\"");
	check_quoted("plain text", "\"plain text\"");
	check_quoted("a\"b\\c", "\"a\\\"b\\\\c\"");
	check_quoted("\x01\t\n\x1b\x7f", "\"\\u0001\\u0009\\u000a\\u001b\\u007f\"");
	check_quoted("#a##b##[error]", "\"#a##b\\u0023#[error]\"");
	check_quoted("\xc2\x85\xe2\x80\xa8", "\"\\u0085\\u2028\"");
	check_quoted(
		"gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5", "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5\"");
	check_quoted("\xff"
		     "a\xc3",
		"\"\\ufffda\\ufffd\"");
	/* A surrogate in UTF-8 is no UTF-8: three bytes that mean nothing. */
	check_quoted("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
}

TEST(json_values)
{
	struct str out = {0};
	struct json json = {.sink = byte_sink_to_text(&out)};
	json_array(&json);
	json_number(&json, UINT64_MAX);
	json_exact(&json, (1ULL << 53) - 1);
	json_exact(&json, 1ULL << 53);
	json_decimal(&json, 1234500, 6);
	json_decimal(&json, 5, 3);
	json_decimal(&json, 3000, 3);
	json_decimal(&json, 0, 6);
	json_decimal(&json, UINT64_MAX, 6);
	json_bool(&json, true);
	json_null(&json);
	json_object(&json);
	json_put_array(&json, "a");
	json_array_end(&json);
	json_foreign_key(&json, "b\"");
	json_number(&json, 1);
	json_line(&json);
	json_put_text(&json, "c", "d");
	json_object_end(&json);
	json_array_end(&json);
	CHECK_OK(json_finish(&json));
	CHECK_STR(str_text(&out),
		"[18446744073709551615,9007199254740991,\"9007199254740992\",1.2345,0.005,3,0,"
		"18446744073709.551615,true,null,{\"a\":[],\"b\\\"\":1,\n\"c\":\"d\"}]\n");
	str_deinit(&out);
}

struct failing {
	unsigned calls;
};

static struct err *fail_to_write(void *context, const void *bytes, size_t len)
{
	struct failing *failing = context;
	(void)bytes, (void)len;
	failing->calls++;
	return err_new(ERR_IO, "the disk is full");
}

TEST(json_asks_a_sink_that_failed_no_more)
{
	struct failing failing = {0};
	struct json json = {.sink = {.write = fail_to_write, .context = &failing}};
	json_array(&json);
	for (int i = 0; i < 100000; i++)
		json_number(&json, 1000000);
	CHECK(json.err != NULL);
	json_array_end(&json);
	CHECK_ERR(json_finish(&json), ERR_IO, "disk is full");
	CHECK_INT(failing.calls, 1);
}

/* ---- formats ---- */

static void check_export(struct fixture *fixture, enum export_format format, const char *want)
{
	struct profile *profile = fixture_profile(fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, format, FIXTURE_LABELS, &out);
	CHECK_STR((const char *)out.data, want);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

/*
 * Two threads: three samples in a library called from the program, of which two follow each other,
 * one in the kernel, one of no stack.
 */
static void init_small(struct fixture *fixture)
{
	fixture_init(fixture);
	uint32_t user = fixture_object(fixture, LAYOUT_OBJECT_VDSO, "/bin/app");
	uint32_t kernel = fixture_object(fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	uint32_t process = fixture_process(fixture, 10, user);
	uint32_t first = fixture_thread(fixture, process, 10, "app");
	uint32_t second = fixture_thread(fixture, process, 11, "wo\"rk");
	uint32_t main = fixture_frame(fixture, user, 0x10, "main");
	uint32_t work = fixture_frame(fixture, user, 0x20, "_Z4worki");
	uint32_t read = fixture_frame(fixture, kernel, 0x30, "sys_read");
	uint32_t in_work = FIXTURE_STACK(fixture, main, work);
	fixture_samples(fixture, first, in_work, 0, 2);
	fixture_samples(fixture, second, 0, 0, 1);
	fixture_samples(fixture, first, in_work, FIXTURE_STACK(fixture, read), 1);
	fixture_samples(fixture, first, in_work, 0, 1);
}

TEST(speedscope_keeps_threads_and_order)
{
	struct fixture fixture;
	init_small(&fixture);
	check_export(&fixture, EXPORT_SPEEDSCOPE,
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		"\"exporter\":\"ebprof\",\"name\":\"recording\",\"activeProfileIndex\":0,"
		"\"shared\":{\"frames\":[\n"
		"{\"name\":\"main\",\"file\":\"/bin/app\"},\n"
		"{\"name\":\"work(int)\",\"file\":\"/bin/app\"},\n"
		"{\"name\":\"sys_read_[k]\",\"file\":\"[kernel]\"},\n"
		"{\"name\":\"[no stack]\"}]},\n"
		"\"profiles\":[\n"
		"{\"type\":\"sampled\",\"name\":\"app 10/10\",\"unit\":\"nanoseconds\","
		"\"startValue\":0,\"endValue\":4000000,\"samples\":[\n"
		"[0,1],\n[0,1,2],\n[0,1]],\n\"weights\":[2000000,1000000,1000000]},\n"
		"{\"type\":\"sampled\",\"name\":\"wo\\\"rk 10/11\",\"unit\":\"nanoseconds\","
		"\"startValue\":0,\"endValue\":1000000,\"samples\":[\n"
		"[3]],\n\"weights\":[1000000]}]}\n");
}

TEST(json_document)
{
	struct fixture fixture;
	init_small(&fixture);
	check_export(&fixture, EXPORT_JSON,
		"{\"format\":\"ebprof\",\"version\":1,\n\"meta\":{},\n"
		"\"begin_ns\":\"1700000000000000000\",\"duration_ns\":5000000,\"lost\":0,"
		"\"damage\":\"\",\n"
		"\"events\":[\n{\"name\":\"cpu-clock\",\"unit\":\"ns\",\"period\":1000000,"
		"\"frequency_hz\":1000}],\n"
		"\"labels\":[\n{\"comm\":\"app\",\"pid\":10,\"tid\":10},\n"
		"{\"comm\":\"app\",\"thread\":\"wo\\\"rk\",\"pid\":10,\"tid\":11}],\n"
		"\"functions\":[\n{\"name\":\"main\",\"object\":0},\n"
		"{\"name\":\"work(int)\",\"system_name\":\"_Z4worki\",\"object\":0},\n"
		"{\"name\":\"sys_read\",\"object\":1,\"kernel\":true},\n"
		"{\"name\":\"[no stack]\"}],\n"
		"\"objects\":[\n{\"path\":\"/bin/app\",\"build_id\":\"\"},\n"
		"{\"path\":\"[kernel]\",\"build_id\":\"\"}],\n"
		"\"stacks\":[\n[0,1],\n[2],\n[0,1,3]],\n"
		"\"frames\":[\n{\"function\":0,\"offset\":16},\n{\"function\":1,\"offset\":32},\n"
		"{\"function\":3},\n{\"function\":2,\"offset\":48}],\n"
		"\"samples\":[\n"
		"{\"stack\":0,\"labels\":0,\"event\":0,\"samples\":3,\"value\":3000000},\n"
		"{\"stack\":1,\"labels\":1,\"event\":0,\"samples\":1,\"value\":1000000},\n"
		"{\"stack\":2,\"labels\":0,\"event\":0,\"samples\":1,\"value\":1000000}]}\n");
}

/* A gap between samples, in which the thread did not run, is idle. */
TEST(chrome_samples_last_as_long_as_they_stand_for)
{
	struct fixture fixture;
	init_small(&fixture);
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_CHROME, 0, &out);
	const char *text = (const char *)out.data;
	CHECK(strstr(text, "\"samples\":[4,4,2,6,4,2]},\n"
			   "\"timeDeltas\":[0,1000,1000,1000,1000,1000],\"endTime\":1006000"));
	CHECK(strstr(text, "{\"id\":3,\"parent\":1,\"callFrame\":{\"codeType\":\"other\","
			   "\"scriptId\":0,\"functionName\":\"main\",\"url\":\"/bin/app\"}}"));
	CHECK(strstr(text, "{\"id\":6,\"parent\":4,\"callFrame\":{\"codeType\":\"other\","
			   "\"scriptId\":0,\"functionName\":\"sys_read_[k]\""));
	CHECK(strstr(text, "\"name\":\"wo\\\"rk 10/11\""));
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

TEST(firefox_tables)
{
	struct fixture fixture;
	init_small(&fixture);
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_FIREFOX, 0, &out);
	const char *text = (const char *)out.data;
	CHECK(strstr(text, "\"preprocessedProfileVersion\":66,"));
	CHECK(strstr(text, "\"stackTable\":{\"length\":4,\n\"prefixOffset\":[0,1,0,2],\n"
			   "\"frame\":[0,1,2,3]}"));
	CHECK(strstr(text, "\"category\":[1,1,0,2],"));
	CHECK(strstr(text, "\"samples\":{\"length\":4,\"weightType\":\"tracing-ms\",\n"
			   "\"stack\":[1,1,3,1],\n\"time\":[1,2,4,5],\n\"weight\":[1,1,1,1],\n"
			   "\"threadCPUDelta\":[1000000,1000000,1000000,1000000]}"));
	CHECK(strstr(text, "\"pid\":\"10\",\"tid\":11,\"isMainThread\":false"));
	CHECK(strstr(text, "{\"type\":\"EbprofThread\",\"comm\":\"app\",\"thread\":\"wo\\\"rk\"}"));
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

TEST(csv_rows_are_those_of_the_report)
{
	struct fixture fixture;
	init_small(&fixture);
	check_export(&fixture, EXPORT_CSV,
		"self,total,samples,dso,symbol,file,line,unit\r\n"
		"3000000,4000000,3,/bin/app,work(int),,,ns\r\n"
		"1000000,1000000,1,[kernel],sys_read,,,ns\r\n"
		"0,4000000,0,/bin/app,main,,,ns\r\n");
}

TEST(csv_hostile_names)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/a,b");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	uint32_t formula = fixture_frame(&fixture, object, 0x10, "=HYPERLINK(\"x\")");
	uint32_t breaks = fixture_frame(&fixture, object, 0x20, "one\r\ntwo\xff");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, formula), 0, 2);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, breaks), 0, 1);
	check_export(&fixture, EXPORT_CSV,
		"self,total,samples,dso,symbol,file,line,unit\r\n"
		"2000000,2000000,2,\"/a,b\",\"\\x3dHYPERLINK(\"\"x\"\")\",,,ns\r\n"
		"1000000,1000000,1,\"/a,b\",one\\x0d\\x0atwo\\xff,,,ns\r\n");
}

TEST(formats_of_nothing)
{
	struct fixture fixture;
	fixture_init(&fixture);
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_CHROME, 0, &out);
	CHECK_STR((const char *)out.data, "[]\n");
	out.len = 0;
	fixture_export(profile, EXPORT_CSV, 0, &out);
	CHECK_STR((const char *)out.data, "self,total,samples,dso,symbol,file,line,unit\r\n");
	out.len = 0;
	fixture_export(profile, EXPORT_SPEEDSCOPE, 0, &out);
	CHECK(strstr((const char *)out.data, "\"frames\":[]},\n\"profiles\":[]}\n"));
	out.len = 0;
	fixture_export(profile, EXPORT_FIREFOX, 0, &out);
	CHECK(strstr((const char *)out.data, "\"threads\":[]"));
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

/* Those beyond the limit share a lane, whose samples stay in their order; nothing is lost. */
TEST(lanes_are_bounded)
{
	enum {
		NR_THREADS = LANES_MAX + 100
	};
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t process = fixture_process(&fixture, 1, 0);
	uint32_t last = 0;
	for (uint32_t i = 0; i < NR_THREADS; i++) {
		last = fixture_thread(&fixture, process, 1 + i, "many");
		fixture_samples(&fixture, last, 0, 0, 1);
	}
	fixture_samples(&fixture, last, 0, 0, 2);
	struct profile *profile = fixture_profile(&fixture);
	struct lanes lanes;
	lanes_init(&lanes, profile);
	CHECK_INT(lanes.all.len, LANES_MAX + 1);
	CHECK_INT(lanes.all.data[0].count, 3);
	CHECK_INT(profile->threads.data[lanes.all.data[0].thread].tid, NR_THREADS);
	const struct lane *others = &lanes.all.data[LANES_MAX];
	CHECK_INT(others->nr_threads, 100);
	CHECK_INT(others->count, 100);
	CHECK_INT(others->value, 100 * 1000000);
	CHECK_INT(others->first + others->count, profile->samples.len);
	for (size_t i = others->first + 1; i < others->first + others->count; i++)
		CHECK(lanes.order[i - 1] < lanes.order[i]);
	lanes_deinit(&lanes);
	profile_destroy(profile);
}

/* Values of two events cannot be added: each thread has a lane of each. */
TEST(lanes_keep_events_apart)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	fixture_samples(&fixture, thread, 0, 0, 1);
	fixture.event = fixture_event(&fixture, "cycles", "cycles", 5);
	fixture_samples(&fixture, thread, 0, 0, 2);
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_SPEEDSCOPE, 0, &out);
	const char *text = (const char *)out.data;
	CHECK(strstr(text, "\"name\":\"x 1/1 cycles\",\"unit\":\"none\",\"startValue\":0,"
			   "\"endValue\":10"));
	CHECK(strstr(text, "\"name\":\"x 1/1 cpu-clock\",\"unit\":\"nanoseconds\""));
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

TEST(names_of_files_say_their_format)
{
	static const struct {
		const char *name, *want; /* NULL: none */
	} cases[] = {
		{"out.svg", "svg"},
		{"out.svg.gz", "svg"},
		{"out.pb.gz", "pprof"},
		{"a.speedscope.json", "speedscope"},
		{"a.json", "json"},
		{"/x/a.perf.data", "perf-data"},
		{".svg", NULL},
		{"svg", NULL},
		{"ebprof.data", NULL},
		{".gz", NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct exporter *exporter = export_of_name(cases[i].name);
		CHECK_STR(exporter ? exporter->name : "", cases[i].want ? cases[i].want : "");
	}
}

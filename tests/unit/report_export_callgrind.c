#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static void check_body(struct fixture *fixture, const char *want)
{
	struct profile *profile = fixture_profile(fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_CALLGRIND, 0, &out);
	const char *body = strstr((const char *)out.data, "events: ");
	CHECK(body);
	CHECK_STR(body, want);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

TEST(callgrind_has_costs_and_calls)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t main = fixture_frame(&fixture, object, 0x10, "main");
	uint32_t work = fixture_frame(&fixture, object, 0x20, "work");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main, work), 0, 3);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, main), 0, 2);
	fixture_samples(&fixture, thread, 0, 0, 1);
	check_body(&fixture, "events: cpu samples\nsummary: 6000000 6\n"
			     "\nob=(1) [process]\nfl=(1) [process]\nfn=(2) app\n"
			     "0 1000000 1\n"
			     "cob=(2) [vdso]\ncfi=(2) ???\ncfn=(3) main\ncalls=5 0\n0 5000000 5\n"
			     "\nob=(2)\nfl=(2)\nfn=(3)\n"
			     "0 2000000 2\n"
			     "cob=(2)\ncfi=(2)\ncfn=(4) work\ncalls=3 0\n0 3000000 3\n"
			     "\nob=(2)\nfl=(2)\nfn=(4)\n"
			     "0 3000000 3\n");
}

/* Sums, as readers make them, of the inclusive samples of the calls of a function. */
static uint64_t inclusive_of(const char *text, const char *function)
{
	char key[64];
	snprintf(key, sizeof(key), ") %s\n", function);
	const char *first = strstr(text, key);
	CHECK(first);
	const char *bracket = memrchr(text, '(', (size_t)(first - text));
	unsigned long number = strtoul(bracket + 1, NULL, 10);
	snprintf(key, sizeof(key), "cfn=(%lu)", number);
	uint64_t sum = 0;
	for (const char *at = text; (at = strstr(at, key)); at++) {
		unsigned long long samples;
		CHECK_INT(sscanf(strstr(at, "calls="), "calls=%*u %*u\n%*u %*u %llu", &samples), 1);
		sum += samples;
	}
	return sum;
}

/* f -> g -> f -> f -> h: whatever comes back counts once. */
TEST(callgrind_counts_recursion_once)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t f = fixture_frame(&fixture, object, 0x10, "f");
	uint32_t g = fixture_frame(&fixture, object, 0x20, "g");
	uint32_t h = fixture_frame(&fixture, object, 0x30, "h");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, f, g, f, f, h), 0, 70);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, g, g, g), 0, 30);
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_CALLGRIND, 0, &out);
	const char *text = (const char *)out.data;
	CHECK(strstr(text, "summary: 100000000 100\n"));
	CHECK_INT(inclusive_of(text, "f"), 70);
	CHECK_INT(inclusive_of(text, "g"), 100);
	CHECK_INT(inclusive_of(text, "h"), 70);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

/* Readers know a function by file and name; lines in names would be lines of the file. */
TEST(callgrind_hostile_names)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t one = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/lib/one.so");
	uint32_t two = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/lib/two\n.so");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "(1)\n");
	uint32_t a = fixture_frame(&fixture, one, 0x10, "run");
	uint32_t b = fixture_frame(&fixture, two, 0x10, "run");
	uint32_t odd = fixture_frame(&fixture, two, 0x20, "(3) fn=\n1 2 3");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, a, b, odd), 0, 1);
	check_body(&fixture,
		"events: cpu samples\nsummary: 1000000 1\n"
		"\nob=(1) [process]\nfl=(1) [process]\nfn=(2) (1)\\x0a\n"
		"cob=(2) /lib/one.so\ncfi=(2) ???\ncfn=(3) run\ncalls=1 0\n0 1000000 1\n"
		"\nob=(2)\nfl=(2)\nfn=(3)\n"
		"cob=(3) /lib/two\\x0a.so\ncfi=(2)\ncfn=(4) run (two\\x0a.so)\ncalls=1 0\n"
		"0 1000000 1\n"
		"\nob=(3)\nfl=(2)\nfn=(4)\n"
		"cob=(3)\ncfi=(2)\ncfn=(5) (3) fn=\\x0a1 2 3\ncalls=1 0\n0 1000000 1\n"
		"\nob=(3)\nfl=(2)\nfn=(5)\n0 1000000 1\n");
}

TEST(callgrind_of_nothing)
{
	struct fixture fixture;
	fixture_init(&fixture);
	check_body(&fixture, "events: cpu samples\nsummary: 0 0\n");
}

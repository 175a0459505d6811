/* Probes of functions of scripts: this program has some, as interpreters do. */
#include "record/script/script_probes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "tests/e2e/usdt_probe.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

#define FRAME __attribute__((noinline, noclone, noipa))

/* Not called: that they are there is enough. What they call has frames of different sizes. */
void script_probes_python(const char *file, const char *name, int line);
FRAME void script_probes_python(const char *file, const char *name, int line)
{
	USDT_PROBE("python", "function__entry", "0", "8@%0 8@%1 -4@%2", "r"(file), "r"(name),
		"r"(line));
}

void script_probes_php(const char *name, const char *file, int line);
FRAME void script_probes_php(const char *name, const char *file, int line)
{
	volatile char room[64] = {(char)line};
	USDT_PROBE("php", "function__entry", "0", "8@%0 8@%1 -4@%2 8@%0 8@%1", "r"(name), "r"(file),
		"r"(line));
	room[1] = room[0];
	USDT_PROBE("php", "function__return", "0", "8@%0 8@%1 -4@%2 8@%0 8@%1", "r"(name),
		"r"(file), "r"(line));
	USDT_PROBE("php", "function__return", "0", "8@name(%%rip)", ); /* not understood */
}

static void (*volatile kept[])(const char *, const char *, int) = {
	script_probes_python, script_probes_php};

static struct script_probes parse(const char *text)
{
	struct script_probes probes = {0};
	CHECK(kept[0] != NULL);
	CHECK_OK(script_probes_parse(text, &probes));
	return probes;
}

static size_t count_places(
	const struct script_probes *probes, enum runtime_kind runtime, bool is_return)
{
	size_t count = 0;
	vec_each(&probes->places, place)
		count += place->shadow.runtime == runtime &&
			 !(place->shadow.flags & SHADOW_IS_RETURN) == !is_return;
	return count;
}

TEST(a_file_that_is_named)
{
	struct script_probes probes = parse("python:/proc/self/exe");
	CHECK_INT(probes.runtimes, 1U << RUNTIME_PYTHON);
	CHECK_INT(probes.places.len, 1);
	const struct script_probe *place = &probes.places.data[0];
	CHECK_INT(place->event, 0);
	CHECK_INT(place->shadow.runtime, RUNTIME_PYTHON);
	CHECK_INT(place->shadow.text[SHADOW_NAME].source, SHADOW_REGISTER);
	CHECK_INT(place->shadow.text[SHADOW_CLASS].source, SHADOW_NOWHERE);
	CHECK_INT(place->shadow.line.bytes, -4);
	CHECK(place->file_fd >= 0 && place->offset);
	CHECK_INT(place->shadow.sp_offset, 8); /* it is called, and has no frame of its own */
	script_probes_deinit(&probes);
}

TEST(places_of_one_function_are_a_group)
{
	struct script_probes probes = parse("php:/proc/self/exe");
	CHECK_INT(count_places(&probes, RUNTIME_PHP, false), 1);
	CHECK_INT(count_places(&probes, RUNTIME_PHP, true), 1);
	const struct shadow_place *entry = &probes.places.data[0].shadow,
				  *leave = &probes.places.data[1].shadow;
	CHECK(entry->group && entry->group == leave->group);
	CHECK_INT(entry->sp_offset, -1);
	CHECK_INT(leave->sp_offset, -1);
	CHECK(entry->flags & SHADOW_IS_ALONE);
	CHECK_STR(entry->separator, "::");
	script_probes_deinit(&probes);
}

/* By each of its names and by each process once. */
TEST(a_file_is_looked_at_once)
{
	struct script_probes probes = parse("python:/proc/self/exe,ruby");
	size_t nr_files = probes.files.len;
	script_probes_add_file(&probes, "/proc/thread-self/exe");
	CHECK_INT(probes.files.len, nr_files);
	CHECK_OK(script_probes_add_process(&probes, (uint32_t)getpid()));
	CHECK_INT(probes.places.len, 1);
	CHECK_ERR(script_probes_check(&probes), ERR_USAGE,
		"no ruby with USDT probes ruby:method__entry was found");
	script_probes_deinit(&probes);
}

TEST(files_that_turn_up_later)
{
	struct script_probes probes = parse("python,php");
	char self[] = "/proc/self/exe", none[] = "/dev/null", gone[] = "/nowhere";
	const struct object_location nowhere = {0};
	const struct object objects[] = {{.serial = 4, .path = self}, {.serial = 1, .path = none},
		{.serial = 7, .path = gone}, {.serial = 9, .path = self}};
	CHECK_INT(probes.places.len, 0);
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
			script_probes_add_object(&probes, &objects[i], &nowhere);
	CHECK_INT(probes.places.len, 3);
	CHECK_OK(script_probes_check(&probes));
	script_probes_deinit(&probes);
}

TEST(probes_that_would_be_silent)
{
	struct script_probes probes = parse("php");
	CHECK(!unsetenv("USE_ZEND_DTRACE"));
	CHECK_ERR(script_probes_add_command(&probes, "/proc/self/exe"), ERR_USAGE,
		"only in processes with USE_ZEND_DTRACE=1 in their environment; it is not in this");
	CHECK(!setenv("USE_ZEND_DTRACE", "1", true));
	CHECK_OK(script_probes_add_command(&probes, "/proc/self/exe"));
	script_probes_deinit(&probes);
}

TEST(what_was_heard_and_what_was_not)
{
	struct script_probes probes = parse("php:/proc/self/exe,ruby");
	struct shadow_counters *counted = mem_zalloc(sizeof(*counted));
	const char *advice[4] = {0};
	uint64_t entries, returns;
	counted->hits[0] = 99; /* a trial */
	counted->hits[1] = 9;
	counted->hits[2] = 3;
	script_probes_sum(&probes, counted, &entries, &returns);
	CHECK_INT(entries, 9);
	CHECK_INT(returns, 3);
	script_probes_advise(&probes, counted, advice, 4);
	CHECK_STR(advice[0], "nothing that was profiled maps a Ruby with USDT probes");
	CHECK(!advice[1]);
	counted->hits[1] = 1;
	counted->hits[2] = 100;
	probes.misses_files = true;
	script_probes_advise(&probes, counted, advice, 4);
	CHECK(advice[0] && strstr(advice[0], "PHP's probes tell of functions only in"));
	CHECK(advice[1] && strstr(advice[1], "a Ruby"));
	CHECK(advice[2] && strstr(advice[2], "of some files"));
	CHECK(!advice[3]);
	mem_free(counted);
	script_probes_deinit(&probes);
}

TEST(wishes_that_cannot_be_met)
{
	struct script_probes probes = {0};
	CHECK_ERR(script_probes_parse("php,fortran", &probes), ERR_USAGE,
		"\"fortran\" has no probes that are known here: php, python, ruby");
	CHECK_ERR(script_probes_parse("", &probes), ERR_USAGE, "no probes that are known");
	CHECK_ERR(script_probes_parse("php,", &probes), ERR_USAGE, "no probes that are known");
	CHECK_ERR(script_probes_parse("ruby:/proc/self/exe", &probes), ERR_USAGE,
		"has no USDT probes ruby:method__entry");
	CHECK_ERR(script_probes_parse("php:/nowhere", &probes), ERR_IO, "/nowhere");
	script_probes_deinit(&probes);
}

#endif

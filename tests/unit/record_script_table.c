/* Numbers of code and what became of them. */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "bpf/event.h"
#include "bpf/runtime/node/node_row.h"
#include "format/base/clock.h"
#include "format/file/layout.h"
#include "record/script/script_table.h"
#include "tests/unit/unit.h"

struct code {
	struct event_code head;
	char text[192];
};

/* A process that does not exist: what is missing stays missing. */
static struct code code_of(uint32_t number, const char *name, const char *file)
{
	static const char lines[] = "\x81\x11\xd9\1\2";
	struct code code = {.head = {
				    .type = EVENT_CODE,
				    .number = number,
				    .kind = RUNTIME_PYTHON,
				    .version = 11,
				    .unit = {1, 1},
				    .first_line = 10,
			    }};
	size_t name_len = strlen(name), file_len = strlen(file);
	memcpy(code.text, name, name_len);
	memcpy(code.text + name_len, file, file_len);
	memcpy(code.text + name_len + file_len, lines, sizeof(lines) - 1);
	code.head.bytes[RUNTIME_TEXT_NAME] = (uint32_t)name_len;
	code.head.bytes[RUNTIME_TEXT_FILE] = (uint32_t)file_len;
	code.head.bytes[RUNTIME_TEXT_LINES] = sizeof(lines) - 1;
	for (int i = 0; i < RUNTIME_TEXTS; i++)
		code.head.whole_bytes[i] = code.head.bytes[i];
	return code;
}

static uint64_t word(uint64_t number, uint64_t place)
{
	return number << RUNTIME_FRAME_CODE_SHIFT | place;
}

struct fixture {
	struct object_table objects;
	struct script_table scripts;
};

static void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){0};
	script_table_init(&fixture->scripts, &fixture->objects);
}

static void teardown(struct fixture *fixture)
{
	script_table_deinit(&fixture->scripts);
	object_table_deinit(&fixture->objects);
}

static struct script_place describe(
	struct fixture *fixture, uint64_t number, uint64_t place, uint64_t *offset)
{
	struct script_place ret;
	const struct object *object =
		script_table_find(&fixture->scripts, word(number, place), offset);
	CHECK_INT(object->info.kind, LAYOUT_OBJECT_SCRIPT);
	CHECK_STR(object->path, "[python]");
	script_table_describe(&fixture->scripts, *offset, &ret);
	return ret;
}

TEST(a_line_of_a_function_is_one_place_whatever_its_number)
{
	struct fixture fixture;
	setup(&fixture);
	struct code first = code_of(5, "f", "/a.py"), again = code_of(9, "f", "/a.py");
	struct code other = code_of(6, "f", "/b.py");
	script_table_take(&fixture.scripts, &first.head, sizeof(first));
	script_table_take(&fixture.scripts, &again.head, sizeof(again));
	script_table_take(&fixture.scripts, &other.head, sizeof(other));
	uint64_t a, b, c, d;
	struct script_place place = describe(&fixture, 5, 0, &a);
	CHECK_STR(place.name, "f");
	CHECK_STR(place.file, "/a.py");
	CHECK_INT(place.line, 10);
	describe(&fixture, 9, 1, &b);
	CHECK(a == b && a >= LAYOUT_SCRIPT_FIRST);
	CHECK_INT(describe(&fixture, 5, 2, &c).line, 11);
	CHECK(c != a);
	CHECK(describe(&fixture, 5, 2, &c).start == place.start);
	CHECK(describe(&fixture, 6, 0, &d).start != place.start);
	teardown(&fixture);
}

/* Where it was read once nothing more is: it may be moving just then. */
TEST(code_that_was_moved_is_known_by_its_content)
{
	struct fixture fixture;
	setup(&fixture);
	struct code unread = code_of(4, "f", "/a.py"), first = code_of(5, "f", "/a.py");
	struct code moved = code_of(9, "f", "/a.py"), other = code_of(10, "f", "/a.py");
	unread.head.content = first.head.content = moved.head.content = 7;
	other.head.content = 8;
	unread.head.bytes[RUNTIME_TEXT_LINES] = unread.head.whole_bytes[RUNTIME_TEXT_LINES] = 0;
	moved.head.bytes[RUNTIME_TEXT_LINES] = moved.head.whole_bytes[RUNTIME_TEXT_LINES] = 0;
	other.head.bytes[RUNTIME_TEXT_LINES] = other.head.whole_bytes[RUNTIME_TEXT_LINES] = 0;
	script_table_take(&fixture.scripts, &unread.head, sizeof(unread));
	script_table_take(&fixture.scripts, &first.head, sizeof(first));
	script_table_take(&fixture.scripts, &moved.head, sizeof(moved));
	script_table_take(&fixture.scripts, &other.head, sizeof(other));
	uint64_t offset;
	CHECK_INT(describe(&fixture, 4, 2, &offset).line, 0);
	CHECK_INT(describe(&fixture, 9, 2, &offset).line, 11);
	CHECK_INT(describe(&fixture, 10, 2, &offset).line, 0);
	teardown(&fixture);
}

TEST(what_has_no_name_says_why)
{
	struct fixture fixture;
	setup(&fixture);
	struct code nameless = code_of(5, "", "/a.py");
	script_table_take(&fixture.scripts, &nameless.head, sizeof(nameless));
	uint64_t offset;
	CHECK_STR(describe(&fixture, 5, 0, &offset).name, "[unnamed: unreadable_name]");
	CHECK_INT(offset, LAYOUT_SCRIPT_NO_NAME);
	CHECK_STR(describe(&fixture, 77, 0, &offset).name, "[unnamed: unreadable_name]");
	uint64_t torn =
		(uint64_t)RUNTIME_PYTHON << RUNTIME_FRAME_FAILED_KIND_SHIFT | LAYOUT_SCRIPT_TORN;
	CHECK_STR(describe(&fixture, 0, torn, &offset).name, "[unnamed: torn_frame]");
	CHECK_STR(describe(&fixture, 0, 0xffff, &offset).name, "[unnamed]");
	teardown(&fixture);
}

TEST(records_that_lie_are_not_taken)
{
	struct fixture fixture;
	setup(&fixture);
	struct code code = code_of(5, "f", "/a.py");
	code.head.bytes[RUNTIME_TEXT_LINES] = 1000;
	script_table_take(&fixture.scripts, &code.head, sizeof(code));
	code = code_of(5, "f", "/a.py");
	code.head.kind = RUNTIME_MAX_KINDS;
	script_table_take(&fixture.scripts, &code.head, sizeof(code));
	script_table_take(&fixture.scripts, &code.head, 8);
	CHECK_INT(fixture.scripts.by_number.len, 0);
	teardown(&fixture);
}

/* Returns whether some of it had been given up. */
static bool read_all(struct fixture *fixture)
{
	bool has_late = false;
	while (script_table_is_reading(&fixture->scripts)) {
		struct pollfd fd = {.fd = script_table_fd(&fixture->scripts), .events = POLLIN};
		poll(&fd, 1, 10);
		has_late |= script_table_collect(&fixture->scripts);
	}
	return has_late;
}

/* The process has gone, so that they can be read no more, however they would be. */
TEST(texts_that_could_not_be_read_in_time_are_missing)
{
	struct fixture fixture;
	uint64_t offset;
	setup(&fixture);
	for (uint32_t number = 1; number < 9; number++) {
		struct code code = code_of(number, "", "");
		bool is_length_known = number & 1;
		for (int i = 0; i < RUNTIME_TEXTS; i++) {
			code.head.bytes[i] = 0;
			code.head.whole_bytes[i] = is_length_known ? 100 : 0;
			code.head.address[i] = 0x1000;
		}
		code.head.kind = number < 5 ? RUNTIME_PYTHON : RUNTIME_RUBY;
		code.head.version = number < 5 ? 11 : 31;
		script_table_take(&fixture.scripts, &code.head, sizeof(code));
		CHECK(script_table_lacks(&fixture.scripts, word(number, 0)));
		read_all(&fixture);
		CHECK(!script_table_lacks(&fixture.scripts, word(number, 0)));
		CHECK_STR(
			describe(&fixture, number, 0, &offset).name, "[unnamed: unreadable_name]");
	}
	teardown(&fixture);
}

TEST(wide_characters_become_utf_8)
{
	struct fixture fixture;
	setup(&fixture);
	struct code code = code_of(5, "\xe9", "/a.py"); /* é of Latin-1 */
	script_table_take(&fixture.scripts, &code.head, sizeof(code));
	struct code wide = code_of(6, "f\1\1\1", "/a.py");
	memcpy(wide.text, "\xac\x20\x00\xd8", 4); /* the euro sign, and half a pair */
	wide.head.unit[0] = 2;
	script_table_take(&fixture.scripts, &wide.head, sizeof(wide));
	uint64_t offset;
	CHECK_STR(describe(&fixture, 5, 0, &offset).name, "\xc3\xa9");
	CHECK_STR(describe(&fixture, 6, 0, &offset).name, "\xe2\x82\xac\xef\xbf\xbd");
	struct code tagged = code_of(7, "f\1\1\1\1\1\1\1", "/a.py");
	memcpy(tagged.text, "\x16\xac\x20\x00\x16x\0", 8); /* Chez Scheme's: 0x16 is no part */
	tagged.head.unit[0] = RUNTIME_UNIT_TAGGED;
	script_table_take(&fixture.scripts, &tagged.head, sizeof(tagged));
	CHECK_STR(describe(&fixture, 7, 0, &offset).name, "\xe2\x82\xacx");
	teardown(&fixture);
}

/* What the BPF side could not read; of this very process, which has it. */
TEST(texts_are_read_later_or_given_up)
{
	static const char name[] = "late";
	struct fixture fixture;
	uint64_t offset;
	setup(&fixture);
	for (uint32_t number = 1; number < 3; number++) {
		struct code code = code_of(number, "", "/a.py");
		code.head.pid = (uint32_t)getpid();
		code.head.whole_bytes[RUNTIME_TEXT_NAME] = sizeof(name) - 1;
		code.head.address[RUNTIME_TEXT_NAME] = (uintptr_t)name;
		script_table_take(&fixture.scripts, &code.head, sizeof(code));
		if (number == 2)
			script_table_give_up(&fixture.scripts, word(number, 0));
		else
			CHECK(!read_all(&fixture));
	}
	CHECK(!script_table_lacks(&fixture.scripts, word(2, 0)));
	struct script_place place = describe(&fixture, 1, 0, &offset);
	CHECK_STR(place.name, "late");
	CHECK_STR(place.file, "/a.py");
	CHECK_INT(place.line, 10);
	CHECK_STR(describe(&fixture, 2, 0, &offset).name, "[unnamed: reading_given_up]");
	CHECK(read_all(&fixture)); /* it comes late, for samples to come */
	CHECK_STR(describe(&fixture, 2, 0, &offset).name, "late");
	CHECK_INT(fixture.scripts.given_up, 1);
	teardown(&fixture);
}

/* The machine was busy, or the process had many at once. */
TEST(what_was_given_up_is_read_again)
{
	static const char name[] = "late";
	struct fixture fixture;
	struct script_place place;
	uint64_t offset;
	setup(&fixture);
	for (uint32_t number = 1; number < 3; number++) {
		struct code code = code_of(number, "", "");
		code.head.kind = number == 1 ? RUNTIME_DOTNET : RUNTIME_PYTHON;
		code.head.pid = (uint32_t)getpid();
		code.head.whole_bytes[RUNTIME_TEXT_NAME] = sizeof(name) - 1;
		code.head.address[RUNTIME_TEXT_NAME] = (uintptr_t)name;
		target_reader_has_time_left(&fixture.scripts.reader, code.head.pid);
		target_reader_charge(&fixture.scripts.reader, code.head.pid, NS_PER_S);
		script_table_take(&fixture.scripts, &code.head, sizeof(code));
		CHECK(!read_all(&fixture));
	}
	CHECK_INT(fixture.scripts.unread.len, 1); /* Python's is another function's by then */
	script_table_read_again(&fixture.scripts, 5);
	script_table_read_again(&fixture.scripts, NS_PER_S);
	CHECK(!script_table_is_reading(&fixture.scripts));
	script_table_read_again(&fixture.scripts, NS_PER_S + 5);
	CHECK(!script_table_lacks(&fixture.scripts, word(1, 0))); /* no sample waits for it */
	CHECK(!read_all(&fixture));                               /* there is no time yet */
	CHECK_INT(fixture.scripts.unread.len, 1);
	script_table_read_again(&fixture.scripts, 2ULL * NS_PER_S);
	script_table_read_again(&fixture.scripts, 4ULL * NS_PER_S - 1);
	CHECK(!script_table_is_reading(&fixture.scripts));
	map_clear(&fixture.scripts.reader.spent_ns);
	fixture.scripts.reader.all_spent_ns = 0;
	script_table_read_again(&fixture.scripts, 4ULL * NS_PER_S);
	CHECK(read_all(&fixture));
	CHECK_STR(script_table_find(&fixture.scripts, word(1, 0), &offset)->path, "[dotnet]");
	script_table_describe(&fixture.scripts, offset, &place);
	CHECK_STR(place.name, name);
	CHECK_STR(describe(&fixture, 2, 0, &offset).name, "[unnamed: reading_given_up]");
	CHECK_INT(fixture.scripts.unread.len, 0);
	CHECK_INT(fixture.scripts.given_up, 2);
	teardown(&fixture);
}

static struct code node_code_of(
	uint32_t number, const char *name, enum node_code_kind kind, uint64_t address)
{
	struct node_code given = {.kind = (uint8_t)kind, .start = address};
	struct code code = {.head = {.type = EVENT_CODE,
				    .number = number,
				    .pid = (uint32_t)getpid(),
				    .kind = RUNTIME_NODE,
				    .is_inlined = true,
				    .unit = {RUNTIME_UNIT_UTF8, RUNTIME_UNIT_UTF8}}};
	size_t len = strlen(name);
	memcpy(code.text, name, len);
	memcpy(code.text + len, &given, sizeof(given));
	code.head.bytes[RUNTIME_TEXT_NAME] = code.head.whole_bytes[RUNTIME_TEXT_NAME] =
		(uint32_t)len;
	code.head.bytes[RUNTIME_TEXT_LINES] = sizeof(given);
	code.head.address[RUNTIME_TEXT_LINES] = address;
	return code;
}

/* Of others lines are missing, which is less. */
TEST(what_has_no_name_is_read_first)
{
	enum {
		OTHERS = 12,
	};
	struct fixture fixture;
	setup(&fixture);
	for (uint32_t number = 1; number <= OTHERS; number++) {
		struct code code = node_code_of(number, "step", NODE_CODE_OPTIMIZED, 8);
		script_table_take(&fixture.scripts, &code.head, sizeof(code));
	}
	struct code code = node_code_of(OTHERS + 1, "(WebAssembly)", NODE_CODE_WASM, 8);
	script_table_take(&fixture.scripts, &code.head, sizeof(code));
	while (script_table_lacks(&fixture.scripts, word(OTHERS + 1, 0))) {
		struct pollfd fd = {.fd = script_table_fd(&fixture.scripts), .events = POLLIN};
		CHECK_INT(fixture.scripts.nr_read, 0);
		poll(&fd, 1, 10);
		const struct bytes_buf *answer;
		if (!target_reader_take(&fixture.scripts.reader, &answer))
			continue;
		CHECK_INT(target_reader_taken(&fixture.scripts.reader), OTHERS);
		break;
	}
	teardown(&fixture);
}

/* Lines that could not be read in time, again and again, do not put off a name that could not. */
TEST(what_is_newly_given_up_does_not_wait_for_what_failed_often)
{
	struct fixture fixture;
	setup(&fixture);
	struct target_reader *reader = &fixture.scripts.reader;
	struct code code = node_code_of(1, "step", NODE_CODE_OPTIMIZED, 8);
	target_reader_has_time_left(reader, code.head.pid);
	target_reader_charge(reader, code.head.pid, NS_PER_S);
	script_table_take(&fixture.scripts, &code.head, sizeof(code));
	CHECK(!read_all(&fixture));
	uint64_t now_ns = 1;
	for (int i = 0; i < 5; i++) { /* in the end after 16 seconds */
		script_table_read_again(&fixture.scripts, now_ns);
		now_ns += (uint64_t)NS_PER_S << i;
		script_table_read_again(&fixture.scripts, now_ns);
		CHECK(!read_all(&fixture));
	}
	script_table_read_again(&fixture.scripts, now_ns);
	code = node_code_of(2, "(WebAssembly)", NODE_CODE_WASM, 8);
	script_table_take(&fixture.scripts, &code.head, sizeof(code));
	CHECK(!read_all(&fixture));
	CHECK_INT(fixture.scripts.unread.len, 2);
	script_table_read_again(&fixture.scripts, now_ns);
	script_table_read_again(&fixture.scripts, now_ns + NS_PER_S);
	CHECK(script_table_is_reading(&fixture.scripts));
	teardown(&fixture);
}

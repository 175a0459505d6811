/* Texts of Lua's functions, read from a process: this one. */
#include "record/runtime/lua/lua_text.h"

#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "record/runtime/lua/lua_lines.h"
#include "tests/unit/unit.h"

/* A TString: what stands before the bytes is the runtime's. */
struct source {
	char head[24], text[400];
};

static bool no_lines(const struct event_code *event, struct runtime_text_bytes *ret)
{
	(void)event, (void)ret;
	return false;
}

static bool own_lines(const struct event_code *event, struct runtime_text_bytes *ret)
{
	static const uint32_t first[2] = {11, 12}, second[1] = {13};
	const struct lua_line_array arrays[2] = {
		{(uintptr_t)first, sizeof(first)}, {(uintptr_t)second, sizeof(second)}};
	return lua_text_read_arrays(event->pid, (uint32_t[2]){2, 1}, arrays, ret);
}

static void check_text(const struct source *source, enum runtime_text what, const char *wanted)
{
	struct event_code event = {.pid = (uint32_t)getpid(), .first_line = 7};
	struct runtime_text_bytes text = {.unit = 9};
	event.address[what] = (uintptr_t)source;
	CHECK(lua_text_read(&event, what, no_lines, &text));
	CHECK_INT(text.unit, RUNTIME_UNIT_UTF8);
	CHECK_INT(text.len, strlen(wanted));
	CHECK(text.len == strlen(wanted) && memcmp(text.data, wanted, text.len) == 0);
	mem_free(text.data);
}

TEST(names_and_files_by_their_source)
{
	struct source source = {.text = "@dir/a.lua"};
	check_text(&source, RUNTIME_TEXT_NAME, "function@dir/a.lua:7");
	check_text(&source, RUNTIME_TEXT_FILE, "dir/a.lua");
	strcpy(source.text, "=stdin");
	check_text(&source, RUNTIME_TEXT_FILE, "stdin");
	strcpy(source.text, "return 1");
	check_text(&source, RUNTIME_TEXT_FILE, "[string]");
	strcpy(source.text, "");
	check_text(&source, RUNTIME_TEXT_FILE, "[string]");
}

TEST(a_source_that_does_not_end_is_cut)
{
	struct source source;
	char wanted[255] = {0};
	memset(&source, 'x', sizeof(source));
	source.text[0] = '@';
	memset(wanted, 'x', sizeof(wanted) - 1);
	check_text(&source, RUNTIME_TEXT_FILE, wanted);
}

TEST(lines_are_counts_and_arrays)
{
	struct event_code event = {.pid = (uint32_t)getpid()};
	static const uint32_t wanted[] = {2, 1, 11, 12, 13};
	struct runtime_text_bytes text = {0};
	CHECK(lua_text_read(&event, RUNTIME_TEXT_LINES, own_lines, &text));
	CHECK_INT(text.len, sizeof(wanted));
	CHECK(text.len == sizeof(wanted) && memcmp(text.data, wanted, sizeof(wanted)) == 0);
	mem_free(text.data);
}

TEST(what_cannot_be_read_is_none)
{
	struct event_code event = {.pid = (uint32_t)getpid(), .address = {0x10, 0x10, 0x10}};
	struct runtime_text_bytes text = {0};
	const struct lua_line_array arrays[2] = {{(uintptr_t)&event, 8}, {0x10, 8}};
	CHECK(!lua_text_read(&event, RUNTIME_TEXT_NAME, no_lines, &text));
	CHECK(!lua_text_read(&event, RUNTIME_TEXT_FILE, no_lines, &text));
	CHECK(!lua_text_read(&event, RUNTIME_TEXT_LINES, no_lines, &text));
	CHECK(!lua_text_read_arrays(event.pid, (uint32_t[2]){1, 1}, arrays, &text));
	CHECK(!text.data);
}

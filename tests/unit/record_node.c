/* What the recorder reads of functions of JavaScript: of this process. */
#include <string.h>
#include <unistd.h>

#include "bpf/runtime/node/node_row.h"
#include "record/runtime/node/node_code.h"
#include "record/runtime/node/node_function.h"
#include "record/runtime/node/node_lines.h"
#include "record/runtime/node/node_object.h"
#include "record/runtime/runtime_inlined.h"
#include "tests/unit/unit.h"

enum {
	SHARED_TYPE = 200,
	SCRIPT_TYPE,
	SCOPE_TYPE,
	BYTECODE_TYPE,
	ARRAY_TYPE,
	ONE_BYTE = 8,
	CONS = 9,
	ODDBALL = 131,
};

/* Maps begin with their own; the type is at offset 12. */
struct map_object {
	uint64_t map;
	uint32_t zero;
	uint16_t type, zero2;
};

static struct map_object maps[] = {{.type = SHARED_TYPE}, {.type = SCRIPT_TYPE},
	{.type = SCOPE_TYPE}, {.type = BYTECODE_TYPE}, {.type = ARRAY_TYPE}, {.type = ONE_BYTE},
	{.type = CONS}, {.type = ODDBALL}};

struct text {
	uint64_t map;
	uint32_t hash, length;
	char characters[48];
};

static uint64_t to(const void *object)
{
	return (uintptr_t)object + 1;
}

static struct text text_of(const char *characters)
{
	struct text text = {.map = to(&maps[5]), .length = (uint32_t)strlen(characters)};
	memcpy(text.characters, characters, text.length);
	return text;
}

struct program {
	struct text name, url, source;
	uint64_t shared[8], script[10], scope[12], bytecodes[8], positions[4];
	struct node_code given;
};

/* "run" begins in line 2; its bytecodes from 4 on are of line 3. */
static void make_program(struct program *program)
{
	memset(program, 0, sizeof(*program));
	program->name = text_of("run");
	program->url = text_of("file:///a/b.mjs");
	program->source = text_of("1;\nfunction run() {\n  return 1;\n}\n");
	program->shared[0] = to(&maps[0]);
	program->shared[1] = to(program->bytecodes);
	program->shared[2] = to(program->scope);
	program->shared[4] = to(program->script);
	program->shared[6] = 7ULL << 32;
	program->script[0] = to(&maps[1]);
	program->script[1] = to(&program->source);
	program->script[2] = to(&program->url);
	program->script[8] = 5ULL << 32;
	program->scope[0] = to(&maps[2]);
	program->scope[4] = to(&program->name); /* behind three words, no locals */
	program->scope[5] = 3ULL << 32;         /* of the name */
	program->scope[6] = 15ULL << 32;
	program->scope[7] = 30ULL << 32;
	program->bytecodes[0] = to(&maps[3]);
	program->bytecodes[1] = 8ULL << 32;
	program->bytecodes[4] = to(program->positions);
	program->positions[0] = to(&maps[4]);
	program->positions[1] = 4ULL << 32;
	/* Bytecode 0 at character 15, bytecode 4 at 22: (character + 1) * 2, in signed steps. */
	memcpy(&program->positions[2], "\x02\x40\x08\x1c", 4);
	program->given.function = (struct node_function){.shared = to(program->shared),
		.script_id = 5,
		.literal_id = 7,
		.row = {.shared_type = SHARED_TYPE,
			.script_type = SCRIPT_TYPE,
			.scope_info_type = SCOPE_TYPE,
			.bytecode_array_type = BYTECODE_TYPE,
			.shared_name = 16,
			.shared_script = 32,
			.shared_flags = 48,
			.bytecode_positions = 32,
			.scope_first = 3,
			.scope_locals = 2,
			.version = 11}};
}

static bool read_program(const struct program *program, struct bytes_buf *ret)
{
	void *kept = NULL;
	bool is_read = node_code_read(
		&kept, (uint32_t)getpid(), &program->given, sizeof(program->given), ret);
	node_code_destroy_kept(kept);
	return is_read;
}

static uint32_t line_at(const struct runtime_inlined *inlined, uint32_t place)
{
	bool is_exact;
	uint32_t scope = runtime_inlined_find(inlined, place, false, &is_exact);
	return scope && is_exact ? inlined->scopes.data[scope - 1].line : 0;
}

TEST(functions_of_javascript_are_read)
{
	struct program program;
	struct runtime_inlined inlined;
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	make_program(&program);
	CHECK(read_program(&program, &bytes));
	CHECK(runtime_inlined_get(bytes.data, bytes.len, &inlined));
	CHECK_INT(inlined.functions.len, 1);
	if (inlined.functions.len == 1) {
		CHECK_INT(inlined.functions.data[0].name_len, 3);
		CHECK(memcmp(inlined.functions.data[0].name, "run", 3) == 0);
		CHECK(memcmp(inlined.functions.data[0].file, "file:///a/b.mjs", 15) == 0);
	}
	CHECK_INT(line_at(&inlined, 0), 2);
	CHECK_INT(line_at(&inlined, 3), 2);
	CHECK_INT(line_at(&inlined, 4), 3);
	CHECK_INT(line_at(&inlined, 7), 3);
	runtime_inlined_deinit(&inlined);
}

/* V8 14 has a bit more where a position in the code is. */
TEST(positions_may_say_where_to_break)
{
	struct program program;
	struct runtime_inlined inlined;
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	make_program(&program);
	program.given.function.row.version = 14;
	memcpy(&program.positions[2], "\x06\x40\x12\x1c", 4);
	CHECK(read_program(&program, &bytes));
	CHECK(runtime_inlined_get(bytes.data, bytes.len, &inlined));
	CHECK_INT(line_at(&inlined, 0), 2);
	CHECK_INT(line_at(&inlined, 3), 2);
	CHECK_INT(line_at(&inlined, 4), 3);
	runtime_inlined_deinit(&inlined);
}

/* A position of the function's own entry is ahead of its first bytecode, where nothing else says
 * where the function begins: one that is an expression has no scope that does. */
TEST(positions_may_begin_ahead_of_the_bytecodes)
{
	struct program program;
	struct runtime_inlined inlined;
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	make_program(&program);
	program.shared[2] = 0;
	memcpy(&program.positions[2], "\x00\x40\x0a\x1c", 4);
	CHECK(read_program(&program, &bytes));
	CHECK(runtime_inlined_get(bytes.data, bytes.len, &inlined));
	CHECK_INT(line_at(&inlined, 0), 2);
	CHECK_INT(line_at(&inlined, 3), 2);
	CHECK_INT(line_at(&inlined, 4), 3);
	CHECK_INT(line_at(&inlined, 7), 3);
	for (size_t i = 1; i < inlined.places.len; i++)
		CHECK(inlined.places.data[i - 1].offset < inlined.places.data[i].offset);
	runtime_inlined_deinit(&inlined);
}

/* Its place was taken by another one, or by none. */
TEST(a_function_that_moved_is_not_read)
{
	struct program program;
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	make_program(&program);
	program.given.function.literal_id = 8;
	CHECK(!read_program(&program, &bytes));
	program.given.function.literal_id = 7;
	program.given.function.script_id = 6;
	CHECK(!read_program(&program, &bytes));
	program.given.function.script_id = 5;
	program.shared[0] = to(&maps[1]);
	CHECK(!read_program(&program, &bytes));
	program.given.function.shared = 9;
	CHECK(!read_program(&program, &bytes));
	CHECK(!node_code_read(NULL, (uint32_t)getpid(), &program.given, 7, &bytes));
}

/* Strings that lead to each other in a circle end. */
TEST(strings_in_pieces_are_read_and_circles_end)
{
	struct program program;
	struct {
		uint64_t map;
		uint32_t hash, length;
		uint64_t first, second;
	} cons = {.map = to(&maps[6]), .length = 6};
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	struct runtime_inlined inlined;
	make_program(&program);
	cons.first = cons.second = to(&program.name);
	program.shared[2] = to(&cons);
	CHECK(read_program(&program, &bytes));
	CHECK(runtime_inlined_get(bytes.data, bytes.len, &inlined));
	CHECK(inlined.functions.len && inlined.functions.data[0].name_len == 6 &&
		memcmp(inlined.functions.data[0].name, "runrun", 6) == 0);
	runtime_inlined_deinit(&inlined);
	cons.first = cons.second = to(&cons);
	CHECK(!read_program(&program, &bytes));
}

/* As V8 has it from 10.2 to 12.4: no name, and what it was assigned to is "undefined". */
TEST(functions_without_names_have_their_lines)
{
	struct program program;
	struct runtime_inlined inlined;
	uint64_t undefined[] = {to(&maps[7])};
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	make_program(&program);
	program.name = text_of("");
	program.scope[5] = 0xffffffffULL << 32;
	program.scope[6] = to(undefined);
	program.scope[7] = 15ULL << 32;
	program.scope[8] = 30ULL << 32;
	program.scope[9] = to(program.scope); /* the outer one */
	CHECK(read_program(&program, &bytes));
	CHECK(runtime_inlined_get(bytes.data, bytes.len, &inlined));
	CHECK(inlined.functions.len && inlined.functions.data[0].name_len == 13 &&
		memcmp(inlined.functions.data[0].name, "(anonymous:2)", 13) == 0);
	runtime_inlined_deinit(&inlined);
}

TEST(functions_without_names_and_files_of_urls)
{
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP(str_deinit) struct str file = {0};
	str_write(&file, "file:///a/b.mjs", 15);
	node_function_put_texts(&name, &file);
	CHECK_STR(str_text(&name), "(anonymous)");
	CHECK_STR(str_text(&file), "/a/b.mjs");
	str_truncate(&file, 0);
	str_write(&file, "node:fs", 7);
	node_function_put_texts(&name, &file);
	CHECK_STR(str_text(&file), "node:fs");
}

struct rope {
	uint64_t map;
	uint32_t hash, length;
	uint64_t first, second;
};

/* As ropes and texts begin. */
struct string_head {
	uint64_t map;
	uint32_t hash, length;
};

static struct rope rope_of(const void *first, const void *second)
{
	const struct string_head *parts[] = {first, second};
	return (struct rope){.map = to(&maps[6]),
		.length = parts[0]->length + parts[1]->length,
		.first = to(first),
		.second = to(second)};
}

/* Both parts count: a tree of eight levels with all of a limit in each leaf is no longer than it.
 */
TEST(strings_of_two_parts_are_cut_at_their_limit)
{
	CLEANUP(str_deinit) struct str out = {0};
	const struct node_reader reading = {.pid = (uint32_t)getpid()};
	struct text ab = text_of("ab"), cde = text_of("cde");
	struct rope two = rope_of(&ab, &cde), three = rope_of(&two, &cde), tree[8];
	CHECK(node_object_put_string(&reading, to(&three), 100, &out));
	CHECK_STR(str_text(&out), "abcdecde");
	str_truncate(&out, 0);
	CHECK(node_object_put_string(&reading, to(&three), 4, &out));
	CHECK_STR(str_text(&out), "abcd");
	str_truncate(&out, 0);
	CHECK(node_object_put_string(&reading, to(&three), 6, &out));
	CHECK_STR(str_text(&out), "abcdec");
	str_truncate(&out, 0);
	tree[0] = rope_of(&cde, &cde);
	for (int i = 1; i < 8; i++)
		tree[i] = rope_of(&tree[i - 1], &tree[i - 1]);
	CHECK(node_object_put_string(&reading, to(&tree[7]), 11, &out));
	CHECK_STR(str_text(&out), "cdecdecdecd");
}

/* What the recorder reads of BEAM's modules: of this process. */
#include <string.h>
#include <unistd.h>

#include "bpf/runtime/erlang/erlang_row.h"
#include "record/runtime/erlang/erlang_lines.h"
#include "record/runtime/erlang/erlang_names.h"
#include "record/runtime/runtime_inlined.h"
#include "tests/unit/unit.h"

enum {
	FUNCTIONS_AT = 96,
	LINES_AT = 72,
	WORDS = 128,
	INFO = 64, /* words of the module: the code info of its second function, and its end */
	END = 96,
	MD5 = 40,
};

struct atom_entry {
	uint64_t slot[3];
	int16_t len, latin1;
	int32_t ordinal;
	const char *text;
};

struct module {
	uint64_t words[WORDS];
	uint64_t files[1], starts[5];
	uint16_t locations[4];
	struct {
		const uint64_t *files;
		int32_t location_bytes, zero;
		const uint16_t *locations;
		const uint64_t *functions[3];
	} lines;
	struct atom_entry atoms[3];
	const struct atom_entry *segment[3];
	const void *segments[1];
	const void *atom_table;
	uint64_t pairs[6]; /* a list of three characters */
	struct erlang_function given;
};

static uint64_t place(const struct module *module, uint32_t word)
{
	return (uintptr_t)&module->words[word];
}

static uint64_t atom(uint64_t number)
{
	return number << 6 | 0xb;
}

static void put_atom(struct module *module, uint32_t number, const char *text)
{
	module->atoms[number] = (struct atom_entry){.len = (int16_t)strlen(text), .text = text};
	module->segment[number] = &module->atoms[number];
}

/* m:f/2: from word 70 on line 7 of its own file, from word 80 on line 9 of another. */
static void make_module(struct module *module)
{
	memset(module, 0, sizeof(*module));
	put_atom(module, 0, "m");
	put_atom(module, 1, "f");
	put_atom(module, 2, "other.hrl");
	module->segments[0] = module->segment;
	module->atom_table = module->segments;
	module->words[0] = 2;
	module->words[LINES_AT / 8] = (uintptr_t)&module->lines;
	module->words[FUNCTIONS_AT / 8] = place(module, 48);
	module->words[FUNCTIONS_AT / 8 + 1] = place(module, INFO);
	module->words[FUNCTIONS_AT / 8 + 2] = place(module, END);
	module->words[MD5] = 1;
	module->words[MD5 + 1] = 2;
	module->words[INFO + 2] = atom(0);
	module->words[INFO + 3] = atom(1);
	module->words[INFO + 4] = 2;
	module->files[0] = atom(2);
	module->starts[0] = place(module, 50);
	module->starts[1] = place(module, 70);
	module->starts[2] = place(module, 80);
	module->starts[3] = place(module, END);
	module->locations[0] = 1;
	module->locations[1] = 7;
	module->locations[2] = 9;
	module->lines.files = module->files;
	module->lines.location_bytes = 2;
	module->lines.locations = module->locations;
	module->lines.functions[0] = &module->starts[0];
	module->lines.functions[1] = &module->starts[1];
	module->lines.functions[2] = &module->starts[3];
	module->given = (struct erlang_function){.module = place(module, 0),
		.info = place(module, INFO),
		.atoms = (uintptr_t)&module->atom_table,
		.md5_at = place(module, MD5),
		.md5 = {1, 2},
		.functions_at = FUNCTIONS_AT};
}

static bool read_module(const struct module *module, struct runtime_inlined *ret)
{
	static struct bytes_buf bytes;
	bytes_buf_deinit(&bytes);
	bytes = (struct bytes_buf){0};
	return erlang_lines_read(
		       NULL, (uint32_t)getpid(), &module->given, sizeof(module->given), &bytes) &&
	       runtime_inlined_get(bytes.data, bytes.len, ret);
}

static const struct runtime_inlined_scope *scope_at(
	const struct runtime_inlined *inlined, uint32_t word)
{
	bool is_exact;
	uint32_t scope = runtime_inlined_find(inlined, (word - INFO) * 8, true, &is_exact);
	return scope && is_exact ? &inlined->scopes.data[scope - 1] : NULL;
}

TEST(lines_of_functions_of_erlang)
{
	struct module module;
	struct runtime_inlined inlined;
	make_module(&module);
	CHECK(read_module(&module, &inlined));
	CHECK_INT(inlined.functions.len, 1);
	if (inlined.functions.len) {
		const struct runtime_inlined_function *function = &inlined.functions.data[0];
		CHECK_INT(function->name_len, 5);
		CHECK(memcmp(function->name, "m:f/2", 5) == 0);
		CHECK_INT(function->file_len, 5);
		CHECK(memcmp(function->file, "m.erl", 5) == 0);
	}
	CHECK(!scope_at(&inlined, 69)); /* ahead of the first line */
	CHECK_INT(scope_at(&inlined, 70) ? scope_at(&inlined, 70)->line : 0, 7);
	CHECK_INT(scope_at(&inlined, 79) ? scope_at(&inlined, 79)->line : 0, 7);
	CHECK_INT(scope_at(&inlined, 95) ? scope_at(&inlined, 95)->line : 0, 9);
	runtime_inlined_deinit(&inlined);
}

/* Locations of four bytes: the file is above the line. */
TEST(functions_of_erlang_have_lines_of_several_files)
{
	struct module module;
	struct runtime_inlined inlined;
	uint32_t locations[] = {1, 7, 1U << 24 | 9};
	make_module(&module);
	module.lines.location_bytes = 4;
	module.lines.locations = (const uint16_t *)locations;
	CHECK(read_module(&module, &inlined));
	CHECK_INT(inlined.functions.len, 2);
	if (inlined.functions.len == 2) {
		CHECK_INT(inlined.functions.data[1].file_len, 9);
		CHECK(memcmp(inlined.functions.data[1].file, "other.hrl", 9) == 0);
	}
	CHECK_INT(scope_at(&inlined, 80) ? scope_at(&inlined, 80)->function : 0, 1);
	runtime_inlined_deinit(&inlined);
	/* A file's name as a list of characters. */
	for (int i = 0; i < 3; i++) {
		module.pairs[i * 2] = (uint64_t) "a.x"[i] << 4 | 0xf;
		module.pairs[i * 2 + 1] = i < 2 ? (uintptr_t)&module.pairs[i * 2 + 2] | 1 : 0x3b;
	}
	module.files[0] = (uintptr_t)module.pairs | 1;
	CHECK(read_module(&module, &inlined));
	CHECK(inlined.functions.len == 2 && inlined.functions.data[1].file_len == 3 &&
		memcmp(inlined.functions.data[1].file, "a.x", 3) == 0);
	runtime_inlined_deinit(&inlined);
}

TEST(another_module_of_erlang_has_no_lines_of_the_one_before)
{
	struct module module;
	struct runtime_inlined inlined;
	make_module(&module);
	module.words[MD5 + 1] = 3;
	CHECK(!read_module(&module, &inlined));
}

TEST(modules_of_erlang_that_make_no_sense_are_not_read)
{
	struct module module;
	struct runtime_inlined inlined;
	make_module(&module);
	module.starts[2] = place(&module, 60); /* they do not ascend */
	CHECK(!read_module(&module, &inlined));
	make_module(&module);
	module.words[0] = ~0ULL;
	CHECK(!read_module(&module, &inlined));
	make_module(&module);
	module.lines.functions[2] = &module.starts[0];
	CHECK(!read_module(&module, &inlined));
	make_module(&module);
	module.lines.location_bytes = 3;
	CHECK(!read_module(&module, &inlined));
	make_module(&module);
	module.given.info = 1;
	CHECK(!read_module(&module, &inlined));
}

TEST(functions_of_elixir_are_called_as_there)
{
	static const char *const names[][2] = {{"Elixir.Enum:map/2", "Enum.map/2"},
		{"Elixir.A.B:-run/1-fun-0-/2", "A.B.-run/1-fun-0-/2"},
		{"lists:map/2", "lists:map/2"}, {"Elixir", "Elixir"}, {"", ""}};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CLEANUP(str_deinit) struct str name = {0};
		struct str file = {0};
		str_printf(&name, "%s", names[i][0]);
		erlang_names_put_texts(&name, &file);
		CHECK_STR(str_text(&name), names[i][1]);
	}
}

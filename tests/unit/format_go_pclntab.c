/* Go's table of functions in each of its versions, forged in a file of nothing else. */
#include <string.h>

#include "format/elf/go_inline.h"
#include "format/elf/go_lines.h"
#include "format/elf/go_pclntab.h"
#include "format/elf/go_values.h"
#include "tests/unit/forged_go.h"
#include "tests/unit/unit.h"

enum {
	TEXT = FORGED_GO_TEXT,
	TABLE_OFFSET = FORGED_GO_OFFSET,
};

static void put_elf(struct bytes_buf *out, int version, uint64_t text_start)
{
	forged_go_put(out, &(struct forged_go){.version = version,
				   .text_start = text_start,
				   .has_no_record = !text_start});
}

struct deltas {
	uint64_t addresses[8];
	int32_t deltas[8];
	size_t count;
};

static void on_sp(void *context, uint64_t address, int32_t delta)
{
	struct deltas *deltas = context;
	if (deltas->count == 8)
		return;
	deltas->addresses[deltas->count] = address;
	deltas->deltas[deltas->count++] = delta;
}

static void check_version(int version)
{
	struct bytes_buf file = {0};
	struct elf_file *elf;
	struct go_pclntab *table;
	put_elf(&file, version, TEXT);
	CHECK_OK(elf_file_open_memory(file.data, file.len, &elf));
	CHECK_OK(go_pclntab_open(elf, &table));
	CHECK_INT(go_pclntab_count(table), 2);
	struct go_function function;
	CHECK(go_pclntab_function(table, 0, &function));
	CHECK_STR(go_pclntab_name(table, function.name), "main.a");
	CHECK_INT(function.start, TEXT);
	CHECK_INT(function.end, TEXT + 0x40);
	struct deltas deltas = {0};
	CHECK_INT(go_pclntab_walk_sp(table, &function, on_sp, &deltas), TEXT + 0x40);
	CHECK_INT(deltas.count, 3);
	static const int32_t want[] = {0, 24, 0}, at[] = {0, 4, 0x34};
	for (size_t i = 0; i < 3; i++) {
		CHECK_INT(deltas.addresses[i], TEXT + at[i]);
		CHECK_INT(deltas.deltas[i], want[i]);
	}
	CHECK(go_pclntab_function(table, 1, &function));
	CHECK_STR(go_pclntab_name(table, function.name), "runtime.goexit");
	CHECK_INT(function.end, TEXT + 0x60);
	CHECK_INT(function.flags, version == 2 ? 0 : GO_FUNCTION_TOP_FRAME);
	CHECK(!go_pclntab_function(table, 2, &function));
	go_pclntab_destroy(table);
	elf_file_destroy(elf);
	bytes_buf_deinit(&file);
}

/* The index of the function that holds an address, from any hint; -1 for none. */
static int find(struct go_pclntab *table, uint64_t address, uint32_t hint)
{
	return go_pclntab_find(table, address, &hint) ? (int)hint : -1;
}

static void check_find(struct go_pclntab *table)
{
	for (uint32_t hint = 0; hint < 4; hint++) {
		CHECK_INT(find(table, TEXT - 1, hint), -1);
		CHECK_INT(find(table, TEXT, hint), 0);
		CHECK_INT(find(table, TEXT + 0x3f, hint), 0);
		CHECK_INT(find(table, TEXT + 0x40, hint), 1);
		CHECK_INT(find(table, TEXT + 0x5f, hint), 1);
		CHECK_INT(find(table, TEXT + 0x60, hint), -1);
	}
}

static void check_lines(struct go_pclntab *table, const struct go_function *function)
{
	struct go_values files = {0}, lines = {0};
	static const struct {
		uint32_t into;
		int32_t line;
		const char *path;
	} want[] = {{0x3f, 13, "/a.go"}, {0, 10, "/a.go"}, {8, 12, "/a.go"}, {0x10, 300, "/b.go"},
		{0x2f, 310, "/b.go"}, {7, 10, "/a.go"}, {0x40, -1, ""}};
	go_values_start(&files, table, function, function->file_table);
	go_values_start(&lines, table, function, function->line_table);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		int32_t number = go_values_at(&files, want[i].into);
		uint32_t file = go_lines_file(table, function, number);
		CHECK_INT(go_values_at(&lines, want[i].into), want[i].line);
		CHECK_STR(go_lines_path(table, file), want[i].path);
	}
	CHECK_INT(lines.nr_read, 5);
	go_values_deinit(&files);
	go_values_deinit(&lines);
}

static void check_inlines(struct go_pclntab *table, const struct go_function *function)
{
	struct go_inline *inlines;
	struct go_inline_tree tree;
	struct go_inlined call;
	CHECK_OK(go_inline_open(table, &inlines));
	CHECK(inlines);
	CHECK(go_inline_tree(inlines, function, &tree));
	CHECK(go_inline_call(inlines, &tree, 1, &call));
	CHECK_STR(go_pclntab_name(table, call.name), "main.deep");
	CHECK_INT(call.call, 0x10);
	CHECK(!go_inline_call(inlines, &tree, -1, &call));
	CHECK(!go_inline_call(inlines, &tree, 1 << 20, &call));
	go_inline_destroy(inlines);
}

static void check_whole(const struct forged_go *forged)
{
	struct bytes_buf file = {0};
	struct elf_file *elf;
	struct go_pclntab *table;
	struct go_function function;
	forged_go_put(&file, forged);
	CHECK_OK(elf_file_open_memory(file.data, file.len, &elf));
	CHECK(go_pclntab_is_in(elf));
	CHECK_OK(go_pclntab_map(elf, &table));
	CHECK(table);
	check_find(table);
	CHECK(go_pclntab_function(table, 0, &function));
	CHECK_INT(function.start_line, forged->version == 20 ? 9 : 0);
	check_lines(table, &function);
	check_inlines(table, &function);
	go_pclntab_destroy(table);
	elf_file_destroy(elf);
	bytes_buf_deinit(&file);
}

TEST(go_pclntab_lines_and_inlines_of_every_version)
{
	check_whole(&(struct forged_go){.version = 2, .text_start = TEXT});
	check_whole(&(struct forged_go){.version = 16, .text_start = TEXT});
	check_whole(&(struct forged_go){.version = 18, .text_start = TEXT});
	check_whole(&(struct forged_go){.version = 20, .text_start = TEXT});
}

/* The code's address stands in the linker's record alone; that, or the table, is hard to find. */
TEST(go_pclntab_finds_what_the_linker_hid)
{
	check_whole(&(struct forged_go){.version = 20});
	check_whole(&(struct forged_go){.version = 18, .is_hidden = true});
	check_whole(&(struct forged_go){.version = 20, .is_relocated = true});
	check_whole(&(struct forged_go){.version = 18, .is_relocated = true, .is_hidden = true});
}

TEST(go_pclntab_of_every_version)
{
	check_version(2);
	check_version(16);
	check_version(18);
	check_version(20);
}

static void check_refused(const struct bytes_buf *file, int code, const char *why)
{
	struct elf_file *elf;
	struct go_pclntab *table;
	CHECK_OK(elf_file_open_memory(file->data, file->len, &elf));
	CHECK_ERR(go_pclntab_open(elf, &table), code, why);
	elf_file_destroy(elf);
}

TEST(go_pclntab_of_other_files)
{
	struct bytes_buf file = {0};
	struct elf_file *elf;
	struct go_pclntab *table;
	put_elf(&file, 20, 0); /* nothing says where the code is */
	check_refused(&file, ERR_UNSUPPORTED, "the code's address is unknown");
	file.data[TABLE_OFFSET] = 0xf2;
	check_refused(&file, ERR_UNSUPPORTED, "version 0xfffffff2");
	file.data[TABLE_OFFSET + 7] = 4;
	check_refused(&file, ERR_UNSUPPORTED, "pointers of 4 bytes");
	file.data[TABLE_OFFSET + 5] = 4;
	check_refused(&file, ERR_FORMAT, "no header");
	file.data[0x302] = 'x'; /* the section has another name, and there is no .data.rel.ro */
	CHECK_OK(elf_file_open_memory(file.data, file.len, &elf));
	CHECK_OK(go_pclntab_open(elf, &table));
	CHECK(!table);
	elf_file_destroy(elf);
	bytes_buf_deinit(&file);
}

static void visit(const struct bytes_buf *file)
{
	struct elf_file *elf;
	struct go_pclntab *table = NULL;
	struct err *err = elf_file_open_memory(file->data, file->len, &elf);
	if (err) {
		err_destroy(err);
		return;
	}
	err = go_pclntab_open(elf, &table);
	struct go_function function;
	struct go_inline *inlines = NULL;
	struct deltas deltas = {0};
	if (table)
		err_destroy(go_inline_open(table, &inlines));
	go_inline_destroy(inlines);
	for (uint32_t i = 0; table && i < go_pclntab_count(table); i++)
		if (go_pclntab_function(table, i, &function)) {
			CHECK(strlen(go_pclntab_name(table, function.name)) < file->len);
			CHECK(go_pclntab_walk_sp(table, &function, on_sp, &deltas) <= function.end);
		}
	err_destroy(err);
	go_pclntab_destroy(table);
	elf_file_destroy(elf);
}

/* Whatever is flipped: no crash, nothing outside of the table is read (sanitizers). */
TEST(go_pclntab_survives_damage)
{
	static const int versions[] = {2, 16, 18, 20};
	for (size_t v = 0; v < 4; v++) {
		struct bytes_buf file = {0};
		put_elf(&file, versions[v], TEXT);
		for (size_t bit = TABLE_OFFSET * 8; bit < file.len * 8; bit++) {
			file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			visit(&file);
			file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		bytes_buf_deinit(&file);
	}
}

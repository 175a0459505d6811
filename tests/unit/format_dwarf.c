#include <string.h>

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "format/dwarf/dwarf_line_machine.h"
#include "format/dwarf/dwarf_names.h"
#include "format/dwarf/dwarf_ranges.h"
#include "format/dwarf/dwarf_scopes.h"
#include "format/dwarf/dwarf_walk.h"
#include "tests/unit/unit.h"

/* One unit of DWARF 4 or 5 under construction, with addresses of 8 bytes. */
struct builder {
	struct bytes_buf info, abbrev, ranges;
	uint8_t version;
	bool is_64;
};

static void put(struct bytes_buf *buf, const char *bytes, size_t len)
{
	bytes_put(buf, bytes, len);
}

#define PUT(buf, bytes) put((buf), (bytes), sizeof(bytes) - 1)

static void start_unit(struct builder *builder, uint8_t version, bool is_64)
{
	*builder = (struct builder){.version = version, .is_64 = is_64};
	if (is_64)
		bytes_put_u32(&builder->info, 0xffffffff);
	bytes_put_u32(&builder->info, 0); /* the length, filled in at last */
	if (is_64)
		bytes_put_u32(&builder->info, 0);
	bytes_put_u16(&builder->info, version);
	if (version >= 5)
		PUT(&builder->info, "\x01\x08");
	bytes_put_u32(&builder->info, 0);
	if (is_64)
		bytes_put_u32(&builder->info, 0);
	if (version < 5)
		bytes_put_u8(&builder->info, 8);
}

static void finish(struct builder *builder, struct dwarf_file *file)
{
	size_t at = builder->is_64 ? 4 : 0, bytes = builder->is_64 ? 12 : 4;
	size_t len = builder->info.len - bytes;
	for (size_t i = 0; i < 4; i++)
		builder->info.data[at + i] = (uint8_t)(len >> 8 * i);
	*file = (struct dwarf_file){0};
	file->sections[DWARF_INFO] = (struct dwarf_span){builder->info.data, builder->info.len};
	file->sections[DWARF_ABBREV] =
		(struct dwarf_span){builder->abbrev.data, builder->abbrev.len};
	enum dwarf_section_id id = builder->version >= 5 ? DWARF_RNGLISTS : DWARF_RANGES;
	file->sections[id] = (struct dwarf_span){builder->ranges.data, builder->ranges.len};
	dwarf_file_read_units(file);
	CHECK_INT(file->units.len, 1);
}

static void discard(struct builder *builder, struct dwarf_file *file)
{
	bytes_buf_deinit(&builder->info);
	bytes_buf_deinit(&builder->abbrev);
	bytes_buf_deinit(&builder->ranges);
	dwarf_file_deinit(file);
}

/* The names from the innermost function to the outermost, with '<' between them. */
static void check_chain(struct dwarf_file *file, uint64_t address, const char *want)
{
	struct dwarf_reader reader;
	struct dwarf_walk walk = {0};
	CLEANUP(str_deinit) struct str names = {0};
	uint32_t node;
	dwarf_reader_init(&reader, file);
	struct dwarf_unit *unit = dwarf_reader_unit(&reader, file, 0);
	dwarf_walk_unit(&walk, unit, &address, 1, &node);
	for (; node; node = walk.nodes.data[node].parent) {
		struct dwarf_die die = {unit, walk.nodes.data[node].die};
		struct dwarf_call call;
		struct dwarf_function function;
		dwarf_read_call(&reader, die, &call);
		dwarf_read_function(
			&reader, walk.nodes.data[node].parent ? call.function : die, &function);
		if (names.len)
			str_putc(&names, '<');
		str_write(&names, function.name.data, function.name.len);
	}
	CHECK_STR(str_text(&names), want);
	dwarf_walk_deinit(&walk);
	dwarf_reader_deinit(&reader);
}

/*
 * 1 unit, 2 function (name, low, high as data8), 3 inlined (origin ref4, low, high as an address),
 * 4 function without addresses (name), 5 function (name, ranges), 6 function (name, low,
 * high as an implicit constant of 16), 7 a block without addresses.
 */
static void put_abbrevs(struct bytes_buf *out)
{
	PUT(out, "\x01\x11\x01\x00\x00");
	PUT(out, "\x02\x2e\x01\x03\x08\x11\x01\x12\x07\x00\x00");
	PUT(out, "\x03\x1d\x00\x31\x13\x11\x01\x12\x01\x00\x00");
	PUT(out, "\x04\x2e\x00\x03\x08\x00\x00");
	PUT(out, "\x05\x2e\x00\x03\x08\x55\x17\x00\x00");
	PUT(out, "\x06\x2e\x00\x03\x08\x11\x01\x12\x21\x10\x00\x00");
	PUT(out, "\x07\x0b\x01\x00\x00");
	PUT(out, "\x00");
}

static void put_function(struct builder *builder, const char *name, uint64_t low, uint64_t len)
{
	bytes_put_u8(&builder->info, 2);
	bytes_put(&builder->info, name, strlen(name) + 1);
	bytes_put_u64(&builder->info, low);
	bytes_put_u64(&builder->info, len);
}

/* A function in another one is no inlined call, and what it inlines is its own. */
TEST(nested_functions_and_inlined_calls)
{
	for (int is_64 = 0; is_64 < 2; is_64++) {
		struct builder builder;
		struct dwarf_file file;
		start_unit(&builder, 5, is_64);
		put_abbrevs(&builder.abbrev);
		PUT(&builder.info, "\x01");
		uint32_t abstract = (uint32_t)builder.info.len;
		PUT(&builder.info, "\x04small\0");
		put_function(&builder, "outer", 0x1000, 0x100);
		PUT(&builder.info, "\x07");
		put_function(&builder, "nested", 0x2000, 0x20);
		bytes_put_u8(&builder.info, 3);
		bytes_put_u32(&builder.info, abstract);
		bytes_put_u64(&builder.info, 0x2008);
		bytes_put_u64(&builder.info, 0x2010);
		PUT(&builder.info, "\x00\x00\x00\x00");
		finish(&builder, &file);
		check_chain(&file, 0x2007, "nested");
		check_chain(&file, 0x2008, "small<nested");
		check_chain(&file, 0x2010, "nested");
		check_chain(&file, 0x10ff, "outer");
		check_chain(&file, 0x1100, "");
		discard(&builder, &file);
	}
}

/* What stands below may be outside of the one range that there is, and in a later function's. */
TEST(pieces_in_version_2)
{
	for (uint8_t version = 2; version <= 3; version++) {
		struct builder builder;
		struct dwarf_file file;
		start_unit(&builder, version, false);
		put_abbrevs(&builder.abbrev);
		PUT(&builder.info, "\x01");
		uint32_t abstract = (uint32_t)builder.info.len;
		PUT(&builder.info, "\x04small\0");
		put_function(&builder, "outer", 0x1000, 0x10);
		PUT(&builder.info, "\x07");
		bytes_put_u8(&builder.info, 3);
		bytes_put_u32(&builder.info, abstract);
		bytes_put_u64(&builder.info, 0x2008);
		bytes_put_u64(&builder.info, 0x2010);
		PUT(&builder.info, "\x00\x00");
		put_function(&builder, "cold", 0x2000, 0x20);
		PUT(&builder.info, "\x00\x00");
		finish(&builder, &file);
		check_chain(&file, 0x1008, "outer");
		check_chain(&file, 0x2007, "cold");
		check_chain(&file, 0x2008, version == 2 ? "small<outer" : "cold");
		discard(&builder, &file);
	}
}

TEST(implicit_constant_is_a_length)
{
	struct builder builder;
	struct dwarf_file file;
	start_unit(&builder, 5, false);
	put_abbrevs(&builder.abbrev);
	PUT(&builder.info, "\x01\x06short\0");
	bytes_put_u64(&builder.info, 0x3000);
	PUT(&builder.info, "\x00");
	finish(&builder, &file);
	check_chain(&file, 0x300f, "short");
	check_chain(&file, 0x3010, "");
	discard(&builder, &file);
}

/* DWARF 4: a base address entry, a tombstone, and a list that is not ended. */
TEST(ranges_of_version_4)
{
	struct builder builder;
	struct dwarf_file file;
	start_unit(&builder, 4, false);
	put_abbrevs(&builder.abbrev);
	PUT(&builder.info, "\x01\x05parts\0\0\0\0\0\x00");
	const uint64_t words[] = {UINT64_MAX, 0x5000, 0x10, 0x20, UINT64_MAX, UINT64_MAX, 0, 0x8000,
		UINT64_MAX, 0, 0x6000, 0x6001};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		bytes_put_u64(&builder.ranges, words[i]);
	finish(&builder, &file);
	check_chain(&file, 0x5010, "parts");
	check_chain(&file, 0x5020, "");
	check_chain(&file, 0x7000, "");
	check_chain(&file, 0x6000, "parts");
	discard(&builder, &file);
}

/* Origins that lead in a circle end, and so do those that lead nowhere. */
TEST(origins_end)
{
	static const uint32_t offsets[] = {13, 0, 0xffffffff};
	for (size_t i = 0; i < 3; i++) {
		struct builder builder;
		struct dwarf_file file;
		start_unit(&builder, 5, false);
		PUT(&builder.abbrev, "\x01\x11\x01\x00\x00\x02\x2e\x00\x31\x13\x00\x00\x00");
		PUT(&builder.info, "\x01\x02");
		bytes_put_u32(&builder.info, offsets[i]);
		PUT(&builder.info, "\x00");
		finish(&builder, &file);
		struct dwarf_reader reader;
		dwarf_reader_init(&reader, &file);
		struct dwarf_die die = {dwarf_reader_unit(&reader, &file, 0), 13};
		struct dwarf_function function;
		dwarf_read_function(&reader, die, &function);
		CHECK_INT(function.name.len, 0);
		dwarf_reader_deinit(&reader);
		discard(&builder, &file);
	}
}

/* A reference of 4 bytes that was left open, to what comes next. */
static void point_here(struct builder *builder, size_t at)
{
	builder->info.data[at] = (uint8_t)builder->info.len;
}

static size_t put_reference(struct builder *builder)
{
	bytes_put_u32(&builder->info, 0);
	return builder->info.len - 4;
}

/*
 * namespace app { namespace { struct Cursor { void step(); }; void loose(); }
 * void run() { { [] {}; } void elsewhere(); } } void Cursor::step() {} void plain();
 */
static void put_scopes(struct builder *builder, uint8_t language, size_t dies[6])
{
	PUT(&builder->abbrev, "\x01\x11\x01\x13\x0b\x00\x00");
	PUT(&builder->abbrev, "\x02\x39\x01\x03\x08\x01\x13\x00\x00");
	PUT(&builder->abbrev, "\x03\x39\x01\x00\x00");
	PUT(&builder->abbrev, "\x04\x13\x01\x03\x08\x01\x13\x00\x00");
	PUT(&builder->abbrev, "\x05\x2e\x00\x03\x08\x00\x00");
	PUT(&builder->abbrev, "\x06\x2e\x00\x47\x13\x00\x00");
	PUT(&builder->abbrev, "\x07\x2e\x01\x03\x08\x00\x00");
	PUT(&builder->abbrev, "\x08\x13\x01\x00\x00\x09\x0b\x01\x00\x00\x00");
	PUT(&builder->info, "\x01");
	bytes_put_u8(&builder->info, language);
	PUT(&builder->info, "\x02"
			    "app\0");
	size_t behind_app = put_reference(builder);
	PUT(&builder->info, "\x03\x04"
			    "Cursor\0");
	size_t behind_cursor = put_reference(builder);
	size_t step = builder->info.len;
	PUT(&builder->info, "\x05step\0\x00");
	point_here(builder, behind_cursor);
	dies[1] = builder->info.len;
	PUT(&builder->info, "\x05loose\0\x00\x07run\0\x09\x08");
	dies[2] = builder->info.len;
	PUT(&builder->info, "\x05operator()\0\x00\x00");
	dies[3] = builder->info.len;
	PUT(&builder->info, "\x05"
			    "elsewhere\0\x00\x00");
	point_here(builder, behind_app);
	dies[0] = builder->info.len;
	PUT(&builder->info, "\x06");
	bytes_put_u32(&builder->info, (uint32_t)step);
	dies[4] = builder->info.len;
	PUT(&builder->info, "\x05plain\0\x00");
	dies[5] = 1000; /* of no unit */
}

TEST(scopes_of_names_without_a_linkage_name)
{
	static const char *const wanted[] = {"app::(anonymous namespace)::Cursor::",
		"app::(anonymous namespace)::", "app::run::{lambda}::", "", "", ""};
	static const struct {
		uint8_t number;
		bool has_scopes;
	} languages[] = {
		{0x21, true},  /* C++14 */
		{0x2a, true},  /* C++17 */
		{0x2b, true},  /* C++20 */
		{0x3a, true},  /* C++23 */
		{0, true},     /* none */
		{0x0c, false}, /* C99 */
		{0x2c, false}, /* C17 */
	};
	for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++) {
		struct builder builder;
		struct dwarf_file file;
		size_t dies[6];
		start_unit(&builder, 5, false);
		put_scopes(&builder, languages[i].number, dies);
		finish(&builder, &file);
		struct dwarf_reader reader;
		struct dwarf_scopes scopes = {0};
		dwarf_reader_init(&reader, &file);
		struct dwarf_unit *unit = dwarf_reader_unit(&reader, &file, 0);
		for (size_t j = 0; j < 6; j++) {
			CLEANUP(str_deinit) struct str text = {0};
			dwarf_scopes_put(
				&scopes, &reader, (struct dwarf_die){unit, dies[j]}, &text);
			CHECK_STR(str_text(&text), languages[i].has_scopes ? wanted[j] : "");
		}
		dwarf_scopes_deinit(&scopes);
		dwarf_reader_deinit(&reader);
		discard(&builder, &file);
	}
}

/* A unit whose DIEs say no siblings is read over for each of many others: for some of them. */
TEST(scopes_have_a_limit)
{
	enum {
		DIES = 1000,
		OTHERS = 4000,
	};
	struct builder builder;
	struct dwarf_file file;
	size_t named = 0;
	start_unit(&builder, 5, false);
	PUT(&builder.abbrev, "\x01\x11\x01\x13\x0b\x00\x00");
	PUT(&builder.abbrev, "\x02\x39\x01\x03\x08\x01\x13\x00\x00");
	PUT(&builder.abbrev, "\x03\x39\x01\x00\x00");
	PUT(&builder.abbrev, "\x04\x2e\x00\x03\x08\x00\x00\x00");
	PUT(&builder.info, "\x01\x21");
	for (int i = 0; i < DIES; i++)
		PUT(&builder.info, "\x03\x00");
	PUT(&builder.info, "\x03");
	size_t die = builder.info.len;
	PUT(&builder.info, "\x04"
			   "last\0\x00\x00");
	finish(&builder, &file);
	struct dwarf_reader reader;
	dwarf_reader_init(&reader, &file);
	struct dwarf_unit *unit = dwarf_reader_unit(&reader, &file, 0);
	for (int i = 0; i < OTHERS; i++) {
		CLEANUP(str_deinit) struct str text = {0};
		struct dwarf_scopes scopes = {0};
		dwarf_scopes_put(&scopes, &reader, (struct dwarf_die){unit, die}, &text);
		named += strcmp(str_text(&text), "(anonymous namespace)::") == 0;
		dwarf_scopes_deinit(&scopes);
	}
	CHECK(named > OTHERS / 100 && named < OTHERS / 2);
	dwarf_reader_renew_limits(&reader);
	CLEANUP(str_deinit) struct str text = {0};
	struct dwarf_scopes scopes = {0};
	dwarf_scopes_put(&scopes, &reader, (struct dwarf_die){unit, die}, &text);
	CHECK_STR(str_text(&text), "(anonymous namespace)::");
	dwarf_scopes_deinit(&scopes);
	dwarf_reader_deinit(&reader);
	discard(&builder, &file);
}

/* What was read by an earlier run is no reason to read nothing in the next one. */
TEST(limits_are_renewed)
{
	struct builder builder;
	struct dwarf_file file;
	start_unit(&builder, 5, false);
	PUT(&builder.abbrev, "\x01\x11\x00\x00\x00\x00");
	PUT(&builder.info, "\x01");
	finish(&builder, &file);
	struct dwarf_reader reader;
	dwarf_reader_init(&reader, &file);
	reader.effort = UINT64_MAX / 2;
	CHECK(!dwarf_reader_unit(&reader, &file, 0));
	dwarf_reader_renew_limits(&reader);
	CHECK(dwarf_reader_unit(&reader, &file, 0));
	dwarf_reader_deinit(&reader);
	discard(&builder, &file);
}

/* DWARF 5: file 0 is the first; line 0 is no line, and no error; a dropped sequence counts not. */
TEST(lines_of_version_5)
{
	static const char program[] =
		"\x00\x00\x00\x00\x05\x00\x08\x00\x00\x00\x00\x00\x01\x01\x01\xfb\x0e\x0d"
		"\x00\x01\x01\x01\x01\x00\x00\x00\x01\x00\x00\x01"
		"\x01\x01\x08\x01/d\0"
		"\x02\x01\x08\x02\x0b\x01"
		"a.c\0\x00"
		"\x00\x09\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x02\xff\x7f\x00\x01\x01"
		"\x00\x09\x02\x00\x10\x00\x00\x00\x00\x00\x00\x04\x00\x03\x04\x01\x02\x04"
		"\x03\x7b\x01\x02\x04\x00\x01\x01";
	struct bytes_buf line = {0};
	bytes_put(&line, program, sizeof(program) - 1);
	line.data[0] = (uint8_t)(line.len - 4);
	line.data[8] = 36; /* the header behind its own length */
	struct dwarf_file file = {.sections[DWARF_LINE] = {line.data, line.len}};
	vec_push(&file.code, (struct dwarf_code){0x1000, 0x2000});
	struct dwarf_line_header *header = dwarf_line_header_create(&file, 0, 8);
	CHECK(header);
	const uint64_t addresses[] = {0x10, 0x1003, 0x1004, 0x1008};
	struct dwarf_row rows[4] = {0};
	CLEANUP(str_deinit) struct str path = {0};
	if (header) {
		dwarf_line_run(header, &file, addresses, 4, rows);
		CHECK(dwarf_line_put_path(header, (struct dwarf_span){0}, 0, &path));
		CHECK_STR(str_text(&path), "/d/a.c");
	}
	CHECK(!rows[0].is_known);
	CHECK(rows[1].is_known);
	CHECK_INT(rows[1].line, 5);
	CHECK(rows[2].is_known);
	CHECK_INT(rows[2].line, 0);
	CHECK(!rows[3].is_known);
	dwarf_line_header_destroy(header);
	bytes_buf_deinit(&line);
	dwarf_file_deinit(&file);
}

/* DWARF 5 says the compilation's directory twice: joined it is once, though it is relative. */
TEST(relative_directory_of_version_5)
{
	static const char names[] =
		"\x00\x00\x00\x00\x05\x00\x08\x00\x00\x00\x00\x00\x01\x01\x01\xfb\x0e\x0d"
		"\x00\x01\x01\x01\x01\x00\x00\x00\x01\x00\x00\x01"
		"\x01\x01\x08\x02src\0in\0"
		"\x02\x01\x08\x02\x0b\x02"
		"a.c\0\x00"
		"b.h\0\x01";
	struct bytes_buf line = {0};
	bytes_put(&line, names, sizeof(names) - 1);
	line.data[0] = (uint8_t)(line.len - 4);
	line.data[8] = (uint8_t)(line.len - 12);
	struct dwarf_file file = {.sections[DWARF_LINE] = {line.data, line.len}};
	struct dwarf_line_header *header = dwarf_line_header_create(&file, 0, 8);
	CHECK(header);
	static const struct {
		const char *comp_dir;
		uint64_t number;
		const char *path;
	} cases[] = {{"src", 0, "src/a.c"}, {"src", 1, "src/in/b.h"}, {"/d", 0, "/d/src/a.c"},
		{"", 0, "src/a.c"}};
	for (size_t i = 0; header && i < sizeof(cases) / sizeof(*cases); i++) {
		CLEANUP(str_deinit) struct str path = {0};
		const char *dir = cases[i].comp_dir;
		CHECK(dwarf_line_put_path(header,
			(struct dwarf_span){(const uint8_t *)dir, strlen(dir)}, cases[i].number,
			&path));
		CHECK_STR(str_text(&path), cases[i].path);
	}
	dwarf_line_header_destroy(header);
	bytes_buf_deinit(&line);
}

static uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

/* Opcodes as they come, most of them the usual ones, in sequences of about 60. */
static void put_opcodes(struct bytes_buf *program, uint32_t *state)
{
	for (int i = 0; i < 300; i++) {
		uint32_t kind = draw(state) % 60;
		if (kind == 0 || i == 0) {
			PUT(program, "\x00\x01\x01\x00\x09\x02");
			bytes_put_u64(program, 0x1000 + draw(state) % 0x400);
		} else if (kind < 10) {
			PUT(program, "\x01");
		} else if (kind < 20) {
			bytes_put_u8(program, (uint8_t)(2 + draw(state) % 4)); /* one LEB128 */
			if (draw(state) % 3 == 0)
				bytes_put_u8(program, (uint8_t)(0x80 | draw(state)));
			bytes_put_u8(program, draw(state) & 0x7f);
		} else if (kind < 22) {
			PUT(program, "\x00\x02\x04\x05"); /* a discriminator */
		} else if (kind < 24) {
			bytes_put_u8(program, "\x06\x07\x08\x0a"[draw(state) % 4]);
		} else if (kind == 24) {
			PUT(program, "\x03\x80\x80\x01\x03\xff\xff\x7e");
		} else {
			bytes_put_u8(program, (uint8_t)(13 + draw(state) % 243));
		}
	}
}

/* The loop for usual opcodes does what the machine does: that one runs alone when an opcode
 * that does not even occur has an operand. */
TEST(lines_both_ways)
{
	enum {
		COUNT = 40
	};
	uint32_t state = 1, known = 0;
	for (int round = 0; round < 200; round++) {
		struct bytes_buf line = {0};
		PUT(&line, "\x00\x00\x00\x00\x04\x00\x14\x00\x00\x00\x01\x01\x01\xfb\x0e\x0d"
			   "\x00\x01\x01\x01\x01\x00\x00\x00\x01\x00\x00\x01\x00\x00");
		put_opcodes(&line, &state);
		line.data[0] = (uint8_t)(line.len - 4);
		line.data[1] = (uint8_t)((line.len - 4) >> 8);
		struct dwarf_file file = {.sections[DWARF_LINE] = {line.data, line.len}};
		uint64_t addresses[COUNT];
		for (int i = 0; i < COUNT; i++)
			addresses[i] = 0x1000 + (uint64_t)i * 41;
		struct dwarf_row rows[2][COUNT] = {0};
		for (int way = 0; way < 2; way++) {
			struct dwarf_line_header *header = dwarf_line_header_create(&file, 0, 8);
			CHECK(header);
			if (header && way)
				header->operands[11] = 1;
			if (header)
				dwarf_line_run(header, &file, addresses, COUNT, rows[way]);
			dwarf_line_header_destroy(header);
		}
		for (int i = 0; i < COUNT; i++) {
			CHECK_INT(rows[0][i].is_known, rows[1][i].is_known);
			CHECK_INT(rows[0][i].line, rows[1][i].line);
			CHECK_INT(rows[0][i].file, rows[1][i].file);
			CHECK_INT(rows[0][i].column, rows[1][i].column);
			known += rows[0][i].is_known;
		}
		bytes_buf_deinit(&line);
	}
	CHECK(known > 1000);
}

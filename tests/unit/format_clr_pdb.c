/* Lines of .NET's code: clr_debug_map, from code to IL, and clr_pdb, from IL to lines. */
#include <string.h>

#include "format/base/inflate.h"
#include "format/base/mem.h"
#include "format/clr/clr_debug_map.h"
#include "format/clr/clr_pdb.h"
#include "tests/unit/forged_clr.h"
#include "tests/unit/forged_pdb.h"
#include "tests/unit/unit.h"

static bool read_buffer(void *context, uint64_t offset, void *to, size_t len)
{
	const struct bytes_buf *buf = context;
	if (offset > buf->len || len > buf->len - offset)
		return false;
	memcpy(to, buf->data + offset, len);
	return true;
}

struct fixture {
	struct bytes_buf of_image, of_pdb;
	struct clr_bytes image_bytes, pdb_bytes;
	struct clr_image image;
	struct clr_pdb pdb;
	bool is_open;
};

static void setup(struct fixture *fixture, uint32_t stamp)
{
	fixture->of_image = forged_clr_make();
	fixture->of_pdb = forged_pdb_make(stamp);
	clr_bytes_init(
		&fixture->image_bytes, read_buffer, &fixture->of_image, fixture->of_image.len);
	clr_bytes_init(&fixture->pdb_bytes, read_buffer, &fixture->of_pdb, fixture->of_pdb.len);
	CHECK(clr_image_open(&fixture->image_bytes, false, &fixture->image));
	fixture->is_open = clr_pdb_open(&fixture->pdb_bytes, &fixture->image, &fixture->pdb);
}

static void teardown(struct fixture *fixture)
{
	clr_bytes_deinit(&fixture->image_bytes);
	clr_bytes_deinit(&fixture->pdb_bytes);
	bytes_buf_deinit(&fixture->of_image);
	bytes_buf_deinit(&fixture->of_pdb);
}

static void want_line(const struct fixture *fixture, uint32_t method, uint32_t il, uint32_t line,
	const char *file)
{
	CLEANUP(clr_pdb_points_deinit) struct clr_pdb_points points;
	CLEANUP(str_deinit) struct str path = {0};
	clr_pdb_read_points(&fixture->pdb, method, &points);
	const struct clr_pdb_point *point = clr_pdb_points_find(&points, il);
	CHECK_INT(point ? point->line : 0, line);
	if (point)
		clr_pdb_put_document(&fixture->pdb, point->document, &path);
	CHECK_STR(str_text(&path), file);
}

TEST(clr_pdb_has_lines_and_files)
{
	struct fixture fixture;
	setup(&fixture, FORGED_CLR_PDB_STAMP);
	CHECK(fixture.is_open);
	want_line(&fixture, 1, 0, 0, "");
	want_line(&fixture, 2, 0, 0, ""); /* hidden, and nothing ahead of it */
	want_line(&fixture, 2, 5, 10, "/src/a.cs");
	want_line(&fixture, 2, 11, 10, "/src/a.cs");
	want_line(&fixture, 2, 12, 12, "/src/a.cs");
	want_line(&fixture, 2, 156, 11, "/src/a.cs");
	want_line(&fixture, 2, 100000, 11, "/src/a.cs");
	want_line(&fixture, 3, 3, 20, "/src/a.cs");
	want_line(&fixture, 3, 4, 25, "/src/b.cs");
	want_line(&fixture, 4, 4, 0, "");
	CHECK_INT(clr_metadata_kickoff_method(&fixture.pdb.metadata, 4), 1);
	CHECK_INT(clr_metadata_kickoff_method(&fixture.pdb.metadata, 3), 0);
	teardown(&fixture);
}

TEST(clr_pdb_of_another_image)
{
	struct fixture fixture;
	CLEANUP(str_deinit) struct str path = {0};
	setup(&fixture, FORGED_CLR_PDB_STAMP + 1);
	CHECK(!fixture.is_open);
	clr_image_put_pdb_path(&fixture.image, &path);
	CHECK_STR(str_text(&path), "/src/forged.pdb");
	size_t len;
	CHECK(!clr_pdb_unpack(&fixture.image, &len));
	teardown(&fixture);
}

TEST(clr_pdb_may_be_damaged)
{
	struct bytes_buf pdb = forged_pdb_make(FORGED_CLR_PDB_STAMP);
	for (size_t at = 0; at < pdb.len; at++) {
		struct clr_bytes bytes;
		struct clr_metadata metadata;
		pdb.data[at] ^= 0xff;
		clr_bytes_init(&bytes, read_buffer, &pdb, pdb.len);
		if (clr_metadata_open(&bytes, 0, &metadata)) {
			CLEANUP(clr_pdb_points_deinit) struct clr_pdb_points points;
			CLEANUP(str_deinit) struct str path = {0};
			struct clr_pdb opened = {metadata};
			clr_pdb_read_points(&opened, 2, &points);
			clr_pdb_put_document(&opened, 1, &path);
		}
		clr_bytes_deinit(&bytes);
		pdb.data[at] ^= 0xff;
	}
	bytes_buf_deinit(&pdb);
}

/* ---- from code to IL ---- */

/* `at`: how much stands ahead of it, which code that was compiled at run time has. */
static void want_map(const void *packed, size_t len, enum clr_debug_packing packing, size_t at)
{
	struct bytes_buf buf = {0};
	struct clr_bytes bytes;
	struct clr_debug_map map;
	bytes_put(&buf, packed, len);
	clr_bytes_init(&bytes, read_buffer, &buf, buf.len);
	CHECK(at ? clr_debug_map_read_live(&bytes, 0, packing, 100, &map)
		 : clr_debug_map_read(&bytes, 0, packing, 100, &map));
	CHECK_INT(map.points.len, 3);
	CHECK_INT(map.points.data[0].native, 0);
	CHECK_INT(map.points.data[0].il, CLR_IL_PROLOGUE);
	CHECK_INT(map.points.data[1].native, 19);
	CHECK_INT(map.points.data[1].il, 0);
	CHECK_INT(map.points.data[2].native, 63);
	CHECK_INT(map.points.data[2].il, 12);
	clr_debug_map_deinit(&map);
	/* Of shorter code. */
	bytes.is_bad = false;
	CHECK(!clr_debug_map_read(&bytes, at, packing, 62, &map));
	clr_bytes_deinit(&bytes);
	bytes_buf_deinit(&buf);
}

/* 7 bytes; three pairs: 0 and -2, 19 and 0, 44 on and 12, each with its flags. */
static const uint8_t in_nibbles[] = {0x07, 0x03, 0x21, 0x3a, 0x23, 0x4d, 0x79, 0x00};
/* The same: 6 bits and 4 of each pair, behind two of flags. */
static const uint8_t in_bits[] = {0x07, 0x53, 0x03, 0x02, 0xe1, 0x34, 0xb0, 0x0f};

TEST(clr_debug_map_of_ready_code)
{
	want_map(in_nibbles, sizeof(in_nibbles), CLR_DEBUG_NIBBLES, 0);
	want_map(in_bits, sizeof(in_bits), CLR_DEBUG_BITS, 0);
}

/* 0 and 12, 5 and none, 10 and the epilogue, 15 and none. */
TEST(clr_debug_map_of_code_that_the_compiler_added)
{
	static const uint8_t packed[] = {0x07, 0x04, 0x79, 0x50, 0x02, 0x05, 0x50, 0x02};
	static const int32_t want[] = {12, 12, CLR_IL_EPILOGUE, CLR_IL_NONE};
	struct bytes_buf buf = {0};
	struct clr_bytes bytes;
	struct clr_debug_map map;
	bytes_put(&buf, packed, sizeof(packed));
	clr_bytes_init(&bytes, read_buffer, &buf, buf.len);
	CHECK(clr_debug_map_read(&bytes, 0, CLR_DEBUG_NIBBLES, 100, &map));
	CHECK_INT(map.points.len, 4);
	for (size_t i = 0; i < map.points.len; i++) {
		CHECK_INT(map.points.data[i].native, 5 * i);
		CHECK_INT(map.points.data[i].il, want[i]);
	}
	clr_debug_map_deinit(&map);
	clr_bytes_deinit(&bytes);
	bytes_buf_deinit(&buf);
}

TEST(clr_debug_map_of_live_code)
{
	uint8_t bytes[64] = {1}; /* patchpoints, of one local */
	bytes[1 + 8] = 1;
	memcpy(bytes + 1 + 36, in_nibbles, sizeof(in_nibbles));
	want_map(bytes, sizeof(bytes), CLR_DEBUG_NIBBLES, 1 + 36);
	memset(bytes, 0, sizeof(bytes));
	bytes[0] = 3;
	bytes[1 + 16] = 1;
	bytes[1 + 44] = 2; /* and more, of two bytes */
	memcpy(bytes + 1 + 44 + 6, in_bits, sizeof(in_bits));
	want_map(bytes, sizeof(bytes), CLR_DEBUG_BITS, 1 + 44 + 6);
}

TEST(inflate_raw_wants_all_of_it)
{
	static const uint8_t packed[] = {0x4b, 0x4c, 0x84, 0x01, 0x00}; /* "aaaaaaaaaa" */
	uint8_t out[10];
	CHECK(inflate_raw(packed, sizeof(packed), out, 10));
	CHECK(memcmp(out, "aaaaaaaaaa", 10) == 0);
	CHECK(!inflate_raw(packed, sizeof(packed), out, 9));
	CHECK(!inflate_raw(packed, 2, out, 10));
}

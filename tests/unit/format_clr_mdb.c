/* Symbols of Mono's compiler, made by hand: method 2 has lines in two files, some of them hidden.
 */
#include "format/clr/clr_mdb.h"

#include <string.h>

#include "tests/unit/forged_clr.h"
#include "tests/unit/unit.h"

enum {
	PROGRAM_AT = 0x80,
	SOURCES_AT = 0xc0,
	TEXTS_AT = 0xd0,
	METHODS_AT = 0xf0,
};

static bool read_mdb_buffer(void *context, uint64_t offset, void *to, size_t len)
{
	const struct bytes_buf *buf = context;
	if (offset > buf->len || len > buf->len - offset)
		return false;
	memcpy(to, buf->data + offset, len);
	return true;
}

static void put_up_to(struct bytes_buf *out, size_t at)
{
	while (out->len < at)
		bytes_put_u8(out, 0);
}

static void put_words(struct bytes_buf *out, const uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bytes_put_u32(out, words[i]);
}

static void put_mdb_head(struct bytes_buf *out, const uint8_t guid[16])
{
	static const uint32_t table[] = {0x200, PROGRAM_AT, 0x40, 0, 0, 0, 2, SOURCES_AT, 16, 3,
		METHODS_AT, 36, 0, 0, 0, 0, (uint32_t)-1, 8, 9, 0};
	bytes_put_u64(out, 0x45e82623fd7fa614);
	bytes_put_u32(out, 50);
	bytes_put_u32(out, 0);
	bytes_put(out, guid, 16);
	put_words(out, table, sizeof(table) / sizeof(*table));
}

static struct bytes_buf make_mdb(const uint8_t guid[16])
{
	/* A step of opcode 9 + 8 * IL + (lines + 1) says both. */
	static const uint8_t program[] = {3, 68, 1, /* line 69 of file 1, from IL 0 on */
		9 + 8 * 4 + 2,                      /* IL 4: line 70 */
		0, 1, 0x40, 2, 3, 1, 0, 1, 0x40,    /* IL 7: hidden */
		4, 2, 3, 0xc4, 0xff, 0xff, 0xff, 0x0f, 8,
		1, /* file 2, 60 lines back, 30 on: IL 37 */
		0, 1, 1};
	static const uint32_t sources[] = {1, TEXTS_AT, 2, TEXTS_AT + 5},
			      methods[] = {0x06000001, 0, 0, 0x06000002, 0, PROGRAM_AT, 0x06000007,
				      0, 0x1000};
	struct bytes_buf out = {0};
	put_mdb_head(&out, guid);
	put_up_to(&out, PROGRAM_AT);
	bytes_put(&out, program, sizeof(program));
	put_up_to(&out, SOURCES_AT);
	put_words(&out, sources, 4);
	put_up_to(&out, TEXTS_AT);
	bytes_put(&out, "\x04/a.c\x05/b.cs", 11);
	put_up_to(&out, METHODS_AT);
	put_words(&out, methods, 9);
	return out;
}

struct mdb_fixture {
	struct bytes_buf of_image, of_mdb;
	struct clr_bytes image_bytes, bytes;
	struct clr_image image;
	uint8_t guid[16];
};

static void mdb_setup(struct mdb_fixture *fixture)
{
	fixture->of_image = forged_clr_make();
	clr_bytes_init(
		&fixture->image_bytes, read_mdb_buffer, &fixture->of_image, fixture->of_image.len);
	CHECK(clr_image_open(&fixture->image_bytes, false, &fixture->image));
	CHECK(clr_metadata_module_id(&fixture->image.metadata, fixture->guid));
	fixture->of_mdb = make_mdb(fixture->guid);
	clr_bytes_init(&fixture->bytes, read_mdb_buffer, &fixture->of_mdb, fixture->of_mdb.len);
}

static void mdb_teardown(struct mdb_fixture *fixture)
{
	clr_bytes_deinit(&fixture->image_bytes);
	clr_bytes_deinit(&fixture->bytes);
	bytes_buf_deinit(&fixture->of_image);
	bytes_buf_deinit(&fixture->of_mdb);
}

static void want_mdb_line(
	const struct clr_mdb *mdb, uint32_t method, uint32_t il, uint32_t line, const char *file)
{
	CLEANUP(clr_pdb_points_deinit) struct clr_pdb_points points;
	CLEANUP(str_deinit) struct str path = {0};
	clr_mdb_read_points(mdb, method, &points);
	const struct clr_pdb_point *point = clr_pdb_points_find(&points, il);
	CHECK_INT(point ? point->line : 0, line);
	if (point)
		clr_mdb_put_document(mdb, point->document, &path);
	CHECK_STR(str_text(&path), file);
}

TEST(clr_mdb_has_lines_and_files)
{
	struct mdb_fixture fixture;
	struct clr_mdb mdb;
	mdb_setup(&fixture);
	CHECK(clr_mdb_open(&fixture.bytes, &fixture.image, &mdb));
	CHECK(clr_bytes_held(&fixture.bytes) == CLR_BYTES_PAGE);
	want_mdb_line(&mdb, 1, 0, 0, "");
	want_mdb_line(&mdb, 2, 0, 69, "/a.c");
	want_mdb_line(&mdb, 2, 3, 69, "/a.c");
	want_mdb_line(&mdb, 2, 4, 70, "/a.c");
	want_mdb_line(&mdb, 2, 7, 70, "/a.c");
	want_mdb_line(&mdb, 2, 37, 10, "/b.cs");
	want_mdb_line(&mdb, 2, 1000, 10, "/b.cs");
	want_mdb_line(&mdb, 3, 0, 0, "");
	want_mdb_line(&mdb, 7, 0, 0, ""); /* its program is beyond the end */
	mdb_teardown(&fixture);
}

TEST(clr_mdb_of_another_image)
{
	struct mdb_fixture fixture;
	struct clr_mdb mdb;
	mdb_setup(&fixture);
	fixture.of_mdb.data[16] ^= 1;
	CHECK(!clr_mdb_open(&fixture.bytes, &fixture.image, &mdb));
	mdb_teardown(&fixture);
}

/* Nothing beyond its bytes is read, and it comes to an end. */
TEST(clr_mdb_may_be_damaged)
{
	struct mdb_fixture fixture;
	mdb_setup(&fixture);
	for (size_t at = 0; at < fixture.of_mdb.len; at++) {
		struct clr_bytes bytes;
		struct clr_mdb mdb;
		fixture.of_mdb.data[at] ^= 0xff;
		clr_bytes_init(&bytes, read_mdb_buffer, &fixture.of_mdb, fixture.of_mdb.len);
		if (clr_mdb_open(&bytes, &fixture.image, &mdb)) {
			CLEANUP(clr_pdb_points_deinit) struct clr_pdb_points points;
			CLEANUP(str_deinit) struct str path = {0};
			clr_mdb_read_points(&mdb, 2, &points);
			clr_mdb_put_document(&mdb, 2, &path);
		}
		clr_bytes_deinit(&bytes);
		fixture.of_mdb.data[at] ^= 0xff;
	}
	mdb_teardown(&fixture);
}

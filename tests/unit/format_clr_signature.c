/* Types as signatures spell them (ECMA-335, II.23.2), and rows of metadata (II.22). */
#include <string.h>

#include "format/clr/clr_image.h"
#include "format/clr/clr_signature.h"
#include "tests/unit/forged_clr.h"
#include "tests/unit/unit.h"

/* The image, and a signature behind it. */
struct signed_image {
	struct bytes_buf bytes;
	struct clr_bytes reader;
	struct clr_image image;
	uint64_t at;
};

static bool read_signed(void *context, uint64_t offset, void *to, size_t len)
{
	const struct bytes_buf *bytes = context;
	memcpy(to, bytes->data + offset, len);
	return true;
}

static void setup(struct signed_image *fixture, const void *signature, size_t len)
{
	*fixture = (struct signed_image){.bytes = forged_clr_make()};
	fixture->at = fixture->bytes.len;
	bytes_put(&fixture->bytes, signature, len);
	clr_bytes_init(&fixture->reader, read_signed, &fixture->bytes, fixture->bytes.len);
	CHECK(clr_image_open(&fixture->reader, false, &fixture->image));
}

static void teardown(struct signed_image *fixture)
{
	clr_bytes_deinit(&fixture->reader);
	bytes_buf_deinit(&fixture->bytes);
}

/* `want`: NULL: it is not understood. */
static void check_signature(const void *signature, size_t len, const char *want)
{
	CLEANUP(str_deinit) struct str out = {0};
	struct signed_image fixture;
	setup(&fixture, signature, len);
	uint64_t begin = fixture.at;
	bool is_put = clr_signature_put_type(&fixture.image.metadata, &fixture.at, &out) &&
		      !fixture.reader.is_bad;
	CHECK_INT(is_put, want != NULL);
	if (want) {
		CHECK_STR(str_text(&out), want);
		CHECK_INT(fixture.at - begin, len);
	}
	teardown(&fixture);
}

#define check_type(bytes, want) check_signature((bytes), sizeof(bytes) - 1, (want))

TEST(clr_signatures_of_simple_types)
{
	check_type("\x02", "bool");
	check_type("\x08", "int");
	check_type("\x0b", "ulong");
	check_type("\x0e", "string");
	check_type("\x1c", "object");
	check_type("\x18", "nint");
}

TEST(clr_signatures_of_types_of_types)
{
	check_type("\x1d\x08", "int[]");          /* SZARRAY I4 */
	check_type("\x1d\x1d\x0d", "double[][]"); /* SZARRAY SZARRAY R8 */
	check_type("\x0f\x05", "byte*");          /* PTR U1 */
	check_type("\x12\x08", "Space.Outer");    /* CLASS TypeDef 2 */
	check_type("\x12\x0c", "Space.Outer.<>c");
	/* GENERICINST CLASS TypeDef 4, one argument: I4 */
	check_type("\x15\x12\x10\x01\x08", "Space.Box<int>");
	check_type("\x15\x12\x10\x01\x1d\x0e", "Space.Box<string[]>");
	check_type("\x1d\x15\x12\x10\x01\x12\x08", "Space.Box<Space.Outer>[]");
	check_type("\x20\x09\x08", "int"); /* CMOD_OPT TypeRef 2, which does not count */
}

TEST(clr_signatures_may_make_no_sense)
{
	char deep[200];
	memset(deep, 0x1d, sizeof(deep));
	deep[sizeof(deep) - 1] = 0x08;
	check_signature(deep, sizeof(deep), NULL);
	check_type("\x1d", NULL);             /* an end where there is more */
	check_type("\x77", NULL);             /* no element */
	check_type("\x12\x02", NULL);         /* a TypeSpec that is not there */
	check_type("\x15\x12\x10\x7f", NULL); /* so many arguments */
}

TEST(clr_metadata_has_rows)
{
	struct signed_image fixture;
	CLEANUP(str_deinit) struct str name = {0};
	uint8_t id[16];
	setup(&fixture, "", 0);
	const struct clr_metadata *metadata = &fixture.image.metadata;
	CHECK_INT(clr_metadata_count(metadata, CLR_TYPE_DEF), 4);
	CHECK_INT(clr_metadata_count(metadata, CLR_METHOD_DEF), 4);
	CHECK_INT(clr_metadata_count(metadata, 63), 0);
	clr_metadata_put_string(metadata, clr_metadata_get(metadata, CLR_TYPE_DEF, 2, 1), &name);
	CHECK_STR(str_text(&name), "Outer");
	CHECK_INT(clr_metadata_get(metadata, CLR_TYPE_DEF, 0, 1), 0);
	CHECK_INT(clr_metadata_get(metadata, CLR_TYPE_DEF, 5, 1), 0);
	/* A type's methods are those from its first up to the next type's. */
	static const uint32_t types[] = {0, 2, 2, 3, 4};
	for (uint32_t method = 0; method < 5; method++)
		CHECK_INT(clr_metadata_type_of_method(metadata, method), types[method]);
	CHECK_INT(clr_metadata_outer_type(metadata, 3), 2);
	CHECK_INT(clr_metadata_outer_type(metadata, 2), 0);
	CHECK(clr_metadata_module_id(metadata, id));
	CHECK(memcmp(id, "0123456789abcdef", sizeof(id)) == 0);
	teardown(&fixture);
}

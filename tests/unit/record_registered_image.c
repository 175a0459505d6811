/* Images that processes register for debuggers: what is taken from them, and what makes no sense.
 */
#include "record/generated/registered_image.h"

#include "format/base/mem.h"
#include "tests/e2e/debug_image.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x7f0000001000,
	CODE_BYTES = 0x100,
};

/* CFA + 0x38 from 4 on, as it was from 0xa on. */
static const uint8_t rules[] = {0x44, 0x0e, 0x40, 0x46, 0x0e, 8};

static const struct debug_image usual = {
	.code = CODE,
	.code_bytes = CODE_BYTES,
	.frames_at = CODE + 0x1000,
	.symbols = {{"alpha", 0, 0x40}, {"beta", 0x40, 0x10}, {"gamma", 0x80, 0}},
	.rules = rules,
	.rules_bytes = sizeof(rules),
};

static void read_usual(enum debug_image_frames frames, struct registered_image *ret)
{
	uint8_t bytes[DEBUG_IMAGE_MAX];
	struct debug_image image = usual;
	image.frames = frames;
	CHECK_OK(registered_image_read(bytes, debug_image_build(&image, bytes), ret));
}

static const char *name_at(const struct registered_image *image, uint64_t address)
{
	const struct registered_symbol *symbol = registered_image_symbol(image, address);
	return symbol ? image->names.data + symbol->name : "";
}

static int cfa_at(const struct registered_image *image, uint64_t address)
{
	const struct unwind_rule *rule = registered_image_rule(image, address);
	return rule ? rule->cfa_offset : 0;
}

TEST(registered_image_tells_names)
{
	enum debug_image_frames kinds[] = {DEBUG_IMAGE_NO_FRAMES, DEBUG_IMAGE_DEBUG_FRAME};
	for (int i = 0; i < 2; i++) { /* relocatable, and not */
		struct registered_image image = {0};
		read_usual(kinds[i], &image);
		CHECK_STR(name_at(&image, CODE - 1), "");
		CHECK_STR(name_at(&image, CODE), "alpha");
		CHECK_STR(name_at(&image, CODE + 0x3f), "alpha");
		CHECK_STR(name_at(&image, CODE + 0x4f), "beta");
		CHECK_STR(name_at(&image, CODE + 0x50), "");
		CHECK_STR(name_at(&image, CODE + 0x80), "gamma");
		CHECK_STR(name_at(&image, CODE + 0xff), "gamma");
		CHECK_STR(name_at(&image, CODE + 0x100), "");
		registered_image_deinit(&image);
	}
}

TEST(registered_image_tells_rules)
{
	for (enum debug_image_frames kind = DEBUG_IMAGE_DEBUG_FRAME; kind <= DEBUG_IMAGE_FROM_TEXT;
		kind++) {
		struct registered_image image = {0};
		read_usual(kind, &image);
		CHECK_INT(cfa_at(&image, CODE - 1), 0);
		CHECK_INT(cfa_at(&image, CODE), 8);
		CHECK_INT(cfa_at(&image, CODE + 3), 8);
		CHECK_INT(cfa_at(&image, CODE + 4), 0x40);
		CHECK_INT(cfa_at(&image, CODE + 9), 0x40);
		CHECK_INT(cfa_at(&image, CODE + 0xff), 8);
		CHECK_INT(cfa_at(&image, CODE + 0x100), 0);
		registered_image_deinit(&image);
	}
}

TEST(registered_image_goes_to_the_recorder_and_back)
{
	struct registered_image image = {0}, back;
	struct bytes_buf bytes = {0};
	read_usual(DEBUG_IMAGE_FROM_PLACE, &image);
	registered_image_put(&image, &bytes);
	struct bytes_cursor cursor = bytes_cursor(bytes.data, bytes.len);
	CHECK(registered_image_get(&cursor, &back));
	CHECK_STR(name_at(&back, CODE + 0x41), "beta");
	CHECK_INT(cfa_at(&back, CODE + 4), 0x40);
	CHECK_INT(registered_image_bytes(&back), registered_image_bytes(&image));
	registered_image_deinit(&back);
	for (size_t len = 0; len < bytes.len; len++) { /* cut anywhere: refused, nothing leaks */
		CLEANUP_FREE uint8_t *cut = mem_alloc(len + 1);
		memcpy(cut, bytes.data, len);
		cursor = bytes_cursor(cut, len);
		CHECK(!registered_image_get(&cursor, &back));
	}
	registered_image_deinit(&image);
	bytes_buf_deinit(&bytes);
}

/* Whatever stands there: an error or an image, and nothing beyond its bytes is read. */
TEST(registered_image_of_any_bytes)
{
	uint8_t whole[DEBUG_IMAGE_MAX];
	struct debug_image plan = usual;
	plan.frames = DEBUG_IMAGE_FROM_PLACE;
	size_t len = debug_image_build(&plan, whole);
	for (size_t i = 0; i < len; i++) {
		CLEANUP_FREE uint8_t *bytes = mem_alloc(len);
		struct registered_image image = {0};
		memcpy(bytes, whole, len);
		bytes[i] ^= 0xff;
		err_destroy(registered_image_read(bytes, len, &image));
		registered_image_deinit(&image);
		err_destroy(registered_image_read(bytes, i, &image)); /* cut there */
		registered_image_deinit(&image);
	}
}

TEST(registered_image_of_another_machine)
{
	uint8_t bytes[DEBUG_IMAGE_MAX];
	struct registered_image image = {0};
	size_t len = debug_image_build(&usual, bytes);
	((Elf64_Ehdr *)(void *)bytes)->e_machine = EM_RISCV;
	CHECK_ERR(registered_image_read(bytes, len, &image), ERR_UNSUPPORTED, "another machine");
}

/* A method alone, as Mono's are. */
TEST(registered_image_of_function_has_lines)
{
	static const struct registered_line lines[] = {
		{CODE, 77, 12}, {CODE + 8, 0, 0}, {CODE + 12, 0, 14}};
	struct registered_function function = {.start = CODE,
		.size = 0x20,
		.name = "Space.Type.Method",
		.file = "/src/a.cs",
		.lines = lines,
		.nr_lines = 3};
	struct registered_image image = {0}, back;
	struct bytes_buf bytes = {0};
	registered_image_of_function(&function, &image);
	registered_image_put(&image, &bytes);
	struct bytes_cursor cursor = bytes_cursor(bytes.data, bytes.len);
	CHECK(registered_image_get(&cursor, &back));
	CHECK(!registered_image_line(&back, CODE - 1));
	CHECK_INT(registered_image_line(&back, CODE + 7)->line, 12);
	CHECK_STR(back.names.data + registered_image_line(&back, CODE)->file, "/src/a.cs");
	CHECK(!registered_image_line(&back, CODE + 8));
	CHECK_INT(registered_image_line(&back, CODE + 0x1f)->line, 14);
	CHECK(!registered_image_line(&back, CODE + 0x20));
	CHECK_STR(
		back.names.data + registered_image_symbol(&back, CODE)->name, "Space.Type.Method");
	registered_image_deinit(&back);
	image.lines.data[0].file = 1000; /* beyond the names */
	bytes.len = 0;
	registered_image_put(&image, &bytes);
	cursor = bytes_cursor(bytes.data, bytes.len);
	CHECK(!registered_image_get(&cursor, &back));
	registered_image_deinit(&image);
	bytes_buf_deinit(&bytes);
}

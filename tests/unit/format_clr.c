/* Images of .NET: metadata, names, functions that were compiled ahead of time. */
#include <elf.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/clr/clr_names.h"
#include "format/clr/clr_ready.h"
#include "format/elf/elf_file.h"
#include "tests/unit/forged_clr.h"
#include "tests/unit/unit.h"

static bool read_forged(void *context, uint64_t offset, void *to, size_t len)
{
	const struct bytes_buf *image = context;
	if (offset > image->len || len > image->len - offset)
		return false;
	memcpy(to, image->data + offset, len);
	return true;
}

static void want_readable(const char *name, const char *want)
{
	CLEANUP(str_deinit) struct str out = {0};
	clr_names_put_readable(name, strlen(name), &out);
	CHECK_STR(str_text(&out), want);
}

TEST(clr_names_say_what_people_wrote)
{
	want_readable("Run", "Run");
	want_readable(".ctor", ".ctor");
	want_readable("<Run>b__1_0", "Run lambda");
	want_readable("<Run>g__Local|3_1", "Run.Local");
	want_readable("<Run>d__9", "Run");
	want_readable("<Main>$", "Main");
	want_readable("<<Main>$>g__Local|0_0", "Main.Local");
	want_readable("<<Run>b__0>d", "Run lambda");
	want_readable("<>c", "<>c");
	want_readable("<Run>", "<Run>");
	want_readable("<Run>k__BackingField", "<Run>k__BackingField");
	want_readable("<", "<");
	want_readable("", "");
}

TEST(clr_names_have_arguments)
{
	CLEANUP(str_deinit) struct str out = {0};
	CLEANUP(clr_arguments_deinit) struct clr_arguments arguments = {0};
	clr_names_put_with("Outer`1.Inner`2.Run", &arguments, &out);
	CHECK_STR(str_text(&out), "Outer`1.Inner`2.Run");
	str_truncate(&out, 0);
	clr_arguments_add(&arguments, "int");
	clr_arguments_add(&arguments, "List<string>");
	clr_arguments_add(&arguments, "?");
	clr_names_put_with("Outer`1.Inner`2.Run", &arguments, &out);
	CHECK_STR(str_text(&out), "Outer<int>.Inner<List<string>,?>.Run");
	CHECK_STR(clr_names_word("System.Int32"), "int");
	CHECK_STR(clr_names_word("System.Int33"), "System.Int33");
}

static void put_bytes(struct bytes_buf *image, struct clr_bytes *bytes)
{
	clr_bytes_init(bytes, read_forged, image, image->len);
}

TEST(clr_bytes_are_bad_outside)
{
	struct bytes_buf image = {0};
	struct clr_bytes bytes;
	bytes_put(&image, "\x7f\x80\x90\xc0\x01\x02\x03", 7);
	put_bytes(&image, &bytes);
	uint64_t at = 0;
	CHECK_INT(clr_bytes_packed(&bytes, &at), 0x7f);
	CHECK_INT(clr_bytes_packed(&bytes, &at), 0x90);
	CHECK_INT(clr_bytes_packed(&bytes, &at), 0x010203);
	CHECK_INT(at, 7);
	CHECK(!bytes.is_bad);
	CHECK_INT(clr_bytes_u16(&bytes, 6), 0);
	CHECK(bytes.is_bad);
	clr_bytes_deinit(&bytes);
	bytes_buf_deinit(&image);
}

static void check_functions(bool is_arm64)
{
	static const char *const names[FORGED_CLR_FUNCTIONS] = {"Space.Outer.Run",
		"Space.Outer.Run", "Space.Outer.Run lambda", "Space.Box<int>.Hold"};
	static const uint32_t rows[FORGED_CLR_FUNCTIONS] = {1, 1, 3, 4};
	struct bytes_buf forged = forged_clr_make_for(is_arm64);
	struct clr_bytes bytes;
	struct clr_image image;
	struct clr_ready ready;
	put_bytes(&forged, &bytes);
	CHECK(clr_image_open(&bytes, false, &image));
	CHECK_INT(clr_image_count_functions(&image), FORGED_CLR_FUNCTIONS);
	clr_ready_init(&ready, &image);
	for (uint32_t i = 0; i < FORGED_CLR_FUNCTIONS; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		uint32_t index = 0;
		struct clr_function function = clr_image_function(&image, i);
		CHECK(clr_ready_put_name(&ready, i, &name));
		CHECK_STR(str_text(&name), names[i]);
		CHECK_INT(clr_ready_method(&ready, i), rows[i]);
		CHECK_INT(function.end - function.begin, FORGED_CLR_FUNCTION_BYTES);
		CHECK(clr_image_find_function(&image, function.end - 1, &index));
		CHECK_INT(index, i);
	}
	uint32_t index;
	CHECK(!clr_image_find_function(&image, FORGED_CLR_ADDRESS + FORGED_CLR_CODE - 1, &index));
	clr_ready_deinit(&ready);
	clr_bytes_deinit(&bytes);
	bytes_buf_deinit(&forged);
}

TEST(clr_functions_have_names)
{
	check_functions(false);
	check_functions(true);
}

/* A funclet's code counts from where its method begins; the last function has no map. */
TEST(clr_functions_lead_to_il)
{
	struct bytes_buf forged = forged_clr_make();
	struct clr_bytes bytes;
	struct clr_image image;
	struct clr_ready ready;
	struct clr_debug_map map;
	uint32_t first;
	put_bytes(&forged, &bytes);
	CHECK(clr_image_open(&bytes, false, &image));
	CHECK_INT(image.ready_major, 9);
	clr_ready_init(&ready, &image);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK(clr_ready_debug_map(&ready, i, &first, &map));
		CHECK_INT(first, i == 1 ? 0 : i);
		CHECK_INT(map.points.len, 3);
		CHECK_INT(map.points.data[2].native, 63);
		CHECK_INT(map.points.data[2].il, 12);
		clr_debug_map_deinit(&map);
	}
	CHECK(!clr_ready_debug_map(&ready, 3, &first, &map));
	clr_ready_deinit(&ready);
	clr_bytes_deinit(&bytes);
	bytes_buf_deinit(&forged);
}

TEST(clr_images_are_files_of_code)
{
	struct bytes_buf forged = forged_clr_make();
	struct elf_file *elf;
	size_t count, len;
	CHECK_OK(elf_file_open_memory(forged.data, forged.len, &elf));
	CHECK(elf_file_pe(elf));
	CHECK_INT(elf_file_machine(elf), EM_X86_64);
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	CHECK_INT(count, 2);
	CHECK_INT(segments[1].vaddr, FORGED_CLR_ADDRESS);
	CHECK_INT(segments[1].offset, FORGED_CLR_OFFSET);
	CHECK(segments[1].flags & PF_X);
	const uint8_t *id = elf_file_build_id(elf, &len);
	CHECK_INT(len, 24);
	CHECK(memcmp(id, "0123456789abcdef\x78\x56\x34\x12", 20) == 0);
	elf_file_destroy(elf);
	bytes_buf_deinit(&forged);
}

/* Of any part of it, the reader says that it is none, or reads what there is. */
TEST(clr_images_may_be_cut)
{
	struct bytes_buf forged = forged_clr_make();
	for (size_t len = 0; len < forged.len; len += 7) {
		struct bytes_buf cut = {forged.data, len, 0};
		struct clr_bytes bytes;
		struct clr_image image;
		put_bytes(&cut, &bytes);
		if (clr_image_open(&bytes, false, &image)) {
			CLEANUP(clr_ready_deinit) struct clr_ready ready;
			CLEANUP(str_deinit) struct str name = {0};
			clr_ready_init(&ready, &image);
			for (uint32_t i = 0; i < clr_image_count_functions(&image); i++)
				clr_ready_put_name(&ready, i, &name);
			for (uint32_t i = 0; i < clr_image_count_functions(&image); i++) {
				struct clr_debug_map map = {0};
				uint32_t first;
				if (clr_ready_debug_map(&ready, i, &first, &map))
					clr_debug_map_deinit(&map);
			}
		}
		clr_bytes_deinit(&bytes);
	}
	bytes_buf_deinit(&forged);
}

/* Programs of .NET that are a single file: pe_bundle, clr_file, and what elf_file shows of them. */
#include <elf.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/clr/clr_file.h"
#include "format/clr/clr_ready.h"
#include "format/elf/elf_file.h"
#include "format/elf/pe_bundle.h"
#include "tests/unit/forged_bundle.h"
#include "tests/unit/unit.h"

TEST(pe_bundle_is_a_segment_more)
{
	struct bytes_buf forged = forged_bundle_make();
	struct elf_file *elf;
	size_t count;
	uint64_t address;
	CHECK_OK(elf_file_open_memory(forged.data, forged.len, &elf));
	const struct pe_bundle *bundle = elf_file_bundle(elf);
	CHECK(bundle);
	CHECK_INT(bundle->images.len, 2);
	CHECK_INT(bundle->images.data[0].offset, FORGED_BUNDLE_FIRST);
	CHECK_INT(bundle->images.data[1].offset, FORGED_BUNDLE_SECOND);
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	CHECK_INT(count, 3);
	CHECK_INT(segments[2].offset, FORGED_BUNDLE_FIRST);
	CHECK_INT(segments[2].flags, PF_R | PF_X);
	CHECK(segments[2].vaddr > segments[1].vaddr + segments[1].memsz);
	CHECK(elf_segments_offset_to_vaddr(segments, count, FORGED_BUNDLE_SECOND, &address));
	CHECK_INT(address, FORGED_BUNDLE_SECOND + bundle->to_address);
	elf_file_destroy(elf);
	bytes_buf_deinit(&forged);
}

TEST(pe_bundle_is_part_of_the_build_id)
{
	struct bytes_buf forged = forged_bundle_make();
	struct elf_file *elf;
	size_t len;
	CHECK_OK(elf_file_open_memory(forged.data, forged.len, &elf));
	CHECK_INT(elf_file_kernel_build_id_len(elf), 8);
	CHECK(memcmp(elf_file_build_id(elf, &len), "build-idtwelve bytes", 20) == 0);
	CHECK_INT(len, 20);
	elf_file_destroy(elf);
	/* The same executable alone. */
	CHECK_OK(elf_file_open_memory(forged.data, FORGED_BUNDLE_PARTS_END, &elf));
	CHECK(!elf_file_bundle(elf));
	elf_file_build_id(elf, &len);
	CHECK_INT(len, 8);
	elf_file_destroy(elf);
	bytes_buf_deinit(&forged);
}

TEST(clr_file_has_the_images_of_a_bundle)
{
	struct bytes_buf forged = forged_bundle_make();
	struct elf_file *elf;
	CHECK_OK(elf_file_open_memory(forged.data, forged.len, &elf));
	CHECK_INT(clr_file_count(elf), 2);
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(clr_ready_deinit) struct clr_ready ready;
		CLEANUP(str_deinit) struct str name = {0};
		struct clr_file_image image;
		uint64_t address;
		CHECK(clr_file_open(elf, i, &image));
		CHECK_INT(clr_image_count_functions(&image.image), FORGED_CLR_FUNCTIONS);
		CHECK(clr_file_address(&image, FORGED_CLR_ADDRESS + FORGED_CLR_CODE, &address));
		CHECK_INT(address, elf_file_bundle(elf)->to_address +
					   (i ? FORGED_BUNDLE_SECOND : FORGED_BUNDLE_FIRST) +
					   FORGED_CLR_OFFSET + FORGED_CLR_CODE);
		CHECK(!clr_file_address(&image, 0x7fffffff, &address));
		clr_ready_init(&ready, &image.image);
		CHECK(clr_ready_put_name(&ready, 0, &name));
		clr_file_close(&image);
	}
	elf_file_destroy(elf);
	bytes_buf_deinit(&forged);
}

/* Wherever the file ends, and whatever its list says, it opens. */
TEST(pe_bundle_may_be_cut)
{
	struct bytes_buf forged = forged_bundle_make();
	struct elf_file *elf;
	for (size_t len = FORGED_BUNDLE_PARTS_END; len < forged.len; len += 13) {
		CHECK_OK(elf_file_open_memory(forged.data, len, &elf));
		elf_file_destroy(elf);
	}
	for (size_t at = FORGED_BUNDLE_LIST; at < forged.len; at++) {
		forged.data[at] ^= 0xff;
		CHECK_OK(elf_file_open_memory(forged.data, forged.len, &elf));
		elf_file_destroy(elf);
		forged.data[at] ^= 0xff;
	}
	bytes_buf_deinit(&forged);
}

#include "format/clr/clr_file.h"

#include "format/elf/pe_bundle.h"

static bool clr_file_read(void *context, uint64_t offset, void *to, size_t len)
{
	const struct clr_file_image *image = context;
	struct err *err = elf_file_read_into(image->elf, image->offset + offset, to, len);
	bool is_read = !err;
	err_destroy(err);
	return is_read;
}

size_t clr_file_count(const struct elf_file *elf)
{
	const struct pe_bundle *bundle = elf_file_bundle(elf);
	return elf_file_pe(elf) ? 1 : bundle ? bundle->images.len : 0;
}

bool clr_file_open(struct elf_file *elf, size_t index, struct clr_file_image *ret)
{
	const struct pe_bundle *bundle = elf_file_bundle(elf);
	uint64_t size = elf_file_size(elf);
	*ret = (struct clr_file_image){.elf = elf};
	if (bundle) {
		ret->offset = bundle->images.data[index].offset;
		size = bundle->images.data[index].bytes;
	}
	clr_bytes_init(&ret->bytes, clr_file_read, ret, size);
	if (clr_image_open(&ret->bytes, false, &ret->image))
		return true;
	clr_file_close(ret);
	return false;
}

void clr_file_close(struct clr_file_image *image)
{
	clr_bytes_deinit(&image->bytes);
}

bool clr_file_address(const struct clr_file_image *image, uint32_t address, uint64_t *ret)
{
	const struct pe_bundle *bundle = elf_file_bundle(image->elf);
	uint64_t offset;
	*ret = address;
	if (!bundle)
		return true;
	if (!clr_image_offset(&image->image, address, &offset))
		return false;
	*ret = image->offset + offset + bundle->to_address;
	return true;
}

/* Any bytes as an image of .NET, as a program with such images in it, as a portable PDB, and as
 * what the runtime keeps of code. */
#include <stdint.h>
#include <string.h>

#include "format/clr/clr_debug_map.h"
#include "format/clr/clr_file.h"
#include "format/clr/clr_names.h"
#include "format/clr/clr_pdb.h"
#include "format/clr/clr_ready.h"
#include "record/unwind/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	MAX_FUNCTIONS = 512,
	MAX_METHODS = 64,
	MAX_IMAGES = 8,
};

struct input {
	const uint8_t *bytes;
	size_t len;
};

static bool read_input(void *context, uint64_t offset, void *to, size_t len)
{
	const struct input *input = context;
	if (offset > input->len || len > input->len - offset)
		return false;
	memcpy(to, input->bytes + offset, len);
	return true;
}

static void name_functions(const struct clr_file_image *file)
{
	CLEANUP(clr_ready_deinit) struct clr_ready ready;
	CLEANUP(str_deinit) struct str name = {0};
	uint32_t count = clr_image_count_functions(&file->image), index;
	uint64_t address;
	clr_ready_init(&ready, &file->image);
	for (uint32_t i = 0; i < count && i < MAX_FUNCTIONS; i++) {
		struct clr_function function = clr_image_function(&file->image, i);
		str_truncate(&name, 0);
		clr_ready_put_name(&ready, i, &name);
		clr_file_address(file, function.begin, &address);
		clr_image_find_function(&file->image, function.begin, &index);
	}
}

static void name_methods(const struct clr_image *image)
{
	CLEANUP(str_deinit) struct str name = {0};
	uint8_t id[CLR_PDB_ID_BYTES];
	size_t len;
	for (uint32_t row = 0; row < MAX_METHODS; row++) {
		str_truncate(&name, 0);
		clr_names_put_method(&image->metadata, row, NULL, NULL, &name);
		clr_names_put_type(&image->metadata, row, NULL, &name);
	}
	clr_metadata_module_id(&image->metadata, id);
	clr_image_pdb_id(image, id);
	clr_image_put_pdb_path(image, &name);
	mem_free(clr_pdb_unpack(image, &len));
}

static void read_file(struct elf_file *elf)
{
	size_t count = clr_file_count(elf), len;
	struct clr_file_image image;
	struct unwind_table table;
	elf_file_build_id(elf, &len);
	for (size_t i = 0; i < count && i < MAX_IMAGES; i++)
		if (clr_file_open(elf, i, &image)) {
			name_functions(&image);
			name_methods(&image.image);
			clr_file_close(&image);
		}
	struct err *err = count ? unwind_table_build(elf, &table) : NULL;
	if (count && !err)
		unwind_table_deinit(&table);
	err_destroy(err);
}

static void read_pdb(struct input *input)
{
	CLEANUP(str_deinit) struct str path = {0};
	struct clr_bytes bytes;
	struct clr_pdb pdb;
	clr_bytes_init(&bytes, read_input, input, input->len);
	if (clr_metadata_open(&bytes, 0, &pdb.metadata))
		for (uint32_t row = 0; row < MAX_METHODS; row++) {
			CLEANUP(clr_pdb_points_deinit) struct clr_pdb_points points;
			clr_pdb_read_points(&pdb, row, &points);
			clr_pdb_points_find(&points, row);
			clr_pdb_put_document(&pdb, row, &path);
			clr_metadata_kickoff_method(&pdb.metadata, row);
		}
	clr_bytes_deinit(&bytes);
}

static void read_map(struct input *input, enum clr_debug_packing packing)
{
	struct clr_bytes bytes;
	struct clr_debug_map map;
	clr_bytes_init(&bytes, read_input, input, input->len);
	if (clr_debug_map_read_live(&bytes, 0, packing, UINT32_MAX, &map))
		clr_debug_map_deinit(&map);
	clr_bytes_deinit(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input input = {bytes, len};
	struct elf_file *elf;
	struct err *err = elf_file_open_memory(bytes, len, &elf);
	if (!err) {
		read_file(elf);
		elf_file_destroy(elf);
	}
	err_destroy(err);
	read_pdb(&input);
	read_map(&input, CLR_DEBUG_NIBBLES);
	read_map(&input, CLR_DEBUG_BITS);
	return 0;
}

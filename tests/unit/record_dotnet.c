/*
 * Methods of .NET by their descriptors, which this program lays out as CoreCLR does: the offsets
 * are those that live processes of 8, 9 and 10 have, see dotnet_method.c. Lines by a PDB beside the
 * image.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/runtime/dotnet/dotnet_row.h"
#include "format/base/str.h"
#include "record/runtime/dotnet/dotnet_images.h"
#include "record/runtime/dotnet/dotnet_method.h"
#include "record/runtime/runtime_inlined.h"
#include "tests/unit/forged_clr.h"
#include "tests/unit/forged_pdb.h"
#include "tests/unit/unit.h"

enum {
	CODE_BYTES = 100,
	RUN_ROW = 2, /* of a method that the PDB knows lines of: Outer..ctor */
};

/* What a process has of one method. */
struct program {
	uint64_t code[1 + CODE_BYTES / 8 + 1]; /* the header's address is ahead of it */
	uint8_t debug_info[16];
	uint32_t unwind_info[2]; /* of arm64: how long the code is */
	uint8_t header[64];
	uint8_t chunk[128]; /* MethodDescChunk, and the MethodDesc behind it */
	uint8_t table[64];
	uint8_t module[0x200];
	uint64_t assembly[2];
	uint8_t pe_image[0x100];
	uint64_t layout[3];
	char dynamic_name[16];
	uint8_t *image;
	struct dotnet_code given;
};

/* Where versions differ: of a Module its PEAssembly, of a PEImage its flat layout, of a dynamic
 * method its name. */
static const struct {
	uint16_t assembly, flat, dynamic_name;
} places[] = {[8] = {0x110, 0x70, 24},
#if defined(__x86_64__)
	[9] = {0x118, 0x70, 32},
#else
	[9] = {0x120, 0x70, 32},
#endif
	[10] = {0xd8, 0x78, 32}};

static void put_address(void *at, const void *address)
{
	uint64_t value = (uintptr_t)address;
	memcpy(at, &value, sizeof(value));
}

static void put_u16(uint8_t *at, uint16_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void put_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* `class`: 0 of a usual method, 7 of a dynamic one. */
static void make_program(struct program *program, uint8_t version, uint8_t *image,
	uint32_t image_bytes, uint16_t row, uint16_t class)
{
	uint8_t *method = program->chunk + 24;
	*program = (struct program){.image = image, .dynamic_name = "Emitted"};
	put_address(program->code, program->header);
	put_address(program->header, program->debug_info);
	put_address(program->header + 24, method);
	put_u32(program->header + 32, 1);
	put_u32(program->header + 36, 0x10); /* of the section */
#if defined(__x86_64__)
	put_u32(program->header + 40, 0x10 + CODE_BYTES);
#else
	put_u32(program->header + 40, offsetof(struct program, unwind_info));
	program->unwind_info[0] = CODE_BYTES / 4 | 1U << 27;
#endif
	put_address(program->chunk, program->table);
	put_u16(method, row);
	put_u16(method + 6, class);
	put_address(method + places[version].dynamic_name, program->dynamic_name);
	put_address(program->table + 0x18, program->module);
	put_address(program->module + places[version].assembly, program->assembly);
	put_address(&program->assembly[1], program->pe_image);
	put_address(program->pe_image + places[version].flat, program->layout);
	program->layout[1] = (uintptr_t)image;
	program->layout[2] = image_bytes;
	/* No flags; then of 7 bytes three pairs: 0 and -2, 19 and 0, 63 and 12. */
	memcpy(program->debug_info, "\x00\x07\x03\x21\x3a\x23\x4d\x79\x00", 9);
	program->given = (struct dotnet_code){.start = (uintptr_t)&program->code[1],
		.header = (uintptr_t)program->header,
		.method = (uintptr_t)method,
		.section = (uintptr_t)program,
		.row = {.version = version}};
}

/* "name file line line": the lines of the places; NULL: it cannot be read. */
static void check_method(
	const struct program *program, const uint32_t *offsets, size_t count, const char *want)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	CLEANUP(str_deinit) struct str got = {0};
	struct runtime_inlined made;
	void *kept = NULL;
	bool is_read = dotnet_method_read(
		&kept, (uint32_t)getpid(), &program->given, sizeof(program->given), &bytes);
	dotnet_images_destroy(kept);
	CHECK_INT(is_read, want != NULL);
	if (!is_read || !runtime_inlined_get(bytes.data, bytes.len, &made))
		return;
	const struct runtime_inlined_function *function = &made.functions.data[0];
	str_printf(&got, "%.*s %.*s", (int)function->name_len, function->name,
		(int)function->file_len, function->file);
	for (size_t i = 0; i < count; i++) {
		bool is_exact;
		uint32_t scope = runtime_inlined_find(&made, offsets[i], true, &is_exact);
		str_printf(&got, " %u", scope ? made.scopes.data[scope - 1].line : 0);
	}
	CHECK_STR(str_text(&got), want ? want : "");
	runtime_inlined_deinit(&made);
}

TEST(dotnet_methods_have_names)
{
	struct bytes_buf image = forged_clr_make();
	for (uint8_t version = 8; version <= 10; version++) {
		struct program program;
		make_program(&program, version, image.data, (uint32_t)image.len, 1, 0);
		check_method(&program, NULL, 0, "Space.Outer.Run ");
		make_program(&program, version, image.data, (uint32_t)image.len, 3, 0);
		check_method(&program, NULL, 0, "Space.Outer.Run lambda ");
		make_program(&program, version, image.data, (uint32_t)image.len, 0, 7);
		check_method(&program, NULL, 0, "Emitted ");
	}
	bytes_buf_deinit(&image);
}

TEST(dotnet_images_stay_open_while_they_are_what_they_were)
{
	enum {
		PE_AT = 0x3c, /* where the headers begin */
		STAMP = 8,    /* in them */
	};
	struct bytes_buf bytes = forged_clr_make();
	struct dotnet_image_place place = {.pid = (uint32_t)getpid(),
		.size = (uint32_t)bytes.len,
		.base = (uintptr_t)bytes.data};
	struct dotnet_images *images = dotnet_images_create();
	struct dotnet_image *image = dotnet_images_open(images, &place);
	CHECK(image && clr_metadata_count(&image->image.metadata, CLR_METHOD_DEF));
	CHECK(!dotnet_image_source(image));
	CHECK(dotnet_images_open(images, &place) == image);
	uint8_t *stamp = bytes.data + bytes.data[PE_AT] + STAMP;
	CHECK(image->head[stamp - bytes.data] == *stamp);
	++*stamp; /* another one is in its place */
	image = dotnet_images_open(images, &place);
	CHECK(image && image->head[stamp - bytes.data] == *stamp);
	place.start_ns++; /* another process */
	CHECK(dotnet_images_open(images, &place) != image);
	memset(bytes.data, 0, 2); /* no image any more */
	CHECK(!dotnet_images_open(images, &place));
	for (int i = 0; i < 20; i++) { /* more than are kept */
		bytes.data[0] = 'M', bytes.data[1] = 'Z';
		place.start_ns++;
		CHECK(dotnet_images_open(images, &place));
	}
	dotnet_images_destroy(images);
	bytes_buf_deinit(&bytes);
}

TEST(dotnet_code_may_be_another_methods_by_now)
{
	struct bytes_buf image = forged_clr_make();
	struct program program;
	make_program(&program, 9, image.data, (uint32_t)image.len, 1, 0);
	program.given.method += 8;
	check_method(&program, NULL, 0, NULL);
	make_program(&program, 9, image.data, (uint32_t)image.len, 1, 0);
	program.code[0] = 0;
	check_method(&program, NULL, 0, NULL);
	make_program(&program, 9, image.data, (uint32_t)image.len, 1, 0);
	program.given.row.version = 7;
	check_method(&program, NULL, 0, NULL);
	make_program(&program, 9, image.data, 100, 1, 0); /* cut off */
	check_method(&program, NULL, 0, NULL);
	bytes_buf_deinit(&image);
}

TEST(dotnet_stubs_are_called_by_their_kind)
{
	struct program program = {.given = {.header = 6, .row = {.version = 10}}};
	check_method(&program, NULL, 0, "[dispatch stub] ");
}

/* A function of an image that is in memory alone: by its tables. */
TEST(dotnet_functions_of_images_in_memory_have_names)
{
	struct bytes_buf image = forged_clr_make();
	struct program program;
	for (uint8_t version = 8; version <= 10; version++) {
		make_program(&program, version, image.data, (uint32_t)image.len, 1, 0);
		program.given.header = DOTNET_READY;
		program.given.method = (uintptr_t)program.module;
		program.given.start = (uintptr_t)image.data + FORGED_CLR_ADDRESS + FORGED_CLR_CODE;
		check_method(&program, NULL, 0, "Space.Outer.Run ");
		program.given.start--; /* it is none of them */
		check_method(&program, NULL, 0, NULL);
		program.given.start = (uintptr_t)image.data - 1;
		check_method(&program, NULL, 0, NULL);
		program.given.method = 8;
		check_method(&program, NULL, 0, NULL);
		make_program(&program, version, image.data, 200, 1, 0); /* cut off */
		program.given.header = DOTNET_READY;
		program.given.method = (uintptr_t)program.module;
		check_method(&program, NULL, 0, NULL);
	}
	bytes_buf_deinit(&image);
}

static void write_file(const char *path, const struct bytes_buf *bytes)
{
	FILE *file = fopen(path, "w");
	if (!file || fwrite(bytes->data, 1, bytes->len, file) != bytes->len || fclose(file))
		unit_skip("cannot write to /tmp");
}

/* Of an image without code that was compiled ahead of time, mapped from where its PDB is, too. */
TEST(dotnet_methods_have_lines)
{
	static const uint32_t offsets[] = {0, 20, 62, 63, 99};
	char folder[] = "/tmp/ebprof-dotnet-XXXXXX", path[64];
	struct bytes_buf image = forged_clr_make(), pdb = forged_pdb_make(FORGED_CLR_PDB_STAMP);
	struct program program;
	memset(image.data + FORGED_CLR_OFFSET + 64, 0, 8);
	if (!mkdtemp(folder))
		unit_skip("cannot make folders here");
	snprintf(path, sizeof(path), "%s/forged.pdb", folder);
	write_file(path, &pdb);
	snprintf(path, sizeof(path), "%s/forged.dll", folder);
	write_file(path, &image);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *mapped = mmap(NULL, image.len, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(mapped != MAP_FAILED);
	if (mapped != MAP_FAILED) {
		make_program(&program, 9, mapped, (uint32_t)image.len, RUN_ROW, 0);
		check_method(&program, offsets, 5, "Space.Outer..ctor /src/a.cs 0 0 0 12 12");
		munmap(mapped, image.len);
	}
	close(fd);
	unlink(path);
	snprintf(path, sizeof(path), "%s/forged.pdb", folder);
	unlink(path);
	rmdir(folder);
	bytes_buf_deinit(&image);
	bytes_buf_deinit(&pdb);
}

/* Functions without symbols, by FDEs and by code that has none, of forged files. */
#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/base/mem.h"
#include "report/name/symbol/function_bounds.h"
#include "report/name/symbol/symbol_resolver.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x1000, /* where .text stands, in the file and in memory */
	CODE_BYTES = 0x1000,
	FRAMES = CODE + CODE_BYTES,
};

struct forged_file {
	struct bytes_buf bytes, frames, code;
	struct elf_file *elf;
};

static void put_entry(struct bytes_buf *out, const struct bytes_buf *body)
{
	bytes_put_u32(out, (uint32_t)body->len);
	bytes_put(out, body->data, body->len);
}

static void put_cie(struct bytes_buf *out)
{
	static const uint8_t cie[] = {
		0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0};
	struct bytes_buf body = {0};
	bytes_put(&body, cie, sizeof(cie));
	put_entry(out, &body);
	bytes_buf_deinit(&body);
}

static void put_fde(struct forged_file *file, uint32_t start, uint32_t end)
{
	struct bytes_buf body = {0};
	if (!file->frames.len)
		put_cie(&file->frames);
	uint32_t at = (uint32_t)file->frames.len + 4;
	bytes_put_u32(&body, at); /* back to the CIE at 0 */
	bytes_put_u32(&body, start - (FRAMES + at + 4));
	bytes_put_u32(&body, end - start);
	bytes_put_u32(&body, 0);
	put_entry(&file->frames, &body);
	bytes_buf_deinit(&body);
}

static void pad(struct bytes_buf *out, size_t len)
{
	while (out->len < len)
		bytes_put_u8(out, 0);
}

static void put_section(struct bytes_buf *out, uint32_t name, uint32_t type, uint64_t flags,
	uint64_t at, uint64_t len)
{
	Elf64_Shdr section = {.sh_name = name,
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = flags ? at : 0,
		.sh_offset = at,
		.sh_size = len};
	bytes_put(out, &section, sizeof(section));
}

static void open_file(struct forged_file *file)
{
	static const char names[] = "\0.text\0.eh_frame\0.shstrtab";
	struct bytes_buf *out = &file->bytes;
	size_t frames_len = file->frames.len, names_at = FRAMES + frames_len;
	Elf64_Ehdr head = {.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(head),
		.e_shoff = names_at + sizeof(names),
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shstrndx = 3};
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_ident[EI_VERSION] = EV_CURRENT;
	Elf64_Phdr segment = {.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = CODE,
		.p_vaddr = CODE,
		.p_filesz = CODE_BYTES,
		.p_memsz = CODE_BYTES};
	bytes_put(out, &head, sizeof(head));
	bytes_put(out, &segment, sizeof(segment));
	pad(out, CODE);
	bytes_put(out, file->code.data, file->code.len);
	pad(out, FRAMES);
	bytes_put(out, file->frames.data, frames_len);
	bytes_put(out, names, sizeof(names));
	put_section(out, 0, SHT_NULL, 0, 0, 0);
	put_section(out, 1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE, CODE_BYTES);
	put_section(out, 7, SHT_PROGBITS, SHF_ALLOC, FRAMES, frames_len);
	put_section(out, 17, SHT_STRTAB, 0, names_at, sizeof(names));
	CHECK_OK(elf_file_open_memory(out->data, out->len, &file->elf));
}

static void close_file(struct forged_file *file)
{
	elf_file_destroy(file->elf);
	bytes_buf_deinit(&file->bytes);
	bytes_buf_deinit(&file->frames);
	bytes_buf_deinit(&file->code);
}

static void check_extent(
	struct function_bounds *bounds, uint64_t address, uint64_t start, uint64_t end)
{
	struct function_extent extent = {0};
	CHECK_INT(function_bounds_find(bounds, address, &extent), end != 0);
	CHECK_INT(extent.start, start);
	CHECK_INT(extent.end, end);
}

TEST(an_fde_is_a_function)
{
	struct forged_file file = {0};
	put_fde(&file, CODE + 0x100, CODE + 0x180); /* not in the order of addresses */
	put_fde(&file, CODE + 0x20, CODE + 0x100);
	put_fde(&file, CODE + 0x40, CODE + 0x50); /* within the one before */
	open_file(&file);
	struct function_bounds *bounds = function_bounds_create(file.elf);
	check_extent(bounds, CODE + 0x20, CODE + 0x20, CODE + 0x100);
	check_extent(bounds, CODE + 0x4f, CODE + 0x40, CODE + 0x50);
	check_extent(bounds, CODE + 0x50, CODE + 0x20, CODE + 0x100);
	check_extent(bounds, CODE + 0xff, CODE + 0x20, CODE + 0x100);
	check_extent(bounds, CODE + 0x100, CODE + 0x100, CODE + 0x180);
	check_extent(bounds, CODE - 1, 0, 0);
	check_extent(bounds, FRAMES, 0, 0);
	function_bounds_destroy(bounds);
	close_file(&file);
}

/* Assembly between two functions that have call frame information. */
TEST(code_without_fde_is_read)
{
	struct forged_file file = {0};
	put_fde(&file, CODE, CODE + 0x11);
	put_fde(&file, CODE + 0x60, CODE + 0x80);
	pad(&file.code, 0x11);
	bytes_put(&file.code, "\x66\x90", 2);
	while (file.code.len < 0x20)
		bytes_put_u8(&file.code, 0xcc);
	bytes_put(&file.code, "\x31\xc0\xc3", 3);
	while (file.code.len < 0x40)
		bytes_put_u8(&file.code, 0xcc);
	bytes_put(&file.code, "\x89\xf8\xc3", 3);
	while (file.code.len < 0x80)
		bytes_put_u8(&file.code, 0xcc);
	open_file(&file);
	struct function_bounds *bounds = function_bounds_create(file.elf);
	check_extent(bounds, CODE + 0x10, CODE, CODE + 0x11);
	check_extent(bounds, CODE + 0x12, 0, 0);
	check_extent(bounds, CODE + 0x21, CODE + 0x20, CODE + 0x40);
	check_extent(bounds, CODE + 0x42, CODE + 0x40, CODE + 0x60);
	check_extent(bounds, CODE + 0x60, CODE + 0x60, CODE + 0x80);
	struct function_extent extent;
	CHECK(function_bounds_find(bounds, CODE + 0x42, &extent) && extent.is_guessed);
	CHECK(function_bounds_find(bounds, CODE + 0x60, &extent) && !extent.is_guessed);
	function_bounds_destroy(bounds);
	close_file(&file);
}

TEST(a_place_without_a_name_has_a_start)
{
	struct forged_file file = {0};
	put_fde(&file, CODE + 0x20, CODE + 0x100);
	pad(&file.code, 0x200);
	bytes_put(&file.code, "\x31\xc0\xc3", 3);
	while (file.code.len < CODE_BYTES)
		bytes_put_u8(&file.code, 0xcc);
	open_file(&file);
	struct symbol_index *index = symbol_index_create();
	symbol_index_add(index, CODE + 0x10, 0, "label", STB_GLOBAL, STT_NOTYPE);
	symbol_index_build(index);
	struct resolver_sources sources = {.symbols = index, .code = file.elf};
	struct resolver_place places[] = {{CODE + 0x18, CODE + 0x18, 1},
		{CODE + 0x30, CODE + 0x30, 2}, {FRAMES, FRAMES, 3},
		{CODE + 0x202, CODE + 0x202, 4}};
	struct chain_map chains = {0};
	CHECK(resolver_run(&sources, places, 4, &chains));
	struct chain chain;
	CHECK(chain_map_find(&chains, 1, &chain) && chain.count == 1);
	CHECK_STR(chain.frames[0].function, "label");
	CHECK_INT(chain.frames[0].bounds, CHAIN_BOUNDS_UNTOLD);
	CHECK(chain_is_named(&chain));
	/* The label has no size, and ends where the FDE begins. */
	CHECK(chain_map_find(&chains, 2, &chain) && chain.count == 1);
	CHECK(!chain.frames[0].function && !chain_is_named(&chain));
	CHECK_INT(chain.frames[0].start, CODE + 0x20);
	CHECK_INT(chain.frames[0].bounds, CHAIN_BOUNDS_BY_FDE);
	CHECK(chain_map_find(&chains, 4, &chain) && chain.count == 1);
	CHECK_INT(chain.frames[0].bounds, CHAIN_BOUNDS_BY_CODE);
	CHECK(chain_map_have_names(&chains));
	/* It stays so in caches and recordings. */
	struct bytes_buf encoded = {0};
	struct chain_map decoded = {0};
	chain_map_encode_all(&chains, &encoded);
	struct bytes_cursor cursor = bytes_cursor(encoded.data, encoded.len);
	CHECK(!chain_map_decode(&decoded, &cursor));
	CHECK(chain_map_find(&decoded, 2, &chain) && chain.count == 1);
	CHECK_INT(chain.frames[0].start, CODE + 0x20);
	CHECK(!chain.frames[0].function);
	CHECK_INT(chain.frames[0].bounds, CHAIN_BOUNDS_BY_FDE);
	CHECK_INT(chain.frames[0].decl_line, 0);
	CHECK(chain_map_find(&decoded, 4, &chain) && chain.count == 1);
	CHECK_INT(chain.frames[0].bounds, CHAIN_BOUNDS_BY_CODE);
	bytes_buf_deinit(&encoded);
	chain_map_deinit(&decoded);
	chain_map_deinit(&chains);
	symbol_index_destroy(index);
	close_file(&file);
}

/* Of two million FDEs that cover everything, a search looks at some. */
TEST(a_flood_of_fdes_is_bounded)
{
	enum {
		FDES = 2000000
	};
	struct forged_file file = {0};
	for (uint32_t i = 0; i < FDES; i++)
		put_fde(&file, CODE + i * 7919U % CODE_BYTES,
			i % 2 ? CODE + CODE_BYTES : CODE + i * 7919U % CODE_BYTES + 1);
	open_file(&file);
	struct function_bounds *bounds = function_bounds_create(file.elf);
	struct function_extent extent;
	size_t found = 0;
	for (uint32_t i = 0; i < 100000; i++)
		found += function_bounds_find(bounds, CODE + i % CODE_BYTES, &extent);
	CHECK(found > 0);
	function_bounds_destroy(bounds);
	close_file(&file);
}

TEST(a_damaged_file_has_none)
{
	struct forged_file file = {0};
	put_fde(&file, CODE + 0x20, CODE + 0x100);
	memset(file.frames.data + 4, 0xff, 8);
	open_file(&file);
	struct function_bounds *bounds = function_bounds_create(file.elf);
	struct function_extent extent;
	CHECK(!function_bounds_find(bounds, FRAMES + 5, &extent));
	function_bounds_destroy(bounds);
	close_file(&file);
}

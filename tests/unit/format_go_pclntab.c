/* Go's table of functions in each of its versions, forged in a file of nothing else. */
#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/elf/go_pclntab.h"
#include "tests/unit/unit.h"

enum {
	TEXT = 0x401000,
	TABLE_VADDR = 0x500000,
	TABLE_OFFSET = 0x400,
	NAMES = 0x60,
	SP_TABLES = 0x80,
	FUNCTIONS = 0xa0,
	OTHER_FUNCTION = 0x80, /* data of functions, behind their index */
};

static void pad_to(struct bytes_buf *out, size_t len)
{
	while (out->len < len)
		bytes_put_u8(out, 0);
}

/* "main.a" at TEXT, 0x40 bytes; "runtime.goexit" behind it, 0x20 bytes. */
static void put_index(struct bytes_buf *out, bool is_wide, uint64_t base)
{
	static const uint64_t starts[] = {0, 0x40, 0x60};
	for (int i = 0; i < 3; i++) {
		uint64_t data = base + OTHER_FUNCTION + (uint64_t)i * 0x40;
		if (is_wide) {
			bytes_put_u64(out, TEXT + starts[i]);
			if (i < 2)
				bytes_put_u64(out, data);
		} else {
			bytes_put_u32(out, (uint32_t)starts[i]);
			if (i < 2)
				bytes_put_u32(out, (uint32_t)data);
		}
	}
}

static void put_function(struct bytes_buf *out, int version, uint64_t start, uint32_t name,
	uint32_t sp, uint8_t flags)
{
	if (version < 18)
		bytes_put_u64(out, TEXT + start);
	else
		bytes_put_u32(out, (uint32_t)start);
	bytes_put_u32(out, name);
	bytes_put_u64(out, 0); /* args, deferreturn */
	bytes_put_u32(out, sp);
	bytes_put_u64(out, 0); /* pcfile, pcln */
	bytes_put_u64(out, 0); /* npcdata, cuOffset */
	if (version >= 20)
		bytes_put_u32(out, 77); /* startLine */
	bytes_put_u8(out, 3);
	bytes_put_u8(out, flags);
	bytes_put_u16(out, 0);
}

static void put_table(struct bytes_buf *out, int version, uint64_t text_start)
{
	size_t at = out->len;
	uint32_t magic = version == 2    ? 0xfffffffb
			 : version == 16 ? 0xfffffffa
			 : version == 18 ? 0xfffffff0
					 : 0xfffffff1;
	uint32_t parts = version == 2 ? 0 : 1; /* Go 1.2 has no parts: offsets are the table's */
	bytes_put_u32(out, magic);
	bytes_put_u16(out, 0);
	bytes_put_u8(out, 1);
	bytes_put_u8(out, 8);
	bytes_put_u64(out, 2);
	if (version == 2) {
		put_index(out, true, 0x100);
	} else {
		bytes_put_u64(out, 0);
		if (version >= 18)
			bytes_put_u64(out, text_start);
		bytes_put_u64(out, NAMES);
		bytes_put_u64(out, 0);
		bytes_put_u64(out, 0);
		bytes_put_u64(out, SP_TABLES);
		bytes_put_u64(out, FUNCTIONS);
	}
	pad_to(out, at + NAMES);
	bytes_put(out, "\0main.a\0runtime.goexit", 23);
	pad_to(out, at + SP_TABLES);
	/* 0 for 4 bytes, 24 for 0x30, 0 for 0xc, the end */
	bytes_put(out, "\0\2\4\60\60\57\14\0", 8);
	pad_to(out, at + FUNCTIONS);
	if (version != 2)
		put_index(out, version < 18, 0);
	uint64_t data = version == 2 ? 0x100 + OTHER_FUNCTION : FUNCTIONS + OTHER_FUNCTION;
	pad_to(out, at + data);
	put_function(out, version, 0, 1 + (parts ? 0 : NAMES), 1 + (parts ? 0 : SP_TABLES), 0);
	pad_to(out, at + data + 0x40);
	put_function(out, version, 0x40, 8 + (parts ? 0 : NAMES), 0, GO_FUNCTION_TOP_FRAME);
	pad_to(out, at + data + 0x80);
}

static void put_elf(struct bytes_buf *out, int version, uint64_t text_start)
{
	static const char names[] = "\0.gopclntab\0.names";
	struct bytes_buf table = {0};
	put_table(&table, version, text_start);
	Elf64_Ehdr header = {.e_ident = ELFMAG,
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_shoff = 0x100,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2};
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	Elf64_Shdr sections[3] = {
		{0},
		{.sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_addr = TABLE_VADDR,
			.sh_offset = TABLE_OFFSET,
			.sh_size = table.len},
		{.sh_name = 12,
			.sh_type = SHT_STRTAB,
			.sh_offset = 0x300,
			.sh_size = sizeof(names)},
	};
	bytes_put(out, &header, sizeof(header));
	pad_to(out, 0x100);
	bytes_put(out, sections, sizeof(sections));
	pad_to(out, 0x300);
	bytes_put(out, names, sizeof(names));
	pad_to(out, TABLE_OFFSET);
	bytes_put(out, table.data, table.len);
	bytes_buf_deinit(&table);
}

struct deltas {
	uint64_t addresses[8];
	int32_t deltas[8];
	size_t count;
};

static void on_sp(void *context, uint64_t address, int32_t delta)
{
	struct deltas *deltas = context;
	if (deltas->count == 8)
		return;
	deltas->addresses[deltas->count] = address;
	deltas->deltas[deltas->count++] = delta;
}

static void check_version(int version)
{
	struct bytes_buf file = {0};
	struct elf_file *elf;
	struct go_pclntab *table;
	put_elf(&file, version, TEXT);
	CHECK_OK(elf_file_open_memory(file.data, file.len, &elf));
	CHECK_OK(go_pclntab_open(elf, &table));
	CHECK_INT(go_pclntab_count(table), 2);
	struct go_function function;
	CHECK(go_pclntab_function(table, 0, &function));
	CHECK_STR(go_pclntab_name(table, &function), "main.a");
	CHECK_INT(function.start, TEXT);
	CHECK_INT(function.end, TEXT + 0x40);
	struct deltas deltas = {0};
	CHECK_INT(go_pclntab_walk_sp(table, &function, on_sp, &deltas), TEXT + 0x40);
	CHECK_INT(deltas.count, 3);
	static const int32_t want[] = {0, 24, 0}, at[] = {0, 4, 0x34};
	for (size_t i = 0; i < 3; i++) {
		CHECK_INT(deltas.addresses[i], TEXT + at[i]);
		CHECK_INT(deltas.deltas[i], want[i]);
	}
	CHECK(go_pclntab_function(table, 1, &function));
	CHECK_STR(go_pclntab_name(table, &function), "runtime.goexit");
	CHECK_INT(function.end, TEXT + 0x60);
	CHECK_INT(function.flags, version == 2 ? 0 : GO_FUNCTION_TOP_FRAME);
	CHECK(!go_pclntab_function(table, 2, &function));
	go_pclntab_destroy(table);
	elf_file_destroy(elf);
	bytes_buf_deinit(&file);
}

TEST(go_pclntab_of_every_version)
{
	check_version(2);
	check_version(16);
	check_version(18);
	check_version(20);
}

static void check_refused(const struct bytes_buf *file, int code, const char *why)
{
	struct elf_file *elf;
	struct go_pclntab *table;
	CHECK_OK(elf_file_open_memory(file->data, file->len, &elf));
	CHECK_ERR(go_pclntab_open(elf, &table), code, why);
	elf_file_destroy(elf);
}

TEST(go_pclntab_of_other_files)
{
	struct bytes_buf file = {0};
	struct elf_file *elf;
	struct go_pclntab *table;
	put_elf(&file, 20, 0); /* nothing says where the code is */
	check_refused(&file, ERR_UNSUPPORTED, "the code's address is unknown");
	file.data[TABLE_OFFSET] = 0xf2;
	check_refused(&file, ERR_UNSUPPORTED, "version 0xfffffff2");
	file.data[TABLE_OFFSET + 7] = 4;
	check_refused(&file, ERR_UNSUPPORTED, "pointers of 4 bytes");
	file.data[TABLE_OFFSET + 5] = 4;
	check_refused(&file, ERR_FORMAT, "no header");
	file.data[0x302] = 'x'; /* the section has another name */
	CHECK_OK(elf_file_open_memory(file.data, file.len, &elf));
	CHECK_OK(go_pclntab_open(elf, &table));
	CHECK(!table);
	elf_file_destroy(elf);
	bytes_buf_deinit(&file);
}

static void visit(const struct bytes_buf *file)
{
	struct elf_file *elf;
	struct go_pclntab *table = NULL;
	struct err *err = elf_file_open_memory(file->data, file->len, &elf);
	if (err) {
		err_destroy(err);
		return;
	}
	err = go_pclntab_open(elf, &table);
	struct go_function function;
	struct deltas deltas = {0};
	for (uint32_t i = 0; table && i < go_pclntab_count(table); i++)
		if (go_pclntab_function(table, i, &function)) {
			CHECK(strlen(go_pclntab_name(table, &function)) < file->len);
			CHECK(go_pclntab_walk_sp(table, &function, on_sp, &deltas) <= function.end);
		}
	err_destroy(err);
	go_pclntab_destroy(table);
	elf_file_destroy(elf);
}

/* Whatever is flipped: no crash, nothing outside of the table is read (sanitizers). */
TEST(go_pclntab_survives_damage)
{
	static const int versions[] = {2, 16, 18, 20};
	for (size_t v = 0; v < 4; v++) {
		struct bytes_buf file = {0};
		put_elf(&file, versions[v], TEXT);
		for (size_t bit = TABLE_OFFSET * 8; bit < file.len * 8; bit++) {
			file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			visit(&file);
			file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		bytes_buf_deinit(&file);
	}
}

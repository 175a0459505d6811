/*
 * A Go program of two functions, forged in each version of its tables: "main.a" at
 * FORGED_GO_TEXT, 0x40 bytes, into which "main.inl" was inlined and "main.deep" into that, and
 * "runtime.goexit" behind it, 0x20 bytes, of which nothing is known.
 *
 *   main.a  0-8     /a.go:10   8-10 /a.go:12   30-40 /a.go:13
 *           10-20   main.inl /b.go:300, called at 8
 *           20-30   main.deep /b.go:310, called at 10
 */
#ifndef EBPROF_FORGED_GO_H
#define EBPROF_FORGED_GO_H

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "format/base/bytes.h"

enum {
	FORGED_GO_TEXT = 0x401000,
	FORGED_GO_VADDR = 0x500000,
	FORGED_GO_OFFSET = 0x400, /* of the table in the file */

	/* Offsets in the table: */
	FORGED_GO_LIST = 0x40, /* of files, up to 1.15 */
	FORGED_GO_NAMES = 0x60,
	FORGED_GO_UNITS = 0x90,
	FORGED_GO_FILES = 0xa0,
	FORGED_GO_VALUES = 0xb0,
	FORGED_GO_INDEX = 0xe0,
	FORGED_GO_DATA = 0x180,  /* of functions, each 0x80 */
	FORGED_GO_BASE = 0x2f0,  /* of lists of calls, since 1.18 */
	FORGED_GO_CALLS = 0x300, /* such a list */
	FORGED_GO_LEN = 0x340,
	FORGED_GO_MODULE_LEN = 48 * 8,
};

struct forged_go {
	int version;         /* 2, 16, 18, 20 */
	uint64_t text_start; /* what the header says */
	bool is_hidden;      /* the table stands in .data.rel.ro, behind something else */
	bool is_relocated;   /* the linker's record is filled in when the program is loaded */
	bool has_no_record;
};

static inline void forged_go_pad(struct bytes_buf *out, size_t len)
{
	while (out->len < len)
		bytes_put_u8(out, 0);
}

static inline void forged_go_put_header(struct bytes_buf *out, const struct forged_go *forged)
{
	int version = forged->version;
	uint32_t magic = version == 2    ? 0xfffffffb
			 : version == 16 ? 0xfffffffa
			 : version == 18 ? 0xfffffff0
					 : 0xfffffff1;
	static const uint64_t parts[] = {FORGED_GO_NAMES, FORGED_GO_UNITS, FORGED_GO_FILES,
		FORGED_GO_VALUES, FORGED_GO_INDEX};
	bytes_put_u32(out, magic);
	bytes_put_u16(out, 0);
	bytes_put_u8(out, 1);
	bytes_put_u8(out, 8);
	bytes_put_u64(out, 2);
	if (version == 2)
		return;
	bytes_put_u64(out, 2);
	if (version >= 18)
		bytes_put_u64(out, forged->text_start);
	for (size_t i = 0; i < 5; i++)
		bytes_put_u64(out, parts[i]);
}

static inline void forged_go_put_index(struct bytes_buf *out, int version)
{
	static const uint32_t starts[] = {0, 0x40, 0x60};
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t data = FORGED_GO_DATA + i * 0x80 - (version == 2 ? 0 : FORGED_GO_INDEX);
		if (version < 18) {
			bytes_put_u64(out, FORGED_GO_TEXT + (uint64_t)starts[i]);
			bytes_put_u64(out, data);
		} else {
			bytes_put_u32(out, starts[i]);
			bytes_put_u32(out, data);
		}
	}
	if (version == 2)
		out->len -= 8; /* the last one has no data */
}

static inline void forged_go_put_values(struct bytes_buf *out, int version)
{
	static const uint8_t sp[] = {2, 4, 48, 48, 47, 12, 0};             /* 0, 24, 0 */
	static const uint8_t files[] = {2, 0x10, 2, 0x20, 1, 0x10, 0};     /* 0, 1, 0 */
	static const uint8_t files_1_2[] = {4, 0x10, 2, 0x20, 1, 0x10, 0}; /* 1, 2, 1 */
	static const uint8_t lines[] = {
		22, 8, 4, 8, 0xc0, 4, 0x10, 20, 0x10, 0xd1, 4, 0x10, 0}; /* 10 12 300 310 13 */
	static const uint8_t calls[] = {0, 0x10, 2, 0x10, 2, 0x10, 3, 0x10, 0}; /* -1 0 1 -1 */
	bytes_put_u8(out, 0);
	bytes_put(out, sp, sizeof(sp));
	bytes_put(out, version == 2 ? files_1_2 : files, sizeof(files));
	bytes_put(out, lines, sizeof(lines));
	bytes_put(out, calls, sizeof(calls));
}

static inline void forged_go_put_a(struct bytes_buf *out, int version)
{
	uint32_t values = version == 2 ? FORGED_GO_VALUES : 0;
	if (version < 18)
		bytes_put_u64(out, FORGED_GO_TEXT);
	else
		bytes_put_u32(out, 0);
	bytes_put_u32(out, 1 + (version == 2 ? FORGED_GO_NAMES : 0));
	bytes_put_u64(out, 0); /* args, deferreturn */
	bytes_put_u32(out, 1 + values);
	bytes_put_u32(out, 8 + values);
	bytes_put_u32(out, 15 + values);
	bytes_put_u32(out, 3); /* npcdata */
	if (version >= 16)
		bytes_put_u32(out, 0); /* cuOffset */
	if (version >= 20)
		bytes_put_u32(out, 9); /* startLine */
	bytes_put_u32(out, 5U << 24);  /* funcID, flag, nfuncdata */
	bytes_put_u64(out, 0);
	bytes_put_u32(out, 28 + values);
	for (int i = 0; i < 5; i++)
		if (version >= 18)
			bytes_put_u32(out, i == 3 ? FORGED_GO_CALLS - FORGED_GO_BASE : UINT32_MAX);
		else {
			forged_go_pad(out, (out->len + 7) & ~(size_t)7);
			bytes_put_u64(out, i == (version == 2 ? 4 : 3)
						   ? FORGED_GO_VADDR + FORGED_GO_CALLS
						   : 0);
		}
}

static inline void forged_go_put_goexit(struct bytes_buf *out, int version)
{
	if (version < 18)
		bytes_put_u64(out, FORGED_GO_TEXT + 0x40);
	else
		bytes_put_u32(out, 0x40);
	bytes_put_u32(out, 8 + (version == 2 ? FORGED_GO_NAMES : 0));
	for (int i = 0; i < 6 + (version >= 16) + (version >= 20); i++)
		bytes_put_u32(out, 0);
	bytes_put_u32(out, 7 | 1 << 8); /* special; where stacks end */
}

static inline void forged_go_put_call(
	struct bytes_buf *out, int version, uint32_t name, uint32_t call, uint32_t start_line)
{
	bytes_put_u32(out, 0);
	if (version < 20)
		bytes_put_u64(out, 0); /* the caller's file and line */
	bytes_put_u32(out, name + (version == 2 ? FORGED_GO_NAMES : 0));
	bytes_put_u32(out, call);
	if (version >= 20)
		bytes_put_u32(out, start_line);
}

static inline void forged_go_put_table(struct bytes_buf *out, const struct forged_go *forged)
{
	static const char names[] = "\0main.a\0runtime.goexit\0main.inl\0main.deep";
	int version = forged->version;
	forged_go_put_header(out, forged);
	if (version == 2) {
		forged_go_put_index(out, version);
		bytes_put_u32(out, FORGED_GO_LIST);
		forged_go_pad(out, FORGED_GO_LIST);
		bytes_put_u32(out, 3);
		bytes_put_u32(out, FORGED_GO_FILES);
		bytes_put_u32(out, FORGED_GO_FILES + 6);
	}
	forged_go_pad(out, FORGED_GO_NAMES);
	bytes_put(out, names, sizeof(names));
	forged_go_pad(out, FORGED_GO_UNITS);
	bytes_put_u32(out, 0);
	bytes_put_u32(out, 6);
	forged_go_pad(out, FORGED_GO_FILES);
	bytes_put(out, "/a.go\0/b.go", 12);
	forged_go_pad(out, FORGED_GO_VALUES);
	forged_go_put_values(out, version);
	forged_go_pad(out, FORGED_GO_INDEX);
	if (version != 2)
		forged_go_put_index(out, version);
	forged_go_pad(out, FORGED_GO_DATA);
	forged_go_put_a(out, version);
	forged_go_pad(out, FORGED_GO_DATA + 0x80);
	forged_go_put_goexit(out, version);
	forged_go_pad(out, FORGED_GO_CALLS);
	forged_go_put_call(out, version, 23, 8, 290);
	forged_go_put_call(out, version, 32, 0x10, 305);
	forged_go_pad(out, FORGED_GO_LEN);
}

/* The linker's record, and what fills it in. */
static inline void forged_go_put_module(
	struct bytes_buf *out, struct bytes_buf *relocations, const struct forged_go *forged)
{
	uint64_t table = FORGED_GO_VADDR, at = FORGED_GO_VADDR + FORGED_GO_LEN;
	uint64_t words[48] = {[0] = table, [1] = table + FORGED_GO_NAMES, [22] = FORGED_GO_TEXT};
	words[forged->version >= 20 ? 40 : 38] = table + FORGED_GO_BASE;
	for (size_t i = 0; i < 48; i++) {
		bytes_put_u64(out, forged->is_relocated || forged->has_no_record ? 0 : words[i]);
		if (!words[i] || !forged->is_relocated)
			continue;
		bytes_put_u64(relocations, at + i * 8);
		bytes_put_u64(relocations, R_X86_64_RELATIVE);
		bytes_put_u64(relocations, words[i]);
	}
}

static inline void forged_go_put_sections(
	struct bytes_buf *out, const struct forged_go *forged, size_t relocations_len)
{
	enum {
		GOPCLNTAB = 1,
		NOPTRDATA = 12,
		RELRO = 23,
		BUILDINFO = 36
	};
	static const char names[] = "\0.gopclntab\0.noptrdata\0.data.rel.ro\0.go.buildinfo";
	Elf64_Shdr table = {.sh_name = forged->is_hidden ? RELRO : GOPCLNTAB,
		.sh_type = SHT_PROGBITS,
		.sh_addr = FORGED_GO_VADDR,
		.sh_offset = FORGED_GO_OFFSET,
		.sh_size = FORGED_GO_LEN};
	if (forged->is_hidden) {
		table.sh_addr -= 0x20;
		table.sh_offset -= 0x20;
		table.sh_size += 0x20;
	}
	Elf64_Shdr module = {.sh_name = NOPTRDATA,
		.sh_type = SHT_PROGBITS,
		.sh_addr = FORGED_GO_VADDR + FORGED_GO_LEN,
		.sh_offset = FORGED_GO_OFFSET + FORGED_GO_LEN,
		.sh_size = FORGED_GO_MODULE_LEN};
	Elf64_Shdr info = module, relocations = module;
	info.sh_name = BUILDINFO;
	relocations.sh_name = 0;
	relocations.sh_type = SHT_RELA;
	relocations.sh_offset += FORGED_GO_MODULE_LEN;
	relocations.sh_size = relocations_len;
	Elf64_Shdr strings = {.sh_type = SHT_STRTAB, .sh_offset = 0x300, .sh_size = sizeof(names)};
	Elf64_Shdr sections[] = {{0}, table, module, info, relocations, strings};
	forged_go_pad(out, 0x100);
	bytes_put(out, sections, sizeof(sections));
	forged_go_pad(out, 0x300);
	bytes_put(out, names, sizeof(names));
}

static inline void forged_go_put(struct bytes_buf *out, const struct forged_go *forged)
{
	struct bytes_buf table = {0}, module = {0}, relocations = {0};
	forged_go_put_table(&table, forged);
	forged_go_put_module(&module, &relocations, forged);
	Elf64_Ehdr header = {.e_ident = ELFMAG,
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_phoff = 0x80,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = 0x100,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 6,
		.e_shstrndx = 5};
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	Elf64_Phdr program = {.p_type = PT_LOAD,
		.p_offset = FORGED_GO_OFFSET,
		.p_vaddr = FORGED_GO_VADDR,
		.p_filesz = FORGED_GO_LEN + FORGED_GO_MODULE_LEN,
		.p_memsz = FORGED_GO_LEN + FORGED_GO_MODULE_LEN};
	bytes_put(out, &header, sizeof(header));
	forged_go_pad(out, 0x80);
	bytes_put(out, &program, sizeof(program));
	forged_go_put_sections(out, forged, relocations.len);
	forged_go_pad(out, FORGED_GO_OFFSET);
	bytes_put(out, table.data, table.len);
	bytes_put(out, module.data, module.len);
	bytes_put(out, relocations.data, relocations.len);
	bytes_buf_deinit(&table);
	bytes_buf_deinit(&module);
	bytes_buf_deinit(&relocations);
}

#endif

/*
 * ELF images as compilers at run time register them for debuggers: one section of code, which is
 * elsewhere in memory, up to four functions, and a function's call frame information.
 */
#ifndef EBPROF_DEBUG_IMAGE_H
#define EBPROF_DEBUG_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum debug_image_frames {
	DEBUG_IMAGE_NO_FRAMES,
	DEBUG_IMAGE_DEBUG_FRAME, /* an executable, as QEMU's */
	/* Relocatable files, with an .eh_frame that counts */
	DEBUG_IMAGE_FROM_PLACE, /* from the place, in 8 bytes, by a relocation: LLVM */
	DEBUG_IMAGE_FROM_PLACE_32,
	DEBUG_IMAGE_FROM_TEXT, /* from the code: LuaJIT, PHP */
};

enum {
	DEBUG_IMAGE_MAX = 4096, /* bytes */
	DEBUG_IMAGE_SYMBOLS = 4,
	/* Sections by their index. */
	DEBUG_IMAGE_TEXT = 1,
	DEBUG_IMAGE_SYMTAB,
	DEBUG_IMAGE_STRTAB,
	DEBUG_IMAGE_FRAMES,
	DEBUG_IMAGE_RELA,
	DEBUG_IMAGE_SECTIONS,
};

/* The machine's: units of 1 and -8, the column of the return address, and, to begin with, CFA = sp
 * + 8; on x86-64 that address is below it. */
#if defined(__aarch64__)
enum {
	DEBUG_IMAGE_MACHINE = EM_AARCH64,
	DEBUG_IMAGE_RELATIVE = R_AARCH64_PREL64,
	DEBUG_IMAGE_RELATIVE_32 = R_AARCH64_PREL32,
};

static const uint8_t debug_image_units[] = {1, 0x78, 30}, debug_image_cfa[] = {0x0c, 31, 8};
#else
enum {
	DEBUG_IMAGE_MACHINE = EM_X86_64,
	DEBUG_IMAGE_RELATIVE = R_X86_64_PC64,
	DEBUG_IMAGE_RELATIVE_32 = R_X86_64_PC32,
};

static const uint8_t debug_image_units[] = {1, 0x78, 16}, debug_image_cfa[] = {0x0c, 7, 8, 0x90, 1};
#endif

struct debug_image {
	enum debug_image_frames frames;
	uint64_t code, frames_at; /* addresses; the latter of .eh_frame */
	uint32_t code_bytes;
	struct {
		const char *name; /* NULL: there are no more */
		uint32_t start, bytes;
	} symbols[DEBUG_IMAGE_SYMBOLS];
	const uint8_t *rules; /* instructions of call frame information, from `code` on */
	uint32_t rules_bytes;
};

static inline uint8_t *debug_image_put(uint8_t *to, const void *bytes, size_t len)
{
	memcpy(to, bytes, len);
	return to + len;
}

static inline uint8_t *debug_image_put_number(uint8_t *to, uint64_t value, size_t len)
{
	return debug_image_put(to, &value, len); /* little endian, as all that is tested */
}

/* Its length and what fills it up: DW_CFA_nop. */
static inline uint8_t *debug_image_end_entry(uint8_t *entry, uint8_t *end)
{
	while ((end - entry) % 8 != 4)
		*end++ = 0;
	debug_image_put_number(entry, (uint64_t)(end - entry) - 4, 4);
	return end;
}

/* CIE and FDE. *pc_at: where in the section the FDE's first address is. */
static inline size_t debug_image_put_frames(
	const struct debug_image *image, uint8_t *to, uint64_t *pc_at)
{
	static const uint8_t encodings[] = {
		[DEBUG_IMAGE_FROM_PLACE] = 0x1c,    /* pcrel, sdata8 */
		[DEBUG_IMAGE_FROM_PLACE_32] = 0x1b, /* pcrel, sdata4 */
		[DEBUG_IMAGE_FROM_TEXT] = 0x23,     /* textrel, udata4 */
	};
	int is_debug = image->frames == DEBUG_IMAGE_DEBUG_FRAME;
	size_t width = is_debug || image->frames == DEBUG_IMAGE_FROM_PLACE ? 8 : 4;
	uint8_t *entry = to, *at = entry + 4;
	at = debug_image_put_number(at, is_debug ? UINT32_MAX : 0, 4);
	at = is_debug ? debug_image_put(at, "\1", 2) : debug_image_put(at, "\1zR", 4);
	at = debug_image_put(at, debug_image_units, sizeof(debug_image_units));
	if (!is_debug) {
		*at++ = 1;
		*at++ = encodings[image->frames];
	}
	at = debug_image_put(at, debug_image_cfa, sizeof(debug_image_cfa));
	entry = at = debug_image_end_entry(entry, at);
	at += 4;
	at = debug_image_put_number(at, is_debug ? 0 : (uint64_t)(at - to), 4);
	*pc_at = (uint64_t)(at - to);
	at = debug_image_put_number(at, is_debug ? image->code : 0, width);
	at = debug_image_put_number(at, image->code_bytes, width);
	if (!is_debug)
		*at++ = 0;
	at = debug_image_put(at, image->rules, image->rules_bytes);
	at = debug_image_end_entry(entry, at);
	return (size_t)(debug_image_put_number(at, 0, 4) - to);
}

/* Puts it at `to`, which has DEBUG_IMAGE_MAX bytes. How many it takes. */
static inline size_t debug_image_build(const struct debug_image *image, uint8_t *to)
{
	static const char names[] = "\0.text\0.symtab\0.strtab\0.eh_frame\0.debug_frame\0.rela";
	static const uint32_t name_at[] = {0, 1, 7, 15, 23, 46};
	int is_debug = image->frames == DEBUG_IMAGE_DEBUG_FRAME;
	int is_relative = image->frames == DEBUG_IMAGE_FROM_PLACE ||
			  image->frames == DEBUG_IMAGE_FROM_PLACE_32;
	Elf64_Shdr sections[DEBUG_IMAGE_SECTIONS] = {0};
	Elf64_Ehdr head = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = is_debug ? ET_EXEC : ET_REL,
		.e_machine = DEBUG_IMAGE_MACHINE,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(head),
		.e_ehsize = sizeof(head),
		.e_shentsize = sizeof(*sections),
		.e_shnum = DEBUG_IMAGE_SECTIONS,
		.e_shstrndx = DEBUG_IMAGE_STRTAB,
	};
	memset(to, 0, DEBUG_IMAGE_MAX);
	for (int i = 0; i < DEBUG_IMAGE_SECTIONS; i++)
		sections[i].sh_name = name_at[i];
	uint8_t *at = to + sizeof(head) + sizeof(sections);
	sections[DEBUG_IMAGE_TEXT] = (Elf64_Shdr){.sh_name = name_at[DEBUG_IMAGE_TEXT],
		.sh_type = SHT_NOBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = image->code,
		.sh_size = image->code_bytes};

	Elf64_Shdr *symtab = &sections[DEBUG_IMAGE_SYMTAB], *strtab = &sections[DEBUG_IMAGE_STRTAB];
	uint8_t texts[1024];
	size_t texts_bytes = (size_t)(debug_image_put(texts, names, sizeof(names)) - texts);
	symtab->sh_type = SHT_SYMTAB;
	symtab->sh_link = DEBUG_IMAGE_STRTAB;
	symtab->sh_entsize = sizeof(Elf64_Sym);
	symtab->sh_offset = (uint64_t)(at - to);
	Elf64_Sym symbol = {0};
	at = debug_image_put(at, &symbol, sizeof(symbol));
	symbol = (Elf64_Sym){
		.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = DEBUG_IMAGE_TEXT};
	at = debug_image_put(at, &symbol, sizeof(symbol));
	for (int i = 0; i < DEBUG_IMAGE_SYMBOLS && image->symbols[i].name; i++) {
		symbol = (Elf64_Sym){
			.st_name = (uint32_t)texts_bytes,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = DEBUG_IMAGE_TEXT,
			.st_value = image->symbols[i].start + (is_debug ? image->code : 0),
			.st_size = image->symbols[i].bytes,
		};
		at = debug_image_put(at, &symbol, sizeof(symbol));
		size_t len = strlen(image->symbols[i].name) + 1;
		debug_image_put(texts + texts_bytes, image->symbols[i].name, len);
		texts_bytes += len;
	}
	symtab->sh_size = (uint64_t)(at - to) - symtab->sh_offset;
	strtab->sh_type = SHT_STRTAB;
	strtab->sh_offset = (uint64_t)(at - to);
	strtab->sh_size = texts_bytes;
	at = debug_image_put(at, texts, texts_bytes);

	uint64_t pc_at = 0;
	Elf64_Shdr *frames = &sections[DEBUG_IMAGE_FRAMES], *rela = &sections[DEBUG_IMAGE_RELA];
	if (image->frames) {
		frames->sh_name = is_debug ? 33 : name_at[DEBUG_IMAGE_FRAMES];
		frames->sh_type = SHT_PROGBITS;
		frames->sh_flags = is_debug ? 0 : SHF_ALLOC;
		frames->sh_addr = is_debug ? 0 : image->frames_at;
		frames->sh_offset = (uint64_t)(at - to);
		frames->sh_size = debug_image_put_frames(image, at, &pc_at);
		at += frames->sh_size;
	}
	if (is_relative) {
		int is_short = image->frames == DEBUG_IMAGE_FROM_PLACE_32;
		Elf64_Rela relocation = {
			.r_offset = pc_at,
			.r_info = ELF64_R_INFO(
				1, is_short ? DEBUG_IMAGE_RELATIVE_32 : DEBUG_IMAGE_RELATIVE),
		};
		rela->sh_type = SHT_RELA;
		rela->sh_link = DEBUG_IMAGE_SYMTAB;
		rela->sh_info = DEBUG_IMAGE_FRAMES;
		rela->sh_entsize = sizeof(relocation);
		rela->sh_offset = (uint64_t)(at - to);
		rela->sh_size = sizeof(relocation);
		at = debug_image_put(at, &relocation, sizeof(relocation));
	}
	debug_image_put(debug_image_put(to, &head, sizeof(head)), sections, sizeof(sections));
	return (size_t)(at - to);
}

#endif

#include "report/name/symbol/symbol_sections.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/fd.h"
#include "format/base/mem.h"
#include "format/elf/elf_note.h"

enum {
	SYM_BYTES = sizeof(Elf64_Sym),
	SECTION_MAX = 1 << 30,
	NOTE_MAX = 1 << 16,
};

uint8_t *symbol_sections_read_whole(const char *path, size_t max, size_t *len)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > max)
		return NULL;
	CLEANUP_FREE uint8_t *bytes = mem_alloc((size_t)st.st_size + 1);
	*len = (size_t)st.st_size;
	if (fd_read_fully(fd, bytes, *len) != (ssize_t)*len)
		return NULL;
	bytes[*len] = 0;
	return steal_ptr(bytes);
}

static bool symbol_sections_is_function(uint8_t type, uint16_t section)
{
	return (type == STT_FUNC || type == STT_GNU_IFUNC) && section != SHN_UNDEF &&
	       (section < SHN_LORESERVE || section == SHN_XINDEX);
}

bool symbol_sections_read(
	const char *symtab_path, const char *strtab_path, struct symbol_index *index)
{
	size_t len = 0, names_len = 0;
	CLEANUP_FREE uint8_t *symtab = symbol_sections_read_whole(symtab_path, SECTION_MAX, &len);
	CLEANUP_FREE uint8_t *names =
		symbol_sections_read_whole(strtab_path, SECTION_MAX, &names_len);
	if (!symtab || !names || len % SYM_BYTES)
		return false;
	bool has_any = false;
	for (size_t at = SYM_BYTES; at < len; at += SYM_BYTES) {
		struct bytes_cursor cursor = bytes_cursor(symtab + at, SYM_BYTES);
		uint32_t name = bytes_get_u32(&cursor);
		uint8_t info = bytes_get_u8(&cursor);
		bytes_get_u8(&cursor); /* st_other */
		uint16_t section = bytes_get_u16(&cursor);
		uint64_t address = bytes_get_u64(&cursor), size = bytes_get_u64(&cursor);
		if (name >= names_len || !symbol_sections_is_function(ELF64_ST_TYPE(info), section))
			continue;
		symbol_index_add(index, address, size, (const char *)names + name,
			ELF64_ST_BIND(info), STT_FUNC);
		has_any = true;
	}
	return has_any;
}

bool symbol_sections_has_build_id(const char *note_path, const uint8_t *build_id, size_t len)
{
	size_t note_len = 0;
	CLEANUP_FREE uint8_t *bytes = symbol_sections_read_whole(note_path, NOTE_MAX, &note_len);
	struct bytes_cursor cursor = bytes_cursor(bytes, bytes ? note_len : 0);
	struct elf_note note;
	return elf_note_next(&cursor, &note) && elf_note_is(&note, ELF_NOTE_GNU, NT_GNU_BUILD_ID) &&
	       note.desc_len == len && memcmp(note.desc, build_id, len) == 0;
}

#include "format/elf/elf_note.h"

#include <elf.h>
#include <string.h>

/*
 * Names and descriptions are padded to 4 bytes, but for the last one's, which may lack it. Segments
 * of 8-byte notes (.note.gnu.property) parse the same up to the first odd size.
 */
bool elf_note_next(struct bytes_cursor *cursor, struct elf_note *ret)
{
	if (bytes_left(cursor) < sizeof(Elf64_Nhdr))
		return false;
	ret->name_len = bytes_get_u32(cursor);
	ret->desc_len = bytes_get_u32(cursor);
	ret->type = bytes_get_u32(cursor);
	ret->name = bytes_get(cursor, ((size_t)ret->name_len + 3) & ~(size_t)3);
	ret->desc = bytes_get(cursor, ret->desc_len);
	if (!ret->name || !ret->desc)
		return false;
	size_t padding = -(size_t)ret->desc_len & 3, left = bytes_left(cursor);
	bytes_get(cursor, padding < left ? padding : left);
	return true;
}

/* The name's length has the NUL at its end. */
bool elf_note_is(const struct elf_note *note, const char *owner, uint32_t type)
{
	return note->type == type && note->name_len == strlen(owner) + 1 &&
	       memcmp(note->name, owner, note->name_len) == 0;
}

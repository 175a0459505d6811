#include "record/vm/lua_text.h"

#include <string.h>

#include "format/base/mem.h"
#include "format/base/str.h"

enum {
	STRING_BYTES = 24, /* where the bytes of a string begin */
	STRING_MAX_BYTES = 256,
};

/* The name of a source's file: as far as it can be read, up to its end. */
static bool read_source(uint32_t pid, uint64_t source, char text[STRING_MAX_BYTES])
{
	memset(text, 0, STRING_MAX_BYTES);
	for (size_t i = 0; i + 1 < STRING_MAX_BYTES && (!i || text[i - 1]); i++)
		if (!vm_read_process(pid, source + STRING_BYTES + i, text + i, 1))
			return false;
	if (text[0] == '@' || text[0] == '=')
		memmove(text, text + 1, STRING_MAX_BYTES - 1);
	else
		strcpy(text, "[string]");
	return true;
}

bool lua_text_read(const struct event_vm_code *event, enum vm_text what, struct vm_text_bytes *ret)
{
	char source[STRING_MAX_BYTES];
	if (!read_source(event->pid, event->address[what], source))
		return false;
	CLEANUP(str_deinit) struct str out = {0};
	if (what == VM_TEXT_NAME)
		str_printf(&out, "function@%s:%u", source, event->first_line);
	else
		str_puts(&out, source);
	ret->len = out.len;
	ret->data = mem_alloc(out.len + 1);
	memcpy(ret->data, str_text(&out), out.len);
	return true;
}

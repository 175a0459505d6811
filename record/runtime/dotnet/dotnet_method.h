/* Code of .NET's just-in-time compiler: what method it is, and its lines. */
#ifndef EBPROF_DOTNET_METHOD_H
#define EBPROF_DOTNET_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "record/runtime/runtime_lines.h"

/*
 * Reads a piece of code of a process, by what the BPF side sends: a struct dotnet_code. `ret` gets
 * a struct runtime_inlined, of one function, whose places are offsets in the code. In a reader's
 * worker, where *kept is a struct dotnet_images. False: it cannot be read, or other code is there
 * by now.
 */
bool dotnet_method_read(
	void **kept, uint32_t pid, const void *given, size_t len, struct bytes_buf *ret);
/* There is always a name in what was read. */
void dotnet_method_put_texts(struct str *name, struct str *file);
bool dotnet_method_next_line(const struct runtime_lines *lines, struct runtime_line_entry *entry);

#endif

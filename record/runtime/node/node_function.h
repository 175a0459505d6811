/* Functions of JavaScript: names, files, and the lines of their bytecodes. */
#ifndef EBPROF_NODE_FUNCTION_H
#define EBPROF_NODE_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "record/runtime/runtime_lines.h"

/*
 * Reads one of a process, by what the BPF side sends: a struct node_function. `ret` gets a struct
 * runtime_inlined, of one function; its places are bytecodes. In a reader's worker. False: it
 * cannot be read, or is another one by now.
 */
bool node_function_read(uint32_t pid, const void *given, size_t len, struct bytes_buf *ret);
/* "(anonymous)" where there is no name; a file's path in place of its URL. */
void node_function_put_texts(struct str *name, struct str *file);
/* There is no line where the function could not be read. */
bool node_function_next_line(const struct runtime_lines *lines, struct runtime_line_entry *entry);

#endif

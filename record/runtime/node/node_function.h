/* Functions of JavaScript: what they are called. */
#ifndef EBPROF_NODE_FUNCTION_H
#define EBPROF_NODE_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "record/runtime/node/node_object.h"
#include "record/runtime/runtime_lines.h"

enum {
	NODE_SCRIPT_ID = 64, /* offset */
};

static const uint32_t node_no_position = UINT32_MAX;

/* The name, "" where it has none, and the character of its script where the function begins. */
bool node_function_read_name(
	const struct node_reader *reading, uint64_t shared, struct str *name, uint32_t *start);
/* Whether the function is still there: it may have moved, and another one be in its place. */
bool node_function_is_there(
	const struct node_reader *reading, const struct node_function *function);
/* "(anonymous)" where there is no name; a file's path in place of its URL. */
void node_function_put_texts(struct str *name, struct str *file);
/* There is no line where the function could not be read. */
bool node_function_next_line(const struct runtime_lines *lines, struct runtime_line_entry *entry);

#endif

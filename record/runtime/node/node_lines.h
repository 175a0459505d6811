/* Lines: of characters in a script, and of bytecodes, which V8 knows by characters. */
#ifndef EBPROF_NODE_LINES_H
#define EBPROF_NODE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/vec.h"
#include "record/runtime/node/node_object.h"

/* Of a script. */
struct node_lines {
	VEC(uint32_t) ends; /* of each line, the character behind it */
};

/*
 * Scripts whose lines are known: counting them takes milliseconds where the script is large, and
 * many functions are of the same one.
 */
struct node_scripts;

struct node_scripts *node_scripts_create(void);
void node_scripts_destroy(struct node_scripts *scripts);
/* Makes room if there are many: none of their lines may be in use. */
void node_scripts_trim(struct node_scripts *scripts);

/* The lines of a script, which are among reading->scripts from now on; none where they cannot be
 * read. */
const struct node_lines *node_lines_of_script(const struct node_reader *reading, uint64_t script);
/* 0: not known. */
uint32_t node_lines_find(const struct node_lines *lines, uint32_t character);

/* Of a function's bytecodes: from each of these on, up to the next. */
struct node_bytecode_line {
	uint32_t bytecode, line;
};

struct node_bytecode_lines {
	VEC(struct node_bytecode_line) all;
};

/* The array of a function's bytecodes, a pointer; 0: it has none now. */
uint64_t node_lines_bytecodes(const struct node_reader *reading, uint64_t shared);
/* Of a function whose lines V8 itself was not asked for, it has none: *ret is empty. */
void node_bytecode_lines_read(const struct node_reader *reading, uint64_t bytecodes,
	const struct node_lines *lines, struct node_bytecode_lines *ret);
/* 0: not known. */
uint32_t node_bytecode_lines_find(const struct node_bytecode_lines *lines, uint32_t bytecode);

/* A pair of a table of positions: how far on in the code, how far in the script. */
void node_lines_next_position(
	const struct node_row *row, struct bytes_cursor *cursor, int64_t *place, int64_t *position);

#endif

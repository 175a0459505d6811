/* Objects in the memory of a process with V8, as they lie there now: they may move at any time. */
#ifndef EBPROF_NODE_OBJECT_H
#define EBPROF_NODE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/node/node_row.h"
#include "format/base/str.h"

enum {
	NODE_ARRAY_LENGTH = 8, /* of arrays of all kinds: offset */
	NODE_ARRAY_DATA = 16,
	NODE_SMI_SHIFT = 32,
};

struct node_reader {
	uint32_t pid;
	const struct node_row *row;   /* borrowed, */
	struct node_scripts *scripts; /* ... as what node_lines.h keeps */
};

/* The word at an offset in an object; a pointer is one more than its object's address. */
bool node_object_read(
	const struct node_reader *reading, uint64_t pointer, uint64_t offset, uint64_t *ret);
/* The instance type; -1: it is no object. */
int node_object_type(const struct node_reader *reading, uint64_t pointer);
bool node_object_is_string(int type);
/* Appends up to `max` characters of a string. False: it is none. */
bool node_object_put_string(
	const struct node_reader *reading, uint64_t pointer, uint32_t max, struct str *out);
/* Where the characters of a string lie, of one or two bytes each. */
struct node_characters {
	uint64_t address;
	uint32_t count, unit;
};

/* False: it is no string, or lies in pieces. */
bool node_object_find_characters(
	const struct node_reader *reading, uint64_t pointer, struct node_characters *ret);
/* The bytes of an array, up to `max`; the caller's. False: it is none, or has more. */
bool node_object_read_bytes(const struct node_reader *reading, uint64_t array, uint64_t max,
	uint8_t **bytes, uint64_t *len);

#endif

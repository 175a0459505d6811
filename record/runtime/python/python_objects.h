/*
 * Objects in the memory of a process that runs CPython: strings, numbers, dictionaries, attributes.
 * The process may change them meanwhile, or be hostile: each read may fail, and counts are bounded.
 */
#ifndef EBPROF_PYTHON_OBJECTS_H
#define EBPROF_PYTHON_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "record/runtime/runtime.h"

struct python_memory {
	uint32_t pid;
	uint8_t version; /* as in struct python_row */
};

/* Addresses of objects: what a dictionary, or an object's attributes, lead from and to. */
struct python_items {
	VEC(struct python_item {
		uint64_t key;
		uint64_t value;
	}) of;
};

bool python_read_u64(const struct python_memory *memory, uint64_t address, uint64_t *ret);
/* The characters of a string, or the bytes of a bytes object; ret->data is the caller's. False: not
 * read, empty, or longer than `max_bytes`. */
bool python_read_string(const struct python_memory *memory, uint64_t object, bool is_bytes,
	size_t max_bytes, struct runtime_text_bytes *ret);
/* An integer of 1 to 2^30 - 1. */
bool python_read_number(const struct python_memory *memory, uint64_t object, uint32_t *ret);
/* All of a dictionary that are set; false unless all of them could be read. ret is empty before. */
bool python_read_dict(
	const struct python_memory *memory, uint64_t object, struct python_items *ret);
/* Likewise an instance's attributes, from 3.8 on, of a class without __slots__. */
bool python_read_attributes(
	const struct python_memory *memory, uint64_t object, struct python_items *ret);
void python_items_deinit(struct python_items *items);
/* The value of a key that is an ASCII string; 0: there is none. */
uint64_t python_items_find(
	const struct python_memory *memory, const struct python_items *items, const char *key);

#endif

/* Where CPython keeps what, by version. */
#ifndef EBPROF_PYTHON_LAYOUT_H
#define EBPROF_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/python/python_row.h"

enum {
	PYTHON_FIRST_MINOR = 6,
	PYTHON_LAST_MINOR = 15,
	PYTHON_DEBUG_OFFSETS_MINOR = 13,   /* from here on the interpreter says itself */
	PYTHON_DEBUG_OFFSETS_BYTES = 1024, /* more than any version has */
};

/*
 * False: an unknown version, or one that says itself. Addresses stay 0, but `current` is counted
 * from _PyRuntime on.
 */
bool python_layout_of_version(uint32_t minor, struct python_row *ret);
/*
 * By struct _Py_DebugOffsets, the first bytes of _PyRuntime. False: it is none, or one that makes
 * no sense.
 */
bool python_layout_of_offsets(
	const uint8_t bytes[PYTHON_DEBUG_OFFSETS_BYTES], uint32_t minor, struct python_row *ret);
/* Of texts only, by any `version` of a python_row: where the fields of strings are. */
void python_layout_of_texts(uint8_t version, struct python_row *ret);
/* Whether the BPF side may be handed it. */
bool python_layout_is_sound(const struct python_row *row);

#endif

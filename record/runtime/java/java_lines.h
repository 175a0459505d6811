/*
 * The lines of Java's methods: pairs of a place in the bytecodes and a line, each counted on from
 * the one before, behind the method's bytecodes.
 */
#ifndef EBPROF_JAVA_LINES_H
#define EBPROF_JAVA_LINES_H

#include <stdbool.h>

#include "bpf/runtime/runtime_row.h"
#include "record/runtime/runtime.h"

/* The next of the numbers that HotSpot keeps tables in, UNSIGNED5. The version is Java's. */
uint32_t java_lines_number(struct bytes_cursor *cursor, uint8_t version);
/* See struct runtime. The version is Java's. */
bool java_lines_next(const struct runtime_lines *lines, struct runtime_line_entry *entry);
bool java_lines_read(
	const struct event_code *event, enum runtime_text what, struct runtime_text_bytes *ret);

#endif

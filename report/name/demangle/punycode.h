/* Identifiers that are not ASCII, as domain names and Rust's mangling write them: RFC 3492. */
#ifndef EBPROF_PUNYCODE_H
#define EBPROF_PUNYCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PUNYCODE_MAX = 128, /* code points: each insertion moves those behind it */
};

/*
 * Decodes `ascii_len` basic code points and the insertions into them, digits
 * a-z and 0-9. False when they make no sense or more than PUNYCODE_MAX.
 */
bool punycode_decode(const char *ascii, size_t ascii_len, const char *insertions, size_t len,
	uint32_t code_points[PUNYCODE_MAX], size_t *count);

#endif

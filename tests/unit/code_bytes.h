/* Bytes that stand for code at an address, to be read as a machine reads code. */
#ifndef EBPROF_CODE_BYTES_H
#define EBPROF_CODE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	CODE_BYTES_ADDRESS = 0x10000, /* of the first one */
};

struct code_bytes {
	const void *data;
	size_t len;
};

/* The `read` of a struct machine_code, whose context begins with a struct code_bytes. */
static inline size_t code_bytes_read(void *context, uint64_t address, uint8_t *bytes, size_t len)
{
	const struct code_bytes *code = context;
	uint64_t at = address - CODE_BYTES_ADDRESS;
	if (at >= code->len)
		return 0;
	if (len > code->len - at)
		len = code->len - at;
	memcpy(bytes, (const uint8_t *)code->data + at, len);
	return len;
}

#endif

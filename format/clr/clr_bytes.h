/*
 * Bytes that lie elsewhere, in a file or in a process's memory, of which a reader needs a few here
 * and there: pages are read when they are asked for, and once.
 *
 * Integers are little-endian. What cannot be read is 0, and remembered (`is_bad`), so that a parser
 * reads a whole record and checks once.
 */
#ifndef EBPROF_CLR_BYTES_H
#define EBPROF_CLR_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/str.h"

enum {
	CLR_BYTES_PAGE = 4096,
	CLR_BYTES_MAX_PAGES = 32 << 10, /* 128 MiB; the metadata of the largest files have 30 */
};

/* `len` bytes at an offset, of which all are within the size. False: they cannot be read. */
typedef bool clr_bytes_read_fn(void *context, uint64_t offset, void *to, size_t len);

struct clr_bytes {
	clr_bytes_read_fn *read;
	void *context; /* borrowed */
	uint64_t size; /* in bytes */
	bool is_bad;
	/* private: */
	struct map pages; /* number -> its bytes */
	const uint8_t *page;
	uint64_t number; /* of the page */
};

void clr_bytes_init(struct clr_bytes *bytes, clr_bytes_read_fn *read, void *context, uint64_t size);
void clr_bytes_deinit(struct clr_bytes *bytes);
/* What has been read so far takes, in bytes of memory. */
size_t clr_bytes_held(const struct clr_bytes *bytes);

bool clr_bytes_copy(struct clr_bytes *bytes, uint64_t at, void *to, size_t len);
uint8_t clr_bytes_u8(struct clr_bytes *bytes, uint64_t at);
uint16_t clr_bytes_u16(struct clr_bytes *bytes, uint64_t at);
uint32_t clr_bytes_u32(struct clr_bytes *bytes, uint64_t at);
uint64_t clr_bytes_u64(struct clr_bytes *bytes, uint64_t at);
/* Appends the text up to a NUL, `max` bytes at most. */
void clr_bytes_put_text(struct clr_bytes *bytes, uint64_t at, size_t max, struct str *out);

/*
 * The compressed integer of ECMA-335, II.23.2, at *at, which is advanced: 1, 2 or 4 bytes, the
 * highest first. Else it is bad.
 */
uint32_t clr_bytes_packed(struct clr_bytes *bytes, uint64_t *at);
/* The same with a sign, which is its lowest bit. */
int32_t clr_bytes_packed_signed(struct clr_bytes *bytes, uint64_t *at);

#endif

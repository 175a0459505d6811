#include "record/host/lines.h"

#include <string.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/hex.h"
#include "format/base/mem.h"

bool lines_get_hex(const char **at, const char *end, uint64_t *ret)
{
	enum {
		MAX_DIGITS = 16
	};
	const char *start = *at;
	uint64_t value = 0;
	for (int digit; *at < end && (digit = hex_digit_value(**at)) >= 0; ++*at)
		value = value << 4 | (unsigned)digit;
	*ret = value;
	return *at > start && *at - start <= MAX_DIGITS;
}

struct reading {
	char *bytes;
	size_t len;
	uint64_t offset; /* of bytes[0] in the file */
	bool is_inside;  /* of a line whose beginning was dropped: too long */
};

/* False when fn had enough. Keeps the line whose end is not here yet. */
static bool lines_take_lines(struct reading *reading, lines_fn *fn, void *context)
{
	char *at = reading->bytes, *end = at + reading->len;
	for (char *newline; (newline = memchr(at, '\n', (size_t)(end - at)));) {
		struct line line = {at, newline, reading->offset + (uint64_t)(at - reading->bytes)};
		bool is_whole = !reading->is_inside;
		reading->is_inside = false;
		if (is_whole && !fn(context, &line))
			return false;
		at = newline + 1;
	}
	reading->offset += (uint64_t)(at - reading->bytes);
	reading->len = (size_t)(end - at);
	memmove(reading->bytes, at, reading->len);
	if (reading->len == LINES_MAX_BYTES) {
		reading->is_inside = true;
		reading->offset += reading->len;
		reading->len = 0;
	}
	return true;
}

void lines_read(int fd, uint64_t max_bytes, lines_fn *fn, void *context)
{
	CLEANUP_FREE char *bytes = mem_alloc(LINES_MAX_BYTES);
	struct reading reading = {.bytes = bytes};
	while (!max_bytes || reading.offset < max_bytes) {
		ssize_t got = fd_read(fd, bytes + reading.len, LINES_MAX_BYTES - reading.len);
		if (got <= 0)
			return;
		reading.len += (size_t)got;
		if (!lines_take_lines(&reading, fn, context))
			return;
	}
}

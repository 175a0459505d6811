/* Hexadecimal digits of bytes: build IDs, digests, %XX. */
#ifndef EBPROF_HEX_H
#define EBPROF_HEX_H

#include <stddef.h>

#include "format/base/str.h"

/* Writes 2 * `len` lower-case digits, and a 0 behind them. */
void hex_encode(const void *bytes, size_t len, char *ret);
/* Appends them. */
void hex_put(struct str *out, const void *bytes, size_t len);
/* Appends %XX, which stands for a byte in URLs and in names made like them: RFC 3986, section 2.1.
 */
void hex_put_percent(struct str *out, char byte);

/* 0 to 15 for a digit in lower or upper case; -1 for any other character. */
static inline int hex_digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	char lower = (char)(c | 0x20);
	return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

#endif

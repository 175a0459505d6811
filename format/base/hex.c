#include "format/base/hex.h"

#include <stdint.h>

static const char digits_of[] = "0123456789abcdef";

void hex_encode(const void *bytes, size_t len, char *ret)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < len; i++) {
		*ret++ = digits_of[at[i] >> 4];
		*ret++ = digits_of[at[i] & 15];
	}
	*ret = '\0';
}

void hex_put(struct str *out, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < len; i++) {
		const char pair[] = {digits_of[at[i] >> 4], digits_of[at[i] & 15]};
		str_write(out, pair, sizeof(pair));
	}
}

void hex_put_percent(struct str *out, char byte)
{
	str_printf(out, "%%%02X", (unsigned char)byte);
}

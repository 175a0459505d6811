#include "report/base64.h"

void base64_put(struct str *out, const void *bytes, size_t len)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = bytes;
	for (size_t i = 0; i < len; i += 3) {
		size_t count = len - i < 3 ? len - i : 3;
		uint32_t group = 0;
		for (size_t j = 0; j < 3; j++)
			group = group << 8 | (j < count ? at[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			str_putc(out, j <= count ? alphabet[group >> (18 - 6 * j) & 63] : '=');
	}
}

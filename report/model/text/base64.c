#include "report/model/text/base64.h"

enum {
	GROUP_BYTES = 3,
	PIECE_BYTES = 4096 * GROUP_BYTES,
};

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

static struct err *write_encoded(struct base64_sink *base64, const uint8_t *bytes, size_t len)
{
	CLEANUP(str_deinit) struct str text = {0};
	base64_put(&text, bytes, len);
	return base64->sink.write(base64->sink.context, str_text(&text), text.len);
}

/* Only whole groups are written on the way: padding ends the text. */
static struct err *base64_encode(void *context, const void *data, size_t len)
{
	struct base64_sink *base64 = context;
	const uint8_t *bytes = data, *end = bytes + len;
	while (base64->nr_waiting && base64->nr_waiting < GROUP_BYTES && bytes < end)
		base64->waiting[base64->nr_waiting++] = *bytes++;
	if (base64->nr_waiting == GROUP_BYTES) {
		base64->nr_waiting = 0;
		try(write_encoded(base64, base64->waiting, GROUP_BYTES));
	}
	while (end - bytes >= GROUP_BYTES) {
		size_t left = (size_t)(end - bytes) / GROUP_BYTES * GROUP_BYTES;
		size_t piece = left < PIECE_BYTES ? left : PIECE_BYTES;
		try(write_encoded(base64, bytes, piece));
		bytes += piece;
	}
	while (bytes < end)
		base64->waiting[base64->nr_waiting++] = *bytes++;
	return NULL;
}

struct byte_sink base64_sink_open(struct base64_sink *base64)
{
	return (struct byte_sink){.write = base64_encode, .context = base64};
}

struct err *base64_sink_finish(struct base64_sink *base64)
{
	size_t count = base64->nr_waiting;
	base64->nr_waiting = 0;
	return count ? write_encoded(base64, base64->waiting, count) : NULL;
}

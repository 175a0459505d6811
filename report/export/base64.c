#include "report/export/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum {
	GROUP_BYTES = 3,
	GROUP_CHARS = 4,
	PIECE_GROUPS = 4096,
};

static void put_group(const uint8_t *bytes, char *out)
{
	uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
	for (int i = 0; i < GROUP_CHARS; i++)
		out[i] = alphabet[bits >> (18 - 6 * i) & 63];
}

/* Completes the group that waits; what is left of `bytes` is returned. */
static size_t fill(struct base64 *base64, const uint8_t *bytes, size_t len)
{
	size_t taken = 0;
	while (base64->nr_waiting < GROUP_BYTES && taken < len)
		base64->waiting[base64->nr_waiting++] = bytes[taken++];
	return taken;
}

static struct err *sink_write(void *context, const void *data, size_t len)
{
	struct base64 *base64 = context;
	const uint8_t *bytes = data;
	char out[PIECE_GROUPS * GROUP_CHARS];
	size_t used = 0;
	if (base64->nr_waiting) {
		size_t taken = fill(base64, bytes, len);
		bytes += taken;
		len -= taken;
		if (base64->nr_waiting < GROUP_BYTES)
			return NULL;
		put_group(base64->waiting, out);
		used = GROUP_CHARS;
		base64->nr_waiting = 0;
	}
	for (; len >= GROUP_BYTES; bytes += GROUP_BYTES, len -= GROUP_BYTES) {
		if (used == sizeof(out)) {
			try(base64->sink.write(base64->sink.context, out, used));
			used = 0;
		}
		put_group(bytes, out + used);
		used += GROUP_CHARS;
	}
	fill(base64, bytes, len);
	return used ? base64->sink.write(base64->sink.context, out, used) : NULL;
}

struct export_sink base64_sink(struct base64 *base64)
{
	return (struct export_sink){.write = sink_write, .context = base64};
}

struct err *base64_finish(struct base64 *base64)
{
	size_t count = base64->nr_waiting;
	if (!count)
		return NULL;
	char out[GROUP_CHARS];
	for (size_t i = count; i < GROUP_BYTES; i++)
		base64->waiting[i] = 0;
	put_group(base64->waiting, out);
	for (size_t i = count + 1; i < GROUP_CHARS; i++)
		out[i] = '=';
	base64->nr_waiting = 0;
	return base64->sink.write(base64->sink.context, out, sizeof(out));
}

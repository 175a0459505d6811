#include "report/export/base64_sink.h"

#include "report/base64.h"

enum {
	GROUP_BYTES = 3,
	PIECE_BYTES = 4096 * GROUP_BYTES,
};

static struct err *write_encoded(struct base64_sink *base64, const uint8_t *bytes, size_t len)
{
	CLEANUP(str_deinit) struct str text = {0};
	base64_put(&text, bytes, len);
	return base64->sink.write(base64->sink.context, str_text(&text), text.len);
}

/* Only whole groups are written on the way: padding ends the text. */
static struct err *sink_write(void *context, const void *data, size_t len)
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

struct export_sink base64_sink_open(struct base64_sink *base64)
{
	return (struct export_sink){.write = sink_write, .context = base64};
}

struct err *base64_sink_finish(struct base64_sink *base64)
{
	size_t count = base64->nr_waiting;
	base64->nr_waiting = 0;
	return count ? write_encoded(base64, base64->waiting, count) : NULL;
}

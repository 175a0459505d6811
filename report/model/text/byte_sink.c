#include "report/model/text/byte_sink.h"

static struct err *append_text(void *context, const void *bytes, size_t len)
{
	str_write(context, bytes, len);
	return NULL;
}

struct byte_sink byte_sink_to_text(struct str *out)
{
	return (struct byte_sink){.write = append_text, .context = out};
}

static struct err *append_bytes(void *context, const void *bytes, size_t len)
{
	bytes_put(context, bytes, len);
	return NULL;
}

struct byte_sink byte_sink_to_bytes(struct bytes_buf *out)
{
	return (struct byte_sink){.write = append_bytes, .context = out};
}

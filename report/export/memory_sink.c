#include "report/export/memory_sink.h"

static struct err *put_text(void *context, const void *bytes, size_t len)
{
	str_write(context, bytes, len);
	return NULL;
}

struct export_sink memory_sink_text(struct str *out)
{
	return (struct export_sink){.write = put_text, .context = out};
}

static struct err *put_bytes(void *context, const void *bytes, size_t len)
{
	bytes_put(context, bytes, len);
	return NULL;
}

struct export_sink memory_sink_bytes(struct bytes_buf *out)
{
	return (struct export_sink){.write = put_bytes, .context = out};
}

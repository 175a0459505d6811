#include "report/name/demangle/demangle_sink.h"

#include <stdio.h>
#include <string.h>

bool demangle_sink_write(struct demangle_sink *sink, const char *text, size_t len)
{
	if (sink->is_over || len > sink->limit - sink->out->len) {
		sink->is_over = true;
		return false;
	}
	str_write(sink->out, text, len);
	return true;
}

bool demangle_sink_puts(struct demangle_sink *sink, const char *text)
{
	return demangle_sink_write(sink, text, strlen(text));
}

bool demangle_sink_number(struct demangle_sink *sink, uint64_t number)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	return demangle_sink_write(sink, digits, (size_t)len);
}

bool demangle_sink_code_point(struct demangle_sink *sink, uint32_t code)
{
	char bytes[4];
	size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return false;
	if (len == 1) {
		bytes[0] = (char)code;
		return demangle_sink_write(sink, bytes, 1);
	}
	for (size_t i = len - 1; i > 0; i--, code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3f));
	bytes[0] = (char)((0xf00 >> len & 0xff) | code);
	return demangle_sink_write(sink, bytes, len);
}

#include "cmd/console.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Line breaks of our own messages stay, everything else that acts on a terminal does not. */
static void print_escaped(const struct str *text)
{
	CLEANUP(str_deinit) struct str safe = {0};
	const char *at = str_text(text), *end = at + text->len;
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((line_end ? line_end : end) - at);
		str_put_escaped(&safe, at, len);
		if (line_end)
			str_putc(&safe, '\n');
		at += len + (line_end ? 1 : 0);
	}
	fprintf(stderr, "ebprof: %s\n", str_text(&safe));
}

void console_say(const char *fmt, ...)
{
	CLEANUP(str_deinit) struct str text = {0};
	va_list args;
	va_start(args, fmt);
	str_vprintf(&text, fmt, args);
	va_end(args);
	print_escaped(&text);
}

int console_fail(struct err *err)
{
	console_say("%s", err_message(err));
	int code = err_code(err) == ERR_USAGE ? CONSOLE_USAGE : CONSOLE_ERROR;
	err_destroy(err);
	return code;
}

void console_put_count(struct str *out, uint64_t count)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			str_putc(out, ' ');
		str_putc(out, digits[i]);
	}
}

void console_put_bytes(struct str *out, uint64_t bytes)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t unit = 0;
	while (value >= 1000 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1000;
		unit++;
	}
	str_printf(out, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

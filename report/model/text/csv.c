#include "report/model/text/csv.h"

#include <string.h>

void csv_put_field(struct str *out, const char *text)
{
	CLEANUP(str_deinit) struct str safe = {0};
	size_t len = strlen(text);
	if (len && strchr("=+-@", text[0])) {
		str_printf(&safe, "\\x%02x", (unsigned char)text[0]);
		text++;
		len--;
	}
	str_put_escaped(&safe, text, len);
	const char *at = str_text(&safe);
	if (!strpbrk(at, ",\"")) {
		str_puts(out, at);
		return;
	}
	str_putc(out, '"');
	for (; *at; at++) {
		if (*at == '"')
			str_putc(out, '"');
		str_putc(out, *at);
	}
	str_putc(out, '"');
}

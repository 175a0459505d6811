#include "report/model/text/markup.h"

static const char *entity_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void markup_put(struct str *out, const char *bytes, size_t len)
{
	CLEANUP(str_deinit) struct str safe = {0};
	str_put_escaped(&safe, bytes, len);
	for (size_t i = 0; i < safe.len; i++) {
		const char *at = safe.data + i, *entity = entity_of(*at);
		/* U+FFFE and U+FFFF are valid UTF-8, but no characters (XML 1.0, 2.2). */
		bool is_forbidden = safe.len - i >= 3 && memcmp(at, "\xef\xbf", 2) == 0 &&
				    (unsigned char)at[2] >= 0xbe;
		if (is_forbidden)
			str_printf(out, "\\xef\\xbf\\x%02x", (unsigned char)at[2]);
		else if (entity)
			str_puts(out, entity);
		else
			str_putc(out, *at);
		i += is_forbidden ? 2 : 0;
	}
}

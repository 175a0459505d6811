#include "report/name/chain_text.h"

static const char arrow[] = " > ";

void chain_text_put(const struct chain_text *chain, size_t count, size_t columns, struct str *out)
{
	size_t begin = out->len;
	for (size_t i = 0; i < count; i++) {
		str_puts(out, i ? arrow : "");
		chain->put_name(chain->context, i, count > 1 ? columns / 2 : columns, out);
	}
	if (count < 2 ||
		chain->columns_of(chain->context, out->data + begin, out->len - begin) <= columns)
		return;
	str_truncate(out, begin);
	chain->put_name(chain->context, 0, columns / 3, out);
	if (count > 2)
		str_printf(out, "%s%zu more", arrow, count - 2);
	str_puts(out, arrow);
	size_t used = chain->columns_of(chain->context, out->data + begin, out->len - begin);
	chain->put_name(chain->context, count - 1, columns > used ? columns - used : 1, out);
}

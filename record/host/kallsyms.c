#include "record/host/kallsyms.h"

#include <string.h>

#include "format/elf/elf_symbols.h"
#include "record/host/lines.h"

/* ffffffff81000000 T _text[\t[module]] */
static bool kallsyms_parse(const struct line *line, struct kallsyms_symbol *ret)
{
	const char *at = line->start, *end = line->end;
	uint64_t address;
	if (!lines_get_hex(&at, end, &address) || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	const char *name = at + 3;
	const char *tab = memchr(name, '\t', (size_t)(end - name));
	*ret = (struct kallsyms_symbol){
		.address = address,
		.type = at[1],
		.name = name,
		.name_len = (size_t)((tab ? tab : end) - name),
	};
	return ret->name_len > 0;
}

struct consumer {
	kallsyms_fn *fn;
	void *context;
};

static bool kallsyms_take_line(void *context, const struct line *line)
{
	struct consumer *consumer = context;
	struct kallsyms_symbol symbol;
	return !kallsyms_parse(line, &symbol) || consumer->fn(consumer->context, &symbol);
}

void kallsyms_read(int fd, kallsyms_fn *fn, void *context)
{
	struct consumer consumer = {fn, context};
	lines_read(fd, 0, kallsyms_take_line, &consumer);
}

bool kallsyms_is_function(const struct kallsyms_symbol *symbol)
{
	bool is_code = symbol->type == 't' || symbol->type == 'T' || symbol->type == 'w' ||
		       symbol->type == 'W';
	return is_code && !elf_symbols_is_label(symbol->name, symbol->name_len);
}

bool kallsyms_has_name(const struct kallsyms_symbol *symbol, const char *name)
{
	return symbol->name_len == strlen(name) &&
	       memcmp(symbol->name, name, symbol->name_len) == 0;
}

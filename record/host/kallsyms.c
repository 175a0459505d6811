#include "record/host/kallsyms.h"

#include <string.h>

#include "format/elf/elf_symbols.h"
#include "record/host/lines.h"

enum {
	MAX_LINES_BEFORE_TEXT = 4096, /* a few hundred per-CPU variables on x86 before 6.15 */
};

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

struct base_search {
	uint64_t text, stext;
	bool is_visible;
	unsigned lines_left;
};

static bool look_for_text(void *context, const struct kallsyms_symbol *symbol)
{
	struct base_search *search = context;
	if (symbol->address && kallsyms_is_function(symbol))
		search->is_visible = true;
	if (kallsyms_has_name(symbol, "_stext"))
		search->stext = symbol->address;
	if (!kallsyms_has_name(symbol, "_text"))
		return --search->lines_left > 0;
	search->text = symbol->address;
	return false;
}

/* _text is where the linker's script begins: among the first lines, all architectures have it. */
uint64_t kallsyms_read_base(int fd, bool *is_hidden)
{
	struct base_search search = {.lines_left = MAX_LINES_BEFORE_TEXT};
	kallsyms_read(fd, look_for_text, &search);
	*is_hidden = !search.is_visible;
	return search.text ? search.text : search.stext;
}

#include "record/kallsyms.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"

enum {
	BUFFER_BYTES = 64 << 10, /* the kernel gives a page a read; a longer line is none */
};

/* Digits as the kernel writes them, plus 1; 0: not a digit. */
static const uint8_t hex_digits[256] = {
	['0'] = 1,
	['1'] = 2,
	['2'] = 3,
	['3'] = 4,
	['4'] = 5,
	['5'] = 6,
	['6'] = 7,
	['7'] = 8,
	['8'] = 9,
	['9'] = 10,
	['a'] = 11,
	['b'] = 12,
	['c'] = 13,
	['d'] = 14,
	['e'] = 15,
	['f'] = 16,
};

/* ffffffff81000000 T _text[\t[module]] */
static bool parse(const char *line, const char *end, struct kallsyms_symbol *ret)
{
	const char *at = line;
	uint64_t address = 0;
	for (unsigned digit; at < end && (digit = hex_digits[(uint8_t)*at]); at++)
		address = address << 4 | (digit - 1);
	if (at == line || at - line > 16 || end - at < 4 || at[0] != ' ' || at[2] != ' ')
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

struct lines {
	char *bytes;
	size_t len;
	bool is_inside; /* of a line whose beginning was dropped: too long */
};

/* False when fn had enough. Keeps the line whose end is not here yet. */
static bool take_lines(struct lines *lines, kallsyms_fn *fn, void *context)
{
	char *line = lines->bytes, *end = lines->bytes + lines->len;
	for (char *newline; (newline = memchr(line, '\n', (size_t)(end - line)));) {
		struct kallsyms_symbol symbol;
		bool is_whole = !lines->is_inside;
		lines->is_inside = false;
		if (is_whole && parse(line, newline, &symbol) && !fn(context, &symbol))
			return false;
		line = newline + 1;
	}
	lines->len = (size_t)(end - line);
	memmove(lines->bytes, line, lines->len);
	if (lines->len == BUFFER_BYTES) {
		lines->is_inside = true;
		lines->len = 0;
	}
	return true;
}

void kallsyms_read(int fd, kallsyms_fn *fn, void *context)
{
	CLEANUP_FREE char *bytes = mem_alloc(BUFFER_BYTES);
	struct lines lines = {.bytes = bytes};
	for (;;) {
		ssize_t got = read(fd, bytes + lines.len, BUFFER_BYTES - lines.len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		lines.len += (size_t)got;
		if (!take_lines(&lines, fn, context))
			return;
	}
}

bool kallsyms_is_function(const struct kallsyms_symbol *symbol)
{
	return symbol->type == 't' || symbol->type == 'T' || symbol->type == 'w' ||
	       symbol->type == 'W';
}

bool kallsyms_has_name(const struct kallsyms_symbol *symbol, const char *name)
{
	return symbol->name_len == strlen(name) &&
	       memcmp(symbol->name, name, symbol->name_len) == 0;
}

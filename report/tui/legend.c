#include "report/tui/legend.h"

#include <string.h>

/* Ends with a row without a name. */
static const struct legend_row rows[] = {
	{"script", "[s], run by an interpreter: a colour a language", STYLE_FLAME + 8,
		STYLE_SCRIPT},
	{"native", "compiled: a colour a file", STYLE_FLAME, STYLE_NORMAL},
	{"inlined", "[i], into what calls it", STYLE_FLAME + 3, STYLE_INLINED},
	{"kernel", "[k], whatever runs in it", STYLE_FLAME + 7, STYLE_KERNEL},
	{"more", "than in the baseline (>), or new (+)", STYLE_CHANGE + 5, STYLE_WORSE},
	{"less", "than in the baseline (<), or gone (-)", STYLE_CHANGE + 1, STYLE_BETTER},
	{"no name", "only an address is known", STYLE_FLAME + 6, STYLE_UNKNOWN},
	{NULL, NULL, 0, 0},
};

void legend_put(struct str *out)
{
	str_puts(out, "\nColours\n");
	for (const struct legend_row *row = rows; row->name; row++)
		str_printf(out, "  %-*s %s\n", LEGEND_NAME, row->name, row->help);
}

const struct legend_row *legend_row_of(const char *line)
{
	if (strncmp(line, "  ", 2) != 0)
		return NULL;
	for (const struct legend_row *row = rows; row->name; row++) {
		size_t len = strlen(row->name);
		if (strncmp(line + 2, row->name, len) == 0 &&
			strspn(line + 2 + len, " ") >= LEGEND_NAME + 1 - len)
			return row;
	}
	return NULL;
}

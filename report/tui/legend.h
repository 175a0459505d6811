/* What colours of frames and names mean: for help. */
#ifndef EBPROF_LEGEND_H
#define EBPROF_LEGEND_H

#include "format/base/str.h"
#include "report/tui/style.h"

struct legend_row {
	const char *name, *help;
	unsigned box, ink; /* styles: of a frame in a flame graph, of a name in a list */
};

enum {
	LEGEND_NAME = 10, /* columns, from the third of a line on */
};

/* Below a heading, a line each. */
void legend_put(struct str *out);
/* The row of such a line; NULL: it is none. */
const struct legend_row *legend_row_of(const char *line);

#endif

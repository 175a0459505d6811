/* The events that the one shown by a page of --html is the sum of; else that one alone. */
#ifndef EBPROF_HTML_PARTS_H
#define EBPROF_HTML_PARTS_H

#include "format/base/vec.h"
#include "report/write/export/html_data.h"
#include "report/write/export/html_tree.h"

struct html_part {
	const char *name; /* borrowed from a profile */
	bool is_wait;
};

struct html_parts {
	VEC(struct html_part) list;          /* of all sides, by name; never empty */
	uint32_t *numbers[HTML_COLUMNS_MAX]; /* of each event of a side: its index of the list */
};

void html_parts_init(struct html_parts *parts, const struct html_data_side *sides, size_t nr_sides);
void html_parts_deinit(struct html_parts *parts);

#endif

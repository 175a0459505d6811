/* What a page of --html with two recordings lists: the rows that `ebprof diff` lists, in its words.
 */
#ifndef EBPROF_HTML_CHANGES_H
#define EBPROF_HTML_CHANGES_H

#include "format/base/bytes.h"
#include "report/compare/difference.h"
#include "report/write/export/html_tree.h"

/* The part `changes` of html_data.h. `judged` NULL: the sides could not be compared. */
void html_changes_put(const struct difference *judged, const struct html_tree *tree,
	size_t nr_functions, struct bytes_buf *out);

#endif

/* What a page of --html with two recordings lists: the rows that `ebprof diff` lists, in its words.
 */
#ifndef EBPROF_HTML_CHANGES_H
#define EBPROF_HTML_CHANGES_H

#include "format/base/bytes.h"
#include "report/compare/difference.h"

/*
 * The part `changes` of html_data.h. `judged` NULL: the sides could not be compared. `numbers`: for
 * each function of its diff tree 1 + that of the page; 0: the page has none.
 */
void html_changes_put(
	const struct difference *judged, const uint32_t *numbers, struct bytes_buf *out);

#endif

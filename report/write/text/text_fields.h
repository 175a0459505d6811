/* What heads, tables and trees share: numbers in front of rows, and why there are none. */
#ifndef EBPROF_TEXT_FIELDS_H
#define EBPROF_TEXT_FIELDS_H

#include "report/write/text/text.h"

/*
 * Of waits and allocations: of a timer's samples their number says it, and of what is counted the
 * estimate that samples are may be far off what info has exactly.
 */
bool text_has_sum(const struct profile_event *event);
/* Of a row, or of NULL their titles, behind the # of a comment. */
void text_put_fields(const struct profile *profile, const struct table *table,
	const struct table_row *row, const struct text_options *options, struct str *out);
/* The line that stands in place of rows where there are none: why. */
void text_put_none(
	const struct profile *profile, const struct text_options *options, struct str *out);

#endif

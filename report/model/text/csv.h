/* Fields of CSV (RFC 4180). */
#ifndef EBPROF_CSV_H
#define EBPROF_CSV_H

#include "format/base/str.h"

/*
 * A field in quotes where it needs them. Foreign bytes are escaped, so a row is a
 * line. A spreadsheet would take what begins like a formula for one and run it, which
 * no name of a function may bring about.
 */
void csv_put_field(struct str *out, const char *text);

#endif

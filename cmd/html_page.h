/* The page of a recording, written and shown: what `open` and `record --open` do. */
#ifndef EBPROF_HTML_PAGE_H
#define EBPROF_HTML_PAGE_H

#include "cmd/input.h"
#include "format/base/err.h"
#include "report/model/profile.h"
#include "report/write/export/export.h"

/*
 * Writes the page of a profile, which has been symbolized and filtered, with lines of its hottest
 * functions unless `code` is NULL, to `output`, or where that is NULL to a place for its user alone
 * that does not outlive the session (0600). Opens it in the browser, and says on stderr where it
 * is; that nothing could open it is said, too, and no failure.
 */
struct err *html_page_show(const struct profile *profile, const struct input *input,
	const struct export_code *code, const char *output) ERR_MUST_CHECK;

#endif

/*
 * The browser of the user who works at this machine. Below sudo that is sudo's caller, as whom it
 * runs: browsers refuse to run as root, or should.
 */
#ifndef EBPROF_BROWSER_H
#define EBPROF_BROWSER_H

#include "format/base/caller.h"
#include "format/base/err.h"
#include "format/base/str.h"

/*
 * Shows a file by what $BROWSER names, else by xdg-open where there is a display. Appends the name
 * of the program to *ret; nothing: there is neither. Fails where the program cannot be started, or
 * fails within a second. It goes on when this process ends.
 */
struct err *browser_open(
	const char *path, const struct caller *caller, struct str *ret) ERR_MUST_CHECK;
/* Whether there is one to be tried. */
bool browser_is_here(const struct caller *caller);
/* Appends the folder of the caller's files that last until he logs out, without a slash behind;
 * nothing: there is none. */
void browser_put_runtime_folder(const struct caller *caller, struct str *out);

#endif

/* The terminal interface, from a command's options on: for report, and for diff. */
#ifndef EBPROF_TERMINAL_REPORT_H
#define EBPROF_TERMINAL_REPORT_H

#include "cmd/select.h"
#include "report/tui/tui.h"

/*
 * Runs until the person leaves; the exit code. What `options` say of names and filters comes from
 * `select`. Does not return where threads are left that still use all of that.
 */
int terminal_report(struct tui_options *options, struct select_options *select);

#endif

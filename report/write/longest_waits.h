/* The longest waits of a recording, a line for those of one thread by one stack. */
#ifndef EBPROF_LONGEST_WAITS_H
#define EBPROF_LONGEST_WAITS_H

#include "format/base/str.h"
#include "report/model/profile.h"

/*
 * As text for --stdio, the longest first; the profile has reasons (wait_reasons.h). Waits that were
 * chosen to stand for shorter ones are not among them. False: the profile has no waits.
 */
bool longest_waits_put(const struct profile *profile, struct str *out);

#endif

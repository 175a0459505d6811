/* What info tells of a recording, for programs. */
#ifndef EBPROF_INFO_JSON_H
#define EBPROF_INFO_JSON_H

#include "format/base/str.h"
#include "report/model/profile.h"

/*
 * Appends one JSON object; its keys are stable and listed in man/ebprof-info.1, units are in their
 * names. Long lists stop at INFO_MAX_LIST_BYTES, and "..._omitted" counts what is not there.
 */
void info_put_json(const struct profile *profile, struct str *out);

#endif

/* What a recording is and how sound it is: the output of `ebprof info`. */
#ifndef EBPROF_INFO_H
#define EBPROF_INFO_H

#include "format/base/str.h"
#include "report/model/profile.h"

/*
 * Appends lines for a terminal; texts of the recording are escaped. `with_mappings`: the objects
 * and mappings as well, thousands of lines for a busy system.
 */
void info_put_text(const struct profile *profile, bool with_mappings, struct str *out);
/*
 * Appends one JSON object; its keys are stable and listed in man/ebprof-info.1, units are in their
 * names. Long lists are cut, and "..._omitted" counts what is not there.
 */
void info_put_json(const struct profile *profile, struct str *out);

#endif

/* The sums of a recording, named: where its time went on the whole, and how far it can be trusted.
 */
#ifndef EBPROF_OVERVIEW_H
#define EBPROF_OVERVIEW_H

#include "format/base/str.h"
#include "report/analyse/filter.h"
#include "report/model/profile.h"

/* Lines for report --stats, of the samples that the filter has left. Needs a symbolized profile. */
void overview_put(const struct profile *profile, const struct filter *filter, struct str *out);

#endif

/* The part of info that tells from which recordings one was merged. */
#ifndef EBPROF_INFO_ORIGINS_H
#define EBPROF_INFO_ORIGINS_H

#include "format/base/str.h"
#include "report/model/profile.h"

/*
 * Many entities can share one long path: a list stops when it has become this
 * long, and says how much more there was.
 */
enum {
	INFO_MAX_LIST_BYTES = 16 << 20
};

/* Nothing where nothing was merged. */
void info_put_origins(const struct profile *profile, struct str *out);
void info_put_json_origins(const struct profile *profile, struct str *out);
/* "meta": {...} */
void info_put_json_meta(const struct profile_meta *meta, size_t count, struct str *out);

#endif

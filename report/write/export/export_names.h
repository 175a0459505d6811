/* What foreign formats call the events and the program of a recording, and when it was. */
#ifndef EBPROF_EXPORT_NAMES_H
#define EBPROF_EXPORT_NAMES_H

#include "report/model/profile.h"

/* pprof's own names where it has some, so that profiles of several tools compare. */
const char *export_event_type(const struct profile *profile, uint32_t event);
const char *export_event_unit(const struct profile *profile, uint32_t event);
/* What a tick stands for: in frequency mode, where it varies, the average. */
uint64_t export_event_period(const struct profile *profile, uint32_t event);
/* What was profiled, in a word: the command, or else the host. */
const char *export_service_name(const struct profile *profile);
/* Of what is exported: a --time is a part of the recording. As first_ns of the profile; in ns. */
uint64_t export_begin_ns(const struct profile *profile);
uint64_t export_duration_ns(const struct profile *profile);

#endif

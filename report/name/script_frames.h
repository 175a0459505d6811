/* How many frames of programs that interpreters run a recording has, and how many lack a name. */
#ifndef EBPROF_SCRIPT_FRAMES_H
#define EBPROF_SCRIPT_FRAMES_H

#include <stdint.h>

#include "format/base/vec.h"
#include "report/model/profile.h"

struct script_frames {
	VEC(struct script_language {
		const char *name; /* borrowed from the profile */
		uint64_t frames;  /* with a name, of all samples */
		uint64_t samples; /* that have one */
	}) languages;
	uint64_t unnamed[LAYOUT_SCRIPT_FAILURES_END]; /* frames, by cause */
};

void script_frames_count(const struct profile *profile, struct script_frames *ret);
void script_frames_deinit(struct script_frames *frames);
/* Of a cause: enum layout_script_failure; NULL: there is none of this number. */
const char *script_frames_cause(uint32_t cause);

#endif

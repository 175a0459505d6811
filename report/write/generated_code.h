/*
 * What to do about code that programs make while they run, where it has no names or its frames
 * could not be left for certain: it depends on the runtime that made it.
 */
#ifndef EBPROF_GENERATED_CODE_H
#define EBPROF_GENERATED_CODE_H

#include "format/base/str.h"
#include "report/model/profile.h"

enum generated_code_lack {
	GENERATED_CODE_LACKS_NAMES,
	GENERATED_CODE_LACKS_CALLERS,
};

/* Appends what helps for each runtime that the recording has files of, in one line; for want of
 * any, what helps for most. */
void generated_code_put_remedy(
	const struct profile *profile, enum generated_code_lack lack, struct str *out);

#endif

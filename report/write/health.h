/* What is wrong with the bytes of a recording, in words. */
#ifndef EBPROF_HEALTH_H
#define EBPROF_HEALTH_H

#include "format/base/str.h"
#include "format/file/reader.h"

/* Nothing for one that is whole. `cut_s`: when it was cut, if it was; negative: unknown. */
void health_put_file(const struct reader_result *file, double cut_s, struct str *out);

#endif

/* How many samples a recording has, without loading it. */
#ifndef EBPROF_SAMPLE_COUNT_H
#define EBPROF_SAMPLE_COUNT_H

#include <stdint.h>

#include "format/base/err.h"

struct err *sample_count(int fd, uint64_t *ret) ERR_MUST_CHECK;

#endif

/* How many samples a recording has, and how long it ran, without loading it. */
#ifndef EBPROF_SAMPLE_COUNT_H
#define EBPROF_SAMPLE_COUNT_H

#include <stdint.h>

#include "format/base/err.h"

struct sample_count {
	uint64_t samples;
	uint64_t begun_ns, ended_ns; /* 0: it does not say */
};

struct err *sample_count(int fd, struct sample_count *ret) ERR_MUST_CHECK;

#endif

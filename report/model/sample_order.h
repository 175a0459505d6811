/* Samples by time. */
#ifndef EBPROF_SAMPLE_ORDER_H
#define EBPROF_SAMPLE_ORDER_H

#include <stddef.h>

#include "report/model/profile.h"

/* Samples of the same instant stay in the order in which they came. */
void sample_order_sort(struct profile_sample *samples, size_t count);

#endif

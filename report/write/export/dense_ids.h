/*
 * Numbers for those elements of a table that an export refers to: 1, 2, 3... in order of their
 * first use. Parca demands that of pprof's ids (pkg/normalizer/validate.go, 2026-07), and OTLP's
 * are indices of tables whose element 0 stands for none. Formats that count from 0 take 1 off.
 */
#ifndef EBPROF_DENSE_IDS_H
#define EBPROF_DENSE_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"

struct dense_ids {
	uint32_t *id_of;    /* of each element, 0: not used */
	VEC(uint32_t) used; /* the elements, by id - 1 */
};

/* Elements are 0 .. count - 1. */
void dense_ids_init(struct dense_ids *ids, size_t count);
void dense_ids_deinit(struct dense_ids *ids);
uint32_t dense_ids_use(struct dense_ids *ids, size_t element);

#endif

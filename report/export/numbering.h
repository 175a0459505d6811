/* New, dense indices for those entries of a table that are used, in the order of their use. */
#ifndef EBPROF_NUMBERING_H
#define EBPROF_NUMBERING_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"

struct numbering {
	uint32_t *numbers;  /* of each entry, plus 1; 0: not used */
	VEC(uint32_t) used; /* entries by number */
};

void numbering_init(struct numbering *numbering, size_t len);
void numbering_deinit(struct numbering *numbering);
uint32_t numbering_of(struct numbering *numbering, uint32_t entry);

#endif

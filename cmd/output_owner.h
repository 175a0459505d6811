/* Whose recordings are. */
#ifndef EBPROF_OUTPUT_OWNER_H
#define EBPROF_OUTPUT_OWNER_H

#include "record/output.h"

/* Under sudo, a recording belongs to who asked for it, so that he can read it without. */
struct output_owner output_owner_find(void);

#endif

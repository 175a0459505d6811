/*
 * What code is called that was compiled ahead of time: by the file alone. One table leads from
 * methods to functions, another one from methods with arguments; funclets (handlers of exceptions)
 * follow on their method.
 *
 * Sources: docs/design/coreclr/botr/readytorun-format.md and src/coreclr/vm/nativeformatreader.h of
 * .NET 8, 9, 10.
 */
#ifndef EBPROF_CLR_READY_H
#define EBPROF_CLR_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/clr/clr_debug_map.h"
#include "format/clr/clr_image.h"

/* Which method each function is of. */
struct clr_ready {
	const struct clr_image *image; /* borrowed */
	/* private: by the function's index; 0: another one's before it */
	VEC(uint64_t) methods;
};

/* Reads the tables. Deinit in any case. */
void clr_ready_init(struct clr_ready *ready, const struct clr_image *image);
void clr_ready_deinit(struct clr_ready *ready);
/* False: the function has no name. */
bool clr_ready_put_name(const struct clr_ready *ready, uint32_t function, struct str *out);
/*
 * The function that its method begins with, whose funclet it may be: from there on code is counted
 * in `ret`, where that is in the IL. False: it is not known; else *ret is yours.
 */
bool clr_ready_debug_map(const struct clr_ready *ready, uint32_t function, uint32_t *first,
	struct clr_debug_map *ret);
/* The row of its method; 0: not known, or it is another module's. */
uint32_t clr_ready_method(const struct clr_ready *ready, uint32_t function);

#endif

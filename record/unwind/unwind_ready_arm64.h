/* Unwind rules of code of arm64 that .NET's compiler made ahead of time, see unwind_ready.h: its
 * records of .xdata describe epilogues, too. */
#ifndef EBPROF_UNWIND_READY_ARM64_H
#define EBPROF_UNWIND_READY_ARM64_H

#include <stdint.h>

#include "format/clr/clr_image.h"
#include "record/unwind/unwind_epilogue.h"

/* Puts the rows of a function, by address; none where its record is not understood.
 */
void unwind_ready_put_arm64(const struct clr_image *image, const struct clr_function *function,
	struct unwind_epilogue_rows *rows);
/* Of the code that makes methods ready: all of it jumps on, and has no frame. */
void unwind_ready_put_arm64_thunks(const struct unwind_epilogue_rows *rows);

#endif

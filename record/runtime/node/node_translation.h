/*
 * What optimized code keeps for the case that it has to be given up: of each call that it makes,
 * the frames that its functions would have if they were not inlined. They are exact where calls
 * return to, since V8 itself goes by them. As bytes of V8 14.
 */
#ifndef EBPROF_NODE_TRANSLATION_H
#define EBPROF_NODE_TRANSLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"

struct node_translated_frame {
	uint32_t literal;  /* its function's SharedFunctionInfo, among the code's literals */
	uint32_t bytecode; /* where in its bytecodes it is; of a builtin 0 */
};

/*
 * The frames of the translation that begins `at` these bytes, the outermost first: returns how many
 * there are, up to `max` of which are in *frames. 0: the bytes make no sense.
 */
size_t node_translation_frames(const uint8_t *bytes, size_t len, size_t at,
	struct node_translated_frame *frames, size_t max);

struct node_safepoint {
	uint32_t pc;         /* where a call returns to, from the beginning of the instructions */
	int32_t translation; /* which one; negative: none */
	uint32_t trampoline; /* where it returns to once the code was given up; 0: nowhere else */
};

struct node_safepoints {
	struct bytes_cursor cursor;
	uint32_t left;
	uint8_t pc_bytes, translation_bytes, other_bytes;
};

/* The table behind the instructions of code. False: the bytes make no sense. */
bool node_safepoints_init(
	struct node_safepoints *safepoints, const uint8_t *bytes, size_t len, bool is_maglev);
/* False: there is none after it. */
bool node_safepoints_next(struct node_safepoints *safepoints, struct node_safepoint *ret);

#endif

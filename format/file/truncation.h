/* How a walk ended, in the file's words. */
#ifndef EBPROF_TRUNCATION_H
#define EBPROF_TRUNCATION_H

#include "format/file/layout.h"
#include "format/unwind/unwind_rule.h"

static inline enum layout_truncation truncation_of_end(enum event_stack_end end)
{
	static const enum layout_truncation truncations[] = {
		[EVENT_END_COMPLETE] = LAYOUT_COMPLETE,
		[EVENT_END_BROKEN_FRAME_POINTER] = LAYOUT_TRUNCATED_FRAME_POINTER,
		[EVENT_END_UNREADABLE] = LAYOUT_TRUNCATED_UNREADABLE,
		[EVENT_END_DEPTH] = LAYOUT_TRUNCATED_DEPTH,
		[EVENT_END_NO_REGISTERS] = LAYOUT_TRUNCATED_NO_REGISTERS,
		[EVENT_END_NO_TABLE] = LAYOUT_TRUNCATED_NO_TABLE,
		[EVENT_END_NO_RULE] = LAYOUT_TRUNCATED_NO_RULE,
		[EVENT_END_UNSUPPORTED] = LAYOUT_TRUNCATED_UNSUPPORTED,
		[EVENT_END_REGISTER] = LAYOUT_TRUNCATED_REGISTER,
		[EVENT_END_JIT] = LAYOUT_TRUNCATED_JIT,
		[EVENT_END_TABLE_PENDING] = LAYOUT_TRUNCATED_TABLE_PENDING,
		[EVENT_END_NO_MAPPING] = LAYOUT_TRUNCATED_NO_MAPPING,
	};
	return end < sizeof(truncations) / sizeof(*truncations) ? truncations[end]
								: LAYOUT_TRUNCATED_UNKNOWN;
}

#endif

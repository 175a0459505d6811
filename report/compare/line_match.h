/*
 * Which lines of two recordings are the same. An edit above a function moves all of its lines by as
 * many: that is known where its declaration's line is, and else shows in how its samples are spread
 * over the lines. An edit inside moves some of them: where one line has much less than before and
 * another one much more, no more can be told than that, and all lines of the function are one.
 */
#ifndef EBPROF_LINE_MATCH_H
#define EBPROF_LINE_MATCH_H

#include "format/base/map.h"
#include "report/compare/function_match.h"

struct line_match {
	/* Of functions whose lines moved, by function_match_id(): by how many, as int64_t; or that
	 * all of them are one. */
	struct map moves;
};

/* Of functions whose file is of several builds. The profiles are those of the match. */
void line_match_init(struct line_match *lines, struct function_match *functions);
void line_match_deinit(struct line_match *lines);

/* Whether a frame's line is one of the file that its function is in, and moves with it: not of a
 * file that is included in its body. */
bool line_match_is_own(const struct profile *profile, const struct profile_frame *frame);
/* Whether all such lines of the function are one. */
bool line_match_is_edited(const struct line_match *lines, uint32_t function);
/* Else the line as the new side numbers it. */
uint32_t line_match_line(
	const struct line_match *lines, enum match_side side, uint32_t function, uint32_t line);

#endif

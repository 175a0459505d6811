/*
 * In whose code stacks are cut or guessed, for what cause, and what helps: the words of `info`, of
 * the terminal interface and of pages.
 */
#ifndef EBPROF_CUT_STACKS_H
#define EBPROF_CUT_STACKS_H

#include "format/base/str.h"
#include "report/analyse/stack_counts.h"
#include "report/model/profile.h"

/*
 * Appends fields as `info` has them: the objects that cost most stacks their callers, from a
 * thousandth of the samples on. Nothing where there are none.
 */
void cut_stacks_put(const struct profile *profile, struct str *out);

/*
 * Appends a sentence on how many of the recording's stacks lack callers, or may; nothing below a
 * thousandth.
 */
void cut_stacks_put_sentence(const struct profile *profile, struct str *out);

/* Whether a profile was made from perf's file, in which perf itself had unwound the stacks. */
bool cut_stacks_has_chains_of_perf(const struct profile *profile);

/* Appends all objects that cut a stack or left it to a guess, the worst first, as a member
 * "cut_or_guessed" of a JSON object, with "," and the end of the line. */
void cut_stacks_put_json(const struct profile *profile, struct str *out);

/* Appends {"CAUSE": STACKS, ...} of an array by enum layout_truncation, where there are any. */
void cut_stacks_put_json_causes(const uint64_t *truncated_by, struct str *out);
/* Appends {"rule": FRAMES, ...} of an array by enum unwind_found. */
void cut_stacks_put_json_found(const uint64_t *frames, struct str *out);

/* Appends lines that stand alone about one object, of `all` samples; nothing where no step of a
 * stack begins in it. */
void cut_stacks_put_object(const struct profile *profile, const struct profile_object *object,
	const struct object_stacks *stacks, uint64_t all, struct str *out);

#endif

/* The longest waits of a recording, a line for those of one thread in one place. */
#ifndef EBPROF_LONGEST_WAITS_H
#define EBPROF_LONGEST_WAITS_H

#include "format/base/str.h"
#include "format/base/vec.h"
#include "report/analyse/scope.h"
#include "report/model/profile.h"

/* The waits of one thread by one stack, or by stacks whose lines say the same. */
struct longest_wait {
	const struct profile_sample *longest;
	uint64_t count, sum; /* how many, and how long in all, in the event's unit (ns) */
	bool is_of_program;  /* in a function of a program or a script, not of libraries alone */
};

struct longest_waits {
	VEC(struct longest_wait) rows; /* the longest waits first */
	uint64_t exact, all;           /* waits whose length is known, and all */
};

enum {
	LONGEST_WAITS_MAX = 30, /* rows that are shown */
};

enum longest_waits_lines {
	LONGEST_WAITS_OF_SCREEN, /* functions of the program; one for each stack, by any waker */
	LONGEST_WAITS_OF_PAGE,   /* the same, one for all stacks with such a line */
	LONGEST_WAITS_OF_TEXT,   /* likewise, with functions of libraries and of the kernel */
};

/*
 * Those of the samples that meet the terms; the profile has reasons. `stacks` is that of
 * scope_walk_init(). Those in functions of programs and scripts come first. *ret is the caller's,
 * and borrows from the profile.
 */
void longest_waits_find(const struct profile *profile, const struct scope *scope,
	const struct scope_stacks *stacks, enum longest_waits_lines lines,
	struct longest_waits *ret);
void longest_waits_deinit(struct longest_waits *waits);
/* What stands above longest_waits_put_row(). */
extern const char longest_waits_heading[];
/* A line for a screen: length, count, sum, thread, reason, functions of the program. */
void longest_waits_put_row(
	const struct profile *profile, const struct longest_wait *wait, struct str *out);
/* A frame of the program's function that waits by this stack: the first that
 * longest_waits_put_row() has; 0: of none. */
uint32_t longest_waits_frame(const struct profile *profile, uint32_t stack);
/* "ticker:11 sleep in produce": whose waits by this stack those are. */
void longest_waits_put_name(
	const struct profile *profile, uint32_t thread, uint32_t stack, struct str *out);
/* Lines, each behind `mark`, about those that do not stand in the first `rows` rows. */
void longest_waits_put_rest(
	const struct longest_waits *waits, size_t rows, const char *mark, struct str *out);

/*
 * As text for --stdio, the longest first; the profile has reasons (wait_reasons.h). Waits that were
 * chosen to stand for shorter ones are not among them. `most`: rows, SIZE_MAX: all. False: the
 * profile has no waits.
 */
bool longest_waits_put(const struct profile *profile, size_t most, struct str *out);

#endif

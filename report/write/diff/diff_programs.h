/* Of which programs the runs of a comparison are: a stray file among those of a side looks like
 * noise. */
#ifndef EBPROF_DIFF_PROGRAMS_H
#define EBPROF_DIFF_PROGRAMS_H

#include "report/compare/difference.h"

/* Whether runs of one side are of several programs. */
bool diff_programs_are_mixed(const struct difference *diff);
/*
 * "Base is of app, new of other. ", "Not all runs are of one program: base 3 of app, 1 of other
 * (o.data); new 4 of app. "; nothing where all runs are of one, or not of commands.
 */
void diff_put_programs(struct str *out, const struct difference *diff,
	void (*put_text)(struct str *out, const char *text));

#endif

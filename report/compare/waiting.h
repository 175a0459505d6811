/*
 * Of waits, the first regression mostly is a reason to wait, such as a sleep, in which all stacks
 * end that wait for it: no function, so that it does not say what to look at.
 */
#ifndef EBPROF_WAITING_H
#define EBPROF_WAITING_H

#include "report/compare/run_counts.h"

/*
 * Sets `waits_longer` of the user's own function (own_code.h) that waits longer for that reason by
 * the greatest amount, if it surely takes longer, too, and mostly for that. Of several by the same
 * amount, as callers of each other are, the one of which it is the most. Rows stand as the counts
 * have them: before they are put in order.
 */
void waiting_find(struct difference *diff, struct run_counts *counts);

#endif

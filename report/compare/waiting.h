/*
 * Of waits, the first regression mostly is a reason to wait, such as a sleep, in which all stacks
 * end that wait for it: no function, so that it does not say what to look at.
 */
#ifndef EBPROF_WAITING_H
#define EBPROF_WAITING_H

#include "report/compare/run_counts.h"

/*
 * Sets `waits_longer` of the user's own function (diff_row's `is_own`) that waits longer for that
 * reason, if it surely takes longer with what it calls, and mostly for that: of those by about the
 * greatest amount, as callers of each other are, the one that takes longer by the greatest part.
 * Rows are in order, and it is known which of them repeat others.
 */
void waiting_find(struct difference *diff, struct run_counts *counts);

#endif

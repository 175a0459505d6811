/*
 * Recordings that are read together may be of one process, which then has an entry in `processes`
 * for each, since a sample has its origin by it. A thread has an entry in `threads` for each name
 * that it had, and when a runtime's name stands for that of the kernel, or in pieces of one
 * recorder's recording, several of one name.
 */
#ifndef EBPROF_THREAD_ENTRIES_H
#define EBPROF_THREAD_ENTRIES_H

#include "report/model/profile.h"

/*
 * What its runtime calls a thread takes the place of what the kernel calls it. Then all that is of
 * a thread under one name gets the first entry that has it; nothing leads to the others. Says of
 * each origin, process and thread which is the first of its kind.
 */
void thread_entries_settle(struct profile *profile);

#endif

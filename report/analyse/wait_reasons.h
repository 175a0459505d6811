/*
 * Why a thread waited, in a word, by the kernel's functions that stand in the stack of its wait;
 * and which system call it was in, where that is measured.
 */
#ifndef EBPROF_WAIT_REASONS_H
#define EBPROF_WAIT_REASONS_H

#include "report/model/profile.h"

/*
 * Gives each stack of a wait a leaf called "[wait: futex]", of the object "[wait]", and one
 * of a system call "[syscall: read]", of the object "[syscall]". The kernel's
 * functions must have their names, those of the user need none; new frames, nodes and stacks stand
 * behind the others. To be called once.
 */
void wait_reasons_add(struct profile *profile);
/* Behind that: without the waits of these reasons. */
void wait_reasons_hide(struct profile *profile, const char *const *words, size_t count);
bool wait_reason_is_known(const char *word);

#endif

/*
 * Stacks without the frames that the user does not want to see: of scripts without what runs below
 * them (the interpreter, libraries, the kernel), of programs without the kernel.
 */
#ifndef EBPROF_HIDDEN_FRAMES_H
#define EBPROF_HIDDEN_FRAMES_H

#include "report/model/profile.h"

enum hidden_frames {
	/* What is no frame of a script, where a stack has some. */
	HIDDEN_NATIVE = 1,
	/* What is the kernel's, where a stack has frames of a program. */
	HIDDEN_KERNEL = 2,
};

/*
 * Leaves out of each stack what is hidden, of which `hidden` is a sum. The samples stay: what the
 * hidden code spent goes to the function that called it. What is of no program stays, too: the
 * marker of a truncated stack, why a thread waits, which system call it is in.
 */
void hidden_frames_leave_out(struct profile *profile, unsigned hidden);

/* The same beside a profile, by stacks of the same indices: of profile_create_beside(). */
struct profile *hidden_frames_beside(const struct profile *profile, unsigned hidden);

/* Whether any of these that frames are of are scripts, or the kernel's. */
bool hidden_frames_have_scripts(const struct profile_object *objects, size_t count);
bool hidden_frames_have_kernel(const struct profile_object *objects, size_t count);

#endif

/* Stacks of scripts without what runs below them: the interpreter, libraries, the kernel. */
#ifndef EBPROF_NATIVE_FRAMES_H
#define EBPROF_NATIVE_FRAMES_H

#include "report/model/profile.h"

/*
 * Leaves of each stack that has frames of scripts only these, and the marker of one that is
 * truncated. The samples stay: what native code spent goes to the script's function that called
 * it. Stacks without any frame of a script are as they were.
 */
void native_frames_leave_out(struct profile *profile);

/* The same beside a profile, by stacks of the same indices: of profile_create_beside(). */
struct profile *native_frames_hide(const struct profile *profile);

/* Whether any of these that frames are of are scripts. */
bool native_frames_have_scripts(const struct profile_object *objects, size_t count);

#endif

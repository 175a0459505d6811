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

/*
 * The same beside a profile that stays as it is: its stacks, each with the index that it has there,
 * and their nodes. Frames, functions and objects are borrowed as they are now; there is nothing
 * else in it.
 */
struct profile *native_frames_hide(const struct profile *profile);
/* NULL is safe. */
void native_frames_release(struct profile *hidden);

/* Whether any of these that frames are of are scripts. */
bool native_frames_have_scripts(const struct profile_object *objects, size_t count);

#endif

/* How far a walk through the script frames of a stack has come, and what a runtime does for it. */
#ifndef EBPROF_RUNTIME_WALK_BPF_H
#define EBPROF_RUNTIME_WALK_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/runtime_row.h"

#include <bpf/bpf_helpers.h>

enum runtime_state {
	RUNTIME_OUTSIDE = 0,
	RUNTIME_RUNNING, /* script frames come before the native frame at hand */
	RUNTIME_DONE,    /* they came; the native frame itself is next */
	RUNTIME_OVER, /* the native walk is: whether anything else is left is the next question */
	RUNTIME_REST, /* nothing else is left */
};

/* Whether the thread has a shadow stack. */
enum runtime_shadow {
	RUNTIME_SHADOW_UNKNOWN = 0,
	RUNTIME_SHADOW_NONE,
	RUNTIME_SHADOW_FOUND,
};

enum {
	RUNTIME_WALK_WORDS = 128,
	/* Of places that are tried in one walk, while code is searched for: real programs' code is
	 * near, and found again where it was. Memory may be made to look like code everywhere. */
	RUNTIME_MAX_TRIES = 2048,
};

struct runtime_walk {
	__u8 state;          /* enum runtime_state */
	__u8 has_thread;     /* the runtime has found what it keeps of the thread */
	__u8 shadow;         /* enum runtime_shadow */
	__u8 shadow_is_cut;  /* and there were more */
	__u8 is_shadow;      /* the frames at hand are those of the shadow stack */
	__u8 group;          /* enum runtime_group: which of the programs that walk goes on */
	__u8 is_handed_over; /* ... which is another one now */
	__u8 is_declined;    /* the frame at hand, by the group that handed it over */
	__u32 shadow_left;   /* of its frames, those not pushed yet */
	__u32 absent;   /* bits, by kind: the process has no such runtime, as far as is known */
	__u32 searched; /* bits, by kind: has searched the stack for its loop, which once will do */
	__u32 tries;    /* that are left, see runtime_may_try() */
	__u32 file;     /* whose row it is; 0: none */
	__u64 process;  /* what tells it from others: identify_process() */
	__u64 delta;    /* of its mapping */
	__u64 low, high; /* the native frame of the interpreter's loop: [low, high) */
	__u32 nr_frames; /* of the stack when the loop was entered, and its hash */
	__u64 hash;
	struct runtime_row row;
	/* Of the runtime whose row it is alone, which has its struct NAME_walk here. */
	__u64 words[RUNTIME_WALK_WORDS];
};

static __always_inline void begin_runtime_walk(struct runtime_walk *runtime)
{
	runtime->state = RUNTIME_OUTSIDE;
	runtime->shadow = RUNTIME_SHADOW_UNKNOWN;
	runtime->is_shadow = false;
	runtime->group = 0;
	runtime->is_handed_over = false;
	runtime->is_declined = false;
	runtime->searched = runtime->absent = 0;
	runtime->tries = RUNTIME_MAX_TRIES;
	runtime->has_thread = false;
	runtime->file = 0;
	runtime->row.kind = RUNTIME_NONE;
}

/* Whether what costs as much as that many places may be tried. */
static __always_inline bool runtime_may_try_as(struct runtime_walk *runtime, __u32 places)
{
	if (runtime->tries < places)
		return false;
	runtime->tries -= places;
	return true;
}

/* Whether one more place may be tried. False: the walk does without what is searched for. */
static __always_inline bool runtime_may_try(struct runtime_walk *runtime)
{
	return runtime_may_try_as(runtime, 1);
}

/* How a runtime took the walk out of code that its compiler made. */
enum runtime_leave {
	RUNTIME_STAYS = 0,   /* not at all, and nothing has changed: it is not its code */
	RUNTIME_LEFT,        /* to the caller; the frame is pushed as that of any native code */
	RUNTIME_LEFT_UNSEEN, /* ... it is not, since what it stands for is pushed another way */
	RUNTIME_PUSHED,      /* not yet: the frame is pushed, and left as nobody's code is */
	RUNTIME_HANDED_OVER, /* not yet: the other group is asked, too */
};

struct scratch;
struct label_record;

/*
 * What a runtime does where the walk comes to its code; NULL, or false, where there is nothing to
 * do. For
 * claims_anonymous, resume and leave_jit the walk's row may be another runtime's, or none: it is
 * only being found out whose code that is. For the others it is the runtime's own.
 */
struct runtime_hooks {
	/* Its code is in no file for the most part: where the walk comes to a file with the runtime
	 * the process is known to have it, before it is entered. */
	bool has_compiler;
	/* ... or in its file, and has no rules there. */
	bool has_builtins;
	/* To the frames of the interpreter's loop at hand, whose native frame is [low, high).
	 * False: it has none. */
	bool (*enter)(struct scratch *scratch);
	/* Pushes the next of these, if it is worth it. False: there is none after it. */
	bool (*step)(struct scratch *scratch);
	/* Whether code of no file, in the mapping at hand, may be of the runtime's compiler; what
	 * it costs to ask is paid for all such code. */
	bool (*claims_anonymous)(struct scratch *scratch);
	/* Where such code runs on the native frame of the interpreter's loop: sets the registers
	 * as if the thread were in that loop. False: it does not, they are as they were. */
	bool (*resume)(struct scratch *scratch);
	/* Where such code has a native frame of its own: sets the registers to its caller's. */
	enum runtime_leave (*leave_jit)(struct scratch *scratch);
	/* Whether the thread has frames that belong to no native frame of the walk, which is over.
	 * Asked again behind each of them. */
	bool (*has_rest)(struct scratch *scratch);
	/* Puts the labels of what the thread runs, by label_put_text() and the like. `row` is that
	 * which the process was seen to have, NULL: it is gone; `delta` is of its mapping. */
	void (*labels)(struct label_record *record, const struct runtime_row *row, __u64 delta);
};

#endif

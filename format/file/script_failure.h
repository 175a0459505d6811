/*
 * Why a frame of a program that an interpreter runs has no name. Stored as its offset; those of
 * named ones are not below LAYOUT_SCRIPT_FIRST. The BPF programs say it by the same numbers: this
 * includes nothing.
 */
#ifndef EBPROF_SCRIPT_FAILURE_H
#define EBPROF_SCRIPT_FAILURE_H

#define LAYOUT_SCRIPT_FAILURES(X) \
	X(LAYOUT_SCRIPT_NO_STATE, 1, "no_thread_state") /* the thread's state was not found */ \
	X(LAYOUT_SCRIPT_UNREADABLE, 2, "unreadable_frame") \
	X(LAYOUT_SCRIPT_TORN, 3, "torn_frame")         /* caught in the middle of a change */ \
	X(LAYOUT_SCRIPT_NO_NAME, 4, "unreadable_name") /* the frame is right */ \
	X(LAYOUT_SCRIPT_PENDING, 5, \
		"runtime_pending") /* it was not known yet that this is an interpreter */ \
	X(LAYOUT_SCRIPT_NO_NUMBER, 6, "too_many_codes")  /* or no room to send its name */ \
	X(LAYOUT_SCRIPT_DEEP, 7, "too_deep")             /* frames beyond those that are kept */ \
	X(LAYOUT_SCRIPT_GIVEN_UP, 8, "reading_given_up") /* the name: it took too long */

enum layout_script_failure {
#define X(name, number, word) name = number,
	LAYOUT_SCRIPT_FAILURES(X)
#undef X
	LAYOUT_SCRIPT_FAILURES_END, /* behind the last */
	LAYOUT_SCRIPT_FIRST = 1 << 24,
};

#endif

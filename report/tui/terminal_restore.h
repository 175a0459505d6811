/*
 * Gives the terminal back in any case, and notes what the signals want. Handlers may call
 * next to nothing, so the bytes that restore the screen are made beforehand.
 */
#ifndef EBPROF_TERMINAL_RESTORE_H
#define EBPROF_TERMINAL_RESTORE_H

#include <stdbool.h>
#include <stddef.h>

enum terminal_event { /* of what happened since the last time it was asked; flags */
	TERMINAL_RESIZED = 1,
	TERMINAL_STOPPED = 2, /* a signal to stop has come */
	TERMINAL_CONTINUED = 4,
};

/* Remembers the modes as they are, and catches the signals. */
void restore_begin(void);
/* Appends what gives the screen back; terminfo's answers for "there is none" are ignored. */
void restore_add(const char *bytes);
/* From here on there is something to give back. */
void restore_arm(void);
/* It was given back. */
void restore_disarm(void);
/* What the signals did before. */
void restore_end(void);

unsigned restore_take_events(void);
/* Becomes readable with each signal. */
int restore_fd(void);
/* The signal that wants the program to end, 0 when there is none. */
int restore_ending(void);
/* Stops the processes of this terminal's foreground, or only this one; returns when continued. */
void restore_stop(bool whole_group);

#endif

/*
 * What the recorder reads is there for a moment, and waits in buffers that fill up: its threads
 * come before the programs that it records. Beside many of those a thread without that waits for a
 * CPU for a third of a second and longer.
 */
#ifndef EBPROF_PRIORITY_H
#define EBPROF_PRIORITY_H

/* Of the calling thread, and of the threads and processes that it begins. Nothing happens where
 * that is not allowed (CAP_SYS_NICE). */
void priority_raise(void);

/* The same, of this thread alone. Nothing happens where a user chose another than the usual one. */
void priority_raise_alone(void);
/* As it was before priority_raise_alone(). */
void priority_lower(void);

#endif

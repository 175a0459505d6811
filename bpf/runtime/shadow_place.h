/*
 * What the BPF programs and the recorder say to each other of shadow stacks: stacks of a script's
 * functions as the probes tell that its runtime has, where it enters a function and where it leaves
 * one again. One for each thread, kept in the kernel, and taken by the samples of that thread.
 */
#ifndef EBPROF_SHADOW_PLACE_H
#define EBPROF_SHADOW_PLACE_H

enum {
	SHADOW_MAX_FRAMES = 256, /* the outermost ones; a power of two: an index is masked */
	SHADOW_MAX_PLACES = 256, /* a power of two; groups are numbered as they are */
	SHADOW_MIN_THREADS = 1024,
	SHADOW_THREADS_PER_CPU = 64,
};

/* Where an argument of a probe is. */
enum shadow_source {
	SHADOW_NOWHERE = 0,
	SHADOW_CONSTANT,
	SHADOW_REGISTER,
	SHADOW_MEMORY, /* at a register's value + offset */
};

struct shadow_argument {
	unsigned char source;           /* enum shadow_source */
	signed char bytes;              /* 1, 2, 4, 8; below 0: of a signed number */
	unsigned short register_offset; /* in struct pt_regs */
	int offset;                     /* or the constant */
};

/* One that has none has the source SHADOW_NOWHERE; all but the line are C strings. */
enum shadow_text {
	SHADOW_NAME,
	SHADOW_FILE,
	SHADOW_CLASS,
	SHADOW_SEPARATOR, /* of the class and the name */
	SHADOW_TEXTS
};

enum shadow_flag {
	SHADOW_IS_RETURN = 1,
	SHADOW_IS_ALONE = 2, /* the runtime calls itself for each function */
};

/* A place of a probe, by the number that it was attached with, from 1. */
struct shadow_place {
	unsigned char runtime; /* enum runtime_kind; 0: there is no such place */
	unsigned char flags;   /* enum shadow_flag */
	unsigned char group;   /* places whose stack pointers may be compared: of one function */
	unsigned char zero;
	int sp_offset; /* from the stack pointer to what stands for the native frame */
	struct shadow_argument text[SHADOW_TEXTS], line;
	char separator[4]; /* where no argument says it; ends with 0 */
	unsigned int zero4;
};

_Static_assert(sizeof(struct shadow_place) == 56, "the map of places is an array of these");

/* Of all hits of such probes, per CPU. */
struct shadow_counters {
	unsigned long long hits[SHADOW_MAX_PLACES];
	unsigned long long filtered;  /* of them, those of threads that are not wanted */
	unsigned long long unmatched; /* returns from what was not entered, as far as is known */
	unsigned long long deep;      /* entries beyond SHADOW_MAX_FRAMES */
	unsigned long long missed_returns; /* frames whose return was missed */
	unsigned long long ns;             /* in the program, where it times itself */
};

#endif

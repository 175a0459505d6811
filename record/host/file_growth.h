/*
 * How long a file was at which times, while its writer appends to it: that tells when what stands
 * at an offset was written, without reading it. Perf maps have no times in them.
 */
#ifndef EBPROF_FILE_GROWTH_H
#define EBPROF_FILE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"

enum {
	FILE_GROWTH_MAX_STEPS = 8192, /* beyond these, older ones are put together */
	FILE_GROWTH_TAIL_BYTES = 32,
};

struct file_growth_step { /* the file had so many bytes from, at the latest, first_ns ... */
	uint64_t bytes, first_ns;
	uint64_t last_ns; /* ... to, at least, this; CLOCK_MONOTONIC */
};

/* {0}: nothing is known. */
struct file_growth {
	VEC(struct file_growth_step) steps;   /* each longer than the one before */
	uint8_t tail[FILE_GROWTH_TAIL_BYTES]; /* the last bytes of the newest step */
	size_t tail_len;
};

struct file_growth_window {
	uint64_t from_ns, until_ns; /* 0, UINT64_MAX: unknown */
};

void file_growth_deinit(struct file_growth *growth);

/*
 * Notes how long the file is now; fd -1: there is none. A file that is shorter than before, or
 * that has other bytes where it ended, was written anew: what was known holds no more. True: it
 * has another length than before.
 */
bool file_growth_look(struct file_growth *growth, int fd);
/* The same, of a length that was found between two times. True: it is a new one. */
bool file_growth_note(
	struct file_growth *growth, uint64_t bytes, uint64_t before_ns, uint64_t after_ns);

/* The first step that has all of the first `end` bytes; steps.len: none. */
size_t file_growth_step_of(const struct file_growth *growth, uint64_t end);
/*
 * When the bytes that this step added were made. `is_delayed`: their writer collects them, so they
 * may be as old as what it wrote before.
 */
struct file_growth_window file_growth_window_of(
	const struct file_growth *growth, size_t step, bool is_delayed);

#endif

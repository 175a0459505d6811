/*
 * Frames of code that runtimes' compilers made, in stacks that the recorder walks: those for which
 * a table was still being made, or of whose process the BPF side did not know yet that it has the
 * runtime. The runtime finds them in the memory of the process, as its hooks in bpf/runtime/ do,
 * and their functions get numbers that the BPF side does not use.
 *
 * What was found of a place holds for samples from before it was read, and for a short time longer.
 */
#ifndef EBPROF_COMPILED_FRAMES_H
#define EBPROF_COMPILED_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "format/unwind/unwind_rule.h"
#include "record/host/target_reader.h"
#include "record/script/script_table.h"
#include "record/task/process.h"
#include "record/unwind/rule_source.h"

/* What is known of a place in a program image. */
struct compiled_known {
	bool is_reading; /* the first time, or again */
	bool is_found;   /* by the last read that succeeded */
	bool has_rule;
	uint64_t asked_ns; /* CLOCK_MONOTONIC: it is that of this time, or later */
	uint64_t word;     /* of the frame, as the BPF side pushes them */
	struct unwind_rule rule;
};

/* A read that is under way. */
struct compiled_job {
	uint32_t index; /* of what is known, UINT32_MAX: it was forgotten */
	uint32_t pid, image;
	uint16_t kind; /* enum runtime_kind */
};

/* A place that is expected, whose process is not known so far, or its runtime. */
struct compiled_wish {
	uint64_t place, time_ns;
	uint32_t pid;
	bool is_leaf;
};

struct compiled_frames {
	const struct rule_source *rules; /* borrowed, as the next; NULL: none are found */
	struct script_table *scripts;
	struct target_reader reader;
	struct map by_place; /* hash of image and place -> index in `known` */
	VEC(struct compiled_known) known;
	struct map numbers;   /* hash of image and code -> its number, counted from 0 */
	struct map without;   /* image -> how many mappings it had: it has no such runtime */
	uint64_t seed;        /* of the hashes */
	bool waits_for_names; /* a frame was asked for whose name is being read */
	VEC(struct compiled_wish) wishes;
	VEC(struct compiled_job) jobs; /* in the reader's order, */
	size_t read;                   /* ... from here on */
};

void compiled_frames_init(struct compiled_frames *frames, struct script_table *scripts);
void compiled_frames_deinit(struct compiled_frames *frames);

struct compiled_frame {
	uint64_t word;                  /* of a script frame */
	const struct unwind_rule *rule; /* to its caller; NULL: what its code says */
	bool lacks_name; /* it is being read, ask again; callers may be asked for meanwhile */
};

enum compiled_found {
	COMPILED_NOTHING, /* it is no such code, as far as can be known by now */
	COMPILED_FOUND,
	COMPILED_LATER, /* it is being read, ask again; only if `may_wait` */
};

/*
 * The frame at `place`, an instruction where the code was interrupted (`is_leaf`) or the last byte
 * of a call, at `time_ns`. The rule is good until the next call of another function.
 */
enum compiled_found compiled_frames_find(struct compiled_frames *frames,
	const struct process *process, uint64_t place, bool is_leaf, uint64_t time_ns,
	bool may_wait, struct compiled_frame *ret);

/* Such a place, or what looks like one, is on a stack that is going to be walked: it is read now,
 * as the process may be gone then. */
void compiled_frames_expect(struct compiled_frames *frames, uint32_t pid, uint64_t place,
	bool is_leaf, uint64_t time_ns);

/* Takes what was read meanwhile, or given up. */
void compiled_frames_collect(struct compiled_frames *frames, const struct process_table *processes);
/* Whether a frame is still being read, or the name of one that was asked for. */
bool compiled_frames_are_reading(const struct compiled_frames *frames);
/* Becomes readable when there may be something to collect; -1: nothing is being read. */
int compiled_frames_fd(const struct compiled_frames *frames);
/* The script table forgot all numbers. */
void compiled_frames_forget(struct compiled_frames *frames);

#endif

/*
 * What the sources have in common whose events are durations, as bpf/source/duration.bpf.h measures
 * them.
 */
#ifndef EBPROF_DURATION_H
#define EBPROF_DURATION_H

#include "record/source/growing_period.h"

enum {
	DURATION_ENDS = 2, /* the beginning, and the end */
};

struct duration {
	struct sample_bpf *bpf;
	int tracepoints[DURATION_ENDS]; /* -1, or 0: it is not open */
	uint64_t period_ns;
	struct growing_period period;
};

/* Programs "on_NAME" begin it, and "on_NAME_without_loop" of kernels that need that. */
void duration_load(struct duration *duration, struct sample_bpf *bpf, const char *name);
/* The one of them that was loaded. */
int duration_program(const struct duration *duration, const char *name);
/* Opens raw tracepoints of these names; ERR_UNSUPPORTED with `lacks`: the kernel has none such. */
struct err *duration_open(struct duration *duration, const char *const *names, const int *programs,
	const char *lacks) ERR_MUST_CHECK;
void duration_close(struct duration *duration);
void duration_start(struct duration *duration, const struct source *source, uint64_t now_ns);
/* The programs may still run: what they find does not count any more. */
void duration_stop(struct duration *duration, const struct source *source);
void duration_deinit(struct duration *duration);

#endif

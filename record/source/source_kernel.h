/* What the sources whose events run a BPF program have in common: its variants and its counters. */
#ifndef EBPROF_SOURCE_KERNEL_H
#define EBPROF_SOURCE_KERNEL_H

#include "bpf/runtime/runtime_row.h"
#include "record/source/event_source.h"

struct bpf_program;

/* What the programs that walk stacks for a group are loaded for, as bits: runtimes whose frames
 * they find themselves, and the other group's. None of its own: there are no programs of that
 * group. */
struct walker_runtimes {
	uint32_t runtimes, other_runtimes;
};

/*
 * The first group's programs find all runtimes where these are of one group only, or where a
 * program takes the whole of a sample. Else each knows all kinds of the other group, so that it
 * need not be loaded again when that gets one more.
 */
struct walker_runtimes source_kernel_runtimes(
	enum runtime_group group, uint32_t runtimes, bool is_whole);

/* Whether this kernel needs programs that take the whole of a sample each, see WHOLE_PROGRAM in
 * bpf/take_sample.bpf.h. */
bool source_kernel_is_whole(const struct sample_bpf *bpf);
/* What an event of that name runs, on_NAME() or another that this kernel can run, is to be loaded.
 */
void source_kernel_choose(const struct sample_bpf *bpf, const char *name);
/* Likewise what goes on with its samples, of SAMPLING_PROGRAMS(, name, ...), if it is others. */
void source_kernel_choose_walker(const struct sample_bpf *bpf, const char *name);
/* They are loaded: the descriptor of the one that an event is to run, borrowed. */
int source_kernel_program(const struct sample_bpf *bpf, const char *name);
/* From now on events use `program`, which was loaded of `walker`, for a group of runtimes; the
 * descriptor may be closed then. */
struct err *source_kernel_put_walker(const struct sample_bpf *bpf, const struct bpf_program *walker,
	enum runtime_group group, int program) ERR_MUST_CHECK;

/* The source's counters by CPU, of all possible ones; yours. */
struct err *source_kernel_count(const struct source *source, const struct sample_bpf *bpf,
	struct event_counters **ret) ERR_MUST_CHECK;
/*
 * The same as read_counters() has them: of the source's CPUs, to which it adds those that have
 * counted events since.
 */
struct err *source_kernel_read(struct source *source, const struct sample_bpf *bpf,
	struct source_cpus *ret) ERR_MUST_CHECK;

/*
 * Behind the end of its events: detaching waits for programs that run. Should it not, on some
 * kernel: waits a while, until all of the events that began have come to their end.
 */
void source_kernel_settle(const struct source *source, const struct sample_bpf *bpf);

#endif

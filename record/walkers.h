/*
 * The programs that walk stacks, kept as they were loaded, to be loaded once more with other
 * constants while events go on: libbpf would need 20 ms and more to relocate them again, in which
 * samples go without what was asked for. Then it is the kernel's verifier alone that takes time.
 */
#ifndef EBPROF_WALKERS_H
#define EBPROF_WALKERS_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/runtime_row.h"
#include "format/base/err.h"
#include "format/base/vec.h"
#include "record/source/source_kernel.h"

struct sample_bpf;

struct walkers {
	VEC(struct walker {
		const struct bpf_program *program;
		struct bpf_prog_load_opts options; /* what they point to is the object's */
	}) list;
	struct walker_runtimes loaded[RUNTIME_GROUPS];
	bool are_whole; /* they take the whole of a sample: there is no second group */
};

/* Around bpf_object__open() and its loading in one thread: those that are loaded are kept, as long
 * as the object lives. */
void walkers_keep_begin(struct walkers *walkers);
/* In between, with the object opened: what they are to be loaded for. They are of the first group;
 * the second group's, if these runtimes need any, are not loaded yet. */
struct walker_runtimes walkers_begin_with(
	struct walkers *walkers, const struct sample_bpf *bpf, uint32_t runtimes);
void walkers_keep_end(void);
void walkers_deinit(struct walkers *walkers);

/* Events use those that were loaded with the object, `bpf`. */
struct err *walkers_put_first(
	const struct walkers *walkers, const struct sample_bpf *bpf) ERR_MUST_CHECK;

/*
 * Loads them for these runtimes (bits), except those of a group that would be the same as before;
 * from now on events use them. `bpf` is what they were kept of.
 */
struct err *walkers_load_for(
	struct walkers *walkers, const struct sample_bpf *bpf, uint32_t runtimes) ERR_MUST_CHECK;

#endif

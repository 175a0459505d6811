/*
 * Which runtime a file has, and which ones a process has. The row of the runtime that the walk has
 * come to is kept in the walk. Code that a compiler made lies in no file, so nothing there says
 * whose it is: the runtimes that were seen at work in a process are remembered.
 */
#ifndef EBPROF_RUNTIME_PROCESS_BPF_H
#define EBPROF_RUNTIME_PROCESS_BPF_H

#include "bpf/code_mapping.bpf.h"
#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/unwind_table.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* What each file with a runtime says of it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RUNTIME_MAX_ROWS);
	__type(key, __u32);
	__type(value, struct runtime_row);
} runtime_rows SEC(".maps");

/* NULL: there is none. */
static __always_inline const struct runtime_row *row_of_number(__u32 plus_one)
{
	__u32 number = plus_one - 1;
	return plus_one ? bpf_map_lookup_elem(&runtime_rows, &number) : 0;
}

/* The row of the runtime that a mapped file has there, and its number, plus 1. NULL: nothing is
 * known of one, or wanted. */
static __always_inline const struct runtime_row *row_of_mapping(
	const struct mapping *mapping, __u32 *plus_one)
{
	__u32 number = mapping->file;
	const struct unwind_file *file = bpf_map_lookup_elem(&files, &number);
	*plus_one = file ? file->runtime : 0;
	const struct runtime_row *row = row_of_number(*plus_one);
	return row && runtime_row_has_place(row, mapping->start + mapping->delta) ? row : 0;
}

/* ---- of processes ---- */

/*
 * The runtimes that processes have, as far as their files were met in a walk, or the recorder found
 * them among the mappings of a process that runs already. What is said of a process that was there
 * before under the same number leads nowhere.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RUNTIME_MAX_PROCESSES);
	__type(key, struct known_runtime_key);
	__type(value, struct known_runtime);
} known_runtimes SEC(".maps");

/* Whether the row is one that the process's own user completed. */
static __always_inline bool is_users_row(const struct known_runtime *known)
{
	return known->user && known->user - 1 == walked_uid();
}

/* True: the process was not known to have one of this kind. */
static __always_inline bool remember_runtime(
	struct scratch *scratch, enum runtime_kind kind, __u32 row)
{
	const struct mapping *mapping = &scratch->walk.mapping;
	struct known_runtime_key key = {.pid = scratch->sample.pid, .kind = kind};
	scratch->walk.runtime.absent &= ~(1U << (kind & 31));
	struct known_runtime *known = bpf_map_lookup_elem(&known_runtimes, &key);
	bool is_users =
		known && known->delta == mapping->delta && known->user && is_users_row(known);
	if (known && known->file == mapping->file && known->delta == mapping->delta &&
		(is_users || (known->row == row && !known->user)))
		return false;
	struct known_runtime runtime = {.start = mapping->start,
		.end = mapping->end,
		.delta = mapping->delta,
		.row = is_users ? known->row : row,
		.file = mapping->file,
		.user = is_users ? known->user : 0};
	if (!begin_update())
		return false;
	bpf_map_update_elem(&known_runtimes, &key, &runtime, BPF_ANY);
	end_update();
	return !known;
}

/* NULL: the process was not seen to have a runtime of this kind. */
static __always_inline struct known_runtime *find_known_runtime(
	struct scratch *scratch, enum runtime_kind kind)
{
	struct known_runtime_key key = {.pid = scratch->sample.pid, .kind = kind};
	__u32 *absent = &scratch->walk.runtime.absent, bit = 1U << (kind & 31);
	if (*absent & bit)
		return 0;
	struct known_runtime *known = bpf_map_lookup_elem(&known_runtimes, &key);
	if (!known)
		*absent |= bit; /* each frame asks */
	return known;
}

/* ---- of the walk ---- */

static __always_inline void set_row(
	struct scratch *scratch, const struct runtime_row *row, __u32 file, __u64 delta)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	runtime->row = *row;
	runtime->file = file;
	runtime->delta = delta;
	runtime->process = identify_process(scratch);
	runtime->has_thread = false;
}

/* The row of a runtime that the process is known to have is the walk's from now on. */
static __always_inline bool take_known_runtime(struct scratch *scratch, enum runtime_kind kind)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (runtime->row.kind == kind) /* in this walk: a process has one of a kind */
		return true;
	const struct known_runtime *known = find_known_runtime(scratch, kind);
	if (!known || (known->user && !is_users_row(known)))
		return false;
	const struct runtime_row *row = row_of_number(known->row);
	if (!row || row->kind != kind)
		return false;
	set_row(scratch, row, known->file, known->delta);
	return true;
}

/* Has the row of a runtime completed that the process is known to have, for want of which its
 * frames are not found. */
static __always_inline void ask_to_complete(struct scratch *scratch, enum runtime_kind kind)
{
	enum {
		PAUSE_NS = 2000000,
	};
	__u64 now_ns = scratch->sample.time_ns;
	struct known_runtime *known = find_known_runtime(scratch, kind);
	if (!known || !known->file || now_ns - known->asked_ns < PAUSE_NS)
		return;
	known->asked_ns = now_ns;
	struct mapping mapping = {.start = known->start, .end = known->end, .delta = known->delta};
	send_file(scratch, &mapping, known->file);
}

/*
 * Makes the runtime of the mapped file at hand the walk's. 0: nothing is known of one. A global
 * function, which the verifier looks at once.
 */
__noinline int take_row(void);
__noinline int take_row(void)
{
	struct scratch *scratch = scratch_of_runtimes();
	if (!scratch)
		return 0;
	const struct mapping *mapping = &scratch->walk.mapping;
	__u32 number;
	const struct runtime_row *row = row_of_mapping(mapping, &number);
	if (!row)
		return 0;
	remember_runtime(scratch, row->kind, number);
	const struct known_runtime *known = find_known_runtime(scratch, row->kind);
	const struct runtime_row *users =
		known && is_users_row(known) ? row_of_number(known->row) : 0;
	set_row(scratch, users && users->kind == row->kind ? users : row, mapping->file,
		mapping->delta);
	return 1;
}

/*
 * Whether the walk has a runtime's row, or the program itself has one, which is taken then: where
 * a compiler's code is the leaf, say, the walk has come to none yet. A program's runtime runs in
 * the process's first thread, as far as it goes by this.
 */
__noinline int take_program(void);
__noinline int take_program(void)
{
	struct scratch *scratch = scratch_of_runtimes();
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct mm_struct *mm = walk->space.mm;
	__u64 pid_tgid = walked_pid_tgid();
	if (walk->runtime.file)
		return 1;
	__u64 end = BPF_CORE_READ(mm, end_code);
	if (!end || (__u32)pid_tgid != pid_tgid >> 32)
		return 0;
	find_mapping(end - 1);
	return walk->mapping.kind == EVENT_FRAME_FILE && take_row();
}

#endif

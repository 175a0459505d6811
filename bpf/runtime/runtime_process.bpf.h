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

/* NULL: nothing is known of the file's runtime, or nothing is wanted. */
static __always_inline const struct runtime_row *row_of_file(__u32 number)
{
	const struct unwind_file *file = bpf_map_lookup_elem(&files, &number);
	if (!file || !file->runtime)
		return 0;
	number = file->runtime - 1;
	return bpf_map_lookup_elem(&runtime_rows, &number);
}

/* ---- of processes ---- */

/* A runtime that was seen at work in a process: a set without locks, as `seen` is. */
struct known_runtime {
	__u64 identity; /* of the process and the kind of the runtime */
	__u64 delta;    /* of the mapping of the file that has it */
	__u32 file;
};

enum {
	KNOWN_RUNTIMES_SHIFT = 10,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << KNOWN_RUNTIMES_SHIFT);
	__type(key, __u32);
	__type(value, struct known_runtime);
} known_runtimes SEC(".maps");

static __always_inline struct known_runtime *known_runtime_slot(__u64 identity)
{
	__u32 slot = identity >> (64 - KNOWN_RUNTIMES_SHIFT);
	return bpf_map_lookup_elem(&known_runtimes, &slot);
}

static __always_inline void remember_runtime(const struct runtime_walk *runtime)
{
	__u64 identity = mix(runtime->process, runtime->row.kind);
	struct known_runtime *known = known_runtime_slot(identity);
	if (!known || known->identity == identity)
		return;
	known->identity = 0;
	known->file = runtime->file;
	known->delta = runtime->delta;
	known->identity = identity;
}

/* NULL: the process was not seen to have a runtime of this kind. */
static __always_inline const struct known_runtime *find_known_runtime(
	const struct scratch *scratch, enum runtime_kind kind)
{
	__u64 identity = mix(identify_process(scratch), kind);
	const struct known_runtime *known = known_runtime_slot(identity);
	return known && known->identity == identity ? known : 0;
}

/* ---- of the walk ---- */

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
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct mapping *mapping = &scratch->walk.mapping;
	const struct runtime_row *row = row_of_file(mapping->file);
	if (!row)
		return 0;
	runtime->row = *row;
	runtime->file = mapping->file;
	runtime->delta = mapping->delta;
	runtime->process = identify_process(scratch);
	runtime->has_thread = false;
	remember_runtime(runtime);
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
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	if (walk->runtime.file)
		return 1;
	__u64 end = BPF_CORE_READ(mm, end_code);
	if (!end || (__u32)pid_tgid != pid_tgid >> 32)
		return 0;
	map_address(end - 1);
	return walk->mapping.kind == EVENT_FRAME_FILE && take_row();
}

#endif

/*
 * The kernel that bpf/ is compiled against for user space: one task whose
 * mappings, registers and memory the test lays out, maps, a ring that keeps what
 * was sent, and clocks that stand still. `emulated` is what a test may set; an
 * emulated kernel lasts for one test, which runs in a process of its own.
 */
#ifndef EBPROF_EMULATE_KERNEL_H
#define EBPROF_EMULATE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "bpf/runtime/runtime_row.h"
#include "bpf/runtime/shadow_place.h"
#include "format/base/err.h"

/* Those whose types differ as far as our programs can tell. */
enum emulated_release {
	EMULATED_5_10, /* red-black tree, vmacache_seqnum, no bpf_task_pt_regs */
	EMULATED_6_1,  /* maple tree, no count of changes */
	EMULATED_6_4,  /* mm_lock_seq */
	EMULATED_6_7,  /* __i_mtime */
	EMULATED_6_11, /* i_mtime_sec */
	EMULATED_6_13, /* mm_lock_seq is a seqcount_t */
	EMULATED_RELEASES
};

enum {
	EMULATED_CPUS = 2,
	EMULATED_THREAD = 0x5000000, /* the pointer of each thread to its own memory */
	EMULATED_MAX_FILES = 64,     /* numbers; of the map `files` */
};

enum {
	EMULATED_MAX_RETURNS = 8,
};

/* What uprobes have done to the task. */
struct emulated_uprobes {
	uint64_t page;              /* the kernel's in the process; 0: none was ever hit */
	uint64_t instruction, copy; /* that is stepped over, and where */
	struct {
		uint64_t sp, ra;
	} returns[EMULATED_MAX_RETURNS]; /* that are led there, innermost first */
	size_t nr_returns;
};

struct emulated_kernel {
	enum emulated_release release;
	uint32_t cpu;
	uint32_t pid, tid, uid, gid;
	uint32_t inner_pid,
		inner_tid; /* in a PID namespace below the machine's; 0: it is not in it */
	uint64_t switches, runtime_ns;
	uint64_t written_bytes;                     /* by iterators */
	uint32_t interrupts;                        /* that were raised on the CPU */
	uint64_t member_counts[EVENT_MAX_COUNTERS]; /* of the CPU's counters in a group */
	bool refuses_members;                       /* they cannot be read */
	uint32_t random;                            /* what the kernel gives for a random number */
	uint64_t time_ns, start_ns, exec_id, parent_exec_id;
	uint64_t changes; /* of the mappings, as the kernel counts them */
	struct all_vma *newest_vma;
	bool is_kernel_thread, has_no_memory;
	struct emulated_uprobes uprobes;
	const uint64_t *kernel_stack;
	size_t nr_kernel_frames;
	uint64_t ring_bytes;       /* its size */
	uint64_t file_numbers_max; /* entries */
	uint64_t cookie;           /* of the probe that is hit */
	uint64_t user_reads;       /* so many reads of user memory were asked for */
	void (*on_submit)(void);   /* NULL, or a recorder that is quicker than the program */
};

extern struct emulated_kernel emulated;

/* With one process without mappings, and the configuration of `ebprof record`. */
void emulate_boot(enum emulated_release release);
struct event_config *emulate_config(void);
/* The programs know nothing of any process any more, but for the numbers of files. */
void emulate_forget(void);

/* ---- mappings ---- */

struct emulated_file {
	uint64_t inode, mtime_ns;
	uint32_t device, generation;
};

struct emulated_vma {
	uint64_t start, end;
	uint64_t offset;                  /* of `start` in the file */
	const struct emulated_file *file; /* NULL: none */
	bool is_executable;
};

/* Of a maple tree; zeroes: full nodes of the kinds that the kernel uses. */
struct emulated_shape {
	uint32_t leaf_slots, inner_slots; /* at most so many are used in a node */
	bool has_range_nodes;             /* inner nodes range_64, not arange_64 */
	bool is_cut;                      /* the last pivot in use is 0 */
};

/* They ascend. The tree is the one that the release has. */
void emulate_mappings(const struct emulated_vma *vmas, size_t count, uint64_t vdso);
void emulate_shaped_mappings(
	const struct emulated_vma *vmas, size_t count, const struct emulated_shape *shape);
uint32_t emulate_depth(void); /* of the maple tree, in nodes */

/* By hand: an object in the kernel's memory, its address. */
uint64_t emulate_vma(const struct emulated_vma *vma);

/* It is locked for a change, at the current count of changes. */
void emulate_vma_change(uint64_t vma);

/* Its memory is that of another process's mapping from now on. */
void emulate_vma_reuse(uint64_t vma);
uint64_t emulate_file(const struct emulated_file *file);
enum emulated_maple {
	EMULATED_MAPLE_LEAF = 1,
	EMULATED_MAPLE_RANGE = 2,
	EMULATED_MAPLE_ARANGE = 3,
};
struct emulated_node {
	enum emulated_maple type;
	uint32_t nr_pivots, nr_slots;
	uint64_t pivots[15], slots[16];
};
/* As it stands in a slot above. */
uint64_t emulate_node(const struct emulated_node *from);
void emulate_set_slot(uint64_t node, uint32_t slot, uint64_t entry);
void emulate_set_root(uint64_t entry);
/* Makes two red-black nodes each other's children. */
void emulate_rb_cycle(uint64_t vma, uint64_t other);

/* What bpf/mapping.bpf.h finds. 0: nothing. */
uint64_t emulated_find_vma(uint64_t address);
struct emulated_mapping {
	uint64_t start, end, delta;
	uint32_t file, kind;
};
void emulated_find_mapping(uint64_t address, struct emulated_mapping *ret);
/* Asks for a number for the file that the process has mapped there; the one that it has. */
uint32_t emulated_number_own_file(uint64_t address, uint32_t number);

/* ---- the process's memory; what was not given cannot be read ---- */

/* `bytes` are borrowed. */
void emulate_memory(uint64_t address, const void *bytes, size_t len);

/* A stack that the CPU has for what interrupts user code; the kernel reads it there. Borrowed. */
void emulate_entry_stack(uint64_t address, const void *bytes, size_t len);

/* ---- running ---- */

/* A tick that hits user code, or the kernel called by it, at these registers. */
void emulate_tick(const struct unwind_registers *regs);
void emulate_tick_without_loop(const struct unwind_registers *regs);
/* ... where programs with functions cannot call others: all of it is one program's. */
void emulate_tick_whole(const struct unwind_registers *regs);
/* The fourth of the counted events, at the end of a period; counted of the targets' tasks alone. */
void emulate_counted(const struct unwind_registers *regs, uint64_t period, bool is_of_task);
/* These bits are the numbers of counters that are read with the fourth, all the time or while tasks
 * of the targets run, which come and go by the second function, or exec, by a thread that had this
 * number. */
void emulate_group(uint32_t members, bool follows_tasks);
void emulate_switch_of_group(uint32_t prev, uint32_t next, uint32_t prev_state);
void emulate_exec_of_group(uint32_t old_tid);
void emulate_tick_in_kernel(const struct unwind_registers *regs);

/* The probe `emulated.cookie` is hit; where hits have been allowed to count, it does. */
void emulate_hit(const struct unwind_registers *regs);
void emulate_hit_without_loop(const struct unwind_registers *regs);
void emulate_takes_hits(bool takes_hits);
/* When sampling ends; 0: not at all. */
void emulate_until(uint64_t time_ns);
/* As if another task's hit were under way on the CPU. */
void emulate_busy_hit(bool is_busy);
/* As if what was interrupted on the CPU were at a map that ticks update, too. */
void emulate_update(bool is_under_way);
/* As if a tick, or a tracepoint, were. */
void emulate_busy_tick(bool is_busy);

/* The probe of the place `emulated.cookie` is hit: a function is entered, or left. */
void emulate_call(const struct unwind_registers *regs);
/* What the program knows of a process's runtime; NULL: nothing. */
const struct known_runtime *emulated_known_runtime(uint32_t pid, enum runtime_kind kind);
void emulate_shadow_place(uint32_t number, const struct shadow_place *place);
const struct shadow_counters *emulated_shadow_counters(void);

/* The recorder has read code: see bpf/event.h. */
void emulate_code_rule(const struct code_key *key, const struct code_rule *rule);

struct emulated_record {
	uint64_t flags;
	size_t len;
	void *bytes;
	bool is_whole; /* submitted, not just reserved */
};

size_t emulated_records(const struct emulated_record **ret);
/* The n-th of a type, NULL when there are fewer. */
const void *emulated_record(enum event_type type, size_t n);
size_t emulated_count(enum event_type type);
/* The recorder has read everything. */
void emulate_drain(void);

/* On the current CPU. */
uint64_t emulated_counter(enum event_source_number source, enum event_counter counter);
const struct event_task_ticks *emulated_task_ticks(void);
struct emulated_variables {
	volatile uint32_t *epoch, *row_kinds;
	volatile uint64_t *generation, *code_unasked;
} emulated_variables(void);

/* bpf/unwind_table.bpf.h's search, and the same by way of its cache. */
uint32_t emulated_find_rule(uint32_t file, uint64_t offset);
enum event_stack_end emulated_rule_of_frame(
	uint32_t file, uint64_t offset, struct unwind_rule *rule);
struct unwind_file *emulated_unwind_file(uint32_t number);
const struct unwind_rule *emulated_rules(void);

/* ---- tasks, for the programs that follow them ---- */

struct emulated_task {
	uint32_t pid, tgid;
	uint64_t start_ns;
	uint32_t inner_pid, inner_tgid; /* as above */
	bool has_threads;               /* that live on */
};
/* The recorder's PID namespace is that of `inner_pid`. */
void emulate_pid_namespace(void);
/* Ticks are those of timers of the tasks' own. */
void emulate_timers_of_tasks(void);
uint64_t emulated_processes_forked(void);
uint64_t emulated_threads_forked(void);
void emulate_exit(const struct emulated_task *task);
/* The current task has executed a program, whose environment is there. */
void emulate_exec(const struct event_variable *wanted, size_t count, uint64_t begin, uint64_t end);
void emulate_fork(const struct emulated_task *parent, const struct emulated_task *child);
void emulate_free(const struct emulated_task *task);
void emulate_target(uint32_t id, uint64_t start_ns);
/* Where the process's threads have what they publish. */
void emulate_thread_context(const struct event_thread_context *context);
/* The groups that the process is in, from the root of the hierarchy on, by number. */
void emulate_cgroup(enum event_cgroup_hierarchy hierarchy, const uint64_t *ids, size_t count);
/* What the recorder puts into the map, and where it says that these are. */
void emulate_target_cgroup(enum event_cgroup_hierarchy hierarchy, uint64_t id);
void emulate_cgroup_levels(uint32_t first, uint32_t last);
bool emulated_is_target(uint32_t id);

/* ---- waits of tasks, from time_ns on ---- */

/* The recorder's side: which are sampled, and how. */
void emulate_takes_waits(uint32_t waits, uint64_t period_ns);
/* A kernel that has nothing else that follows in the task that comes. */
void emulate_wait_interrupts(void);
/* One goes, another comes: their thread ids; then the latter, if it is the current one, is back. */
void emulate_switch(uint32_t prev, uint32_t next, bool preempt, uint32_t prev_state);
void emulate_waking(uint32_t tid);
/* ... by the current task, which entered the kernel with these registers; wakers are wanted. */
void emulate_waking_by(uint32_t tid, const struct unwind_registers *regs);
void emulate_new_task(uint32_t tid);
/* The task is the current one; `regs` those with which it entered the kernel. */
void emulate_wait_end(const struct unwind_registers *regs);
/* The task, asleep with these registers, when waits end to count. */
void emulate_sleeper(uint32_t tid, const struct unwind_registers *regs);
/* Ahead of that: tasks may go on between the end and the look. */
void emulate_end_of_waits(void);
/* A file ends: the task's wait is marked; and later, what was marked is taken. */
void emulate_division(uint32_t tid);
void emulate_divided_sleeper(uint32_t tid, const struct unwind_registers *regs);
void emulate_thread_end(uint32_t tid);
struct event_tally emulated_wait_tally(enum event_counter counter);

/* ---- durations ---- */

/* Those of a source are taken, by this period in ns; 0: no more. */
void emulate_takes_durations(uint32_t source, uint64_t period_ns);
/* The function `emulated.cookie` is entered, and has returned to these registers. */
void emulate_entry(const struct unwind_registers *regs);
void emulate_return(const struct unwind_registers *regs);
/* The current task makes a system call, and is back with these registers. */
void emulate_syscall_enter(uint32_t number);
void emulate_syscall_exit(const struct unwind_registers *regs);
/* ... of a program of 32 bits, from now on. */
void emulate_32_bits(void);
/* A request to a disk, which the current task, with these registers, begins, and its end. */
struct request;
struct request *emulate_request(uint32_t operation, uint32_t bytes);
void emulate_request_is_allocated(struct request *request);
void emulate_request_begins(struct request *request, const struct unwind_registers *regs);
void emulate_request_ends(struct request *request, uint32_t bytes);
struct event_tally emulated_tally(uint32_t source, enum event_counter counter);

/* ---- the recorder's side of the maps ---- */

struct table_store;
struct err;
struct err *emulate_table_store(uint64_t max_bytes, struct table_store **ret) ERR_MUST_CHECK;

#endif

/* The BPF programs as functions of user space, which their sources do not declare. */
#ifndef EBPROF_EMULATE_PROGRAMS_BPF_H
#define EBPROF_EMULATE_PROGRAMS_BPF_H

#include "bpf/kernel_types.bpf.h"

int unwind_frame(void);
int on_tick(struct bpf_perf_event_data *ctx);
int on_tick_without_loop(struct bpf_perf_event_data *ctx);
struct trace_record;
int on_trace(struct trace_record *record);
int on_trace_without_loop(struct trace_record *record);
int walk_trace(struct trace_record *record);
int continue_trace(struct trace_record *record);
int end_trace(struct trace_record *record);
#define DECLARE_WHOLE(name, context_type) \
	int on_##name##_whole(context_type *ctx); \
	int whole_##name(context_type *ctx);
#define DECLARE_COUNTER(number) \
	int on_counter_##number(struct bpf_perf_event_data *ctx); \
	DECLARE_WHOLE(counter_##number, struct bpf_perf_event_data)
DECLARE_COUNTER(0)
DECLARE_COUNTER(1)
DECLARE_COUNTER(2)
DECLARE_COUNTER(3)
DECLARE_COUNTER(4)
DECLARE_COUNTER(5)
DECLARE_COUNTER(6)
DECLARE_COUNTER(7)
int walk_tick(struct bpf_perf_event_data *ctx);
int continue_tick(struct bpf_perf_event_data *ctx);
int on_hit(struct pt_regs *ctx);
int on_hit_without_loop(struct pt_regs *ctx);
int walk_hit(struct pt_regs *ctx);
int continue_hit(struct pt_regs *ctx);
int on_heap(struct pt_regs *ctx);
int on_heap_without_loop(struct pt_regs *ctx);
int walk_heap(struct pt_regs *ctx);
int continue_heap(struct pt_regs *ctx);
int end_heap(struct pt_regs *ctx);
int on_heap_end(struct pt_regs *ctx);
int on_heap_free(struct pt_regs *ctx);
int on_heap_given(struct pt_regs *ctx);
int on_heap_passed(struct pt_regs *ctx);
int end_tick(struct bpf_perf_event_data *ctx);
int end_hit(struct pt_regs *ctx);
int end_wait(struct bpf_raw_tracepoint_args *ctx);
int on_call(struct pt_regs *ctx);
int on_switch(unsigned long long *ctx);
int on_switch_of_group(bool preempt, struct task_struct *prev, struct task_struct *next);
int on_exec_of_group(struct bpf_raw_tracepoint_args *context);
int on_waking(struct task_struct *task);
int on_wakeup_new(struct task_struct *task);
struct bpf_iter__task;
int on_division(struct bpf_iter__task *ctx);
int on_thread_end(struct task_struct *task);
int on_syscall_thread_end(struct bpf_raw_tracepoint_args *ctx);
int on_sleeper(struct bpf_iter__task *ctx);
int on_sleeper_without_copy(struct bpf_iter__task *ctx);
int on_wait(struct bpf_raw_tracepoint_args *ctx);
int on_wait_without_loop(struct bpf_raw_tracepoint_args *ctx);
int walk_wait(struct bpf_raw_tracepoint_args *ctx);
int continue_wait(struct bpf_raw_tracepoint_args *ctx);
int on_entry(struct pt_regs *ctx);
int on_return(struct pt_regs *ctx);
int on_return_without_loop(struct pt_regs *ctx);
int on_syscall_enter(struct bpf_raw_tracepoint_args *ctx);
int on_syscall(struct bpf_raw_tracepoint_args *ctx);
int on_syscall_without_loop(struct bpf_raw_tracepoint_args *ctx);
int on_waker(struct bpf_raw_tracepoint_args *ctx);
int on_waker_without_loop(struct bpf_raw_tracepoint_args *ctx);
int on_lock_wanted(struct bpf_raw_tracepoint_args *ctx);
int on_lock(struct bpf_raw_tracepoint_args *ctx);
int on_lock_without_loop(struct bpf_raw_tracepoint_args *ctx);
int on_block(struct bpf_raw_tracepoint_args *ctx);
int on_block_without_loop(struct bpf_raw_tracepoint_args *ctx);
int on_block_end(struct bpf_raw_tracepoint_args *ctx);
int on_fork(struct task_struct *parent, struct task_struct *child);
int on_free(struct task_struct *task);
int on_exit(struct task_struct *task);
int on_exec(void *ctx);
int on_cgroup_made(void *context);
int on_cgroup_moved(struct cgroup *group, const char *path, struct task_struct *task);
int find_pid_namespace(void *context);
int number_own_file(const __u64 *arguments);
DECLARE_WHOLE(tick, struct bpf_perf_event_data)
DECLARE_WHOLE(trace, struct trace_record)
DECLARE_WHOLE(hit, struct pt_regs)
DECLARE_WHOLE(heap, struct pt_regs)
DECLARE_WHOLE(return, struct pt_regs)
DECLARE_WHOLE(wait, struct bpf_raw_tracepoint_args)
DECLARE_WHOLE(syscall, struct bpf_raw_tracepoint_args)
DECLARE_WHOLE(waker, struct bpf_raw_tracepoint_args)
DECLARE_WHOLE(lock, struct bpf_raw_tracepoint_args)
DECLARE_WHOLE(block, struct bpf_raw_tracepoint_args)

#endif

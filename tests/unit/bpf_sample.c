/* What the sampler does beside unwinding: whom it samples, what it counts, when it sends. */
#include <string.h>

#include "record/unwind/table_store.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000,
	CODE_BYTES = 0x10000,
	STACK = 0x7000000,
	WAKEUP = 2, /* BPF_RB_FORCE_WAKEUP */
};

static uint64_t stack_words[512];

/* A process in code of no file, without a frame pointer: its stack is one frame. */
static struct unwind_registers boot(void)
{
	const struct emulated_vma vma = {
		.start = CODE, .end = CODE + CODE_BYTES, .is_executable = true};
	emulate_boot(EMULATED_6_13);
	emulate_mappings(&vma, 1, 0);
	emulate_memory(STACK, stack_words, sizeof(stack_words));
	struct unwind_registers regs = {.ip = CODE + 0x100};
	regs.reg[UNWIND_SP] = STACK;
	return regs;
}

static const struct event_stack *stack_of_kind(enum event_stack_kind kind, size_t n)
{
	for (size_t i = 0;; i++) {
		const struct event_stack *stack = emulated_record(EVENT_STACK, i);
		if (!stack || (stack->kind == kind && n-- == 0))
			return stack;
	}
}

static uint64_t ticks_counted(enum event_counter counter)
{
	return emulated_counter(EVENT_SOURCE_TIMER, counter);
}

static void check_counters(
	uint64_t ticks, uint64_t samples, uint64_t idle, uint64_t filtered, uint64_t lost)
{
	CHECK_INT(ticks_counted(EVENT_COUNTER_EVENTS), ticks);
	CHECK_INT(ticks_counted(EVENT_COUNTER_SAMPLES), samples);
	CHECK_INT(ticks_counted(EVENT_COUNTER_IDLE), idle);
	CHECK_INT(ticks_counted(EVENT_COUNTER_FILTERED), filtered);
	CHECK_INT(ticks_counted(EVENT_COUNTER_LOST_RING), lost);
}

/* ---- what is counted and sent ---- */

TEST(stack_is_sent_once_its_sample_always)
{
	struct unwind_registers regs = boot();
	for (int i = 0; i < 3; i++)
		emulate_tick(&regs);
	CHECK_INT(emulated_count(EVENT_STACK), 1);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 3);
	const struct event_sample *first = emulated_record(EVENT_SAMPLE, 0);
	const struct event_sample *last = emulated_record(EVENT_SAMPLE, 2);
	CHECK(first->user_hash && first->user_hash == last->user_hash);
	const struct event_stack *stack = emulated_record(EVENT_STACK, 0);
	CHECK(stack->hash == first->user_hash);
	regs.ip++;
	emulate_tick(&regs);
	CHECK_INT(emulated_count(EVENT_STACK), 2);
	check_counters(4, 4, 0, 0, 0);
}

/* What the BPF side sent before the recorder forgot it is sent again. */
TEST(raised_generation_makes_every_stack_new)
{
	struct unwind_registers regs = boot();
	for (uint64_t n = 0; n < 64; n++) {
		*emulated_variables().generation = n;
		regs.ip = CODE + 64 + (n ^ 21); /* the one may not undo the other */
		emulate_tick(&regs);
		CHECK_INT(emulated_count(EVENT_STACK), n + 1);
	}
}

TEST(idle_ticks_are_counted)
{
	struct unwind_registers regs = boot();
	emulated.pid = emulated.tid = 0;
	emulate_tick(&regs);
	check_counters(1, 0, 1, 0, 0);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 0);
}

/* However late the recorder stops the timers. */
TEST(ticks_behind_the_end_are_none)
{
	struct unwind_registers regs = boot();
	emulated.time_ns = 1000;
	emulate_until(2000);
	emulate_tick(&regs);
	emulated.time_ns = 2000;
	emulate_tick(&regs);
	emulate_tick_without_loop(&regs);
	emulate_tick_whole(&regs);
	emulated.pid = emulated.tid = 0;
	emulate_tick(&regs);
	check_counters(1, 1, 0, 0, 0);
	CHECK_INT(ticks_counted(EVENT_COUNTER_LATE), 4);
	emulate_until(0);
}

TEST(samples_that_find_no_room_are_counted)
{
	struct unwind_registers regs = boot();
	emulated.ring_bytes = 8;
	emulate_tick(&regs);
	emulated.ring_bytes = 8 + sizeof(struct event_stack) + 8; /* the stack, not the sample */
	emulate_tick(&regs);
	check_counters(2, 0, 0, 0, 2);
	emulated.ring_bytes = 1 << 20;
	emulate_tick(&regs);
	check_counters(3, 1, 0, 0, 2);
	CHECK_INT(emulated_count(EVENT_STACK), 1); /* it got through with the second */
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
}

TEST(recorder_is_woken_when_there_is_enough_to_read)
{
	struct unwind_registers regs = boot();
	const struct emulated_record *records;
	emulate_config()->wakeup_bytes = 300;
	for (int i = 0; i < 8; i++)
		emulate_tick(&regs);
	size_t count = emulated_records(&records), unread = 0;
	for (size_t i = 0; i < count; i++) {
		CHECK_INT(records[i].flags == WAKEUP, unread >= 300);
		unread += (records[i].len + 8 + 7) & ~(size_t)7;
	}
	CHECK(unread > 300);
}

/* ---- tasks without a user stack ---- */

static void check_kernel_only(const struct unwind_registers *regs)
{
	static const uint64_t kernel[] = {0xffffffff81000000, 0xffffffff81000100};
	emulated.kernel_stack = kernel;
	emulated.nr_kernel_frames = 2;
	emulate_tick_in_kernel(regs);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK_INT(sample->user_hash, 0);
	CHECK(sample->kernel_hash != 0);
	CHECK_INT(stack_of_kind(EVENT_STACK_KERNEL, 0)->nr_frames, 2);
	CHECK(!stack_of_kind(EVENT_STACK_USER, 0));
	check_counters(1, 1, 0, 0, 0);
}

TEST(kernel_thread)
{
	struct unwind_registers regs = boot();
	emulated.is_kernel_thread = true;
	check_kernel_only(&regs);
}

TEST(task_whose_memory_is_gone)
{
	struct unwind_registers regs = boot();
	emulated.has_no_memory = true;
	check_kernel_only(&regs);
}

TEST(task_without_user_registers)
{
	struct unwind_registers regs = boot();
	regs = (struct unwind_registers){0};
	emulate_tick_in_kernel(&regs);
	const struct event_stack *stack = stack_of_kind(EVENT_STACK_USER, 0);
	CHECK_INT(stack->end, EVENT_END_NO_REGISTERS);
	CHECK_INT(stack->nr_frames, 0);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
}

TEST(kernel_stack_longer_than_we_keep)
{
	uint64_t kernel[200];
	struct unwind_registers regs = boot();
	for (size_t i = 0; i < 200; i++)
		kernel[i] = 0xffffffff81000000 + i;
	emulated.kernel_stack = kernel;
	emulated.nr_kernel_frames = 200;
	emulate_tick_in_kernel(&regs);
	CHECK_INT(stack_of_kind(EVENT_STACK_KERNEL, 0)->nr_frames, EVENT_MAX_KERNEL_FRAMES);
}

/* ---- by frame pointers alone ---- */

TEST(frame_pointers_alone)
{
	struct unwind_registers regs = boot();
	struct table_store *store; /* has the rule for it */
	CHECK_OK(emulate_table_store(1, &store));
	emulate_config()->call_graph = EVENT_CALL_GRAPH_FP;
	for (uint64_t i = 0; i < 4; i++) {
		stack_words[2 + i * 10] = i < 3 ? STACK + (12 + i * 10) * 8 : 0;
		stack_words[3 + i * 10] = CODE + 0x200 + i * 16;
	}
	regs.reg[UNWIND_FP] = STACK + 2 * 8;
	emulate_tick(&regs);
	const struct event_stack *stack = stack_of_kind(EVENT_STACK_USER, 0);
	CHECK_INT(stack->end, EVENT_END_COMPLETE);
	CHECK_INT(stack->nr_frames, 5);
	uint64_t frames[5];
	memcpy(frames, stack + 1, sizeof(frames));
	CHECK_INT(frames[4] & 0xffffffff, CODE + 0x200 + 3 * 16 - 1);
	CHECK_INT(frames[4] >> EVENT_FRAME_FOUND_SHIFT,
		EVENT_FRAME_ANONYMOUS << 2 | UNWIND_FOUND_BY_FRAME_POINTER);
	stack_words[3] = 0x1234;
	++*emulated_variables().generation;
	emulate_tick(&regs);
	CHECK_INT(stack_of_kind(EVENT_STACK_USER, 1)->end, EVENT_END_BROKEN_FRAME_POINTER);
	regs.reg[UNWIND_FP] =
		0; /* a register like any other, in code that keeps no frame pointer */
	++*emulated_variables().generation;
	emulate_tick(&regs);
	CHECK_INT(stack_of_kind(EVENT_STACK_USER, 2)->end, EVENT_END_BROKEN_FRAME_POINTER);
	CHECK_INT(stack_of_kind(EVENT_STACK_USER, 2)->nr_frames, 1);
	table_store_destroy(store);
}

/* ---- whom to sample ---- */

TEST(only_targets_are_sampled)
{
	struct unwind_registers regs = boot();
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	emulate_tick(&regs);
	check_counters(1, 0, 0, 1, 0);
	emulate_target(emulated.tid, 0); /* a thread's number is not the process's */
	emulate_tick(&regs);
	check_counters(2, 0, 0, 2, 0);
	emulate_config()->filter = EVENT_FILTER_THREAD;
	emulate_tick(&regs);
	check_counters(3, 1, 0, 2, 0);
}

TEST(only_the_user_is_sampled)
{
	struct unwind_registers regs = boot();
	emulate_config()->filter = EVENT_FILTER_USER;
	emulate_config()->uid = 1000;
	emulated.uid = 0;
	emulated.gid = 1000;
	emulate_tick(&regs);
	check_counters(1, 0, 0, 1, 0);
	emulated.uid = 1000;
	emulate_tick(&regs);
	check_counters(2, 1, 0, 1, 0);
}

static const uint64_t path_of_ids[] = {1, 20, 300, 4000}, other_ids[] = {1, 7};

static void begin_cgroups(enum emulated_release release)
{
	emulate_boot(release);
	emulate_config()->filter = EVENT_FILTER_CGROUP;
	emulate_config()->cgroup_hierarchies = 1 << EVENT_CGROUP_UNIFIED | 1 << EVENT_CGROUP_MEMORY;
	emulate_cgroup(EVENT_CGROUP_UNIFIED, path_of_ids, 4);
	emulate_cgroup(EVENT_CGROUP_MEMORY, other_ids, 2);
	emulate_cgroup_levels(0, EVENT_MAX_CGROUP_LEVELS - 1);
}

/* A tick of a process without a user stack. */
static bool is_sampled_by_cgroup(void)
{
	struct unwind_registers regs = {.ip = CODE};
	uint64_t before = ticks_counted(EVENT_COUNTER_SAMPLES);
	uint64_t filtered = ticks_counted(EVENT_COUNTER_FILTERED);
	emulate_tick(&regs);
	bool is_sampled = ticks_counted(EVENT_COUNTER_SAMPLES) == before + 1;
	CHECK_INT(ticks_counted(EVENT_COUNTER_FILTERED), filtered + !is_sampled);
	return is_sampled;
}

/* The group itself and those above it, in its own hierarchy. */
static void check_groups_above(enum emulated_release release)
{
	begin_cgroups(release);
	CHECK(!is_sampled_by_cgroup());
	emulate_target_cgroup(EVENT_CGROUP_MEMORY, path_of_ids[1]);
	emulate_target_cgroup(EVENT_CGROUP_UNIFIED, other_ids[1]);
	CHECK(!is_sampled_by_cgroup());
	emulate_target_cgroup(EVENT_CGROUP_UNIFIED, path_of_ids[1]);
	CHECK(is_sampled_by_cgroup());
	emulate_cgroup_levels(1, 1);
	CHECK(is_sampled_by_cgroup());
	emulate_cgroup_levels(0, 0);
	CHECK(!is_sampled_by_cgroup());
	emulate_cgroup_levels(2, EVENT_MAX_CGROUP_LEVELS - 1);
	CHECK(!is_sampled_by_cgroup());
	emulate_target_cgroup(EVENT_CGROUP_UNIFIED, path_of_ids[3]);
	CHECK(is_sampled_by_cgroup());
}

TEST(control_groups_and_those_below_are_sampled)
{
	check_groups_above(EMULATED_6_1);
}

TEST(control_groups_of_5_10_are_sampled)
{
	check_groups_above(EMULATED_5_10);
}

TEST(control_groups_of_version_1_are_sampled)
{
	begin_cgroups(EMULATED_6_13);
	emulate_target_cgroup(EVENT_CGROUP_UNIFIED, other_ids[1]);
	CHECK(!is_sampled_by_cgroup());
	emulate_target_cgroup(EVENT_CGROUP_MEMORY, other_ids[1]);
	CHECK(is_sampled_by_cgroup());
	emulate_config()->cgroup_hierarchies = 1 << EVENT_CGROUP_UNIFIED;
	CHECK(!is_sampled_by_cgroup());
}

TEST(the_command_is_a_target_from_its_exec_on)
{
	struct unwind_registers regs = boot();
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	emulate_config()->command_pid = emulated.pid;
	emulate_target(emulated.pid, 0);
	emulated.parent_exec_id = emulated.exec_id;
	emulate_tick(&regs);
	check_counters(1, 0, 0, 1, 0);
	emulated.exec_id++;
	emulate_tick(&regs);
	check_counters(2, 1, 0, 1, 0);
	emulate_config()->command_pid = 0; /* others are what they are */
	emulated.parent_exec_id = emulated.exec_id;
	emulate_tick(&regs);
	check_counters(3, 2, 0, 1, 0);
}

TEST(children_of_targets_are_targets)
{
	const struct emulated_task parent = {.pid = 100, .tgid = 100, .start_ns = 5},
				   child = {.pid = 200, .tgid = 200, .start_ns = 6};
	const struct emulated_task stranger = {.pid = 300, .tgid = 300, .start_ns = 7},
				   other = {.pid = 400, .tgid = 400, .start_ns = 8};
	boot();
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	emulate_target(100, 5);
	emulate_fork(&parent, &child);
	CHECK(!emulated_is_target(200));
	emulate_config()->follow_children = true;
	emulate_fork(&parent, &child);
	CHECK(emulated_is_target(200));
	emulate_fork(&stranger, &other);
	CHECK(!emulated_is_target(400));
}

TEST(threads_of_target_threads_are_targets)
{
	const struct emulated_task parent = {.pid = 101, .tgid = 100, .start_ns = 5},
				   child = {.pid = 102, .tgid = 100, .start_ns = 6};
	boot();
	emulate_config()->follow_children = true;
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	emulate_target(100, 5);
	emulate_fork(&parent, &child);
	CHECK(!emulated_is_target(102)); /* it is one by its process */
	emulate_config()->filter = EVENT_FILTER_THREAD;
	emulate_target(101, 5);
	emulate_fork(&parent, &child);
	CHECK(emulated_is_target(102));
}

/* The number may be another task's by now. */
TEST(freed_task_is_no_target_any_more)
{
	const struct emulated_task task = {.pid = 200, .tgid = 200, .start_ns = 6},
				   reused = {.pid = 200, .tgid = 200, .start_ns = 9};
	boot();
	emulate_target(200, 6);
	emulate_free(&reused);
	CHECK(emulated_is_target(200));
	emulate_free(&task);
	CHECK(!emulated_is_target(200));
	emulate_target(200, 0); /* when it began is not known */
	emulate_free(&task);
	CHECK(!emulated_is_target(200));
}

/* ---- PID namespaces ---- */

TEST(tasks_are_called_as_in_the_recorders_namespace)
{
	struct unwind_registers regs = boot();
	emulated.inner_pid = 7;
	emulated.inner_tid = 8;
	emulate_pid_namespace();
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	emulate_target(7, 0);
	emulate_tick(&regs);
	check_counters(1, 1, 0, 0, 0);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK_INT(sample->pid, 7);
	CHECK_INT(sample->tid, 8);
	CHECK_INT(stack_of_kind(EVENT_STACK_USER, 0)->pid, 7);
}

/* They have no number there, and nothing that the recorder could read of them. */
TEST(tasks_outside_of_the_namespace_are_filtered)
{
	struct unwind_registers regs = boot();
	emulated.inner_pid = emulated.inner_tid = 7;
	emulate_pid_namespace();
	emulated.inner_pid = emulated.inner_tid = 0;
	emulate_tick(&regs);
	check_counters(1, 0, 0, 1, 0);
}

TEST(children_are_followed_by_their_inner_numbers)
{
	const struct emulated_task parent = {100, 100, 5, 7, 7, false};
	const struct emulated_task child = {200, 200, 6, 9, 9, false};
	boot();
	emulated.inner_pid = emulated.inner_tid = 1;
	emulate_pid_namespace();
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	emulate_config()->follow_children = true;
	emulate_target(7, 5);
	emulate_fork(&parent, &child);
	CHECK(emulated_is_target(9) && !emulated_is_target(200));
	emulate_exit(&(struct emulated_task){200, 200, 6, 9, 9, true});
	CHECK(emulated_is_target(9)); /* other threads of it run */
	emulate_exit(&child);
	CHECK(!emulated_is_target(9));
}

/* ---- timers of the tasks' own ---- */

TEST(ticks_of_tasks_timers_need_no_filter)
{
	struct unwind_registers regs = boot();
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	emulate_timers_of_tasks();
	emulate_tick(&regs);
	check_counters(1, 1, 0, 0, 0);
	CHECK_INT(emulated_task_ticks()->ticks, 1);
	emulate_config()->command_pid = emulated.pid;
	emulated.parent_exec_id = emulated.exec_id; /* the recorder's own child */
	emulate_tick(&regs);
	check_counters(2, 1, 0, 1, 0);
}

TEST(switches_a_second_of_cpu_time_are_summed_over_ticks)
{
	struct unwind_registers regs = boot();
	emulate_timers_of_tasks();
	emulated.switches = 500;
	emulated.runtime_ns = 10 * 1000 * 1000;
	emulate_tick(&regs);
	CHECK_INT(emulated_task_ticks()->switch_rates, 50000);
	emulated.runtime_ns = 0; /* it has just begun */
	emulate_tick(&regs);
	CHECK_INT(emulated_task_ticks()->switch_rates, 50000);
}

/* Many of them may make other timers the better ones, and the recorder is to know soon. */
TEST(forked_processes_wake_the_recorder)
{
	const struct emulated_task parent = {.pid = 100, .tgid = 100, .start_ns = 5},
				   child = {.pid = 200, .tgid = 200, .start_ns = 6};
	const struct emulated_task thread = {.pid = 101, .tgid = 100, .start_ns = 5};
	boot();
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	emulate_config()->follow_children = true;
	emulate_timers_of_tasks();
	emulate_target(100, 5);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(emulated_count(EVENT_FORKS), 0);
		emulate_fork(&parent, &thread);
		emulate_fork(&parent, &child);
	}
	CHECK_INT(emulated_count(EVENT_FORKS), 1);
	CHECK_INT(emulated_processes_forked(), 4);
	CHECK_INT(emulated_threads_forked(), 4);
}

/* ---- events that the kernel counts ---- */

static uint64_t counted_counted(enum event_counter counter)
{
	return emulated_counter((enum event_source_number)(EVENT_SOURCE_COUNTER + 3), counter);
}

TEST(a_counted_event_stands_for_its_period)
{
	struct unwind_registers regs = boot();
	emulate_counted(&regs, 500, true);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK(sample != NULL);
	CHECK_INT(sample->source, EVENT_SOURCE_COUNTER + 3);
	CHECK_INT(sample->event, 0);
	CHECK_INT(sample->value, 500);
	CHECK_INT(sample->measured, 1);
	CHECK_INT(counted_counted(EVENT_COUNTER_EVENTS), 1);
	CHECK_INT(counted_counted(EVENT_COUNTER_SAMPLES), 1);
	check_counters(0, 0, 0, 0, 0);
}

/* Those of the CPUs come from all processes, those of tasks from the recorder's child as well. */
TEST(counted_events_are_filtered)
{
	struct unwind_registers regs = boot();
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	emulate_counted(&regs, 1, false);
	CHECK_INT(counted_counted(EVENT_COUNTER_FILTERED), 1);
	emulate_counted(&regs, 1, true);
	CHECK_INT(counted_counted(EVENT_COUNTER_SAMPLES), 1);
	emulate_config()->command_pid = emulated.pid;
	emulated.parent_exec_id = emulated.exec_id;
	emulate_counted(&regs, 1, true);
	CHECK_INT(counted_counted(EVENT_COUNTER_FILTERED), 2);
	CHECK_INT(counted_counted(EVENT_COUNTER_EVENTS), 3);
}

/* ---- groups that are read together ---- */

static uint64_t member_sum(uint32_t number, enum event_counter counter)
{
	return emulated_tally(EVENT_SOURCE_COUNTER + number, counter).sum;
}

static void check_member_sample(size_t n, uint32_t number, uint64_t value, bool is_followed)
{
	const struct event_sample *first = emulated_record(EVENT_SAMPLE, 0),
				  *sample = emulated_record(EVENT_SAMPLE, n);
	CHECK(sample != NULL);
	CHECK_INT(sample->source, EVENT_SOURCE_COUNTER + number);
	CHECK_INT(sample->value, value);
	CHECK_INT(sample->measured, number == 3 ? 1 : value);
	CHECK_INT(sample->is_followed, is_followed);
	CHECK(sample->user_hash == first->user_hash);
}

/* What was counted on the CPU since its last sample; nothing is no value. */
TEST(a_sample_has_what_its_group_counted)
{
	struct unwind_registers regs = boot();
	emulate_group(1 << 5 | 1 << 6, false);
	emulated.member_counts[5] = 40;
	emulated.member_counts[6] = 7;
	emulate_counted(&regs, 500, false);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 3);
	check_member_sample(0, 3, 500, true);
	check_member_sample(1, 5, 40, true);
	check_member_sample(2, 6, 7, false);
	emulated.member_counts[6] = 9;
	emulate_counted(&regs, 500, false);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 5);
	check_member_sample(3, 3, 500, true);
	check_member_sample(4, 6, 2, false);
	emulate_counted(&regs, 500, false);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 6);
	check_member_sample(5, 3, 500, false);
	CHECK_INT(member_sum(5, EVENT_COUNTER_EVENTS), 40);
	CHECK_INT(member_sum(5, EVENT_COUNTER_SAMPLES), 40);
	CHECK_INT(member_sum(6, EVENT_COUNTER_SAMPLES), 9);
}

/* With the first one's sample: what would have been of its stack. */
TEST(what_a_group_counted_is_lost_with_its_sample)
{
	struct unwind_registers regs = boot();
	emulate_group(1 << 5, false);
	emulated.member_counts[5] = 40;
	emulated.ring_bytes = 0;
	emulate_counted(&regs, 500, false);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 0);
	CHECK_INT(member_sum(5, EVENT_COUNTER_EVENTS), 40);
	CHECK_INT(member_sum(5, EVENT_COUNTER_LOST_RING), 40);
}

enum {
	TARGET = 2001, /* threads */
	STRANGER = 3000,
	DIES = 0x80,
};

static struct unwind_registers boot_target(void)
{
	struct unwind_registers regs = boot();
	emulate_config()->filter = EVENT_FILTER_USER;
	emulate_config()->uid = emulated.uid;
	emulated.tid = TARGET;
	emulate_group(1 << 5, true);
	return regs;
}

/* A thread that is met while it runs counts from there on; others' counts are nobody's. */
TEST(of_targets_a_group_counts_while_they_run)
{
	struct unwind_registers regs = boot_target();
	emulated.member_counts[5] = 100;
	emulate_counted(&regs, 500, false);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	emulated.member_counts[5] += 3;
	emulate_switch_of_group(TARGET, 0, 1);
	emulated.member_counts[5] += 1000;
	emulate_switch_of_group(0, TARGET, 0);
	emulated.member_counts[5] += 4;
	emulate_counted(&regs, 500, false);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 3);
	check_member_sample(2, 5, 7, false);
	CHECK_INT(member_sum(5, EVENT_COUNTER_EVENTS), 7);
}

/* It has no sample any more for which that could be. */
TEST(what_a_group_counted_of_a_thread_that_ends_is_below)
{
	struct unwind_registers regs = boot_target();
	emulate_counted(&regs, 500, false);
	emulated.member_counts[5] = 3;
	emulate_switch_of_group(TARGET, 0, DIES);
	CHECK_INT(member_sum(5, EVENT_COUNTER_EVENTS), 3);
	CHECK_INT(member_sum(5, EVENT_COUNTER_BELOW), 3);
	emulate_switch_of_group(0, TARGET, 0);
	emulate_counted(&regs, 500, false);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 2);
}

/* The command comes to its CPU as the recorder's child, and is itself from its exec on. */
TEST(of_a_command_a_group_counts_from_its_exec_on)
{
	struct unwind_registers regs = boot_target();
	emulated.member_counts[5] = 50;
	emulate_exec_of_group(TARGET);
	emulated.member_counts[5] = 56;
	emulate_counted(&regs, 500, false);
	check_member_sample(1, 5, 6, false);
}

/* Which has the number of its process's first thread then. */
TEST(what_a_group_counted_of_a_thread_that_execs_is_below)
{
	struct unwind_registers regs = boot_target();
	emulated.tid = TARGET + 1;
	emulate_counted(&regs, 500, false);
	emulated.member_counts[5] = 3;
	emulate_switch_of_group(TARGET + 1, 0, 1);
	emulated.tid = TARGET;
	emulate_exec_of_group(TARGET + 1);
	CHECK_INT(member_sum(5, EVENT_COUNTER_BELOW), 3);
	emulated.tid = TARGET + 1; /* another thread */
	emulate_counted(&regs, 500, false);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 2);
}

/* Strangers' counts are nobody's where the counter could not be read when the target came. */
TEST(a_group_that_cannot_be_read_begins_anew)
{
	struct unwind_registers regs = boot_target();
	emulate_counted(&regs, 500, false);
	emulate_switch_of_group(TARGET, 0, 1);
	emulated.member_counts[5] = 1000;
	emulated.refuses_members = true;
	emulate_switch_of_group(0, TARGET, 0);
	emulated.refuses_members = false;
	emulate_counted(&regs, 500, false);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 2);
	emulated.member_counts[5] += 4;
	emulate_counted(&regs, 500, false);
	check_member_sample(3, 5, 4, false);
}

/* No sample comes after it, as no room is kept for it. */
TEST(what_a_group_counted_of_too_many_threads_is_below)
{
	struct unwind_registers regs = boot_target();
	uint32_t count = 0;
	for (; count < 2 * EVENT_MAX_GROUP_THREADS && !member_sum(5, EVENT_COUNTER_BELOW);
		count++) {
		emulated.tid = TARGET + count;
		emulate_counted(&regs, 500, false);
		emulated.member_counts[5] += 3;
		emulate_switch_of_group(TARGET + count, 0, 1);
	}
	CHECK(count > 1);
	CHECK_INT(member_sum(5, EVENT_COUNTER_BELOW), 3);
	CHECK_INT(member_sum(5, EVENT_COUNTER_EVENTS), 3);
}

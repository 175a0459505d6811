/* bpf/sample.bpf.c, all of it, compiled for user space; and what tests ask of its insides. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/emulate/flavours.bpf.h"
#include "tests/unit/emulate/programs.bpf.h"

#define HAS_WHOLE_PROGRAMS /* those of arm64, on any machine */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "bpf/sample.bpf.c"
#pragma GCC diagnostic pop

#include "tests/unit/emulate/kernel.h"
#include "tests/unit/emulate/map.h"
#include "tests/unit/emulate/memory.h"
#include "tests/unit/emulate/task.h"

enum {
	MAX_TAIL_CALLS = 33, /* MAX_TAIL_CALL_CNT */
	EMULATED_SHADOW_STACKS = 4,
};

enum {
	INNER_LEVEL = 1,
	INNER_INODE = 4026532000,
};

/* A task, its process's leader, and what tells their numbers in each PID namespace. */
struct emulated_ids {
	struct pid pid;
	struct upid inner; /* pid.numbers[1] */
};

struct all_css_set {
	struct css_set now;
	struct cgroup_subsys_state memory;
};

struct all_task {
	union {
		struct task_struct task;
		struct all_task_struct flavours;
	};
	struct uprobe_task probed;
	struct return_instance returns[EMULATED_MAX_RETURNS];
	struct xol_area uprobe_page;
	struct task_struct leader;
	struct emulated_ids ids, leader_ids;
	struct pid_namespace machine, inner;
	struct signal_struct signal;
};

static struct {
	struct all_task *task;
	struct all_mm *mm;
	uint8_t *stack;                      /* of the kernel */
	struct bpf_perf_event_data *context; /* in its memory */
	unsigned nr_tail_calls;
	bool has_loop; /* the kernel has bpf_loop */
} process;

/* ---- booting ---- */

#define NUMBER(map, member) (sizeof(*(map).member) / sizeof(int))
#define DESCRIBE(map) \
	(struct emulated_map) \
	{ \
		.name = &(map), .type = NUMBER(map, type), .key_bytes = sizeof(*(map).key), \
		.value_bytes = sizeof(*(map).value), .max_entries = NUMBER(map, max_entries), \
	}

static void emulate_map_of_lanes(struct emulated_map map)
{
	if (map.type == EMULATED_ARRAY)
		map.max_entries *= EMULATED_CPUS;
	map.max_entries *= EVENT_LANES;
	emulate_map(&map);
}

static void make_maps(void)
{
	struct emulated_map shared_files = DESCRIBE(files), numbers = DESCRIBE(file_numbers);
	shared_files.max_entries = EMULATED_MAX_FILES;
	numbers.max_entries = emulated.file_numbers_max;
	emulate_shared_map(&shared_files);
	emulate_shared_map(&DESCRIBE(rules));
	emulate_shared_map(&DESCRIBE(runtime_rows));
	emulate_map(&DESCRIBE(runtime_codes));
	emulate_map(&DESCRIBE(known_runtimes));
	emulate_map(&DESCRIBE(thread_contexts));
	has_thread_contexts = 0;
	emulate_map_of_lanes(DESCRIBE(runtime_records));
	emulate_map_of_lanes(DESCRIBE(label_records));
	emulate_map(&(struct emulated_map){
		.name = &shards,
		.type = NUMBER(shards, type),
		.key_bytes = sizeof(__u32),
		.max_entries = NUMBER(shards, max_entries),
	});
	emulate_map(&numbers);
	emulate_map_of_lanes(DESCRIBE(found_rules));
	emulate_map_of_lanes(DESCRIBE(java_known_blobs));
	emulate_map_of_lanes(DESCRIBE(java_known_methods));
	emulate_map_of_lanes(DESCRIBE(known_codes));
	emulate_map_of_lanes(DESCRIBE(node_known_maps));
	emulate_map_of_lanes(DESCRIBE(node_known));
	emulate_map_of_lanes(DESCRIBE(node_met_codes));
	emulate_map_of_lanes(DESCRIBE(erlang_known_codes));
	emulate_map_of_lanes(DESCRIBE(dotnet_known_places));
	emulate_map_of_lanes(DESCRIBE(mapping_cache));
	emulate_map_of_lanes(DESCRIBE(scratches));
	emulate_map(&DESCRIBE(counters));
	emulate_map(&DESCRIBE(task_ticks));
	emulate_map(&DESCRIBE(targets));
	struct emulated_map groups = DESCRIBE(target_cgroups);
	groups.max_entries = 16;
	emulate_map(&groups);
	struct emulated_map waits = DESCRIBE(waiting);
	waits.max_entries = 16;
	emulate_map(&waits);
	emulate_map(&DESCRIBE(wait_lanes));
	emulate_map(&DESCRIBE(group_lanes));
	struct emulated_map unsampled = DESCRIBE(unsampled_counts);
	unsampled.max_entries = 2;
	emulate_map(&unsampled);
	emulate_map(&DESCRIBE(duration_selectors));
	struct emulated_map calls = DESCRIBE(open_calls), syscalls = DESCRIBE(open_syscalls);
	calls.max_entries = syscalls.max_entries = 16;
	emulate_map(&calls);
	emulate_map(&syscalls);
	struct emulated_map contended = DESCRIBE(contentions);
	contended.max_entries = 16;
	emulate_map(&contended);
	struct emulated_map requests = DESCRIBE(open_requests);
	requests.max_entries = 512;
	emulate_map(&requests);
	emulate_map(&DESCRIBE(block_lanes));
	emulate_map(&DESCRIBE(sleepers));
	emulate_map(&DESCRIBE(environments));
	emulate_map(&DESCRIBE(seen));
	emulate_map(&DESCRIBE(shadow_places));
	emulate_map(&DESCRIBE(no_shadow_stack));
	emulate_map(&DESCRIBE(shadow_counters));
	struct emulated_map stacks = DESCRIBE(shadow_stacks);
	stacks.max_entries = EMULATED_SHADOW_STACKS;
	emulate_map(&stacks);
	emulate_map(&DESCRIBE(code_rules));
}

/* A constant of the programs, which may not write it; the recorder does before loading. */
static void *writable(const volatile void *constant, size_t len)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
		  start = (uintptr_t)constant & ~(page - 1);
	uintptr_t end = ((uintptr_t)constant + len + page - 1) & ~(page - 1);
	if (mprotect((void *)start, end - start, PROT_READ | PROT_WRITE))
		__builtin_trap();
	void *ret = (void *)(uintptr_t)constant;
	__asm__("" : "+r"(ret)); /* which the compiler takes for writable, then */
	return ret;
}

struct event_config *emulate_config(void)
{
	return writable(&config, sizeof(config));
}

/* The programs that walk for a group: they have the same code, and other constants. */
static void load_group(enum runtime_group group)
{
	uint32_t compilers = RUNTIME_MASK_OF_COMPILERS;
	bool is_loops = group == RUNTIME_GROUP_LOOPS;
	emulate_config()->runtimes = is_loops ? ~compilers : compilers;
	emulate_config()->other_runtimes = is_loops ? compilers : ~compilers;
}

void emulate_boot(enum emulated_release release)
{
	emulated = (struct emulated_kernel){
		.release = release,
		.pid = 100,
		.tid = 101,
		.time_ns = 1000000000,
		.start_ns = 5,
		.exec_id = 1,
		.changes = 2,
		.ring_bytes = 1 << 20,
		.file_numbers_max = EMULATED_MAX_FILES,
	};
	*emulate_config() = (struct event_config){
		.page_shift = 12,
		.pc_mask = ~0ULL,
		.wakeup_bytes = 1 << 16,
		.snapshot_limit_bytes = 1 << 19,
		.snapshot_bytes = 4 * EVENT_SNAPSHOT_CHUNK_BYTES,
		.nr_cpus = EMULATED_CPUS,
		.nr_lanes = 1,
		.nr_places = 1,
		.max_files = EMULATED_MAX_FILES,
	};
	load_group(RUNTIME_GROUP_LOOPS);
	make_maps();
	process.task = emulate_kernel_memory(sizeof(*process.task));
	process.mm = emulate_kernel_memory(sizeof(*process.mm));
	process.stack = emulate_kernel_memory(KERNEL_STACK_BYTES);
	process.context = emulate_kernel_memory(sizeof(*process.context));
}

void emulate_forget(void)
{
	emulate_clear_maps(&file_numbers);
	emulate_drain();
}

struct all_mm *emulate_mm(void)
{
	return process.mm;
}

/* ---- the current task ---- */

static struct pid *put_ids(
	struct all_task *all, struct emulated_ids *ids, uint32_t outer, uint32_t inner)
{
	ids->pid.level = inner ? INNER_LEVEL : 0;
	ids->pid.numbers[0] = (struct upid){(int)outer, &all->machine};
	ids->inner = (struct upid){(int)inner, &all->inner};
	return &ids->pid;
}

static void put_task(struct all_task *all, const struct emulated_task *from)
{
	struct task_struct *task = &all->task, *leader = &all->leader;
	all->inner.ns.inum = INNER_INODE;
	all->signal.live.counter = from->has_threads;
	task->pid = (int)from->pid;
	task->tgid = leader->pid = leader->tgid = (int)from->tgid;
	task->start_boottime = leader->start_boottime = from->start_ns;
	task->signal = leader->signal = &all->signal;
	task->group_leader = leader->group_leader = leader;
	task->thread_pid = put_ids(all, &all->ids, from->pid, from->inner_pid);
	leader->thread_pid = put_ids(all, &all->leader_ids, from->tgid, from->inner_tgid);
}

static void put_uprobes(struct all_task *all, const struct emulated_uprobes *from)
{
	for (size_t i = 0; i < from->nr_returns; i++)
		all->returns[i] = (struct return_instance){from->returns[i].sp, from->returns[i].ra,
			i + 1 < from->nr_returns ? &all->returns[i + 1] : NULL};
	all->uprobe_page.vaddr = from->page;
	all->probed = (struct uprobe_task){
		from->nr_returns ? all->returns : NULL, from->instruction, from->copy};
	all->task.utask = from->page ? &all->probed : NULL;
	process.mm->now.uprobes_state.xol_area = from->page ? &all->uprobe_page : NULL;
}

static void put_process(void)
{
	struct task_struct *task = &process.task->task;
	put_uprobes(process.task, &emulated.uprobes);
	put_task(
		process.task, &(struct emulated_task){emulated.tid, emulated.pid, emulated.start_ns,
				      emulated.inner_tid, emulated.inner_pid, false});
	task->nvcsw = emulated.switches;
	task->se.sum_exec_runtime = emulated.runtime_ns;
	task->flags = emulated.is_kernel_thread ? PF_KTHREAD : 0;
	task->parent_exec_id = emulated.parent_exec_id;
	task->self_exec_id = emulated.exec_id;
	task->mm = emulated.has_no_memory ? NULL : &process.mm->now;
	task->stack = process.stack;
#if defined(__TARGET_ARCH_x86)
	task->thread.fsbase = EMULATED_THREAD;
#elif defined(__TARGET_ARCH_arm64)
	task->thread.uw.tp_value = EMULATED_THREAD;
#endif
	if (emulated.release >= EMULATED_6_13)
		process.mm->now.mm_lock_seq.sequence = (unsigned int)emulated.changes;
	else if (emulated.release >= EMULATED_6_4)
		process.mm->at_6_4.mm_lock_seq = (int)emulated.changes;
	else
		process.mm->at_5_10.vmacache_seqnum = emulated.changes;
}

unsigned long long bpf_get_current_task(void)
{
	return (unsigned long long)&process.task->task;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return &process.task->task;
}

/* Where the entry code pushes them: at the very top of the stack. */
static struct pt_regs *saved_registers(void)
{
	return (struct pt_regs *)(process.stack + KERNEL_STACK_BYTES) - 1;
}

long bpf_task_pt_regs(struct task_struct *task)
{
	return task == &process.task->task ? (long)saved_registers() : 0;
}

/* ---- ticks ---- */

static void put_registers(struct pt_regs *to, const struct unwind_registers *from)
{
	REGS_IP(to) = from->ip;
#define PUT(number, member) to->member = from->reg[number];
	EACH_REGISTER(PUT)
#undef PUT
}

static void begin(const struct unwind_registers *regs, struct bpf_perf_event_data *context)
{
	put_process();
	process.nr_tail_calls = 0;
	process.has_loop = true;
	memset(context, 0, sizeof(*context));
	put_registers(&context->regs, regs);
}

void emulate_tick(const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	begin(regs, &context);
	on_tick(&context);
}

void emulate_tick_without_loop(const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	begin(regs, &context);
	process.has_loop = false;
	on_tick_without_loop(&context);
}

void emulate_tick_whole(const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	begin(regs, &context);
	emulate_config()->runtimes = ~0U;
	emulate_config()->other_runtimes = 0;
	on_tick_whole(&context);
	load_group(RUNTIME_GROUP_LOOPS);
}

void emulate_counted(const struct unwind_registers *regs, uint64_t period, bool is_of_task)
{
	struct bpf_perf_event_data context;
	begin(regs, &context);
	context.sample_period = period;
	counters_of_tasks = is_of_task ? 1U << 3 : 0;
	on_counter_3(&context);
}

void emulate_group(uint32_t members, bool follows_tasks)
{
	emulate_config()->members = emulate_config()->members_of[3] = members;
	members_follow_tasks = follows_tasks;
}

void emulate_tick_in_kernel(const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	begin(regs, &context);
	put_registers(saved_registers(), regs);
	memset(&context, 0, sizeof(context));
	REGS_IP(&context.regs) = 0xffffffff81000000;
	REGS_SP(&context.regs) = 0xffffc90000003e00;
	on_tick(&context);
}

unsigned long long bpf_get_attach_cookie(void *context)
{
	(void)context;
	return emulated.cookie;
}

void emulate_hit(const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	begin(regs, &context);
	on_hit(&context.regs);
}

void emulate_hit_without_loop(const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	begin(regs, &context);
	process.has_loop = false;
	on_hit_without_loop(&context.regs);
}

void emulate_call(const struct unwind_registers *regs)
{
	begin(regs, process.context);
	on_call(&process.context->regs);
}

/* ---- waits ---- */

static struct task_struct *task_numbered(uint32_t tid)
{
	struct all_task *all = emulate_kernel_memory(sizeof(*all));
	put_task(all, &(struct emulated_task){tid, emulated.pid, emulated.start_ns, 0, 0, false});
	return &all->task;
}

void emulate_takes_waits(uint32_t waits, uint64_t period_ns)
{
	emulate_config()->waits = waits;
	wait_period_ns = period_ns;
	takes_waits = waits != 0;
	takes_waits_since_ns = emulated.time_ns;
}

void emulate_wait_interrupts(void)
{
	raises_interrupts = true;
}

void emulate_switch(uint32_t prev, uint32_t next, bool preempt, uint32_t prev_state)
{
	struct task_struct *goes = task_numbered(prev);
	if (emulated.release == EMULATED_5_10)
		((struct all_task_struct *)goes)->at_5_13.state = prev_state;
	else
		goes->__state = prev_state;
	on_switch((unsigned long long[]){preempt, (uintptr_t)goes, (uintptr_t)task_numbered(next)});
}

void emulate_switch_of_group(uint32_t prev, uint32_t next, uint32_t prev_state)
{
	struct task_struct *goes = task_numbered(prev);
	goes->__state = prev_state;
	on_switch_of_group(false, goes, task_numbered(next));
}

void emulate_exec_of_group(uint32_t old_tid)
{
	uint64_t arguments[] = {0, old_tid, 0};
	on_exec_of_group((struct bpf_raw_tracepoint_args *)arguments);
}

void emulate_waking(uint32_t tid)
{
	on_waking(task_numbered(tid));
}

void emulate_waking_by(uint32_t tid, const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	struct {
		__u64 args[1];
	} arguments = {{(uintptr_t)task_numbered(tid)}};
	begin(regs, &context);
	put_registers(saved_registers(), regs);
	on_waking((struct task_struct *)arguments.args[0]);
	on_waker((struct bpf_raw_tracepoint_args *)&arguments);
}

void emulate_new_task(uint32_t tid)
{
	on_wakeup_new(task_numbered(tid));
}

void emulate_wait_end(const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	struct bpf_raw_tracepoint_args none;
	begin(regs, &context);
	put_registers(saved_registers(), regs);
	on_wait(&none);
}

static void visit_with(int (*program)(struct bpf_iter__task *ctx), uint32_t tid)
{
	process.task->task.pid = (int)tid;
	program(&(struct bpf_iter__task){&(struct bpf_iter_meta){0}, &process.task->task});
}

void emulate_end_of_waits(void)
{
	waits_end_ns = takes_waits ? emulated.time_ns : waits_end_ns;
	takes_waits = divides_waits = false;
}

void emulate_sleeper(uint32_t tid, const struct unwind_registers *regs)
{
	emulate_end_of_waits();
	visit_with(on_division, tid);
	emulate_divided_sleeper(tid, regs);
}

void emulate_division(uint32_t tid)
{
	waits_end_ns = emulated.time_ns;
	divides_waits = true;
	visit_with(on_division, tid);
}

void emulate_divided_sleeper(uint32_t tid, const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	begin(regs, &context);
	put_registers(saved_registers(), regs);
	visit_with(on_sleeper, tid);
}

void emulate_thread_end(uint32_t tid)
{
	on_thread_end(task_numbered(tid));
}

/* ---- durations ---- */

void emulate_takes_durations(uint32_t source, uint64_t period_ns)
{
	uint32_t number = source - EVENT_SOURCE_DURATION;
	duration_period_ns[number] = period_ns;
	takes_durations = period_ns ? 1U << number : 0;
}

void emulate_entry(const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	begin(regs, &context);
	on_entry(&context.regs);
}

void emulate_return(const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	begin(regs, &context);
	on_return(&context.regs);
}

void emulate_syscall_enter(uint32_t number)
{
	struct bpf_perf_event_data context;
	struct {
		__u64 args[2];
	} arguments = {{0, number}};
	begin(&(struct unwind_registers){0}, &context);
	on_syscall_enter((struct bpf_raw_tracepoint_args *)&arguments);
}

void emulate_syscall_exit(const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	struct {
		__u64 args[2];
	} arguments;
	begin(regs, &context);
	put_registers(saved_registers(), regs);
	arguments.args[0] = (uintptr_t)saved_registers();
	on_syscall((struct bpf_raw_tracepoint_args *)&arguments);
}

void emulate_32_bits(void)
{
#if defined(__TARGET_ARCH_x86)
	saved_registers()->cs = 0x23; /* __USER32_CS */
#elif defined(__TARGET_ARCH_arm64)
	saved_registers()->pstate = 0x10; /* PSR_MODE32_BIT */
#endif
}

/* The first pointer in a request is that to its disk before Linux 5.16, or to its queue. */
struct request *emulate_request(uint32_t operation, uint32_t bytes)
{
	struct request *request = emulate_kernel_memory(sizeof(*request));
	struct request_queue *queue = emulate_kernel_memory(sizeof(*queue));
	struct gendisk *disk = emulate_kernel_memory(sizeof(*disk));
	*disk = (struct gendisk){.major = 253, .first_minor = 16};
	queue->disk = disk;
	*request = (struct request){
		.q = emulated.release == EMULATED_5_10 ? (void *)disk : queue,
		.cmd_flags = operation | 1U << 11, /* REQ_SYNC */
		.__data_len = bytes,
		.start_time_ns = emulated.time_ns,
	};
	return request;
}

void emulate_request_begins(struct request *request, const struct unwind_registers *regs)
{
	struct bpf_perf_event_data context;
	struct {
		__u64 args[2];
	} arguments = {{(uintptr_t)request, (uintptr_t)request}};
	emulate_config()->has_block_io = true;
	emulate_config()->has_queue_argument = emulated.release == EMULATED_5_10;
	if (emulate_config()->has_queue_argument)
		arguments.args[0] = (uintptr_t)request->q;
	begin(regs, &context);
	put_registers(saved_registers(), regs);
	on_block((struct bpf_raw_tracepoint_args *)&arguments);
}

void emulate_request_ends(struct request *request, uint32_t bytes)
{
	struct {
		__u64 args[3];
	} arguments = {{(uintptr_t)request, 0, bytes}};
	on_block_end((struct bpf_raw_tracepoint_args *)&arguments);
	request->__data_len -= bytes;
}

void emulate_request_is_allocated(struct request *request)
{
	request->start_time_ns = emulated.time_ns;
}

struct event_tally emulated_tally(uint32_t source, enum event_counter counter)
{
	return counters_of(source)->of[counter];
}

struct event_tally emulated_wait_tally(enum event_counter counter)
{
	return counters_of(EVENT_SOURCE_WAIT)->of[counter];
}

const struct known_runtime *emulated_known_runtime(uint32_t pid, enum runtime_kind kind)
{
	struct known_runtime_key key = {.pid = pid, .kind = kind};
	return bpf_map_lookup_elem(&known_runtimes, &key);
}

void emulate_shadow_place(uint32_t number, const struct shadow_place *place)
{
	bpf_map_update_elem(&shadow_places, &number, place, BPF_ANY);
}

void emulate_code_rule(const struct code_key *key, const struct code_rule *rule)
{
	bpf_map_update_elem(&code_rules, key, rule, BPF_ANY);
}

const struct shadow_counters *emulated_shadow_counters(void)
{
	return count_calls();
}

void emulate_takes_hits(bool does)
{
	takes_hits = does;
}

void emulate_until(uint64_t time_ns)
{
	until_ns = time_ns;
}

void emulate_update(bool is_under_way)
{
	scratch_of_lane(0)->is_updating = is_under_way;
}

void emulate_busy_tick(bool is_busy)
{
	scratch_of_lane(EVENT_LANE_INTERRUPT)->is_busy = is_busy;
}

void emulate_busy_hit(bool is_busy)
{
	scratch_of_lane(EVENT_LANE_TASK)->is_busy = is_busy;
}

int emulate_tail_call(void *context, const void *programs, unsigned int index)
{
	bool is_tick = programs == &tick_walkers, is_wait = programs == &wait_walkers;
	if (index >= NEXT_PROGRAMS || process.nr_tail_calls++ >= MAX_TAIL_CALLS)
		return 0;
	if (programs == &tick_wholes) {
		whole_tick(context);
		return 1;
	}
	if (index == NEXT_ENDS) {
		is_tick ? end_tick(context) : is_wait ? end_wait(context) : end_hit(context);
		return 1;
	}
	load_group(index);
	int (*walk_tick_by)(struct bpf_perf_event_data *) =
		process.has_loop ? walk_tick : continue_tick;
	int (*walk_hit_by)(struct pt_regs *) = process.has_loop ? walk_hit : continue_hit;
	int (*walk_wait_by)(struct bpf_raw_tracepoint_args *) =
		process.has_loop ? walk_wait : continue_wait;
	if (is_tick)
		walk_tick_by(context);
	else if (is_wait)
		walk_wait_by(context);
	else
		walk_hit_by(context);
	return 1;
}

/* ---- what the program did ---- */

static struct scratch *any_scratch(void)
{
	put_process();
	struct scratch *scratch = scratch_of_lane(EVENT_LANE_INTERRUPT);
	identify_space(&scratch->walk.space, &process.mm->now, emulated.start_ns, emulated.exec_id);
	return scratch;
}

uint64_t emulated_find_vma(uint64_t address)
{
	struct scratch *scratch = any_scratch();
	return (uint64_t)find_vma(scratch, address);
}

void emulated_find_mapping(uint64_t address, struct emulated_mapping *ret)
{
	struct scratch *scratch = any_scratch();
	begin_recent_mappings(scratch);
	find_mapping(address);
	const struct mapping *found = &scratch->walk.mapping;
	*ret = (struct emulated_mapping){
		found->start, found->end, found->delta, found->file, found->kind};
}

uint32_t emulated_number_own_file(uint64_t address, uint32_t number)
{
	__u64 arguments[] = {address, number};
	put_process();
	return (uint32_t)number_own_file(arguments);
}

struct unwind_file *emulated_unwind_file(uint32_t number)
{
	return bpf_map_lookup_elem(&files, &number);
}

const struct unwind_rule *emulated_rules(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&rules, &zero);
}

uint32_t emulated_find_rule(uint32_t file, uint64_t offset)
{
	return find_rule(emulated_unwind_file(file), offset);
}

enum event_stack_end emulated_rule_of_frame(
	uint32_t file, uint64_t offset, struct unwind_rule *rule)
{
	struct scratch *scratch = scratch_of_lane(EVENT_LANE_INTERRUPT);
	scratch->walk.mapping = (struct mapping){.file = file, .kind = EVENT_FRAME_FILE};
	take_lane(scratch, EVENT_LANE_INTERRUPT);
	enum event_stack_end end = rule_of_frame(offset);
	leave_lane(scratch);
	*rule = scratch->walk.rule;
	return end;
}

uint64_t emulated_counter(enum event_source_number source, enum event_counter counter)
{
	const struct event_tally *tally = &counters_of(source)->of[counter];
	if (tally->sum != tally->count) /* of events that are just counted */
		__builtin_trap();
	return tally->count;
}

const struct event_task_ticks *emulated_task_ticks(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&task_ticks, &zero);
}

struct emulated_variables emulated_variables(void)
{
	return (struct emulated_variables){.row_kinds = &row_kinds,
		.epoch = &table_epoch,
		.generation = (volatile uint64_t *)&generation,
		.code_unasked = (volatile uint64_t *)&code_unasked};
}

/* ---- other tasks ---- */

void emulate_fork(const struct emulated_task *parent, const struct emulated_task *child)
{
	struct all_task *tasks = emulate_kernel_memory(2 * sizeof(*tasks));
	put_task(&tasks[0], parent);
	put_task(&tasks[1], child);
	on_fork(&tasks[0].task, &tasks[1].task);
}

void emulate_free(const struct emulated_task *task)
{
	struct all_task *freed = emulate_kernel_memory(sizeof(*freed));
	put_task(freed, task);
	freed->task.thread_pid = NULL; /* detached before it is freed */
	on_free(&freed->task);
}

void emulate_exit(const struct emulated_task *task)
{
	struct all_task *ended = emulate_kernel_memory(sizeof(*ended));
	put_task(ended, task);
	on_exit(&ended->task);
}

void emulate_exec(const struct event_variable *wanted, size_t count, uint64_t begin, uint64_t end)
{
	put_process();
	memcpy(writable(variables, sizeof(variables)), wanted, count * sizeof(*wanted));
	process.mm->now.env_start = begin;
	process.mm->now.env_end = end;
	on_exec(NULL);
}

void emulate_pid_namespace(void)
{
	put_process();
	find_pid_namespace(NULL);
}

void emulate_timers_of_tasks(void)
{
	targets_have_timers = true;
}

uint64_t emulated_processes_forked(void)
{
	return processes_forked;
}

uint64_t emulated_threads_forked(void)
{
	return threads_forked;
}

void emulate_thread_context(const struct event_thread_context *context)
{
	uint32_t pid = emulated.pid;
	has_thread_contexts = 1;
	bpf_map_update_elem(&thread_contexts, &pid, context, BPF_ANY);
}

void emulate_target(uint32_t id, uint64_t start_ns)
{
	bpf_map_update_elem(&targets, &id, &start_ns, BPF_ANY);
}

/* A group below others, which have the first numbers of `ids`. */
static struct cgroup *make_cgroup(const uint64_t *ids, size_t count)
{
	struct all_cgroup *group = emulate_kernel_memory(sizeof(*group));
	struct kernfs_node *node = emulate_kernel_memory(sizeof(*node));
	struct cgroup **ancestors = group->now.ancestors;
	node->id = ids[count - 1];
	group->now.level = (int)count - 1;
	group->now.kn = node;
	for (size_t i = 0; i < count; i++) {
		ancestors[i] = i + 1 == count ? &group->now : make_cgroup(ids, i + 1);
		*(&group->at_5_10.ancestor_ids[0] + i) = ids[i];
	}
	return &group->now;
}

void emulate_cgroup(enum event_cgroup_hierarchy hierarchy, const uint64_t *ids, size_t count)
{
	struct task_struct *task = &process.task->task;
	struct all_css_set *set = (struct all_css_set *)task->cgroups;
	if (!set)
		set = emulate_kernel_memory(sizeof(*set));
	task->cgroups = &set->now;
	if (hierarchy == EVENT_CGROUP_UNIFIED)
		set->now.dfl_cgrp = make_cgroup(ids, count);
	else
		set->memory.cgroup = make_cgroup(ids, count);
	set->now.subsys[memory_cgrp_id___ours] = &set->memory;
}

void emulate_target_cgroup(enum event_cgroup_hierarchy hierarchy, uint64_t id)
{
	struct event_cgroup key = {.id = id, .hierarchy = hierarchy};
	uint32_t is_there = 1;
	bpf_map_update_elem(&target_cgroups, &key, &is_there, BPF_ANY);
}

void emulate_cgroup_levels(uint32_t first, uint32_t last)
{
	first_cgroup_level = first;
	last_cgroup_level = last;
}

bool emulated_is_target(uint32_t id)
{
	return bpf_map_lookup_elem(&targets, &id) != NULL;
}

/* ---- the recorder's side ---- */

const void *emulated_files_map(void)
{
	return &files;
}

const void *emulated_rules_map(void)
{
	return &rules;
}

const void *emulated_runtime_rows_map(void)
{
	return &runtime_rows;
}

const void *emulated_known_runtimes_map(void)
{
	return &known_runtimes;
}

const void *emulated_shards_map(void)
{
	return &shards;
}

/*
 * The sampler with its programs in the kernel, on this process and its children; where these are
 * not permitted it is skipped. Nothing here waits for a time: only for what must happen.
 */
#include "record/sampler.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/map.h"
#include "record/cgroup_filter.h"
#include "record/runtime/runtime.h"
#include "tests/unit/unit.h"

enum {
	RING_BYTES = 1 << 20,
	NO_PID = 1 << 23, /* and above: the kernel numbers tasks below 1 << 22 */
	MAX_TURNS = 2000, /* of 10 ms */
};

/* ---- a sampler of this thread ---- */

static struct sources sources;
static struct sampler *sampler;

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static struct sampler_options options_by(enum event_filter filter)
{
	return (struct sampler_options){
		.sources = &sources,
		.filter = filter,
		.ring_bytes = RING_BYTES,
		.call_graph = EVENT_CALL_GRAPH_FP,
		.snapshot_bytes = 4096,
	};
}

/* Skips the test where the kernel does not allow sampling. */
static void create(const struct sampler_options *options)
{
	static const struct session_options ticks = {
		.target = SESSION_THREADS, .event = SESSION_EVENT_CPU_CLOCK, .frequency_hz = 997};
	struct err *err = sources_probe(&sources, event_sources, EVENT_SOURCES, &ticks);
	if (!err)
		err = sampler_create(options, &sampler);
	if (!err)
		return;
	if (geteuid() || err_code(err) == ERR_PERMISSION || err_code(err) == ERR_UNSUPPORTED)
		unit_skip(err_message(err));
	unit_fail(__FILE__, __LINE__, "%s", err_message(err));
	exit(1);
}

/* Of this thread alone, by a timer of its own. */
static void create_of_this_thread(size_t ring_bytes)
{
	uint32_t tid = own_tid();
	struct sampler_options options = options_by(EVENT_FILTER_THREAD);
	options.tasks = (struct target_tasks){.ids = &tid, .nr_ids = 1, .are_threads = true};
	options.ring_bytes = ring_bytes;
	create(&options);
	CHECK_OK(sampler_add_target(sampler, tid));
}

static void start(void)
{
	CHECK_OK(sampler_start(sampler, clock_now_ns(), 0));
}

static void stop(void)
{
	sampler_stop(sampler, clock_now_ns());
}

/* About ten ticks' worth of work, however long that takes; most of them see one of few stacks. */
static void work(void)
{
	uint64_t until_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + 10 * NS_PER_MS;
	while (clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		for (volatile unsigned i = 0; i < 200000; i++)
			;
}

/* ---- what it sends ---- */

struct taken {
	uint64_t samples, stacks;
	uint64_t unannounced;  /* samples whose stack had not been sent before them */
	uint64_t sent_again;   /* stacks that the kernel's side had no reason to forget */
	uint64_t of_old_stack; /* samples with one of `old` */
	uint32_t pid;          /* of the last sample */
	struct map known;      /* stacks by their hashes, of both kinds */
	const struct map *old; /* or NULL */
};

/* One stack takes another's slot in the set of those that were sent, see bpf/stack.bpf.h. */
static void take_stack(struct taken *taken, const struct event_stack *stack)
{
	static uint64_t slots[EVENT_SEEN_SLOTS];
	uint64_t *slot = &slots[stack->hash >> 32 & (EVENT_SEEN_SLOTS - 1)];
	map_put(&taken->known, stack->hash, NULL);
	taken->stacks++;
	taken->sent_again += *slot == stack->hash;
	*slot = stack->hash;
}

static void look_up(struct taken *taken, uint64_t hash)
{
	if (!hash)
		return;
	taken->unannounced += !map_get(&taken->known, hash);
	taken->of_old_stack += taken->old && map_get(taken->old, hash);
}

static void take(void *context, const void *record, size_t len)
{
	struct taken *taken = context;
	const struct event_sample *sample = record;
	if (sample->type == EVENT_STACK)
		take_stack(taken, record);
	if (sample->type != EVENT_SAMPLE)
		return;
	CHECK_INT(len, sizeof(*sample));
	CHECK_INT(sample->source, EVENT_SOURCE_TIMER);
	taken->samples++;
	taken->pid = sample->pid;
	look_up(taken, sample->user_hash);
	look_up(taken, sample->kernel_hash);
}

static void drain_all(struct taken *taken)
{
	while (!sampler_drain(sampler, take, taken))
		;
}

static void work_until_samples(struct taken *taken, uint64_t nr_samples)
{
	for (int turn = 0; taken->samples < nr_samples && turn < MAX_TURNS; turn++) {
		work();
		drain_all(taken);
	}
	CHECK(taken->samples >= nr_samples);
}

/* Of the ticks on all CPUs. */
static struct event_counters counted(void)
{
	struct event_counters sum = {0};
	struct source_cpus cpus = {0};
	CHECK_OK(event_sources[EVENT_SOURCE_TIMER]->read_counters(&sources.data[0], true, &cpus));
	vec_each(&cpus, cpu)
		for (int i = 0; i < EVENT_COUNTERS; i++)
			sum.of[i].count += cpu->counted.of[i].count;
	vec_deinit(&cpus);
	return sum;
}

static void work_until_counted(enum event_counter counter)
{
	int turn = 0;
	for (; !counted().of[counter].count && turn < MAX_TURNS; turn++)
		work();
	CHECK(turn < MAX_TURNS);
}

/* When no tick is under way. */
static void check_balance(const struct event_counters *counters)
{
	const struct event_tally *of = counters->of;
	CHECK_INT(of[EVENT_COUNTER_EVENTS].count,
		of[EVENT_COUNTER_SAMPLES].count + of[EVENT_COUNTER_IDLE].count +
			of[EVENT_COUNTER_FILTERED].count + of[EVENT_COUNTER_LOST_RING].count +
			of[EVENT_COUNTER_LOST_BUSY].count);
}

static void let_go(struct taken *taken)
{
	map_deinit(&taken->known);
	sampler_destroy(sampler);
	sources_deinit(&sources);
}

/* ---- starting and stopping ---- */

TEST(sampler_samples_between_start_and_stop_alone)
{
	struct taken taken = {0};
	create_of_this_thread(RING_BYTES);
	work();
	drain_all(&taken);
	CHECK_INT(taken.samples, 0);
	CHECK_INT(counted().of[EVENT_COUNTER_EVENTS].count, 0);

	for (int round = 0; round < 2; round++) {
		uint64_t before = taken.samples;
		start();
		work_until_samples(&taken, before + 5);
		stop();
		drain_all(&taken);
		uint64_t at_stop = taken.samples;
		struct event_counters counters = counted();
		check_balance(&counters);
		CHECK_INT(counters.of[EVENT_COUNTER_SAMPLES].count, at_stop);
		work();
		drain_all(&taken);
		CHECK_INT(taken.samples, at_stop);
		CHECK_INT(counted().of[EVENT_COUNTER_EVENTS].count,
			counters.of[EVENT_COUNTER_EVENTS].count);
	}
	CHECK_INT(taken.pid, getpid());
	CHECK_INT(taken.unannounced, 0);
	let_go(&taken);
}

/* The recorder may be late to stop it. */
TEST(sampler_takes_no_sample_behind_the_end)
{
	struct taken taken = {0};
	create_of_this_thread(RING_BYTES);
	uint64_t now_ns = clock_now_ns();
	CHECK_OK(sampler_start(sampler, now_ns, now_ns));
	work_until_counted(EVENT_COUNTER_LATE);
	stop();
	drain_all(&taken);
	CHECK_INT(taken.samples + taken.stacks, 0);
	CHECK_INT(counted().of[EVENT_COUNTER_EVENTS].count, 0);
	let_go(&taken);
}

TEST(sampler_without_script_probes_has_no_cost_of_them)
{
	struct taken taken = {0};
	struct shadow_cost cost;
	create_of_this_thread(RING_BYTES);
	CHECK(!sampler_read_shadow_cost(sampler, &cost));
	CHECK_INT(sampler_files_full(sampler), 0);
	CHECK_INT(sampler_targets_full(sampler), 0);
	let_go(&taken);
}

/* The machine's own has a number that is fixed: PROC_PID_INIT_INO of the kernel. */
TEST(sampler_knows_whether_its_pids_are_the_machines)
{
	struct taken taken = {0};
	char text[64] = "";
	create_of_this_thread(RING_BYTES);
	CHECK(readlink("/proc/self/ns/pid", text, sizeof(text) - 1) > 0);
	CHECK_INT(sampler_is_in_pid_namespace(sampler), strcmp(text, "pid:[4026531836]") != 0);
	let_go(&taken);
}

/* ---- the ring ---- */

/* Samples that find no room are counted; what has room is sent whole. */
TEST(sampler_counts_what_a_full_ring_loses)
{
	struct taken taken = {0};
	create_of_this_thread((size_t)sysconf(_SC_PAGESIZE));
	struct pollfd ring = {.fd = sampler_fd(sampler), .events = POLLIN};
	CHECK_INT(poll(&ring, 1, 0), 0);
	start();
	work_until_counted(EVENT_COUNTER_LOST_RING);
	stop();
	CHECK_INT(poll(&ring, 1, 0), 1);
	drain_all(&taken);
	struct event_counters counters = counted();
	check_balance(&counters);
	CHECK(taken.samples > 0);
	CHECK_INT(taken.samples, counters.of[EVENT_COUNTER_SAMPLES].count);
	CHECK_INT(taken.unannounced, 0);
	let_go(&taken);
}

/* Keeps the ring full while it is emptied, for a while. */
static void take_and_work(void *context, const void *record, size_t len)
{
	struct taken *taken = context;
	take(taken, record, len);
	if (taken->samples < 1000)
		work();
}

TEST(sampler_drains_no_more_than_the_ring_holds)
{
	struct taken taken = {0};
	size_t ring_bytes = (size_t)sysconf(_SC_PAGESIZE);
	create_of_this_thread(ring_bytes);
	start();
	work_until_counted(EVENT_COUNTER_SAMPLES);
	CHECK(!sampler_drain(sampler, take_and_work, &taken));
	CHECK(taken.samples * sizeof(struct event_sample) <= ring_bytes);
	stop();
	drain_all(&taken);
	CHECK_INT(taken.samples, counted().of[EVENT_COUNTER_SAMPLES].count);
	let_go(&taken);
}

/* ---- stacks ---- */

/*
 * Samples twice, from one call, so that both times have the same stacks. `forget`, or nothing, is
 * called in between, while no sample is under way.
 */
static void sample_twice(void (*forget)(struct sampler *sampler), struct taken *taken)
{
	for (volatile int round = 0; round < 2; round++) {
		start();
		work_until_samples(&taken[round], 50);
		stop();
		drain_all(&taken[round]);
		CHECK_INT(taken[round].sent_again, 0);
		if (!round && forget)
			forget(sampler);
	}
}

/* From then on no sample names one that was sent before, and each is sent once more. */
static void check_forgetting(void (*forget)(struct sampler *sampler))
{
	struct taken taken[2] = {{0}, {.old = &taken[0].known}};
	create_of_this_thread(RING_BYTES);
	sample_twice(forget, taken);
	CHECK(taken[0].stacks > 0 && taken[1].stacks > 0);
	CHECK_INT(taken[0].unannounced + taken[1].unannounced, 0);
	CHECK_INT(taken[1].of_old_stack, 0);
	map_deinit(&taken[1].known);
	let_go(&taken[0]);
}

TEST(stacks_that_are_forgotten_are_sent_again)
{
	check_forgetting(sampler_forget_stacks);
}

TEST(stacks_are_forgotten_with_the_names_in_them)
{
	check_forgetting(sampler_forget_codes);
}

/* Stopping and starting alone make no stack new. */
TEST(stacks_are_sent_once)
{
	struct taken taken[2] = {{0}, {.old = &taken[0].known}};
	create_of_this_thread(RING_BYTES);
	sample_twice(NULL, taken);
	CHECK_INT(taken[0].unannounced, 0);
	CHECK(taken[1].unannounced > 0); /* they were sent the first time */
	CHECK(taken[1].of_old_stack > 0);
	map_deinit(&taken[1].known);
	let_go(&taken[0]);
}

/* ---- targets ---- */

static void create_of_processes(bool follow_children)
{
	uint32_t pid = (uint32_t)getpid();
	struct sampler_options options = options_by(EVENT_FILTER_PROCESS);
	options.tasks = (struct target_tasks){.ids = &pid,
		.nr_ids = 1,
		.inherit = follow_children ? TARGET_INHERIT_ALL : TARGET_INHERIT_THREADS};
	options.follow_children = follow_children;
	create(&options);
	CHECK_OK(sampler_add_target(sampler, pid));
}

static pid_t fork_spinning(void)
{
	pid_t child = fork();
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (volatile unsigned spin = 0;; spin++)
		;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

TEST(sampler_follows_children)
{
	struct taken taken = {0};
	create_of_processes(true);
	start();
	pid_t child = fork_spinning();
	struct pollfd ring = {.fd = sampler_fd(sampler), .events = POLLIN};
	for (int turn = 0; taken.pid != (uint32_t)child && turn < MAX_TURNS; turn++) {
		poll(&ring, 1, 10);
		drain_all(&taken);
	}
	stop();
	end_child(child);
	CHECK_INT(taken.pid, child);
	CHECK_INT(taken.unannounced, 0);
	CHECK_INT(sampler_targets_full(sampler), 0);
	let_go(&taken);
}

/* The child is there, and works, while its parent is sampled. */
TEST(sampler_follows_no_children_unasked)
{
	struct taken taken = {0};
	create_of_processes(false);
	start();
	pid_t child = fork_spinning();
	for (int turn = 0; taken.samples < 20 && turn < MAX_TURNS; turn++) {
		work();
		drain_all(&taken);
		CHECK(!taken.samples || taken.pid == (uint32_t)getpid());
	}
	stop();
	end_child(child);
	CHECK(taken.samples >= 20);
	let_go(&taken);
}

static void fill_targets(unsigned taken)
{
	for (uint32_t i = taken; i < EVENT_MAX_TARGETS; i++) {
		struct err *err = sampler_add_target(sampler, NO_PID + i);
		if (!err)
			continue;
		unit_fail(__FILE__, __LINE__, "target %u: %s", i, err_message(err));
		err_destroy(err);
		return;
	}
}

TEST(target_map_is_full_at_its_size)
{
	struct taken taken = {0};
	create_of_processes(true);
	fill_targets(1);
	struct err *err = sampler_add_target(sampler, NO_PID);
	CHECK(err && strstr(err_message(err), "cannot add process 8388608 to the targets"));
	err_destroy(err);
	CHECK_OK(sampler_add_target(sampler, (uint32_t)getpid())); /* it is one already */
	let_go(&taken);
}

/* What the file of labels has no room for is counted; what stays in it stays a target meanwhile. */
TEST(labelled_processes_without_room_are_counted)
{
	struct taken taken = {0};
	struct label_target labelled[] = {{.pid = (uint32_t)getpid()}, {.pid = NO_PID - 1}};
	struct label_file file = {.nr_reads = 1};
	struct cgroup_filter filter = {0};
	create_of_processes(true);
	vec_push(&file.targets, labelled[0]);
	CHECK_OK(cgroup_filter_open(
		&filter, &(struct session_options){.target = SESSION_LABELLED}, &file));
	CHECK_OK(cgroup_filter_begin(&filter, sampler));
	fill_targets(1);
	/* Another one comes to stand before it: it would have its place if that were let go. */
	file.targets.data[0] = labelled[1];
	vec_push(&file.targets, labelled[0]);
	file.nr_reads++;
	CHECK_OK(cgroup_filter_renew(&filter, 1));
	CHECK_INT(filter.nr_left_out, 1);
	CHECK_OK(sampler_add_target(sampler, (uint32_t)getpid())); /* it is one still */
	/* It goes, and the other one has its place. */
	file.targets.len = 1;
	file.nr_reads++;
	CHECK_OK(cgroup_filter_renew(&filter, 2));
	CHECK_INT(filter.nr_left_out, 1); /* the most at once */
	CHECK_OK(sampler_add_target(sampler, NO_PID - 1));
	cgroup_filter_deinit(&filter);
	vec_deinit(&file.targets);
	let_go(&taken);
}

/* Each once; their parent goes on. */
TEST(children_without_room_in_the_target_map_are_counted)
{
	struct taken taken = {0};
	create_of_processes(true);
	fill_targets(1);
	CHECK_INT(sampler_targets_full(sampler), 0);
	start();
	pid_t child = fork_spinning();
	CHECK_INT(sampler_targets_full(sampler), 1);
	work_until_samples(&taken, 5);
	stop();
	end_child(child);
	CHECK_INT(sampler_targets_full(sampler), 1);
	let_go(&taken);
}

/* ---- frames of interpreters ---- */

TEST(runtimes_are_added_while_it_runs)
{
	struct taken taken = {0};
	create_of_this_thread(RING_BYTES);
	start();
	work_until_samples(&taken, 5);
	CHECK_OK(sampler_add_runtimes(sampler, 0));
	CHECK_OK(sampler_add_runtimes(sampler, runtimes_all()));
	drain_all(&taken);
	work_until_samples(&taken, taken.samples + 5);
	CHECK_OK(sampler_add_runtimes(sampler, runtimes_all())); /* they are there */
	work_until_samples(&taken, taken.samples + 5);
	stop();
	drain_all(&taken);
	struct event_counters counters = counted();
	check_balance(&counters);
	CHECK_INT(counters.of[EVENT_COUNTER_SAMPLES].count, taken.samples);
	CHECK_INT(taken.unannounced, 0);
	let_go(&taken);
}

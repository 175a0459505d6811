/* Waits of tasks: how long they are, which are sampled and for how much, and that each is counted.
 */
#include "record/session_options.h"
#include "record/unwind/table_store.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000,
	CODE_BYTES = 0x10000,
	STACK = 0x7000000,
	SELF = 2001, /* threads */
	OTHER = 2002,
	PERIOD_NS = 1000,
	SLEEPS = 1, /* TASK_INTERRUPTIBLE */
	DIES = 0x80,
};

static struct table_store *rules; /* has the one for frame pointers */
static uint64_t stack_words[] = {0, 0};

static void boot(uint32_t waits)
{
	const struct emulated_vma vma = {
		.start = CODE, .end = CODE + CODE_BYTES, .is_executable = true};
	emulate_boot(EMULATED_6_13);
	CHECK_OK(emulate_table_store(1, &rules));
	emulate_config()->call_graph = EVENT_CALL_GRAPH_FP;
	emulate_config()->nr_lanes = emulate_config()->nr_places = 2;
	emulate_mappings(&vma, 1, 0);
	emulate_memory(STACK, stack_words, sizeof(stack_words));
	emulated.tid = SELF;
	emulated.time_ns = 100000;
	emulate_takes_waits(waits, PERIOD_NS);
}

static void come_back(void)
{
	struct unwind_registers regs = {.ip = CODE + 1};
	regs.reg[UNWIND_SP] = regs.reg[UNWIND_FP] = STACK;
	emulate_wait_end(&regs);
}

/* A sleep of so many ns, and then so many in the run queue. */
static void sleep_and_queue(uint64_t sleep_ns, uint64_t queue_ns)
{
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += sleep_ns;
	emulate_waking(SELF);
	emulated.time_ns += queue_ns;
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
}

static void check_tally(enum event_counter counter, uint64_t count, uint64_t sum)
{
	struct event_tally tally = emulated_wait_tally(counter);
	CHECK_INT(tally.count, count);
	CHECK_INT(tally.sum, sum);
}

static void check_sample(size_t n, enum event_wait event, uint64_t value, uint64_t measured)
{
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, n);
	CHECK(sample != NULL);
	CHECK_INT(sample->source, EVENT_SOURCE_WAIT);
	CHECK_INT(sample->event, event);
	CHECK_INT(sample->value, value);
	CHECK_INT(sample->measured, measured);
	CHECK_INT(sample->tid, SELF);
	CHECK(sample->user_hash != 0);
}

TEST(a_long_wait_stands_for_itself)
{
	boot(SESSION_WAIT_OFF_CPU);
	sleep_and_queue(5000, 70);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	check_sample(0, EVENT_WAIT_OFF_CPU, 5000, 5000);
	check_tally(EVENT_COUNTER_EVENTS, 1, 5000);
	check_tally(EVENT_COUNTER_SAMPLES, 1, 5000);
	check_tally(EVENT_COUNTER_BELOW, 0, 0);
}

/* Both have the stack that was sent once. */
TEST(sleep_and_run_queue_are_two_waits)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	sleep_and_queue(5000, 2000);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 2);
	CHECK_INT(emulated_count(EVENT_STACK), 1);
	check_sample(0, EVENT_WAIT_OFF_CPU, 5000, 5000);
	check_sample(1, EVENT_WAIT_RUN_QUEUE, 2000, 2000);
	const struct event_sample *first = emulated_record(EVENT_SAMPLE, 0),
				  *second = emulated_record(EVENT_SAMPLE, 1);
	CHECK(first->is_followed);
	CHECK(!second->is_followed);
	CHECK_INT(first->user_hash, second->user_hash);
	check_tally(EVENT_COUNTER_EVENTS, 2, 7000);
	check_tally(EVENT_COUNTER_SAMPLES, 2, 7000);
}

TEST(a_preempted_task_waits_in_the_run_queue)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	emulate_switch(SELF, OTHER, true, SLEEPS); /* preempted on its way to sleep */
	emulated.time_ns += 3000;
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	check_sample(0, EVENT_WAIT_RUN_QUEUE, 3000, 3000);
}

/* The point is at 0 of the first period, and at what the kernel's random number says of the next.
 */
TEST(a_short_wait_that_passes_the_point_stands_for_the_period)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulated.random = 450;
	for (int i = 0; i < 20; i++)
		sleep_and_queue(100, 1);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 2);
	check_sample(0, EVENT_WAIT_OFF_CPU, PERIOD_NS, 100);
	check_sample(1, EVENT_WAIT_OFF_CPU, PERIOD_NS, 100);
	check_tally(EVENT_COUNTER_EVENTS, 20, 2000);
	check_tally(EVENT_COUNTER_SAMPLES, 2, 200);
	check_tally(EVENT_COUNTER_BELOW, 18, 1800);
}

/* The point is at 0 of both; the wait that begins the second passes it, too. */
TEST(a_longer_period_holds_from_the_next_one_on)
{
	boot(SESSION_WAIT_OFF_CPU);
	for (int i = 0; i < 5; i++)
		sleep_and_queue(100, 1);
	emulate_takes_waits(SESSION_WAIT_OFF_CPU, 4 * PERIOD_NS);
	for (int i = 0; i < 5; i++)
		sleep_and_queue(100, 1);
	sleep_and_queue(2 * PERIOD_NS, 1);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 2);
	check_sample(0, EVENT_WAIT_OFF_CPU, PERIOD_NS, 100);
	check_sample(1, EVENT_WAIT_OFF_CPU, 4 * PERIOD_NS, 2 * PERIOD_NS);
}

/* What slept when recording began has waited since then. */
TEST(a_wait_that_began_before_the_recording)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	emulated.time_ns += 4000;
	emulate_waking(SELF);
	emulated.time_ns += 2000;
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
	check_sample(0, EVENT_WAIT_OFF_CPU, 4000, 4000);
	check_sample(1, EVENT_WAIT_RUN_QUEUE, 2000, 2000);
}

/* It has no stack yet, and does not come back by way of schedule(): counted, not sampled. */
TEST(a_new_task_is_below)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	emulate_new_task(SELF);
	emulated.time_ns += 9000;
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
	CHECK_INT(emulated_count(EVENT_SAMPLE), 0);
	check_tally(EVENT_COUNTER_EVENTS, 1, 9000);
	check_tally(EVENT_COUNTER_BELOW, 1, 9000);
}

TEST(the_end_of_a_task_is_no_wait)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	sleep_and_queue(5000, 0);
	emulate_switch(SELF, OTHER, false, DIES);
	emulated.time_ns += 9000;
	check_tally(EVENT_COUNTER_EVENTS, 1, 5000);
}

TEST(waits_count_while_they_are_to)
{
	boot(0);
	sleep_and_queue(5000, 5000);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 0);
	check_tally(EVENT_COUNTER_EVENTS, 0, 0);
}

TEST(a_wait_that_finds_no_room_in_the_ring_is_lost)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	emulated.ring_bytes = 0;
	sleep_and_queue(5000, 2000);
	check_tally(EVENT_COUNTER_EVENTS, 2, 7000);
	check_tally(EVENT_COUNTER_LOST_RING, 2, 7000);
	check_tally(EVENT_COUNTER_SAMPLES, 0, 0);
}

/* ---- where the task that comes is followed by an interrupt ---- */

TEST(an_interrupt_is_raised_for_a_selected_wait)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulate_wait_interrupts();
	emulated.random = 50; /* where in the period a short one is selected */
	sleep_and_queue(100, 1);
	CHECK_INT(emulated.interrupts, 1);
	sleep_and_queue(100, 1);
	CHECK_INT(emulated.interrupts, 1);
	sleep_and_queue(5000, 1);
	CHECK_INT(emulated.interrupts, 2);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 2);
}

TEST(a_tracepoint_needs_no_interrupt)
{
	boot(SESSION_WAIT_OFF_CPU);
	sleep_and_queue(5000, 1);
	CHECK_INT(emulated.interrupts, 0);
}

/* It came too late, or not at all: the next task is none of its stacks. */
TEST(a_wait_that_is_not_followed_is_lost)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	emulate_wait_interrupts();
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += 5000;
	emulate_waking(SELF);
	emulated.time_ns += 2000;
	emulate_switch(OTHER, SELF, true, 0);
	check_tally(EVENT_COUNTER_EVENTS, 0, 0);
	emulated.time_ns += 300;
	emulate_switch(SELF, OTHER, true, 0);
	come_back();
	CHECK_INT(emulated_count(EVENT_SAMPLE), 0);
	check_tally(EVENT_COUNTER_LOST_BUSY, 2, 7000);
	check_tally(EVENT_COUNTER_EVENTS, 2, 7000);
}

/* ---- states of a task ---- */

/* Woken by another CPU since it chose to go: it is in the run queue already. */
TEST(a_task_that_was_woken_before_it_was_gone)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	emulate_switch(SELF, OTHER, false, 0x200); /* TASK_WAKING */
	emulated.time_ns += 3000;
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	check_sample(0, EVENT_WAIT_RUN_QUEUE, 3000, 3000);
}

TEST(the_state_of_a_task_in_an_older_kernel)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulated.release = EMULATED_5_10;
	sleep_and_queue(5000, 1);
	check_tally(EVENT_COUNTER_EVENTS, 1, 5000);
}

TEST(a_frozen_task_is_blocked)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	emulate_switch(SELF, OTHER, false, 0x8000); /* TASK_FROZEN */
	emulated.time_ns += 3000;
	emulate_waking(SELF);
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	check_sample(0, EVENT_WAIT_OFF_CPU, 3000, 3000);
}

/* ---- when recording ends ---- */

static void end_asleep(void)
{
	struct unwind_registers regs = {.ip = CODE + 1};
	regs.reg[UNWIND_SP] = regs.reg[UNWIND_FP] = STACK;
	emulate_sleeper(SELF, &regs);
}

/* Its stack is a snapshot that the recorder unwinds. */
TEST(a_sleeper_has_waited_up_to_the_end)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += 7000;
	end_asleep();
	check_sample(0, EVENT_WAIT_OFF_CPU, 7000, 7000);
	CHECK_INT(emulated_count(EVENT_SNAPSHOT), 1);
	const struct event_snapshot *snapshot = emulated_record(EVENT_SNAPSHOT, 0);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK_INT(snapshot->hash, sample->user_hash);
	CHECK_INT(snapshot->registers.ip, CODE + 1);
	CHECK_INT(emulated.written_bytes, 1);
	check_tally(EVENT_COUNTER_EVENTS, 1, 7000);
	check_tally(EVENT_COUNTER_SAMPLES, 1, 7000);
}

/* It ran meanwhile, and may do so still: its stack is another one. */
TEST(a_sleeper_that_has_gone_on_has_no_stack)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += 7000;
	emulate_end_of_waits();
	emulated.time_ns += 50;
	emulate_waking(SELF);
	emulate_switch(OTHER, SELF, true, 0);
	emulated.time_ns += 50;
	emulate_switch(SELF, OTHER, true, 0);
	end_asleep();
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK_INT(sample->event, EVENT_WAIT_OFF_CPU);
	CHECK_INT(sample->value, 7000);
	CHECK(!sample->user_hash && !sample->kernel_hash);
	check_tally(EVENT_COUNTER_EVENTS, 1, 7000);
	check_tally(EVENT_COUNTER_SAMPLES, 1, 7000);
}

TEST(a_task_that_ran_at_the_end_is_no_sleeper)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	sleep_and_queue(5000, 0);
	emulated.time_ns += 7000;
	emulate_end_of_waits();
	emulated.time_ns += 50;
	emulate_switch(SELF, OTHER, false, SLEEPS);
	end_asleep();
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	check_tally(EVENT_COUNTER_EVENTS, 1, 5000);
}

TEST(a_sleeper_that_was_never_seen_has_waited_all_the_time)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulated.time_ns += 7000;
	end_asleep();
	check_sample(0, EVENT_WAIT_OFF_CPU, 7000, 7000);
}

static void divide_and_take(void)
{
	struct unwind_registers regs = {.ip = CODE + 1};
	regs.reg[UNWIND_SP] = regs.reg[UNWIND_FP] = STACK;
	emulate_divided_sleeper(SELF, &regs);
}

/* What there is of it is in the file that ends, the rest in the next one. */
TEST(a_wait_is_divided_where_a_file_ends)
{
	boot(SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += 5000;
	emulate_division(SELF);
	emulated.time_ns += 40;
	divide_and_take();
	check_sample(0, EVENT_WAIT_OFF_CPU, 5000, 5000);
	emulated.time_ns += 2960;
	emulate_division(SELF);
	divide_and_take();
	check_sample(1, EVENT_WAIT_OFF_CPU, 3000, 3000);
	emulated.time_ns += 2000;
	emulate_waking(SELF);
	emulated.time_ns += 1500;
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
	check_sample(2, EVENT_WAIT_OFF_CPU, 2000, 2000);
	check_sample(3, EVENT_WAIT_RUN_QUEUE, 1500, 1500);
	check_tally(EVENT_COUNTER_EVENTS, 4, 11500);
	check_tally(EVENT_COUNTER_SAMPLES, 4, 11500);
}

/* It is over before its stack was taken: what was before is lost, and no more. */
TEST(a_marked_wait_that_ends_is_counted_once)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += 5000;
	emulate_division(SELF);
	emulated.time_ns += 2000;
	emulate_waking(SELF);
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
	check_sample(0, EVENT_WAIT_OFF_CPU, 2000, 2000);
	divide_and_take();
	divide_and_take();
	check_tally(EVENT_COUNTER_EVENTS, 2, 7000);
	check_tally(EVENT_COUNTER_SAMPLES, 1, 2000);
	check_tally(EVENT_COUNTER_LOST_BUSY, 1, 5000);
}

/* ... likewise, and the task is gone. */
TEST(a_marked_wait_of_a_task_that_dies_is_counted_once)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += 5000;
	emulate_division(SELF);
	emulated.time_ns += 2000;
	emulate_waking(SELF);
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
	emulate_switch(SELF, OTHER, false, DIES);
	divide_and_take();
	check_tally(EVENT_COUNTER_EVENTS, 2, 7000);
	check_tally(EVENT_COUNTER_LOST_BUSY, 1, 5000);
}

TEST(a_life_is_running_and_waiting)
{
	boot(SESSION_WAIT_OFF_CPU);
	sleep_and_queue(5000, 70); /* it is followed from the beginning of this on */
	emulated.time_ns += 900;
	sleep_and_queue(3000, 30);
	emulated.time_ns += 1000;
	emulate_thread_end(SELF);
	CHECK_INT(emulated_count(EVENT_THREAD_TIMES), 1);
	const struct event_thread_times *times = emulated_record(EVENT_THREAD_TIMES, 0);
	CHECK_INT(times->tid, SELF);
	CHECK(times->has_ended);
	CHECK_INT(times->times.life_ns, 10000);
	CHECK_INT(times->times.blocked_ns, 8000);
	CHECK_INT(times->times.queued_ns, 100);
}

/* A wait that goes on counts up to now. */
TEST(a_life_that_goes_on_is_told_where_a_file_ends)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += 4000;
	emulate_division(SELF);
	divide_and_take();
	const struct event_thread_times *times = emulated_record(EVENT_THREAD_TIMES, 0);
	CHECK(times && !times->has_ended);
	CHECK_INT(times->times.life_ns, 4000);
	CHECK_INT(times->times.blocked_ns, 4000);
}

TEST(a_task_that_has_just_come_is_no_sleeper)
{
	boot(SESSION_WAIT_OFF_CPU);
	sleep_and_queue(5000, 0);
	emulated.time_ns += 7000;
	end_asleep();
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	check_tally(EVENT_COUNTER_EVENTS, 1, 5000);
}

TEST(a_short_wait_at_the_end_is_below)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += 700;
	end_asleep();
	CHECK_INT(emulated_count(EVENT_SAMPLE), 0);
	check_tally(EVENT_COUNTER_EVENTS, 1, 700);
	check_tally(EVENT_COUNTER_BELOW, 1, 700);
}

static void be_woken_by(uint32_t waker, uint64_t sleep_ns)
{
	struct unwind_registers regs = {.ip = CODE + 0x80};
	regs.reg[UNWIND_SP] = regs.reg[UNWIND_FP] = STACK;
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += sleep_ns;
	emulated.tid = waker;
	emulate_waking_by(SELF, &regs);
	emulate_waking_by(SELF, &regs); /* it runs already, or is about to */
	emulated.tid = SELF;
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
}

/* Its stack goes out ahead of the sample, which has its number. */
TEST(a_long_wait_names_its_waker)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulate_config()->wakers = true;
	be_woken_by(OTHER, 5000);
	CHECK_INT(emulated_count(EVENT_WAKER), 1);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	const struct event_sample *waker = emulated_record(EVENT_WAKER, 0),
				  *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK_INT(waker->tid, OTHER);
	CHECK(waker->user_hash && waker->user_hash != sample->user_hash);
	CHECK(waker->waker >= EVENT_WAKERS);
	CHECK_INT(sample->waker, waker->waker);
	check_sample(0, EVENT_WAIT_OFF_CPU, 5000, 5000);
	check_tally(EVENT_COUNTER_EVENTS, 1, 5000);
	check_tally(EVENT_COUNTER_SAMPLES, 1, 5000);
}

/* Which waits are samples is the same with wakers as without; those of the others are not taken. */
TEST(wakers_of_short_waits_are_those_of_samples)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulate_config()->wakers = true;
	emulated.random = 450;
	for (int i = 0; i < 25; i++)
		be_woken_by(OTHER, 100);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 3);
	CHECK_INT(emulated_count(EVENT_WAKER), 3);
	check_tally(EVENT_COUNTER_EVENTS, 25, 2500);
	check_tally(EVENT_COUNTER_BELOW, 22, 2200);
	check_tally(EVENT_COUNTER_SAMPLES, 3, 300);
}

TEST(an_idle_cpu_wakes_by_an_interrupt)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulate_config()->wakers = true;
	be_woken_by(0, 5000);
	CHECK_INT(emulated_count(EVENT_WAKER), 0);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK_INT(sample->waker, EVENT_WAKER_INTERRUPT);
}

/* An interrupt comes in the midst of another sample. */
TEST(a_waker_is_not_known_amid_another_sample)
{
	boot(SESSION_WAIT_OFF_CPU);
	emulate_config()->wakers = true;
	struct unwind_registers regs = {.ip = CODE + 0x80};
	emulate_switch(SELF, OTHER, false, SLEEPS);
	emulated.time_ns += 5000;
	emulated.tid = OTHER;
	emulate_busy_tick(true);
	emulate_waking_by(SELF, &regs);
	emulate_busy_tick(false);
	emulated.tid = SELF;
	emulate_switch(OTHER, SELF, true, 0);
	come_back();
	CHECK_INT(emulated_count(EVENT_WAKER), 0);
	CHECK_INT(((const struct event_sample *)emulated_record(EVENT_SAMPLE, 0))->waker,
		EVENT_WAKER_UNKNOWN);
	check_tally(EVENT_COUNTER_SAMPLES, 1, 5000);
}

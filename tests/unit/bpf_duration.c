/* Calls of functions and system calls: which beginning is whose end, and that each is counted. */
#include "record/unwind/table_store.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000,
	CODE_BYTES = 0x10000,
	FUNCTION = CODE + 0x100,
	CALLER = CODE + 0x205, /* behind its call */
	STACK = 0x7000000,
	DEPTH = 16, /* bytes of a frame */
	PERIOD_NS = 1000,
	CALL = EVENT_SOURCE_CALL + 1,
	SYSCALL = EVENT_SOURCE_SYSCALL,
};

static struct table_store *rules; /* has the one for frame pointers */
static uint64_t stack_words[32];

static void boot(uint32_t source)
{
	const struct emulated_vma vma = {
		.start = CODE, .end = CODE + CODE_BYTES, .is_executable = true};
	emulate_boot(EMULATED_6_13);
	CHECK_OK(emulate_table_store(1, &rules));
	emulate_config()->call_graph = EVENT_CALL_GRAPH_FP;
	emulate_config()->nr_lanes = emulate_config()->nr_places = EVENT_LANES;
	emulate_mappings(&vma, 1, 0);
	emulate_memory(STACK, stack_words, sizeof(stack_words));
	emulated.time_ns = 100000;
	emulated.cookie = 1;
	emulate_takes_durations(source, PERIOD_NS);
}

static struct unwind_registers registers(uint64_t ip, uint64_t sp)
{
	struct unwind_registers regs = {.ip = ip};
	regs.reg[UNWIND_SP] = sp;
	regs.reg[UNWIND_FP] = 0;
	return regs;
}

/* Where the call's return address stands is so many frames above the end of the stack. */
static void enter(int depth)
{
	struct unwind_registers regs = registers(FUNCTION, STACK + 128 - (uint64_t)depth * DEPTH);
	emulate_entry(&regs);
}

static void leave(int depth)
{
	uint64_t sp = STACK + 128 - (uint64_t)depth * DEPTH;
#ifdef __x86_64__
	sp += 8;
#endif
	struct unwind_registers regs = registers(CALLER, sp);
	emulated.cookie |= EVENT_PROBE_IS_RETURN;
	emulate_return(&regs);
	emulated.cookie &= ~(uint64_t)EVENT_PROBE_IS_RETURN;
}

static void check_tally(uint32_t source, enum event_counter counter, uint64_t count, uint64_t sum)
{
	struct event_tally tally = emulated_tally(source, counter);
	CHECK_INT(tally.count, count);
	CHECK_INT(tally.sum, sum);
}

TEST(a_call_is_measured_from_entry_to_return)
{
	boot(CALL);
	enter(0);
	emulated.time_ns += 5000;
	leave(0);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK_INT(sample->source, CALL);
	CHECK_INT(sample->value, 5000);
	CHECK_INT(sample->measured, 5000);
	const struct event_stack *stack = emulated_record(EVENT_STACK, 0);
	const unsigned long long *words = (const void *)(stack + 1);
	CHECK(stack->nr_frames >= 2);
	CHECK_INT(words[0], FUNCTION); /* which has returned */
	check_tally(CALL, EVENT_COUNTER_EVENTS, 1, 5000);
	check_tally(CALL, EVENT_COUNTER_SAMPLES, 1, 5000);
}

TEST(calls_within_calls_are_told_apart)
{
	boot(CALL);
	enter(0);
	emulated.time_ns += 1000;
	enter(1);
	emulated.time_ns += 2000;
	leave(1);
	emulated.time_ns += 3000;
	leave(0);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 2);
	CHECK_INT(((const struct event_sample *)emulated_record(EVENT_SAMPLE, 0))->measured, 2000);
	CHECK_INT(((const struct event_sample *)emulated_record(EVENT_SAMPLE, 1))->measured, 6000);
	check_tally(CALL, EVENT_COUNTER_EVENTS, 2, 8000);
}

/* The inner one was left by longjmp(), and the next call has its place. */
TEST(a_call_that_is_left_is_none)
{
	boot(CALL);
	enter(0);
	enter(1);
	emulated.time_ns += 50000;
	enter(1);
	emulated.time_ns += 1500;
	leave(1);
	leave(0);
	CHECK_INT(((const struct event_sample *)emulated_record(EVENT_SAMPLE, 0))->measured, 1500);
	CHECK_INT(((const struct event_sample *)emulated_record(EVENT_SAMPLE, 1))->measured, 51500);
	check_tally(CALL, EVENT_COUNTER_EVENTS, 2, 53000);
}

/* It goes on in another thread, as a coroutine does. */
TEST(a_call_may_end_in_another_thread)
{
	boot(CALL);
	enter(0);
	emulated.time_ns += 5000;
	emulated.tid++;
	leave(0);
	check_tally(CALL, EVENT_COUNTER_SAMPLES, 1, 5000);
}

TEST(a_return_without_its_entry_is_filtered)
{
	boot(CALL);
	leave(0);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 0);
	check_tally(CALL, EVENT_COUNTER_EVENTS, 1, 0);
	check_tally(CALL, EVENT_COUNTER_FILTERED, 1, 0);
}

/* The emulated map has room for 16: what comes next is lost, and counted when it returns. */
TEST(calls_without_room_are_lost)
{
	boot(CALL);
	for (int depth = 0; depth < 17; depth++)
		enter(-depth);
	emulated.time_ns += 5000;
	for (int depth = 17; depth--;)
		leave(-depth);
	check_tally(CALL, EVENT_COUNTER_EVENTS, 17, 80000);
	check_tally(CALL, EVENT_COUNTER_SAMPLES, 16, 80000);
	check_tally(CALL, EVENT_COUNTER_LOST_BUSY, 1, 0);
	check_tally(CALL, EVENT_COUNTER_FILTERED, 0, 0);
	enter(0); /* there is room again */
	emulated.time_ns += 2000;
	leave(0);
	check_tally(CALL, EVENT_COUNTER_SAMPLES, 17, 82000);
}

TEST(short_calls_stand_for_a_period)
{
	boot(CALL);
	emulated.random = 450;
	for (int i = 0; i < 25; i++) {
		enter(0);
		emulated.time_ns += 100;
		leave(0);
	}
	CHECK_INT(emulated_count(EVENT_SAMPLE), 3); /* at 0, 1450 and 2450 */
	CHECK_INT(
		((const struct event_sample *)emulated_record(EVENT_SAMPLE, 1))->value, PERIOD_NS);
	CHECK_INT(((const struct event_sample *)emulated_record(EVENT_SAMPLE, 1))->measured, 100);
	check_tally(CALL, EVENT_COUNTER_EVENTS, 25, 2500);
	check_tally(CALL, EVENT_COUNTER_BELOW, 22, 2200);
	check_tally(CALL, EVENT_COUNTER_SAMPLES, 3, 300);
}

TEST(a_call_in_the_midst_of_another_sample_is_lost)
{
	boot(CALL);
	enter(0);
	emulated.time_ns += 5000;
	emulate_busy_hit(true);
	leave(0);
	emulate_busy_hit(false);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 0);
	check_tally(CALL, EVENT_COUNTER_EVENTS, 1, 5000);
	check_tally(CALL, EVENT_COUNTER_LOST_BUSY, 1, 5000);
}

TEST(calls_do_not_count_when_recording_has_ended)
{
	boot(CALL);
	enter(0);
	emulate_takes_durations(CALL, 0);
	leave(0);
	check_tally(CALL, EVENT_COUNTER_EVENTS, 0, 0);
}

TEST(a_system_call_has_its_number)
{
	struct unwind_registers regs = registers(CODE + 1, STACK + 64);
	boot(SYSCALL);
	emulate_syscall_exit(&regs); /* it began before */
	emulate_syscall_enter(17);
	emulated.time_ns += 3000;
	emulate_syscall_exit(&regs);
	emulate_syscall_exit(&regs);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 1);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK_INT(sample->syscall, 18);
	CHECK_INT(sample->value, 3000);
	CHECK_INT(sample->kernel_hash, 0);
	CHECK(sample->user_hash != 0);
	check_tally(SYSCALL, EVENT_COUNTER_EVENTS, 1, 3000);
	check_tally(SYSCALL, EVENT_COUNTER_SAMPLES, 1, 3000);
}

/* Numbers of programs of 32 bits are those of another table. */
TEST(a_system_call_of_32_bits_has_no_number)
{
	struct unwind_registers regs = registers(CODE + 1, STACK + 64);
	boot(SYSCALL);
	emulate_32_bits();
	emulate_syscall_enter(17);
	emulated.time_ns += 3000;
	emulate_syscall_exit(&regs);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK_INT(sample->syscall, EVENT_SYSCALL_OF_32_BITS + 1);
}

/* One that never returned: the next one of the thread is none the longer. */
TEST(a_system_call_that_does_not_return)
{
	struct unwind_registers regs = registers(CODE + 1, STACK + 64);
	boot(SYSCALL);
	emulate_syscall_enter(60);
	emulated.time_ns += 90000;
	emulate_syscall_enter(0);
	emulated.time_ns += 2000;
	emulate_syscall_exit(&regs);
	check_tally(SYSCALL, EVENT_COUNTER_EVENTS, 1, 2000);
}

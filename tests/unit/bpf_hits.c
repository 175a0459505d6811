/* Hits of probes: what they count, and that they keep out of each other's way, and of ticks'. */
#include "record/unwind/table_store.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000,
	CODE_BYTES = 0x10000,
	STACK = 0x7000000,
	FRAMES = 200,
};

/* A stack of frame pointers: that of frame n is at word 2n, and what it returns to behind it. */
static uint64_t stack_words[2 * FRAMES];

static struct table_store *rules; /* has the one for frame pointers */

static struct unwind_registers registers_at(uint32_t frame)
{
	struct unwind_registers regs = {.ip = CODE + 1 + frame};
	regs.reg[UNWIND_SP] = STACK + frame * 16ULL;
	regs.reg[UNWIND_FP] = STACK + frame * 16ULL;
	return regs;
}

static void boot(void)
{
	const struct emulated_vma vma = {
		.start = CODE, .end = CODE + CODE_BYTES, .is_executable = true};
	emulate_boot(EMULATED_6_13);
	CHECK_OK(emulate_table_store(1, &rules));
	emulate_config()->call_graph = EVENT_CALL_GRAPH_FP;
	emulate_config()->nr_lanes = emulate_config()->nr_places = EVENT_LANES;
	emulate_mappings(&vma, 1, 0);
	for (uint64_t i = 0; i < FRAMES; i++) {
		stack_words[2 * i] = i + 1 < FRAMES ? STACK + (i + 1) * 16 : 0;
		stack_words[2 * i + 1] = CODE + 0x1001 + i;
	}
	emulate_memory(STACK, stack_words, sizeof(stack_words));
	emulate_takes_hits(true);
	emulated.cookie = 7;
}

static void check_hits(
	uint64_t hits, uint64_t samples, uint64_t filtered, uint64_t ring, uint64_t busy)
{
	CHECK_INT(emulated_counter(EVENT_SOURCE_PROBE, EVENT_COUNTER_EVENTS), hits);
	CHECK_INT(emulated_counter(EVENT_SOURCE_PROBE, EVENT_COUNTER_SAMPLES), samples);
	CHECK_INT(emulated_counter(EVENT_SOURCE_PROBE, EVENT_COUNTER_FILTERED), filtered);
	CHECK_INT(emulated_counter(EVENT_SOURCE_PROBE, EVENT_COUNTER_LOST_RING), ring);
	CHECK_INT(emulated_counter(EVENT_SOURCE_PROBE, EVENT_COUNTER_LOST_BUSY), busy);
}

static const struct event_stack *stack_of(const struct event_sample *sample)
{
	const struct event_stack *stack;
	for (size_t i = 0; (stack = emulated_record(EVENT_STACK, i)); i++)
		if (stack->hash == sample->user_hash)
			return stack;
	return NULL;
}

/* The n-th sample is of that probe (0: the timer), and its stack begins at that frame and is whole.
 */
static void check_sample(size_t n, uint32_t probe, uint32_t frame)
{
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, n);
	CHECK_INT(sample->source, probe ? EVENT_SOURCE_PROBE : EVENT_SOURCE_TIMER);
	CHECK_INT(sample->event, probe);
	CHECK_INT(sample->value, 1);
	CHECK_INT(sample->kernel_hash, 0);
	const struct event_stack *stack = stack_of(sample);
	CHECK(stack != NULL);
	const uint64_t *words = (const void *)(stack + 1);
	const uint64_t offsets = (1ULL << EVENT_FRAME_FOUND_SHIFT) - 1;
	CHECK_INT(stack->end, EVENT_END_COMPLETE);
	CHECK_INT(stack->nr_frames, 1 + FRAMES - frame);
	CHECK_INT(words[0] & offsets, CODE + 1 + frame);
	for (uint32_t i = 1; i < stack->nr_frames; i++)
		CHECK_INT(words[i] & offsets, CODE + 0x1000 + frame + i - 1);
}

TEST(each_hit_is_a_sample)
{
	boot();
	struct unwind_registers regs = registers_at(5);
	for (int i = 0; i < 3; i++)
		emulate_hit(&regs);
	CHECK_INT(emulated_count(EVENT_STACK), 1);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 3);
	check_sample(2, 7, 5);
	check_hits(3, 3, 0, 0, 0);
	CHECK_INT(emulated_counter(EVENT_SOURCE_TIMER, EVENT_COUNTER_EVENTS), 0);
}

TEST(hits_by_tail_calls)
{
	boot();
	struct unwind_registers regs = registers_at(5);
	emulate_hit_without_loop(&regs);
	emulate_hit_without_loop(&regs);
	check_sample(1, 7, 5);
	check_hits(2, 2, 0, 0, 0);
}

/* There is one probe then, and its number is no cookie. */
TEST(hits_of_kernels_without_cookies)
{
	boot();
	emulated.release = EMULATED_5_10;
	struct unwind_registers regs = registers_at(0);
	emulate_hit_without_loop(&regs);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK_INT(sample->source, EVENT_SOURCE_PROBE);
	CHECK_INT(sample->event, 0);
}

TEST(hits_count_while_they_are_to)
{
	boot();
	struct unwind_registers regs = registers_at(0);
	emulate_takes_hits(false);
	emulate_hit(&regs);
	emulate_hit_without_loop(&regs);
	check_hits(0, 0, 0, 0, 0);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 0);
}

TEST(hits_behind_the_end_are_none)
{
	boot();
	struct unwind_registers regs = registers_at(0);
	emulated.time_ns = 2000;
	emulate_until(2000);
	emulate_hit(&regs);
	check_hits(0, 0, 0, 0, 0);
	emulate_until(0);
	emulate_hit(&regs);
	check_hits(1, 1, 0, 0, 0);
}

TEST(hits_of_others_are_filtered)
{
	boot();
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	struct unwind_registers regs = registers_at(0);
	emulate_hit(&regs);
	emulate_target(emulated.pid, 0);
	emulate_hit(&regs);
	check_hits(2, 1, 1, 0, 0);
}

TEST(hits_that_find_no_room_are_lost)
{
	boot();
	emulated.ring_bytes = 64;
	struct unwind_registers regs = registers_at(0);
	emulate_hit(&regs);
	emulate_hit(&regs); /* the lane is free again */
	check_hits(2, 0, 0, 2, 0);
}

TEST(hits_in_the_midst_of_another_are_lost)
{
	boot();
	struct unwind_registers regs = registers_at(3);
	emulate_busy_hit(true);
	emulate_hit(&regs);
	emulate_hit_without_loop(&regs);
	check_hits(2, 0, 0, 0, 2);
	emulate_tick(&regs); /* which has a lane of its own */
	CHECK_INT(emulated_counter(EVENT_SOURCE_TIMER, EVENT_COUNTER_SAMPLES), 1);
	emulate_busy_hit(false);
	emulate_hit(&regs);
	check_hits(3, 1, 0, 0, 2);
	check_sample(0, 0, 3);
	check_sample(1, 7, 3);
}

/* In the midst of a hit: when its stack was sent, and its sample is next. */
static void interrupt(void)
{
	struct unwind_registers tick = registers_at(20), hit = registers_at(30);
	emulated.on_submit = NULL;
	emulate_tick(&tick);
	emulated.cookie = 9; /* another task's, which the kernel runs meanwhile */
	emulate_hit(&hit);
}

TEST(walks_in_the_midst_of_a_walk)
{
	boot();
	struct unwind_registers regs = registers_at(10);
	emulated.on_submit = interrupt;
	emulate_hit(&regs);
	CHECK_INT(emulated_count(EVENT_SAMPLE), 2);
	check_sample(0, 0, 20);
	check_sample(1, 7, 10);
	check_hits(2, 1, 0, 0, 1);
	CHECK_INT(emulated_counter(EVENT_SOURCE_TIMER, EVENT_COUNTER_EVENTS), 1);
	CHECK_INT(emulated_counter(EVENT_SOURCE_TIMER, EVENT_COUNTER_SAMPLES), 1);
}

/* A number says the same to all lanes of all CPUs. */
TEST(lanes_give_files_different_numbers)
{
	static const struct emulated_file files[] = {{.inode = 1}, {.inode = 2}};
	boot();
	struct emulated_vma vmas[2];
	for (uint64_t i = 0; i < 2; i++)
		vmas[i] = (struct emulated_vma){
			CODE + i * CODE_BYTES, CODE + (i + 1) * CODE_BYTES, 0, &files[i], true};
	emulate_mappings(vmas, 2, 0);
	struct unwind_registers regs = {.ip = CODE};
	emulate_tick(&regs);
	regs.ip += CODE_BYTES;
	emulate_hit(&regs);
	CHECK_INT(emulated_count(EVENT_FILE), 2);
	const struct event_file *first = emulated_record(EVENT_FILE, 0);
	const struct event_file *second = emulated_record(EVENT_FILE, 1);
	CHECK(first->file && second->file && first->file != second->file);
}

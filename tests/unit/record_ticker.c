/* Which timers tick, and the change from one kind to the other. */
#include "record/event/ticker.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum {
	SECOND = 1000 * 1000 * 1000,
};

static uint32_t self;
static bool follows_tasks;

static void list_self(void *context, struct proc_pids *ret)
{
	(void)context;
	vec_push(ret, self);
}

/* A program that does nothing at each tick. */
static int load_program(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K}, /* r0 = 0 */
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "nothing", "GPL", insns, 2, NULL);
	if (fd < 0)
		unit_skip("no BPF program can be loaded here");
	return fd;
}

static struct ticker_options options_of(int program)
{
	self = (uint32_t)getpid();
	return (struct ticker_options){
		.program = program,
		.follows_tasks = &follows_tasks,
		.tasks = {.ids = &self, .nr_ids = 1, .inherit = TARGET_INHERIT_ALL},
		.list_targets = list_self,
	};
}

static void begin(struct ticker *ticker)
{
	static const struct timers_clock clock = {.period = 1000 * 1000};
	ticker_init(ticker, &clock);
}

TEST(ticker_of_targets_has_their_own_timers)
{
	struct ticker ticker;
	struct ticker_options options = options_of(load_program());
	begin(&ticker);
	CHECK_OK(ticker_open(&ticker, &options));
	CHECK_OK(ticker_start(&ticker, SECOND));
	CHECK(follows_tasks);
	for (volatile unsigned i = 0; i < 1u << 24; i++)
		;
	ticker_stop(&ticker, 3ULL * SECOND);
	struct ticker_times times = ticker_times_until(&ticker, 9ULL * SECOND); /* it was stopped */
	CHECK_INT(times.kind, TIMERS_OF_TASKS);
	CHECK_INT(times.of_tasks_ns, 2ULL * SECOND);
	CHECK_INT(times.of_cpus_ns, 0);
	CHECK(ticker_due(&ticker, TIMERS_OF_TASKS, -1) > 0);
	CHECK_INT(ticker_due(&ticker, TIMERS_OF_CPUS, 0), 0);
	ticker_deinit(&ticker);
	close(options.program);
}

TEST(ticker_changes_to_the_cpus_and_back)
{
	struct ticker ticker;
	struct ticker_options options = options_of(load_program());
	begin(&ticker);
	CHECK_OK(ticker_open(&ticker, &options));
	CHECK_OK(ticker_start(&ticker, SECOND));
	/* Many short processes, then a calm time with samples. */
	struct timer_load load = {.now_ns = 2ULL * SECOND, .samples = 10, .processes_forked = 1000};
	CHECK_OK(ticker_update(&ticker, &load));
	CHECK(!follows_tasks);
	CHECK_INT(ticker_times_until(&ticker, load.now_ns).kind, TIMERS_OF_CPUS);
	load.now_ns = 10ULL * SECOND;
	load.samples = 100000;
	CHECK_OK(ticker_update(&ticker, &load));
	CHECK(follows_tasks);
	struct ticker_times times = ticker_times_until(&ticker, 11ULL * SECOND);
	CHECK_INT(times.kind, TIMERS_OF_TASKS);
	CHECK_INT(times.of_tasks_ns, 2ULL * SECOND);
	CHECK_INT(times.of_cpus_ns, 8ULL * SECOND);
	ticker_stop(&ticker, 11ULL * SECOND);
	ticker_deinit(&ticker);
	close(options.program);
}

TEST(ticker_stays_with_cpus_that_were_asked_for)
{
	struct ticker ticker;
	struct ticker_options options = options_of(load_program());
	int cpu = 0;
	options.cpus = &cpu;
	options.nr_cpus = 1;
	begin(&ticker);
	CHECK_OK(ticker_open(&ticker, &options));
	CHECK_OK(ticker_start(&ticker, SECOND));
	CHECK(!follows_tasks);
	CHECK_OK(ticker_update(
		&ticker, &(struct timer_load){.now_ns = 99ULL * SECOND, .samples = 100000}));
	CHECK_INT(ticker_times_until(&ticker, 99ULL * SECOND).kind, TIMERS_OF_CPUS);
	ticker_stop(&ticker, 99ULL * SECOND);
	ticker_deinit(&ticker);
	close(options.program);
}

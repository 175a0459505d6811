#include "record/event/ticker.h"

#include "format/base/map.h"
#include "format/base/mem.h"

void ticker_init(struct ticker *ticker, const struct timers_clock *clock)
{
	*ticker = (struct ticker){.is_fixed = true};
	for (int kind = 0; kind < TIMER_KINDS; kind++)
		timers_init(&ticker->timers[kind], clock);
}

void ticker_deinit(struct ticker *ticker)
{
	for (int kind = 0; kind < TIMER_KINDS; kind++)
		timers_deinit(&ticker->timers[kind]);
}

static struct err *open_timers(
	struct ticker *ticker, enum timer_kind kind, const struct target_tasks *tasks)
{
	const struct ticker_options *options = &ticker->options;
	struct timers *timers = &ticker->timers[kind];
	struct err *err = kind == TIMERS_OF_TASKS
				  ? timers_open_tasks(timers, tasks, options->program)
				  : timers_open_cpus(timers, options->cpus, options->nr_cpus,
					    options->program);
	if (err)
		timers_close(timers);
	return err;
}

struct err *ticker_open(struct ticker *ticker, const struct ticker_options *options)
{
	bool may_choose = options->tasks.nr_ids && !options->nr_cpus;
	struct err *err = NULL;
	ticker->options = *options;
	if (may_choose)
		err = open_timers(ticker, TIMERS_OF_TASKS, &options->tasks);
	ticker->is_fixed = !may_choose || (err && err_code(err) == ERR_UNSUPPORTED);
	ticker->choice.kind = ticker->is_fixed ? TIMERS_OF_CPUS : TIMERS_OF_TASKS;
	if (!ticker->is_fixed)
		return err;
	err_destroy(err);
	return open_timers(ticker, TIMERS_OF_CPUS, NULL);
}

struct err *ticker_start(struct ticker *ticker, uint64_t now_ns)
{
	enum timer_kind kind = ticker->choice.kind;
	timer_choice_init(&ticker->choice, kind, now_ns);
	ticker->since_ns = now_ns;
	*ticker->options.follows_tasks = kind == TIMERS_OF_TASKS;
	return timers_start(&ticker->timers[kind]);
}

struct ticker_times ticker_times_until(const struct ticker *ticker, uint64_t now_ns)
{
	struct ticker_times times = ticker->times;
	uint64_t ns = ticker->since_ns ? now_ns - ticker->since_ns : 0;
	times.kind = ticker->choice.kind;
	times.switches_often = ticker->choice.switches_often;
	*(times.kind == TIMERS_OF_TASKS ? &times.of_tasks_ns : &times.of_cpus_ns) += ns;
	return times;
}

void ticker_stop(struct ticker *ticker, uint64_t now_ns)
{
	timers_stop(&ticker->timers[ticker->choice.kind]);
	ticker->times = ticker_times_until(ticker, now_ns);
	ticker->since_ns = 0;
}

uint64_t ticker_due(const struct ticker *ticker, enum timer_kind kind, int cpu)
{
	return timers_due(&ticker->timers[kind], cpu);
}

/* Timers of tasks go with their tasks to any CPU. */
struct err *ticker_renew_cpu(struct ticker *ticker, const struct cpu_gap *gap)
{
	struct timers *timers = &ticker->timers[TIMERS_OF_CPUS];
	bool is_of_cpus = ticker->choice.kind == TIMERS_OF_CPUS;
	if (!ticker->since_ns || !is_of_cpus)
		return NULL;
	if (ticker->options.nr_cpus && !timers_have_had_cpu(timers, gap->cpu))
		return NULL;
	return timers_renew_cpu(timers, gap, ticker->options.program);
}

/* ---- changing ---- */

/* Those that `known` has not; true when there are some. */
static bool list_new_targets(struct ticker *ticker, struct map *known, struct proc_pids *ret)
{
	CLEANUP(proc_pids_deinit) struct proc_pids targets = {0};
	ticker->options.list_targets(ticker->options.context, &targets);
	ret->len = 0;
	for (size_t i = 0; i < targets.len; i++) {
		bool is_new;
		map_put(known, targets.data[i], &is_new);
		if (is_new)
			vec_push(ret, targets.data[i]);
	}
	return ret->len;
}

/* A target that was forked meanwhile, by one that had no timer yet, has none: so look again. */
static struct err *open_all_tasks(struct ticker *ticker)
{
	CLEANUP(proc_pids_deinit) struct proc_pids targets = {0};
	struct target_tasks tasks = ticker->options.tasks;
	struct map known = {0};
	struct err *err = NULL;
	tasks.with_descendants = false; /* they are targets by now */
	while (!err && list_new_targets(ticker, &known, &targets)) {
		tasks.ids = targets.data;
		tasks.nr_ids = targets.len;
		err = open_timers(ticker, TIMERS_OF_TASKS, &tasks);
	}
	map_deinit(&known);
	return err;
}

static struct err *ticker_open_other(struct ticker *ticker, enum timer_kind kind)
{
	return kind == TIMERS_OF_TASKS ? open_all_tasks(ticker) : open_timers(ticker, kind, NULL);
}

/* The others are open already: little time goes by without any. */
static struct err *ticker_change(struct ticker *ticker, enum timer_kind kind, uint64_t now_ns)
{
	struct timers *old = &ticker->timers[ticker->choice.kind];
	ticker->times = ticker_times_until(ticker, now_ns);
	ticker->since_ns = now_ns;
	ticker->choice.kind = kind;
	timers_stop(old);
	*ticker->options.follows_tasks = kind == TIMERS_OF_TASKS;
	struct err *err = timers_start(&ticker->timers[kind]);
	timers_close(old);
	return err;
}

struct err *ticker_update(struct ticker *ticker, const struct timer_load *load)
{
	if (ticker->is_fixed || !ticker->since_ns)
		return NULL;
	enum timer_kind kind = timer_choice_update(&ticker->choice, load);
	if (kind == ticker->choice.kind)
		return NULL;
	struct err *err = ticker_open_other(ticker, kind);
	if (!err)
		return ticker_change(ticker, kind, load->now_ns);
	err_destroy(err);
	ticker->is_fixed = true; /* with what there is */
	return NULL;
}

#include "report/write/overview.h"

#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "report/analyse/stack_counts.h"
#include "report/analyse/table.h"
#include "report/model/event_value.h"
#include "report/model/slice.h"
#include "report/name/script_frames.h"
#include "report/write/health.h"

struct sums {
	/* Values, as the table's shares are: of waits, time. */
	uint64_t all;
	uint64_t in_kernel, waiting; /* of what is left, user code */
	uint64_t named, with_line;   /* by what stands on top of the stack */
	uint64_t bounded, guessed;   /* ... without a name: with bounds, of them guessed ones */
	/* Samples. */
	uint64_t samples, frames, deepest;
};

static void overview_put_label(struct str *out, const char *label)
{
	str_printf(out, "%-14s ", label);
}

static void overview_add_stack(
	const struct profile *profile, uint32_t stack, struct slice_sum of_stack, struct sums *sums)
{
	struct profile_walk walk = profile_walk(profile, stack);
	uint64_t depth = 0;
	for (uint32_t at; (at = profile_walk_next(&walk)); depth++) {
		const struct profile_frame *frame = &profile->frames.data[at];
		if (depth)
			continue;
		const struct profile_function *function = &profile->functions.data[frame->function];
		sums->named += function->is_known ? of_stack.value : 0;
		sums->bounded += function->has_bounds ? of_stack.value : 0;
		sums->guessed += function->bounds == CHAIN_BOUNDS_BY_CODE ? of_stack.value : 0;
		if (frame->line)
			sums->with_line += of_stack.value;
	}
	sums->all += of_stack.value;
	sums->in_kernel += profile->stacks.data[stack].kernel ? of_stack.value : 0;
	sums->samples += of_stack.samples;
	sums->frames += depth * of_stack.samples;
	if (depth > sums->deepest)
		sums->deepest = depth;
}

static struct sums overview_sum_up(const struct profile *profile)
{
	struct sums sums = {0};
	CLEANUP(slice_deinit) struct slice slice;
	slice_init_all(&slice, profile);
	for (uint32_t i = 0; i < profile->stacks.len; i++)
		if (slice.stacks[i].samples)
			overview_add_stack(profile, i, slice.stacks[i], &sums);
	vec_each(&profile->samples, sample) {
		uint64_t value = profile_sample_value(profile, sample);
		if (!profile->events.data[sample->event].wait)
			continue;
		sums.waiting += value;
		sums.in_kernel -= profile->stacks.data[sample->stack].kernel ? value : 0;
	}
	return sums;
}

/* ---- who ---- */

static void overview_put_tasks(const struct profile *profile, struct str *out)
{
	struct map processes = {0}, threads = {0};
	uint64_t nr_processes = 0, nr_threads = 0;
	CLEANUP_FREE bool *is_seen = mem_zalloc_array(profile->threads.len, sizeof(*is_seen));
	vec_each(&profile->samples, sample)
		is_seen[sample->thread] = true;
	for (size_t i = 0; i < profile->threads.len; i++) {
		const struct profile_thread *thread = &profile->threads.data[i];
		if (!is_seen[i])
			continue;
		bool added;
		uint64_t key = profile_process_key(profile, thread->process);
		map_put(&processes, key, &added);
		nr_processes += added;
		map_put(&threads, profile_thread_key(profile, (uint32_t)i), &added);
		nr_threads += added;
	}
	map_deinit(&processes);
	map_deinit(&threads);
	overview_put_label(out, "samples");
	str_printf(out, "%zu, of %llu %s in %llu %s\n", profile->samples.len,
		(unsigned long long)nr_threads, str_plural(nr_threads, "thread", "threads"),
		(unsigned long long)nr_processes, str_plural(nr_processes, "process", "processes"));
}

/* ---- what ---- */

/* Of the time that the filter leaves. */
static double span_s(const struct profile *profile, const struct filter *filter)
{
	double from_s = (double)filter->from_ns / 1e9, to_s = profile_duration_s(profile);
	if (filter->to_ns && (double)filter->to_ns / 1e9 < to_s)
		to_s = (double)filter->to_ns / 1e9;
	return to_s - from_s;
}

static void overview_put_value(
	const struct profile_event *event, double value, double duration_s, struct str *out)
{
	if (strcmp(event->unit, "ns") != 0) {
		str_puts(out, ", ");
		event_value_put(event, (uint64_t)(value + 0.5), false, out);
		return;
	}
	bool is_cpu_time = event_value_is_cpu_time(event);
	str_printf(out, ", %.3f s %s", value / 1e9,
		event->wait   ? "of waiting"
		: is_cpu_time ? "of CPU time"
			      : "in all");
	if (is_cpu_time && duration_s > 0)
		str_printf(out, ", %.2f CPUs on average", value / 1e9 / duration_s);
}

static void overview_put_events(
	const struct profile *profile, const struct filter *filter, struct str *out)
{
	size_t count = profile->events.len;
	CLEANUP_FREE uint64_t *samples = mem_zalloc_array(count, sizeof(*samples));
	CLEANUP_FREE double *values = mem_zalloc_array(count, sizeof(*values));
	vec_each(&profile->samples, sample) {
		samples[sample->event]++;
		values[sample->event] += (double)profile_sample_value(profile, sample);
	}
	for (size_t i = 0; i < count; i++) {
		const struct profile_event *event = &profile->events.data[i];
		if (!samples[i])
			continue;
		overview_put_label(out, "event");
		str_puts_escaped(out, event->name);
		str_printf(out, ": %llu", (unsigned long long)samples[i]);
		overview_put_value(event, values[i], span_s(profile, filter), out);
		str_putc(out, '\n');
	}
}

static void put_scripts(const struct profile *profile, struct str *out)
{
	struct script_frames frames;
	script_frames_count(profile, &frames);
	vec_each(&frames.languages, language) {
		if (!language->samples)
			continue;
		overview_put_label(out, "scripts");
		str_printf(out, "%.1f%% of the samples in functions of ",
			profile_percent(language->samples, profile->samples.len));
		str_puts_escaped(out, language->name);
		str_puts(out, ", or in what these call\n");
	}
	script_frames_deinit(&frames);
}

/* Whether there is something to be made faster at one place. */
static void put_hottest(const struct profile *profile, struct str *out)
{
	static const size_t steps[] = {1, 10, 100};
	struct table_options options = {.columns = {COLUMN_FILE, COLUMN_SYM}, .nr_columns = 2};
	struct table table;
	table_init(&table, profile, &options);
	uint64_t self = 0;
	size_t at = 0, nr_leaves = 0;
	vec_each(&table.rows, row)
		nr_leaves += row->self > 0;
	overview_put_label(out, "functions");
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		for (; at < steps[i] && at < table.rows.len; at++)
			self += table.rows.data[at].self;
		if (i && nr_leaves <= steps[i - 1])
			break;
		str_printf(out, "%.1f%% in ", profile_percent(self, table.total));
		if (i)
			str_printf(out, "%zu, ", steps[i]);
		else
			str_puts(out, "the hottest, ");
	}
	str_printf(out, "all of it in %zu\n", nr_leaves);
	table_deinit(&table);
}

/* ---- how sound ---- */

static void overview_put_soundness(
	const struct profile *profile, const struct sums *sums, struct str *out)
{
	struct stack_counts stacks = stack_counts_of(profile);
	overview_put_label(out, "names");
	str_printf(out, "%.1f%% in functions that have one, %.1f%% with a line\n",
		profile_percent(sums->named, sums->all),
		profile_percent(sums->with_line, sums->all));
	if (sums->bounded)
		str_printf(out,
			"%-14s %.1f%% in functions without one (fn_START), %.1f%% at addresses of "
			"no known function\n",
			"", profile_percent(sums->bounded, sums->all),
			profile_percent(sums->all - sums->named - sums->bounded, sums->all));
	if (sums->guessed)
		str_printf(out,
			"%-14s %.1f%% in functions whose bounds were guessed from the code\n", "",
			profile_percent(sums->guessed, sums->all));
	if (profile->nr_stale)
		str_printf(out,
			"%-14s %llu samples of the recording may have names of other compiled "
			"functions\n",
			"", (unsigned long long)profile->nr_stale);
	overview_put_label(out, "stacks");
	stack_counts_put(&stacks, sums->samples, out);
	str_puts(out, stacks.are_leaves ? "\n" : ", of the samples\n");
	CLEANUP(str_deinit) struct str inlined = {0};
	stack_counts_put_guessed_inlined(&stacks, sums->samples, &inlined);
	if (inlined.len)
		str_printf(out, "%-14s %s\n", "", str_text(&inlined));
	overview_put_label(out, "");
	str_printf(out, "%.1f frames on average, %llu at most\n",
		(double)sums->frames / (double)sums->samples, (unsigned long long)sums->deepest);
	health_put_losses(profile, out);
}

void overview_put(const struct profile *profile, const struct filter *filter, struct str *out)
{
	if (!profile->samples.len)
		return;
	struct sums sums = overview_sum_up(profile);
	overview_put_tasks(profile, out);
	overview_put_events(profile, filter, out);
	overview_put_label(out, "where");
	str_printf(out, "%.1f%% in user code, %.1f%% in the kernel",
		profile_percent(sums.all - sums.in_kernel - sums.waiting, sums.all),
		profile_percent(sums.in_kernel, sums.all));
	if (sums.waiting)
		str_printf(out, ", %.1f%% waiting", profile_percent(sums.waiting, sums.all));
	str_puts(out, "\n");
	put_scripts(profile, out);
	put_hottest(profile, out);
	overview_put_soundness(profile, &sums, out);
}

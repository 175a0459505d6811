#include "report/compare/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/path.h"
#include "report/compare/comparability.h"
#include "report/compare/diff_lists.h"
#include "report/compare/judgement.h"
#include "report/compare/quanta.h"
#include "report/compare/renames.h"
#include "report/compare/replacement.h"
#include "report/compare/run_counts.h"
#include "report/compare/waiting.h"
#include "report/model/event_value.h"
#include "report/model/main_event.h"
#include "report/model/slice.h"

const char *diff_by_word(enum diff_by by)
{
	static const char *const words[] = {
#define X(name, word) [name] = word,
		DIFF_BYS(X)
#undef X
	};
	return words[by];
}

const char *diff_metric_word(enum diff_metric metric)
{
	static const char *const words[] = {
#define X(name, word) [name] = word,
		DIFF_METRICS(X)
#undef X
	};
	return words[metric];
}

const char *diff_verdict_word(enum diff_verdict verdict)
{
	static const char *const words[] = {
#define X(name, word) [name] = word,
		DIFF_VERDICTS(X)
#undef X
	};
	return words[verdict];
}

/* ---- rows ---- */

static void difference_put_amount(const struct difference *diff, const struct diff_side *side,
	const struct run_sum *sum, struct diff_amount *ret)
{
	double amount = run_sum_amount(sum, diff->is_weighted);
	*ret = (struct diff_amount){
		.samples = sum->samples,
		.share = fmin(1, amount / side->known_amount),
		.value = (double)sum->value / (double)side->runs.len,
		.amount = amount,
		.squares = sum->squares,
		.chance_squares = sum->chance_squares,
	};
}

/*
 * Whether there is enough of it, judged by both sides together, which does not look at what is
 * tested: some samples of it are to be expected on each side, and it is not so small on both that
 * it would not be reported.
 */
static bool is_worth_testing(const struct difference *diff, const struct diff_amount *sides)
{
	double base_all = diff->sides[MATCH_BASE].known_amount;
	double new_all = diff->sides[MATCH_NEW].known_amount, least = fmin(base_all, new_all);
	double amount = sides[MATCH_BASE].amount + sides[MATCH_NEW].amount;
	double hits = amount / quanta_of_whole(diff, sides);
	return amount > 0 && hits * least >= DIFF_FEW_HITS * (base_all + new_all) &&
	       amount >= diff->options.min_share * least;
}

/* A few long waits may be most of the time, and too few to be judged. */
static double unjudged_share_of(
	const struct difference *diff, const struct diff_amount self[MATCH_SIDES])
{
	double base = self[MATCH_BASE].share, new = self[MATCH_NEW].share;
	bool counts = diff->is_weighted && fmax(base, new) >= diff->options.min_share;
	return counts ? (base + new) / 2 : 0;
}

static void choose_rows(struct difference *diff, struct run_counts *counts)
{
	VEC(uint32_t) rows = {0};
	for (uint32_t i = 0; i < counts->nr_entities; i++) {
		struct diff_amount self[MATCH_SIDES], total[MATCH_SIDES];
		if (entities_is_marker(diff->entities, i))
			continue;
		for (int side = 0; side < MATCH_SIDES; side++) {
			const struct run_sums *sums = &counts->sums[side][i];
			difference_put_amount(diff, &diff->sides[side], &sums->self, &self[side]);
			difference_put_amount(diff, &diff->sides[side], &sums->total, &total[side]);
		}
		if (is_worth_testing(diff, total))
			vec_push(&rows, i);
		else
			diff->judged_share += unjudged_share_of(diff, self);
	}
	run_counts_choose(counts, rows.data, rows.len);
	vec_deinit(&rows);
}

/* Also one of those that a package installed. */
static bool is_of_command(const struct diff_side *side, const struct diff_row *row)
{
	const char *program = side->runs.data[0].program;
	return program && strcmp(program, path_last_part(row->object)) == 0;
}

static void difference_put_rows(struct difference *diff, const struct run_counts *counts)
{
	vec_resize(&diff->rows, counts->nr_rows);
	for (uint32_t i = 0; i < counts->nr_entities; i++) {
		if (!counts->row_of[i])
			continue;
		struct diff_row *row = &diff->rows.data[counts->row_of[i] - 1];
		row->entity = i;
		entities_name(diff->entities, i, row);
		if (counts->old[i]) {
			struct diff_row old = {0};
			entities_name(diff->entities, counts->old[i] - 1, &old);
			row->old_name = old.name;
		}
		for (int side = 0; side < MATCH_SIDES; side++) {
			const struct run_sums *sums = &counts->sums[side][i];
			difference_put_amount(
				diff, &diff->sides[side], &sums->self, &row->self.sides[side]);
			difference_put_amount(
				diff, &diff->sides[side], &sums->total, &row->total.sides[side]);
			row->stacks[side] = sums->stacks;
			row->is_own |= is_of_command(&diff->sides[side], row);
		}
	}
}

/* ---- the whole program ---- */

static const char *find_program_reason(const struct difference *diff)
{
	const struct diff_side *sides = diff->sides;
	if (sides[MATCH_BASE].runs.len < 2 || sides[MATCH_NEW].runs.len < 2)
		return "needs two runs a side";
	for (int side = 0; side < MATCH_SIDES; side++)
		vec_each(&sides[side].runs, run)
			if (!run->is_whole_command)
				return "not all runs lasted until their command's end";
	return NULL;
}

static void difference_put_program(struct difference *diff)
{
	for (int side = 0; side < MATCH_SIDES; side++) {
		const struct diff_side *of = &diff->sides[side];
		struct run_sum all = {
			of->samples, (uint64_t)of->value, of->squares, of->chance_squares};
		difference_put_amount(diff, of, &all, &diff->program.sides[side]);
	}
	diff->program.effect =
		diff->program.sides[MATCH_NEW].value / diff->program.sides[MATCH_BASE].value - 1;
	diff->program_reason = find_program_reason(diff);
}

/* ---- judging ---- */

enum measure {
	SELF,
	TOTAL,
};

static struct diff_judgement *judgement_of(struct diff_row *row, enum measure measure)
{
	return measure == SELF ? &row->self : &row->total;
}

/* The amount of each run, or by CPU time how much of it makes a nanosecond. */
static double *difference_rest_of(const struct difference *diff, enum diff_metric metric)
{
	const struct diff_side *sides = diff->sides;
	double *rest = mem_zalloc_array(sides[0].runs.len + sides[1].runs.len, sizeof(*rest));
	size_t at = 0;
	for (int side = 0; side < MATCH_SIDES; side++)
		vec_each(&sides[side].runs, run) {
			rest[at++] =
				metric == DIFF_CPU_S ? run->amount / run->value : run->known_amount;
		}
	return rest;
}

/* Callers that were left out of a baseline lack total time there, and only there. */
static bool *find_tested(const struct difference *diff, enum measure measure)
{
	bool *is_tested = mem_zalloc_array(diff->rows.len + 1, sizeof(*is_tested));
	if (measure == TOTAL && (diff->sides[MATCH_BASE].cut || diff->sides[MATCH_NEW].cut))
		return is_tested;
	for (size_t i = 0; i < diff->rows.len; i++) {
		const struct diff_row *row = &diff->rows.data[i];
		is_tested[i] = is_worth_testing(
			diff, measure == SELF ? row->self.sides : row->total.sides);
	}
	return is_tested;
}

/* `is_out`: of rows that the rest lacks already; NULL: none is. */
static void set_quanta(
	struct difference *diff, enum measure measure, const bool *is_out, struct quanta *quanta)
{
	for (size_t i = 0; i < diff->rows.len; i++)
		quanta_set(quanta, i, judgement_of(&diff->rows.data[i], measure)->sides,
			is_out && is_out[i]);
}

static void put_quanta(struct difference *diff, enum measure measure, struct quanta *ret)
{
	quanta_init(ret, diff, diff->rows.len);
	set_quanta(diff, measure, NULL, ret);
}

static void difference_judge(
	struct difference *diff, struct judgement_family *family, enum measure measure)
{
	CLEANUP_FREE bool *is_tested = find_tested(diff, measure);
	CLEANUP_FREE struct diff_judgement *judgements =
		mem_zalloc_array(diff->rows.len + 1, sizeof(*judgements));
	family->is_tested = is_tested;
	for (size_t i = 0; i < diff->rows.len; i++)
		judgements[i] = *judgement_of(&diff->rows.data[i], measure);
	judgement_make(family, &diff->options, judgements);
	for (size_t i = 0; i < diff->rows.len; i++)
		*judgement_of(&diff->rows.data[i], measure) = judgements[i];
}

/* The verdict is of the self rows, of what replaced some, and of the whole program. */
static size_t nr_others_of(const struct difference *diff)
{
	CLEANUP_FREE bool *is_tested = find_tested(diff, SELF);
	return (size_t)replacement_is_there(diff, is_tested) + !diff->program_reason;
}

/*
 * Where most of the program is new, gone or changed, a row may be nearly all of the steady rest,
 * and the little beside it says nothing.
 */
static bool *find_lone(
	const struct judgement_family *all, const double *rest, const bool *has_changed)
{
	bool *is_lone = mem_zalloc_array(all->nr_rows + 1, sizeof(*is_lone));
	for (size_t row = 0; row < all->nr_rows; row++)
		is_lone[row] = !has_changed[row] && !judgement_leaves_rest(all, rest, row);
	return is_lone;
}

/* What belongs to each row's whole beside the steady rest: its own samples, if it changed. A lone
 * row is compared with all, as if nothing had changed. */
static double *more_of_rows(const struct judgement_family *all, const double *rest,
	const bool *has_changed, const bool *is_lone)
{
	double *more = mem_zalloc_array(all->nr_rows * all->nr_runs + 1, sizeof(*more));
	for (size_t i = 0; i < all->nr_rows * all->nr_runs; i++) {
		size_t row = i / all->nr_runs, run = i % all->nr_runs;
		more[i] = has_changed[row] ? all->amounts[i]
			  : is_lone[row]   ? all->rest[run] - rest[run]
					   : 0;
	}
	return more;
}

/* That a lone row has another share of all says no more than that the others have. */
static void withhold_lone(struct difference *diff, const bool *is_lone)
{
	for (size_t i = 0; i < diff->rows.len; i++)
		if (is_lone[i] && judgement_says_change(&diff->rows.data[i].self))
			judgement_withhold(&diff->rows.data[i].self);
}

/*
 * Interrupts, the scheduler and what other programs cause are in the kernel's functions: by how
 * much of them runs differ one run cannot even suggest. On a busy machine 1 % more in one of them
 * looks as sure as a change of the program.
 */
static void withhold_kernel(struct difference *diff)
{
	if (diff->knows_dispersion || diff->is_measured)
		return;
	vec_each(&diff->rows, row) {
		if (row->is_kernel && judgement_says_change(&row->self))
			judgement_withhold(&row->self);
		if (row->is_kernel && judgement_says_change(&row->total))
			judgement_withhold(&row->total);
	}
}

/* The self family first: from it comes what all are compared with. */
static void judge_shares(struct difference *diff, struct run_counts *counts)
{
	CLEANUP_FREE double *all = difference_rest_of(diff, DIFF_SHARE);
	CLEANUP_FREE double *rest = difference_rest_of(diff, DIFF_SHARE);
	CLEANUP_FREE bool *has_changed = mem_zalloc_array(diff->rows.len + 1, sizeof(bool));
	CLEANUP_FREE bool *is_tested = find_tested(diff, SELF);
	CLEANUP(quanta_deinit) struct quanta quanta, of_total;
	put_quanta(diff, SELF, &quanta);
	put_quanta(diff, TOTAL, &of_total);
	struct judgement_family family = {
		.nr_rows = diff->rows.len,
		.nr_runs = counts->nr_runs,
		.nr_base = counts->nr_base,
		.amounts = counts->self,
		.rest = all,
		.quanta = quanta.own,
		.rest_quanta = quanta.rest,
		.is_tested = is_tested,
		.nr_others = nr_others_of(diff),
	};
	diff->nr_unsteady = judgement_find_steady(&family, &diff->options, has_changed, rest);
	for (size_t i = 0; i < diff->rows.len; i++)
		if (has_changed[i])
			quanta_leave_out(&quanta, diff->rows.data[i].self.sides);
	set_quanta(diff, SELF, has_changed, &quanta);
	of_total.rest_of = quanta.rest_of;
	set_quanta(diff, TOTAL, NULL, &of_total);
	CLEANUP_FREE double *unsteady =
		diff->nr_unsteady ? run_counts_of_chosen(counts, has_changed) : NULL;
	CLEANUP_FREE bool *is_lone = find_lone(&family, rest, has_changed);
	CLEANUP_FREE double *own = more_of_rows(&family, rest, has_changed, is_lone);
	family.rest = rest;
	family.more = own;
	difference_judge(diff, &family, SELF);
	withhold_lone(diff, is_lone);
	family.is_tested = is_tested;
	replacement_judge(diff, &family, has_changed);
	family.amounts = counts->total;
	family.more = unsteady;
	family.quanta = of_total.own;
	family.rest_quanta = of_total.rest;
	difference_judge(diff, &family, TOTAL);
}

static void judge_cpu(struct difference *diff, struct run_counts *counts)
{
	CLEANUP_FREE double *exposures = difference_rest_of(diff, DIFF_CPU_S);
	CLEANUP_FREE bool *is_tested = find_tested(diff, SELF);
	CLEANUP(quanta_deinit) struct quanta quanta, of_total;
	put_quanta(diff, SELF, &quanta);
	put_quanta(diff, TOTAL, &of_total);
	struct judgement_family family = {
		.nr_rows = diff->rows.len,
		.nr_runs = counts->nr_runs,
		.nr_base = counts->nr_base,
		.amounts = counts->self,
		.rest = exposures,
		.quanta = quanta.own,
		.rest_quanta = quanta.rest,
		.is_poisson = true,
		.nr_others = nr_others_of(diff),
	};
	difference_judge(diff, &family, SELF);
	family.is_tested = is_tested;
	replacement_judge(diff, &family, NULL);
	family.amounts = counts->total;
	family.quanta = of_total.own;
	family.rest_quanta = of_total.rest;
	difference_judge(diff, &family, TOTAL);
}

static void judge_program(struct difference *diff)
{
	if (diff->program_reason)
		return;
	CLEANUP_FREE double *exposures = difference_rest_of(diff, DIFF_CPU_S);
	VEC(double) hits = {0};
	for (int side = 0; side < MATCH_SIDES; side++)
		vec_each(&diff->sides[side].runs, run)
			vec_push(&hits, run->amount);
	bool is_tested = true;
	double quantum = quanta_of_whole(diff, diff->program.sides);
	struct judgement_family family = {
		.nr_rows = 1,
		.nr_runs = hits.len,
		.nr_base = diff->sides[MATCH_BASE].runs.len,
		.amounts = hits.data,
		.rest = exposures,
		.quanta = &quantum,
		.rest_quanta = &quantum,
		.is_tested = &is_tested,
		.is_poisson = true,
		.is_of_whole_runs = true,
		.nr_others = nr_others_of(diff),
	};
	judgement_make(&family, &diff->options, &diff->program);
	vec_deinit(&hits);
}

/* A part of the samples on a screen may be any span of the runs, whose lengths say nothing. */
static bool has_amounts(const struct difference *diff)
{
	return diff->runs_commands && !diff->program_reason && !diff->options.is_forced &&
	       !diff->sides[MATCH_BASE].unseen && !diff->sides[MATCH_NEW].unseen;
}

static bool has_changed_rows(const struct difference *diff)
{
	vec_each(&diff->rows, row)
		if (judgement_says_change(&row->self) || judgement_says_change(&row->total))
			return true;
	return false;
}

/*
 * By shares, since all CPU time is longer on a machine that is slower that day. But waits and what
 * is allocated are measured one by one; where one of them grew, all that stayed as it was would
 * have a smaller share, and seem to take less.
 */
static void judge_by_chosen_metric(struct difference *diff, struct run_counts *counts)
{
	bool is_auto = diff->options.metric == DIFF_METRIC_AUTO;
	if (is_auto)
		diff->options.metric =
			diff->is_measured && has_amounts(diff) ? DIFF_CPU_S : DIFF_SHARE;
	if (diff->options.metric == DIFF_CPU_S) {
		judge_cpu(diff, counts);
		return;
	}
	judge_shares(diff, counts);
	withhold_kernel(diff);
	/* So it would be with CPU time where the whole surely takes longer, and not all alike. */
	if (is_auto && has_amounts(diff) && has_changed_rows(diff) &&
		diff->program.verdict == DIFF_REGRESSION) {
		diff->options.metric = DIFF_CPU_S;
		diff->replacements.len = diff->nr_unsteady = 0;
		judge_cpu(diff, counts);
	}
}

/* ---- the verdict ---- */

/* The share of the program's time in rows with samples enough to see any change that matters. */
static void put_visibility(struct difference *diff)
{
	const struct diff_options *options = &diff->options;
	vec_each(&diff->rows, row) {
		const struct diff_judgement *self = &row->self;
		double base = self->sides[MATCH_BASE].share, new = self->sides[MATCH_NEW].share;
		if (fmax(base, new) < options->min_share)
			continue;
		bool is_found =
			self->verdict == DIFF_REGRESSION || self->verdict == DIFF_IMPROVEMENT;
		diff->judged_share += (base + new) / 2;
		if (self->is_tested && (is_found || self->verdict == DIFF_SAME))
			diff->visible_share += (base + new) / 2;
	}
}

static bool has_two_readings(const struct difference *diff)
{
	static const double likely = 0.05; /* that the whole takes longer, though not for sure */
	if (diff->options.metric != DIFF_SHARE || !diff->is_cpu_time || !diff->runs_commands ||
		!(diff->program.effect > diff->options.min_effect))
		return false;
	if (!diff->program_reason && diff->program.adjusted_p < likely)
		return true;
	vec_each(&diff->rows, row)
		if (row->self.verdict == DIFF_IMPROVEMENT)
			return true;
	return false;
}

static enum diff_verdict find_verdict(const struct difference *diff)
{
	if (diff->program.verdict == DIFF_REGRESSION)
		return DIFF_REGRESSION;
	vec_each(&diff->rows, row)
		if (row->self.verdict == DIFF_REGRESSION)
			return DIFF_REGRESSION;
	vec_each(&diff->replacements, replacement)
		if (replacement->makes_regression)
			return DIFF_REGRESSION;
	bool is_visible = diff->visible_share > 0 && diff->visible_share * 2 >= diff->judged_share;
	return is_visible && !diff->is_ambiguous ? DIFF_SAME : DIFF_INCONCLUSIVE;
}

static double difference_change_of(
	const struct difference *diff, const struct diff_judgement *judgement)
{
	const struct diff_amount *base = &judgement->sides[MATCH_BASE],
				 *new = &judgement->sides[MATCH_NEW];
	return fabs(diff->options.metric == DIFF_CPU_S ? new->value - base->value
						       : new->share - base->share);
}

static int by_change(const void *a, const void *b, void *context)
{
	const struct diff_row *x = a, *y = b;
	double of_x = difference_change_of(context, &x->self);
	double of_y = difference_change_of(context, &y->self);
	if (of_x == of_y) { /* what only calls others */
		of_x = difference_change_of(context, &x->total);
		of_y = difference_change_of(context, &y->total);
	}
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	int order = strcmp(x->name, y->name);
	order = order ? order : strcmp(x->object, y->object);
	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/* ---- all of it ---- */

static void difference_compare_sides(struct difference *diff, struct run_counts *counts)
{
	size_t nr_renamed = entities_are_of_tree(diff->entities)
				    ? 0
				    : renames_join(counts, diff->sides, &diff->options);
	diff->knows_dispersion = counts->nr_runs > 2;
	choose_rows(diff, counts);
	diff->nr_entities = counts->nr_entities - nr_renamed;
	difference_put_rows(diff, counts);
	difference_put_program(diff);
	judge_program(diff);
	judge_by_chosen_metric(diff, counts);
	put_visibility(diff);
	diff->is_ambiguous = has_two_readings(diff);
	diff->verdict = find_verdict(diff);
	diff_find_repeats(diff);
	if (diff->rows.len)
		qsort_r(diff->rows.data, diff->rows.len, sizeof(*diff->rows.data), by_change, diff);
	waiting_find(diff, counts);
}

/* A stack that lost its middle would be a new one. */
static struct err *check_cut(const struct difference *diff)
{
	uint64_t cut = diff->sides[MATCH_BASE].cut + diff->sides[MATCH_NEW].cut;
	uint64_t all = diff->sides[MATCH_BASE].samples + diff->sides[MATCH_NEW].samples;
	if (!cut || diff->options.by != DIFF_BY_STACK || diff->options.is_forced)
		return NULL;
	return err_new(ERR_USAGE,
		"%.1f%% of the samples are of a baseline and lost part of their stacks, to keep it "
		"small: their stacks cannot be compared, but their functions can (--by function; "
		"--force compares them nevertheless)",
		100 * (double)cut / (double)all);
}

const char *diff_metric_name(const struct difference *diff)
{
	bool are_other_amounts = diff->options.metric == DIFF_CPU_S && !diff->is_cpu_time;
	return are_other_amounts ? "amount" : diff_metric_word(diff->options.metric);
}

/* By CPU time nothing can be said of one run, which may have had a bad day. */
static struct err *check_runs(const struct difference *diff)
{
	static const size_t runs_max = 10000;
	for (int side = 0; side < MATCH_SIDES; side++) {
		size_t runs = diff->sides[side].runs.len;
		const char *name = side == MATCH_BASE ? "base" : "new";
		if (!runs)
			return err_new(ERR_USAGE, "the %s side has no samples of the event", name);
		if (!(diff->sides[side].known_amount > 0))
			return err_new(ERR_USAGE,
				"all stacks of the %s side were truncated: "
				"where its samples were is not known",
				name);
		if (runs > runs_max)
			return err_new(ERR_USAGE, "%zu runs on the %s side are more than %zu", runs,
				name, runs_max);
		if (runs < 2 && diff->options.metric == DIFF_CPU_S)
			return err_new(ERR_USAGE,
				"--metric %s needs two runs a side or more, to see how they "
				"differ by themselves; the %s side has one",
				diff_metric_name(diff), name);
	}
	return check_cut(diff);
}

static struct entities *create_entities(const struct diff_tree *both,
	const struct diff_source sides[MATCH_SIDES], const struct diff_options *options)
{
	if (!both)
		return entities_create(
			options->by, sides[MATCH_BASE].profile, sides[MATCH_NEW].profile);
	return entities_create_of_tree(both, sides[MATCH_BASE].tree, sides[MATCH_NEW].tree);
}

/* "cpu-clock, offcpu": of those that have samples. NULL: the event is no sum. */
static char *list_parts(const struct profile *profile, uint32_t event)
{
	struct event_choices choices;
	struct str names = {0};
	if (!profile->events.data[event].is_sum)
		return NULL;
	event_choices_init(&choices, profile);
	vec_each(&choices.list, choice) {
		const struct profile_event *part = &profile->events.data[choice->event];
		if (part->part_of == event)
			str_printf(&names, "%s%s", names.len ? ", " : "", part->name);
	}
	event_choices_deinit(&choices);
	return str_steal(&names);
}

static bool lasts_as_a_command(const struct profile *profile)
{
	const char *target = profile_meta(profile, LAYOUT_META_TARGET);
	return target && strcmp(target, LAYOUT_TARGET_COMMAND) == 0;
}

/* The part of the samples that is in native functions which scripts called. */
static double native_share_of_scripts(const struct profile *profile)
{
	CLEANUP_FREE uint64_t *samples = slice_count_stacks(profile);
	uint64_t native = 0, all = 0;
	for (uint32_t i = 0; i < profile->stacks.len; i++) {
		struct profile_walk walk = profile_walk(profile, i);
		bool is_leaf = true, is_native = false, has_script = false;
		for (uint32_t frame;
			samples[i] && !has_script && (frame = profile_walk_next(&walk));
			is_leaf = false) {
			const struct profile_frame *it = &profile->frames.data[frame];
			has_script = profile_frame_is_script(it, profile->objects.data);
			is_native |= is_leaf && !has_script;
		}
		all += samples[i];
		native += has_script && is_native ? samples[i] : 0;
	}
	return all ? (double)native / (double)all : 0;
}

/* `both`: NULL where the sides have no trees. */
static struct err *create_difference(const struct diff_tree *both,
	const struct diff_source sides[MATCH_SIDES], const struct diff_options *options,
	struct difference **ret)
{
	const struct profile *base = sides[MATCH_BASE].profile, *new = sides[MATCH_NEW].profile;
	uint32_t events[MATCH_SIDES];
	try(comparability_check(base, new, options, &events[MATCH_BASE], &events[MATCH_NEW]));
	for (int side = 0; side < MATCH_SIDES; side++)
		if (sides[MATCH_BASE].event || sides[MATCH_NEW].event)
			events[side] = sides[side].event;
	struct difference *diff = mem_zalloc(sizeof(*diff));
	diff->options = *options;
	diff->event = new->events.data[events[MATCH_NEW]].name;
	diff->unit = new->events.data[events[MATCH_NEW]].unit;
	diff->runs_commands = lasts_as_a_command(base) && lasts_as_a_command(new);
	diff->parts = list_parts(new, events[MATCH_NEW]);
	diff->is_cpu_time = event_value_is_cpu_time(&new->events.data[events[MATCH_NEW]]);
	diff->native_share = native_share_of_scripts(new);
	diff->is_measured = run_samples_are_measured(new, &new->events.data[events[MATCH_NEW]]);
	struct run_samples samples[MATCH_SIDES];
	diff->is_weighted = run_samples_differ(sides, events);
	for (int side = 0; side < MATCH_SIDES; side++)
		run_samples_init(&samples[side], &sides[side], events[side], diff->is_weighted,
			&diff->sides[side]);
	struct err *err = check_runs(diff);
	if (err) {
		run_samples_deinit(&samples[MATCH_BASE]);
		run_samples_deinit(&samples[MATCH_NEW]);
		difference_destroy(diff);
		return err;
	}
	struct run_counts counts;
	diff->entities = create_entities(both, sides, options);
	run_counts_init(&counts, &samples[MATCH_BASE], &samples[MATCH_NEW], diff->entities);
	difference_compare_sides(diff, &counts);
	run_counts_deinit(&counts);
	*ret = diff;
	return NULL;
}

struct err *difference_create(const struct profile *base, const struct profile *new,
	const struct diff_options *options, struct difference **ret)
{
	const struct diff_source sides[] = {
		[MATCH_BASE] = {.profile = base},
		[MATCH_NEW] = {.profile = new},
	};
	return create_difference(NULL, sides, options, ret);
}

struct err *difference_create_of_tree(const struct diff_tree *both,
	const struct diff_source sides[MATCH_SIDES], const struct diff_options *options,
	struct difference **ret)
{
	return create_difference(both, sides, options, ret);
}

void difference_destroy(struct difference *diff)
{
	if (!diff)
		return;
	vec_each(&diff->rows, row)
		vec_deinit(&row->path);
	vec_deinit(&diff->rows);
	vec_deinit(&diff->replacements);
	vec_deinit(&diff->sides[MATCH_BASE].runs);
	vec_deinit(&diff->sides[MATCH_NEW].runs);
	entities_destroy(diff->entities);
	mem_free(diff->parts);
	mem_free(diff);
}

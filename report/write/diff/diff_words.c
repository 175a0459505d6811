#include "report/write/diff/diff_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/path.h"
#include "report/compare/diff_lists.h"
#include "report/compare/statistics.h"
#include "report/model/event_value.h"
#include "report/write/diff/diff_programs.h"

/* ---- numbers ---- */

/* Larger effects are told as factors. */
static const double as_factor = 9;

void diff_put_effect(struct str *out, double effect)
{
	double percent = 100 * effect;
	if (isinf(effect))
		str_puts(out, "new");
	else if (effect <= -1)
		str_puts(out, "removed");
	else if (effect >= as_factor)
		str_printf(out, "x%.*f", effect < 99 ? 1 : 0, fmin(effect + 1, 1e9));
	else
		str_printf(out, "%+.1f%%", fabs(percent) < 0.05 ? 0 : percent);
}

static bool is_unit_of_time(const char *unit)
{
	return strcmp(unit, "ns") == 0;
}

void diff_put_takes(struct str *out, double effect, const char *unit)
{
	CLEANUP(str_deinit) struct str number = {0};
	bool is_time = is_unit_of_time(unit);
	diff_put_effect(&number, effect);
	const char *text = str_text(&number);
	if (text[0] == 'x')
		str_printf(out, "takes %s times as %s", text + 1, is_time ? "long" : "much");
	else
		str_printf(out, "takes %s %s", text + (text[0] == '+' || text[0] == '-'),
			text[0] == '-' ? "less"
			: is_time      ? "longer"
				       : "more");
}

/* Where it may as well be a tenth or ten times as much, a number would only be taken for one. */
static bool has_estimate(const struct diff_judgement *judgement)
{
	static const double widest = 10;
	bool has_changed =
		judgement->verdict == DIFF_REGRESSION || judgement->verdict == DIFF_IMPROVEMENT;
	return has_changed || isinf(judgement->effect) || judgement->effect <= -1 ||
	       1 + judgement->high <= widest * (1 + judgement->low);
}

void diff_put_change(struct str *out, const struct diff_judgement *judgement)
{
	if (has_estimate(judgement))
		diff_put_effect(out, judgement->effect);
	else
		str_putc(out, '?');
}

static const double beyond = 999; /* an upper bound says no more */

/* Both bounds are of one unit: factors where the lower one is a factor, else percent. */
static void put_bound(struct str *out, double effect, bool is_factor)
{
	if (effect >= beyond)
		str_puts(out, "any");
	else if (effect <= -1)
		str_puts(out, "-100%");
	else if (is_factor || effect < as_factor)
		diff_put_effect(out, effect);
	else
		str_printf(out, "%+.0f%%", 100 * effect);
}

void diff_put_interval(struct str *out, const struct diff_judgement *judgement)
{
	bool is_factor = judgement->low >= as_factor;
	if (judgement->low >= beyond)
		str_printf(out, "x%.0f", fmin(judgement->low + 1, 1e9));
	else
		put_bound(out, judgement->low, is_factor);
	str_puts(out, " .. ");
	put_bound(out, judgement->high, is_factor);
}

static bool is_time(const struct difference *diff)
{
	return is_unit_of_time(diff->unit);
}

/* Time takes longer, memory is more. */
static const char *longer(const struct difference *diff)
{
	return is_time(diff) ? "longer" : "more";
}

static const char *as_long(const struct difference *diff)
{
	return is_time(diff) ? "as long" : "as much";
}

static void diff_words_put_value(struct str *out, const struct difference *diff, double value)
{
	const struct profile_event event = {.name = diff->event, .unit = diff->unit};
	if (is_time(diff))
		str_printf(out, "%.*f s", value < 1e10 ? 3 : 1, value / 1e9);
	else if (strcmp(diff->unit, "bytes") == 0)
		event_value_put(&event, (uint64_t)value, true, out);
	else
		str_printf(out, "%.4g", value);
}

void diff_put_amount(
	struct str *out, const struct difference *diff, const struct diff_amount *amount)
{
	if (diff->options.metric == DIFF_CPU_S)
		diff_words_put_value(out, diff, amount->value);
	else
		str_printf(out, "%.2f%%", 100 * amount->share);
}

void diff_put_p(struct str *out, double p)
{
	if (p < 1e-99)
		str_puts(out, "<1e-99");
	else
		str_printf(out, p < 0.0001 ? "%.0e" : "%.4f", p);
}

/* ---- names ---- */

size_t diff_count_points(const char *text, size_t len)
{
	size_t count = 0;
	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

/* Where the n-th code point begins. */
static size_t find_point(const char *text, size_t len, size_t n)
{
	size_t at = 0;
	for (; at < len; at++)
		if (((unsigned char)text[at] & 0xc0) != 0x80 && n-- == 0)
			break;
	return at;
}

void diff_put_elided(struct str *out, const char *text, size_t len, size_t width)
{
	size_t points = diff_count_points(text, len);
	if (points <= width) {
		str_write(out, text, len);
		return;
	}
	size_t front = (width - 3) / 2, back = width - 3 - front;
	str_write(out, text, find_point(text, len, front));
	str_puts(out, "...");
	size_t at = find_point(text, len, points - back);
	str_write(out, text + at, len - at);
}

/* Escaped: "file:line", without folders, or nothing. */
static void diff_words_put_place(struct str *out, const struct diff_row *row)
{
	if (!row->file || !row->file[0])
		return;
	str_puts_escaped(out, path_last_part(row->file));
	if (row->is_edited)
		str_puts(out, " (lines moved)");
	else if (row->line)
		str_printf(out, ":%u", row->line);
}

/* From the innermost on, since the beginnings of stacks are mostly the same. */
void diff_put_name(struct str *out, const struct difference *diff, const struct diff_row *row)
{
	if (diff->options.by == DIFF_BY_STACK)
		for (size_t i = row->path.len; i-- > 0;) {
			str_puts_escaped(out, row->path.data[i]);
			str_puts(out, i ? " < " : "");
		}
	else
		str_puts_escaped(out, row->name);
	if (row->old_name) {
		str_puts(out, ", was ");
		str_puts_escaped(out, row->old_name);
	}
	if (diff->options.by == DIFF_BY_LINE) {
		str_puts(out, " ");
		diff_words_put_place(out, row);
	}
}

/* That it has another name is what must be seen of it. */
static void put_renamed_within(struct str *out, const struct diff_row *row, size_t width)
{
	static const char was[] = ", was ";
	const char *names[] = {row->name, row->old_name};
	size_t room = (width - strlen(was)) / 2;
	for (int i = 0; i < 2; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		str_puts_escaped(&name, names[i]);
		str_puts(out, i ? was : "");
		diff_put_elided(out, str_text(&name), name.len, room);
	}
}

void diff_put_name_within(
	struct str *out, const struct difference *diff, const struct diff_row *row, size_t width)
{
	CLEANUP(str_deinit) struct str name = {0};
	diff_put_name(&name, diff, row);
	bool is_cut = diff->options.by == DIFF_BY_STACK &&
		      diff_count_points(str_text(&name), name.len) > width;
	if (is_cut) {
		str_write(out, name.data, find_point(name.data, name.len, width - 3));
		str_puts(out, "...");
	} else if (row->old_name && diff_count_points(str_text(&name), name.len) > width) {
		put_renamed_within(out, row, width);
	} else {
		diff_put_elided(out, str_text(&name), name.len, width);
	}
}

void diff_put_whereabouts(
	struct str *out, const struct difference *diff, const struct diff_row *row)
{
	enum diff_by by = diff->options.by;
	size_t began = out->len;
	if (by == DIFF_BY_FUNCTION)
		diff_words_put_place(out, row);
	if (out->len == began && (by == DIFF_BY_FUNCTION || by == DIFF_BY_STACK))
		str_puts_escaped(out, row->object);
}

/* ---- sentences ---- */

bool diff_is_of_chosen(const struct difference *diff)
{
	return diff->options.is_part || diff->sides[MATCH_BASE].unseen ||
	       diff->sides[MATCH_NEW].unseen;
}

const char *diff_whole_word(const struct difference *diff)
{
	return diff_is_of_chosen(diff) ? "what was chosen" : "the whole program";
}

static const char *plural_of(const struct difference *diff, size_t count)
{
	static const char *const words[DIFF_BY_COUNT][2] = {
		[DIFF_BY_FUNCTION] = {"function", "functions"},
		[DIFF_BY_FILE] = {"file", "files"},
		[DIFF_BY_LINE] = {"line", "lines"},
		[DIFF_BY_STACK] = {"stack", "stacks"},
	};
	return str_plural(count, words[diff->options.by][0], words[diff->options.by][1]);
}

/* "takes 12.3% longer (99% interval +9.8% .. +14.9%)", "is new, and takes 1.23%"; code that has no
 * samples any more may be there all the same, as the kernel's. */
static void diff_words_put_change(
	struct str *out, const struct difference *diff, const struct diff_judgement *judgement)
{
	if (isinf(judgement->effect)) {
		str_puts(out, "is new, and takes ");
		diff_put_amount(out, diff, &judgement->sides[MATCH_NEW]);
		return;
	}
	if (judgement->effect <= -1) {
		str_puts(out, "has no samples any more; it took ");
		diff_put_amount(out, diff, &judgement->sides[MATCH_BASE]);
		return;
	}
	diff_put_takes(out, judgement->effect, diff->unit);
	str_printf(out, " (%g%% interval ", 100 - 100 * diff->options.alpha);
	diff_put_interval(out, judgement);
	str_puts(out, ")");
}

void diff_put_judgement(
	struct str *out, const struct difference *diff, const struct diff_judgement *judgement)
{
	diff_words_put_change(out, diff, judgement);
	str_puts(out, ": ");
	diff_put_amount(out, diff, &judgement->sides[MATCH_BASE]);
	str_puts(out, " -> ");
	diff_put_amount(out, diff, &judgement->sides[MATCH_NEW]);
	str_puts(out, ", p ");
	diff_put_p(out, judgement->adjusted_p);
}

/* Of a large part of a program the odds lean on a small rest: what it took itself is told beside.
 */
static void put_change_of_amount(
	struct str *out, const struct difference *diff, const struct diff_judgement *judgement)
{
	double base = judgement->sides[MATCH_BASE].value, new = judgement->sides[MATCH_NEW].value;
	if (diff->runs_commands && diff->is_cpu_time && base > 0)
		str_printf(out, " (by its CPU time alone %+.1f%%)", 100 * (new / base - 1));
}

/* How much longer is told under conditions: of a share, and where nothing tells how runs differ. */
static void diff_words_put_condition(
	struct str *out, const struct difference *diff, const struct diff_judgement *judgement)
{
	bool is_of_rest = diff->options.metric == DIFF_SHARE && isfinite(judgement->effect) &&
			  judgement->effect > -1;
	if (!diff->knows_dispersion && is_of_rest)
		str_printf(out,
			", if the rest takes %s as before and runs do not differ by themselves",
			as_long(diff));
	else if (!diff->knows_dispersion)
		str_puts(out, ", if runs do not differ by themselves");
	else if (is_of_rest)
		str_printf(out, ", if the rest takes %s as before", as_long(diff));
	if (diff->knows_dispersion && is_of_rest)
		put_change_of_amount(out, diff, judgement);
}

static void diff_words_put_others(
	struct str *out, const struct difference *diff, size_t count, const char *what)
{
	if (count)
		str_printf(out, "; %zu other %s %s %s, too", count, plural_of(diff, count),
			str_plural(count, "takes", "take"), what);
}

/* That something sleeps longer is news only with what does. */
static void put_waiting(struct str *out, const struct difference *diff, diff_name_fn *put_name)
{
	vec_each(&diff->rows, row) {
		if (!row->waits_longer)
			continue;
		str_puts(out, "; with what it calls, ");
		put_name(out, diff, row);
		str_puts(out, " ");
		diff_words_put_change(out, diff, &row->total);
		diff_words_put_condition(out, diff, &row->total);
	}
}

/* "(3 functions)" */
static void diff_words_put_number(struct str *out, const struct difference *diff,
	const struct diff_replacement *replacement, enum match_side side)
{
	size_t count = replacement->nr_rows[side];
	str_printf(out, "(%zu %s)", count, plural_of(diff, count));
}

/* Behind "what" or "What": "only new has of app (3 functions)". */
static void put_replacing(struct str *out, const struct difference *diff,
	const struct diff_replacement *replacement, const struct diff_naming *naming)
{
	str_puts(out, " only new has of ");
	naming->put_text(out, replacement->object);
	str_puts(out, " ");
	diff_words_put_number(out, diff, replacement, MATCH_NEW);
}

static bool put_regressions_of_parts(struct str *out, const struct difference *diff,
	const struct diff_naming *naming, bool has_more)
{
	vec_each(&diff->replacements, replacement) {
		if (!replacement->makes_regression)
			continue;
		str_puts(out, has_more ? "; what" : "what");
		put_replacing(out, diff, replacement, naming);
		str_puts(out, " ");
		diff_words_put_change(out, diff, &replacement->judgement);
		str_puts(out, " than what only base has ");
		diff_words_put_number(out, diff, replacement, MATCH_BASE);
		diff_words_put_condition(out, diff, &replacement->judgement);
		has_more = true;
	}
	return has_more;
}

void diff_put_replacements(struct str *out, const struct difference *diff)
{
	put_regressions_of_parts(out, diff, &diff_naming_plain, false);
}

static void put_regression(
	struct str *out, const struct difference *diff, const struct diff_naming *naming)
{
	size_t count = diff_count(diff, DIFF_REGRESSION);
	const struct diff_row *first = NULL;
	vec_each(&diff->rows, row)
		if (!first && row->self.is_tested && row->self.verdict == DIFF_REGRESSION)
			first = row;
	bool is_program = diff->program.verdict == DIFF_REGRESSION;
	str_puts(out, "REGRESSION: ");
	if (is_program) {
		str_printf(out, "%s ", diff_whole_word(diff));
		diff_words_put_change(out, diff, &diff->program);
		str_puts(out, first ? "; " : "");
	}
	if (first) {
		naming->put_name(out, diff, first);
		str_puts(out, " ");
		diff_words_put_change(out, diff, &first->self);
		diff_words_put_condition(out, diff, &first->self);
		diff_words_put_others(out, diff, count - 1, longer(diff));
		put_waiting(out, diff, naming->put_name);
	}
	put_regressions_of_parts(out, diff, naming, first || is_program);
	str_puts(out, ".");
}

struct need {
	double factor, share;
};

static int by_factor(const void *a, const void *b)
{
	const struct need *x = a, *y = b;
	return x->factor < y->factor ? -1 : x->factor > y->factor;
}

/* How many times the samples would make half of the program visible; 0: no number would. */
static double find_needed(const struct difference *diff)
{
	VEC(struct need) needs = {0};
	vec_each(&diff->rows, row) {
		const struct diff_judgement *self = &row->self;
		double share = fmax(self->sides[0].share, self->sides[1].share);
		if (!self->is_tested || share < diff->options.min_share)
			continue;
		double half = self->half_width / diff->options.min_effect;
		struct need need = {half * half, (self->sides[0].share + self->sides[1].share) / 2};
		vec_push(&needs, need);
	}
	if (needs.len)
		qsort(needs.data, needs.len, sizeof(*needs.data), by_factor);
	double share = 0, factor = 0;
	vec_each(&needs, need) {
		share += need->share;
		factor = need->factor;
		if (share * 2 >= diff->judged_share)
			break;
	}
	vec_deinit(&needs);
	return share * 2 >= diff->judged_share && factor < 1e6 ? factor : 0;
}

/* Two digits are enough: 1.5, 28, 3200. */
static double round_up(double factor)
{
	double step = factor < 10 ? 0.5 : pow(10, floor(log10(factor)) - 1);
	return ceil(factor / step) * step;
}

/* By how much the runs of a side differ, chance being 1: of the rows that are judged, by their
 * shares. */
static double mean_dispersion(const struct difference *diff)
{
	double sum = 0, shares = 0;
	vec_each(&diff->rows, row) {
		const struct diff_judgement *self = &row->self;
		double share = self->sides[0].share + self->sides[1].share;
		if (!self->is_tested || share < 2 * diff->options.min_share)
			continue;
		sum += share * self->dispersion;
		shares += share;
	}
	return shares > 0 ? sum / shares : 1;
}

/* By itself it may take any time: what is left says how much longer that is. */
static const double all_but_the_rest = 0.95;

static double largest_share(const struct difference *diff)
{
	double largest = 0;
	vec_each(&diff->rows, row)
		for (int side = 0; row->self.is_tested && side < MATCH_SIDES; side++)
			largest = fmax(largest, row->self.sides[side].share);
	return largest;
}

/* What is sure, also where a regression might not have been seen. */
static void diff_words_put_improvements(
	struct str *out, const struct difference *diff, const struct diff_naming *naming)
{
	size_t count = diff_count(diff, DIFF_IMPROVEMENT);
	const struct diff_row *first = NULL;
	vec_each(&diff->rows, row)
		if (!first && row->self.is_tested && row->self.verdict == DIFF_IMPROVEMENT)
			first = row;
	if (!first)
		return;
	naming->put_name(out, diff, first);
	str_puts(out, " ");
	diff_words_put_change(out, diff, &first->self);
	diff_words_put_condition(out, diff, &first->self);
	diff_words_put_others(out, diff, count - 1, "less");
	str_puts(out, "; ");
}

enum {
	RUNS_THAT_TELL = 3, /* of a side: its quantile of t is a third of that of two */
};

/* How runs differ is known, though of hardly any. */
static bool has_few_runs(const struct difference *diff)
{
	return diff->knows_dispersion && (diff->sides[MATCH_BASE].runs.len < RUNS_THAT_TELL ||
						 diff->sides[MATCH_NEW].runs.len < RUNS_THAT_TELL);
}

/* Of the side with fewer samples there are too few for what would be reported. */
static void put_nothing_judged(struct str *out, const struct difference *diff)
{
	double min_share = diff->options.min_share;
	uint64_t base = diff->sides[MATCH_BASE].known, new = diff->sides[MATCH_NEW].known;
	uint64_t least = base < new ? base : new;
	if (min_share * (double)least >= DIFF_FEW_HITS)
		str_printf(out, "no %s has as much as %g%% of the samples.", plural_of(diff, 1),
			100 * min_share);
	else
		str_printf(out,
			"the %s side has only %llu %s: too few to judge a %s of %g%%. Record for "
			"longer, or more runs.",
			new < base ? "new" : "base", (unsigned long long)least,
			str_plural(least, "sample", "samples"), plural_of(diff, 1),
			100 * min_share);
}

static void diff_words_put_inconclusive(
	struct str *out, const struct difference *diff, const struct diff_naming *naming)
{
	const struct diff_options *options = &diff->options;
	str_puts(out, "INCONCLUSIVE: ");
	diff_words_put_improvements(out, diff, naming);
	str_puts(out, "no regression was found, but ");
	if (diff->is_ambiguous) {
		str_printf(out,
			"%s took %.1f%% more CPU time: it may be the rest that "
			"takes longer instead. --metric cpu-s tells, of two runs a side or more.",
			diff_whole_word(diff), 100 * diff->program.effect);
		return;
	}
	if (diff->judged_share <= 0) {
		put_nothing_judged(out, diff);
		return;
	}
	/* More samples of runs that differ anyway would tell no more. */
	double dispersion = diff->knows_dispersion ? mean_dispersion(diff) : 1;
	bool runs_differ = dispersion >= 2, are_few = has_few_runs(diff);
	/* What is measured each time varies by the runs, hardly by chance. */
	bool is_one = diff->is_measured && !diff->knows_dispersion;
	if (are_few || is_one)
		str_puts(out, "there are too few runs");
	else if (runs_differ && diff->is_weighted) /* in which chance has hardly any part */
		str_puts(out, "the runs of a side differ too much");
	else if (runs_differ)
		str_printf(out, "the runs of a side differ too much (%.*f times chance)",
			dispersion < 10 ? 1 : 0, dispersion);
	else
		str_puts(out, "there are too few samples");
	double visible = 100 * diff->visible_share / diff->judged_share;
	str_printf(
		out, ": whether its own time changed by %g%% is known ", 100 * options->min_effect);
	if (visible < 0.5)
		str_printf(out, "of no %s.", plural_of(diff, 1));
	else
		str_printf(out, "only of %s that take %.0f%% of %s.", plural_of(diff, 2), visible,
			is_time(diff) ? "the time" : "it");
	if (are_few || is_one) {
		str_printf(out, " Record %d runs a side or more: %s of how runs differ.",
			RUNS_THAT_TELL, is_one ? "one tells nothing" : "two tell little");
		return;
	}
	if (runs_differ) {
		str_puts(out, diff_programs_are_mixed(diff)
				      ? " They are of several programs."
				      : " Record more runs, or on a quieter machine.");
		return;
	}
	double needed = find_needed(diff), largest = largest_share(diff);
	if (options->metric == DIFF_SHARE && largest > all_but_the_rest)
		str_printf(out,
			" What takes %.1f%% has no rest to be compared with: --metric cpu-s "
			"compares its time.",
			100 * largest);
	else if (needed > 100)
		str_puts(out, " More samples are no way to that: --min-effect asks for less.");
	else if (needed > 1)
		str_printf(out,
			" Record about %.7g times as many samples: for longer, or more runs; "
			"--min-effect asks for less.",
			round_up(needed));
}

static void put_ok(struct str *out, const struct difference *diff)
{
	const struct diff_options *options = &diff->options;
	str_printf(out, "OK: nothing takes %g%% %s, which is known of %s that take %.0f%% of %s.",
		100 * options->min_effect, longer(diff), plural_of(diff, 2),
		100 * diff->visible_share / diff->judged_share, is_time(diff) ? "the time" : "it");
	size_t better = diff_count(diff, DIFF_IMPROVEMENT);
	if (better)
		str_printf(out, " %zu %s %s less.", better, plural_of(diff, better),
			str_plural(better, "takes", "take"));
}

void diff_put_verdict_naming(
	struct str *out, const struct difference *diff, const struct diff_naming *naming)
{
	if (diff->verdict == DIFF_REGRESSION)
		put_regression(out, diff, naming);
	else if (diff->verdict == DIFF_INCONCLUSIVE)
		diff_words_put_inconclusive(out, diff, naming);
	else
		put_ok(out, diff);
}

const struct diff_naming diff_naming_plain = {diff_put_name, str_puts_escaped};

void diff_put_verdict(struct str *out, const struct difference *diff)
{
	diff_put_verdict_naming(out, diff, &diff_naming_plain);
}

void diff_put_program(struct str *out, const struct difference *diff)
{
	const struct diff_judgement *program = &diff->program;
	str_puts(out, diff_is_of_chosen(diff) ? "What was chosen: " : "The whole program: ");
	diff_words_put_value(out, diff, program->sides[MATCH_BASE].value);
	str_puts(out, " -> ");
	diff_words_put_value(out, diff, program->sides[MATCH_NEW].value);
	str_printf(out, " %sa run, ", diff->is_cpu_time ? "of CPU " : "");
	diff_put_effect(out, program->effect);
	if (diff->program_reason) {
		str_printf(out, " (no verdict: %s).", diff->program_reason);
		return;
	}
	str_puts(out, " (");
	diff_put_interval(out, program);
	str_puts(out, ", p ");
	diff_put_p(out, program->adjusted_p);
	str_printf(out, "): %s.", diff_verdict_word(program->verdict));
}

/* Which of the rows that have at least this share is the nearest. */
static const struct diff_row *find_near(const struct difference *diff, double share)
{
	const struct diff_row *best = NULL;
	double best_off = INFINITY;
	vec_each(&diff->rows, row) {
		double own = (row->self.sides[0].share + row->self.sides[1].share) / 2;
		double off = fabs(log(fmax(own, 1e-9) / share));
		if (row->self.is_tested && off < best_off && off < log(1.5)) {
			best = row;
			best_off = off;
		}
	}
	return best;
}

void diff_put_detectable(struct str *out, const struct difference *diff)
{
	static const double shares[] = {0.5, 0.2, 0.05, 0.01};
	bool is_first = true;
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		const struct diff_row *row = find_near(diff, shares[i]);
		if (!row)
			continue;
		double own = (row->self.sides[0].share + row->self.sides[1].share) / 2;
		str_puts(out, is_first ? "Smallest changes that 95 of 100 such comparisons detect: "
				       : ", ");
		if (row->self.detectable < as_factor)
			diff_put_effect(out, row->self.detectable);
		else
			str_puts(out, "none below tenfold");
		str_printf(out, " in what takes %.2g%%", 100 * own);
		is_first = false;
	}
	str_puts(out, is_first ? "" : ".");
}

void diff_put_same(struct str *out, const struct difference *diff)
{
	size_t same = diff_count(diff, DIFF_SAME), tested = 0;
	vec_each(&diff->rows, row)
		tested += row->self.is_tested;
	str_printf(out, "Not changed by %g%%: %zu, with %.1f%% of the samples. ",
		100 * diff->options.min_effect, same, 100 * diff_share_of(diff, DIFF_SAME));
	str_printf(out, "Too small to be judged: %zu.", diff->nr_entities - tested);
}

static void diff_words_put_cut(struct str *out, const struct difference *diff)
{
	for (int i = 0; i < MATCH_SIDES; i++) {
		const struct diff_side *side = &diff->sides[i];
		if (side->cut)
			str_printf(out,
				"%.1f%% of the %s side's samples lost part of their stacks, to "
				"keep "
				"the baseline small: total times are not compared. ",
				100 * (double)side->cut / (double)side->samples,
				i == MATCH_BASE ? "base" : "new");
	}
}

/* What has grown may be too small a part of what all threads waited for to be found. */
static void diff_words_put_parts(
	struct str *out, const struct difference *diff, const struct diff_naming *naming)
{
	str_puts(out, "Compared is ");
	naming->put_text(out, diff->event);
	str_puts(out, ", the sum of ");
	naming->put_text(out, diff->parts);
	str_puts(out, ": --event compares one of them. ");
}

static bool has_rows_without_estimate(const struct difference *diff)
{
	vec_each(&diff->rows, row)
		if (diff_is_in_list(diff, row, DIFF_LIST_INCONCLUSIVE) && !has_estimate(&row->self))
			return true;
	return false;
}

static bool has_edited_functions(const struct difference *diff)
{
	vec_each(&diff->rows, row)
		if (row->is_edited && row->self.is_tested)
			return true;
	return false;
}

static bool ends_in_reasons(const struct difference *diff)
{
	vec_each(&diff->rows, row)
		if (diff->options.by == DIFF_BY_FUNCTION && row->self.is_tested &&
			strcmp(row->object, PROFILE_WAITS) == 0)
			return true;
	return false;
}

void diff_put_columns(struct str *out, const struct difference *diff)
{
	if (!diff->rows.len)
		return;
	if (diff->options.metric == DIFF_SHARE)
		str_printf(out,
			"Before and new are shares of %s; change is by how much %s each takes, if "
			"the rest takes %s as before. ",
			diff_is_of_chosen(diff) ? "the chosen samples of each side"
						: "a side's samples",
			longer(diff), as_long(diff));
	else
		str_printf(out, "Before and new are %s of a run. ",
			is_time(diff) ? "seconds" : "amounts");
	if (has_edited_functions(diff))
		str_puts(out, "(lines moved): all lines of a function that seems to have been "
			      "edited. ");
	if (ends_in_reasons(diff))
		str_puts(out, "[wait: ...] is all that waits for one reason: whose it is, --by "
			      "stack or -S FUNCTION tells. ");
	if (has_rows_without_estimate(diff))
		str_puts(out, "?: too little is left to compare it with for a number. ");
	if (out->len && out->data[out->len - 1] == ' ')
		str_truncate(out, out->len - 1);
}

/* Two programs have the C library and the kernel in common, hardly more. */
static void diff_words_put_common(struct str *out, const struct difference *diff)
{
	static const double least = 0.2;
	double common[MATCH_SIDES] = {0};
	vec_each(&diff->rows, row)
		for (int side = 0; side < MATCH_SIDES; side++)
			if (!row->old_name && row->self.sides[0].samples &&
				row->self.sides[1].samples)
				common[side] += row->self.sides[side].share;
	double share = fmax(common[MATCH_BASE], common[MATCH_NEW]);
	if (diff->options.by == DIFF_BY_FUNCTION && diff->judged_share > 0 && share < least)
		str_printf(out,
			"Functions that both sides have take %.0f%% of the samples: are these "
			"recordings of one program? ",
			100 * share);
}

/* Why rows are neither regressions nor improvements. */
static void diff_words_put_replacement(struct str *out, const struct difference *diff,
	const struct diff_replacement *replacement, const struct diff_naming *naming)
{
	static const char *const conclusions[] = {
		[DIFF_INCONCLUSIVE] = "which may be chance",
		[DIFF_SAME] = "which is the same",
		[DIFF_REGRESSION] = "so that what is gone is no improvement",
		[DIFF_IMPROVEMENT] = "so that what is new is no regression",
	};
	const struct diff_judgement *judgement = &replacement->judgement;
	str_puts(out, "What");
	put_replacing(out, diff, replacement, naming);
	str_puts(out, " may be what only base has ");
	diff_words_put_number(out, diff, replacement, MATCH_BASE);
	str_puts(out, ", split or rewritten: together ");
	diff_put_amount(out, diff, &judgement->sides[MATCH_BASE]);
	str_puts(out, " -> ");
	diff_put_amount(out, diff, &judgement->sides[MATCH_NEW]);
	str_puts(out, ", ");
	diff_put_effect(out, judgement->effect);
	str_puts(out, " (");
	diff_put_interval(out, judgement);
	str_printf(out, "), %s. ", conclusions[judgement->verdict]);
}

static bool has_kernel(const struct difference *diff)
{
	vec_each(&diff->rows, row)
		if (row->is_kernel && row->self.is_tested)
			return true;
	return false;
}

/* What the interpreter does is mostly no change of the program. */
static const double much_native = 0.2;

void diff_put_caveats(struct str *out, const struct difference *diff)
{
	diff_put_caveats_naming(out, diff, &diff_naming_plain);
}

void diff_put_caveats_naming(
	struct str *out, const struct difference *diff, const struct diff_naming *naming)
{
	diff_put_programs(out, diff, naming->put_text);
	diff_words_put_common(out, diff);
	vec_each(&diff->replacements, replacement)
		if (replacement->nr_withheld)
			diff_words_put_replacement(out, diff, replacement, naming);
	if (!diff->knows_dispersion)
		str_puts(out, "One run a side: how runs differ by themselves is not known, twice "
			      "what chance makes was allowed for; where one part grew, others have "
			      "less (--metric cpu-s, of two runs a side, compares times). ");
	if (!diff->knows_dispersion && !diff->is_measured && has_kernel(diff))
		str_puts(out, "Of the kernel's functions, which other programs and interrupts have "
			      "a part in, one run a side tells nothing. ");
	if (!diff->is_measured && diff->native_share >= much_native &&
		diff->options.by != DIFF_BY_FILE)
		str_printf(out,
			"%.0f%% of the samples are in native functions that scripts called: "
			"--no-native counts them for the scripts' own. ",
			100 * diff->native_share);
	size_t empty = diff->sides[0].nr_empty + diff->sides[1].nr_empty;
	if (empty)
		str_printf(out, "%zu %s left out. ", empty,
			str_plural(empty, "run without any sample was",
				"runs without any sample were"));
	uint64_t others = diff->sides[0].other_samples + diff->sides[1].other_samples;
	if (others)
		str_printf(out, "%llu %s left out (--event). ", (unsigned long long)others,
			str_plural(others, "sample of other events was",
				"samples of other events were"));
	if (diff->parts)
		diff_words_put_parts(out, diff, naming);
	double all = (double)(diff->sides[0].samples + diff->sides[1].samples);
	double unknown = all - (double)(diff->sides[0].known + diff->sides[1].known);
	if (unknown > 0.001 * all)
		str_printf(out,
			"%.1f%% of the samples have truncated stacks, of which nothing is "
			"known; they were left out. ",
			100 * unknown / all);
	diff_words_put_cut(out, diff);
	if (out->len && out->data[out->len - 1] == ' ')
		str_truncate(out, out->len - 1);
}

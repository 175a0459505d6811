/*
 * How often a diff says what is not so, and how often it sees what is: trials whose truth is known,
 * made of a real recording.
 *
 *   ab_trials FILE TRIALS SEED [PART_OF_A_SETTING]
 *
 * Runs are drawn from FILE's samples, with replacement: sample by sample, so that chance alone
 * makes them differ, or in blocks of samples that followed each other, so that runs differ by
 * more than chance, as those of programs with phases do. How long a run is varies by 2.4 %, too. In
 * a trial without a change every reported row is a false alarm, and each is judged at several
 * alphas. In the others one function takes 5 % longer: it is drawn that much more often. All goes
 * the whole way through difference_create(). The same arguments make the same figures.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "report/compare/difference.h"
#include "report/compare/entities.h"
#include "report/load/load.h"
#include "report/name/symbol/symbolizer.h"

enum {
	ALPHAS = 2,
};

static const double alphas[ALPHAS] = {.01, .05};

struct setting {
	const char *name;
	size_t runs, samples; /* of each side; of each run */
	size_t block;         /* samples that are drawn together */
	struct diff_options options;
	double slowdown; /* of the function; 0: nothing changes */
};

struct trials {
	struct profile *profile;
	uint64_t random;
	uint32_t *leaf;  /* entity of each stack's self */
	uint32_t slowed; /* entity */
	char *slowed_name;
	size_t count;
};

struct outcome {
	size_t alarms;  /* trials that end with a regression that is none */
	size_t wrong;   /* trials with a false alarm among the rows, better or worse */
	size_t program; /* trials with one of the whole program */
	size_t any;     /* trials with either */
	size_t seen;    /* trials that saw the slowdown, promised or not */
	size_t promised, caught,
		first;     /* trials that would see it; that saw it; as the first one */
	double detectable; /* mean */
	double dispersion; /* mean, of the function */
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "ab_trials: %s: %s\n", what, why);
	exit(1);
}

static void check(const char *what, struct err *err)
{
	if (err)
		die(what, err_message(err));
}

/* ---- chance ---- */

static uint64_t draw(struct trials *trials, uint64_t below)
{
	trials->random = map_mix(trials->random + 0x9e3779b97f4a7c15ULL);
	return (trials->random >> 16) % below;
}

static double draw_real(struct trials *trials)
{
	return (double)draw(trials, 1ULL << 40) / (double)(1ULL << 40);
}

/* Twelve uniform ones less their mean are nearly normal. */
static double draw_normal(struct trials *trials)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += draw_real(trials);
	return sum;
}

/* ---- sides ---- */

/* A recording of `runs` origins, which shares everything with the real one but its samples. */
static void begin_side(const struct trials *trials, size_t runs, struct profile *side)
{
	static const struct profile_origin origin = {
		.name = "run", .info.reason = LAYOUT_END_COMMAND};
	*side = *trials->profile;
	memset(&side->samples, 0, sizeof(side->samples));
	memset(&side->threads, 0, sizeof(side->threads));
	memset(&side->processes, 0, sizeof(side->processes));
	memset(&side->origins, 0, sizeof(side->origins));
	for (uint32_t i = 0; i <= runs; i++) {
		vec_push(&side->origins, origin);
		vec_push(&side->processes, (struct profile_process){.info.origin = i});
		vec_push(&side->threads, (struct profile_thread){.process = i, .comm = ""});
	}
}

static void end_side(struct profile *side)
{
	vec_deinit(&side->samples);
	vec_deinit(&side->threads);
	vec_deinit(&side->processes);
	vec_deinit(&side->origins);
}

/* Whether a sample that was drawn is kept: others become rarer instead of the slow one more. */
static bool is_kept(struct trials *trials, const struct profile_sample *sample, double slowdown)
{
	return trials->leaf[sample->stack] == trials->slowed ||
	       draw_real(trials) * (1 + slowdown) < 1;
}

static void draw_run(struct trials *trials, const struct setting *setting, double slowdown,
	uint32_t thread, struct profile *side)
{
	size_t all = trials->profile->samples.len, block = setting->block;
	double wanted = (double)setting->samples * (1 + 0.024 * draw_normal(trials));
	size_t end = side->samples.len + (size_t)fmax(1, wanted);
	while (side->samples.len < end) {
		size_t first = draw(trials, all);
		for (size_t i = 0; i < block && side->samples.len < end; i++) {
			struct profile_sample sample =
				trials->profile->samples.data[(first + i) % all];
			sample.thread = thread;
			if (slowdown == 0 || is_kept(trials, &sample, slowdown))
				vec_push(&side->samples, sample);
		}
	}
}

static void draw_side(
	struct trials *trials, const struct setting *setting, double slowdown, struct profile *side)
{
	begin_side(trials, setting->runs, side);
	for (size_t run = 1; run <= setting->runs; run++)
		draw_run(trials, setting, slowdown, (uint32_t)run, side);
}

/* ---- trials ---- */

static bool is_reported(const struct diff_judgement *judgement)
{
	return judgement->is_tested &&
	       (judgement->verdict == DIFF_REGRESSION || judgement->verdict == DIFF_IMPROVEMENT);
}

static void judge_slowed(const struct trials *trials, const struct setting *setting,
	const struct difference *diff, struct outcome *outcome)
{
	bool is_first = true;
	vec_each(&diff->rows, row) {
		bool is_slowed = strcmp(row->name, trials->slowed_name) == 0;
		bool is_regression = row->self.is_tested && row->self.verdict == DIFF_REGRESSION;
		if (is_slowed && row->self.is_tested) {
			bool is_promised = row->self.detectable <= setting->slowdown;
			outcome->promised += is_promised;
			outcome->seen += is_regression;
			outcome->caught += is_promised && is_regression;
			outcome->first += is_promised && is_regression && is_first;
			outcome->detectable += row->self.detectable;
			outcome->dispersion += row->self.dispersion;
		}
		is_first &= !is_regression;
	}
}

static void count_false(const struct trials *trials, const struct setting *setting,
	const struct difference *diff, struct outcome *outcome)
{
	bool is_alarm = diff->program.verdict == DIFF_REGRESSION, is_wrong = false;
	vec_each(&diff->rows, row) {
		bool is_true = setting->slowdown > 0 && strcmp(row->name, trials->slowed_name) == 0;
		if (is_true || !is_reported(&row->self))
			continue;
		is_wrong = true;
		is_alarm |= row->self.verdict == DIFF_REGRESSION;
	}
	vec_each(&diff->replacements, replacement)
		is_alarm |= replacement->makes_regression;
	outcome->alarms += is_alarm;
	outcome->wrong += is_wrong;
	outcome->program += is_reported(&diff->program);
	outcome->any += is_wrong || is_reported(&diff->program);
}

static void try_once(
	struct trials *trials, const struct setting *setting, struct outcome outcomes[ALPHAS])
{
	struct profile base, new;
	draw_side(trials, setting, 0, &base);
	draw_side(trials, setting, setting->slowdown, &new);
	for (int i = 0; i < ALPHAS; i++) {
		struct difference *diff;
		struct diff_options options = setting->options;
		options.alpha = alphas[i];
		check("diff", difference_create(&base, &new, &options, &diff));
		count_false(trials, setting, diff, &outcomes[i]);
		judge_slowed(trials, setting, diff, &outcomes[i]);
		difference_destroy(diff);
	}
	end_side(&base);
	end_side(&new);
}

static void put_outcome(const struct trials *trials, const struct setting *setting, double alpha,
	const struct outcome *outcome)
{
	double count = (double)trials->count;
	printf("%-34s %2zu x %6zu  nominal %g %%: false alarms %5.2f %%, rows: any %5.2f %%, "
	       "of rows %5.2f %%, of the program %5.2f %%\n",
		setting->name, setting->runs, setting->samples, 100 * alpha,
		100 * (double)outcome->alarms / count, 100 * (double)outcome->any / count,
		100 * (double)outcome->wrong / count, 100 * (double)outcome->program / count);
	if (setting->slowdown > 0) {
		printf("%-34s detectable from %+.2f %% on (mean, dispersion %.2f); it said that "
		       "%+g %% is in %zu trials",
			"", 100 * outcome->detectable / count, outcome->dispersion / count,
			100 * setting->slowdown, outcome->promised);
		if (outcome->promised)
			printf(", and of those caught %.2f %%, as the first of all %.2f %%",
				100 * (double)outcome->caught / (double)outcome->promised,
				100 * (double)outcome->first / (double)outcome->promised);
		printf("; seen in %.2f %% of all\n", 100 * (double)outcome->seen / count);
	}
	fflush(stdout);
}

static void try_all(struct trials *trials, const struct setting *setting)
{
	struct outcome outcomes[ALPHAS] = {{0}};
	for (size_t i = 0; i < trials->count; i++)
		try_once(trials, setting, outcomes);
	for (int i = 0; i < ALPHAS; i++)
		put_outcome(trials, setting, alphas[i], &outcomes[i]);
}

/* ---- the recording ---- */

/* The function with the most self time; the smaller, the more samples it takes to see it. */
static void choose_function(struct trials *trials)
{
	const struct profile *profile = trials->profile;
	struct entities *entities = entities_create(DIFF_BY_FUNCTION, profile, profile);
	struct entity_list list = {0};
	trials->leaf = mem_zalloc_array(profile->stacks.len, sizeof(*trials->leaf));
	for (uint32_t i = 0; i < profile->stacks.len; i++) {
		entities_of_stack(entities, MATCH_NEW, i, &list);
		trials->leaf[i] = list.data[0];
	}
	size_t count = entities_count(entities);
	CLEANUP_FREE size_t *samples = mem_zalloc_array(count, sizeof(*samples));
	vec_each(&profile->samples, sample)
		samples[trials->leaf[sample->stack]]++;
	for (uint32_t i = 0; i < count; i++)
		if (samples[i] > samples[trials->slowed])
			trials->slowed = i;
	struct diff_row row = {0};
	entities_name(entities, trials->slowed, &row);
	trials->slowed_name = mem_strdup(row.name);
	printf("%zu samples, %zu functions; slowed: %s, %.1f %%\n", profile->samples.len, count,
		trials->slowed_name,
		100 * (double)samples[trials->slowed] / (double)profile->samples.len);
	vec_deinit(&list);
	entities_destroy(entities);
}

static void load(struct trials *trials, const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path, strerror(errno));
	check(path, profile_load(fd, NULL, &trials->profile));
	symbolize(trials->profile, &(struct symbolize_options){0});
	if (!trials->profile->samples.len)
		die(path, "no samples");
	choose_function(trials);
}

int main(int argc, char **argv)
{
	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: ab_trials FILE TRIALS SEED [SETTING]\n");
		return 2;
	}
	struct trials trials = {
		.count = strtoull(argv[2], NULL, 10), .random = strtoull(argv[3], NULL, 10)};
	load(&trials, argv[1]);
#define EVERY \
	{ \
		.min_share = .001 \
	}
#define BY_CPU \
	{ \
		.metric = DIFF_CPU_S, .min_share = .001 \
	}
#define SMALL \
	{ \
		.min_effect = .02, .min_share = .005 \
	}
	static const struct setting settings[] = {
		{"A/A, one run a side", 1, 20000, 1, EVERY, 0},
		{"A/A, one run of few samples", 1, 1000, 1, {0}, 0},
		{"A/A, 2 runs", 2, 10000, 1, EVERY, 0},
		{"A/A, 5 runs", 5, 4000, 1, EVERY, 0},
		{"A/A, 2 runs in blocks", 2, 10000, 20, EVERY, 0},
		{"A/A, 3 runs in blocks", 3, 7000, 20, EVERY, 0},
		{"A/A, 5 runs in blocks", 5, 4000, 20, EVERY, 0},
		{"A/A, 10 runs in blocks", 10, 2000, 20, EVERY, 0},
		{"A/A, 2 runs in long blocks", 2, 10000, 200, EVERY, 0},
		{"A/A, 5 runs in long blocks", 5, 4000, 200, EVERY, 0},
		{"A/A, 5 runs in blocks, as it is called", 5, 4000, 20, DIFF_OPTIONS_DEFAULT, 0},
		{"A/A, 2 runs in blocks, by CPU time", 2, 10000, 20, BY_CPU, 0},
		{"A/A, 5 runs in blocks, by CPU time", 5, 4000, 20, BY_CPU, 0},
		{"5 % slower, one run a side", 1, 300000, 1, SMALL, .05},
		{"5 % slower, 2 runs", 2, 200000, 1, SMALL, .05},
		{"5 % slower, 5 runs", 5, 80000, 1, SMALL, .05},
		{"5 % slower, 5 runs in blocks", 5, 80000, 5, SMALL, .05},
	};
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (argc < 5 || strstr(settings[i].name, argv[4]))
			try_all(&trials, &settings[i]);
	mem_free(trials.leaf);
	mem_free(trials.slowed_name);
	profile_destroy(trials.profile);
	return 0;
}

#include "report/tui/baseline.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "format/base/err.h"
#include "report/analyse/refine_stacks.h"
#include "report/load/load.h"
#include "report/model/regular_file.h"
#include "report/name/symbol/symbolizer.h"

struct baseline {
	char *path;
	char *problem;           /* NULL: it could be read */
	struct str import_notes; /* foreign text, a line each */
	struct profile *profile; /* NULL: it could not */
	struct model_names *names;
	struct model_names *merged;         /* of both; NULL: not yet */
	struct model_names *merged_with;    /* the other side's, held: while it is the same */
	enum match_side merged_as;          /* the side that the baseline is in `merged` */
	const struct diff_options *judging; /* borrowed; see compare_judge() */
	struct symbolize_options options;   /* the symbolizer's */
	struct symbolizer *symbolizer;      /* NULL: it has all its names */
	struct name_thread *naming;         /* NULL: it has not begun */
};

static void forget_merged(struct baseline *baseline)
{
	model_names_release(steal_ptr(baseline->merged));
	model_names_release(steal_ptr(baseline->merged_with));
}

static void forget_names(struct baseline *baseline)
{
	forget_merged(baseline);
	model_names_release(steal_ptr(baseline->names));
}

/* ---- loading ---- */

/* Nothing but a file: opening a FIFO would wait for ever. */
static struct err *baseline_open_file(const char *path, int *ret)
{
	struct stat st;
	int fd = regular_file_open(path, NULL, &st);
	if (fd < 0 && errno == EINVAL)
		return err_new(ERR_USAGE, "it is no regular file");
	if (fd < 0)
		return err_sys(errno, "cannot open it");
	*ret = fd;
	return NULL;
}

/* By what is on this machine, which does not take long. */
static void name_by_files(struct baseline *baseline)
{
	baseline->symbolizer = symbolizer_create(baseline->profile, &baseline->options);
	symbolizer_begin(baseline->symbolizer);
	symbolizer_rank(baseline->symbolizer);
	struct pending *pending;
	bool waits;
	while ((pending = symbolizer_next(baseline->symbolizer, &waits)) &&
		pending->next < LOOKUP_NETWORK) {
		struct lookup_result result;
		lookup_run(pending, &result);
		pending_apply(pending, &result);
	}
}

static struct err *import_foreign(baseline_import_fn *import, int *fd, struct str *notes)
{
	return import ? import(fd, notes) : NULL;
}

static struct err *baseline_load_file(struct baseline *baseline,
	const struct symbolize_options *options, const struct filter *filter,
	baseline_import_fn *import)
{
	CLEANUP_FD int fd = -1;
	struct profile_options loading = {.files = &options->files};
	baseline->options = *options;
	try(baseline_open_file(baseline->path, &fd));
	try(import_foreign(import, &fd, &baseline->import_notes));
	try(profile_load(fd, &loading, &baseline->profile));
	struct filter of_names = filter_of_names(filter);
	filter_samples(baseline->profile, &of_names);
	name_by_files(baseline);
	refine_stacks(baseline->profile);
	filter_stacks(baseline->profile, &of_names);
	return NULL;
}

struct baseline *baseline_create(const char *path, struct profile *profile)
{
	struct baseline *baseline = mem_zalloc(sizeof(*baseline));
	baseline->path = mem_strdup(path);
	baseline->profile = profile;
	return baseline;
}

void baseline_judge_by(struct baseline *baseline, const struct diff_options *judging)
{
	baseline->judging = judging;
}

struct baseline *baseline_load(const char *path, const struct symbolize_options *options,
	const struct filter *filter, baseline_import_fn *import)
{
	struct baseline *baseline = baseline_create(path, NULL);
	struct err *err = baseline_load_file(baseline, options, filter, import);
	if (err)
		baseline->problem = mem_strdup(err_message(err));
	err_destroy(err);
	return baseline;
}

void baseline_destroy(struct baseline *baseline)
{
	if (!baseline)
		return;
	mem_free(baseline->path);
	mem_free(baseline->problem);
	str_deinit(&baseline->import_notes);
	name_thread_end(baseline->naming);
	forget_names(baseline);
	symbolizer_destroy(baseline->symbolizer);
	profile_destroy(baseline->profile);
	mem_free(baseline);
}

/* ---- names from servers ---- */

struct name_thread *baseline_begin_naming(
	struct baseline *baseline, void (*wake)(void *context), void *context)
{
	if (!baseline->symbolizer || baseline->naming || !baseline->options.files.debuginfod)
		return NULL;
	struct name_thread_options options = {
		.symbolizer = baseline->symbolizer,
		.debuginfod = baseline->options.files.debuginfod,
		.wake = wake,
		.context = context,
	};
	baseline->naming = name_thread_create(&options);
	return baseline->naming;
}

bool baseline_stop(struct baseline *baseline, const struct timespec *deadline)
{
	if (!baseline)
		return true;
	if (!name_thread_destroy(baseline->naming, deadline))
		return false;
	baseline->naming = NULL;
	return true;
}

bool baseline_apply_names(struct baseline *baseline)
{
	if (!baseline || !baseline->naming || !name_thread_apply(baseline->naming))
		return false;
	forget_names(baseline);
	return true;
}

/* ---- filters ---- */

/* What the term means for the baseline; false: nothing, there threads and times are others. */
static bool translate(const struct baseline *baseline, const struct profile *new,
	const struct scope_term *term, struct scope_term *ret)
{
	const struct profile *base = baseline->profile;
	/* The frame that stands for none: in no stack. */
	static const struct scope_term nowhere = {.kind = SCOPE_FUNCTION};
	*ret = *term;
	switch (term->kind) {
	case SCOPE_FUNCTION:
		ret->number = compare_find_frame(base, new, term->number);
		if (!ret->number) /* it may have another name there */
			ret->number = diff_tree_frame_across(baseline->merged->diff,
				match_other_side(baseline->merged_as), term->number);
		return true;
	case SCOPE_OBJECT:
		ret->number = compare_find_object(base, new, term->number);
		if (!ret->number) {
			*ret = nowhere;
			ret->excludes = term->excludes;
		}
		return true;
	default:
		return scope_is_of_names(term->kind);
	}
}

/* Returns how many terms are left out. */
static size_t translate_scope(const struct baseline *baseline, const struct profile *new,
	const struct scope *scope, struct scope *ret)
{
	size_t nr_left_out = 0;
	*ret = (struct scope){0};
	vec_each(&scope->terms, term) {
		struct scope_term translated;
		if (translate(baseline, new, term, &translated))
			scope_add(ret, &translated);
		else
			nr_left_out++;
	}
	return nr_left_out;
}

/*
 * ---- the call trees of both as a model: what draws and searches models does the same with it ----
 */

/* The tables are the diff's; nothing is ever added to them. */
#define BORROW(to, from) ((to).data = (from).data, (to).len = (from).len)

/* The names and the tree of both: functions, objects and frames are those of names->diff. */
static struct model_names *names_of_both(
	const struct diff_tree_side *base, const struct diff_tree_side *new)
{
	struct model_names *names = mem_zalloc(sizeof(*names));
	struct diff_tree *diff = mem_zalloc(sizeof(*diff));
	diff_tree_init(diff, base, new);
	names->references = 1;
	names->diff = diff;
	names->tree = diff->tree;
	BORROW(names->functions, diff->functions);
	BORROW(names->objects, diff->objects);
	BORROW(names->frames, diff->frames);
	names->groups = mem_zalloc_array(diff->functions.len, sizeof(*names->groups));
	for (uint32_t i = 0; i < diff->functions.len; i++)
		names->groups[i] = i;
	return names;
}

/*
 * As wide as the mean of both sides, whose weights are of that tree. There is nothing in it but
 * names, weights and matches.
 */
static struct model *model_of_both(const struct model *model, struct model_names *names,
	struct tree_weight *const sides[MATCH_SIDES], const char *search)
{
	struct model *both = mem_zalloc(sizeof(*both));
	both->references = 1;
	both->wish_serial = model->wish_serial;
	both->profile = model->profile;
	both->event = model->event;
	both->names = model_names_hold(names);
	both->weights = diff_tree_mean(names->diff, sides[MATCH_BASE], sides[MATCH_NEW]);
	both->slice.whole = (struct slice_sum){both->weights->total, both->weights->samples};
	tree_weigh_functions(&names->tree, both->weights, names->frames.data, names->functions.len,
		&both->functions); /* by which matches are counted */
	model_find_matches(both, search);
	return both;
}

/* ---- comparing ---- */

static bool is_other_meta(const struct profile *base, const struct profile *new, const char *key)
{
	const char *a = profile_meta(base, key), *b = profile_meta(new, key);
	return a && b && strcmp(a, b) != 0;
}

/* Builds replace each other: the file of an earlier one is often gone, and its names with it. */
static void baseline_put_unnamed(
	const struct compare *compare, enum match_side side, struct str *out)
{
	static const double much_percent = 5; /* more than on the other side */
	uint64_t unnamed[MATCH_SIDES] = {0};
	vec_each(&compare->rows, row) {
		unnamed[MATCH_BASE] += row->is_known ? 0 : row->base.self;
		unnamed[MATCH_NEW] += row->is_known ? 0 : row->new.self;
	}
	const double percents[] = {
		[MATCH_BASE] = profile_percent(unnamed[MATCH_BASE], compare->wholes.base.value),
		[MATCH_NEW] = profile_percent(unnamed[MATCH_NEW], compare->wholes.new.value),
	};
	double percent = percents[side];
	if (percent >= percents[match_other_side(side)] + much_percent)
		str_printf(out, "%.0f%% of the baseline has no names: archive before rebuilding; ",
			percent);
}

/* Most compare a recording with an earlier one. */
static void put_order(const struct profile *before, const struct profile *after, struct str *out)
{
	uint64_t before_ns = profile_wall_ns(before, before->first_ns);
	uint64_t after_ns = profile_wall_ns(after, after->first_ns);
	if (after_ns && before_ns > after_ns)
		str_puts(out, "X swaps: \"before\" is the later recording; ");
}

/* What is to be known of the baseline before believing the numbers. */
static void put_notes(const struct profile *base, const struct profile *new,
	const struct diff_tree *diff, bool is_of_event, struct str *out)
{
	if (diff->left_out)
		str_puts(out, "? rare stacks were left out of the baseline; ");
	if (!is_of_event)
		str_puts(out, "it has no samples of this event; ");
	if (is_other_meta(base, new, LAYOUT_META_CPU_MODEL))
		str_printf(out, "other CPU: %s; ", profile_meta(base, LAYOUT_META_CPU_MODEL));
	if (!base->file.ended)
		str_puts(out, "it was cut; ");
	if (profile_lost(base))
		str_printf(out, "%.1f%% of its samples were lost; ",
			profile_percent(
				profile_lost(base), profile_lost(base) + base->samples.len));
}

static void put_import_notes(const struct str *notes, struct str *out)
{
	const char *line = str_text(notes);
	for (const char *end; (end = strchr(line, '\n')); line = end + 1)
		str_printf(out, "%.*s; ", (int)(end - line), line);
}

static void baseline_refresh_names(struct baseline *baseline, const struct model_wish *wish)
{
	if (baseline->names && model_names_are_for(baseline->profile, baseline->names, wish))
		return;
	forget_names(baseline);
	baseline->names = model_names_create_for(baseline->profile, 1, wish, NULL);
}

static struct tree_weight *weigh_all(const struct profile *profile, const struct tree *tree)
{
	struct slice slice;
	slice_init_all(&slice, profile);
	struct tree_weight *weights = tree_weigh(tree, &slice);
	slice_deinit(&slice);
	return weights;
}

/* The trees are merged when either side's names, or the sides, are others, not for each filter. */
static void refresh_merged(
	struct baseline *baseline, const struct model *model, enum match_side side)
{
	if (baseline->merged && baseline->merged_with == model->names &&
		baseline->merged_as == side)
		return;
	forget_merged(baseline);
	const struct tree *of_base = &baseline->names->tree, *of_new = &model->names->tree;
	CLEANUP_FREE struct tree_weight *base_weights = weigh_all(baseline->profile, of_base);
	CLEANUP_FREE struct tree_weight *new_weights = weigh_all(model->profile, of_new);
	struct diff_tree_side base = {baseline->profile, of_base, base_weights};
	struct diff_tree_side new = {model->profile, of_new, new_weights};
	baseline->merged =
		side == MATCH_BASE ? names_of_both(&base, &new) : names_of_both(&new, &base);
	baseline->merged_as = side;
	baseline->merged->hides_native = model->names->hides_native;
	baseline->merged->hides_kernel = model->names->hides_kernel;
	baseline->merged_with = model_names_hold(model->names);
}

/* For each sample whether it is of the source's event and meets the scope; to be freed. */
static bool *find_seen(const struct diff_source *source, const struct model_names *names,
	const struct scope *scope, const atomic_bool *is_cancelled)
{
	const struct profile *profile = source->profile;
	struct scope_stacks stacks = model_names_stacks(names, profile);
	bool *is_seen = mem_zalloc_array(profile->samples.len + 1, sizeof(*is_seen));
	struct scope_walk walk;
	scope_walk_init(&walk, scope, profile, &stacks, is_cancelled);
	for (const struct profile_sample *sample; (sample = scope_walk_next(&walk));)
		is_seen[sample - profile->samples.data] =
			profile_event_has(profile, source->event, sample->event);
	scope_walk_deinit(&walk);
	return is_seen;
}

/* What is left of the base by the same filters; returns how many of those mean nothing there. */
static size_t find_seen_of_base(const struct baseline *baseline, const struct diff_source *source,
	const struct model *model, const struct model_wish *wish, const atomic_bool *is_cancelled,
	bool **ret)
{
	struct scope scope;
	size_t nr_left_out = translate_scope(baseline, model->profile, &wish->scope, &scope);
	*ret = find_seen(source, baseline->names, &scope, is_cancelled);
	scope_deinit(&scope);
	return nr_left_out;
}

static struct tree_weight *weigh_seen(const struct diff_source *source)
{
	const struct profile *profile = source->profile;
	struct slice slice;
	slice_init(&slice, profile);
	for (size_t i = 0; i < profile->samples.len; i++)
		if (source->is_seen[i])
			slice_add(&slice, profile->samples.data[i].stack,
				profile_sample_value(profile, &profile->samples.data[i]));
	struct tree_weight *weights = tree_weigh(source->tree, &slice);
	slice_deinit(&slice);
	return weights;
}

static void baseline_compare_profiles(struct baseline *baseline, const struct model *model,
	const struct model_wish *wish, const atomic_bool *is_cancelled,
	struct comparison *comparison)
{
	enum match_side own = wish->is_swapped ? MATCH_BASE : MATCH_NEW;
	enum match_side side = match_other_side(own);
	baseline_refresh_names(baseline, wish);
	refresh_merged(baseline, model, side);
	comparison->own_side = own;
	uint32_t base_event =
		main_event_find(baseline->profile, &model->profile->events.data[model->event]);
	struct diff_source sources[MATCH_SIDES];
	sources[side] =
		(struct diff_source){baseline->profile, &baseline->names->tree, NULL, base_event};
	sources[own] =
		(struct diff_source){model->profile, &model->names->tree, NULL, model->event};
	CLEANUP_FREE bool *seen_of_base = NULL;
	comparison->nr_left_out = find_seen_of_base(
		baseline, &sources[side], model, wish, is_cancelled, &seen_of_base);
	CLEANUP_FREE bool *seen_of_new =
		find_seen(&sources[own], model->names, &wish->scope, is_cancelled);
	sources[side].is_seen = seen_of_base;
	sources[own].is_seen = seen_of_new;
	CLEANUP_FREE struct tree_weight *base = weigh_seen(&sources[side]);
	const struct diff_tree *diff = baseline->merged->diff;
	struct tree_weight **sides = comparison->sides;
	sides[side] = diff_tree_weigh(diff, side, base);
	sides[own] = diff_tree_weigh(diff, own, model->weights);
	compare_init(&comparison->compare, diff, sides[MATCH_BASE], sides[MATCH_NEW]);
	if (own == MATCH_BASE)
		compare_lead_by_base(&comparison->compare, diff);
	bool is_judged = compare_judge(&comparison->compare, diff, sources, baseline->judging);
	comparison->both = model_of_both(model, baseline->merged, sides, wish->search);
	put_order(sources[MATCH_BASE].profile, sources[MATCH_NEW].profile, &comparison->notes);
	if (!is_judged)
		str_puts(&comparison->notes, "not judged: ebprof diff says why; ");
	put_notes(baseline->profile, model->profile, diff, base_event != 0, &comparison->notes);
	put_import_notes(&baseline->import_notes, &comparison->notes);
	baseline_put_unnamed(&comparison->compare, side, &comparison->notes);
}

bool baseline_compare(struct baseline *baseline, struct model *model, const struct model_wish *wish,
	const atomic_bool *is_cancelled)
{
	struct comparison *comparison = mem_zalloc(sizeof(*comparison));
	comparison->serial = wish->baseline_serial;
	comparison->path = mem_strdup(baseline->path);
	if (baseline->problem)
		comparison->problem = mem_strdup(baseline->problem);
	else
		baseline_compare_profiles(baseline, model, wish, is_cancelled, comparison);
	model->comparison = comparison;
	return !is_cancelled || !atomic_load(is_cancelled);
}

#include "report/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/err.h"

/* ---- functions ---- */

static struct compare_row *row_for(
	struct compare *compare, const struct diff_tree *diff, uint32_t number)
{
	uint32_t *place = &compare->row_of[number];
	if (!*place) {
		const struct profile_function *function = &diff->functions.data[number];
		const char *object = diff->objects.data[function->object].name;
		struct compare_row row = {
			.function = number,
			.object = object ? object : "",
			.name = function->name,
			.is_known = function->is_known,
			.is_cut = diff->left_out,
		};
		vec_push(&compare->rows, row);
		*place = (uint32_t)compare->rows.len;
	}
	return &compare->rows.data[*place - 1];
}

static void compare_weigh(struct compare *compare, const struct diff_tree *diff,
	enum match_side side, const struct tree_weight *weights)
{
	struct function_weights functions;
	tree_weigh_functions(
		&diff->tree, weights, diff->frames.data, diff->functions.len, &functions);
	vec_each(&functions, weight) {
		struct compare_row *row = row_for(compare, diff, weight->function);
		*(side == MATCH_NEW ? &row->new : &row->base) = (struct compare_value){
			.self = weight->self,
			.total = weight->total,
			.self_samples = weight->self_samples,
			.samples = weight->samples,
		};
		if (side == MATCH_NEW)
			row->frame = diff_tree_frame_of(MATCH_NEW, weight->frame);
	}
	vec_deinit(&functions);
}

static int compare_compare_names(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->object, y->object);
}

void compare_init(struct compare *compare, const struct diff_tree *diff,
	const struct tree_weight *base, const struct tree_weight *new)
{
	*compare = (struct compare){
		.wholes = {{base->total, base->samples}, {new->total, new->samples}},
		.row_of = mem_zalloc_array(diff->functions.len, sizeof(*compare->row_of)),
	};
	compare_weigh(compare, diff, MATCH_NEW, new);
	compare_weigh(compare, diff, MATCH_BASE, base);
	if (compare->rows.len)
		qsort(compare->rows.data, compare->rows.len, sizeof(*compare->rows.data),
			compare_compare_names);
	for (uint32_t i = 0; i < compare->rows.len; i++)
		compare->row_of[compare->rows.data[i].function] = i + 1;
}

void compare_lead_by_base(struct compare *compare, const struct diff_tree *diff)
{
	vec_each(&compare->rows, row)
		row->frame = 0;
	for (uint32_t i = 1; diff_tree_frame(MATCH_BASE, i) < diff->frames.len; i++) {
		uint32_t function = diff->frames.data[diff_tree_frame(MATCH_BASE, i)].function;
		uint32_t place = function ? compare->row_of[function] : 0;
		struct compare_row *row = place ? &compare->rows.data[place - 1] : NULL;
		if (row && row->base.samples && !row->frame)
			row->frame = i;
	}
}

void compare_deinit(struct compare *compare)
{
	vec_deinit(&compare->rows);
	mem_free(compare->row_of);
	difference_destroy(compare->judged);
	str_deinit(&compare->refusal);
}

const struct compare_row *compare_row_of(const struct compare *compare, uint32_t function)
{
	uint32_t place = compare->row_of[function];
	return place ? &compare->rows.data[place - 1] : NULL;
}

static struct compare_change compare_change_of(const struct diff_judgement *judgement)
{
	return (struct compare_change){
		.verdict = judgement->verdict,
		.wholes = {judgement->wholes[MATCH_BASE], judgement->wholes[MATCH_NEW]},
		.effect = judgement->effect,
	};
}

/*
 * More functions have a total than a self time worth judging, so that one and the same change may
 * be sure as self time and not yet as total. Where it is most of the total, which changed likewise,
 * that has changed: pictures of totals would show as chance what the verdict names.
 */
static struct compare_change change_of_total(const struct diff_row *judged)
{
	struct compare_change change = compare_change_of(&judged->total);
	const struct diff_judgement *self = &judged->self, *total = &judged->total;
	bool is_most = self->sides[MATCH_BASE].share + self->sides[MATCH_NEW].share >=
		       0.5 * (total->sides[MATCH_BASE].share + total->sides[MATCH_NEW].share);
	bool is_alike = (self->verdict == DIFF_REGRESSION && total->effect > 0) ||
			(self->verdict == DIFF_IMPROVEMENT && total->effect < 0);
	if (total->is_tested && total->verdict == DIFF_INCONCLUSIVE && is_most && is_alike)
		change.verdict = self->verdict;
	return change;
}

bool compare_judge(struct compare *compare, const struct diff_tree *diff,
	const struct diff_source sides[MATCH_SIDES], const struct diff_options *options)
{
	struct diff_options by_function = DIFF_OPTIONS_DEFAULT;
	if (options)
		by_function = *options;
	by_function.by = DIFF_BY_FUNCTION;
	struct difference *difference;
	struct err *err = difference_create_of_tree(diff, sides, &by_function, &difference);
	if (err) {
		str_puts(&compare->refusal, err_message(err));
		err_destroy(err);
		return false;
	}
	vec_each(&difference->rows, judged) {
		uint32_t place = compare->row_of[judged->entity];
		struct compare_row *row = place ? &compare->rows.data[place - 1] : NULL;
		if (!row)
			continue;
		row->changes[COMPARE_SELF] = compare_change_of(&judged->self);
		row->changes[COMPARE_TOTAL] = change_of_total(judged);
	}
	compare->judged = difference;
	return true;
}

/* ---- values ---- */

double compare_base_percent(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric)
{
	return profile_percent(
		metric == COMPARE_SELF ? row->base.self : row->base.total, wholes->base.value);
}

double compare_new_percent(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric)
{
	return profile_percent(
		metric == COMPARE_SELF ? row->new.self : row->new.total, wholes->new.value);
}

double compare_points(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric)
{
	return compare_new_percent(wholes, row, metric) - compare_base_percent(wholes, row, metric);
}

bool compare_is_known(const struct compare_row *row, enum compare_metric metric)
{
	return !row->is_cut || metric != COMPARE_TOTAL;
}

int compare_direction(const struct compare_row *row, enum compare_metric metric)
{
	enum diff_verdict verdict = row->changes[metric].verdict;
	if (!compare_is_known(row, metric))
		return 0;
	return (verdict == DIFF_REGRESSION) - (verdict == DIFF_IMPROVEMENT);
}

bool compare_cannot_tell(const struct compare_row *row, enum compare_metric metric)
{
	return row->changes[metric].verdict == DIFF_INCONCLUSIVE;
}

struct compare_change compare_change_of_part(
	const struct compare_change *change, uint64_t base, uint64_t new)
{
	struct compare_change part = *change;
	part.effect = NAN;
	double by =
		(double)new * change->wholes[MATCH_BASE] - (double)base * change->wholes[MATCH_NEW];
	if ((change->verdict == DIFF_REGRESSION && by <= 0) ||
		(change->verdict == DIFF_IMPROVEMENT && by >= 0))
		part.verdict = DIFF_INCONCLUSIVE;
	return part;
}

const double compare_strengths[COMPARE_STRENGTHS] = {0, 1, 3, 10};

unsigned compare_strength(double points)
{
	unsigned strength = COMPARE_STRENGTHS - 1;
	while (strength && points < compare_strengths[strength])
		strength--;
	return strength;
}

/* ---- what corresponds to what ---- */

uint32_t compare_find_object(const struct profile *base, const struct profile *new, uint32_t object)
{
	struct function_match match;
	function_match_init(&match, base, new);
	uint32_t wanted = function_match_object(&match, MATCH_NEW, object), found = 0;
	for (uint32_t i = 1; i < base->objects.len; i++) {
		if (!base->objects.data[i].is_used ||
			function_match_object(&match, MATCH_BASE, i) != wanted)
			continue;
		bool is_path =
			strcmp(base->objects.data[i].path, new->objects.data[object].path) == 0;
		found = found && !is_path ? found : i;
		if (is_path)
			break;
	}
	function_match_deinit(&match);
	return found;
}

uint32_t compare_find_frame(const struct profile *base, const struct profile *new, uint32_t frame)
{
	uint32_t wanted = new->frames.data[frame].function, function = 0;
	struct function_match match;
	function_match_init(&match, base, new);
	uint32_t id = function_match_id(&match, MATCH_NEW, wanted);
	for (uint32_t i = 1; i < base->functions.len; i++) {
		if (function_match_id(&match, MATCH_BASE, i) != id)
			continue;
		function = i;
		if (strcmp(base->functions.data[i].name, new->functions.data[wanted].name) == 0)
			break;
	}
	function_match_deinit(&match);
	for (uint32_t i = 1; function && i < base->frames.len; i++)
		if (base->frames.data[i].function == function)
			return i;
	return 0;
}

#include "report/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void weigh(struct compare *compare, const struct diff_tree *diff, enum match_side side,
	const struct tree_weight *weights)
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
			row->frame = diff_tree_new_frame(weight->frame);
	}
	vec_deinit(&functions);
}

static int compare_names(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->object, y->object);
}

struct compare_wholes compare_wholes_of(
	const struct tree_weight *base, const struct tree_weight *new)
{
	return (struct compare_wholes){{base->total, base->samples}, {new->total, new->samples}};
}

void compare_init(struct compare *compare, const struct diff_tree *diff,
	const struct tree_weight *base, const struct tree_weight *new)
{
	*compare = (struct compare){
		.wholes = compare_wholes_of(base, new),
		.row_of = mem_zalloc_array(diff->functions.len, sizeof(*compare->row_of)),
	};
	weigh(compare, diff, MATCH_NEW, new);
	weigh(compare, diff, MATCH_BASE, base);
	if (compare->rows.len)
		qsort(compare->rows.data, compare->rows.len, sizeof(*compare->rows.data),
			compare_names);
	for (uint32_t i = 0; i < compare->rows.len; i++)
		compare->row_of[compare->rows.data[i].function] = i + 1;
}

void compare_deinit(struct compare *compare)
{
	vec_deinit(&compare->rows);
	mem_free(compare->row_of);
}

const struct compare_row *compare_row_of(const struct compare *compare, uint32_t function)
{
	uint32_t place = compare->row_of[function];
	return place ? &compare->rows.data[place - 1] : NULL;
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

static double samples_of(const struct compare_value *value, enum compare_metric metric)
{
	return (double)(metric == COMPARE_SELF ? value->self_samples : value->samples);
}

/* The normal approximation of two proportions, squared: no root is needed. */
bool compare_is_significant(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric)
{
	static const double quantile = 3.841; /* of chi squared, one degree of freedom, 95 % */
	double all_base = (double)wholes->base.samples, all_new = (double)wholes->new.samples;
	if (all_base <= 0 || all_new <= 0 || !compare_is_known(row, metric))
		return false;
	double base = samples_of(&row->base, metric), new = samples_of(&row->new, metric);
	double pooled = (base + new) / (all_base + all_new);
	double difference = new / all_new - base / all_base;
	double variance = pooled * (1 - pooled) * (1 / all_base + 1 / all_new);
	return difference * difference > quantile * variance;
}

const double compare_strengths[COMPARE_STRENGTHS] = {0, 1, 3, 10};

unsigned compare_strength(double points)
{
	unsigned strength = COMPARE_STRENGTHS - 1;
	while (strength && fabs(points) < compare_strengths[strength])
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

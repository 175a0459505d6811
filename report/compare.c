#include "report/compare.h"

#include <stdlib.h>
#include <string.h>

#include "report/function_match.h"

/* ---- functions ---- */

/* The group of each function that took any time, from 1 on; of the others 0. */
static uint32_t *find_groups(struct compare *compare, struct function_match *match,
	enum match_side side, const struct compare_side *from)
{
	const struct profile *profile = from->profile;
	uint32_t *groups = mem_zalloc_array(profile->functions.len, sizeof(*groups));
	for (size_t i = 1; i < from->tree->nodes.len; i++) {
		uint32_t function = from->tree->nodes.data[i].function;
		if (!from->weights[i].samples || groups[function])
			continue;
		uint32_t id = function_match_id(match, side, function);
		groups[function] = id + 1;
		if (id < compare->rows.len)
			continue;
		struct compare_row row = {
			.name_id = id,
			.is_known = profile->functions.data[function].is_known,
		};
		row.name = function_match_name(match, id, &row.object);
		vec_push(&compare->rows, row);
	}
	return groups;
}

static void weigh(struct compare *compare, struct function_match *match, enum match_side side,
	const struct compare_side *from)
{
	uint32_t *of = find_groups(compare, match, side, from);
	compare->rows_of[side] = of;
	struct tree_groups groups = {of, compare->rows.len + 1};
	struct function_weights weights;
	tree_weigh_groups(from->tree, from->weights, from->profile, &groups, &weights);
	vec_each(&weights, weight) {
		struct compare_row *row = &compare->rows.data[of[weight->function] - 1];
		*(side == MATCH_NEW ? &row->frame : &row->base_frame) = weight->frame;
		*(side == MATCH_NEW ? &row->new : &row->base) = (struct compare_value){
			.self = weight->self,
			.total = weight->total,
			.self_samples = weight->self_samples,
			.samples = weight->samples,
		};
	}
	vec_deinit(&weights);
}

static void set_markers_aside(struct compare *compare)
{
	size_t kept = 0;
	for (size_t i = 0; i < compare->rows.len; i++) {
		struct compare_row row = compare->rows.data[i];
		if (row.frame || row.base_frame)
			compare->rows.data[kept++] = row;
		else
			vec_push(&compare->markers, row);
	}
	compare->rows.len = kept;
}

static int compare_names(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->object, y->object);
}

/* From numbers of names to places of rows. */
static void number_rows(
	struct compare *compare, const struct compare_side *base, const struct compare_side *new)
{
	size_t lengths[] = {base->profile->functions.len, new->profile->functions.len};
	size_t count = compare->rows.len + compare->markers.len;
	CLEANUP_FREE uint32_t *numbers = mem_zalloc_array(count + 1, sizeof(*numbers));
	for (uint32_t i = 1; i <= count; i++)
		numbers[compare_row_of(compare, i)->name_id + 1] = i;
	for (int side = 0; side < COMPARE_SIDES; side++)
		for (size_t i = 0; i < lengths[side]; i++)
			compare->rows_of[side][i] = numbers[compare->rows_of[side][i]];
}

void compare_init(
	struct compare *compare, const struct compare_side *base, const struct compare_side *new)
{
	*compare = (struct compare){.base = base->whole, .new = new->whole};
	struct function_match match;
	function_match_init(&match, base->profile, new->profile);
	weigh(compare, &match, MATCH_NEW, new);
	weigh(compare, &match, MATCH_BASE, base);
	set_markers_aside(compare);
	if (compare->rows.len)
		qsort(compare->rows.data, compare->rows.len, sizeof(*compare->rows.data),
			compare_names);
	number_rows(compare, base, new);
	compare->names = match.functions; /* the rows' texts stand there */
	match.functions = (struct strtab){0};
	function_match_deinit(&match);
}

void compare_deinit(struct compare *compare)
{
	strtab_deinit(&compare->names);
	vec_deinit(&compare->rows);
	vec_deinit(&compare->markers);
	for (int side = 0; side < COMPARE_SIDES; side++)
		mem_free(compare->rows_of[side]);
}

const struct compare_row *compare_row_of(const struct compare *compare, uint32_t number)
{
	size_t rows = compare->rows.len;
	return number <= rows ? &compare->rows.data[number - 1]
			      : &compare->markers.data[number - 1 - rows];
}


/* ---- values ---- */

double compare_base_percent(
	const struct compare *compare, const struct compare_row *row, enum compare_metric metric)
{
	return profile_percent(
		metric == COMPARE_SELF ? row->base.self : row->base.total, compare->base.value);
}

double compare_new_percent(
	const struct compare *compare, const struct compare_row *row, enum compare_metric metric)
{
	return profile_percent(
		metric == COMPARE_SELF ? row->new.self : row->new.total, compare->new.value);
}

/* The normal approximation of two proportions, squared: no root is needed. */
bool compare_is_beyond_chance(uint64_t base, uint64_t base_all, uint64_t new, uint64_t new_all)
{
	static const double quantile = 3.841; /* of chi squared, one degree of freedom, 95 % */
	double all_base = (double)base_all, all_new = (double)new_all;
	if (!base_all || !new_all)
		return false;
	double pooled = ((double)base + (double)new) / (all_base + all_new);
	double difference = (double)new / all_new - (double)base / all_base;
	double variance = pooled * (1 - pooled) * (1 / all_base + 1 / all_new);
	return difference * difference > quantile * variance;
}

bool compare_is_significant(
	const struct compare *compare, const struct compare_row *row, enum compare_metric metric)
{
	bool is_self = metric == COMPARE_SELF;
	return compare_is_beyond_chance(is_self ? row->base.self_samples : row->base.samples,
		compare->base.samples, is_self ? row->new.self_samples : row->new.samples,
		compare->new.samples);
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

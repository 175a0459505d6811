#include "report/compare/unnamed_match.h"

#include "format/base/mem.h"
#include "report/compare/rename_match.h"
#include "report/model/slice.h"

/* What a side's samples say of its functions, by function. */
struct side_weights {
	uint64_t *self, *total;
	uint32_t *stamps; /* 1 + the stack that was counted last in its total */
	uint64_t known;   /* samples whose place is known */
};

static void unnamed_match_add_stack(const struct profile *profile, uint32_t stack, uint64_t samples,
	struct side_weights *weights)
{
	struct profile_walk walk = profile_walk(profile, stack);
	bool is_leaf = true;
	for (uint32_t at; (at = profile_walk_next(&walk)); is_leaf = false) {
		const struct profile_frame *frame = &profile->frames.data[at];
		if (!frame->object)
			continue;
		if (is_leaf) {
			weights->self[frame->function] += samples;
			weights->known += samples;
		}
		if (weights->stamps[frame->function] == stack + 1)
			continue;
		weights->stamps[frame->function] = stack + 1;
		weights->total[frame->function] += samples;
	}
}

static void unnamed_match_weigh(const struct profile *profile, struct side_weights *ret)
{
	size_t count = profile->functions.len;
	*ret = (struct side_weights){
		.self = mem_zalloc_array(count, sizeof(*ret->self)),
		.total = mem_zalloc_array(count, sizeof(*ret->total)),
		.stamps = mem_zalloc_array(count, sizeof(*ret->stamps)),
	};
	CLEANUP_FREE uint64_t *samples = slice_count_stacks(profile);
	for (uint32_t i = 0; i < profile->stacks.len; i++)
		if (samples[i])
			unnamed_match_add_stack(profile, i, samples[i], ret);
}

static void side_weights_deinit(struct side_weights *weights)
{
	mem_free(weights->self);
	mem_free(weights->total);
	mem_free(weights->stamps);
}

/* So many samples, and so much of its side, that what it takes is no accident. */
static bool unnamed_match_is_evidence(uint64_t samples, uint64_t known)
{
	static const double least = 20, least_share = 0.005;
	return known && (double)samples >= least && (double)samples >= least_share * (double)known;
}

/* It has bounds, and its address says nothing about the other side. */
static bool unnamed_match_is_open(
	const struct unnamed_side *side, const struct profile_function *function)
{
	return function->has_bounds && side->objects[function->object] != UNNAMED_ONE_BUILD;
}

static void unnamed_match_collect(const struct unnamed_side *side,
	const struct side_weights *weights, struct rename_candidates *ret)
{
	for (uint32_t i = 0; i < side->profile->functions.len; i++) {
		const struct profile_function *function = &side->profile->functions.data[i];
		if (!unnamed_match_is_open(side, function) ||
			!unnamed_match_is_evidence(weights->total[i], weights->known))
			continue;
		struct rename_candidate candidate = {
			.function = i,
			.object = side->objects[function->object],
			.self = (double)weights->self[i] / (double)weights->known,
			.total = (double)weights->total[i] / (double)weights->known,
		};
		vec_push(ret, candidate);
	}
}

static bool has_any(const struct unnamed_side *side)
{
	vec_each(&side->profile->functions, function)
		if (unnamed_match_is_open(side, function))
			return true;
	return false;
}

void unnamed_match(const struct unnamed_side sides[MATCH_SIDES], uint32_t *other[MATCH_SIDES])
{
	struct rename_candidates candidates[MATCH_SIDES] = {0};
	size_t counts[MATCH_SIDES];
	other[MATCH_BASE] = other[MATCH_NEW] = NULL;
	if (!has_any(&sides[MATCH_BASE]) || !has_any(&sides[MATCH_NEW]))
		return;
	for (int side = 0; side < MATCH_SIDES; side++) {
		struct side_weights weights;
		unnamed_match_weigh(sides[side].profile, &weights);
		unnamed_match_collect(&sides[side], &weights, &candidates[side]);
		side_weights_deinit(&weights);
		counts[side] = sides[side].profile->functions.len;
		other[side] = mem_zalloc_array(counts[side], sizeof(**other));
	}
	rename_match(candidates, other[MATCH_BASE], counts[MATCH_BASE]);
	for (uint32_t i = 0; i < counts[MATCH_BASE]; i++)
		if (other[MATCH_BASE][i])
			other[MATCH_NEW][other[MATCH_BASE][i] - 1] = i + 1;
	for (int side = 0; side < MATCH_SIDES; side++)
		vec_deinit(&candidates[side]);
}

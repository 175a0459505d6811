#include "report/compare/line_match.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/path.h"

enum {
	MANY = 10,      /* samples, which are not there by chance */
	MUCH = 4,       /* times as many */
	BY_CHANCE = 2,  /* samples that may be missing */
	HOT_PARTS = 16, /* a line with one of so many parts is hot */
};

static const int64_t edited = INT64_MAX; /* in place of a move */

/* Of what both sides have of a function. */
static const double least_overlap = 0.9;
static const double least_gain = 0.05; /* of a move, over lines that stay where they are */

struct line_weight {
	uint32_t function, line;
	uint32_t declared; /* where the function is; 0: unknown */
	uint64_t samples;
};

struct line_weights {
	struct line_weight *data;
	size_t len, cap;
};

/* Lines of one function, in their order. */
struct function_lines {
	const struct line_weight *data;
	size_t len;
	uint64_t samples;
	uint32_t declared; /* 0: it is not known, or several functions have one number */
};

bool line_match_is_own(const struct profile *profile, const struct profile_frame *frame)
{
	const char *own = profile->functions.data[frame->function].file;
	return !own || !frame->file ||
	       strcmp(path_last_part(own), path_last_part(frame->file)) == 0;
}

/* ---- samples of each line ---- */

static uint64_t *line_match_count_frames(const struct profile *profile)
{
	uint64_t *of_frame = mem_zalloc_array(profile->frames.len, sizeof(*of_frame));
	CLEANUP_FREE uint64_t *of_stack = mem_zalloc_array(profile->stacks.len, sizeof(*of_stack));
	vec_each(&profile->samples, sample)
		of_stack[sample->stack]++;
	for (uint32_t i = 0; i < profile->stacks.len; i++) {
		struct profile_walk walk = profile_walk(profile, i);
		for (uint32_t frame; of_stack[i] && (frame = profile_walk_next(&walk));)
			of_frame[frame] += of_stack[i];
	}
	return of_frame;
}

static int by_line(const void *a, const void *b)
{
	const struct line_weight *one = a, *other = b;
	if (one->function != other->function)
		return one->function < other->function ? -1 : 1;
	return one->line < other->line ? -1 : one->line > other->line;
}

static void join_line(struct line_weight *line, const struct line_weight *equal)
{
	line->samples += equal->samples;
	if (line->declared != equal->declared)
		line->declared = 0;
}

static void join_equal_lines(struct line_weights *weights)
{
	size_t len = 0;
	vec_each(weights, it) {
		struct line_weight *last = len ? &weights->data[len - 1] : NULL;
		if (last && by_line(last, it) == 0)
			join_line(last, it);
		else
			weights->data[len++] = *it;
	}
	weights->len = len;
}

static void weigh_lines(
	struct function_match *functions, enum match_side side, struct line_weights *ret)
{
	const struct profile *profile = functions->profiles[side];
	CLEANUP_FREE uint64_t *of_frame = line_match_count_frames(profile);
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct profile_frame *frame = &profile->frames.data[i];
		if (!of_frame[i] || !frame->line || !line_match_is_own(profile, frame) ||
			!function_match_has_builds(functions, side, frame->object))
			continue;
		const struct profile_function *function = &profile->functions.data[frame->function];
		struct line_weight weight = {
			.function = function_match_id(functions, side, frame->function),
			.line = frame->line,
			.declared = function->is_declared ? function->line : 0,
			.samples = of_frame[i]};
		vec_push(ret, weight);
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_line);
	join_equal_lines(ret);
}

/* ---- one function ---- */

/* What both have in common of how samples are spread, 0 to 1, when the base's lines are moved. */
static double overlap_when_moved(
	const struct function_lines *base, const struct function_lines *new, int64_t by)
{
	double overlap = 0;
	for (size_t i = 0, k = 0; i < base->len && k < new->len;) {
		int64_t line = base->data[i].line + by;
		if (line != new->data[k].line) {
			line < new->data[k].line ? i++ : k++;
			continue;
		}
		double a = (double)base->data[i++].samples / (double)base->samples;
		double b = (double)new->data[k++].samples / (double)new->samples;
		overlap += a < b ? a : b;
	}
	return overlap;
}

static bool is_hot(const struct function_lines *of, size_t i)
{
	return of->data[i].samples >= of->samples / HOT_PARTS;
}

static int64_t find_move(const struct function_lines *base, const struct function_lines *new)
{
	if (base->declared && new->declared)
		return (int64_t) new->declared - base->declared;
	if (base->samples < MANY || new->samples < MANY)
		return 0;
	double best = overlap_when_moved(base, new, 0) + least_gain;
	int64_t move = 0;
	for (size_t i = 0; i < base->len; i++)
		for (size_t k = 0; is_hot(base, i) && k < new->len; k++) {
			int64_t by = (int64_t) new->data[k].line - base->data[i].line;
			double overlap = is_hot(new, k) ? overlap_when_moved(base, new, by) : 0;
			if (overlap > best && overlap >= least_overlap) {
				best = overlap;
				move = by;
			}
		}
	return move;
}

static uint64_t samples_of_line(const struct function_lines *of, int64_t line)
{
	size_t from = 0, to = of->len;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (of->data[middle].line < line)
			from = middle + 1;
		else
			to = middle;
	}
	return from < of->len && of->data[from].line == line ? of->data[from].samples : 0;
}

/* Whether the line has much less here than where it is `line`. ratio: of all samples, here to
 * there. */
static bool has_less(
	const struct function_lines *here, const struct line_weight *line, int64_t by, double ratio)
{
	return line->samples >= MANY &&
	       (double)line->samples * ratio >=
		       MUCH * (double)(samples_of_line(here, line->line + by) + BY_CHANCE);
}

/* totals: samples of both recordings. */
static bool is_edited(const struct function_lines sides[MATCH_SIDES], int64_t by,
	const uint64_t totals[MATCH_SIDES])
{
	bool is_any_less[MATCH_SIDES] = {false};
	for (int side = 0; side < MATCH_SIDES; side++) {
		double ratio = (double)totals[!side] / (double)totals[side];
		for (size_t i = 0; i < sides[side].len; i++)
			is_any_less[!side] |= has_less(&sides[!side], &sides[side].data[i],
				side == MATCH_BASE ? by : -by, ratio);
	}
	return is_any_less[MATCH_BASE] && is_any_less[MATCH_NEW];
}

/* ---- all of them ---- */

static struct function_lines next_function(
	const struct line_weights *weights, size_t *at, uint32_t function)
{
	struct function_lines ret = {.data = weights->data + *at};
	bool is_one = true;
	for (; *at < weights->len && weights->data[*at].function == function; ++*at) {
		const struct line_weight *weight = &weights->data[*at];
		is_one &= weight->declared == ret.data->declared;
		ret.len++;
		ret.samples += weight->samples;
	}
	ret.declared = ret.len && is_one ? ret.data->declared : 0;
	return ret;
}

static void match_lines(struct line_match *lines, const struct line_weights weights[MATCH_SIDES],
	const uint64_t totals[MATCH_SIDES])
{
	size_t at[MATCH_SIDES] = {0};
	while (at[MATCH_BASE] < weights[MATCH_BASE].len && at[MATCH_NEW] < weights[MATCH_NEW].len) {
		uint32_t base = weights[MATCH_BASE].data[at[MATCH_BASE]].function;
		uint32_t new = weights[MATCH_NEW].data[at[MATCH_NEW]].function;
		uint32_t first = base < new ? base : new;
		struct function_lines sides[MATCH_SIDES];
		for (int side = 0; side < MATCH_SIDES; side++)
			sides[side] = next_function(&weights[side], &at[side], first);
		if (base != new)
			continue;
		int64_t by = find_move(&sides[MATCH_BASE], &sides[MATCH_NEW]);
		if (is_edited(sides, by, totals))
			*map_put(&lines->moves, first, NULL) = (uint64_t)edited;
		else if (by)
			*map_put(&lines->moves, first, NULL) = (uint64_t)by;
	}
}

void line_match_init(struct line_match *lines, struct function_match *functions)
{
	struct line_weights weights[MATCH_SIDES] = {0};
	uint64_t totals[MATCH_SIDES];
	*lines = (struct line_match){0};
	for (int side = 0; side < MATCH_SIDES; side++) {
		totals[side] = functions->profiles[side]->samples.len;
		weigh_lines(functions, (enum match_side)side, &weights[side]);
	}
	match_lines(lines, weights, totals);
	vec_deinit(&weights[MATCH_BASE]);
	vec_deinit(&weights[MATCH_NEW]);
}

void line_match_deinit(struct line_match *lines)
{
	map_deinit(&lines->moves);
}

bool line_match_is_edited(const struct line_match *lines, uint32_t function)
{
	const uint64_t *move = map_get(&lines->moves, function);
	return move && (int64_t)*move == edited;
}

uint32_t line_match_line(
	const struct line_match *lines, enum match_side side, uint32_t function, uint32_t line)
{
	const uint64_t *move = map_get(&lines->moves, function);
	if (!move || !line || side == MATCH_NEW || (int64_t)*move == edited)
		return line;
	int64_t moved = line + (int64_t)*move;
	return moved > 0 && moved <= UINT32_MAX ? (uint32_t)moved : line;
}

#include "report/load/code_versions.h"

#include <stdlib.h>

#include "format/base/bisect.h"

struct code_versions {
	struct loading *loading;
	struct profile *profile; /* the same as loading's */
	VEC(bool) is_changing;   /* of each node that was read: it or a caller of it */
	struct map frames;       /* frame << 32 | code -> frame that has this code */
	struct map nodes;        /* see loading_add_node() */
	uint64_t steps_left;
	VEC(uint32_t) path; /* nodes, leaf first */
};

enum {
	/* What a forged recording may make us do, and what its new nodes may take. */
	STEPS_FLOOR = 8 << 20,
	STEPS_RATIO = 64,
	NODES_FLOOR = 256 << 10,
	NODES_RATIO = 4,
};

/* Those of one place together, by time; of equal ones in the file's order. */
static int compare_codes(const void *a, const void *b)
{
	const struct profile_code *x = a, *y = b;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_at(const struct profile_code *code, const struct profile_frame *frame)
{
	return code->object == frame->object && code->offset == frame->offset;
}

static bool is_before(const struct profile_code *code, const struct profile_frame *frame)
{
	return code->object != frame->object ? code->object < frame->object
					     : code->offset < frame->offset;
}

/* The first code of the frame's place, or where it would stand. */
static size_t first_code(const struct profile *profile, const struct profile_frame *frame)
{
	return bisect(profile->codes.len, i, is_before(&profile->codes.data[i], frame));
}

/* True when there are several, or one that is not sure. The frame gets the first one. */
static bool code_versions_take_code(struct profile *profile, struct profile_frame *frame)
{
	size_t first = first_code(profile, frame), len = profile->codes.len;
	const struct profile_code *codes = profile->codes.data;
	if (!frame->object || first >= len || !is_at(&codes[first], frame))
		return false;
	frame->code = (uint32_t)first + 1;
	return codes[first].sure_ns || (first + 1 < len && is_at(&codes[first + 1], frame));
}

/* Whether any frame's place has several. */
static bool take_codes(struct profile *profile, bool *is_changing)
{
	bool any = false;
	for (size_t i = 0; i < profile->frames.len; i++) {
		is_changing[i] = code_versions_take_code(profile, &profile->frames.data[i]);
		any |= is_changing[i];
	}
	return any;
}

struct code_versions *code_versions_create(struct loading *loading)
{
	struct profile *profile = loading->profile;
	if (!profile->codes.len)
		return NULL;
	qsort(profile->codes.data, profile->codes.len, sizeof(*profile->codes.data), compare_codes);
	CLEANUP_FREE bool *frames = mem_zalloc_array(profile->frames.len, sizeof(*frames));
	if (!take_codes(profile, frames))
		return NULL;
	struct code_versions *versions = mem_zalloc(sizeof(*versions));
	versions->loading = loading;
	versions->profile = profile;
	versions->steps_left = STEPS_FLOOR + profile->file.file_bytes * STEPS_RATIO;
	vec_resize(&versions->is_changing, profile->nodes.len);
	bool *nodes = versions->is_changing.data; /* callers stand before */
	for (size_t i = 1; i < profile->nodes.len; i++)
		nodes[i] = frames[profile->nodes.data[i].frame] ||
			   nodes[profile->nodes.data[i].parent];
	return versions;
}

void code_versions_destroy(struct code_versions *versions)
{
	if (!versions)
		return;
	vec_deinit(&versions->is_changing);
	map_deinit(&versions->frames);
	map_deinit(&versions->nodes);
	vec_deinit(&versions->path);
	mem_free(versions);
}

/* The newest code that is not newer, or the oldest. */
static uint32_t code_versions_code_at(
	const struct profile *profile, uint32_t code, uint64_t time_ns)
{
	const struct profile_code *codes = profile->codes.data;
	size_t first = code - 1, low = first, high = profile->codes.len;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;
		bool is_this = codes[mid].object == codes[first].object &&
			       codes[mid].offset == codes[first].offset;
		if (is_this && codes[mid].time_ns <= time_ns)
			low = mid;
		else
			high = mid;
	}
	return (uint32_t)low + 1;
}

static uint32_t frame_at(
	struct code_versions *versions, uint32_t frame, uint64_t time_ns, bool *is_stale)
{
	struct profile *profile = versions->profile;
	struct profile_frame it = profile->frames.data[frame];
	uint32_t code = it.code ? code_versions_code_at(profile, it.code, time_ns) : 0;
	*is_stale |= code && time_ns < profile->codes.data[code - 1].sure_ns;
	if (code == it.code)
		return frame;
	bool added;
	uint64_t *known = map_put(&versions->frames, (uint64_t)frame << 32 | code, &added);
	if (added) {
		*known = profile->frames.len;
		it.code = code;
		vec_push(&profile->frames, it);
	}
	return (uint32_t)*known;
}

static bool is_changing(const struct code_versions *versions, uint32_t node)
{
	return versions->is_changing.data[node];
}

uint32_t code_versions_node(
	struct code_versions *versions, uint32_t user, uint64_t time_ns, bool *is_stale)
{
	struct profile *profile = versions->profile;
	uint64_t max_nodes = NODES_FLOOR + versions->is_changing.len * (uint64_t)NODES_RATIO;
	versions->path.len = 0;
	*is_stale = false;
	uint32_t node = user;
	for (; is_changing(versions, node); node = profile->nodes.data[node].parent)
		vec_push(&versions->path, node);
	if (versions->path.len > versions->steps_left || profile->nodes.len > max_nodes) {
		*is_stale = true; /* it keeps the oldest functions */
		return user;
	}
	versions->steps_left -= versions->path.len;
	for (size_t i = versions->path.len; i; i--) {
		uint32_t old = versions->path.data[i - 1];
		struct layout_node it = profile->nodes.data[old];
		uint32_t frame = frame_at(versions, it.frame, time_ns, is_stale);
		bool is_same = frame == it.frame && node == it.parent;
		node = is_same ? old
			       : loading_add_node(versions->loading, &versions->nodes, node, frame);
	}
	return node;
}

#include "report/unwind/snapshots.h"

#include "report/unwind/unwinder.h"

/*
 * Stacks that share their callers share nodes, so a small file can describe long ones. Together
 * the joined ones may take this many nodes, and one more for each byte of the file.
 */
enum {
	NODES_FLOOR = 1 << 20,
};

struct snapshots {
	struct profile *profile;
	struct unwinder *unwinder;
	VEC(uint32_t) outcomes; /* by id; + 1, 0: missing */
	VEC(struct snapshots_sample) samples;

	VEC(uint32_t) frames; /* the unwinder's number -> the profile's, 0: not there yet */
	uint32_t markers[LAYOUT_TRUNCATED_END]; /* why a stack ends -> frame */
	struct map nodes;                       /* parent << 32 | frame -> node */
	struct map joined;                      /* user node << 32 | outcome -> node */
	uint64_t nr_joined;                     /* nodes that were visited for it */
};

struct snapshots *snapshots_create(struct profile *profile, const struct symbol_file_options *files)
{
	struct snapshots *snapshots = mem_zalloc(sizeof(*snapshots));
	snapshots->profile = profile;
	snapshots->unwinder = unwinder_create(profile, files);
	return snapshots;
}

void snapshots_destroy(struct snapshots *snapshots)
{
	if (!snapshots)
		return;
	unwinder_destroy(snapshots->unwinder);
	vec_deinit(&snapshots->outcomes);
	vec_deinit(&snapshots->samples);
	vec_deinit(&snapshots->frames);
	map_deinit(&snapshots->nodes);
	map_deinit(&snapshots->joined);
	mem_free(snapshots);
}

void snapshots_take(
	struct snapshots *snapshots, uint32_t id, const struct layout_snapshot *snapshot)
{
	snapshots->profile->nr_snapshots++;
	snapshots->profile->snapshot_bytes += snapshot->stack_bytes;
	if (id >= snapshots->outcomes.len)
		vec_resize(&snapshots->outcomes, (size_t)id + 1);
	snapshots->outcomes.data[id] = unwinder_take(snapshots->unwinder, snapshot) + 1;
}

bool snapshots_defer(
	struct snapshots *snapshots, uint32_t id, const struct snapshots_sample *sample)
{
	if (id >= snapshots->outcomes.len || !snapshots->outcomes.data[id])
		return false;
	struct snapshots_sample deferred = *sample;
	deferred.snapshot = id;
	deferred.outcome = snapshots->outcomes.data[id] - 1;
	vec_push(&snapshots->samples, deferred);
	return true;
}

const struct snapshots_sample *snapshots_deferred(const struct snapshots *snapshots, size_t *count)
{
	*count = snapshots->samples.len;
	return snapshots->samples.data;
}

/* ---- joining ---- */

/* `index` is where its place in the profile is kept. */
static uint32_t add_frame(
	struct snapshots *snapshots, const struct layout_frame *frame, uint32_t *index)
{
	struct profile *profile = snapshots->profile;
	if (!*index) {
		*index = (uint32_t)profile->frames.len;
		vec_push(&profile->frames, (struct profile_frame){.object = frame->object,
						   .offset = frame->offset,
						   .flags = frame->flags});
		profile->objects.data[frame->object].is_used = true;
	}
	return *index;
}

static uint32_t add_marker(struct snapshots *snapshots, enum layout_truncation cause)
{
	struct layout_frame marker = {.offset = cause};
	return add_frame(snapshots, &marker, &snapshots->markers[cause]);
}

static uint32_t add_found(struct snapshots *snapshots, uint32_t number)
{
	struct layout_frame frame = unwinder_frame(snapshots->unwinder, number);
	if (number >= snapshots->frames.len)
		vec_resize(&snapshots->frames, (size_t)number + 1);
	return add_frame(snapshots, &frame, &snapshots->frames.data[number]);
}

/* Callers first: why it ends, the frames of the snapshot, those that the recorder found. */
static uint32_t join(struct snapshots *snapshots, const struct unwinder_stack *stack,
	const uint32_t *found, size_t nr_found)
{
	uint32_t node = 0;
	if (stack->cause)
		node = profile_add_node(snapshots->profile, &snapshots->nodes, node,
			add_marker(snapshots, stack->cause));
	for (size_t i = stack->count; i; i--)
		node = profile_add_node(snapshots->profile, &snapshots->nodes, node,
			add_found(snapshots, stack->frames[i - 1]));
	for (size_t i = nr_found; i; i--)
		node = profile_add_node(snapshots->profile, &snapshots->nodes, node, found[i - 1]);
	return node;
}

/* The frames of a user stack, leaf first, without its marker; false: it has none, it is whole. */
static bool get_found(const struct profile *profile, uint32_t user, uint32_t *found, size_t *count)
{
	*count = 0;
	for (uint32_t node = user; node; node = profile->nodes.data[node].parent)
		found[(*count)++] = profile->nodes.data[node].frame;
	if (!user)
		return true;
	const struct profile_frame *root = &profile->frames.data[found[*count - 1]];
	if (root->object)
		return false;
	--*count;
	return true;
}

static bool is_within_budget(struct snapshots *snapshots, size_t nodes)
{
	uint64_t limit = NODES_FLOOR + snapshots->profile->file.file_bytes;
	if (snapshots->nr_joined + nodes > limit)
		return false;
	snapshots->nr_joined += nodes;
	return true;
}

uint32_t snapshots_join(struct snapshots *snapshots, const struct snapshots_sample *sample)
{
	struct profile *profile = snapshots->profile;
	bool added;
	uint64_t key = (uint64_t)sample->user << 32 | sample->outcome;
	uint64_t *joined = map_put(&snapshots->joined, key, &added);
	if (!added)
		return (uint32_t)*joined;
	*joined = sample->user;
	struct unwinder_stack stack = unwinder_stack_at(snapshots->unwinder, sample->outcome);
	size_t depth = profile->node_depths.data[sample->user] + stack.count + 1;
	uint32_t found[LAYOUT_MAX_DEPTH];
	size_t nr_found;
	if (depth > LAYOUT_MAX_DEPTH || !is_within_budget(snapshots, depth)) {
		profile->dangling++; /* it stays as the recorder left it */
		return sample->user;
	}
	if (get_found(profile, sample->user, found, &nr_found))
		*joined = join(snapshots, &stack, found, nr_found);
	return (uint32_t)*joined;
}

#include "report/load/unwind/snapshots.h"

#include "report/load/unwind/isolation.h"
#include "report/load/unwind/unwinder.h"

/*
 * Stacks that share their callers share nodes, so a small file can describe long ones. Together
 * the joined ones may take this many nodes, and one more for each byte of the file.
 */
enum {
	NODES_FLOOR = 1 << 20,
};

enum {
	KEPT_MAX = 8192, /* snapshots, until they are unwound */
	KEPT_STACK_BYTES = 16 << 20,
	NEW_MAPPINGS_MAX = 8192,
};

/*
 * What the child needs that was read after it had begun, in memory that both see. It is only
 * written here: who knows what a child that went astray writes to it.
 */
struct shared {
	uint64_t file_bytes;
	size_t nr_processes, nr_mappings; /* of the profile */
	size_t nr_new;                    /* the last of these mappings: */
	struct layout_mapping new_mappings[NEW_MAPPINGS_MAX];
	struct layout_snapshot snapshots[KEPT_MAX];
	uint8_t stacks[KEPT_STACK_BYTES];
};

struct kept {
	uint32_t id;
	size_t number;
};

struct snapshots {
	struct loading *loading;
	struct profile *profile; /* the same as loading's */
	struct unwound unwound;
	struct unwinder *unwinder;
	VEC(uint32_t) numbers_by_id; /* + 1, 0: missing; snapshots are numbered as they came */
	VEC(uint32_t) stacks;        /* by number; of unwound, or ISOLATION_NOT_UNWOUND */
	VEC(struct snapshots_sample) samples;

	struct shared *shared; /* NULL: each is unwound here when it comes */
	VEC(struct kept) kept; /* its snapshots */
	size_t nr_kept_bytes;  /* ... and their stacks */
	struct isolation isolation;
	size_t nr_mappings_sent; /* to the child */

	VEC(uint32_t) frames; /* unwound's number -> the profile's, 0: not there yet */
	uint32_t markers[LAYOUT_TRUNCATED_END]; /* why a stack ends -> frame */
	struct map nodes;                       /* parent << 32 | frame -> node */
	struct map joined;                      /* user node << 32 | stack -> node */
	uint64_t nr_joined;                     /* nodes that were visited for it */
};

/* In the child: what this process has read since. */
static void catch_up(struct profile *profile, const struct shared *shared)
{
	profile->file.file_bytes = shared->file_bytes;
	if (profile->processes.len < shared->nr_processes)
		vec_resize(&profile->processes, shared->nr_processes);
	size_t lacking = shared->nr_mappings - profile->mappings.len;
	vec_append(&profile->mappings, shared->new_mappings + shared->nr_new - lacking, lacking);
}

static uint32_t take_kept(void *context, size_t index)
{
	struct snapshots *snapshots = context;
	catch_up(snapshots->profile, snapshots->shared);
	return unwinder_take(snapshots->unwinder, &snapshots->shared->snapshots[index]);
}

static void isolate(struct snapshots *snapshots)
{
	snapshots->shared = mem_alloc_shared(sizeof(*snapshots->shared));
	snapshots->isolation = (struct isolation){
		.take = take_kept,
		.context = snapshots,
		.unwound = &snapshots->unwound,
		.limit_ms = ISOLATION_LIMIT_MS,
		.failures_left = ISOLATION_FAILURES_MAX,
		.losses = &snapshots->profile->unwind_losses,
	};
}

struct snapshots *snapshots_create(struct loading *loading)
{
	struct profile *profile = loading->profile;
	struct snapshots *snapshots = mem_zalloc(sizeof(*snapshots));
	snapshots->loading = loading;
	snapshots->profile = profile;
	snapshots->unwinder =
		unwinder_create(profile, loading->options->files, &snapshots->unwound);
	if (!loading->options->unwinds_here)
		isolate(snapshots);
	return snapshots;
}

void snapshots_destroy(struct snapshots *snapshots)
{
	if (!snapshots)
		return;
	isolation_end(&snapshots->isolation);
	mem_free_shared(snapshots->shared, sizeof(*snapshots->shared));
	unwinder_destroy(snapshots->unwinder);
	unwound_deinit(&snapshots->unwound);
	vec_deinit(&snapshots->numbers_by_id);
	vec_deinit(&snapshots->stacks);
	vec_deinit(&snapshots->samples);
	vec_deinit(&snapshots->kept);
	vec_deinit(&snapshots->frames);
	map_deinit(&snapshots->nodes);
	map_deinit(&snapshots->joined);
	mem_free(snapshots);
}

/* ---- unwinding ---- */

/* What was archived needs not be unwound, where that is known in time. */
static void forget_archived(struct snapshots *snapshots)
{
	size_t left = 0;
	for (size_t i = 0; i < snapshots->kept.len; i++) {
		if (map_get(&snapshots->loading->archived_stacks, snapshots->kept.data[i].id))
			continue;
		snapshots->kept.data[left] = snapshots->kept.data[i];
		snapshots->shared->snapshots[left++] = snapshots->shared->snapshots[i];
	}
	snapshots->kept.len = left;
}

/* A child that lacks objects, or too much, is replaced: a new one has all that is here. */
static void tell_news(struct snapshots *snapshots)
{
	struct profile *profile = snapshots->profile;
	struct shared *shared = snapshots->shared;
	size_t nr_new = profile->mappings.len - snapshots->nr_mappings_sent;
	if (nr_new > NEW_MAPPINGS_MAX || snapshots->isolation.nr_objects != profile->objects.len) {
		isolation_end(&snapshots->isolation);
		nr_new = 0;
	}
	if (nr_new)
		memcpy(shared->new_mappings,
			profile->mappings.data + profile->mappings.len - nr_new,
			nr_new * sizeof(*shared->new_mappings));
	shared->nr_new = nr_new;
	shared->file_bytes = profile->file.file_bytes;
	shared->nr_processes = profile->processes.len;
	shared->nr_mappings = snapshots->nr_mappings_sent = profile->mappings.len;
	snapshots->isolation.nr_objects = profile->objects.len;
}

static void unwind_kept(struct snapshots *snapshots)
{
	forget_archived(snapshots);
	snapshots->nr_kept_bytes = 0; /* all are taken below */
	size_t count = snapshots->kept.len;
	if (!count)
		return; /* news would not be heard */
	CLEANUP_FREE uint32_t *stacks = mem_zalloc_array(count, sizeof(*stacks));
	tell_news(snapshots);
	isolation_run(&snapshots->isolation, count, stacks);
	for (size_t i = 0; i < count; i++)
		snapshots->stacks.data[snapshots->kept.data[i].number] = stacks[i];
	snapshots->kept.len = 0;
}

static void snapshots_keep(
	struct snapshots *snapshots, const struct layout_snapshot *snapshot, struct kept kept)
{
	if (snapshots->kept.len == KEPT_MAX ||
		snapshot->stack_bytes > KEPT_STACK_BYTES - snapshots->nr_kept_bytes)
		unwind_kept(snapshots);
	struct layout_snapshot *copy = &snapshots->shared->snapshots[snapshots->kept.len];
	uint8_t *stack = snapshots->shared->stacks + snapshots->nr_kept_bytes;
	*copy = *snapshot;
	copy->stack = stack;
	if (snapshot->stack_bytes)
		memcpy(stack, snapshot->stack, snapshot->stack_bytes);
	snapshots->nr_kept_bytes += snapshot->stack_bytes;
	vec_push(&snapshots->kept, kept);
}

void snapshots_take(
	struct snapshots *snapshots, uint32_t id, const struct layout_snapshot *snapshot)
{
	snapshots->profile->nr_snapshots++;
	snapshots->profile->snapshot_bytes += snapshot->stack_bytes;
	if (id >= snapshots->numbers_by_id.len)
		vec_resize(&snapshots->numbers_by_id, (size_t)id + 1);
	size_t number = snapshots->stacks.len;
	vec_push(&snapshots->stacks, ISOLATION_NOT_UNWOUND);
	snapshots->numbers_by_id.data[id] = (uint32_t)number + 1;
	if (snapshots->shared)
		snapshots_keep(snapshots, snapshot, (struct kept){.id = id, .number = number});
	else
		snapshots->stacks.data[number] = unwinder_take(snapshots->unwinder, snapshot);
}

void snapshots_finish(struct snapshots *snapshots)
{
	unwind_kept(snapshots);
	isolation_end(&snapshots->isolation);
}

bool snapshots_defer(
	struct snapshots *snapshots, uint32_t id, const struct snapshots_sample *sample)
{
	if (id >= snapshots->numbers_by_id.len || !snapshots->numbers_by_id.data[id])
		return false;
	struct snapshots_sample deferred = *sample;
	deferred.snapshot = id;
	deferred.number = snapshots->numbers_by_id.data[id] - 1;
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
static uint32_t snapshots_add_frame(
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
	return snapshots_add_frame(snapshots, &marker, &snapshots->markers[cause]);
}

static uint32_t add_found(struct snapshots *snapshots, uint32_t number)
{
	struct layout_frame frame = unwound_frame(&snapshots->unwound, number);
	if (number >= snapshots->frames.len)
		vec_resize(&snapshots->frames, (size_t)number + 1);
	return snapshots_add_frame(snapshots, &frame, &snapshots->frames.data[number]);
}

/* Callers first: why it ends, the frames of the snapshot, those that the recorder found. */
static uint32_t snapshots_join_parts(struct snapshots *snapshots, const struct unwound_stack *stack,
	const uint32_t *found, size_t nr_found)
{
	uint32_t node = 0;
	if (stack->cause)
		node = loading_add_node(snapshots->loading, &snapshots->nodes, node,
			add_marker(snapshots, stack->cause));
	for (size_t i = stack->count; i; i--)
		node = loading_add_node(snapshots->loading, &snapshots->nodes, node,
			add_found(snapshots, stack->frames[i - 1]));
	for (size_t i = nr_found; i; i--)
		node = loading_add_node(snapshots->loading, &snapshots->nodes, node, found[i - 1]);
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

static bool snapshots_is_within_budget(struct snapshots *snapshots, size_t nodes)
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
	uint32_t number = snapshots->stacks.data[sample->number];
	if (number == ISOLATION_NOT_UNWOUND)
		return sample->user;
	uint64_t key = (uint64_t)sample->user << 32 | number;
	uint64_t *joined = map_put(&snapshots->joined, key, &added);
	if (!added)
		return (uint32_t)*joined;
	*joined = sample->user;
	struct unwound_stack stack = unwound_at(&snapshots->unwound, number);
	size_t depth = snapshots->loading->node_depths.data[sample->user] + stack.count + 1;
	uint32_t found[LAYOUT_MAX_DEPTH];
	size_t nr_found;
	if (depth > LAYOUT_MAX_DEPTH || !snapshots_is_within_budget(snapshots, depth)) {
		profile->dangling++; /* it stays as the recorder left it */
		return sample->user;
	}
	if (get_found(profile, sample->user, found, &nr_found))
		*joined = snapshots_join_parts(snapshots, &stack, found, nr_found);
	return (uint32_t)*joined;
}

#include "report/analyse/allocators.h"

#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"

/*
 * Sources: [new.delete] of C++, <bits/new_allocator.h> and <bits/alloc_traits.h> of GCC 12; Go's
 * own heap profiles leave out all of its runtime (runtime/pprof/protomem.go).
 */
static const char *const beginnings[] = {
	"operator new",
	"_Znw",
	"_Zna",
	"std::__new_allocator<",
	"__gnu_cxx::new_allocator<",
	"std::allocator<",
	"std::allocator_traits<",
	"runtime.",
};

static bool is_allocator(const struct profile *profile, const struct profile_frame *frame)
{
	const struct profile_function *function = &profile->functions.data[frame->function];
	if (profile_frame_is_script(frame, profile->objects.data))
		return false;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (strncmp(function->name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

static bool is_of_heap(const struct profile_event *event)
{
	return event->source && strncmp(event->source, "heap", 4) == 0;
}

bool allocators_may_be_left_out(const struct profile *profile)
{
	vec_each(&profile->events, event)
		if (is_of_heap(event))
			return true;
	return false;
}

struct leaving_out {
	struct profile *profile;
	uint32_t *stacks;  /* of each stack 1 + what it became; 0: not yet known */
	struct map frames; /* recorded frame -> one without the allocators inlined into it */
	struct map nodes;  /* of profile_add_node() */
};

/* Of a recorded frame and what is inlined into it, from the innermost on; 0: it has nothing else.
 */
static uint32_t find_allocating_frame(const struct profile *profile, uint32_t recorded)
{
	const struct profile_frame *frames = profile->frames.data;
	uint32_t frame = frames[recorded].innermost;
	for (frame = frame ? frame : recorded; frame; frame = frames[frame].outer)
		if (!is_allocator(profile, &frames[frame]))
			return frame;
	return 0;
}

/* A copy of the recorded frame into which what is inlined begins with `innermost`. */
static uint32_t begin_frame_at(struct leaving_out *leaving, uint32_t recorded, uint32_t innermost)
{
	struct profile *profile = leaving->profile;
	bool added;
	uint64_t *known = map_put(&leaving->frames, recorded, &added);
	if (!added)
		return (uint32_t)*known;
	uint32_t copy = (uint32_t)profile->frames.len, last = copy;
	*known = copy;
	vec_push(&profile->frames, profile->frames.data[recorded]);
	for (uint32_t frame = innermost; frame != recorded;
		frame = profile->frames.data[frame].outer) {
		struct profile_frame inlined = profile->frames.data[frame];
		uint32_t number = (uint32_t)profile->frames.len;
		inlined.outer = copy;
		vec_push(&profile->frames, inlined);
		if (last != copy)
			profile->frames.data[last].outer = number;
		last = number;
	}
	profile->frames.data[copy].innermost = last == copy ? 0 : copy + 1;
	return copy;
}

/* The innermost node that has anything else, and that alone; 0: none has. */
static uint32_t find_allocating_node(struct leaving_out *leaving, uint32_t node)
{
	struct profile *profile = leaving->profile;
	for (; node; node = profile->nodes.data[node].parent) {
		struct layout_node it = profile->nodes.data[node];
		const struct profile_frame *recorded = &profile->frames.data[it.frame];
		uint32_t other = find_allocating_frame(profile, it.frame);
		if (!other)
			continue;
		if (other == recorded->innermost || (other == it.frame && !recorded->innermost))
			return node;
		return profile_add_node(profile, &leaving->nodes, it.parent,
			begin_frame_at(leaving, it.frame, other));
	}
	return 0;
}

/* A new stack where it had any. */
static uint32_t shorten(struct leaving_out *leaving, uint32_t stack)
{
	struct profile *profile = leaving->profile;
	if (leaving->stacks[stack])
		return leaving->stacks[stack] - 1;
	struct profile_stack copy = profile->stacks.data[stack];
	uint32_t caller = copy.kernel ? 0 : find_allocating_node(leaving, copy.user);
	uint32_t shortened = stack;
	if (caller && caller != copy.user) {
		copy.user = caller;
		shortened = (uint32_t)profile->stacks.len;
		vec_push(&profile->stacks, copy);
	}
	leaving->stacks[stack] = shortened + 1;
	return shortened;
}

void allocators_leave_out(struct profile *profile)
{
	if (!allocators_may_be_left_out(profile))
		return;
	struct leaving_out leaving = {.profile = profile,
		.stacks = mem_zalloc_array(profile->stacks.len, sizeof(*leaving.stacks))};
	vec_each(&profile->samples, sample)
		if (is_of_heap(&profile->events.data[sample->event]))
			sample->stack = shorten(&leaving, sample->stack);
	map_deinit(&leaving.frames);
	map_deinit(&leaving.nodes);
	mem_free(leaving.stacks);
}

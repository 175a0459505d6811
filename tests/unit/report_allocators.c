/* Recordings of allocations: whose they are. */
#include "report/analyse/refine_stacks.h"

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static uint32_t add_event(struct fixture *fixture, const char *name, const char *source)
{
	struct layout_event event = {
		.name = fixture_string(fixture, name),
		.unit = fixture_string(fixture, "bytes"),
		.source = fixture_string(fixture, source),
	};
	return writer_event(fixture->writer, &event);
}

static void add_sample(struct fixture *fixture, uint32_t thread, uint32_t event, uint32_t stack)
{
	struct layout_sample sample = {
		.time_ns = fixture->time_ns += 1000000,
		.event = event,
		.thread = thread,
		.user_stack = stack,
		.weight = 100,
	};
	writer_sample(fixture->writer, &sample);
}

static const char *leaf_of(const struct profile *profile, size_t sample)
{
	uint32_t node = profile->stacks.data[profile->samples.data[sample].stack].user;
	uint32_t frame = profile->nodes.data[node].frame;
	return profile->functions.data[profile->frames.data[frame].function].name;
}

TEST(what_allocates_for_its_caller_is_left_out)
{
	struct fixture fixture;
	uint32_t thread, app = fixture_begin(&fixture, "app", &thread);
	uint32_t heap = add_event(&fixture, "alloc_space", "heap");
	uint32_t ticks = add_event(&fixture, "ticks", "timer");
	uint32_t main = fixture_frame(&fixture, app, 0x10, "main");
	uint32_t list = fixture_frame(&fixture, app, 0x20, "std::__new_allocator<int>::allocate");
	uint32_t new = fixture_frame(&fixture, app, 0x30, "_Znwm");
	uint32_t own = fixture_frame(&fixture, app, 0x40, "_ZN5ArenanwEm"); /* of a class */
	uint32_t deep = FIXTURE_STACK(&fixture, main, list, new);
	add_sample(&fixture, thread, heap, deep);
	add_sample(&fixture, thread, heap, FIXTURE_STACK(&fixture, main, own, new));
	add_sample(&fixture, thread, heap, FIXTURE_STACK(&fixture, new));
	add_sample(&fixture, thread, heap, deep);
	add_sample(&fixture, thread, ticks, deep); /* it took the time */
	struct profile *profile = fixture_profile(&fixture);
	refine_stacks(profile);
	CHECK_STR(leaf_of(profile, 0), "main");
	CHECK_STR(leaf_of(profile, 1), "Arena::operator new(unsigned long)");
	CHECK_STR(leaf_of(profile, 2), "operator new(unsigned long)"); /* there is nothing else */
	CHECK_INT(profile->samples.data[3].stack, profile->samples.data[0].stack);
	CHECK_STR(leaf_of(profile, 4), "operator new(unsigned long)");
	profile_destroy(profile);
}

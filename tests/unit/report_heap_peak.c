/* What of the heap was in use when most was: by when samples were allocated and freed. */
#include "report/load/heap_peak.h"

#include <string.h>
#include <unistd.h>

#include "report/load/load.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

struct heap {
	struct fixture fixture;
	uint32_t thread, stack, other_stack;
	uint32_t allocated, objects, used, lifetime;
};

static uint32_t heap_event(
	struct heap *heap, const char *name, const char *unit, const char *source)
{
	struct layout_event event = {
		.name = fixture_string(&heap->fixture, name),
		.unit = fixture_string(&heap->fixture, unit),
		.source = fixture_string(&heap->fixture, source),
	};
	return writer_event(heap->fixture.writer, &event);
}

static void heap_begin(struct heap *heap)
{
	uint32_t app = fixture_begin(&heap->fixture, "app", &heap->thread);
	heap->allocated = heap_event(heap, "alloc_space", "bytes", "heap");
	heap->objects = heap_event(heap, "alloc_objects", "objects", "heap-objects");
	heap->used = heap_event(heap, "inuse_space", "bytes", "heap-used");
	heap->lifetime = heap_event(heap, "lifetime", "ns", "heap-lifetime");
	heap->stack =
		FIXTURE_STACK(&heap->fixture, fixture_frame(&heap->fixture, app, 0x10, "first"));
	heap->other_stack =
		FIXTURE_STACK(&heap->fixture, fixture_frame(&heap->fixture, app, 0x20, "second"));
}

static void heap_sample(
	struct heap *heap, uint32_t event, uint32_t stack, uint64_t ms, uint64_t weight)
{
	struct layout_sample sample = {
		.time_ns = heap->fixture.time_ns + ms * 1000000,
		.event = event,
		.thread = heap->thread,
		.user_stack = stack,
		.weight = weight,
	};
	writer_sample(heap->fixture.writer, &sample);
}

static void heap_allocated(struct heap *heap, uint32_t stack, uint64_t ms, uint64_t bytes)
{
	heap_sample(heap, heap->allocated, stack, ms, bytes);
	heap_sample(heap, heap->objects, stack, ms, bytes / 10);
}

static uint64_t sum_of(const struct profile *profile, const char *event, uint32_t *samples)
{
	uint64_t sum = 0;
	*samples = 0;
	vec_each(&profile->samples, sample)
		if (strcmp(profile->events.data[sample->event].name, event) == 0) {
			sum += profile_sample_value(profile, sample);
			++*samples;
		}
	return sum;
}

/* Freed so many ms later. */
static void heap_freed(struct heap *heap, uint64_t ms, uint64_t later_ms)
{
	heap_sample(heap, heap->lifetime, heap->stack, ms, later_ms * 1000000);
}

/* 100 that stay from 1 on, 300 from 2 to 5, 200 from 4 to 8, 250 from 6 to 7: most from 4 to 5. */
static void add_allocations(struct heap *heap)
{
	heap_allocated(heap, heap->stack, 1, 100);
	heap_allocated(heap, heap->stack, 2, 300);
	heap_allocated(heap, heap->other_stack, 4, 200);
	heap_freed(heap, 2, 3);
	heap_allocated(heap, heap->other_stack, 6, 250);
	heap_freed(heap, 6, 1);
	heap_freed(heap, 4, 4);
	heap_sample(heap, heap->used, heap->stack, 1, 100);
}

TEST(the_peak_is_what_was_in_use_when_most_was)
{
	struct heap heap;
	uint32_t samples;
	heap_begin(&heap);
	add_allocations(&heap);
	struct profile *profile = fixture_profile(&heap.fixture);
	CHECK_INT(sum_of(profile, "peak_space", &samples), 600);
	CHECK_INT(samples, 3);
	CHECK_INT(sum_of(profile, "peak_objects", &samples), 60);
	CHECK_INT(sum_of(profile, "alloc_space", &samples), 850);
	CHECK_INT(sum_of(profile, "inuse_space", &samples), 100);
	sum_of(profile, "lifetime", &samples);
	CHECK_INT(samples, 0);
	CHECK_INT(profile->nr_heap_peaks, 1);
	CHECK_INT(profile->heap_unknown_count, 0);
	CHECK_INT(profile->heap_peak_ns, heap.fixture.time_ns + 4000000);
	CHECK_STR(profile->events.data[profile->heap_peak_event].name, "peak_space");
	for (size_t i = 1; i < profile->samples.len; i++)
		CHECK(profile->samples.data[i - 1].time_ns <= profile->samples.data[i].time_ns);
	profile_destroy(profile);
}

/* Go's are not seen when they are freed, and some are too many to be kept. */
TEST(what_has_no_known_end_is_in_no_peak)
{
	struct heap heap;
	uint32_t samples;
	heap_begin(&heap);
	add_allocations(&heap);
	heap_allocated(&heap, heap.stack, 3, 5000);
	heap_freed(&heap, 9, 2); /* allocated in an earlier file */
	struct profile *profile = fixture_profile(&heap.fixture);
	CHECK_INT(sum_of(profile, "peak_space", &samples), 600);
	CHECK_INT(profile->heap_unknown_count, 1);
	CHECK_INT(profile->heap_unknown_bytes, 5000);
	profile_destroy(profile);
}

TEST(what_an_earlier_file_allocated_and_is_in_use_is_in_the_peak)
{
	struct heap heap;
	uint32_t samples;
	heap_begin(&heap);
	add_allocations(&heap);
	heap_sample(&heap, heap.used, heap.stack, 3, 70);
	struct profile *profile = fixture_profile(&heap.fixture);
	CHECK_INT(sum_of(profile, "peak_space", &samples), 670);
	CHECK_INT(sum_of(profile, "inuse_space", &samples), 170);
	profile_destroy(profile);
}

/* As when the recorder was killed: the samples at the end did not come. */
TEST(what_was_not_freed_when_the_file_was_cut_was_in_use)
{
	struct heap heap;
	uint32_t samples;
	struct profile *profile;
	heap_begin(&heap);
	add_allocations(&heap);
	heap_allocated(&heap, heap.stack, 3, 50);
	CHECK_OK(writer_flush(heap.fixture.writer));
	lseek(heap.fixture.fd, 0, SEEK_SET);
	CHECK_OK(profile_load(heap.fixture.fd, NULL, &profile));
	CHECK_INT(sum_of(profile, "peak_space", &samples), 650);
	CHECK_INT(sum_of(profile, "inuse_space", &samples), 150);
	profile_destroy(profile);
	writer_destroy(heap.fixture.writer);
	close(heap.fixture.fd);
}

TEST(as_it_was_recorded_there_is_no_peak)
{
	struct heap heap;
	uint32_t samples;
	heap_begin(&heap);
	add_allocations(&heap);
	struct profile_options options = {.as_recorded = true};
	struct profile *profile;
	int fd = fixture_finish(&heap.fixture);
	CHECK_OK(profile_load(fd, &options, &profile));
	close(fd);
	sum_of(profile, "lifetime", &samples);
	CHECK_INT(samples, 3);
	CHECK_INT(sum_of(profile, "peak_space", &samples), 0);
	CHECK_INT(profile->heap_peak_event, 0);
	profile_destroy(profile);
}

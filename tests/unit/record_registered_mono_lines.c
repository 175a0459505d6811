/* Mono's sequence points. What is read of processes and found by clr_source.c tests/e2e/mono.sh
 * shows. */
#include "record/generated/registered_mono_lines.h"

#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

TEST(registered_mono_points_in_the_order_of_the_code)
{
	/* Steps of IL and code, with the sign in the lowest bit: -1 at 10; 4 at 30; 2 at 24. */
	static const uint8_t bytes[] = {1, 20, 10, 40, 3, 11};
	struct mono_points points = {0};
	registered_mono_points(bytes, sizeof(bytes), false, &points);
	CHECK_INT(points.list.len, 3);
	CHECK_INT(points.list.data[0].il, -1);
	CHECK_INT(points.list.data[0].native, 10);
	CHECK_INT(points.list.data[1].il, 2);
	CHECK_INT(points.list.data[1].native, 24);
	CHECK_INT(points.list.data[2].il, 4);
	CHECK_INT(points.list.data[2].native, 30);
	vec_deinit(&points.list);
}

/* --debug adds flags, and which points may come next. */
TEST(registered_mono_points_for_debuggers)
{
	static const uint8_t bytes[] = {0, 2, 1, 2, 5, 6, 4, 2, 0, 0},
			     endless[] = {0, 2, 1, 0x7f, 1};
	struct mono_points points = {0};
	registered_mono_points(bytes, sizeof(bytes), true, &points);
	CHECK_INT(points.list.len, 2);
	CHECK_INT(points.list.data[1].il, 2);
	CHECK_INT(points.list.data[1].native, 2);
	points.list.len = 0;
	registered_mono_points(endless, sizeof(endless), true, &points);
	CHECK_INT(points.list.len, 0);
	vec_deinit(&points.list);
}

static void want_no_lines(void **kept, const struct mono_method_place *place)
{
	struct registered_lines lines = {0};
	CLEANUP(str_deinit) struct str file = {0};
	registered_mono_lines(kept, place, &lines, &file);
	CHECK_INT(lines.list.len, 0);
	CHECK_INT(file.len, 0);
}

/* What cannot be read, and an image that is none: that is remembered, too. */
TEST(registered_mono_lines_of_nothing)
{
	static char guid[36];
	uint64_t image[12] = {0}, points[2] = {0};
	static void *kept; /* for good, as in its worker */
	image[11] = (uintptr_t)guid;
	struct mono_method_place place = {.pid = (uint32_t)getpid(),
		.token = 0x06000001,
		.image = 8,
		.points = (uintptr_t)points,
		.start = 0x1000,
		.size = 0x100};
	want_no_lines(&kept, &place);
	place.image = (uintptr_t)image;
	for (int i = 0; i < 100; i++)
		want_no_lines(&kept, &place);
	place.token = 0;
	want_no_lines(&kept, &place);
}

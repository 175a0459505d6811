#include "report/name/script_frames.h"

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* As of two files that were merged: the functions of each are in an object of its own. */
TEST(a_language_of_several_files_is_counted_once)
{
	struct fixture fixture;
	struct script_frames frames;
	fixture_init(&fixture);
	uint32_t one = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t other = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[ruby]");
	uint32_t again = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "[python]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t f = fixture_line(&fixture, one, 0x10000001, "f", "/app/a.py", 9);
	uint32_t g = fixture_line(&fixture, again, 0x10000001, "g", "/app/b.py", 2);
	uint32_t block = fixture_line(&fixture, other, 0x10000001, "block", "/app/c.rb", 2);
	uint32_t unnamed = fixture_frame(&fixture, again, LAYOUT_SCRIPT_NO_NAME, NULL);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, f, f), 0, 3);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, g, block), 0, 2);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, unnamed), 0, 1);
	struct profile *profile = fixture_profile(&fixture);
	script_frames_count(profile, &frames);
	CHECK_INT(frames.languages.len, 2);
	CHECK_STR(frames.languages.data[0].name, "[python]");
	CHECK_INT(frames.languages.data[0].frames, 8);
	CHECK_INT(frames.languages.data[0].samples, 5);
	CHECK_STR(frames.languages.data[1].name, "[ruby]");
	CHECK_INT(frames.languages.data[1].samples, 2);
	CHECK_INT(frames.unnamed[LAYOUT_SCRIPT_NO_NAME], 1);
	script_frames_deinit(&frames);
	profile_destroy(profile);
}

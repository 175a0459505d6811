#include "report/write/export/json_labels.h"

#include "report/write/export/export.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static void check_labels(const struct profile *profile, bool are_texts, const char *want)
{
	struct json_labels labels;
	json_labels_init(&labels, profile, EXPORT_LABEL_COMM | EXPORT_LABEL_PID, are_texts);
	uint32_t set = json_labels_of(&labels, &profile->samples.data[0]);
	CHECK_STR(strtab_get(&labels.sets, set), want);
	CHECK_INT(json_labels_of(&labels, &profile->samples.data[1]), set);
	json_labels_deinit(&labels);
}

TEST(labels_are_objects_of_json)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 7, 0), 7, "a\"b");
	uint32_t frame = fixture_frame(&fixture, object, 0x10, "main");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 2);
	struct profile *profile = fixture_profile(&fixture);
	check_labels(profile, false, "{\"comm\":\"a\\\"b\",\"pid\":7}");
	check_labels(profile, true, "{\"comm\":\"a\\\"b\",\"pid\":\"7\"}");
	profile_destroy(profile);
}

/* Profiles of pprof as recordings: import_pprof, pprof_tables. */
#include <stdio.h>
#include <string.h>

#include "format/import/import_pprof.h"
#include "format/import/pprof_tables.h"
#include "tests/unit/forged_pprof.h"
#include "tests/unit/import_fixture.h"

TEST(pprof_samples_have_names_mappings_and_labels)
{
	struct bytes_buf profile = forged_pprof(1);
	CLEANUP(import_seen_deinit) struct import_seen seen = {0};
	CHECK(import_pprof_is(profile.data, profile.len));
	CHECK_OK(import_see(profile.data, profile.len, NULL, &seen));
	CHECK_STR(seen.result.format, "pprof profile");
	/* 3 samples of 30 ns and 1 of 5. */
	CHECK_INT(seen.samples.len, 4);
	CHECK_INT(seen.samples.data[0].weight, 10);
	CHECK_INT(seen.samples.data[3].weight, 5);
	CHECK_STR(import_seen_names(&seen, seen.samples.data[0].user_stack), "inner*;outer;main");
	CHECK_STR(import_seen_stack(&seen, seen.samples.data[0].user_stack),
		"/bin/program+0x1010 /bin/program+0x1105");
	const struct layout_event *event = &seen.events.data[seen.samples.data[0].event];
	CHECK_STR(seen.strings.data[event->name], "cpu");
	CHECK_STR(seen.strings.data[event->unit], "ns");
	const struct layout_object *object = &seen.objects.data[1];
	CHECK_INT(object->build_id_len, 4);
	CHECK_INT(object->build_id[3], 0xef);
	CHECK_INT(seen.threads.data[seen.samples.data[0].thread].tid, 77);
	CHECK(seen.samples.data[0].labels && !seen.samples.data[3].labels);
	bytes_buf_deinit(&profile);
}

TEST(pprof_values_below_zero_are_left_out_and_said)
{
	struct bytes_buf profile = forged_pprof(-1);
	CLEANUP(import_seen_deinit) struct import_seen seen = {0};
	CHECK_OK(import_see(profile.data, profile.len, NULL, &seen));
	CHECK_INT(seen.samples.len, 1);
	CHECK(strstr(str_text(&seen.result.notes), "1 sample with a value below 0"));
	bytes_buf_deinit(&profile);
}

TEST(pprof_damage_is_said_with_its_offset)
{
	struct bytes_buf profile = forged_pprof(1);
	for (size_t len = 1; len < profile.len; len++) {
		CLEANUP(import_seen_deinit) struct import_seen seen = {0};
		struct err *err = import_see(profile.data, len, NULL, &seen);
		CHECK(!err || strstr(err_message(err), "cut at offset") ||
			strstr(err_message(err), "no types") ||
			strstr(err_message(err), "no format"));
		err_destroy(err);
	}
	static const uint8_t gzip[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8,
		9, 9, 0xff, 0xff, 0xff, 0x7f};
	CLEANUP(import_seen_deinit) struct import_seen seen = {0};
	CHECK_ERR(import_see(gzip, 10, NULL, &seen), ERR_FORMAT, "in the header of gzip");
	CHECK_ERR(import_see(gzip, 20, NULL, &seen), ERR_FORMAT,
		"what stands at offset 16, its end, is no trailer of gzip");
	CHECK_ERR(import_see(gzip, sizeof(gzip), NULL, &seen), ERR_FORMAT,
		"it would unpack to 2147483647");
	static const uint8_t recording[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, /* stored: */ 1, 8,
		0, 0xf7, 0xff, 0x89, 'E', 'B', 'P', 'R', 'O', 'F', '\n', 0, 0, 0, 0, 8, 0, 0, 0};
	CHECK_ERR(import_see(recording, sizeof(recording), NULL, &seen), ERR_FORMAT,
		"a recording of ebprof that gzip compressed: gunzip it first");
	bytes_buf_deinit(&profile);
}

TEST(pprof_numbers_come_packed_or_one_by_one)
{
	static const uint8_t bytes[] = {0x0a, 2, 5, 6, 0x08, 7, 0x15, 1, 0, 0, 0, 0x03};
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
	struct pprof_field field;
	uint64_t number;
	CHECK(pprof_field_next(&cursor, &field));
	CHECK(pprof_number_next(&field, &number) && number == 5);
	CHECK(pprof_number_next(&field, &number) && number == 6);
	CHECK(!pprof_number_next(&field, &number));
	CHECK(pprof_field_next(&cursor, &field));
	CHECK(pprof_number_next(&field, &number) && number == 7);
	CHECK(!pprof_number_next(&field, &number));
	CHECK(pprof_field_next(&cursor, &field) && field.value == 1);
	CHECK(!pprof_field_next(&cursor, &field) && cursor.overrun); /* a group */
}

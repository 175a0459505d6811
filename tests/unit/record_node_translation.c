/* Translations and safepoints that Node.js 26.10.0 made, and bytecodes of all versions. */
#include <string.h>

#include "record/runtime/node/node_bytecodes.h"
#include "record/runtime/node/node_translation.h"
#include "tests/unit/unit.h"

enum {
	MAX_FRAMES = 4,
};

/* The second has seven operations of the first, one of its own, one more of the first. */
static const uint8_t two_translations[] = {0x0e, 0x00, 0x02, 0x02, 0x01, 0x2c, 0x00, 0x00, 0x03,
	0x26, 0x02, 0x28, 0x03, 0x28, 0x05, 0x26, 0x04, 0x25, 0x26, 0x06, 0x26, 0x06, 0x28, 0x05,
	0x0e, 0x18, 0x02, 0x02, 0x34, 0x1d, 0x01, 0x2e};

/* volume() of a class is inlined in another one's: two frames. */
static const uint8_t inlined[] = {0x0e, 0x00, 0x04, 0x04, 0x01, 0x1a, 0x02, 0x00, 0x03, 0x34 - 0x0e,
	0x02, 0x01, 0x04, 0x00, 0x02, 0x00, 0x26, 0x03};

TEST(frames_of_translations)
{
	struct node_translated_frame frames[MAX_FRAMES];
	CHECK_INT(node_translation_frames(
			  two_translations, sizeof(two_translations), 0, frames, MAX_FRAMES),
		1);
	CHECK_INT(frames[0].bytecode, 22);
	CHECK_INT(frames[0].literal, 0);
	frames[0].bytecode = 0;
	CHECK_INT(node_translation_frames(
			  two_translations, sizeof(two_translations), 24, frames, MAX_FRAMES),
		1);
	CHECK_INT(frames[0].bytecode, 22);
	CHECK_INT(node_translation_frames(inlined, sizeof(inlined), 0, frames, MAX_FRAMES), 2);
	CHECK_INT(frames[0].bytecode, 13);
	CHECK_INT(frames[0].literal, 1);
	CHECK_INT(frames[1].bytecode, 2);
	CHECK_INT(frames[1].literal, 0);
}

TEST(translations_that_make_no_sense)
{
	struct node_translated_frame frames[MAX_FRAMES];
	uint8_t bytes[sizeof(two_translations)];
	size_t len = sizeof(bytes);
	memcpy(bytes, two_translations, len);
	CHECK_INT(node_translation_frames(bytes, len, 3, frames, MAX_FRAMES), 0);
	CHECK_INT(node_translation_frames(bytes, len, len, frames, MAX_FRAMES), 0);
	bytes[3] = 4; /* it says that there are two */
	CHECK_INT(node_translation_frames(bytes, len, 0, frames, MAX_FRAMES), 0);
	bytes[25] = 40; /* there are no bytes so far back */
	CHECK_INT(node_translation_frames(bytes, len, 24, frames, MAX_FRAMES), 0);
	bytes[25] = 0; /* nothing is like it */
	CHECK_INT(node_translation_frames(bytes, len, 24, frames, MAX_FRAMES), 0);
	for (size_t cut = 0; cut < 8; cut++)
		CHECK_INT(node_translation_frames(two_translations, cut, 0, frames, MAX_FRAMES), 0);
}

TEST(safepoints)
{
	static const uint8_t table[] = {0x0e, 0, 0, 0, 3, 0, 0, 0, 0xa3, 0, 0, 0, 5, 0, 0, 0, 0x1d,
		0x00, 0x08, 0xc4, 0x05, 0x00, 0x00, 0xaa, 0x02, 0x09, 0xc8, 0x05, 0x06, 0x08, 0xf3,
		0x02, 0x00, 0x00, 0x00, 0x06, 0x08};
	struct node_safepoints safepoints;
	struct node_safepoint safepoint;
	CHECK(node_safepoints_init(&safepoints, table, sizeof(table), true));
	CHECK(node_safepoints_next(&safepoints, &safepoint));
	CHECK_INT(safepoint.pc, 0x1d);
	CHECK_INT(safepoint.translation, 7);
	CHECK_INT(safepoint.trampoline, 0x5c3);
	CHECK(node_safepoints_next(&safepoints, &safepoint));
	CHECK_INT(safepoint.pc, 0x2aa);
	CHECK(node_safepoints_next(&safepoints, &safepoint));
	CHECK_INT(safepoint.pc, 0x2f3);
	CHECK_INT(safepoint.translation, -1);
	CHECK(!node_safepoints_next(&safepoints, &safepoint));
	CHECK(!node_safepoints_init(&safepoints, table, 10, true));
	CHECK(node_safepoints_init(&safepoints, table, 20, true));
	CHECK(!node_safepoints_next(&safepoints, &safepoint));
}

/* LdaZero; Star, wide; Return: 12 bytes of code ahead of them, then 3, 5 and 20. */
TEST(bytecodes_of_baseline_code)
{
	static const uint8_t versions[][2] = {{10, 2}, {11, 3}, {12, 4}, {13, 6}, {14, 6}};
	static const uint8_t table[] = {12, 3, 5, 20};
	struct node_baseline_places places;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		uint8_t bytecodes[] = {12, 0, 24, 1, 0, 12};
		CHECK(node_baseline_places_init(&places, versions[i][0], versions[i][1], bytecodes,
			sizeof(bytecodes), table, sizeof(table)));
		CHECK(node_baseline_places_next(&places));
		CHECK_INT(places.bytecode, 0);
		CHECK_INT(places.start, 12);
		CHECK_INT(places.end, 15);
		CHECK(node_baseline_places_next(&places));
		CHECK_INT(places.bytecode, 1);
		CHECK_INT(places.end, 20);
	}
	CHECK(!node_baseline_places_init(&places, 9, 4, table, 0, table, sizeof(table)));
}

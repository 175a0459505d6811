#include <string.h>

#include "report/analyse/frame_kind.h"
#include "report/tui/palette.h"
#include "tests/unit/colour_seen.h"
#include "tests/unit/unit.h"

enum {
	BLACK_INK = 234, /* of the terminal's frames; that of pages is darker */
};

/* Of the eight; ECMA-48. */
enum {
	ALARM_RED = 1,
};

TEST(frames_carry_dark_letters)
{
	double ink = colour_seen_luminance(BLACK_INK);
	for (int kind = 0; kind < FRAME_KINDS_END; kind++) {
		const int colours[] = {frame_kinds[kind].colour, frame_kinds[kind].paler};
		for (int i = 0; i < 2; i++) {
			double contrast =
				colour_seen_contrast(ink, colour_seen_luminance(colours[i]));
			if (contrast < 4.5)
				unit_fail(__FILE__, __LINE__, "%s: %.1f", frame_kinds[kind].word,
					contrast);
		}
		CHECK(colour_seen_luminance(frame_kinds[kind].paler) >
			colour_seen_luminance(frame_kinds[kind].colour));
	}
}

TEST(frames_are_no_alarm_in_eight_colours)
{
	for (int style = STYLE_FLAME; style < STYLE_FLAME + STYLE_FLAMES; style++)
		CHECK(palette[style].poor_ground != ALARM_RED);
}

/* ---- who sees less of red or green ---- */

/* Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision
 * Deficiency (2009), severity 1; linear parts of sRGB. */
static const double eyes[3][3][3] = {
	{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216},
		{-0.003882, -0.048116, 1.051998}},
	{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413},
		{-0.011820, 0.042940, 0.968881}},
};

static double lightness_curve(double value)
{
	return value > 0.008856 ? cbrt(value) : 7.787 * value + 16.0 / 116;
}

/* CIE 1976 L*a*b* under D65 of what these eyes see. */
static void see_colour(int colour, const double eye[3][3], double ret[3])
{
	double rgb[3], seen[3];
	colour_seen_linear(colour, rgb);
	for (int i = 0; i < 3; i++) {
		double part = eye[i][0] * rgb[0] + eye[i][1] * rgb[1] + eye[i][2] * rgb[2];
		seen[i] = part < 0 ? 0 : part > 1 ? 1 : part;
	}
	double x =
		lightness_curve((0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.95047);
	double y = lightness_curve(0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]);
	double z =
		lightness_curve((0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.08883);
	ret[0] = 116 * y - 16;
	ret[1] = 500 * (x - y);
	ret[2] = 200 * (y - z);
}

static double colour_distance(int one, int other, const double eye[3][3])
{
	double a[3], b[3], sum = 0;
	see_colour(one, eye, a);
	see_colour(other, eye, b);
	for (int i = 0; i < 3; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sqrt(sum);
}

/* About 2 is the least that can be seen side by side. */
TEST(kinds_are_told_apart_by_all_eyes)
{
	for (int eye = 0; eye < 3; eye++)
		for (int one = 0; one < FRAME_KINDS_END; one++)
			for (int other = 0; other < one; other++) {
				double distance = colour_distance(frame_kinds[one].colour,
					frame_kinds[other].colour, eyes[eye]);
				if (distance < 7)
					unit_fail(__FILE__, __LINE__, "%s and %s, eye %d: %.1f",
						frame_kinds[one].word, frame_kinds[other].word, eye,
						distance);
			}
}

/* ---- what is what ---- */

static enum frame_kind kind_of(enum layout_object_kind kind, const char *path)
{
	const char *slash = path[0] == '[' ? NULL : strrchr(path, '/');
	struct profile_object object = {
		.info = {.kind = kind}, .path = path, .name = slash ? slash + 1 : path};
	return frame_kind_of_function(&(struct profile_function){.is_known = true}, &object);
}

TEST(kinds_of_objects)
{
	CHECK_INT(kind_of(LAYOUT_OBJECT_FILE, "/usr/bin/python3.11"), FRAME_PROGRAM);
	CHECK_INT(kind_of(LAYOUT_OBJECT_FILE, "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus"),
		FRAME_PROGRAM);
	CHECK_INT(kind_of(LAYOUT_OBJECT_FILE, "/home/me/build/libmine.so.1"), FRAME_PROGRAM);
	CHECK_INT(
		kind_of(LAYOUT_OBJECT_FILE, "/usr/lib/x86_64-linux-gnu/libc.so.6"), FRAME_LIBRARY);
	CHECK_INT(kind_of(LAYOUT_OBJECT_FILE,
			  "/home/me/venv/lib/python3.11/site-packages/numpy/core/_umath.so"),
		FRAME_LIBRARY);
	CHECK_INT(kind_of(LAYOUT_OBJECT_FILE, "/usr/lib/my.sources/tool"), FRAME_PROGRAM);
	CHECK_INT(kind_of(LAYOUT_OBJECT_VDSO, "[vdso]"), FRAME_LIBRARY);
	CHECK_INT(kind_of(LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]"), FRAME_KERNEL);
	CHECK_INT(kind_of(LAYOUT_OBJECT_ANONYMOUS, PROFILE_GENERATED_CODE), FRAME_PROGRAM);
	CHECK_INT(kind_of(LAYOUT_OBJECT_SCRIPT, "[java]"), FRAME_JAVA);
	CHECK_INT(kind_of(LAYOUT_OBJECT_SCRIPT, "[prolog]"), FRAME_SCRIPT);
	CHECK_INT(kind_of(LAYOUT_OBJECT_UNKNOWN, PROFILE_WAITS), FRAME_WAIT);
	struct profile_object libc = {.info.kind = LAYOUT_OBJECT_FILE, .name = "libc.so.6"};
	CHECK_INT(frame_kind_of_function(&(struct profile_function){0}, &libc), FRAME_UNNAMED);
}

TEST(kinds_of_many_functions_are_those_of_each)
{
	const struct profile_object objects[] = {
		{.info.kind = LAYOUT_OBJECT_UNKNOWN, .name = ""},
		{.info.kind = LAYOUT_OBJECT_FILE, .name = "libc.so.6", .path = "/lib/libc.so.6"},
		{.info.kind = LAYOUT_OBJECT_KERNEL, .name = "[kernel.kallsyms]"},
		{.info.kind = LAYOUT_OBJECT_SCRIPT, .name = "[java]", .path = "[java]"},
		{.info.kind = LAYOUT_OBJECT_UNKNOWN, .name = PROFILE_WAITS},
	};
	enum {
		OBJECTS = sizeof(objects) / sizeof(*objects),
		FUNCTIONS = 2 * OBJECTS + 1,
	};
	struct profile_function functions[FUNCTIONS] = {0};
	for (uint32_t i = 1; i < FUNCTIONS; i++)
		functions[i] =
			(struct profile_function){.object = i % OBJECTS, .is_known = i > OBJECTS};
	CLEANUP_FREE uint8_t *kinds =
		frame_kinds_of_functions(functions, FUNCTIONS, objects, OBJECTS);
	for (uint32_t i = 1; i < FUNCTIONS; i++)
		CHECK_INT(kinds[i],
			frame_kind_of_function(&functions[i], &objects[functions[i].object]));
}

TEST(colours_of_the_cube_and_greys)
{
	CHECK_INT(frame_kind_rgb(16), 0);
	CHECK_INT(frame_kind_rgb(215), 0xffaf5f);
	CHECK_INT(frame_kind_rgb(231), 0xffffff);
	CHECK_INT(frame_kind_rgb(232), 0x080808);
	CHECK_INT(frame_kind_rgb(255), 0xeeeeee);
}

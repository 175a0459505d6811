#include "report/tui/palette.h"
#include "tests/unit/colour_seen.h"
#include "tests/unit/unit.h"

/* WCAG 2.1, 1.4.3. */
TEST(inks_are_readable_on_white_and_on_black)
{
	for (int i = 0; i < STYLE_COUNT; i++) {
		if (palette[i].rich_ground != PALETTE_OWN || palette[i].rich == PALETTE_OWN)
			continue;
		double light = colour_seen_luminance(palette[i].rich);
		if (1.05 / (light + 0.05) < 4.5 || (light + 0.05) / 0.05 < 4.5)
			unit_fail(__FILE__, __LINE__, "style %d: %d", i, palette[i].rich);
	}
}

/* Of xterm's eight. */
static const double luminances[] = {0, 0.1298, 0.4366, 0.5664, 0.0617, 0.1739, 0.4807, 0.7835};

enum { /* a hundredth: magenta on black is the nearest to 4.5 that there is */
	LEAST_OF_EIGHT = 447,
};

/* Most of them are unreadable on one of the two. */
TEST(the_eight_inks_are_readable_on_white_and_on_black)
{
	for (int i = 0; i < STYLE_COLD; i++) {
		if (palette[i].poor_ground != PALETTE_OWN || palette[i].poor == PALETTE_OWN)
			continue;
		double light = luminances[palette[i].poor];
		if (100 * colour_seen_contrast(1, light) < LEAST_OF_EIGHT ||
			100 * colour_seen_contrast(light, 0) < LEAST_OF_EIGHT)
			unit_fail(__FILE__, __LINE__, "style %d: %d", i, palette[i].poor);
	}
}

TEST(texts_are_readable_on_grounds_of_the_eight)
{
	for (int i = 0; i < STYLE_COUNT; i++) {
		if (palette[i].poor_ground == PALETTE_OWN)
			continue;
		CHECK(palette[i].poor != PALETTE_OWN);
		double contrast = colour_seen_contrast(
			luminances[palette[i].poor], luminances[palette[i].poor_ground]);
		if (100 * contrast < LEAST_OF_EIGHT)
			unit_fail(__FILE__, __LINE__, "style %d: %.2f", i, contrast);
	}
}

TEST(texts_are_readable_on_their_grounds)
{
	for (int i = 0; i < STYLE_COLD; i++) {
		if (palette[i].rich_ground == PALETTE_OWN)
			continue;
		double ink = colour_seen_luminance(palette[i].rich),
		       ground = colour_seen_luminance(palette[i].rich_ground);
		double contrast = (ink + 0.05) / (ground + 0.05);
		contrast = contrast < 1 ? 1 / contrast : contrast;
		if (contrast < 4.5)
			unit_fail(__FILE__, __LINE__, "style %d: %.1f", i, contrast);
	}
}

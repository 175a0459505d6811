#include "report/tui/palette.h"
#include "tests/unit/unit.h"

/* Of 256 colours: a cube of 6, then greys. */
static double luminance(int colour)
{
	static const int steps[] = {0, 95, 135, 175, 215, 255};
	static const double weights[] = {0.2126, 0.7152, 0.0722};
	int cube = colour - 16;
	int rgb[] = {steps[cube / 36 % 6], steps[cube / 6 % 6], steps[cube % 6]};
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		/* Instead of the power of 2.4, which needs libm; 0.01 off at most. */
		double share = (colour >= 232 ? 8 + 10 * (colour - 232) : rgb[i]) / 255.0;
		sum += weights[i] * share * share * (0.67 + 0.33 * share);
	}
	return sum;
}

/* WCAG 2.1, 1.4.3: large text and what is no text need 3. */
TEST(inks_are_readable_on_white_and_on_black)
{
	for (int i = 0; i < STYLE_COUNT; i++) {
		if (palette[i].rich_ground != PALETTE_OWN || palette[i].rich == PALETTE_OWN)
			continue;
		double light = luminance(palette[i].rich);
		if (1.05 / (light + 0.05) < 3 || (light + 0.05) / 0.05 < 3)
			unit_fail(__FILE__, __LINE__, "style %d: %d", i, palette[i].rich);
	}
}

TEST(texts_are_readable_on_their_grounds)
{
	for (int i = 0; i < STYLE_COLD; i++) {
		if (palette[i].rich_ground == PALETTE_OWN)
			continue;
		double ink = luminance(palette[i].rich), ground = luminance(palette[i].rich_ground);
		double contrast = (ink + 0.05) / (ground + 0.05);
		contrast = contrast < 1 ? 1 / contrast : contrast;
		if (contrast < 4.5)
			unit_fail(__FILE__, __LINE__, "style %d: %.1f", i, contrast);
	}
}

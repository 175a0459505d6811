/* How colours are seen: how bright, and by whom. For tests of what is told apart by colour. */
#ifndef EBPROF_COLOUR_SEEN_H
#define EBPROF_COLOUR_SEEN_H

#include <math.h>

#include "report/analyse/frame_kind.h"

/* Of one of xterm's 256 colours; linear parts of sRGB (WCAG 2.1, relative luminance). */
static inline void colour_seen_linear(int colour, double ret[3])
{
	uint32_t rgb = frame_kind_rgb(colour);
	for (int i = 0; i < 3; i++) {
		double part = (rgb >> (16 - 8 * i) & 0xff) / 255.0;
		ret[i] = part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
	}
}

static inline double colour_seen_luminance(int colour)
{
	double rgb[3];
	colour_seen_linear(colour, rgb);
	return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

/* WCAG 2.1: from 1 to 21. */
static inline double colour_seen_contrast(double one, double other)
{
	return one > other ? (one + 0.05) / (other + 0.05) : (other + 0.05) / (one + 0.05);
}

#endif

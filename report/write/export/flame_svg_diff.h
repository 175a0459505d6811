/*
 * What a flame graph of two recordings says of each box: old and new share, and a colour by the
 * difference, red for more and blue for less. The boxes are those of a merged tree and as wide as
 * the mean of both shares, so that what is new stands there as well as what vanished.
 */
#ifndef EBPROF_FLAME_SVG_DIFF_H
#define EBPROF_FLAME_SVG_DIFF_H

#include "format/base/str.h"
#include "report/analyse/flame.h"
#include "report/compare/diff_focus.h"

struct flame_svg_diff {
	const char *base_name, *new_name; /* of foreign origin */
	struct compare_wholes wholes;
	struct diff_focus *focus; /* what each of its nodes took on either side; gets expanded */
};

/* A class of the style. */
const char *flame_svg_diff_class(const struct flame_svg_diff *diff, const struct flame_box *box);
/* "30.00% -> 45.00%, +15.00 points, 300 -> 450 samples", with arrows. */
void flame_svg_diff_put(
	const struct flame_svg_diff *diff, const struct flame_box *box, struct str *out);

/* Lines of CSS, and what explains the colours. */
extern const char flame_svg_diff_style[];
void flame_svg_diff_put_legend(unsigned x, size_t y, struct str *out);

#endif

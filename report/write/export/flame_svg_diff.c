#include "report/write/export/flame_svg_diff.h"

#include <math.h>

const char flame_svg_diff_style[] = "rect.same{fill:#e4e2dc}\n"
				    "rect.more1{fill:#f3d3ca}rect.more2{fill:#f0b3a5}rect.more3{"
				    "fill:#ec8c78}rect.more4{fill:#e5644c}\n"
				    "rect.less1{fill:#d0ddee}rect.less2{fill:#aec8ea}rect.less3{"
				    "fill:#83aee6}rect.less4{fill:#5790e0}\n";

/* The weakest first. */
static const struct {
	const char *more, *less;
} classes[COMPARE_STRENGTHS] = {
	{"more1", "less1"},
	{"more2", "less2"},
	{"more3", "less3"},
	{"more4", "less4"},
};

static const char minus[] = "\xe2\x88\x92";

static void flame_svg_diff_add(struct compare_value *to, const struct compare_value *value)
{
	to->total += value->total;
	to->samples += value->samples;
}

/* A box of several siblings has those nodes of the focus that stand behind one another. */
static struct compare_row flame_svg_diff_row_of(
	const struct flame_svg_diff *diff, const struct flame_box *box)
{
	struct compare_row sum = {0};
	for (uint32_t i = 0; i < box->count; i++) {
		struct compare_row row = diff_focus_row(diff->focus, box->node + i);
		flame_svg_diff_add(&sum.base, &row.base);
		flame_svg_diff_add(&sum.new, &row.new);
		sum.is_cut |= row.is_cut;
	}
	return sum;
}

/* Of several siblings: that of all of them; 0: they have not one. */
static int direction_of(const struct flame_svg_diff *diff, const struct flame_box *box)
{
	struct compare_row first = diff_focus_row(diff->focus, box->node);
	int direction = compare_direction(&first, COMPARE_TOTAL);
	for (uint32_t i = 1; i < box->count; i++) {
		struct compare_row row = diff_focus_row(diff->focus, box->node + i);
		if (compare_direction(&row, COMPARE_TOTAL) != direction)
			return 0;
	}
	return direction;
}

const char *flame_svg_diff_class(const struct flame_svg_diff *diff, const struct flame_box *box)
{
	struct compare_row row = flame_svg_diff_row_of(diff, box);
	int direction = direction_of(diff, box);
	if (!direction)
		return "same";
	double points = compare_points(&diff->wholes, &row, COMPARE_TOTAL);
	unsigned strength = compare_strength(points * direction);
	return direction < 0 ? classes[strength].less : classes[strength].more;
}

void flame_svg_diff_put(
	const struct flame_svg_diff *diff, const struct flame_box *box, struct str *out)
{
	struct compare_row row = flame_svg_diff_row_of(diff, box);
	double points = compare_points(&diff->wholes, &row, COMPARE_TOTAL);
	double base = compare_base_percent(&diff->wholes, &row, COMPARE_TOTAL);
	double new = compare_new_percent(&diff->wholes, &row, COMPARE_TOTAL);
	if (row.is_cut) {
		str_printf(out, "%.2f%% now, not compared: the baseline was cut here", new);
		return;
	}
	str_printf(out, "%.2f%% \xe2\x86\x92 %.2f%%, %s%.2f pp", base, new,
		points < 0 ? minus : "+", fabs(points));
	str_printf(out, ", %llu \xe2\x86\x92 %llu %s", (unsigned long long)row.base.samples,
		(unsigned long long)row.new.samples,
		str_plural(row.new.samples, "sample", "samples"));
}

static void put_swatch(unsigned x, size_t y, const char *class, struct str *out)
{
	str_printf(out, "<rect class=\"%s\" x=\"%u\" y=\"%zu\" width=\"34\" height=\"14\"/>", class,
		x, y);
}

/* With the points where it begins; the weakest begins where chance ends. */
static void flame_svg_diff_put_step(
	unsigned x, size_t y, unsigned strength, bool is_more, struct str *out)
{
	put_swatch(x, y, is_more ? classes[strength].more : classes[strength].less, out);
	if (strength)
		str_printf(out, "<text x=\"%u\" y=\"%zu\" text-anchor=\"middle\">%s%.0f</text>",
			x + 17, y + 11, is_more ? "+" : minus, compare_strengths[strength]);
}

void flame_svg_diff_put_legend(unsigned x, size_t y, struct str *out)
{
	enum {
		WIDE = 36,
	};
	str_puts(out, "<g id=\"legend\">");
	for (unsigned i = COMPARE_STRENGTHS; i-- > 0; x += WIDE)
		flame_svg_diff_put_step(x, y, i, false, out);
	put_swatch(x, y, "same", out);
	x += WIDE;
	for (unsigned i = 0; i < COMPARE_STRENGTHS; i++, x += WIDE)
		flame_svg_diff_put_step(x, y, i, true, out);
	str_printf(out,
		"<text class=\"details\" x=\"%u\" y=\"%zu\">pp: percentage points of the share; "
		"gray: "
		"the same, perhaps by chance, or unknown. Widths: the mean of both "
		"shares</text></g>\n",
		x + 6, y + 11);
}

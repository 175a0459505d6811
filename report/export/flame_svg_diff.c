#include "report/export/flame_svg_diff.h"

#include "report/compare.h"

const char flame_svg_diff_style[] = "rect.same{fill:#e4e2dc}\n"
				    "rect.more1{fill:#f3d3ca}rect.more2{fill:#f0b3a5}rect.more3{"
				    "fill:#ec8c78}rect.more4{fill:#e5644c}\n"
				    "rect.less1{fill:#d0ddee}rect.less2{fill:#aec8ea}rect.less3{"
				    "fill:#83aee6}rect.less4{fill:#5790e0}\n";

/* By how many points a share differs at least. */
static const struct step {
	double points;
	const char *more, *less, *more_label, *less_label;
} steps[] = {
	{10, "more4", "less4", "+10",
		"\xe2\x88\x92"
		"10"},
	{3, "more3", "less3", "+3",
		"\xe2\x88\x92"
		"3"},
	{1, "more2", "less2", "+1",
		"\xe2\x88\x92"
		"1"},
	{0, "more1", "less1", "+0",
		"\xe2\x88\x92"
		"0"},
};

enum {
	STEPS = sizeof(steps) / sizeof(*steps),
};

/* A box of several siblings has those nodes of the focus that stand behind one another. */
static struct slice_sum sum_of(
	const struct tree_weight *weights, const struct focus *focus, const struct flame_box *box)
{
	struct slice_sum sum = {0};
	for (uint32_t i = 0; i < box->count; i++) {
		const struct focus_node *node = &focus->nodes.data[box->node + i];
		for (size_t k = 0; k < node->nr_places; k++) {
			const struct focus_place *place =
				&focus->places.data[node->first_place + k];
			sum.value += weights[place->node].total;
			sum.samples += weights[place->node].samples;
		}
	}
	return sum;
}

const char *flame_svg_diff_class(
	const struct flame_svg_diff *diff, const struct focus *focus, const struct flame_box *box)
{
	struct slice_sum base = sum_of(diff->base, focus, box);
	struct slice_sum new = sum_of(diff->new, focus, box);
	if (!compare_is_beyond_chance(
		    base.samples, diff->base[0].samples, new.samples, diff->new[0].samples))
		return "same";
	double points = profile_percent(new.value, diff->new[0].total) -
			profile_percent(base.value, diff->base[0].total);
	size_t at = 0;
	while (at < STEPS - 1 && (points < 0 ? -points : points) < steps[at].points)
		at++;
	return points < 0 ? steps[at].less : steps[at].more;
}

void flame_svg_diff_put(const struct flame_svg_diff *diff, const struct focus *focus,
	const struct flame_box *box, struct str *out)
{
	struct slice_sum base = sum_of(diff->base, focus, box);
	struct slice_sum new = sum_of(diff->new, focus, box);
	double old_percent = profile_percent(base.value, diff->base[0].total);
	double new_percent = profile_percent(new.value, diff->new[0].total);
	double points = new_percent - old_percent;
	const char *sign = points < 0 ? "\xe2\x88\x92" : "+";
	str_printf(out, "%.2f%% \xe2\x86\x92 %.2f%%, %s%.2f points", old_percent, new_percent, sign,
		points < 0 ? -points : points);
	str_printf(out, ", %llu \xe2\x86\x92 %llu samples", (unsigned long long)base.samples,
		(unsigned long long)new.samples);
}

static void put_swatch(unsigned x, size_t y, const char *class, struct str *out)
{
	str_printf(out, "<rect class=\"%s\" x=\"%u\" y=\"%zu\" width=\"34\" height=\"14\"/>", class,
		x, y);
}

static void put_step(unsigned x, size_t y, const char *class, const char *label, struct str *out)
{
	put_swatch(x, y, class, out);
	if (label)
		str_printf(out, "<text x=\"%u\" y=\"%zu\" text-anchor=\"middle\">%s</text>", x + 17,
			y + 11, label);
}

void flame_svg_diff_put_legend(unsigned x, size_t y, struct str *out)
{
	enum {
		WIDE = 36,
	};
	str_puts(out, "<g id=\"legend\">");
	for (unsigned i = 0; i < STEPS; i++, x += WIDE)
		put_step(x, y, steps[i].less, i < STEPS - 1 ? steps[i].less_label : NULL, out);
	put_step(x, y, "same", NULL, out);
	x += WIDE;
	for (unsigned i = STEPS; i-- > 0; x += WIDE)
		put_step(x, y, steps[i].more, i < STEPS - 1 ? steps[i].more_label : NULL, out);
	str_printf(out,
		"<text class=\"details\" x=\"%u\" y=\"%zu\">points of the share and beyond; gray: "
		"the "
		"same, or perhaps by chance. Widths: the mean of both shares</text></g>\n",
		x + 6, y + 11);
}

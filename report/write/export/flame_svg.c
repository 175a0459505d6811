#include "report/write/export/flame_svg.h"

#include <string.h>

#include "report/analyse/frame_kind.h"
#include "report/model/text/markup.h"
#include "report/name/distinct_names.h"
#include "report/name/short_names.h"
#include "report/write/cause_words.h"
#include "report/write/export/distinct_names.inc" /* distinct_names_script */
#include "report/write/export/flame_svg.inc" /* flame_svg_script: flame_svg.js, made a string */

/* The layout's unit is a thousandth of a pixel, since boxes grow with the zoom; the rest are
 * pixels, flame_svg.js knows them too. */
enum {
	UNITS = 1000,
	WIDTH = 1200,
	MARGIN = 10,
	TITLE = 48, /* above the first row */
	TITLE_BASELINE = 20,
	TITLE_COLUMNS = 60, /* what is said behind it takes as much */
	NAME_COLUMNS = 20,  /* of a file */
	LEGEND = 24,        /* above the boxes */
	FOOT = 28,          /* below them */
	NOTE_COLUMNS = 160,
	ROW = 17,       /* from one row to the next */
	BOX = 16,       /* the height of a box */
	BASELINE = 12,  /* of its text */
	LEAST = 300,    /* units: what is narrower is grouped */
	CHARACTER = 73, /* tenths of a pixel, as wide fonts of 12 pixels are */
	CUT_LEAST = 7,  /* columns: with fewer of a name that is cut, "m..", it says nothing */
	PADDING = 3,
	ROWS_MAX = 1024, /* a picture as high as that is of no use */
};

struct svg {
	uint32_t top; /* of the boxes */
	struct focus *focus;
	const struct flame_svg_options *options;
	bool has_kind[FRAME_KINDS_END], has_inlined; /* of what was put */
	bool *has_function;
	struct distinct_names names; /* of the boxes that have room for theirs */
	struct str *out;
};

static const char style[] =
	"text{font:12px monospace;fill:#1b1b1b}rect.page{fill:#fff}\n"
	"#boxes g:hover rect,#boxes g.current rect{stroke:#000}#boxes g{cursor:pointer}\n"
	"rect.rest{fill:#e4e4e4}rect.caller{fill:#ededed}rect.match{fill:#ff5fff}\n"
	"g.above{opacity:.55}#boxes g.hit rect{fill:#ff5fff}.button{fill:#06c;cursor:pointer}\n"
	".details{fill:#444}#boxes text{pointer-events:none}\n"
	"@media(prefers-color-scheme:dark){rect.page{fill:#17191d}text{fill:#e6e6e6}\n"
	"#boxes text,#kinds text,#legend text{fill:#1b1b1b}\n"
	"#legend .details,.details{fill:#b8bcc4}.button{fill:#7db7ff}\n"
	"#boxes g:hover rect,#boxes g.current rect{stroke:#fff}}\n"
	"input{width:100%;height:22px;box-sizing:border-box;font:12px sans-serif}\n";

/* ---- text ---- */

static void flame_svg_put_text(struct svg *svg, const char *text)
{
	markup_put(svg->out, text, strlen(text));
}

static const char *flame_svg_name_of(const struct svg *svg, uint32_t node)
{
	uint32_t function = svg->focus->nodes.data[node].function;
	return function ? svg->focus->functions[function].name : "all";
}

/* Columns of one character: beyond Latin, fonts are as wide again. */
static size_t columns_of(uint32_t code_point)
{
	return code_point < 0x300 ? 1 : 2;
}

/* The beginning or the end of a text (from `at` on) that has so many columns. */
static size_t bytes_of(const char *text, size_t len, size_t columns)
{
	size_t at = 0;
	while (at < len) {
		uint32_t code_point;
		size_t bytes = str_utf8_decode(text + at, len - at, &code_point);
		size_t width = bytes ? columns_of(code_point) : 1;
		if (width > columns)
			break;
		columns -= width;
		at += bytes ? bytes : 1;
	}
	return at;
}

static size_t text_columns(const char *text, size_t len)
{
	size_t columns = 0;
	for (size_t at = 0; at < len;) {
		uint32_t code_point;
		size_t bytes = str_utf8_decode(text + at, len - at, &code_point);
		columns += bytes ? columns_of(code_point) : 1;
		at += bytes ? bytes : 1;
	}
	return columns;
}

/* The middle is left out where there is too much of it. */
static void put_elided(struct svg *svg, const char *text, size_t columns)
{
	CLEANUP(str_deinit) struct str safe = {0};
	str_puts_escaped(&safe, text);
	size_t all = text_columns(safe.data, safe.len);
	if (all <= columns) {
		flame_svg_put_text(svg, str_text(&safe));
		return;
	}
	size_t tail = (columns - 2) / 2, head = columns - 2 - tail;
	size_t head_bytes = bytes_of(safe.data, safe.len, head);
	size_t tail_at = bytes_of(safe.data, safe.len, all - tail);
	markup_put(svg->out, safe.data, head_bytes);
	str_puts(svg->out, "..");
	markup_put(svg->out, safe.data + tail_at, safe.len - tail_at);
}

/* ---- boxes ---- */

static void flame_svg_put_units(struct svg *svg, const char *attribute, uint32_t units)
{
	str_printf(svg->out, " %s=\"%u", attribute, units / UNITS);
	uint32_t rest = units % UNITS;
	if (rest)
		str_printf(svg->out,
			rest % 10    ? ".%03u"
			: rest % 100 ? ".%02u"
				     : ".%u",
			rest % 10    ? rest
			: rest % 100 ? rest / 10
				     : rest / 100);
	str_putc(svg->out, '"');
}

static void flame_svg_put_kind(struct svg *svg, enum frame_kind kind, bool is_inlined)
{
	str_printf(svg->out, "%s%s", frame_kinds[kind].word, is_inlined ? " inlined" : "");
	svg->has_kind[kind] = true;
	svg->has_inlined |= is_inlined;
}

static void put_class(struct svg *svg, const struct flame_box *box)
{
	const struct focus_node *node = &svg->focus->nodes.data[box->node];
	uint32_t function = node->function;
	enum frame_kind kind = frame_kind_of_node(svg->focus, svg->options->objects, box->node);
	bool is_inlined = svg->options->frames[node->frame].outer;
	if (svg->options->matches && svg->options->matches[function])
		str_puts(svg->out, "match");
	else if (svg->options->diff)
		str_puts(svg->out, flame_svg_diff_class(svg->options->diff, box));
	else if (!function)
		str_puts(svg->out, "caller"); /* of all */
	else
		flame_svg_put_kind(svg, kind, is_inlined);
}

static void flame_svg_put_share(struct svg *svg, const struct flame_box *box)
{
	if (svg->options->diff)
		flame_svg_diff_put(svg->options->diff, box, svg->out);
	else
		str_printf(svg->out, "%.2f%%, %llu %s",
			profile_percent(box->total, svg->options->whole),
			(unsigned long long)box->samples,
			str_plural(box->samples, "sample", "samples"));
}

static void put_tooltip(struct svg *svg, const struct flame_box *box)
{
	uint32_t function = svg->focus->nodes.data[box->node].function;
	str_puts(svg->out, "<title>");
	if (box->count > 1)
		str_printf(svg->out, "%u functions, the largest is ", box->count);
	flame_svg_put_text(svg, flame_svg_name_of(svg, box->node));
	const char *object = svg->options->objects[svg->focus->functions[function].object].name;
	const char *cause =
		cause_of_frame(&svg->options->frames[svg->focus->nodes.data[box->node].frame],
			svg->options->objects);
	if (function && (cause || object[0])) {
		str_puts(svg->out, " (");
		flame_svg_put_text(svg, cause ? cause : object);
		str_puts(svg->out, ")");
	}
	str_puts(svg->out, ": ");
	flame_svg_put_share(svg, box);
	str_puts(svg->out, "</title>");
}

static size_t svg_columns_of(const void *context, const char *text)
{
	(void)context;
	return text_columns(text, strlen(text));
}

static void svg_put_name(void *context, const char *text, size_t columns)
{
	if (columns >= CUT_LEAST || svg_columns_of(NULL, text) <= columns)
		put_elided(context, text, columns);
}

/* 0 columns: there is no room for any. */
static struct name_room svg_room_of(struct svg *svg, const struct flame_box *box)
{
	enum {
		COLUMNS_MIN = 3
	};
	uint32_t pixels = box->width / UNITS;
	size_t columns = pixels > 2 * PADDING ? (pixels - 2 * PADDING) * 10 / CHARACTER : 0;
	return (struct name_room){
		columns < COLUMNS_MIN ? 0 : columns, svg_columns_of, svg_put_name, svg};
}

static const struct profile_function *svg_function_of(
	const struct svg *svg, const struct flame_box *box)
{
	uint32_t function = svg->focus->nodes.data[box->node].function;
	return function && box->count == 1 ? &svg->focus->functions[function] : NULL;
}

static void svg_find_names(struct svg *svg, const struct flame *flame)
{
	for (size_t row = 0; row < flame->rows.len; row++) {
		size_t count;
		const struct flame_box *boxes = flame_row(flame, row, &count);
		for (size_t i = 0; i < count; i++) {
			struct name_room room = svg_room_of(svg, &boxes[i]);
			const struct profile_function *function = svg_function_of(svg, &boxes[i]);
			if (room.columns && function)
				distinct_names_add_fitting(&svg->names, function, &room);
		}
	}
	distinct_names_find(&svg->names);
}

static void flame_svg_put_label(
	struct svg *svg, const struct flame_box *box, uint32_t x, uint32_t y)
{
	struct name_room room = svg_room_of(svg, box);
	if (!room.columns)
		return;
	size_t before = svg->out->len;
	str_puts(svg->out, "<text");
	flame_svg_put_units(svg, "x", x + PADDING * UNITS);
	str_printf(svg->out, " y=\"%u\">", y + BASELINE);
	size_t begin = svg->out->len;
	const struct profile_function *function = svg_function_of(svg, box);
	CLEANUP(str_deinit) struct str count = {0};
	str_printf(&count, "+%u", box->count);
	if (function)
		distinct_names_put_fitting(&svg->names, function, &room);
	else
		svg_put_name(svg,
			box->count > 1 ? str_text(&count) : flame_svg_name_of(svg, box->node),
			room.columns);
	if (svg->out->len == begin)
		str_truncate(svg->out, before);
	else
		str_puts(svg->out, "</text>");
}

/* `class` NULL: by what it is. */
static void put_box(struct svg *svg, const struct flame_box *box, size_t row, const char *class)
{
	uint32_t x = MARGIN * UNITS + box->x, y = svg->top + (uint32_t)row * ROW;
	if (box->node && box->count == 1)
		svg->has_function[svg->focus->nodes.data[box->node].function] = true;
	str_puts(svg->out, "<g>");
	put_tooltip(svg, box);
	str_puts(svg->out, "<rect class=\"");
	if (class)
		str_puts(svg->out, class);
	else
		put_class(svg, box);
	str_putc(svg->out, '"');
	flame_svg_put_units(svg, "x", x);
	str_printf(svg->out, " y=\"%u\"", y);
	flame_svg_put_units(svg, "width", box->width);
	str_printf(svg->out, " height=\"%d\"/>", BOX);
	flame_svg_put_label(svg, box, x, y);
	str_puts(svg->out, "</g>\n");
}

static void flame_svg_put_callers(struct svg *svg)
{
	const struct focus_node *nodes = svg->focus->nodes.data;
	uint32_t at = svg->options->root;
	while (nodes[at].depth) {
		at = nodes[at].parent;
		struct flame_box box = {
			.node = at,
			.count = 1,
			.width = (WIDTH - 2 * MARGIN) * UNITS,
			.total = nodes[at].total,
			.samples = nodes[at].samples,
		};
		put_box(svg, &box, nodes[at].depth, "caller");
	}
}

/* ---- */

/* What there is, and how much of it. */
static void flame_svg_put_title(struct svg *svg)
{
	const struct flame_svg_diff *diff = svg->options->diff;
	const struct focus_node *root = &svg->focus->nodes.data[svg->options->root];
	put_elided(svg, svg->options->title, diff ? NAME_COLUMNS : TITLE_COLUMNS);
	str_puts(svg->out, ": ");
	if (!diff) {
		struct flame_box box = {.total = root->total, .samples = root->samples};
		if (svg->options->event) {
			put_elided(svg, svg->options->event, NAME_COLUMNS);
			str_puts(svg->out, ", ");
		}
		flame_svg_put_share(svg, &box);
		return;
	}
	put_elided(svg, diff->base_name, NAME_COLUMNS);
	str_puts(svg->out, " \xe2\x86\x92 ");
	put_elided(svg, diff->new_name, NAME_COLUMNS);
	str_printf(svg->out, ", %llu \xe2\x86\x92 %llu %s",
		(unsigned long long)diff->wholes.base.samples,
		(unsigned long long)diff->wholes.new.samples,
		str_plural(diff->wholes.new.samples, "sample", "samples"));
}

static void flame_svg_put_colours(struct svg *svg)
{
	for (int i = 0; i < FRAME_KINDS_END; i++) {
		const struct frame_kind_row *row = &frame_kinds[i];
		str_printf(svg->out, "rect.%s{fill:#%06x}rect.%s.inlined{fill:#%06x}\n", row->word,
			frame_kind_rgb(row->colour), row->word, frame_kind_rgb(row->paler));
	}
}

static void flame_svg_put_head(struct svg *svg, size_t height, bool is_cut)
{
	str_printf(svg->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
		"viewBox=\"0 0 %d %zu\">\n<title>",
		WIDTH, height, WIDTH, height);
	flame_svg_put_text(svg, svg->options->title);
	str_puts(svg->out, "</title>\n<style>\n");
	if (svg->options->diff)
		str_puts(svg->out, flame_svg_diff_style);
	else
		flame_svg_put_colours(svg);
	str_printf(svg->out, "%s</style>\n<rect class=\"page\" width=\"%d\" height=\"%zu\"/>\n",
		style, WIDTH, height);
	str_printf(svg->out, "<text x=\"%d\" y=\"%d\">", MARGIN, TITLE_BASELINE);
	flame_svg_put_title(svg);
	if (svg->focus->direction == FOCUS_CALLERS)
		str_puts(svg->out, "; callers stand below what they call");
	if (is_cut)
		str_puts(svg->out, "; deeper rows are left out");
	str_puts(svg->out, "</text>\n");
}

static unsigned flame_svg_put_swatch(
	struct svg *svg, const char *class, const char *text, unsigned x, size_t y)
{
	unsigned width = 2 * PADDING + (unsigned)strlen(text) * CHARACTER / 10;
	str_printf(svg->out,
		"<rect class=\"%s\" x=\"%u\" y=\"%zu\" width=\"%u\" height=\"%d\"/>"
		"<text x=\"%u\" y=\"%zu\">%s</text>",
		class, x, y, width, BOX, x + PADDING, y + BASELINE, text);
	return x + width + PADDING;
}

/* What the colours that are there mean, and what is to be known before believing the picture. */
static void flame_svg_put_foot(struct svg *svg, size_t bottom)
{
	unsigned x = MARGIN;
	size_t y = bottom + PADDING;
	str_puts(svg->out, "<g id=\"kinds\">");
	for (int i = 0; !svg->options->diff && i < FRAME_KINDS_END; i++)
		if (svg->has_kind[i])
			x = flame_svg_put_swatch(
				svg, frame_kinds[i].word, frame_kinds[i].text, x, y);
	if (!svg->options->diff && svg->has_inlined)
		x = flame_svg_put_swatch(svg, "program inlined", "paler: inlined", x, y);
	if (!svg->options->diff)
		flame_svg_put_swatch(svg, "rest", "+N: small ones", x, y);
	str_puts(svg->out, "</g>\n");
	if (!svg->options->note)
		return;
	str_printf(svg->out, "<text class=\"details\" x=\"%d\" y=\"%zu\">", MARGIN,
		bottom + FOOT + PADDING);
	put_elided(svg, svg->options->note, NOTE_COLUMNS);
	str_puts(svg->out, "</text>\n");
}

/* ---- names for when there is less room than now ---- */

struct svg_forms {
	struct str *out;
	const char *name; /* the longest, which stands in boxes' tooltips */
	bool has_any;
};

static bool flame_svg_put_form(void *context, const char *name)
{
	struct svg_forms *forms = context;
	if (strcmp(name, forms->name) == 0)
		return false;
	if (!forms->has_any)
		markup_put(forms->out, forms->name, strlen(forms->name));
	forms->has_any = true;
	str_putc(forms->out, '\t');
	markup_put(forms->out, name, strlen(name));
	return false;
}

/* A line for each name that can be shortened: its shorter forms, with tabs before them. */
static void flame_svg_put_forms(struct svg *svg)
{
	CLEANUP(str_deinit) struct str storage = {0};
	str_puts(svg->out, "<metadata id=\"names\">");
	for (size_t i = 1; i < svg->options->nr_functions; i++) {
		const struct profile_function *function = &svg->focus->functions[i];
		struct svg_forms forms = {svg->out, function->name, false};
		if (!svg->has_function[i])
			continue;
		short_names_each(function, flame_svg_put_form, &forms, &storage);
		if (forms.has_any)
			str_putc(svg->out, '\n');
	}
	str_puts(svg->out, "</metadata>\n");
}

void flame_svg_put(struct focus *focus, const struct flame_svg_options *options, struct str *out)
{
	struct svg svg = {
		.top = TITLE + (options->diff ? LEGEND : 0),
		.focus = focus,
		.options = options,
		.has_function = mem_zalloc_array(options->nr_functions, sizeof(bool)),
		.out = out,
	};
	struct flame_options layout = {
		.width = (WIDTH - 2 * MARGIN) * UNITS,
		.least = LEAST,
		.order = options->order,
	};
	struct flame flame;
	flame_init(&flame, focus, options->root, &layout);
	flame_grow(&flame, ROWS_MAX);
	svg_find_names(&svg, &flame);
	size_t above = focus->nodes.data[options->root].depth;
	size_t bottom = svg.top + (above + flame.rows.len) * ROW;
	flame_svg_put_head(&svg, bottom + FOOT + (options->note ? ROW : 0),
		!flame.is_complete && flame.rows.len == ROWS_MAX);
	if (options->diff)
		flame_svg_diff_put_legend(MARGIN, TITLE, out);
	str_puts(out, "<g id=\"boxes\">\n");
	flame_svg_put_callers(&svg);
	for (size_t row = 0; row < flame.rows.len; row++) {
		size_t count;
		const struct flame_box *boxes = flame_row(&flame, row, &count);
		for (size_t i = 0; i < count; i++)
			put_box(&svg, &boxes[i], above + row, boxes[i].count > 1 ? "rest" : NULL);
	}
	str_puts(out, "</g>\n");
	flame_svg_put_foot(&svg, bottom);
	flame_svg_put_forms(&svg);
	mem_free(svg.has_function);
	distinct_names_deinit(&svg.names);
	str_puts(out, "<script><![CDATA[\n");
	str_puts(out, distinct_names_script); /* nothing foreign stands in them */
	str_puts(out, flame_svg_script);
	str_puts(out, "]]></script>\n</svg>\n");
	flame_deinit(&flame);
}

#include <math.h>
#include <string.h>

#include "report/compare/diff_lists.h"
#include "report/name/short_names.h"
#include "report/write/diff/diff_words.h"
#include "report/write/diff/diff_writer.h"

enum {
	SHARE_WIDTH = 8,
	VALUE_WIDTH = 10,
	NUMBERS_WIDTH = 39, /* of a row's columns in front of its name, without two amounts */
	NAME_WIDTH_MIN = 20,
};

struct writing {
	const struct difference *diff;
	const struct diff_writer_options *options;
	struct str out;
};

/* ---- pieces ---- */

static void put_right(struct str *out, const struct str *text, size_t width)
{
	str_pad(out, ' ', text->len < width ? width - text->len : 1);
	str_puts(out, str_text(text));
}

/*
 * GitHub's runner takes a line that begins with "::error::", also behind white
 * space, for a command: no such word of a name may come to stand there.
 */
static bool may_begin_line(const char *word)
{
	while ((unsigned char)*word >= 0x80)
		word++;
	return word[0] != ':' || word[1] != ':';
}

/* A paragraph in the width there is. */
static void put_wrapped(struct writing *writing, const char *text)
{
	size_t width = writing->options->width, column = 0;
	for (const char *word = text; *word;) {
		size_t len = strcspn(word, " "), points = diff_count_points(word, len);
		if (column && column + 1 + points > width && may_begin_line(word)) {
			str_putc(&writing->out, '\n');
			column = 0;
		}
		if (column)
			str_putc(&writing->out, ' ');
		str_write(&writing->out, word, len);
		column += points + (column > 0);
		word += len;
		word += strspn(word, " ");
	}
	str_putc(&writing->out, '\n');
}

typedef void sentence_fn(struct str *out, const struct difference *diff);

static void diff_text_put_sentence(struct writing *writing, sentence_fn *put)
{
	CLEANUP(str_deinit) struct str text = {0};
	put(&text, writing->diff);
	if (text.len)
		put_wrapped(writing, str_text(&text));
}

/* ---- rows ---- */

static size_t amount_width(const struct writing *writing)
{
	return writing->diff->options.metric == DIFF_CPU_S ? VALUE_WIDTH : SHARE_WIDTH;
}

static void diff_text_put_amount(struct writing *writing, const struct diff_amount *amount)
{
	CLEANUP(str_deinit) struct str text = {0};
	diff_put_amount(&text, writing->diff, amount);
	put_right(&writing->out, &text, amount_width(writing));
}

static void diff_text_put_numbers(struct writing *writing, const struct diff_judgement *judgement)
{
	CLEANUP(str_deinit) struct str effect = {0}, interval = {0}, p = {0};
	diff_text_put_amount(writing, &judgement->sides[MATCH_BASE]);
	diff_text_put_amount(writing, &judgement->sides[MATCH_NEW]);
	diff_put_change(&effect, judgement);
	put_right(&writing->out, &effect, 9);
	diff_put_interval(&interval, judgement);
	put_right(&writing->out, &interval, 20);
	diff_put_p(&p, judgement->adjusted_p);
	put_right(&writing->out, &p, 8);
	str_puts(&writing->out, "  ");
}

static size_t diff_text_columns_of(const char *name)
{
	CLEANUP(str_deinit) struct str escaped = {0};
	str_puts_escaped(&escaped, name);
	return diff_count_points(str_text(&escaped), escaped.len);
}

static bool diff_text_fits(const void *context, const char *name)
{
	return diff_text_columns_of(name) <= *(const size_t *)context;
}

/* What is left of a line behind the numbers. */
static size_t room_of_title(const struct writing *writing)
{
	size_t numbers = NUMBERS_WIDTH + 2 * amount_width(writing);
	return writing->options->width > numbers + NAME_WIDTH_MIN
		       ? writing->options->width - numbers
		       : NAME_WIDTH_MIN;
}

static void diff_text_put_name(struct writing *writing, const struct diff_row *row, size_t room)
{
	CLEANUP(str_deinit) struct str name = {0}, storage = {0};
	bool is_alone = writing->diff->options.by == DIFF_BY_FUNCTION && !row->old_name;
	if (is_alone && row->function && !row->function->has_bounds) {
		const char *fitting =
			short_names_fit(row->function, diff_text_fits, &room, &storage);
		str_puts_escaped(&name, fitting);
		diff_put_elided(&writing->out, str_text(&name), name.len, room);
	} else {
		diff_put_name_within(&writing->out, writing->diff, row, room);
	}
}

/* ---- titles ---- */

enum {
	STACK_INDENT = 8,
	STACK_LINES = 4, /* of callers, at most; even */
};

/* Of a stack one of the callers, as it stands below the innermost function: "< main". */
static void put_caller(
	const struct writing *writing, const struct diff_row *row, size_t depth, struct str *out)
{
	CLEANUP(str_deinit) struct str name = {0};
	str_puts(&name, "< ");
	str_puts_escaped(&name, row->path.data[depth]);
	diff_put_elided(out, str_text(&name), name.len, writing->options->width - STACK_INDENT);
}

static size_t caller_width(const struct writing *writing, const struct diff_row *row, size_t depth)
{
	CLEANUP(str_deinit) struct str name = {0};
	put_caller(writing, row, depth, &name);
	return diff_count_points(str_text(&name), name.len);
}

/* How many of `count` callers fill so many lines, from `depth` on and by `step`. */
static size_t count_callers(const struct writing *writing, const struct diff_row *row, size_t depth,
	int step, size_t count, size_t lines)
{
	size_t width = writing->options->width - STACK_INDENT, column = 0;
	for (size_t i = 0; i < count; i++) {
		size_t points = caller_width(writing, row, depth + (size_t)(step * (int)i));
		if (column && column + 1 + points > width) {
			column = 0;
			if (--lines == 0)
				return i;
		}
		column += points + (column > 0);
	}
	return count;
}

/* `count` of them from `depth` on, inwards out. */
static void put_lines_of_callers(
	struct writing *writing, const struct diff_row *row, size_t depth, size_t count)
{
	size_t width = writing->options->width - STACK_INDENT, column = width;
	for (; count; count--, depth--) {
		size_t points = caller_width(writing, row, depth);
		if (column + 1 + points > width) {
			str_putc(&writing->out, '\n');
			str_pad(&writing->out, ' ', STACK_INDENT);
			column = 0;
		}
		str_puts(&writing->out, column ? " " : "");
		put_caller(writing, row, depth, &writing->out);
		column += points + (column > 0);
	}
}

/*
 * All of a stack but its innermost function, inwards out. Of what takes more than a few lines the
 * middle is left out: mostly what tells stacks apart is near one of their ends.
 */
static void diff_text_put_callers(struct writing *writing, const struct diff_row *row)
{
	size_t all = row->path.len - 1;
	size_t inner = count_callers(writing, row, all - 1, -1, all, STACK_LINES);
	if (inner < all)
		inner = count_callers(writing, row, all - 1, -1, all, STACK_LINES / 2);
	size_t outer = count_callers(writing, row, 0, 1, all - inner, STACK_LINES / 2);
	put_lines_of_callers(writing, row, all - 1, inner);
	if (inner + outer < all)
		str_printf(&writing->out, "\n%*s< ... %zu more", STACK_INDENT, "",
			all - inner - outer);
	if (outer)
		put_lines_of_callers(writing, row, outer - 1, outer);
	str_putc(&writing->out, '\n');
}

/* A name in front of where it stands: that only if there is room for both. */
static void put_name_and_place(struct writing *writing, const struct diff_row *row,
	const struct str *name, void (*put)(struct writing *, const struct diff_row *, size_t))
{
	CLEANUP(str_deinit) struct str place = {0};
	diff_put_whereabouts(&place, writing->diff, row);
	size_t room = room_of_title(writing);
	size_t places = place.len ? diff_count_points(place.data, place.len) + 2 : 0;
	if (places > room / 2 && diff_count_points(str_text(name), name->len) + places > room)
		places = 0;
	put(writing, row, room - places);
	if (places)
		str_printf(&writing->out, "  %s", str_text(&place));
}

static void put_innermost(struct writing *writing, const struct diff_row *row, size_t room)
{
	CLEANUP(str_deinit) struct str name = {0};
	str_puts_escaped(&name, row->path.data[row->path.len - 1]);
	diff_put_elided(&writing->out, str_text(&name), name.len, room);
}

/* The name, where it stands, and whose it is, as far as there is room. */
static void diff_text_put_title(struct writing *writing, const struct diff_row *row)
{
	CLEANUP(str_deinit) struct str name = {0}, innermost = {0};
	diff_put_name(&name, writing->diff, row);
	bool has_callers = writing->diff->options.by == DIFF_BY_STACK && row->path.len > 1 &&
			   diff_count_points(str_text(&name), name.len) > room_of_title(writing);
	if (!has_callers) {
		put_name_and_place(writing, row, &name, diff_text_put_name);
		str_putc(&writing->out, '\n');
		return;
	}
	str_puts_escaped(&innermost, row->path.data[row->path.len - 1]);
	put_name_and_place(writing, row, &innermost, put_innermost);
	diff_text_put_callers(writing, row);
}

static void diff_text_put_head(struct writing *writing)
{
	CLEANUP(str_deinit) struct str interval = {0};
	str_printf(&interval, "%g%% interval", 100 - 100 * writing->diff->options.alpha);
	int width = (int)amount_width(writing);
	str_printf(&writing->out, "%*s%*s%9s%20s%8s  %s\n", width, "before", width, "new", "change",
		str_text(&interval), "p", diff_by_word(writing->diff->options.by));
}

static void diff_text_put_row(
	struct writing *writing, const struct diff_row *row, const struct diff_judgement *judgement)
{
	diff_text_put_numbers(writing, judgement);
	diff_text_put_title(writing, row);
}

static void put_more(struct writing *writing, size_t shown, size_t count)
{
	if (shown < count)
		str_printf(&writing->out, "%8s%zu more (--limit)\n", "", count - shown);
}

static void put_repeats(struct writing *writing)
{
	size_t count = diff_count_repeats(writing->diff);
	if (count)
		str_printf(&writing->out, "%8s%zu %s the same samples as another one\n", "", count,
			str_plural(count, "has", "have"));
}

static void diff_text_put_list(struct writing *writing, enum diff_list list, const char *title)
{
	const struct difference *diff = writing->diff;
	size_t count = 0, limit = writing->options->limit;
	vec_each(&diff->rows, row) {
		if (!diff_is_in_list(diff, row, list) || (count++ && limit && count > limit))
			continue;
		if (count == 1) {
			str_printf(&writing->out, "\n%s\n", title);
			diff_text_put_head(writing);
		}
		diff_text_put_row(
			writing, row, list == DIFF_LIST_CALLERS ? &row->total : &row->self);
	}
	put_more(writing, limit ? limit : count, count);
	if (count && list == DIFF_LIST_CALLERS)
		put_repeats(writing);
}

/* ---- the rest ---- */

static void diff_text_put_side(
	struct writing *writing, enum match_side which, const char *title, const char *name)
{
	const struct diff_side *side = &writing->diff->sides[which];
	CLEANUP(str_deinit) struct str escaped = {0};
	str_puts_escaped(&escaped, name);
	str_printf(&writing->out, "%-7s", title);
	diff_put_elided(&writing->out, str_text(&escaped), escaped.len,
		writing->options->width > 60 ? writing->options->width - 40 : 20);
	str_printf(&writing->out, ", %zu %s, %llu %s\n", side->runs.len,
		str_plural(side->runs.len, "run", "runs"), (unsigned long long)side->samples,
		str_plural(side->samples, "sample", "samples"));
}

static void diff_text_put_inconclusive(struct writing *writing)
{
	const struct difference *diff = writing->diff;
	CLEANUP(str_deinit) struct str title = {0};
	double share = 0;
	vec_each(&diff->rows, row)
		if (diff_is_in_list(diff, row, DIFF_LIST_INCONCLUSIVE))
			share += (row->self.sides[0].share + row->self.sides[1].share) / 2;
	str_printf(&title,
		"Cannot be told whether it changed by %g%% (with %.1f%% of the samples):",
		100 * diff->options.min_effect, 100 * share);
	diff_text_put_list(writing, DIFF_LIST_INCONCLUSIVE, str_text(&title));
}

struct err *diff_text(const struct difference *diff, const struct diff_writer_options *options,
	struct byte_sink sink)
{
	struct writing writing = {.diff = diff, .options = options};
	diff_text_put_sentence(&writing, diff_put_verdict);
	str_putc(&writing.out, '\n');
	diff_text_put_side(&writing, MATCH_BASE, "before", options->base_name);
	diff_text_put_side(&writing, MATCH_NEW, "new", options->new_name);
	diff_text_put_sentence(&writing, diff_put_program);
	diff_text_put_sentence(&writing, diff_put_caveats);
	diff_text_put_list(&writing, DIFF_LIST_REGRESSIONS, "Regressions:");
	diff_text_put_list(&writing, DIFF_LIST_IMPROVEMENTS, "Improvements:");
	diff_text_put_list(
		&writing, DIFF_LIST_CALLERS, "Changed with what they call (total time):");
	diff_text_put_inconclusive(&writing);
	str_putc(&writing.out, '\n');
	diff_text_put_sentence(&writing, diff_put_columns);
	diff_text_put_sentence(&writing, diff_put_same);
	diff_text_put_sentence(&writing, diff_put_detectable);
	struct err *err = sink.write(sink.context, str_text(&writing.out), writing.out.len);
	str_deinit(&writing.out);
	return err;
}

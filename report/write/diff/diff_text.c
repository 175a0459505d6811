#include <math.h>
#include <string.h>

#include "report/name/short_names.h"
#include "report/write/diff/diff_lists.h"
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

/* A paragraph in the width there is, each line behind so many blanks. */
static void put_wrapped(struct writing *writing, const char *text, size_t indent)
{
	size_t width = writing->options->width - indent, column = 0;
	str_pad(&writing->out, ' ', indent);
	for (const char *word = text; *word;) {
		size_t len = strcspn(word, " "), points = diff_count_points(word, len);
		if (column && column + 1 + points > width && may_begin_line(word)) {
			str_putc(&writing->out, '\n');
			str_pad(&writing->out, ' ', indent);
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
		put_wrapped(writing, str_text(&text), 0);
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

/*
 * The callers of a stack's innermost function below it, from the innermost on. Where they take more
 * than a few lines, those in the middle are left out: the threads' beginnings are alike, and so is
 * what waits in the kernel, but the user's own functions stand at either.
 */
static void diff_text_put_callers(struct writing *writing, const struct diff_row *row)
{
	enum {
		INDENT = 8,
		LINES_MAX = 4,
	};
	CLEANUP(str_deinit) struct str all = {0}, fitting = {0};
	size_t width = writing->options->width - INDENT;
	for (size_t i = row->path.len - 1; i-- > 0;) {
		str_puts(&all, "< ");
		str_puts_escaped(&all, row->path.data[i]);
		str_puts(&all, i ? " " : "");
	}
	/* lines are not filled to their ends */
	diff_put_elided(&fitting, str_text(&all), all.len, width * LINES_MAX * 9 / 10);
	put_wrapped(writing, str_text(&fitting), INDENT);
}

/* The name, where it stands, and whose it is, as far as there is room. */
static void diff_text_put_title(struct writing *writing, const struct diff_row *row)
{
	CLEANUP(str_deinit) struct str name = {0}, place = {0};
	diff_put_name(&name, writing->diff, row);
	diff_put_whereabouts(&place, writing->diff, row);
	size_t numbers = NUMBERS_WIDTH + 2 * amount_width(writing);
	size_t room = writing->options->width > numbers + NAME_WIDTH_MIN
			      ? writing->options->width - numbers
			      : NAME_WIDTH_MIN;
	size_t places = place.len ? diff_count_points(place.data, place.len) + 2 : 0;
	size_t points = diff_count_points(str_text(&name), name.len);
	bool has_lines = writing->diff->options.by == DIFF_BY_STACK && points + places > room &&
			 row->path.len > 1;
	if (has_lines) {
		str_truncate(&name, 0);
		str_puts_escaped(&name, row->path.data[row->path.len - 1]);
		points = diff_count_points(str_text(&name), name.len);
	}
	if (places > room / 2)
		places = points + places <= room ? places : 0;
	if (has_lines)
		diff_put_elided(&writing->out, str_text(&name), name.len, room - places);
	else
		diff_text_put_name(writing, row, room - places);
	if (places)
		str_printf(&writing->out, "  %s", str_text(&place));
	str_putc(&writing->out, '\n');
	if (has_lines)
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

static void put_repeats(struct writing *writing, size_t count)
{
	if (count)
		str_printf(&writing->out, "%8s%zu that %s the same samples as one above\n", "",
			count, str_plural(count, "has", "have"));
}

static void diff_text_put_list(struct writing *writing, enum diff_list list, const char *title)
{
	const struct difference *diff = writing->diff;
	size_t count = 0, repeated = 0, limit = writing->options->limit;
	CLEANUP_FREE bool *repeats = list == DIFF_LIST_CALLERS ? diff_find_repeats(diff) : NULL;
	vec_each(&diff->rows, row) {
		if (!diff_is_in_list(diff, row, list))
			continue;
		if (repeats && repeats[row - diff->rows.data]) {
			repeated++;
			continue;
		}
		if (count++ && limit && count > limit)
			continue;
		if (count == 1) {
			str_printf(&writing->out, "\n%s\n", title);
			diff_text_put_head(writing);
		}
		diff_text_put_row(
			writing, row, list == DIFF_LIST_CALLERS ? &row->total : &row->self);
	}
	put_more(writing, limit ? limit : count, count);
	put_repeats(writing, count ? repeated : 0);
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

/* Rows of a listing: see listing.h. */
#include <string.h>

#include "format/base/bisect.h"
#include "report/name/listing/listing.h"

enum {
	CONTEXT_LINES = 2, /* around the function, where not all of the file is shown */
	HOT_SHARE = 20,    /* one of so many parts */
	ORIGIN_COLUMN = 34,
};

struct placing {
	const struct listing *listing;
	const struct annotation *annotation;
	const struct listing_view *view;
	struct listing_rows *rows;
	struct annotation_weight *code; /* for each instruction */
};

static void listing_rows_put_row(struct placing *it, const struct listing_row *row)
{
	vec_push(it->rows, *row);
}

static void put_note(struct placing *it, const char *text)
{
	if (text[0])
		listing_rows_put_row(
			it, &(struct listing_row){.kind = LISTING_ROW_NOTE, .text = text});
}

static void weigh_code(struct placing *it)
{
	const struct listing *listing = it->listing;
	size_t count = listing->code.disassembly.list.len, at;
	it->code = mem_zalloc_array(count + 1, sizeof(*it->code));
	vec_each(&it->annotation->places, place)
		if (function_code_find(&listing->code, place->object, place->offset, &at))
			annotation_weight_add(&it->code[at], &place->weight);
}

/* ---- code ---- */

static void listing_rows_put_label(struct placing *it, size_t instruction)
{
	const char *text = it->listing->labels.data + it->listing->places[instruction].label;
	if (!text[0] && !instruction) /* and perhaps of none at all */
		return;
	if (!text[0])
		text = "no line";
	struct listing_row row = {.kind = LISTING_ROW_LABEL,
		.instruction = instruction,
		.address = it->listing->code.disassembly.list.data[instruction].address,
		.text = text};
	listing_rows_put_row(it, &row);
}

static void listing_rows_put_instruction(struct placing *it, size_t index)
{
	const struct disassembly *disassembly = &it->listing->code.disassembly;
	struct listing_row row = {.kind = LISTING_ROW_CODE,
		.source = it->listing->places[index].source ? it->listing->places[index].source - 1
							    : 0,
		.line = it->listing->places[index].line,
		.instruction = index,
		.address = disassembly->list.data[index].address,
		.text = disassembly_text(disassembly, index),
		.origin = it->view->layout == LISTING_LAYOUT_CODE ||
					  !it->listing->places[index].origin
				  ? ""
				  : it->listing->labels.data + it->listing->places[index].origin,
		.weight = it->code[index]};
	listing_rows_put_row(it, &row);
}

static void listing_rows_put_code(struct placing *it)
{
	for (size_t i = 0; i < it->listing->code.disassembly.list.len; i++) {
		if (it->listing->places[i].is_elsewhere)
			listing_rows_put_label(it, i);
		listing_rows_put_instruction(it, i);
	}
}

static bool is_ahead(const struct listing_code *code, uint32_t source, uint32_t line)
{
	return code->source != source ? code->source < source : code->line < line;
}

/* The first of `by_line` that is not ahead of this line. */
static size_t code_of_line(const struct listing *listing, uint32_t source, uint32_t line)
{
	return bisect(listing->code.disassembly.list.len, i,
		is_ahead(&listing->places[listing->by_line[i]], source, line));
}

static bool is_code_of(const struct listing *listing, size_t at, uint32_t source, uint32_t line)
{
	if (at >= listing->code.disassembly.list.len)
		return false;
	const struct listing_code *code = &listing->places[listing->by_line[at]];
	return code->source == source && code->line == line;
}

static bool is_opened(const struct listing_view *view, uint32_t source, uint32_t line)
{
	if (view->layout == LISTING_LAYOUT_BOTH)
		return true;
	for (size_t i = 0; i < view->nr_opened; i++)
		if (view->opened[i].source == source && view->opened[i].line == line)
			return true;
	return false;
}

/* ---- source ---- */

/* Annotation lines are by file and line. */
static const struct annotation_line *first_line_of(
	const struct annotation *annotation, const char *file)
{
	vec_each(&annotation->lines, line)
		if (strcmp(line->file, file) == 0)
			return line;
	return NULL;
}

static void put_source_line(struct placing *it, uint32_t source, uint32_t number,
	const struct annotation_line *annotated)
{
	const struct listing *listing = it->listing;
	const char *text = source_file_line(&listing->sources.data[source].file, number);
	size_t at = code_of_line(listing, source + 1, number);
	struct listing_row row = {.kind = LISTING_ROW_SOURCE,
		.source = source,
		.line = number,
		.has_code = is_code_of(listing, at, source + 1, number),
		.text = text ? text : ""};
	if (annotated)
		row.weight = annotated->weight;
	listing_rows_put_row(it, &row);
	if (!row.has_code || !is_opened(it->view, source, number))
		return;
	for (; is_code_of(listing, at, source + 1, number); at++)
		listing_rows_put_instruction(it, listing->by_line[at]);
}

static void put_source_text(struct placing *it, uint32_t index)
{
	const struct listing_source *source = &it->listing->sources.data[index];
	const struct annotation_line *line = first_line_of(it->annotation, source->file.name);
	const struct annotation_line *end = it->annotation->lines.data + it->annotation->lines.len;
	uint32_t count = source_file_count(&source->file), first = 1, last = count;
	if (index || !it->view->is_whole) {
		first = source->first > CONTEXT_LINES ? source->first - CONTEXT_LINES : 1;
		last = source->last && source->last < count - CONTEXT_LINES
			       ? source->last + CONTEXT_LINES
			       : count;
	}
	for (uint32_t number = first; number <= last && number <= count; number++) {
		while (line && line < end && line->line < number &&
			strcmp(line->file, source->file.name) == 0)
			line++;
		bool is_this = line && line < end && line->line == number &&
			       strcmp(line->file, source->file.name) == 0;
		put_source_line(it, index, number, is_this ? line : NULL);
	}
}

/* Where there is no text (or less of it), lines still have numbers, weights and instructions. */
static void put_source_numbers(struct placing *it, uint32_t index)
{
	const struct listing *listing = it->listing;
	const struct listing_source *source = &listing->sources.data[index];
	const struct annotation_line *line = first_line_of(it->annotation, source->file.name);
	const struct annotation_line *end = it->annotation->lines.data + it->annotation->lines.len;
	uint64_t next = (uint64_t)source_file_count(&source->file) + 1;
	while (next <= UINT32_MAX) {
		uint32_t number = UINT32_MAX;
		size_t at = code_of_line(listing, index + 1, (uint32_t)next);
		while (line && line < end && line->line < next &&
			strcmp(line->file, source->file.name) == 0)
			line++;
		bool has_line = line && line < end && strcmp(line->file, source->file.name) == 0;
		bool has_code = at < listing->code.disassembly.list.len &&
				listing->places[listing->by_line[at]].source == index + 1;
		if (has_line)
			number = line->line;
		if (has_code && listing->places[listing->by_line[at]].line < number)
			number = listing->places[listing->by_line[at]].line;
		if (!has_line && !has_code)
			return;
		put_source_line(it, index, number, has_line && line->line == number ? line : NULL);
		next = (uint64_t)number + 1;
	}
}

static void listing_rows_put_source(struct placing *it, uint32_t index)
{
	const struct listing_source *source = &it->listing->sources.data[index];
	struct listing_row heading = {.kind = LISTING_ROW_FILE,
		.source = index,
		.text = source->file.path ? source->file.path : source->file.name};
	listing_rows_put_row(it, &heading);
	put_note(it, str_text(&source->file.problem));
	if (source->is_newer)
		put_note(it, "this file is newer than the binary: its lines may be others");
	if (source_file_count(&source->file))
		put_source_text(it, index);
	put_source_numbers(it, index);
}

static void put_unknown_lines(struct placing *it)
{
	vec_each(&it->annotation->lines, line) {
		if (line->file[0] || !line->weight.samples)
			continue;
		struct listing_row row = {
			.kind = LISTING_ROW_NOTE,
			.text = "code without line information",
			.weight = line->weight,
		};
		listing_rows_put_row(it, &row);
	}
}

/* ---- */

bool listing_has(const struct listing *listing, enum listing_layout layout)
{
	bool has_source = listing->sources.len, has_code = listing->code.disassembly.list.len;
	return layout == LISTING_LAYOUT_SOURCE ? has_source
	       : layout == LISTING_LAYOUT_CODE ? has_code
					       : has_source && has_code;
}

enum listing_layout listing_usual_layout(const struct listing *listing)
{
	vec_each(&listing->sources, source)
		if (source_file_count(&source->file))
			return LISTING_LAYOUT_SOURCE;
	return listing_has(listing, LISTING_LAYOUT_CODE) ? LISTING_LAYOUT_CODE
							 : LISTING_LAYOUT_SOURCE;
}

void listing_put_rows(const struct listing *listing, const struct annotation *annotation,
	const struct listing_view *view, struct listing_rows *ret)
{
	struct placing it = {.listing = listing, .annotation = annotation, .view = view};
	it.rows = ret;
	ret->len = 0;
	weigh_code(&it);
	if (view->layout != LISTING_LAYOUT_SOURCE || !listing->sources.len) {
		put_note(&it, str_text(&listing->code.problem));
		put_note(&it, str_text(&listing->note));
	}
	if (view->layout != LISTING_LAYOUT_CODE) {
		if (!listing->sources.len)
			put_note(&it, "there is no debug information that tells lines");
		for (uint32_t i = 0; i < listing->sources.len; i++)
			listing_rows_put_source(&it, i);
		put_unknown_lines(&it);
	}
	if (view->layout == LISTING_LAYOUT_CODE) {
		vec_each(&listing->sources, source)
			put_note(&it, str_text(&source->file.problem));
		listing_rows_put_code(&it);
	}
	mem_free(it.code);
}

bool listing_row_is_hot(const struct listing_row *row, const struct annotation *annotation)
{
	const struct annotation_weight *whole = &annotation->whole;
	if (row->kind != LISTING_ROW_SOURCE && row->kind != LISTING_ROW_CODE)
		return false;
	return whole->self ? row->weight.self && row->weight.self >= whole->self / HOT_SHARE
			   : row->weight.total && row->weight.total >= whole->total / HOT_SHARE;
}

size_t listing_hottest(const struct listing_rows *rows)
{
	const struct listing_row *best = NULL;
	for (size_t i = 0; i < rows->len; i++) {
		const struct annotation_weight *weight = &rows->data[i].weight;
		bool is_best =
			!best || weight->self > best->weight.self ||
			(weight->self == best->weight.self && weight->total > best->weight.total);
		if (is_best && rows->data[i].kind >= LISTING_ROW_SOURCE)
			best = &rows->data[i];
	}
	return best ? (size_t)(best - rows->data) : 0;
}

/* ---- text ---- */

static void listing_rows_put_share(uint64_t value, uint64_t whole, struct str *out)
{
	if (value)
		str_printf(out, "%7.2f%%", profile_percent(value, whole));
	else
		str_pad(out, ' ', 8);
}

static void put_text_row(
	const struct listing_row *row, const struct annotation *annotation, struct str *out)
{
	if (row->kind == LISTING_ROW_NOTE || row->kind == LISTING_ROW_FILE) {
		str_puts(out, row->kind == LISTING_ROW_NOTE ? "# " : "\n# ");
	} else {
		listing_rows_put_share(row->weight.self, annotation->whole.total, out);
		listing_rows_put_share(row->weight.total, annotation->whole.total, out);
	}
	if (row->kind == LISTING_ROW_SOURCE)
		str_printf(out, "%7u  ", row->line);
	else if (row->kind == LISTING_ROW_CODE)
		str_printf(out, "           %8llx:  ", (unsigned long long)row->address);
	else if (row->kind == LISTING_ROW_LABEL)
		str_pad(out, ' ', 9);
	size_t begin = out->len;
	str_put_escaped(out, row->text, strlen(row->text));
	if (row->kind == LISTING_ROW_CODE && row->origin[0]) {
		size_t used = out->len - begin;
		str_pad(out, ' ', used < ORIGIN_COLUMN ? ORIGIN_COLUMN - used : 1);
		str_puts(out, "; ");
		str_put_escaped(out, row->origin, strlen(row->origin));
	}
	while (out->len && out->data[out->len - 1] == ' ')
		str_truncate(out, out->len - 1);
	str_putc(out, '\n');
}

void listing_put_text(
	const struct listing_rows *rows, const struct annotation *annotation, struct str *out)
{
	str_puts(out, "#  self    total    line  source\n");
	for (size_t i = 0; i < rows->len; i++)
		put_text_row(&rows->data[i], annotation, out);
}

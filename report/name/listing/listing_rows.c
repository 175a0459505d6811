/* Rows of a listing: see listing.h. */
#include <string.h>

#include "format/base/bisect.h"
#include "report/name/listing/listing.h"

enum {
	CONTEXT_LINES = 2, /* around the function, where not all of the file is shown */
	HOT_SHARE = 20,    /* one of so many parts */
};

struct placing {
	const struct listing *listing;
	const struct annotation *annotation;
	const struct listing_view *view;
	struct listing_rows *rows;
	struct annotation_weight *code;     /* for each instruction */
	struct annotation_weight elsewhere; /* self alone: in code that is not in the listing */
	bool *is_placed;                    /* for each of the annotation's inlined lines */
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
		annotation_weight_add(
			function_code_find(&listing->code, place->object, place->offset, &at)
				? &it->code[at]
				: &it->elsewhere,
			&place->weight);
	it->is_placed = mem_zalloc_array(it->annotation->inlined.len + 1, sizeof(*it->is_placed));
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
		.is_from_inlined = it->listing->places[index].inlined,
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

/* The first of what was inlined into this line or a later one. */
static size_t first_inlined(const struct annotation *annotation, uint32_t line)
{
	return bisect(annotation->inlined.len, i, annotation->inlined.data[i].line < line);
}

/* NULL: no sample of the recording has it. */
static const struct annotation_inlined *find_inlined(
	const struct placing *it, uint32_t line, const struct listing_inlined *wanted)
{
	const struct annotation *annotation = it->annotation;
	const struct annotation_inlined *all = annotation->inlined.data;
	for (size_t i = first_inlined(annotation, line);
		i < annotation->inlined.len && all[i].line == line; i++)
		if (all[i].number == wanted->number && strcmp(all[i].file, wanted->file) == 0 &&
			(wanted->number ||
				strcmp(all[i].text, it->listing->labels.data + wanted->text) == 0))
			return &all[i];
	return NULL;
}

/* Below a line's row, which `of` is. */
static void put_inlined(struct placing *it, const struct listing_row *of, const char *text,
	uint32_t number, const struct annotation_inlined *inlined)
{
	struct listing_row row = {.kind = LISTING_ROW_INLINED,
		.source = of->source,
		.line = of->line,
		.address = number,
		.has_code = of->has_code,
		.text = text};
	if (inlined) {
		row.weight = inlined->weight;
		it->is_placed[inlined - it->annotation->inlined.data] = true;
	}
	listing_rows_put_row(it, &row);
}

/* The line's own instructions, then those of each line that was inlined there, below its row. */
static void put_code_of_line(struct placing *it, const struct listing_row *of, size_t at,
	const struct annotation_line *annotated)
{
	const struct listing *listing = it->listing;
	uint32_t last = 0;
	for (; is_code_of(listing, at, of->source + 1, of->line); at++) {
		uint32_t inlined = listing->places[listing->by_line[at]].inlined;
		if (inlined != last) {
			const struct listing_inlined *new = &listing->inlined.data[inlined - 1];
			const struct annotation_inlined *known = NULL;
			if (annotated)
				known = find_inlined(it,
					(uint32_t)(annotated - it->annotation->lines.data), new);
			put_inlined(it, of, listing->labels.data + new->text, new->number, known);
		}
		last = inlined;
		listing_rows_put_instruction(it, listing->by_line[at]);
	}
}

/* What was inlined into a line, as far as samples were there and no row has it yet. */
static void put_inlined_of_line(
	struct placing *it, const struct listing_row *of, const struct annotation_line *annotated)
{
	const struct annotation *annotation = it->annotation;
	uint32_t line = (uint32_t)(annotated - annotation->lines.data);
	for (size_t i = first_inlined(annotation, line);
		i < annotation->inlined.len && annotation->inlined.data[i].line == line; i++) {
		const struct annotation_inlined *inlined = &annotation->inlined.data[i];
		if (inlined->weight.samples && !it->is_placed[i])
			put_inlined(it, of, inlined->text, inlined->number, inlined);
	}
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
	if (row.has_code && is_opened(it->view, source, number))
		put_code_of_line(it, &row, at, annotated);
	if (annotated)
		put_inlined_of_line(it, &row, annotated);
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
	if (source->newer)
		put_note(it, source->newer);
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
		put_inlined_of_line(it, &row, line);
	}
}

/* So that what stands beside the instructions adds up to what stands beside the lines. */
static void put_code_elsewhere(struct placing *it)
{
	struct listing_row row = {
		.kind = LISTING_ROW_NOTE,
		.text = "other code of the function (inlined elsewhere, or a copy of it), which is "
			"not shown here",
		.weight = {.self = it->elsewhere.self,
			.self_samples = it->elsewhere.self_samples,
			.samples = it->elsewhere.self_samples},
	};
	if (it->listing->code.disassembly.list.len && row.weight.self)
		listing_rows_put_row(it, &row);
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
	if (view->layout != LISTING_LAYOUT_SOURCE)
		put_code_elsewhere(&it);
	mem_free(it.code);
	mem_free(it.is_placed);
}

bool listing_row_is_hot(const struct listing_row *row, const struct annotation *annotation)
{
	uint64_t self = annotation->whole.self + annotation->whole_inlined.self;
	if (row->kind < LISTING_ROW_SOURCE || row->kind == LISTING_ROW_LABEL)
		return false;
	return self ? row->weight.self && row->weight.self >= self / HOT_SHARE
		    : row->weight.total && row->weight.total >= annotation->whole.total / HOT_SHARE;
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
	bool has_numbers = row->kind >= LISTING_ROW_SOURCE || row->weight.samples;
	if (!has_numbers) {
		str_puts(out, row->kind == LISTING_ROW_NOTE ? "# " : "\n# ");
	} else {
		listing_rows_put_share(row->weight.self, annotation->whole.total, out);
		listing_rows_put_share(row->weight.total, annotation->whole.total, out);
	}
	if (row->kind == LISTING_ROW_SOURCE)
		str_printf(out, "%7u  ", row->line);
	else if (row->kind == LISTING_ROW_CODE)
		str_printf(out, "           %8llx:  ", (unsigned long long)row->address);
	else if (has_numbers)
		str_pad(out, ' ', 9);
	if (row->kind == LISTING_ROW_INLINED)
		str_pad(out, ' ', 2);
	str_puts_escaped(out, row->text);
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

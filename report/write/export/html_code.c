#include "report/write/export/html_code.h"

#include <stdlib.h>

#include "report/name/listing/listing.h"

enum {
	FUNCTIONS_MAX = 32,
	PART_MIN = 200,  /* of all: a function has at least one part of so many itself */
	ROWS_MAX = 4000, /* of a function */
};

struct hot_function {
	uint32_t number; /* of the page */
	uint64_t self;
};

static int compare_hot(const void *a, const void *b)
{
	const struct hot_function *x = a, *y = b;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static size_t html_code_choose(const struct html_code_request *request, struct hot_function *ret)
{
	VEC(struct hot_function) all = {0};
	uint64_t whole = 0;
	for (size_t i = 1; i < request->nr_functions; i++) {
		whole += request->selves[i];
		vec_push(&all, (struct hot_function){(uint32_t)i, request->selves[i]});
	}
	if (all.len)
		qsort(all.data, all.len, sizeof(*all.data), compare_hot);
	size_t count = 0;
	while (count < all.len && count < FUNCTIONS_MAX && all.data[count].self &&
		all.data[count].self >= whole / PART_MIN) {
		ret[count] = all.data[count];
		count++;
	}
	vec_deinit(&all);
	return count;
}

static void html_code_put_text(struct bytes_buf *out, const char *text)
{
	CLEANUP(str_deinit) struct str escaped = {0};
	str_puts_escaped(&escaped, text);
	bytes_put_blob(out, escaped.data, escaped.len);
}

static void html_code_put_row(const struct listing_row *row, struct bytes_buf *out)
{
	bytes_put_varint(out, row->kind);
	bytes_put_varint(out, row->kind == LISTING_ROW_CODE ? row->address : row->line);
	html_code_put_text(out, row->text ? row->text : "");
	bytes_put_varint(out, row->weight.self);
	bytes_put_varint(out, row->weight.total);
}

static bool has_lines(const struct listing_rows *rows)
{
	vec_each(rows, row)
		if (row->kind == LISTING_ROW_SOURCE || row->kind == LISTING_ROW_CODE)
			return true;
	return false;
}

static bool html_code_put_function(const struct html_code_request *request,
	const struct annotation *annotation, uint32_t number, struct bytes_buf *out)
{
	const struct listing_request wanted = {
		.profile = request->profile,
		.functions = request->profile->functions.data,
		.objects = request->profile->objects.data,
		.annotation = annotation,
		.files = request->code->files,
		.source_dirs = request->code->source_dirs,
		.demangle = request->code->demangle,
	};
	const struct listing_view view = {.layout = LISTING_LAYOUT_BOTH};
	struct listing_rows rows = {0};
	struct listing *listing = listing_create(&wanted);
	listing_put_rows(listing, annotation, &view, &rows);
	bool is_there = has_lines(&rows);
	if (is_there) {
		size_t count = rows.len < ROWS_MAX ? rows.len : ROWS_MAX;
		bytes_put_varint(out, number);
		bytes_put_varint(out, annotation->whole.self);
		bytes_put_varint(out, annotation->whole.total);
		bytes_put_varint(out, rows.len - count);
		bytes_put_varint(out, count);
		for (size_t i = 0; i < count; i++)
			html_code_put_row(&rows.data[i], out);
	}
	vec_deinit(&rows);
	listing_release(listing);
	return is_there;
}

void html_code_put(const struct html_code_request *request, struct bytes_buf *out)
{
	struct hot_function hot[FUNCTIONS_MAX];
	const struct profile *profile = request->profile;
	const struct annotation_names names = {
		.frames = profile->frames.data,
		.nr_frames = profile->frames.len,
		.functions = profile->functions.data,
		.groups = request->groups,
	};
	CLEANUP(bytes_buf_deinit) struct bytes_buf text = {0};
	size_t count = 0, nr_hot = request->code ? html_code_choose(request, hot) : 0;
	struct slice slice;
	slice_init_event(&slice, profile, request->event);
	for (size_t i = 0; i < nr_hot; i++) {
		struct annotation *annotation = annotation_create(
			profile, &names, &slice, request->functions[hot[i].number], NULL);
		count += html_code_put_function(request, annotation, hot[i].number, &text);
		annotation_destroy(annotation);
	}
	slice_deinit(&slice);
	bytes_put_varint(out, count);
	bytes_put(out, text.data, text.len);
}

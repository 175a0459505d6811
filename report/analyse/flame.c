#include "report/analyse/flame.h"

#include <stdlib.h>
#include <string.h>

static uint64_t root_total(const struct flame *flame)
{
	return flame->boxes.data[0].total;
}

/* The edge nearest to where so much of the root's total has passed. */
static uint32_t edge_at(const struct flame *flame, uint64_t value)
{
	unsigned __int128 total = root_total(flame);
	if (!total)
		return 0;
	return (uint32_t)((2 * (unsigned __int128)value * flame->options.width + total) /
			  (2 * total));
}

static bool is_narrow(const struct flame *flame, uint64_t value)
{
	return (unsigned __int128)value * flame->options.width <
	       (unsigned __int128)root_total(flame) * flame->options.least;
}

void flame_init(struct flame *flame, struct focus *focus, uint32_t root,
	const struct flame_options *options)
{
	*flame = (struct flame){.focus = focus, .options = *options};
	const struct focus_node *node = &focus->nodes.data[root];
	struct flame_box box = {
		.node = root,
		.count = 1,
		.width = options->width,
		.total = node->total,
		.samples = node->samples,
	};
	vec_push(&flame->boxes, box);
	vec_push(&flame->rows, 0);
}

void flame_deinit(struct flame *flame)
{
	vec_deinit(&flame->boxes);
	vec_deinit(&flame->rows);
}

/* ---- rows ---- */

struct children {
	uint32_t *data; /* wide ones, in the order in which they are shown */
	size_t len, cap;
	struct flame_box rest; /* the others as one */
};

static int flame_compare_names(const void *a, const void *b, void *context)
{
	const struct focus *focus = context;
	const struct focus_node *x = &focus->nodes.data[*(const uint32_t *)a];
	const struct focus_node *y = &focus->nodes.data[*(const uint32_t *)b];
	const struct profile_function *f = &focus->functions[x->function];
	const struct profile_function *g = &focus->functions[y->function];
	int order = strcmp(f->name, g->name);
	if (order)
		return order;
	if (f->object != g->object)
		return f->object < g->object ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* A focus has its nodes' children by falling total: narrow ones come last, behind one another. */
static void find_children(struct flame *flame, uint32_t parent, struct children *ret)
{
	focus_expand(flame->focus, parent);
	const struct focus_node *nodes = flame->focus->nodes.data;
	for (uint32_t at = nodes[parent].first_child; at; at = nodes[at].next_sibling) {
		if (!is_narrow(flame, nodes[at].total)) {
			vec_push(ret, at);
			continue;
		}
		if (!ret->rest.count++)
			ret->rest.node = at;
		ret->rest.total += nodes[at].total;
		ret->rest.samples += nodes[at].samples;
	}
	if (ret->len && flame->options.order == FLAME_BY_NAME)
		qsort_r(ret->data, ret->len, sizeof(*ret->data), flame_compare_names, flame->focus);
}

/*
 * Behind what has been placed already, which ends at *at. Sums of a forged recording may have
 * overflown: nothing leaves the parent.
 */
static void flame_place(struct flame *flame, uint32_t parent, uint64_t *at, struct flame_box box)
{
	const struct flame_box *around = &flame->boxes.data[parent];
	uint64_t room = around->from + around->total - *at;
	box.parent = parent;
	box.from = *at;
	if (box.total > room)
		box.total = room;
	*at += box.total;
	box.x = edge_at(flame, box.from);
	box.width = edge_at(flame, *at) - box.x;
	if (box.width)
		vec_push(&flame->boxes, box);
}

static void place_children(struct flame *flame, uint32_t parent)
{
	const struct flame_box *box = &flame->boxes.data[parent];
	if (box->count > 1 || box->width < flame->options.least)
		return;
	uint64_t at = box->from;
	struct children children = {0};
	find_children(flame, box->node, &children);
	for (size_t i = 0; i < children.len; i++) {
		const struct focus_node *node = &flame->focus->nodes.data[children.data[i]];
		struct flame_box child = {
			.node = children.data[i],
			.count = 1,
			.total = node->total,
			.samples = node->samples,
		};
		flame_place(flame, parent, &at, child);
	}
	if (children.rest.count)
		flame_place(flame, parent, &at, children.rest);
	vec_deinit(&children);
}

void flame_grow(struct flame *flame, size_t rows)
{
	while (flame->rows.len < rows && !flame->is_complete) {
		size_t first = flame->rows.data[flame->rows.len - 1], end = flame->boxes.len;
		for (size_t i = first; i < end; i++)
			place_children(flame, (uint32_t)i);
		flame->is_complete = flame->boxes.len == end;
		if (!flame->is_complete)
			vec_push(&flame->rows, end);
	}
}

/* ---- looking ---- */

const struct flame_box *flame_row(const struct flame *flame, size_t row, size_t *count)
{
	*count = 0;
	if (row >= flame->rows.len)
		return NULL;
	size_t first = flame->rows.data[row];
	size_t end = row + 1 < flame->rows.len ? flame->rows.data[row + 1] : flame->boxes.len;
	*count = end - first;
	return &flame->boxes.data[first];
}

const struct flame_box *flame_box_of(const struct flame *flame, size_t row, uint32_t node)
{
	size_t count;
	const struct flame_box *boxes = flame_row(flame, row, &count);
	for (size_t i = 0; i < count; i++)
		if (node >= boxes[i].node && node - boxes[i].node < boxes[i].count)
			return &boxes[i];
	return NULL;
}

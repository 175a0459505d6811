/*
 * Each node of the recording's trie of stacks gets its weights once. Those whose frame is of the
 * function make a smaller tree of their own, which is walked depth first: a line or an address that
 * stands above already (recursion) has the time of what is below in its total.
 */
#include "report/name/listing/annotation.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/path.h"
#include "report/name/demangle/demangle.h"

enum {
	NODES_BETWEEN_LOOKS = 1 << 16, /* at is_cancelled */
};

/* Of the function in the chain of functions of one frame. */
struct element {
	uint32_t line;
	bool is_leaf; /* nothing is inlined into it */
};

struct spot {
	uint32_t first_element, nr_elements;
	uint32_t inlined; /* index of inlined plus 1; 0: the function's own code */
};

struct marked { /* a node whose frame is of the function */
	uint32_t place;
	uint32_t parent, first_child, next_sibling; /* plus 1, 0: none */
	struct annotation_weight weight;
};

struct annotating {
	const struct profile *profile;
	const struct annotation_names *names;
	struct annotation *result;
	uint32_t *places;       /* for each frame: its place plus 1, 0: not of the function */
	VEC(struct spot) spots; /* for each place */
	VEC(struct element) elements;
	struct map lines;       /* file << 32 | line -> index plus 1 */
	struct map inner_lines; /* the same of what was inlined; without a file, of its function */
	struct map inlined;     /* line << 32 | inner line -> index plus 1 */
	VEC(struct marked) marked;
	struct annotation_weight *weights; /* of the profile's nodes */
	uint32_t *
		nearest; /* of the profile's nodes: the nearest marked one above or at it, plus 1 */
};

void annotation_weight_add(struct annotation_weight *to, const struct annotation_weight *from)
{
	to->self += from->self;
	to->total += from->total;
	to->self_samples += from->self_samples;
	to->samples += from->samples;
}

/* ---- places and lines ---- */

static uint32_t annotation_line_of(struct annotating *it, const struct profile_frame *frame)
{
	const char *file = frame->file && frame->line ? frame->file : "";
	uint32_t number = file[0] ? frame->line : 0;
	uint32_t id = strtab_intern(&it->result->files, file, strlen(file));
	uint64_t *known = map_put(&it->lines, (uint64_t)id << 32 | number, NULL);
	if (!*known) {
		struct annotation_line line = {
			.file = strtab_get(&it->result->files, id), .line = number};
		vec_push(&it->result->lines, line);
		*known = it->result->lines.len;
	}
	return (uint32_t)*known - 1;
}

/* Without parameters and arguments of templates, unless names are shown as the linker has them. */
static void put_simple_name(const struct profile_function *function, struct str *out)
{
	bool is_plain = strcmp(function->name, function->system_name) == 0;
	if (is_plain || !demangle(function->system_name, DEMANGLE_SIMPLIFIED, out))
		str_puts(out, function->name);
}

/* "inlined: vector.h:90 vector<...>::push_back" */
static const char *inlined_text(struct annotating *it, const struct profile_frame *frame)
{
	struct strtab *texts = &it->result->texts;
	CLEANUP(str_deinit) struct str text = {0};
	str_puts(&text, "inlined: ");
	if (frame->file && frame->line)
		str_printf(&text, "%s:%u ", path_last_part(frame->file), frame->line);
	put_simple_name(&it->names->functions[frame->function], &text);
	return strtab_get(texts, strtab_intern(texts, str_text(&text), text.len));
}

/* Index plus 1. A line of a file is one line, whichever instance of a template it is of. */
static uint32_t annotation_inlined_of(
	struct annotating *it, uint32_t line, const struct profile_frame *frame)
{
	const char *file = frame->file && frame->line ? frame->file : "";
	uint32_t id = strtab_intern(&it->result->files, file, strlen(file));
	uint64_t inner = file[0] ? (uint64_t)id << 32 | frame->line
				 : (uint64_t)UINT32_MAX << 32 | frame->function;
	uint64_t *number = map_put(&it->inner_lines, inner, NULL);
	if (!*number)
		*number = it->inner_lines.len;
	uint64_t *known = map_put(&it->inlined, (uint64_t)line << 32 | *number, NULL);
	if (!*known) {
		struct annotation_inlined inlined = {
			.line = line,
			.file = strtab_get(&it->result->files, id),
			.number = file[0] ? frame->line : 0,
			.text = inlined_text(it, frame),
		};
		vec_push(&it->result->inlined, inlined);
		*known = it->result->inlined.len;
	}
	return (uint32_t)*known;
}

static uint32_t annotation_group_of(const struct annotating *it, uint32_t frame)
{
	uint32_t function = it->names->frames[frame].function;
	return it->names->groups ? it->names->groups[function] : function;
}

/* Notes where the function stands in what runs at this address. */
static void look_at_frame(struct annotating *it, uint32_t index)
{
	const struct profile_frame *frames = it->names->frames;
	bool has_inlined = frames[index].innermost && !it->names->hides_inlined;
	struct spot spot = {.first_element = (uint32_t)it->elements.len};
	uint32_t innermost = has_inlined ? frames[index].innermost : index;
	for (uint32_t at = innermost;; at = frames[at].outer) {
		if (annotation_group_of(it, at) == it->result->function)
			vec_push(
				&it->elements, (struct element){annotation_line_of(it, &frames[at]),
						       at == innermost});
		if (at == index)
			break;
	}
	spot.nr_elements = (uint32_t)it->elements.len - spot.first_element;
	if (!spot.nr_elements)
		return;
	const struct element *first = &it->elements.data[spot.first_element];
	if (!first->is_leaf)
		spot.inlined = annotation_inlined_of(it, first->line, &frames[innermost]);
	struct annotation_place place = {
		.object = frames[index].object,
		.offset = frames[index].offset,
		.body = annotation_group_of(it, index),
		.line = it->elements.data[spot.first_element].line,
	};
	vec_push(&it->result->places, place);
	vec_push(&it->spots, spot);
	it->places[index] = (uint32_t)it->result->places.len;
}

/* ---- weights ---- */

/* The node that was running: damage may have taken frames. */
static uint32_t leaf_of(const struct profile *profile, const struct profile_stack *stack)
{
	uint32_t kernel = stack->kernel, user = stack->user;
	while (kernel && !profile->nodes.data[kernel].frame)
		kernel = profile->nodes.data[kernel].parent;
	while (user && !profile->nodes.data[user].frame)
		user = profile->nodes.data[user].parent;
	return kernel ? kernel : user;
}

static void annotation_add_stack(
	struct annotating *it, const struct profile_stack *stack, const struct slice_sum *sum)
{
	uint32_t leaf = leaf_of(it->profile, stack), ends[] = {stack->user, stack->kernel};
	it->weights[leaf].self += sum->value;
	it->weights[leaf].self_samples += sum->samples;
	for (int i = 0; i < 2; i++) {
		it->weights[ends[i]].total += sum->value;
		it->weights[ends[i]].samples += sum->samples;
	}
}

static void weigh_nodes(struct annotating *it, const struct slice *slice)
{
	const struct profile *profile = it->profile;
	it->weights = mem_zalloc_array(profile->nodes.len + 1, sizeof(*it->weights));
	for (size_t i = 0; i < slice->nr_stacks; i++)
		if (slice->stacks[i].samples)
			annotation_add_stack(it, &profile->stacks.data[i], &slice->stacks[i]);
	for (size_t i = profile->nodes.len; i-- > 1;) {
		struct annotation_weight *parent = &it->weights[profile->nodes.data[i].parent];
		parent->total += it->weights[i].total;
		parent->samples += it->weights[i].samples;
	}
}

/* Parents stand ahead of their children. */
static bool mark_nodes(struct annotating *it, const atomic_bool *is_cancelled)
{
	const struct profile *profile = it->profile;
	uint32_t *nearest = it->nearest =
		mem_zalloc_array(profile->nodes.len + 1, sizeof(*nearest));
	for (size_t i = 1; i < profile->nodes.len; i++) {
		const struct layout_node *node = &profile->nodes.data[i];
		if (i % NODES_BETWEEN_LOOKS == 0 && is_cancelled && atomic_load(is_cancelled))
			return false;
		nearest[i] = nearest[node->parent];
		if (!it->places[node->frame] || !it->weights[i].samples)
			continue;
		uint32_t parent = nearest[i];
		struct marked marked = {
			.place = it->places[node->frame] - 1,
			.parent = parent,
			.weight = it->weights[i],
		};
		if (parent) {
			marked.next_sibling = it->marked.data[parent - 1].first_child;
			it->marked.data[parent - 1].first_child = (uint32_t)it->marked.len + 1;
		}
		vec_push(&it->marked, marked);
		nearest[i] = (uint32_t)it->marked.len;
	}
	return true;
}

struct open { /* how often each stands above where the walk is */
	uint32_t *places, *lines, *inlined;
};

static void annotation_add_total(struct annotation_weight *to, const struct annotation_weight *from)
{
	to->total += from->total;
	to->samples += from->samples;
}

static void add_self(struct annotation_weight *to, const struct annotation_weight *from)
{
	to->self += from->self;
	to->self_samples += from->self_samples;
}

static void annotation_enter(struct annotating *it, const struct marked *node, struct open *open)
{
	struct annotation *result = it->result;
	struct annotation_place *place = &result->places.data[node->place];
	const struct spot *spot = &it->spots.data[node->place];
	if (!node->parent)
		annotation_add_total(&result->whole, &node->weight);
	if (!open->places[node->place]++)
		annotation_add_total(&place->weight, &node->weight);
	add_self(&place->weight, &node->weight);
	for (uint32_t i = 0; i < spot->nr_elements; i++) {
		const struct element *element = &it->elements.data[spot->first_element + i];
		struct annotation_line *line = &result->lines.data[element->line];
		if (!open->lines[element->line]++)
			annotation_add_total(&line->weight, &node->weight);
		if (!element->is_leaf)
			continue;
		add_self(&line->weight, &node->weight);
		add_self(&result->whole, &node->weight);
	}
	if (!spot->inlined)
		return;
	struct annotation_inlined *inlined = &result->inlined.data[spot->inlined - 1];
	if (!open->inlined[spot->inlined]++)
		annotation_add_total(&inlined->weight, &node->weight);
	add_self(&inlined->weight, &node->weight);
	add_self(&result->whole_inlined, &node->weight);
}

static void annotation_leave(
	const struct annotating *it, const struct marked *node, struct open *open)
{
	const struct spot *spot = &it->spots.data[node->place];
	open->places[node->place]--;
	for (uint32_t i = 0; i < spot->nr_elements; i++)
		open->lines[it->elements.data[spot->first_element + i].line]--;
	if (spot->inlined)
		open->inlined[spot->inlined]--;
}

static void walk_from(struct annotating *it, uint32_t root, struct open *open)
{
	const struct marked *nodes = it->marked.data;
	uint32_t at = root;
	for (;;) {
		const struct marked *node = &nodes[at - 1];
		annotation_enter(it, node, open);
		if (node->first_child) {
			at = node->first_child;
			continue;
		}
		for (;; node = &nodes[at - 1]) {
			annotation_leave(it, node, open);
			if (at == root)
				return;
			if (node->next_sibling)
				break;
			at = node->parent;
		}
		at = node->next_sibling;
	}
}

static void take_back(struct annotation_weight *from, const struct slice_sum *sum)
{
	from->total -= sum->value;
	from->samples -= sum->samples;
}

/* The kernel's part of a stack has what the user's part has, which is counted already. */
static void take_back_common(struct annotating *it, const struct marked *node,
	const struct slice_sum *sum, struct open *open)
{
	enum {
		IN_BOTH = 2,
	};
	struct annotation *result = it->result;
	const struct spot *spot = &it->spots.data[node->place];
	if (open->places[node->place] == 1) {
		open->places[node->place] = IN_BOTH;
		take_back(&result->places.data[node->place].weight, sum);
	}
	for (uint32_t i = 0; i < spot->nr_elements; i++) {
		uint32_t line = it->elements.data[spot->first_element + i].line;
		if (open->lines[line] == 1) {
			open->lines[line] = IN_BOTH;
			take_back(&result->lines.data[line].weight, sum);
		}
	}
	if (spot->inlined && open->inlined[spot->inlined] == 1) {
		open->inlined[spot->inlined] = IN_BOTH;
		take_back(&result->inlined.data[spot->inlined - 1].weight, sum);
	}
}

static void open_place(
	const struct annotating *it, const struct marked *node, uint32_t count, struct open *open)
{
	const struct spot *spot = &it->spots.data[node->place];
	open->places[node->place] = count;
	for (uint32_t i = 0; i < spot->nr_elements; i++)
		open->lines[it->elements.data[spot->first_element + i].line] = count;
	if (spot->inlined)
		open->inlined[spot->inlined] = count;
}

/*
 * The user's and the kernel's part of a stack stand in the trie apart. What stands for code that is
 * not known can be in both; its time is that of one stack nevertheless.
 */
static void count_parts_once(struct annotating *it, const struct profile_stack *stack,
	const struct slice_sum *sum, struct open *open)
{
	const struct marked *nodes = it->marked.data;
	uint32_t user = it->nearest[stack->user], kernel = it->nearest[stack->kernel];
	if (!user || !kernel)
		return;
	take_back(&it->result->whole, sum);
	for (uint32_t at = user; at; at = nodes[at - 1].parent)
		open_place(it, &nodes[at - 1], 1, open);
	for (uint32_t at = kernel; at; at = nodes[at - 1].parent)
		take_back_common(it, &nodes[at - 1], sum, open);
	for (uint32_t at = user; at; at = nodes[at - 1].parent)
		open_place(it, &nodes[at - 1], 0, open);
}

static void annotation_weigh(struct annotating *it, const struct slice *slice)
{
	struct open open = {
		.places = mem_zalloc_array(it->spots.len + 1, sizeof(*open.places)),
		.lines = mem_zalloc_array(it->result->lines.len + 1, sizeof(*open.lines)),
		.inlined = mem_zalloc_array(it->result->inlined.len + 1, sizeof(*open.inlined)),
	};
	for (size_t i = 0; i < it->marked.len; i++)
		if (!it->marked.data[i].parent)
			walk_from(it, (uint32_t)i + 1, &open);
	for (size_t i = 0; i < slice->nr_stacks; i++)
		if (slice->stacks[i].samples)
			count_parts_once(
				it, &it->profile->stacks.data[i], &slice->stacks[i], &open);
	mem_free(open.places);
	mem_free(open.lines);
	mem_free(open.inlined);
}

/* ---- order ---- */

static int annotation_compare_places(const void *a, const void *b)
{
	const struct annotation_place *x = a, *y = b;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The same address can be several frames: guessed ones, code that changed. */
static void sort_places(struct annotation *annotation)
{
	size_t kept = 0;
	if (annotation->places.len)
		qsort(annotation->places.data, annotation->places.len,
			sizeof(*annotation->places.data), annotation_compare_places);
	vec_each(&annotation->places, place) {
		struct annotation_place *last = kept ? &annotation->places.data[kept - 1] : NULL;
		if (last && annotation_compare_places(last, place) == 0)
			annotation_weight_add(&last->weight, &place->weight);
		else
			annotation->places.data[kept++] = *place;
	}
	annotation->places.len = kept;
}

struct ordering {
	const struct annotation_line *lines;
};

static int annotation_compare_lines(const void *a, const void *b, void *context)
{
	const struct ordering *by = context;
	const struct annotation_line *x = &by->lines[*(const uint32_t *)a];
	const struct annotation_line *y = &by->lines[*(const uint32_t *)b];
	int order = strcmp(x->file, y->file);
	if (order)
		return order;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int annotation_compare_inlined(const void *a, const void *b)
{
	const struct annotation_inlined *x = a, *y = b;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	int order = strcmp(x->file, y->file);
	if (order)
		return order;
	return x->number != y->number ? (x->number < y->number ? -1 : 1) : strcmp(x->text, y->text);
}

static void sort_lines(struct annotation *annotation)
{
	size_t count = annotation->lines.len;
	CLEANUP_FREE uint32_t *order = mem_zalloc_array(count + 1, sizeof(*order));
	CLEANUP_FREE uint32_t *ranks = mem_zalloc_array(count + 1, sizeof(*ranks));
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	struct ordering by = {annotation->lines.data};
	qsort_r(order, count, sizeof(*order), annotation_compare_lines, &by);
	struct annotation_line *sorted = mem_zalloc_array(count + 1, sizeof(*sorted));
	for (uint32_t i = 0; i < count; i++) {
		sorted[i] = annotation->lines.data[order[i]];
		ranks[order[i]] = i;
	}
	vec_each(&annotation->places, place)
		place->line = ranks[place->line];
	vec_each(&annotation->inlined, inlined)
		inlined->line = ranks[inlined->line];
	if (annotation->inlined.len)
		qsort(annotation->inlined.data, annotation->inlined.len,
			sizeof(*annotation->inlined.data), annotation_compare_inlined);
	mem_free(annotation->lines.data);
	annotation->lines.data = sorted;
	annotation->lines.cap = count + 1;
}

/* ---- */

struct annotation *annotation_create(const struct profile *profile,
	const struct annotation_names *names, const struct slice *slice, uint32_t function,
	const atomic_bool *is_cancelled)
{
	struct annotation *annotation = mem_zalloc(sizeof(*annotation));
	annotation->function = function;
	struct annotating it = {.profile = profile, .names = names, .result = annotation};
	it.places = mem_zalloc_array(names->nr_frames + 1, sizeof(*it.places));
	for (uint32_t i = 1; i < names->nr_frames; i++)
		if (!names->frames[i].outer)
			look_at_frame(&it, i);
	weigh_nodes(&it, slice);
	bool is_done = mark_nodes(&it, is_cancelled);
	if (is_done) {
		annotation_weigh(&it, slice);
		sort_places(annotation);
		sort_lines(annotation);
	}
	mem_free(it.places);
	mem_free(it.weights);
	mem_free(it.nearest);
	vec_deinit(&it.spots);
	vec_deinit(&it.elements);
	vec_deinit(&it.marked);
	map_deinit(&it.lines);
	map_deinit(&it.inner_lines);
	map_deinit(&it.inlined);
	if (is_done)
		return annotation;
	annotation_destroy(annotation);
	return NULL;
}

void annotation_destroy(struct annotation *annotation)
{
	if (!annotation)
		return;
	vec_deinit(&annotation->places);
	vec_deinit(&annotation->lines);
	vec_deinit(&annotation->inlined);
	strtab_deinit(&annotation->files);
	strtab_deinit(&annotation->texts);
	mem_free(annotation);
}

const struct annotation_place *annotation_hottest(const struct annotation *annotation)
{
	const struct annotation_place *best = NULL;
	vec_each(&annotation->places, place)
		if (!best || place->weight.self > best->weight.self ||
			(place->weight.self == best->weight.self &&
				place->weight.total > best->weight.total))
			best = place;
	return best;
}

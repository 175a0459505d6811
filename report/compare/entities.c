#include "report/compare/entities.h"

#include <string.h>

#include "format/base/mem.h"
#include "format/base/path.h"
#include "report/analyse/own_code.h"
#include "report/compare/line_match.h"
#include "report/model/slice.h"

struct entity {
	enum match_side side; /* whose tables these are of: the new one's where it has it */
	uint32_t function, object, frame; /* frame: by line, one of the line */
};

struct entities {
	enum diff_by by;
	const struct profile *profiles[MATCH_SIDES];
	struct function_match match;
	struct line_match lines; /* by line */
	VEC(struct entity) list;
	uint32_t *of_frame[MATCH_SIDES];    /* 1 + entity; 0: was not asked for */
	uint32_t *of_function[MATCH_SIDES]; /* 1 + id of the match, likewise */
	struct map places;    /* by file: match's object, by line: hash of the key -> entity */
	struct strtab keys;   /* by line */
	VEC(uint32_t) stamps; /* for each entity the last call that listed it */
	uint32_t stamp;
	/* By stack, and of a tree: */
	const struct tree *trees[MATCH_SIDES];
	const struct diff_tree *both;
	/* By stack, where the above are these: */
	struct tree own_trees[MATCH_SIDES];
	struct diff_tree own_both;
};

static void entities_plant(struct entities *entities)
{
	struct tree_options options = {0};
	struct diff_tree_side sides[MATCH_SIDES];
	struct tree_weight *weights[MATCH_SIDES]; /* by which renamed functions are found */
	for (int side = 0; side < MATCH_SIDES; side++) {
		struct tree *tree = &entities->own_trees[side];
		struct slice all;
		tree_init(tree, entities->profiles[side], &options);
		slice_init_all(&all, entities->profiles[side]);
		weights[side] = tree_weigh(tree, &all);
		slice_deinit(&all);
		entities->trees[side] = tree;
		sides[side] =
			(struct diff_tree_side){entities->profiles[side], tree, weights[side]};
	}
	diff_tree_init(&entities->own_both, &sides[MATCH_BASE], &sides[MATCH_NEW]);
	mem_free(weights[MATCH_BASE]);
	mem_free(weights[MATCH_NEW]);
	entities->both = &entities->own_both;
}

struct entities *entities_create(
	enum diff_by by, const struct profile *base, const struct profile *new)
{
	struct entities *entities = mem_zalloc(sizeof(*entities));
	*entities = (struct entities){.by = by, .profiles = {base, new}};
	if (by == DIFF_BY_STACK) {
		entities_plant(entities);
		return entities;
	}
	function_match_init(&entities->match, base, new);
	if (by == DIFF_BY_LINE)
		line_match_init(&entities->lines, &entities->match);
	for (int side = 0; side < MATCH_SIDES; side++) {
		const struct profile *profile = entities->profiles[side];
		entities->of_frame[side] =
			mem_zalloc_array(profile->frames.len, sizeof(**entities->of_frame));
		entities->of_function[side] =
			mem_zalloc_array(profile->functions.len, sizeof(**entities->of_function));
	}
	return entities;
}

struct entities *entities_create_of_tree(
	const struct diff_tree *both, const struct tree *base, const struct tree *new)
{
	struct entities *entities = mem_zalloc(sizeof(*entities));
	entities->by = DIFF_BY_FUNCTION;
	entities->both = both;
	entities->trees[MATCH_BASE] = base;
	entities->trees[MATCH_NEW] = new;
	return entities;
}

bool entities_are_of_tree(const struct entities *entities)
{
	return entities->both && entities->by == DIFF_BY_FUNCTION;
}

bool entities_are_outermost_first(const struct entities *entities)
{
	return entities->both; /* a tree's nodes, and its functions, are */
}

void entities_destroy(struct entities *entities)
{
	if (!entities)
		return;
	if (entities->by == DIFF_BY_STACK)
		diff_tree_deinit(&entities->own_both);
	else if (!entities->both)
		function_match_deinit(&entities->match);
	line_match_deinit(&entities->lines);
	for (int side = 0; side < MATCH_SIDES; side++) {
		mem_free(entities->of_frame[side]);
		mem_free(entities->of_function[side]);
		tree_deinit(&entities->own_trees[side]);
	}
	map_deinit(&entities->places);
	strtab_deinit(&entities->keys);
	vec_deinit(&entities->list);
	vec_deinit(&entities->stamps);
	mem_free(entities);
}

/* ---- of a frame ---- */

static uint32_t function_id(struct entities *entities, enum match_side side, uint32_t function)
{
	uint32_t *id = &entities->of_function[side][function];
	if (!*id)
		*id = function_match_id(&entities->match, side, function) + 1;
	return *id - 1;
}

/* Functions of one id in one file and line are one. The file's folder may be another checkout's,
 * and the function may have moved to another file. */
static uint32_t line_id(struct entities *entities, enum match_side side, uint32_t frame)
{
	const struct profile_frame *at = &entities->profiles[side]->frames.data[frame];
	uint32_t function = function_id(entities, side, at->function);
	CLEANUP(str_deinit) struct str key = {0};
	if (!line_match_is_own(entities->profiles[side], at))
		str_printf(&key, "%u:%u:%s", function, at->line, path_last_part(at->file));
	else if (line_match_is_edited(&entities->lines, function))
		str_printf(&key, "%u", function);
	else
		str_printf(&key, "%u:%u", function,
			line_match_line(&entities->lines, side, function, at->line));
	return strtab_intern(&entities->keys, str_text(&key), key.len);
}

static uint32_t module_id(struct entities *entities, enum match_side side, uint32_t frame)
{
	uint32_t object = entities->profiles[side]->frames.data[frame].object;
	bool added;
	uint64_t *id = map_put(
		&entities->places, function_match_object(&entities->match, side, object), &added);
	if (added)
		*id = entities->list.len;
	return (uint32_t)*id;
}

static uint32_t entity_of_frame(struct entities *entities, enum match_side side, uint32_t frame)
{
	uint32_t *known = &entities->of_frame[side][frame];
	if (*known)
		return *known - 1;
	const struct profile_frame *at = &entities->profiles[side]->frames.data[frame];
	uint32_t id = entities->by == DIFF_BY_FUNCTION ? function_id(entities, side, at->function)
		      : entities->by == DIFF_BY_LINE   ? line_id(entities, side, frame)
						       : module_id(entities, side, frame);
	struct entity entity = {side, at->function, at->object, frame};
	if (id == entities->list.len)
		vec_push(&entities->list, entity);
	else if (side == MATCH_NEW && entities->list.data[id].side == MATCH_BASE)
		entities->list.data[id] = entity;
	*known = id + 1;
	return id;
}

/* ---- of a stack ---- */

static void add_once(struct entities *entities, uint32_t entity, struct entity_list *list)
{
	if (entities->stamps.len <= entity)
		vec_resize(&entities->stamps, entity + 1);
	if (entities->stamps.data[entity] == entities->stamp)
		return;
	entities->stamps.data[entity] = entities->stamp;
	vec_push(list, entity);
}

static void list_nodes(const struct entities *entities, enum match_side side, uint32_t stack,
	struct entity_list *list)
{
	uint32_t own = entities->trees[side]->ends[stack];
	for (uint32_t node = entities->both->nodes[side][own]; node;
		node = entities->both->tree.nodes.data[node].parent)
		vec_push(list, node);
	if (!list->len)
		vec_push(list, 0);
}

/* As of frames below: a marker has no object. */
static void entities_list_functions(
	struct entities *entities, enum match_side side, uint32_t stack, struct entity_list *list)
{
	const struct diff_tree *both = entities->both;
	uint32_t marker = 0;
	entities->stamp++;
	for (uint32_t node = both->nodes[side][entities->trees[side]->ends[stack]]; node;
		node = both->tree.nodes.data[node].parent) {
		uint32_t function = both->tree.nodes.data[node].function;
		bool is_left_out = both->left_out && function == both->left_out;
		bool has_self = !list->len && !marker && is_left_out;
		if (both->functions.data[function].object || has_self)
			add_once(entities, function, list);
		else
			marker = function;
	}
	if (!list->len)
		add_once(entities, marker, list);
}

void entities_of_stack(
	struct entities *entities, enum match_side side, uint32_t stack, struct entity_list *ret)
{
	ret->len = 0;
	if (entities->by == DIFF_BY_STACK) {
		list_nodes(entities, side, stack, ret);
		return;
	}
	if (entities->both) {
		entities_list_functions(entities, side, stack, ret);
		return;
	}
	entities->stamp++;
	const struct profile *profile = entities->profiles[side];
	struct profile_walk walk = profile_walk(profile, stack);
	uint32_t marker = 0;
	for (uint32_t frame; (frame = profile_walk_next(&walk));) {
		const struct profile_frame *it = &profile->frames.data[frame];
		bool has_self = !ret->len && !marker && profile_frame_is_left_out(it);
		if (it->object || has_self)
			add_once(entities, entity_of_frame(entities, side, frame), ret);
		else
			marker = frame;
	}
	if (!ret->len) /* frame 0 is a placeholder, for stacks without any */
		add_once(entities, entity_of_frame(entities, side, marker), ret);
}

size_t entities_count(const struct entities *entities)
{
	if (entities->by == DIFF_BY_STACK)
		return entities->both->tree.nodes.len;
	return entities->both ? entities->both->functions.len : entities->list.len;
}

bool entities_is_marker(const struct entities *entities, uint32_t entity)
{
	if (entities->by == DIFF_BY_STACK)
		return false;
	return entities->both ? !entities->both->functions.data[entity].object
			      : !entities->list.data[entity].object;
}

bool entities_is_named_function(const struct entities *entities, uint32_t entity)
{
	const struct entity *at = &entities->list.data[entity];
	return at->object && entities->profiles[at->side]->functions.data[at->function].is_known;
}

uint32_t entities_object(const struct entities *entities, uint32_t entity)
{
	const struct entity *at = &entities->list.data[entity];
	return function_match_object(&entities->match, at->side, at->object);
}

/* ---- names ---- */

static void entities_put_function(const struct profile_function *function,
	const struct profile_object *of, const char *object, struct diff_row *row)
{
	row->name = function->name;
	row->function = function;
	row->object = object ? object : "";
	row->file = function->file;
	row->line = profile_function_line(function);
	row->is_known = function->is_known;
	row->is_own = of->name && own_code_has(function, of);
	row->is_kernel = profile_object_is_kernel(of) && strcmp(row->object, PROFILE_WAITS) != 0;
}

static void name_function(const struct entities *entities, uint32_t number, struct diff_row *row)
{
	const struct profile_function *function = &entities->both->functions.data[number];
	const struct profile_object *object = &entities->both->objects.data[function->object];
	entities_put_function(function, object, object->name, row);
}

static void name_node(const struct entities *entities, uint32_t node, struct diff_row *row)
{
	const struct diff_tree *both = entities->both;
	name_function(entities, both->tree.nodes.data[node].function, row);
	for (; node; node = both->tree.nodes.data[node].parent)
		vec_push(&row->path,
			both->functions.data[both->tree.nodes.data[node].function].name);
	for (size_t i = 0; i < row->path.len / 2; i++) {
		const char **a = &row->path.data[i], **b = &row->path.data[row->path.len - 1 - i];
		const char *kept = *a;
		*a = *b;
		*b = kept;
	}
}

static void name_line(
	const struct entities *entities, const struct entity *named, struct diff_row *row)
{
	const struct profile_frame *frame =
		&entities->profiles[named->side]->frames.data[named->frame];
	uint32_t function = entities->of_function[named->side][named->function] - 1;
	row->is_edited = line_match_is_own(entities->profiles[named->side], frame) &&
			 line_match_is_edited(&entities->lines, function);
	if (row->is_edited)
		return;
	row->file = frame->file;
	row->line = frame->line;
}

void entities_name(const struct entities *entities, uint32_t entity, struct diff_row *row)
{
	if (entities->by == DIFF_BY_STACK) {
		name_node(entities, entity, row);
		return;
	}
	if (entities->both) {
		name_function(entities, entity, row);
		return;
	}
	const struct entity *named = &entities->list.data[entity];
	const struct profile *profile = entities->profiles[named->side];
	const struct profile_object *object = &profile->objects.data[named->object];
	entities_put_function(&profile->functions.data[named->function], object,
		path_last_part(object->name), row);
	if (entities->by == DIFF_BY_FUNCTION) {
		row->name = function_match_name(&entities->match, entity, &row->object);
		if (strcmp(row->name, row->function->name) != 0)
			row->function = NULL;
	} else if (entities->by == DIFF_BY_LINE) {
		name_line(entities, named, row);
	} else {
		row->name = row->object;
		row->function = NULL;
		row->file = NULL;
		row->line = 0;
		row->is_known = true;
	}
}

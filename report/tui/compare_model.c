#include "report/tui/compare_model.h"

#include <string.h>

static const char *copy(struct model_names *names, const char *text)
{
	return strtab_get(&names->written, strtab_intern(&names->written, text, strlen(text)));
}

/* Objects by their names, as the comparison has them. */
static uint32_t object_of(struct model_names *names, struct map *known, const char *name)
{
	uint32_t id = strtab_intern(&names->written, name, strlen(name));
	uint64_t *object = map_put(known, id, NULL);
	if (!*object) {
		struct profile_object it = {.is_used = true};
		it.name = it.path = strtab_get(&names->written, id);
		*object = names->objects.len;
		vec_push(&names->objects, it);
	}
	return (uint32_t)*object;
}

static void add_functions(struct model_names *names, const struct compare *compare)
{
	size_t count = compare->rows.len + compare->markers.len;
	struct map known = {0};
	vec_push(&names->objects, (struct profile_object){.name = "", .path = ""});
	vec_resize(&names->functions, count + 1);
	names->groups = mem_zalloc_array(count + 1, sizeof(*names->groups));
	names->functions.data[0] = (struct profile_function){.name = "", .system_name = ""};
	for (uint32_t i = 1; i <= count; i++) {
		const struct compare_row *row = compare_row_of(compare, i);
		struct profile_function *function = &names->functions.data[i];
		names->groups[i] = i;
		function->name = function->system_name = copy(names, row->name);
		function->object = object_of(names, &known, row->object);
		function->is_known = row->is_known;
	}
	map_deinit(&known);
}

/* Those that stand in the tree. */
static void add_frames(
	struct model_names *names, const struct model *model, const struct model_names *base)
{
	size_t most = model->names->frames.len > base->frames.len ? model->names->frames.len
								  : base->frames.len;
	names->frames.data = mem_zalloc_array(2 * most + 1, sizeof(*names->frames.data));
	names->frames.len = names->frames.cap = 2 * most + 1;
	for (size_t i = 1; i < names->tree.nodes.len; i++) {
		const struct tree_node *node = &names->tree.nodes.data[i];
		uint32_t new = compare_tree_new_frame(node->frame);
		const struct profile_frame *like =
			new ? &model->names->frames.data[new] : &base->frames.data[node->frame / 2];
		names->frames.data[node->frame] = (struct profile_frame){
			.function = node->function,
			.object = names->functions.data[node->function].object,
			.outer = like->outer,
		};
	}
}

struct model *compare_model_create(const struct model *model, const struct model_names *base,
	const struct compare *compare, struct compare_tree *tree, const char *search)
{
	struct model *merged = mem_zalloc(sizeof(*merged));
	merged->references = 1;
	merged->wish_serial = model->wish_serial;
	merged->profile = model->profile;
	merged->names = mem_zalloc(sizeof(*merged->names));
	merged->names->references = 1;
	merged->names->tree = tree->tree;
	tree->tree = (struct tree){0};
	merged->weights = steal_ptr(tree->both);
	merged->slice.whole =
		(struct slice_sum){merged->weights[0].total, merged->weights[0].samples};
	add_functions(merged->names, compare);
	add_frames(merged->names, model, base);
	model_find_matches(merged, search);
	return merged;
}

#include "record/stack_table.h"

enum {
	MAX_NODES = 256 * 1024, /* 4 MiB of nodes and 12 MiB of index */
};

void stack_table_init(struct stack_table *table)
{
	*table = (struct stack_table){0};
	vec_push(&table->frames, (struct stack_frame){0});
	vec_push(&table->nodes, (struct stack_node){0});
}

void stack_table_deinit(struct stack_table *table)
{
	vec_deinit(&table->frames);
	vec_deinit(&table->nodes);
	map_deinit(&table->edges);
	vec_each(&table->frames_of, frames)
		map_deinit(frames);
	vec_deinit(&table->frames_of);
	map_deinit(&table->by_serial);
	map_deinit(&table->truncated);
}

static struct map *stack_table_frames_of(struct stack_table *table, const struct object *object)
{
	bool is_new;
	uint64_t *at = map_put(&table->by_serial, object->serial, &is_new);
	if (is_new) {
		vec_push(&table->frames_of, (struct map){0});
		*at = table->frames_of.len;
	}
	return &table->frames_of.data[*at - 1];
}

uint32_t stack_table_frame(
	struct stack_table *table, struct object *object, uint64_t offset, uint32_t flags)
{
	enum {
		FLAGS_SHIFT =
			60 /* offsets are shorter, but for a kernel's address, which has none */
	};
	bool added;
	uint64_t key = offset ^ (uint64_t)flags << FLAGS_SHIFT;
	uint64_t *frame = map_put(
		object ? stack_table_frames_of(table, object) : &table->truncated, key, &added);
	if (added) {
		*frame = table->frames.len;
		vec_push(&table->frames,
			(struct stack_frame){.object = object, .offset = offset, .flags = flags});
	}
	return (uint32_t)*frame;
}

uint32_t stack_table_node(struct stack_table *table, uint32_t parent, uint32_t frame)
{
	bool added;
	uint64_t *node = map_put(&table->edges, (uint64_t)parent << 32 | frame, &added);
	if (added) {
		*node = table->nodes.len;
		bool is_guessed = table->nodes.data[parent].is_guessed ||
				  table->frames.data[frame].flags & LAYOUT_FRAME_GUESSED;
		vec_push(&table->nodes,
			(struct stack_node){
				.parent = parent, .frame = frame, .is_guessed = is_guessed});
	}
	return (uint32_t)*node;
}

bool stack_table_is_full(const struct stack_table *table)
{
	return table->nodes.len > MAX_NODES;
}

void stack_table_clear(struct stack_table *table)
{
	stack_table_deinit(table);
	stack_table_init(table);
}

void stack_table_mark_objects(const struct stack_table *table)
{
	vec_each(&table->frames, frame)
		if (frame->object)
			frame->object->is_used = true;
}

uint32_t stack_table_copy_node(
	struct stack_table *to, const struct stack_table *from, uint32_t node, struct map *copied)
{
	VEC(uint32_t) missing = {0};
	uint32_t copy = 0;
	for (uint32_t i = node; i; i = from->nodes.data[i].parent) {
		const uint64_t *known = map_get(copied, i);
		if (known) {
			copy = (uint32_t)*known;
			break;
		}
		vec_push(&missing, i);
	}
	while (missing.len) {
		uint32_t at = missing.data[--missing.len];
		const struct stack_frame *frame = &from->frames.data[from->nodes.data[at].frame];
		copy = stack_table_node(to, copy,
			stack_table_frame(to, frame->object, frame->offset, frame->flags));
		*map_put(copied, at, NULL) = copy;
	}
	vec_deinit(&missing);
	return copy;
}

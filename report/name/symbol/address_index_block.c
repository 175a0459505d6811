#include "report/name/symbol/address_index_block.h"

#include "report/name/symbol/address_index_layout.h"

struct block_function {
	const char *name, *decl_file;
	uint32_t decl_line;
};

struct block_node {
	uint32_t parent, function;
	const char *call_file;
	uint32_t call_line, call_column;
	bool is_inlined;
};

/* A frame of the last chain, where the one outside of it called it, and its node. */
struct block_step {
	struct block_function function;
	struct block_node node;
	uint32_t number;
};

/* ---- numbers ---- */

static uint64_t hash_function(const struct block_function *function)
{
	uint64_t hash = map_mix((uint64_t)(uintptr_t)function->name);
	hash = map_mix(hash ^ (uint64_t)(uintptr_t)function->decl_file);
	return map_mix(hash ^ function->decl_line);
}

static uint64_t hash_node(const struct block_node *node)
{
	uint64_t hash = map_mix((uint64_t)node->parent << 32 | node->function);
	hash = map_mix(hash ^ (uint64_t)(uintptr_t)node->call_file);
	hash = map_mix(hash ^ ((uint64_t)node->call_line << 32 | node->call_column));
	return hash ^ node->is_inlined;
}

static bool is_same_function(const struct block_function *a, const struct block_function *b)
{
	return a->name == b->name && a->decl_file == b->decl_file && a->decl_line == b->decl_line;
}

static bool is_same_call(const struct block_node *a, const struct block_node *b)
{
	return a->call_file == b->call_file && a->call_line == b->call_line &&
	       a->call_column == b->call_column && a->is_inlined == b->is_inlined;
}

/* 0: it has none yet. */
static uint32_t address_index_block_find_function(
	const struct address_index_block *block, const struct block_function *function)
{
	const uint64_t *number = map_get(&block->functions, hash_function(function));
	bool is_it = number && is_same_function(&block->function_list.data[*number - 1], function);
	return is_it ? (uint32_t)*number : 0;
}

static uint32_t address_index_block_find_node(
	const struct address_index_block *block, const struct block_node *node)
{
	const uint64_t *number = map_get(&block->nodes, hash_node(node));
	if (!number)
		return 0;
	const struct block_node *found = &block->node_list.data[*number - 1];
	bool is_it = found->parent == node->parent && found->function == node->function &&
		     is_same_call(found, node);
	return is_it ? (uint32_t)*number : 0;
}

/* ---- references ---- */

static void address_index_block_put_text(struct address_index_block *block, const char *text,
	const struct address_index_names *names)
{
	if (!text) {
		bytes_put_u8(&block->bytes, 0);
		return;
	}
	bool is_new;
	uint64_t *number = map_put(&block->texts, (uint64_t)(uintptr_t)text, &is_new);
	if (is_new)
		*number = block->texts.len;
	bytes_put_varint(&block->bytes, *number);
	if (is_new)
		bytes_put_varint(&block->bytes, names->text(names->context, text));
}

static uint32_t address_index_block_put_function(struct address_index_block *block,
	const struct block_function *function, const struct address_index_names *names)
{
	uint32_t number = address_index_block_find_function(block, function);
	if (number) {
		bytes_put_varint(&block->bytes, number);
		return number;
	}
	vec_push(&block->function_list, *function);
	number = (uint32_t)block->function_list.len;
	*map_put(&block->functions, hash_function(function), NULL) = number;
	uint32_t name = function->name ? names->text(names->context, function->name) : 0;
	uint32_t file = function->decl_file ? names->text(names->context, function->decl_file) : 0;
	bytes_put_varint(&block->bytes, number);
	bytes_put_varint(
		&block->bytes, names->function(names->context, name, file, function->decl_line));
	return number;
}

/* ---- stretches ---- */

/* The i-th frame from outside, and where it was called. */
static struct block_step step_of(const struct chain *chain, uint32_t i)
{
	const struct chain_frame *frame = &chain->frames[chain->count - 1 - i];
	struct block_step step = {
		.function = {frame->function, frame->decl_file, frame->decl_line},
		.node = {.is_inlined = frame->is_inlined},
	};
	if (i) {
		step.node.call_file = frame[1].file;
		step.node.call_line = frame[1].line;
		step.node.call_column = frame[1].column;
	}
	return step;
}

/* Makes the path that of the chain, as far as its nodes have numbers. */
static void address_index_block_follow(struct address_index_block *block, const struct chain *chain)
{
	uint32_t i = 0, parent = 0;
	for (; i < chain->count && i < block->path.len; i++) {
		struct block_step step = step_of(chain, i), *last = &block->path.data[i];
		if (!is_same_function(&step.function, &last->function) ||
			!is_same_call(&step.node, &last->node))
			break;
		parent = last->number;
	}
	block->path.len = i;
	for (; i < chain->count; i++) {
		struct block_step step = step_of(chain, i);
		step.node.parent = parent;
		step.node.function = address_index_block_find_function(block, &step.function);
		if (!step.node.function ||
			!(step.number = address_index_block_find_node(block, &step.node)))
			break;
		parent = step.number;
		vec_push(&block->path, step);
	}
}

/* The nodes that the path lacks. */
static void put_new_nodes(struct address_index_block *block, const struct chain *chain,
	const struct address_index_names *names)
{
	size_t known = block->path.len;
	bytes_put_varint(&block->bytes, chain->count - known);
	for (uint32_t i = (uint32_t)known; i < chain->count; i++) {
		struct block_step step = step_of(chain, i);
		uint64_t flag = step.node.is_inlined;
		step.node.parent = i ? block->path.data[i - 1].number : 0;
		bytes_put_varint(
			&block->bytes, i == known ? (uint64_t)step.node.parent << 1 | flag : flag);
		step.node.function = address_index_block_put_function(block, &step.function, names);
		if (i) {
			address_index_block_put_text(block, step.node.call_file, names);
			bytes_put_varint(&block->bytes, step.node.call_line);
			bytes_put_varint(&block->bytes, step.node.call_column);
		}
		vec_push(&block->node_list, step.node);
		step.number = (uint32_t)block->node_list.len;
		*map_put(&block->nodes, hash_node(&step.node), NULL) = step.number;
		vec_push(&block->path, step);
	}
}

static uint32_t last_node(const struct address_index_block *block)
{
	return block->path.len ? block->path.data[block->path.len - 1].number : 0;
}

static unsigned flags_of(const struct address_index_block *block, uint32_t node_before,
	const struct chain *chain, const struct chain_frame *row)
{
	unsigned flags = 0;
	if (block->path.len < chain->count)
		flags |= ADDRESS_INDEX_NODES_NEW;
	else if (last_node(block) != node_before)
		flags |= ADDRESS_INDEX_NODE_KNOWN;
	if (row->file != block->file)
		flags |= ADDRESS_INDEX_FILE;
	if (row->line != block->line)
		flags |= ADDRESS_INDEX_LINE;
	if (row->column != block->column)
		flags |= ADDRESS_INDEX_COLUMN;
	return flags;
}

void address_index_block_put(struct address_index_block *block, uint64_t start, uint64_t end,
	const struct chain *chain, const struct address_index_names *names)
{
	if (block->start == block->end)
		block->start = block->end = block->last_start = start;
	block->end = end;
	struct chain_frame before = {
		.file = block->file, .line = block->line, .column = block->column};
	const struct chain_frame *row = chain->count ? chain->frames : &before;
	uint32_t node_before = last_node(block);
	address_index_block_follow(block, chain);
	unsigned flags = flags_of(block, node_before, chain, row);
	if (!flags && block->bytes.len)
		return; /* the stretch before goes on */
	bytes_put_varint(
		&block->bytes, (start - block->last_start) << ADDRESS_INDEX_FLAGS_BITS | flags);
	if (flags & ADDRESS_INDEX_NODE_KNOWN)
		bytes_put_varint(&block->bytes, last_node(block));
	if (flags & ADDRESS_INDEX_NODES_NEW)
		put_new_nodes(block, chain, names);
	if (flags & ADDRESS_INDEX_FILE)
		address_index_block_put_text(block, row->file, names);
	if (flags & ADDRESS_INDEX_LINE)
		bytes_put_zigzag(&block->bytes, (int64_t)row->line - block->line);
	if (flags & ADDRESS_INDEX_COLUMN)
		bytes_put_varint(&block->bytes, row->column);
	block->last_start = start;
	block->file = row->file;
	block->line = row->line;
	block->column = row->column;
}

void address_index_block_reset(struct address_index_block *block)
{
	block->start = block->end = block->last_start = 0;
	block->bytes.len = block->function_list.len = block->node_list.len = block->path.len = 0;
	map_clear(&block->texts);
	map_clear(&block->functions);
	map_clear(&block->nodes);
	block->file = NULL;
	block->line = block->column = 0;
}

void address_index_block_deinit(struct address_index_block *block)
{
	bytes_buf_deinit(&block->bytes);
	map_deinit(&block->texts);
	map_deinit(&block->functions);
	map_deinit(&block->nodes);
	vec_deinit(&block->function_list);
	vec_deinit(&block->node_list);
	vec_deinit(&block->path);
}

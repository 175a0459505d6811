/*
 * A table is a root, the root lists blocks, and a block holds up to BLOCK_MAX mappings. Roots and
 * blocks count who refers to them: to share a table is to refer to its root, and to change one
 * copies first what others refer to as well, which is the root and one block at a time.
 */
#include "record/task/mapping_table.h"

#include <string.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"

enum {
	BLOCK_MAX = 64,
	BLOCK_FIRST = 8, /* most processes map little that is executable */
};

struct block {
	uint32_t references, count, capacity;
	uint64_t visit; /* the last that met it */
	struct mapping *mappings;
};

struct mapping_root {
	uint32_t references, count, capacity; /* of blocks, none of which is empty */
	uint64_t visit;
	size_t mappings; /* in all blocks */
	struct block **blocks;
};

/* ---- ownership ---- */

static void block_release(struct mapping_pool *pool, struct block *block)
{
	if (--block->references)
		return;
	pool->held -= block->count;
	mem_free(block->mappings);
	mem_free(block);
}

static void root_release(struct mapping_pool *pool, struct mapping_root *root)
{
	if (!root || --root->references)
		return;
	for (uint32_t i = 0; i < root->count; i++)
		block_release(pool, root->blocks[i]);
	mem_free(root->blocks);
	mem_free(root);
}

static struct block *block_create(uint32_t capacity)
{
	struct block *block = mem_zalloc(sizeof(*block));
	block->references = 1;
	block->capacity = capacity;
	block->mappings = mem_zalloc_array(capacity, sizeof(*block->mappings));
	return block;
}

static struct mapping_root *root_copy(const struct mapping_root *from)
{
	struct mapping_root *root = mem_zalloc(sizeof(*root));
	*root = *from;
	root->references = 1;
	root->blocks = mem_zalloc_array(from->capacity, sizeof(struct block *));
	memcpy(root->blocks, from->blocks, from->count * sizeof(struct block *));
	for (uint32_t i = 0; i < root->count; i++)
		root->blocks[i]->references++;
	return root;
}

/* The table's root, which is its alone from now on. */
static struct mapping_root *own_root(struct mapping_table *table)
{
	if (!table->shared) {
		table->shared = mem_zalloc(sizeof(*table->shared));
		table->shared->references = 1;
	} else if (table->shared->references > 1) {
		struct mapping_root *copy = root_copy(table->shared);
		root_release(table->pool, table->shared);
		table->shared = copy;
	}
	return table->shared;
}

/* The block at that place of an own root, which is the table's alone from now on. */
static struct block *own_block(struct mapping_table *table, uint32_t at)
{
	struct block **slot = &table->shared->blocks[at], *from = *slot;
	if (from->references == 1)
		return from;
	struct block *copy = block_create(from->capacity);
	copy->count = from->count;
	memcpy(copy->mappings, from->mappings, from->count * sizeof(*from->mappings));
	table->pool->held += copy->count;
	block_release(table->pool, from);
	*slot = copy;
	return copy;
}

void mapping_table_clear(struct mapping_table *table)
{
	root_release(table->pool, table->shared);
	table->shared = NULL;
}

void mapping_table_share(struct mapping_table *table, const struct mapping_table *from)
{
	struct mapping_root *root = from->shared;
	if (root)
		root->references++;
	mapping_table_clear(table);
	table->shared = root;
}

/* ---- looking ---- */

/* The first mapping that ends behind the address; block == the root's count: there is none. */
static struct mapping_cursor mapping_table_lower_bound(
	const struct mapping_root *root, uint64_t address)
{
	struct mapping_cursor at = {0};
	if (!root)
		return at;
	at.block = (uint32_t)bisect(root->count, i,
		root->blocks[i]->mappings[root->blocks[i]->count - 1].end <= address);
	if (at.block < root->count) {
		const struct block *block = root->blocks[at.block];
		at.index = (uint32_t)bisect(block->count, i, block->mappings[i].end <= address);
	}
	return at;
}

static const struct mapping *mapping_table_mapping_at(
	const struct mapping_root *root, const struct mapping_cursor *at)
{
	return root && at->block < root->count ? &root->blocks[at->block]->mappings[at->index]
					       : NULL;
}

const struct mapping *mapping_table_find(const struct mapping_table *table, uint64_t address)
{
	struct mapping_cursor at = mapping_table_lower_bound(table->shared, address);
	const struct mapping *found = mapping_table_mapping_at(table->shared, &at);
	return found && found->start <= address ? found : NULL;
}

size_t mapping_table_count(const struct mapping_table *table)
{
	return table->shared ? table->shared->mappings : 0;
}

const struct mapping *mapping_table_next(
	const struct mapping_table *table, struct mapping_cursor *cursor)
{
	const struct mapping *next = mapping_table_mapping_at(table->shared, cursor);
	if (next && ++cursor->index == table->shared->blocks[cursor->block]->count)
		*cursor = (struct mapping_cursor){cursor->block + 1, 0};
	return next;
}

void mapping_table_visit(const struct mapping_table *table, uint64_t visit,
	void (*fn)(void *context, const struct mapping *mapping), void *context)
{
	struct mapping_root *root = table->shared;
	if (!root || root->visit == visit)
		return;
	root->visit = visit;
	for (uint32_t i = 0; i < root->count; i++) {
		struct block *block = root->blocks[i];
		if (block->visit == visit)
			continue;
		block->visit = visit;
		for (uint32_t j = 0; j < block->count; j++)
			fn(context, &block->mappings[j]);
	}
}

/* ---- changing; the root is the table's own ---- */

static void insert_block(struct mapping_root *root, uint32_t at, struct block *block)
{
	if (root->count == root->capacity) {
		root->capacity = root->capacity ? 2 * root->capacity : 1;
		root->blocks =
			mem_realloc_array(root->blocks, root->capacity, sizeof(struct block *));
	}
	memmove(root->blocks + at + 1, root->blocks + at,
		(root->count++ - at) * sizeof(struct block *));
	root->blocks[at] = block;
}

static void remove_block(struct mapping_table *table, uint32_t at)
{
	struct mapping_root *root = table->shared;
	block_release(table->pool, root->blocks[at]);
	root->count--;
	memmove(root->blocks + at, root->blocks + at + 1,
		(root->count - at) * sizeof(struct block *));
}

/* Blocks come in the order of addresses mostly, so a full one keeps most of what it has. */
static void split_block(struct mapping_table *table, struct mapping_cursor *at)
{
	enum {
		KEPT = BLOCK_MAX * 3 / 4
	};
	struct block *full = table->shared->blocks[at->block], *rest = block_create(BLOCK_MAX);
	rest->count = full->count - KEPT;
	memcpy(rest->mappings, full->mappings + KEPT, rest->count * sizeof(*rest->mappings));
	full->count = KEPT;
	insert_block(table->shared, at->block + 1, rest);
	if (at->index > KEPT)
		*at = (struct mapping_cursor){at->block + 1, at->index - KEPT};
}

static void mapping_table_make_room(struct mapping_table *table, struct mapping_cursor *at)
{
	struct block *block = own_block(table, at->block);
	if (block->count == BLOCK_MAX) {
		split_block(table, at);
	} else if (block->count == block->capacity) {
		block->capacity *= 2;
		block->mappings = mem_realloc_array(
			block->mappings, block->capacity, sizeof(*block->mappings));
	}
}

/* `at` is where the mapping belongs: the lower bound of its start. */
static void insert_at(
	struct mapping_table *table, struct mapping_cursor at, const struct mapping *mapping)
{
	struct mapping_root *root = table->shared;
	if (!root->count)
		insert_block(root, 0, block_create(BLOCK_FIRST));
	if (at.block == root->count) /* behind the last */
		at = (struct mapping_cursor){root->count - 1, root->blocks[root->count - 1]->count};
	mapping_table_make_room(table, &at);
	struct block *block = root->blocks[at.block];
	memmove(block->mappings + at.index + 1, block->mappings + at.index,
		(block->count - at.index) * sizeof(*block->mappings));
	block->mappings[at.index] = *mapping;
	block->count++;
	root->mappings++;
	table->pool->held++;
}

/* Blocks that became small are joined, or their number would not sink as that of mappings does. */
static void join_small(struct mapping_table *table, uint32_t at)
{
	struct mapping_root *root = table->shared;
	if (at + 1 >= root->count ||
		root->blocks[at]->count + root->blocks[at + 1]->count > BLOCK_MAX / 2)
		return;
	const struct block *from = root->blocks[at + 1];
	struct block *block = own_block(table, at);
	if (block->capacity < BLOCK_MAX) {
		block->capacity = BLOCK_MAX;
		block->mappings = mem_realloc_array(
			block->mappings, block->capacity, sizeof(*block->mappings));
	}
	memcpy(block->mappings + block->count, from->mappings,
		from->count * sizeof(*from->mappings));
	block->count += from->count;
	table->pool->held += from->count;
	remove_block(table, at + 1);
}

static void remove_at(struct mapping_table *table, const struct mapping_cursor *at)
{
	struct mapping_root *root = table->shared;
	struct block *block = own_block(table, at->block);
	root->mappings--;
	if (block->count == 1) {
		remove_block(table, at->block);
		return;
	}
	block->count--;
	table->pool->held--;
	memmove(block->mappings + at->index, block->mappings + at->index + 1,
		(block->count - at->index) * sizeof(*block->mappings));
	join_small(table, at->block);
}

static bool mapping_table_has_room(const struct mapping_table *table)
{
	size_t count = mapping_table_count(table);
	bool is_small = count < MAPPING_TABLE_SMALL;
	return count < MAPPING_TABLE_MAX && (is_small || table->pool->held < MAPPING_POOL_MAX / 2);
}

/* Removes [start, end) of the one mapping there, which reaches into it. What a bound leaves no room
 * for is what stood behind a hole. */
static void cut_mapping(
	struct mapping_table *table, const struct mapping_cursor *at, uint64_t start, uint64_t end)
{
	const struct mapping old = *mapping_table_mapping_at(table->shared, at);
	struct mapping tail = old;
	tail.offset += end - old.start;
	tail.start = end;
	if (old.start >= start && old.end <= end) {
		remove_at(table, at);
		return;
	}
	struct mapping *it = &own_block(table, at->block)->mappings[at->index];
	if (old.start >= start) {
		*it = tail;
		return;
	}
	it->end = start;
	if (old.end > end && mapping_table_has_room(table))
		insert_at(table, mapping_table_lower_bound(table->shared, end), &tail);
	else if (old.end > end)
		table->pool->refused++;
}

static void cut_out(struct mapping_table *table, uint64_t start, uint64_t end)
{
	for (;;) {
		struct mapping_cursor at = mapping_table_lower_bound(table->shared, start);
		const struct mapping *it = mapping_table_mapping_at(table->shared, &at);
		if (!it || it->start >= end)
			return;
		cut_mapping(table, &at, start, end);
	}
}

static bool mapping_table_is_same(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->object == b->object;
}

/* What a change of one place may copy: two blocks, as they are joined. */
static bool is_pool_full(const struct mapping_pool *pool)
{
	return pool->held + 2 * BLOCK_MAX > MAPPING_POOL_MAX;
}

bool mapping_table_put(struct mapping_table *table, const struct mapping *mapping)
{
	const struct mapping *known = mapping_table_find(table, mapping->start);
	if (mapping->start >= mapping->end || (known && mapping_table_is_same(known, mapping)))
		return true;
	if (is_pool_full(table->pool)) {
		mapping_table_clear(table);
		table->pool->refused++;
		return false;
	}
	own_root(table);
	cut_out(table, mapping->start, mapping->end);
	if (!mapping_table_has_room(table)) {
		table->pool->refused++;
		return false;
	}
	insert_at(table, mapping_table_lower_bound(table->shared, mapping->start), mapping);
	return true;
}

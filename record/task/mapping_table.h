/*
 * The mappings of one process, disjoint and in the order of addresses. Inserting costs about the
 * same however many there are. A forked process shares its parent's until one of them changes.
 *
 * A process chooses how much it maps, so there are bounds: of a table, and of all tables of a pool
 * together. Half of the pool is kept for tables that are small.
 */
#ifndef EBPROF_MAPPING_TABLE_H
#define EBPROF_MAPPING_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;

enum {
	MAPPING_TABLE_MAX = 64 << 10, /* about what vm.max_map_count allows by default */
	MAPPING_TABLE_SMALL = 1024,
	MAPPING_POOL_MAX = 1 << 20, /* 40 MiB */
};

struct mapping {
	uint64_t start, end, offset; /* in bytes; the offset is in the object */
	struct object *object;       /* borrowed */
	uint64_t time_ns;            /* when it was mapped or seen, CLOCK_MONOTONIC */
};

/* Counts what all its tables hold; what tables share counts once. */
struct mapping_pool {
	uint64_t held;
	uint64_t refused; /* mappings that a bound kept out, so far */
};

struct mapping_table {
	struct mapping_pool *pool;   /* borrowed; must outlive the table */
	struct mapping_root *shared; /* NULL: the table is empty */
};

/* Frees what no other table shares; the table is empty then. */
void mapping_table_clear(struct mapping_table *table);

/* Makes `table` hold what `from`, of the same pool, holds now. */
void mapping_table_share(struct mapping_table *table, const struct mapping_table *from);

/*
 * Adds a mapping and removes what it covers of others. Returns false when a bound keeps it out:
 * what it covers is removed all the same, and the pool counts it. A table whose pool has no room
 * even for that is cleared. A mapping that ends where it starts or earlier is ignored.
 */
bool mapping_table_put(struct mapping_table *table, const struct mapping *mapping);

/* The mapping that holds the address, borrowed until the table changes, or NULL. */
const struct mapping *mapping_table_find(const struct mapping_table *table, uint64_t address);

/* How many mappings it holds. */
size_t mapping_table_count(const struct mapping_table *table);

/* A position in a table that does not change meanwhile; starts as {0}. */
struct mapping_cursor {
	uint32_t block, index;
};

/* The next mapping by address, or NULL behind the last. */
const struct mapping *mapping_table_next(
	const struct mapping_table *table, struct mapping_cursor *cursor);

/*
 * Calls fn for each mapping that no call with the same number met before: what tables share is
 * visited once. `visit` is another number than that of the visit before, and not 0.
 */
void mapping_table_visit(const struct mapping_table *table, uint64_t visit,
	void (*fn)(void *context, const struct mapping *mapping), void *context);

#endif

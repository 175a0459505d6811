/*
 * Hash map from 64-bit keys to 64-bit values: open addressing, linear probing,
 * and a seed drawn at random for each map, so that a hostile recording cannot
 * choose keys that collide. {0} is an empty map. Iteration order is not defined.
 */
#ifndef EBPROF_MAP_H
#define EBPROF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct map {
	struct map_slot *slots;
	size_t len, cap; /* cap is 0 or a power of two */
	uint64_t seed;
};

/* The value of `key`, or NULL. Valid until the next map_put() or map_remove(). */
uint64_t *map_get(const struct map *map, uint64_t key);
/* Fetches what map_get() of that key will look at: worth it where others are looked up before. */
void map_prefetch(const struct map *map, uint64_t key);
/* The value of `key`; a new one is 0 and *added (may be NULL) tells so. Valid as map_get()'s. */
uint64_t *map_put(struct map *map, uint64_t key, bool *added);
/* Makes room for `extra` more keys. */
void map_reserve(struct map *map, size_t extra);
/* True when the key was there. */
bool map_remove(struct map *map, uint64_t key);
/* The next used slot at or behind `*cursor` (start with 0), NULL at the end. */
struct map_slot *map_next(const struct map *map, size_t *cursor);
void map_clear(struct map *map);
void map_deinit(struct map *map);

/* A seed that no other process can know. */
uint64_t map_random_seed(void);
/* A well-mixed hash of bytes; not for use across processes or files. */
uint64_t map_hash_bytes(const void *bytes, size_t len, uint64_t seed);
/* A bijective mix of 64 bits (the finalizer of MurmurHash3). */
uint64_t map_mix(uint64_t x);

#endif

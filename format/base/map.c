#include "format/base/map.h"

#include <string.h>
#include <sys/random.h>

#include "format/base/mem.h"

enum {
	MAP_FIRST_CAP = 16
};

uint64_t map_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;
	return x;
}

uint64_t map_hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
	const unsigned char *p = bytes;
	uint64_t hash = seed ^ len;
	for (; len >= 8; p += 8, len -= 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		hash = map_mix(hash ^ word);
	}
	uint64_t tail = 0;
	memcpy(&tail, p, len);
	return map_mix(hash ^ tail);
}

uint64_t map_random_seed(void)
{
	uint64_t seed;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed; /* early boot: ASLR is what there is */
	return seed;
}

static size_t home_of(const struct map *map, uint64_t key)
{
	return map_mix(key ^ map->seed) & (map->cap - 1);
}

static struct map_slot *find(const struct map *map, uint64_t key)
{
	size_t i = home_of(map, key);
	while (map->slots[i].used && map->slots[i].key != key)
		i = (i + 1) & (map->cap - 1);
	return &map->slots[i];
}

static void grow(struct map *map)
{
	struct map old = *map;
	if (!old.cap)
		map->seed = map_random_seed();
	map->cap = old.cap ? old.cap * 2 : MAP_FIRST_CAP;
	map->slots = mem_zalloc_array(map->cap, sizeof(*map->slots));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].used)
			*find(map, old.slots[i].key) = old.slots[i];
	mem_free(old.slots);
}

uint64_t *map_get(const struct map *map, uint64_t key)
{
	if (!map->len)
		return NULL;
	struct map_slot *slot = find(map, key);
	return slot->used ? &slot->value : NULL;
}

uint64_t *map_put(struct map *map, uint64_t key, bool *added)
{
	if ((map->len + 1) * 4 > map->cap * 3)
		grow(map);
	struct map_slot *slot = find(map, key);
	if (added)
		*added = !slot->used;
	if (!slot->used) {
		*slot = (struct map_slot){.key = key, .used = true};
		map->len++;
	}
	return &slot->value;
}

/* Removal closes the gap by moving later slots of the same run forward, so no tombstones exist. */
bool map_remove(struct map *map, uint64_t key)
{
	if (!map->len)
		return false;
	struct map_slot *slot = find(map, key);
	if (!slot->used)
		return false;
	size_t mask = map->cap - 1;
	size_t gap = (size_t)(slot - map->slots);
	for (size_t i = (gap + 1) & mask; map->slots[i].used; i = (i + 1) & mask) {
		size_t home = home_of(map, map->slots[i].key);
		if (((i - home) & mask) >= ((i - gap) & mask)) {
			map->slots[gap] = map->slots[i];
			gap = i;
		}
	}
	map->slots[gap].used = false;
	map->len--;
	return true;
}

struct map_slot *map_next(const struct map *map, size_t *cursor)
{
	while (*cursor < map->cap) {
		struct map_slot *slot = &map->slots[(*cursor)++];
		if (slot->used)
			return slot;
	}
	return NULL;
}

void map_clear(struct map *map)
{
	if (map->cap)
		memset(map->slots, 0, map->cap * sizeof(*map->slots));
	map->len = 0;
}

void map_deinit(struct map *map)
{
	mem_free(map->slots);
	*map = (struct map){0};
}

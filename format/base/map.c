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

static uint64_t map_word_at(const unsigned char *bytes, size_t len)
{
	uint64_t word = 0;
	memcpy(&word, bytes, len);
	return word;
}

/* Both halves of the product, in which each bit of one factor meets each bit of the other. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Neither factor is known to who does not know the seed, so collisions cannot be computed. */
uint64_t map_hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
	const unsigned char *p = bytes;
	uint64_t hash = seed ^ len, secret = map_mix(seed + 1);
	for (; len >= 16; p += 16, len -= 16)
		hash = fold(hash ^ map_word_at(p, 8), secret ^ map_word_at(p + 8, 8));
	size_t first = len < 8 ? len : 8;
	return fold(hash ^ map_word_at(p, first), secret ^ map_word_at(p + first, len - first));
}

uint64_t map_random_seed(void)
{
	uint64_t seed;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed; /* early boot: ASLR is what there is */
	return seed;
}

/*
 * Of a map. Short-lived maps are made a hundred thousand times in a second at worst, where a system
 * call for each would be felt: the seeds of a thread follow from one, and no seed leaves the
 * process.
 */
static uint64_t next_seed(void)
{
	static _Thread_local uint64_t seed;
	if (!seed)
		seed = map_random_seed();
	return map_mix(seed += 0x9e3779b97f4a7c15ULL);
}

static size_t home_of(const struct map *map, uint64_t key)
{
	return map_mix(key ^ map->seed) & (map->cap - 1);
}

static struct map_slot *map_find(const struct map *map, uint64_t key)
{
	size_t i = home_of(map, key);
	while (map->slots[i].used && map->slots[i].key != key)
		i = (i + 1) & (map->cap - 1);
	return &map->slots[i];
}

void map_prefetch(const struct map *map, uint64_t key)
{
	if (map->cap)
		__builtin_prefetch(&map->slots[home_of(map, key)]);
}

static bool is_full(size_t len, size_t cap)
{
	return len > cap / 4 * 3;
}

static void resize(struct map *map, size_t cap)
{
	struct map old = *map;
	if (!old.cap)
		map->seed = next_seed();
	map->cap = cap;
	map->slots = mem_zalloc_array(map->cap, sizeof(*map->slots));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].used)
			*map_find(map, old.slots[i].key) = old.slots[i];
	mem_free(old.slots);
}

uint64_t *map_get(const struct map *map, uint64_t key)
{
	if (!map->len)
		return NULL;
	struct map_slot *slot = map_find(map, key);
	return slot->used ? &slot->value : NULL;
}

uint64_t *map_put(struct map *map, uint64_t key, bool *added)
{
	if (is_full(map->len + 1, map->cap))
		resize(map, map->cap ? map->cap * 2 : MAP_FIRST_CAP);
	struct map_slot *slot = map_find(map, key);
	if (added)
		*added = !slot->used;
	if (!slot->used) {
		*slot = (struct map_slot){.key = key, .used = true};
		map->len++;
	}
	return &slot->value;
}

void map_reserve(struct map *map, size_t extra)
{
	size_t cap = map->cap ? map->cap : MAP_FIRST_CAP;
	while (is_full(map->len + extra, cap))
		cap *= 2;
	if (cap > map->cap)
		resize(map, cap);
}

/* Removal closes the gap by moving later slots of the same run forward, so no tombstones exist. */
bool map_remove(struct map *map, uint64_t key)
{
	if (!map->len)
		return false;
	struct map_slot *slot = map_find(map, key);
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

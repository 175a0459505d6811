#include "tests/unit/emulate/map.h"

#include <bpf/bpf_helpers.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "tests/unit/emulate/kernel.h"

enum {
	MAX_MAPS = 128,
	NOEXIST = 1, /* BPF_NOEXIST */
};

static struct emulated_map maps[MAX_MAPS];
static size_t nr_maps;

struct emulated_map *emulated_map_of(const void *name)
{
	for (size_t i = 0; i < nr_maps; i++)
		if (maps[i].name == name)
			return &maps[i];
	return NULL;
}

struct emulated_map *emulated_map_of_fd(int fd)
{
	for (size_t i = 0; i < nr_maps; i++)
		if (maps[i].fd == fd)
			return &maps[i];
	return NULL;
}

static struct emulated_map *add_map(const struct emulated_map *map)
{
	if (nr_maps == MAX_MAPS)
		__builtin_trap();
	maps[nr_maps] = *map;
	maps[nr_maps].fd = -1;
	if (map->type == EMULATED_LRU_HASH)
		maps[nr_maps].type = EMULATED_HASH;
	return &maps[nr_maps++];
}

void emulate_map(const struct emulated_map *map)
{
	struct emulated_map *new = add_map(map);
	size_t cpus = map->type == EMULATED_PERCPU_ARRAY ? EMULATED_CPUS : 1;
	size_t bytes = map->type == EMULATED_ARRAY_OF_MAPS ? sizeof(void *) : map->value_bytes;
	if (new->type == EMULATED_HASH)
		new->keys = mem_zalloc_array(map->max_entries, map->key_bytes);
	new->values = mem_zalloc_array(cpus * map->max_entries, bytes);
}

void emulate_shared_map(const struct emulated_map *map)
{
	struct emulated_map *new = add_map(map);
	size_t bytes = map->max_entries * map->value_bytes;
	new->fd = memfd_create("map", MFD_CLOEXEC);
	if (new->fd < 0 || ftruncate(new->fd, (off_t)bytes))
		__builtin_trap();
	new->values = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, new->fd, 0);
	if (new->values == MAP_FAILED)
		__builtin_trap();
}

void emulate_clear_maps(const void *kept)
{
	for (struct emulated_map *map = maps; map < maps + nr_maps; map++) {
		bool is_array = map->type == EMULATED_ARRAY || map->type == EMULATED_PERCPU_ARRAY;
		size_t cpus = map->type == EMULATED_PERCPU_ARRAY ? EMULATED_CPUS : 1;
		if (map->name == kept || map->fd >= 0)
			continue;
		map->len = 0;
		if (is_array)
			memset(map->values, 0, cpus * map->max_entries * map->value_bytes);
	}
}

static uint8_t *find_in_hash(const struct emulated_map *map, const void *key)
{
	for (size_t i = 0; i < map->len; i++)
		if (memcmp(map->keys + i * map->key_bytes, key, map->key_bytes) == 0)
			return map->values + i * map->value_bytes;
	return NULL;
}

void *bpf_map_lookup_elem(const void *name, const void *key)
{
	const struct emulated_map *map = emulated_map_of(name);
	if (map->type == EMULATED_HASH)
		return find_in_hash(map, key);
	uint32_t index;
	memcpy(&index, key, sizeof(index));
	if (index >= map->max_entries)
		return NULL;
	if (map->type == EMULATED_ARRAY_OF_MAPS)
		return ((void **)(void *)map->values)[index];
	size_t first = map->type == EMULATED_PERCPU_ARRAY ? emulated.cpu * map->max_entries : 0;
	return map->values + (first + index) * map->value_bytes;
}

long bpf_map_update_elem(
	const void *name, const void *key, const void *value, unsigned long long flags)
{
	struct emulated_map *map = emulated_map_of(name);
	uint8_t *old = bpf_map_lookup_elem(name, key);
	if (old && flags & NOEXIST)
		return -EEXIST;
	if (!old && (map->type != EMULATED_HASH || map->len == map->max_entries))
		return -E2BIG;
	if (!old) {
		memcpy(map->keys + map->len * map->key_bytes, key, map->key_bytes);
		old = map->values + map->len++ * map->value_bytes;
	}
	memcpy(old, value, map->value_bytes);
	return 0;
}

long bpf_map_delete_elem(const void *name, const void *key)
{
	struct emulated_map *map = emulated_map_of(name);
	uint8_t *value = find_in_hash(map, key);
	if (!value)
		return -ENOENT;
	size_t index = (size_t)(value - map->values) / map->value_bytes;
	map->len--;
	memmove(map->keys + index * map->key_bytes, map->keys + map->len * map->key_bytes,
		map->key_bytes);
	memmove(value, map->values + map->len * map->value_bytes, map->value_bytes);
	return 0;
}

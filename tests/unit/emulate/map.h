/*
 * Emulated BPF maps. A program knows a map by its address, the recorder by a
 * file descriptor; the emulated kernel finds both here.
 */
#ifndef EBPROF_EMULATE_MAP_H
#define EBPROF_EMULATE_MAP_H

#include <stddef.h>
#include <stdint.h>

enum emulated_map_type { /* those of the kernel */
	EMULATED_HASH = 1,
	EMULATED_ARRAY = 2,
	EMULATED_PROG_ARRAY = 3,
	EMULATED_PERCPU_ARRAY = 6,
	EMULATED_LRU_HASH = 9,
	EMULATED_ARRAY_OF_MAPS = 12,
};

struct emulated_map {
	const void *name; /* the address that programs use */
	uint32_t type;    /* EMULATED_LRU_HASH: EMULATED_HASH, no entry is evicted */
	int fd;           /* -1: none; else of a file that holds `values` */
	size_t key_bytes, value_bytes, max_entries;
	size_t len;      /* of a hash */
	uint8_t *keys;   /* of a hash */
	uint8_t *values; /* of CPUs one behind the other; of maps: pointers */
};

void emulate_map(const struct emulated_map *map);
/* An array that a file holds, to be mapped by both sides. */
void emulate_shared_map(const struct emulated_map *map);
/* NULL when there is none. */
struct emulated_map *emulated_map_of(const void *name);
struct emulated_map *emulated_map_of_fd(int fd);
/* Empties all that are the program's alone, but for one. */
void emulate_clear_maps(const void *kept);

/* Of the program, those that the recorder fills. */
const void *emulated_files_map(void);
const void *emulated_rules_map(void);
const void *emulated_shards_map(void);
const void *emulated_runtime_rows_map(void);
const void *emulated_known_runtimes_map(void);

/* What programs call bpf_map_lookup_elem() and bpf_map_update_elem(). */
void *emulate_map_lookup(const void *name, const void *key);
long emulate_map_update(
	const void *name, const void *key, const void *value, unsigned long long flags);

#endif

/*
 * The recorder's own table store, over emulated maps: those of libbpf's
 * functions that it calls are these, since a program's symbols go before a
 * library's; what it maps are files in memory.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "record/unwind/table_store.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/emulate/map.h"

enum {
	SHARDS_FD = 1 << 20, /* no other file's */
	KNOWN_RUNTIMES_FD,
};

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_bytes, __u32 value_bytes,
	__u32 max_entries, const struct bpf_map_create_opts *options)
{
	static char names[UNWIND_MAX_SHARDS]; /* their addresses */
	static int used;
	(void)name;
	if (type != BPF_MAP_TYPE_ARRAY || !(options->map_flags & BPF_F_MMAPABLE)) {
		errno = EINVAL;
		return -EINVAL;
	}
	const char *unique = &names[used++];
	emulate_shared_map(&(struct emulated_map){
		.name = unique,
		.type = EMULATED_ARRAY,
		.key_bytes = key_bytes,
		.value_bytes = value_bytes,
		.max_entries = max_entries,
	});
	return emulated_map_of(unique)->fd;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	int inner;
	uint32_t index;
	if (fd == KNOWN_RUNTIMES_FD)
		return (int)emulate_map_update(emulated_known_runtimes_map(), key, value, flags);
	memcpy(&index, key, sizeof(index));
	memcpy(&inner, value, sizeof(inner));
	struct emulated_map *outer = emulated_map_of(emulated_shards_map());
	if (fd != SHARDS_FD || flags || index >= outer->max_entries) {
		errno = EINVAL;
		return -EINVAL;
	}
	const void *name = emulated_map_of_fd(inner)->name;
	memcpy(outer->values + index * sizeof(name), &name, sizeof(name));
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	const void *name = emulated_known_runtimes_map();
	const void *known = fd == KNOWN_RUNTIMES_FD ? emulate_map_lookup(name, key) : NULL;
	if (!known)
		return -ENOENT;
	memcpy(value, known, emulated_map_of(name)->value_bytes);
	return 0;
}

struct err *emulate_table_store(uint64_t max_bytes, struct table_store **ret)
{
	struct table_store_maps maps = {
		.files = emulated_map_of(emulated_files_map())->fd,
		.rules = emulated_map_of(emulated_rules_map())->fd,
		.shards = SHARDS_FD,
		.known_runtimes = KNOWN_RUNTIMES_FD,
		.runtime_rows = emulated_map_of(emulated_runtime_rows_map())->fd,
		.max_files = EMULATED_MAX_FILES,
		.epoch = emulated_variables().epoch,
		.row_kinds = emulated_variables().row_kinds,
	};
	return table_store_create(&maps, max_bytes, ret);
}

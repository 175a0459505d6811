/* The maps of the programs, some of them with fewer entries than the recorder gives them. */
#ifndef EBPROF_EMULATE_PROGRAM_MAPS_H
#define EBPROF_EMULATE_PROGRAM_MAPS_H

enum {
	EMULATED_SHADOW_STACKS = 4,
};

#define NUMBER(map, member) (sizeof(*(map).member) / sizeof(int))
#define DESCRIBE(map) \
	(struct emulated_map) \
	{ \
		.name = &(map), .type = NUMBER(map, type), .key_bytes = sizeof(*(map).key), \
		.value_bytes = sizeof(*(map).value), .max_entries = NUMBER(map, max_entries), \
	}

static void emulate_map_of_lanes(struct emulated_map map)
{
	if (map.type == EMULATED_ARRAY)
		map.max_entries *= EMULATED_CPUS;
	map.max_entries *= EVENT_LANES;
	emulate_map(&map);
}

static void make_maps(void)
{
	struct emulated_map shared_files = DESCRIBE(files), numbers = DESCRIBE(file_numbers);
	shared_files.max_entries = EMULATED_MAX_FILES;
	numbers.max_entries = emulated.file_numbers_max;
	emulate_shared_map(&shared_files);
	emulate_shared_map(&DESCRIBE(rules));
	emulate_shared_map(&DESCRIBE(runtime_rows));
	emulate_map(&DESCRIBE(runtime_codes));
	emulate_map(&DESCRIBE(known_runtimes));
	emulate_map(&DESCRIBE(thread_contexts));
	has_thread_contexts = 0;
	emulate_map_of_lanes(DESCRIBE(runtime_records));
	emulate_map_of_lanes(DESCRIBE(label_records));
	emulate_map(&(struct emulated_map){
		.name = &shards,
		.type = NUMBER(shards, type),
		.key_bytes = sizeof(__u32),
		.max_entries = NUMBER(shards, max_entries),
	});
	emulate_map(&numbers);
	emulate_map_of_lanes(DESCRIBE(found_rules));
	emulate_map_of_lanes(DESCRIBE(java_known_blobs));
	emulate_map_of_lanes(DESCRIBE(java_known_methods));
	emulate_map_of_lanes(DESCRIBE(known_codes));
	emulate_map_of_lanes(DESCRIBE(node_known_maps));
	emulate_map_of_lanes(DESCRIBE(node_known));
	emulate_map_of_lanes(DESCRIBE(node_met_codes));
	emulate_map_of_lanes(DESCRIBE(erlang_known_codes));
	emulate_map_of_lanes(DESCRIBE(dotnet_known_places));
	emulate_map_of_lanes(DESCRIBE(mapping_cache));
	emulate_map_of_lanes(DESCRIBE(scratches));
	emulate_map(&DESCRIBE(counters));
	emulate_map(&DESCRIBE(task_ticks));
	emulate_map(&DESCRIBE(targets));
	struct emulated_map groups = DESCRIBE(target_cgroups);
	groups.max_entries = 16;
	emulate_map(&groups);
	struct emulated_map waits = DESCRIBE(waiting);
	waits.max_entries = 16;
	emulate_map(&waits);
	emulate_map(&DESCRIBE(wait_lanes));
	emulate_map(&DESCRIBE(group_lanes));
	struct emulated_map unsampled = DESCRIBE(unsampled_counts);
	unsampled.max_entries = 2;
	emulate_map(&unsampled);
	emulate_map(&DESCRIBE(duration_selectors));
	struct emulated_map calls = DESCRIBE(open_calls), syscalls = DESCRIBE(open_syscalls);
	calls.max_entries = syscalls.max_entries = 16;
	emulate_map(&calls);
	emulate_map(&syscalls);
	struct emulated_map contended = DESCRIBE(contentions);
	contended.max_entries = 16;
	emulate_map(&contended);
	struct emulated_map requests = DESCRIBE(open_requests);
	requests.max_entries = 512;
	emulate_map(&requests);
	emulate_map(&DESCRIBE(block_lanes));
	emulate_map(&DESCRIBE(sleepers));
	emulate_map(&DESCRIBE(environments));
	emulate_map(&DESCRIBE(seen));
	emulate_map(&DESCRIBE(shadow_places));
	emulate_map(&DESCRIBE(no_shadow_stack));
	emulate_map(&DESCRIBE(shadow_counters));
	struct emulated_map stacks = DESCRIBE(shadow_stacks);
	stacks.max_entries = EMULATED_SHADOW_STACKS;
	emulate_map(&stacks);
	emulate_map(&DESCRIBE(code_rules));
}

#endif

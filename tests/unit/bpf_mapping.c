/* Finding the mapping that holds an address, in whatever tree the kernel keeps. */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	PAGE = 4096,
	MANY = 300,
};

static const struct emulated_file file_a = {
	.inode = 11, .mtime_ns = 1700000000123456789, .device = 0xfe01, .generation = 7};
static const struct emulated_file file_b = {
	.inode = 12, .mtime_ns = 1700000000123456789, .device = 0xfe01, .generation = 7};

/* ---- the trees ---- */

/* Of two kinds of neighbours: those that touch and those with a gap between them. */
static void make_vmas(struct emulated_vma *vmas, size_t count)
{
	uint64_t at = 0x555555554000;
	for (size_t i = 0; i < count; i++) {
		at += (uint64_t)(rand() % 3) * PAGE;
		vmas[i] = (struct emulated_vma){.start = at, .end = at + (1 + rand() % 9) * PAGE};
		at = vmas[i].end;
	}
}

/* The kernel's object begins with vm_start. */
static void check_found(uint64_t address, uint64_t start)
{
	uint64_t vma = emulated_find_vma(address), found = 0;
	if (vma)
		memcpy(&found, (const void *)vma, sizeof(found));
	CHECK_INT(found, start);
}

static void check_all(const struct emulated_vma *vmas, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		check_found(vmas[i].start, vmas[i].start);
		check_found(vmas[i].start + PAGE / 2, vmas[i].start);
		check_found(vmas[i].end - 1, vmas[i].start);
		if (i + 1 == count || vmas[i + 1].start > vmas[i].end)
			check_found(vmas[i].end, 0);
	}
	check_found(0, 0);
	check_found(vmas[0].start - 1, 0);
	check_found(0x7fffffffffff, 0);
	check_found(UINT64_MAX, 0);
}

static void check_shape(const struct emulated_shape *shape, size_t count, uint32_t depth)
{
	struct emulated_vma vmas[MANY];
	emulate_boot(EMULATED_6_13);
	make_vmas(vmas, count);
	emulate_shaped_mappings(vmas, count, shape);
	CHECK_INT(emulate_depth(), depth);
	check_all(vmas, count);
}

TEST(maple_tree_of_one_leaf)
{
	check_shape(&(struct emulated_shape){0}, 5, 1);
}

TEST(maple_tree_of_full_nodes)
{
	check_shape(&(struct emulated_shape){0}, MANY, 3);
}

TEST(maple_tree_of_range_nodes)
{
	check_shape(&(struct emulated_shape){.has_range_nodes = true}, MANY, 3);
}

TEST(maple_tree_of_half_empty_nodes)
{
	check_shape(&(struct emulated_shape){.leaf_slots = 9, .inner_slots = 5}, 160, 4);
}

TEST(maple_tree_whose_pivots_end_early)
{
	check_shape(&(struct emulated_shape){.leaf_slots = 11, .inner_slots = 5, .is_cut = true},
		200, 4);
}

TEST(maple_tree_of_nodes_that_lack_one_slot)
{
	check_shape(&(struct emulated_shape){.leaf_slots = 15, .inner_slots = 9, .is_cut = true},
		MANY, 3);
}

TEST(maple_tree_as_deep_as_we_go)
{
	check_shape(&(struct emulated_shape){.leaf_slots = 2, .inner_slots = 2}, 25, 6);
}

TEST(maple_tree_without_a_node)
{
	emulate_boot(EMULATED_6_13);
	check_found(PAGE, 0); /* no mapping at all */
	struct emulated_vma vma = {.start = 0, .end = 8 * PAGE};
	emulate_set_root(emulate_vma(&vma)); /* an entry for index 0 alone stands in the root */
	check_found(0, 0);
	emulate_set_root(2); /* the kernel's own entries are below 4096 */
	check_found(PAGE, 0);
}

/* The root is marked otherwise than the nodes below. */
static void set_root_node(uint64_t entry)
{
	emulate_set_root((entry & ~7ULL) | 2);
}

static struct emulated_node two_slots(enum emulated_maple type, uint64_t first, uint64_t second)
{
	return (struct emulated_node){
		.type = type,
		.nr_pivots = 2,
		.nr_slots = 2,
		.pivots = {0x10000, UINT64_MAX},
		.slots = {first, second},
	};
}

static void check_cycle(enum emulated_maple type)
{
	struct emulated_node node = two_slots(type, 0, 0);
	uint64_t entry = emulate_node(&node);
	emulate_set_slot(entry, 0, entry);
	emulate_set_slot(entry, 1, entry);
	set_root_node(entry);
	check_found(PAGE, 0);
	check_found(0x20000, 0);
}

TEST(maple_tree_that_bites_its_tail)
{
	emulate_boot(EMULATED_6_13);
	check_cycle(EMULATED_MAPLE_RANGE);
	check_cycle(EMULATED_MAPLE_ARANGE);
}

/* What a reader without a lock may come upon. */
TEST(maple_tree_of_garbage)
{
	emulate_boot(EMULATED_6_13);
	static const uint64_t entries[] = {0, 1, 0x1e, 0x102, 0x406, 0xfff, 0x1000,
		0xdead4ead00000000, 0x7fffdeadbeef, UINT64_MAX, UINT64_MAX - 255};
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		struct emulated_node node =
			two_slots(EMULATED_MAPLE_ARANGE, entries[i], entries[i]);
		set_root_node(emulate_node(&node));
		uint64_t vma = emulated_find_vma(PAGE);
		struct emulated_mapping mapping;
		emulated_find_mapping(PAGE, &mapping);
		CHECK(vma == 0 || vma == entries[i]);
		CHECK_INT(mapping.end, 0);
		emulate_set_root((entries[i] & ~3ULL) | 2);
		emulated_find_mapping(PAGE, &mapping);
		CHECK_INT(mapping.end, 0);
	}
}

/* A node of another time: the object found does not hold the address. */
TEST(maple_tree_that_is_stale)
{
	emulate_boot(EMULATED_6_13);
	struct emulated_vma vma = {.start = 0x100000, .end = 0x200000, .is_executable = true};
	uint64_t object = emulate_vma(&vma);
	struct emulated_node node = two_slots(EMULATED_MAPLE_LEAF, object, object);
	set_root_node(emulate_node(&node));
	struct emulated_mapping mapping;
	emulated_find_mapping(PAGE, &mapping);
	CHECK_INT(mapping.end, 0);
	CHECK_INT(mapping.kind, EVENT_FRAME_ADDRESS);
	emulated_find_mapping(0x123456, &mapping);
	CHECK_INT(mapping.start, 0x100000);
	CHECK_INT(mapping.end, 0x200000);
	CHECK_INT(mapping.kind, EVENT_FRAME_ANONYMOUS);
}

TEST(red_black_tree)
{
	struct emulated_vma vmas[MANY];
	emulate_boot(EMULATED_5_10);
	check_found(PAGE, 0);
	for (size_t count = 1; count < MANY; count += 23) {
		make_vmas(vmas, count);
		emulate_mappings(vmas, count, 0);
		check_all(vmas, count);
	}
}

TEST(red_black_tree_that_bites_its_tail)
{
	emulate_boot(EMULATED_5_10);
	struct emulated_vma vmas[] = {
		{.start = 4 * PAGE, .end = 5 * PAGE}, {.start = 8 * PAGE, .end = 9 * PAGE}};
	emulate_rb_cycle(emulate_vma(&vmas[0]), emulate_vma(&vmas[1]));
	check_found(PAGE, 0);
	check_found(6 * PAGE, 0);
	check_found(8 * PAGE, 8 * PAGE);
}

/* ---- what a mapping is ---- */

enum {
	CODE_A = 0x400000,
	CODE_B = 0x500000,
	JIT = 0x600000,
	DATA = 0x700000,
	VDSO = 0x800000,
	FAKE_VDSO = 0x900000,
};

static const struct emulated_vma space[] = {
	{.start = CODE_A,
		.end = CODE_A + 0x10000,
		.offset = 0x3000,
		.file = &file_a,
		.is_executable = true},
	{.start = CODE_B,
		.end = CODE_B + 0x10000,
		.offset = 0x123456000,
		.file = &file_b,
		.is_executable = true},
	{.start = JIT, .end = JIT + 0x10000, .is_executable = true},
	{.start = DATA, .end = DATA + 0x10000, .file = &file_a},
	{.start = VDSO, .end = VDSO + 0x2000, .is_executable = true},
	{.start = FAKE_VDSO, .end = FAKE_VDSO + 0x2000, .file = &file_a, .is_executable = true},
};

static void map_space(enum emulated_release release)
{
	emulate_boot(release);
	emulate_mappings(space, sizeof(space) / sizeof(*space), VDSO);
}

static struct emulated_mapping find(uint64_t address)
{
	struct emulated_mapping ret;
	emulated_find_mapping(address, &ret);
	return ret;
}

static void check_kinds(enum emulated_release release)
{
	map_space(release);
	struct emulated_mapping a = find(CODE_A + 0x123), b = find(CODE_B);
	CHECK_INT(a.kind, EVENT_FRAME_FILE);
	CHECK_INT(a.start, CODE_A);
	CHECK_INT(a.end, CODE_A + 0x10000);
	CHECK_INT(CODE_A + 0x123 + a.delta, 0x3123);
	CHECK_INT(b.kind, EVENT_FRAME_FILE);
	CHECK_INT(CODE_B + b.delta, 0x123456000);
	CHECK(a.file && b.file && a.file != b.file);
	CHECK_INT(find(JIT + 5).kind, EVENT_FRAME_ANONYMOUS);
	CHECK_INT(JIT + 5 + find(JIT + 5).delta, JIT + 5);
	CHECK_INT(find(DATA).kind, EVENT_FRAME_ADDRESS);
	CHECK_INT(find(DATA).end, 0);
	CHECK_INT(find(VDSO + 0x800).kind, EVENT_FRAME_VDSO);
	CHECK_INT(find(VDSO + 0x800).file, 0);
	CHECK_INT(VDSO + 0x800 + find(VDSO + 0x800).delta, 0x800);
	CHECK_INT(find(CODE_A - 1).end, 0);
	CHECK_INT(find(FAKE_VDSO).kind, EVENT_FRAME_FILE);
	CHECK_INT(find(FAKE_VDSO).file, a.file);
}

TEST(kinds_of_mappings_on_5_10)
{
	check_kinds(EMULATED_5_10);
}

TEST(kinds_of_mappings_on_6_1)
{
	check_kinds(EMULATED_6_1);
}

TEST(kinds_of_mappings_on_6_13)
{
	check_kinds(EMULATED_6_13);
}

/* ---- numbers of files ---- */

TEST(file_is_announced_once)
{
	map_space(EMULATED_6_13);
	uint32_t number = find(CODE_A).file;
	CHECK_INT(emulated_count(EVENT_FILE), 1);
	const struct event_file *event = emulated_record(EVENT_FILE, 0);
	CHECK_INT(event->file, number);
	CHECK_INT(event->start, CODE_A);
	CHECK_INT(event->end, CODE_A + 0x10000);
	CHECK_INT(event->offset, 0x3000);
	find(CODE_A + 0x999);
	emulated.changes++; /* not from the cache */
	find(CODE_A);
	CHECK_INT(emulated_count(EVENT_FILE), 1);
	find(CODE_B);
	CHECK_INT(emulated_count(EVENT_FILE), 2);
}

static void check_own_numbers(enum emulated_release release)
{
	enum {
		OWN = EMULATED_MAX_FILES - 1
	};
	map_space(release);
	CHECK_INT(emulated_number_own_file(CODE_A, OWN), OWN);
	CHECK_INT(find(CODE_A).file, OWN);
	CHECK_INT(emulated_count(EVENT_FILE), 0); /* the recorder knows it */
	uint32_t number = find(CODE_B).file;
	CHECK_INT(emulated_number_own_file(CODE_B, OWN - 1), number);
	CHECK_INT(emulated_number_own_file(CODE_A, OWN - 1), OWN);
	CHECK_INT(emulated_number_own_file(0x1000, OWN - 1), 0);
}

TEST(files_that_the_recorder_numbers_on_5_10)
{
	check_own_numbers(EMULATED_5_10);
}

TEST(files_that_the_recorder_numbers_on_6_13)
{
	check_own_numbers(EMULATED_6_13);
}

TEST(file_numbers_of_different_cpus_differ)
{
	map_space(EMULATED_6_13);
	emulated.cpu = 1;
	uint32_t a = find(CODE_A).file;
	emulated.cpu = 0;
	uint32_t b = find(CODE_B).file;
	CHECK(a && b && a != b);
	CHECK_INT(find(CODE_A).file, a);
	CHECK_INT(a % EMULATED_CPUS, 1);
	CHECK_INT(b % EMULATED_CPUS, 0);
}

static uint32_t number_of(const struct emulated_file *file)
{
	struct emulated_vma vma = {
		.start = CODE_A, .end = CODE_A + PAGE, .file = file, .is_executable = true};
	emulate_mappings(&vma, 1, 0);
	return find(CODE_A).file;
}

static void check_keys(enum emulated_release release)
{
	emulate_boot(release);
	struct emulated_file files[6] = {file_a, file_a, file_a, file_a, file_a, file_a};
	files[1].inode++;
	files[2].mtime_ns++;
	files[3].mtime_ns += 1000000000;
	files[4].device++;
	files[5].generation++;
	for (size_t i = 0; i < 6; i++)
		CHECK_INT(number_of(&files[i]), (i + 1) * EMULATED_CPUS);
	CHECK_INT(number_of(&file_a), EMULATED_CPUS);
}

TEST(file_keys_on_5_10)
{
	check_keys(EMULATED_5_10);
}

TEST(file_keys_on_6_7)
{
	check_keys(EMULATED_6_7);
}

TEST(file_keys_on_6_11)
{
	check_keys(EMULATED_6_11);
}

TEST(file_numbers_run_out)
{
	emulate_boot(EMULATED_6_13);
	struct emulated_file file = file_a;
	for (uint32_t i = 1; i < EMULATED_MAX_FILES / EMULATED_CPUS; i++) {
		file.inode++;
		CHECK(number_of(&file) != 0);
	}
	file.inode++;
	CHECK_INT(number_of(&file), 0);
	CHECK_INT(find(CODE_A).kind, EVENT_FRAME_ADDRESS);
	CHECK(find(CODE_A).end != 0);
	CHECK_INT(emulated_count(EVENT_FILE), EMULATED_MAX_FILES / EMULATED_CPUS - 1);
}

/* Its number would mean nothing to the recorder. */
TEST(file_that_cannot_be_announced_has_no_number)
{
	map_space(EMULATED_6_13);
	emulated.ring_bytes = 0;
	for (int i = 0; i < EMULATED_MAX_FILES; i++)
		CHECK_INT(find(CODE_A).kind, EVENT_FRAME_ADDRESS);
	emulated.ring_bytes = 1 << 20;
	CHECK_INT(find(CODE_A).kind, EVENT_FRAME_FILE);
	CHECK_INT(find(CODE_A).file, EMULATED_CPUS); /* and none was used up */
	CHECK_INT(emulated_count(EVENT_FILE), 1);
}

/* The lock is its own CPU's, which would never come to give it back. */
TEST(file_met_amid_an_update_has_no_number_yet)
{
	map_space(EMULATED_6_13);
	emulate_update(true);
	CHECK_INT(find(CODE_A).kind, EVENT_FRAME_ADDRESS);
	CHECK_INT(emulated_count(EVENT_FILE), 0);
	emulate_update(false);
	CHECK_INT(find(CODE_A).file, EMULATED_CPUS);
	CHECK_INT(find(CODE_B).file, 2 * EMULATED_CPUS);
}

static uint32_t number_there;

static void find_on_other_cpu(void)
{
	emulated.on_submit = NULL;
	emulated.cpu = 1;
	number_there = find(CODE_A).file;
	emulated.cpu = 0;
}

/* Both have it from an announcement, and go on with the same. */
TEST(file_found_by_two_cpus_at_once)
{
	map_space(EMULATED_6_13);
	emulated.on_submit = find_on_other_cpu;
	uint32_t number_here = find(CODE_A).file;
	CHECK_INT(number_here, number_there);
	CHECK_INT(number_here, EMULATED_CPUS + 1);
	CHECK_INT(emulated_count(EVENT_FILE), 2);
	CHECK_INT(find(CODE_B).file, 2 * EMULATED_CPUS);
}

/* ---- the cache ---- */

/* Behind the back of the kernel's count of changes. */
static void remap(void)
{
	struct emulated_vma moved = space[0];
	moved.offset = 0x77000;
	uint64_t changes = emulated.changes;
	emulate_mappings(&moved, 1, 0);
	emulated.changes = changes;
}

static void check_cache(enum emulated_release release, bool is_cached)
{
	map_space(release);
	uint64_t delta = find(CODE_A).delta;
	remap();
	CHECK((find(CODE_A).delta == delta) == is_cached);
	emulated.changes += 2;
	CHECK(find(CODE_A).delta != delta);
}

TEST(mapping_is_remembered_where_changes_are_counted)
{
	check_cache(EMULATED_5_10, true);
}

TEST(mapping_is_remembered_where_changes_are_counted_6_4)
{
	check_cache(EMULATED_6_4, true);
}

TEST(mapping_is_remembered_where_changes_are_counted_6_13)
{
	check_cache(EMULATED_6_13, true);
}

TEST(mapping_is_not_remembered_where_changes_are_not_counted)
{
	check_cache(EMULATED_6_1, false);
}

TEST(remembered_mapping_belongs_to_one_process)
{
	map_space(EMULATED_6_13);
	uint64_t delta = find(CODE_A).delta;
	remap();
	emulated.start_ns++; /* another process, in the memory of the one before */
	CHECK(find(CODE_A).delta != delta);
	emulated.start_ns--;
	emulated.exec_id++; /* the same, after exec() */
	CHECK(find(CODE_A).delta != delta);
}

/* Nothing is in the tree any more: what is found was remembered. */
static void check_cache_of_one(enum emulated_release release, bool is_cached)
{
	map_space(release);
	uint64_t delta = find(CODE_A).delta;
	emulate_set_root(2);
	emulated.changes += 2; /* of others */
	CHECK((find(CODE_A).delta == delta && find(CODE_A).end) == is_cached);
}

TEST(mapping_is_remembered_while_others_change_6_4)
{
	check_cache_of_one(EMULATED_6_4, true);
}

TEST(mapping_is_remembered_while_others_change_6_13)
{
	check_cache_of_one(EMULATED_6_13, true);
}

TEST(mapping_is_not_remembered_while_others_change_where_each_has_no_count)
{
	check_cache_of_one(EMULATED_6_1, false);
}

/* The change began before the walk, or during it. */
static void check_changing(uint64_t changes_before)
{
	map_space(EMULATED_6_13);
	uint64_t vma = emulated_find_vma(CODE_A);
	emulated.changes++;
	emulate_vma_change(vma);
	emulated.changes -= changes_before;
	CHECK_INT(find(CODE_A).kind, EVENT_FRAME_FILE);
	emulate_set_root(2);
	emulated.changes += changes_before + 1;
	CHECK_INT(find(CODE_A).end, 0);
}

TEST(mapping_is_not_remembered_while_it_changes)
{
	check_changing(0);
	check_changing(1);
}

TEST(remembered_mapping_whose_memory_is_anothers)
{
	map_space(EMULATED_6_13);
	uint64_t vma = emulated_find_vma(CODE_A);
	CHECK_INT(find(CODE_A).kind, EVENT_FRAME_FILE);
	emulate_vma_reuse(vma);
	emulate_set_root(2);
	emulated.changes += 2;
	CHECK_INT(find(CODE_A).end, 0);
}

/* More of them than are kept side by side. */
TEST(mappings_that_a_stack_goes_to_and_fro_between)
{
	struct emulated_vma vmas[12];
	emulate_boot(EMULATED_6_1);
	for (size_t i = 0; i < 12; i++)
		vmas[i] = (struct emulated_vma){.start = CODE_A + 2 * i * PAGE,
			.end = CODE_A + (2 * i + 1) * PAGE,
			.offset = i << 20,
			.file = i & 1 ? &file_a : &file_b,
			.is_executable = true};
	emulate_mappings(vmas, 12, 0);
	for (size_t i = 0; i < 100; i++) {
		size_t at = (i * i + i / 3) % 12;
		struct emulated_mapping found = find(vmas[at].start + 5);
		CHECK_INT(found.start, vmas[at].start);
		CHECK_INT(found.end, vmas[at].end);
		CHECK_INT(vmas[at].start + found.delta, vmas[at].offset);
		CHECK_INT(find(vmas[at].end).end, 0);
	}
}

/*
 * Since 1.18 the lists of calls are given as offsets from a base, which stands in
 * the linker's record of the module. Which of its words that is has changed (38,
 * 40 from 1.20, 43 from 1.27) and nothing else tells these releases apart, so
 * the words are tried: with any base but the right one the lists of some
 * functions are nonsense.
 */
#include "format/elf/go_inline.h"

#include "format/base/mem.h"
#include "format/elf/elf_map.h"
#include "format/elf/go_module.h"
#include "format/elf/go_table.h"

enum {
	NUMBER_BYTES = 4,
	TABLE_INDEX = 2, /* PCDATA_InlTreeIndex, since 1.13 */
	DATA_INDEX = 3,  /* FUNCDATA_InlTree, since 1.16 */
	DATA_INDEX_1_13 = 4,
	BASE_WORD_MIN = 32,
	SAMPLES_MAX = 16, /* functions with which a base is tried */
	SEGMENTS_MAX = 16,
};

struct go_inline {
	struct go_pclntab *table;
	uint64_t base;       /* of lists, 0: addresses are absolute */
	uint32_t call_bytes; /* of an entry */
	uint8_t data_index;
	/* The file's segments, mapped when something in one is asked for. */
	struct elf_map maps[SEGMENTS_MAX];
	bool is_mapped[SEGMENTS_MAX];
};

/* ---- memory of the program ---- */

static const uint8_t *bytes_at(struct go_inline *all, uint64_t vaddr, uint64_t len)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(all->table->file, &count);
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++) {
		uint64_t into = vaddr - segments[i].vaddr;
		if (into >= segments[i].filesz || len > segments[i].filesz - into)
			continue;
		if (!all->is_mapped[i]) {
			all->is_mapped[i] = true;
			err_destroy(elf_map_range(all->table->file, segments[i].offset,
				segments[i].filesz, &all->maps[i]));
		}
		return all->maps[i].bytes ? all->maps[i].bytes + into : NULL;
	}
	return NULL;
}

/* ---- calls ---- */

/* Where a function's list is: from all->base on, or absolute. */
static bool get_list(struct go_inline *all, const struct go_function *function, uint64_t *ret)
{
	struct go_pclntab *table = all->table;
	if (function->nr_data <= all->data_index)
		return false;
	bool is_offset = table->version >= GO_1_18;
	uint64_t at = function->data + (uint64_t)function->nr_tables * NUMBER_BYTES;
	if (!is_offset && (table->vaddr + at) % GO_POINTER_BYTES)
		at += NUMBER_BYTES;
	at += all->data_index * (is_offset ? (uint64_t)NUMBER_BYTES : GO_POINTER_BYTES);
	struct bytes_cursor cursor = go_table_cursor(table, at);
	*ret = is_offset ? bytes_get_u32(&cursor) : bytes_get_u64(&cursor);
	return !cursor.overrun && *ret != (is_offset ? UINT32_MAX : 0);
}

bool go_inline_tree(
	struct go_inline *all, const struct go_function *function, struct go_inline_tree *ret)
{
	uint64_t list;
	if (function->nr_tables <= TABLE_INDEX || !get_list(all, function, &list))
		return false;
	struct bytes_cursor cursor =
		go_table_cursor(all->table, function->data + (uint64_t)TABLE_INDEX * NUMBER_BYTES);
	*ret = (struct go_inline_tree){
		.numbers = bytes_get_u32(&cursor), .calls = all->base + list};
	return ret->numbers != 0;
}

bool go_inline_call(struct go_inline *all, const struct go_inline_tree *tree, int32_t number,
	struct go_inlined *ret)
{
	if (number < 0)
		return false;
	const uint8_t *bytes =
		bytes_at(all, tree->calls + (uint64_t)number * all->call_bytes, all->call_bytes);
	if (!bytes)
		return false;
	struct bytes_cursor cursor = bytes_cursor(bytes, all->call_bytes);
	bool is_new = all->table->version >= GO_1_20;
	bytes_get(&cursor, is_new ? 4 : 12); /* up to 1.19 also the caller's file and line */
	ret->name = bytes_get_u32(&cursor);
	ret->call = bytes_get_u32(&cursor);
	ret->start_line = is_new ? bytes_get_u32(&cursor) : 0;
	return true;
}

/* ---- the base ---- */

struct samples {
	struct go_function functions[SAMPLES_MAX];
	uint32_t count;
};

/* Some functions with lists, from all over the program. */
static void go_inline_take_samples(struct go_inline *all, struct samples *samples)
{
	uint32_t count = all->table->count, i = 0, step = count / SAMPLES_MAX / 4 + 1;
	for (uint32_t first = 0; first < step && samples->count < SAMPLES_MAX; first++)
		for (i = first; i < count && samples->count < SAMPLES_MAX; i += step) {
			struct go_function function;
			struct go_inline_tree tree;
			if (go_pclntab_function(all->table, i, &function) &&
				go_inline_tree(all, &function, &tree))
				samples->functions[samples->count++] = function;
		}
}

/* The first call of a list: its name is one from its beginning on, its caller is in the function.
 */
static bool go_inline_is_sound(struct go_inline *all, const struct go_function *function)
{
	struct go_inline_tree tree;
	struct go_inlined call;
	if (!go_inline_tree(all, function, &tree) || !go_inline_call(all, &tree, 0, &call))
		return false;
	if (!call.name || call.call >= function->end - function->start)
		return false;
	struct bytes_cursor before = go_table_cursor(all->table, all->table->names + call.name - 1);
	return bytes_get_u8(&before) == 0 && go_pclntab_name(all->table, call.name)[0];
}

static bool is_base(struct go_inline *all, uint64_t base, const struct samples *samples)
{
	all->base = base;
	for (uint32_t i = 0; base && i < samples->count; i++)
		if (!go_inline_is_sound(all, &samples->functions[i]))
			return false;
	return base && samples->count;
}

static struct err *find_base(struct go_inline *all, bool *found)
{
	struct samples samples = {0};
	struct go_module module;
	go_inline_take_samples(all, &samples);
	*found = false;
	if (samples.count)
		try(go_module_find(all->table, &module, found));
	if (!*found)
		return NULL;
	*found = false;
	for (size_t i = BASE_WORD_MIN; i < GO_MODULE_WORDS && !*found; i++)
		*found = is_base(all, module.words[i], &samples);
	return NULL;
}

static struct err *open_calls(struct go_inline *all, bool *found)
{
	struct go_pclntab *table = all->table;
	all->call_bytes = table->version >= GO_1_20 ? 16 : 20;
	all->data_index = table->version >= GO_1_16 ? DATA_INDEX : DATA_INDEX_1_13;
	if (table->version >= GO_1_18)
		return find_base(all, found);
	/* 1.13 brought that section; before, the tables had other numbers. */
	*found = table->version >= GO_1_16 || elf_file_find_section(table->file, ".go.buildinfo");
	return NULL;
}

struct err *go_inline_open(struct go_pclntab *table, struct go_inline **ret)
{
	struct go_inline *all = mem_zalloc(sizeof(*all));
	bool found = false;
	all->table = table;
	struct err *err = open_calls(all, &found);
	if (err || !found) {
		go_inline_destroy(all);
		all = NULL;
	}
	if (!err)
		*ret = all;
	return err;
}

void go_inline_destroy(struct go_inline *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < SEGMENTS_MAX; i++)
		if (all->is_mapped[i])
			elf_map_release(&all->maps[i]);
	mem_free(all);
}

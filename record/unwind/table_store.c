#include "record/unwind/table_store.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/vec.h"
#include "record/runtime/runtime.h"
#include "record/unwind/rule_set.h"

enum {
	SHARD_BYTES = UNWIND_SHARD_WORDS * sizeof(uint32_t),
	PAGE_WORDS = 2,
	OFFSET_LOW_MASK = 0xffff,
	RULE_SHIFT = 16,
};

struct shard {
	int fd;
	uint32_t *words; /* of the map, mapped */
	uint32_t used;   /* words */
};

struct table {
	struct unwind_file entry; /* as the BPF side sees it; epoch is theirs */
	uint64_t shards;          /* bit n: it has words in shard n */
	enum runtime_kind runtime,
		unknown_runtime; /* as struct runtime_row has them, if they are wanted */
	bool is_dropped;
};

struct table_store {
	struct table_store_maps maps;
	struct unwind_file *files;
	struct unwind_rule *rules;
	struct runtime_row *runtime_rows;
	struct runtime_row
		*rows_of_files; /* as the same of the files were before they were completed */
	uint32_t nr_runtime_rows;
	struct rule_set rule_set; /* what stands in `rules` */
	struct shard shards[UNWIND_MAX_SHARDS];
	uint32_t nr_shards, max_shards, current;
	VEC(struct table) tables;    /* by number */
	VEC(uint32_t) table_of_file; /* by number of the file; 0: none */
	uint32_t next_number;        /* of those that the recorder deals out */
	uint64_t dropped;
};

/* ---- maps ---- */

static struct err *map_memory(int fd, size_t bytes, void *ret)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return err_sys(errno, "cannot map the kernel's unwind tables");
	*(void **)ret = memory;
	return NULL;
}

/* mmap of a BPF map wants whole pages. */
static size_t map_bytes(uint32_t entries, size_t entry_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (entries * entry_bytes + page - 1) & ~(page - 1);
}

static struct err *add_shard(struct table_store *store)
{
	struct shard *shard = &store->shards[store->nr_shards];
	struct bpf_map_create_opts options = {.sz = sizeof(options), .map_flags = BPF_F_MMAPABLE};
	int fd = bpf_map_create(
		BPF_MAP_TYPE_ARRAY, "shard", sizeof(uint32_t), SHARD_BYTES, 1, &options);
	if (fd < 0)
		return err_sys(errno, "cannot create a BPF map of %d bytes", SHARD_BYTES);
	*shard = (struct shard){.fd = fd};
	struct err *err = map_memory(fd, SHARD_BYTES, &shard->words);
	if (!err && bpf_map_update_elem(store->maps.shards, &store->nr_shards, &fd, BPF_ANY))
		err = err_sys(errno, "cannot add a BPF map to another");
	if (err) {
		if (shard->words)
			munmap(shard->words, SHARD_BYTES);
		close(fd);
		*shard = (struct shard){0};
		return err;
	}
	store->nr_shards++;
	return NULL;
}

static void add_rules(struct table_store *store)
{
	static const struct unwind_rule frame_pointer = UNWIND_FRAME_POINTER_RULE;
	rule_set_init(&store->rule_set, UNWIND_MAX_RULES);
	rule_set_intern(&store->rule_set, &frame_pointer);
	store->rules[UNWIND_RULE_FRAME_POINTER] = frame_pointer;
}

struct err *table_store_create(
	const struct table_store_maps *maps, uint64_t max_bytes, struct table_store **ret)
{
	struct table_store *store = mem_zalloc(sizeof(*store));
	store->maps = *maps;
	store->rows_of_files = mem_zalloc_array(RUNTIME_MAX_ROWS, sizeof(*store->rows_of_files));
	uint64_t shards = max_bytes / SHARD_BYTES;
	/* Two at least: one is filled while the other is in use. */
	store->max_shards = shards < 2                   ? 2
			    : shards > UNWIND_MAX_SHARDS ? UNWIND_MAX_SHARDS
							 : (uint32_t)shards;
	vec_resize(&store->table_of_file, maps->max_files);
	store->next_number = maps->max_files - EVENT_RECORDER_FILES;
	vec_resize(&store->tables, TABLE_ABSENT + 1);
	store->tables.data[TABLE_NOT_STORED].is_dropped = true;
	store->tables.data[TABLE_ABSENT].entry.state = UNWIND_TABLE_ABSENT;
	struct err *err = map_memory(
		maps->files, map_bytes(maps->max_files, sizeof(*store->files)), &store->files);
	if (!err)
		err = map_memory(maps->rules, map_bytes(UNWIND_MAX_RULES, sizeof(*store->rules)),
			&store->rules);
	if (!err)
		err = map_memory(maps->runtime_rows,
			map_bytes(RUNTIME_MAX_ROWS, sizeof(*store->runtime_rows)),
			&store->runtime_rows);
	if (!err) {
		add_rules(store);
		err = add_shard(store);
	}
	if (err)
		table_store_destroy(store);
	else
		*ret = store;
	return err;
}

void table_store_destroy(struct table_store *store)
{
	if (!store)
		return;
	for (uint32_t i = 0; i < store->nr_shards; i++) {
		munmap(store->shards[i].words, SHARD_BYTES);
		close(store->shards[i].fd);
	}
	if (store->files)
		munmap(store->files, map_bytes(store->maps.max_files, sizeof(*store->files)));
	if (store->rules)
		munmap(store->rules, map_bytes(UNWIND_MAX_RULES, sizeof(*store->rules)));
	if (store->runtime_rows)
		munmap(store->runtime_rows,
			map_bytes(RUNTIME_MAX_ROWS, sizeof(*store->runtime_rows)));
	rule_set_deinit(&store->rule_set);
	vec_deinit(&store->tables);
	vec_deinit(&store->table_of_file);
	mem_free(store->rows_of_files);
	mem_free(store);
}

/* ---- making room ---- */

/* When the tables of each shard were used last. */
static void last_uses(const struct table_store *store, uint32_t *epochs)
{
	memset(epochs, 0, UNWIND_MAX_SHARDS * sizeof(*epochs));
	for (uint32_t file = 0; file < store->table_of_file.len; file++) {
		uint64_t shards = store->tables.data[store->table_of_file.data[file]].shards;
		uint32_t epoch = store->files[file].epoch;
		for (; shards; shards &= shards - 1) {
			uint32_t *last = &epochs[__builtin_ctzll(shards)];
			if (epoch > *last)
				*last = epoch;
		}
	}
}

static void set_state(struct unwind_file *file, enum unwind_table_state state)
{
	__atomic_store_n(&file->state, state, __ATOMIC_RELEASE);
}

static void drop_tables_of(struct table_store *store, uint32_t shard)
{
	vec_each(&store->tables, table)
		if (table->shards >> shard & 1 && !table->is_dropped) {
			table->is_dropped = true;
			store->dropped++;
		}
	for (uint32_t file = 0; file < store->table_of_file.len; file++) {
		uint32_t *table = &store->table_of_file.data[file];
		if (*table == TABLE_NOT_STORED || !store->tables.data[*table].is_dropped)
			continue;
		*table = TABLE_NOT_STORED;
		set_state(&store->files[file], UNWIND_TABLE_DROPPED);
	}
}

/*
 * Empties the shard that was used longest ago, but none that `keep` has a bit
 * for, and makes it the current one. False: there is none. A BPF program may be
 * in the middle of a search there: membarrier returns when every CPU has left
 * what it was at.
 */
static bool recycle_shard(struct table_store *store, uint64_t keep)
{
	uint32_t epochs[UNWIND_MAX_SHARDS], oldest = UNWIND_MAX_SHARDS;
	last_uses(store, epochs);
	keep |= 1ULL << store->current;
	for (uint32_t i = 0; i < store->nr_shards; i++)
		if (!(keep >> i & 1) && (oldest == UNWIND_MAX_SHARDS || epochs[i] < epochs[oldest]))
			oldest = i;
	if (oldest == UNWIND_MAX_SHARDS)
		return false;
	drop_tables_of(store, oldest);
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	store->shards[oldest].used = 0;
	store->current = oldest;
	return true;
}

static bool next_shard(struct table_store *store, uint64_t keep)
{
	if (store->nr_shards == store->max_shards)
		return recycle_shard(store, keep);
	struct err *err = add_shard(store);
	if (err) { /* no memory for more: then with what there is */
		err_destroy(err);
		return recycle_shard(store, keep);
	}
	store->current = store->nr_shards - 1;
	return true;
}

/* So many words, all in one shard; their place in *ret. False: there is no room. */
static bool table_store_allocate(
	struct table_store *store, uint32_t words, struct table *table, uint32_t *ret)
{
	words += words & 1; /* pages are pairs of words, and lie on even places */
	if (words > UNWIND_SHARD_WORDS)
		return false;
	if (UNWIND_SHARD_WORDS - store->shards[store->current].used < words &&
		!next_shard(store, table->shards))
		return false;
	struct shard *shard = &store->shards[store->current];
	*ret = store->current << UNWIND_SHARD_SHIFT | shard->used;
	shard->used += words;
	table->shards |= 1ULL << store->current;
	return true;
}

static uint32_t *words_at(const struct table_store *store, uint32_t place)
{
	return store->shards[place >> UNWIND_SHARD_SHIFT].words +
	       (place & (UNWIND_SHARD_WORDS - 1));
}

/* ---- adding ---- */

uint32_t table_store_intern_rule(struct table_store *store, const struct unwind_rule *rule)
{
	size_t known = store->rule_set.rules.len;
	uint32_t number = rule_set_intern(&store->rule_set, rule);
	if (number == RULE_SET_FULL)
		return UNWIND_RULE_NONE;
	if (number == known)
		store->rules[known] = *rule;
	return number;
}

const struct unwind_rule *table_store_rule(const struct table_store *store, uint32_t number)
{
	return &store->rules[number];
}

/* The numbers in the kernel of a table's rules. NULL: there are too many rules. */
static uint32_t *translate_rules(struct table_store *store, const struct unwind_table *table)
{
	uint32_t *numbers = mem_zalloc_array(table->rules.len + 1, sizeof(*numbers));
	for (size_t i = 0; i < table->rules.len; i++) {
		numbers[i] = table_store_intern_rule(store, &table->rules.data[i]);
		if (!numbers[i] && i) { /* rule 0 is that of nothing in both */
			mem_free(numbers);
			return NULL;
		}
	}
	return numbers;
}

static bool put_page(struct table_store *store, const struct unwind_table *from,
	const struct unwind_page *page, const uint32_t *rules, struct table *table, uint32_t *out)
{
	out[0] = out[1] = 0;
	if (!page->count)
		return true;
	uint32_t place;
	if (!table_store_allocate(store, page->count, table, &place))
		return false;
	uint32_t *words = words_at(store, place);
	const uint32_t *rows = from->rows.data + page->first;
	for (uint32_t i = 0; i < page->count; i++) {
		uint32_t rule = rules[rows[i] >> RULE_SHIFT];
		words[i] = (rows[i] & OFFSET_LOW_MASK) | rule << RULE_SHIFT;
	}
	out[0] = place;
	out[1] = page->count;
	return true;
}

static bool table_store_put_pages(struct table_store *store, const struct unwind_table *from,
	const uint32_t *rules, struct table *table)
{
	uint32_t words = (uint32_t)from->pages.len * PAGE_WORDS;
	if (!table_store_allocate(store, words, table, &table->entry.pages))
		return false;
	uint32_t *out = words_at(store, table->entry.pages);
	for (size_t i = 0; i < from->pages.len; i++)
		if (!put_page(
			    store, from, &from->pages.data[i], rules, table, out + i * PAGE_WORDS))
			return false;
	return true;
}

/* Whether row `number` is the same, though it may have been completed since. */
static bool is_same_row(
	const struct table_store *store, uint32_t number, const struct runtime_row *row)
{
	const struct runtime *runtime = runtime_of(row->kind);
	const struct runtime_row *same = runtime && runtime->is_kept && runtime->is_kept(row)
						 ? store->rows_of_files
						 : store->runtime_rows;
	return memcmp(&same[number], row, sizeof(*row)) == 0;
}

/* The number of an equal row or of a new one, plus 1; 0: it is not wanted, or there is no room. */
static uint32_t put_runtime_row(struct table_store *store, const struct runtime_row *row)
{
	if (row->kind == RUNTIME_NONE || store->maps.unwanted_runtimes >> row->kind & 1)
		return 0;
	for (uint32_t i = 0; i < store->nr_runtime_rows; i++)
		if (is_same_row(store, i, row))
			return i + 1;
	if (store->nr_runtime_rows == RUNTIME_MAX_ROWS)
		return 0;
	store->rows_of_files[store->nr_runtime_rows] = *row;
	store->runtime_rows[store->nr_runtime_rows] = *row;
	*store->maps.row_kinds |= 1U << row->kind;
	return ++store->nr_runtime_rows;
}

uint32_t table_store_add(struct table_store *store, const struct unwind_table *from)
{
	CLEANUP_FREE uint32_t *rules = from->pages.len ? translate_rules(store, from) : NULL;
	struct table table = {.entry = {
				      .state = UNWIND_TABLE_READY,
				      .first_page = from->first_page,
				      .nr_pages = (uint32_t)from->pages.len,
			      }};
	if (!rules || !table_store_put_pages(store, from, rules, &table))
		return TABLE_ABSENT;
	table.entry.runtime = put_runtime_row(store, &from->runtime);
	table.runtime = table.entry.runtime ? from->runtime.kind : RUNTIME_NONE;
	bool is_wanted = !(store->maps.unwanted_runtimes >> from->runtime.unknown & 1);
	table.unknown_runtime = is_wanted ? from->runtime.unknown : RUNTIME_NONE;
	vec_push(&store->tables, table);
	return (uint32_t)store->tables.len - 1;
}

uint32_t table_store_add_pending(struct table_store *store, const struct runtime_row *row)
{
	struct table table = {.entry = {.state = UNWIND_TABLE_NONE}};
	table.entry.runtime = put_runtime_row(store, row);
	table.runtime = table.entry.runtime ? row->kind : RUNTIME_NONE;
	vec_push(&store->tables, table);
	return (uint32_t)store->tables.len - 1;
}

uint32_t table_store_add_failed(struct table_store *store, uint32_t pending)
{
	struct table table = store->tables.data[pending];
	table.entry.state = UNWIND_TABLE_ABSENT;
	vec_push(&store->tables, table);
	return (uint32_t)store->tables.len - 1;
}

bool table_store_has(const struct table_store *store, uint32_t table)
{
	return !store->tables.data[table].is_dropped;
}

void table_store_ask_again(struct table_store *store, uint32_t file)
{
	if (file < store->maps.max_files)
		set_state(&store->files[file], UNWIND_TABLE_DROPPED);
}

void table_store_bind(struct table_store *store, uint32_t file, uint32_t table)
{
	if (file >= store->maps.max_files)
		return;
	const struct unwind_file *entry = &store->tables.data[table].entry;
	struct unwind_file *out = &store->files[file];
	store->table_of_file.data[file] = table;
	out->first_page = entry->first_page;
	out->nr_pages = entry->nr_pages;
	out->pages = entry->pages;
	out->runtime = entry->runtime;
	out->epoch = *store->maps.epoch;
	set_state(out, entry->state);
}

/* BPF_PROG_TEST_RUN of raw tracepoints: Linux 5.10. */
uint32_t table_store_number(struct table_store *store, int fd)
{
	if (store->next_number >= store->maps.max_files)
		return 0;
	void *mapped = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0); /* never touched */
	if (mapped == MAP_FAILED)
		return 0;
	uint64_t arguments[] = {(uintptr_t)mapped, store->next_number};
	struct bpf_test_run_opts options = {
		.sz = sizeof(options), .ctx_in = arguments, .ctx_size_in = sizeof(arguments)};
	int result = bpf_prog_test_run_opts(store->maps.number_own_file, &options);
	munmap(mapped, 1);
	uint32_t number = result ? 0 : options.retval;
	store->next_number += number == store->next_number;
	return number;
}

/* ---- searching, as bpf/unwind_table.bpf.h does ---- */

const struct unwind_rule *table_store_find(
	const struct table_store *store, uint32_t table, uint64_t offset)
{
	const struct unwind_file *entry = &store->tables.data[table].entry;
	uint64_t page = (offset >> UNWIND_PAGE_SHIFT) - entry->first_page;
	if (entry->state != UNWIND_TABLE_READY || page >= entry->nr_pages)
		return &store->rules[UNWIND_RULE_NONE];
	const uint32_t *at = words_at(store, entry->pages + PAGE_WORDS * (uint32_t)page);
	if (!at[1])
		return &store->rules[UNWIND_RULE_NONE];
	const uint32_t *rows = words_at(store, at[0]);
	uint32_t low = 0;
	for (uint32_t count = at[1]; count > 1;) {
		uint32_t half = count / 2;
		if ((rows[low + half] & OFFSET_LOW_MASK) <= (offset & OFFSET_LOW_MASK))
			low += half;
		count -= half;
	}
	return &store->rules[rows[low] >> RULE_SHIFT];
}

const struct unwind_rule *table_store_frame_pointer_rule(const struct table_store *store)
{
	return &store->rules[UNWIND_RULE_FRAME_POINTER];
}

bool table_store_has_runtime(
	const struct table_store *store, uint32_t table, enum runtime_kind *ret)
{
	*ret = store->tables.data[table].runtime;
	return *ret != RUNTIME_NONE;
}

const struct runtime_row *table_store_runtime_row(const struct table_store *store, uint32_t table)
{
	uint32_t number = store->tables.data[table].entry.runtime;
	return number ? &store->runtime_rows[number - 1] : NULL;
}

void table_store_tell_runtime(
	const struct table_store *store, uint32_t table, const struct event_file *event)
{
	uint32_t number = store->tables.data[table].entry.runtime;
	if (!number || !runtime_row_has_place(&store->runtime_rows[number - 1], event->offset))
		return;
	struct known_runtime_key key = {
		.pid = event->pid, .kind = store->runtime_rows[number - 1].kind};
	struct known_runtime known = {.start = event->start,
		.end = event->end,
		.delta = event->offset - event->start,
		.row = number,
		.file = event->file};
	bpf_map_update_elem(store->maps.known_runtimes, &key, &known, BPF_NOEXIST);
}

uint32_t table_store_add_row(struct table_store *store, const struct runtime_row *row)
{
	return put_runtime_row(store, row);
}

void table_store_tell_users_row(const struct table_store *store, uint32_t number, uint32_t uid,
	uint32_t pid, uint64_t delta)
{
	struct known_runtime_key key = {.pid = pid, .kind = store->runtime_rows[number - 1].kind};
	struct known_runtime known = {0};
	if (bpf_map_lookup_elem(store->maps.known_runtimes, &key, &known) || known.delta != delta)
		known = (struct known_runtime){.delta = delta};
	known.row = number;
	known.user = uid + 1;
	bpf_map_update_elem(store->maps.known_runtimes, &key, &known, BPF_ANY);
}

/* The BPF side copies rows from their beginning on, which says whether the rest is there. */
void table_store_complete_row(
	struct table_store *store, uint32_t table, const struct runtime_row *row)
{
	uint32_t number = store->tables.data[table].entry.runtime;
	if (!number)
		return;
	struct runtime_row *out = &store->runtime_rows[number - 1];
	for (int i = RUNTIME_ROW_WORDS; i-- > 0;)
		__atomic_store_n(&out->words[i], row->words[i], __ATOMIC_RELEASE);
}

enum runtime_kind table_store_unknown_runtime(const struct table_store *store, uint32_t table)
{
	return store->tables.data[table].unknown_runtime;
}

void table_store_advance_epoch(struct table_store *store)
{
	++*store->maps.epoch;
}

uint64_t table_store_bytes(const struct table_store *store)
{
	return (uint64_t)store->nr_shards * SHARD_BYTES;
}

uint64_t table_store_dropped(const struct table_store *store)
{
	return store->dropped;
}

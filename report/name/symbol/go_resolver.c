#include "report/name/symbol/go_resolver.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/elf/go_inline.h"
#include "format/elf/go_lines.h"
#include "format/elf/go_values.h"
#include "report/name/symbol/thread_count.h"

enum {
	INLINE_DEPTH_MAX = 256,
	/* In a hostile file all functions may share one long table. */
	ROWS_MAX = 1 << 24,
	ROWS_MAX_PER_ADDRESS = 4096,
	ADDRESSES_PER_THREAD = 2048, /* a millisecond's; a thread begins with a tenth of that */
};

/* Reads the tables on one thread. */
struct reader {
	struct go_pclntab *table;
	struct go_inline *inlines; /* NULL: there are none */
	struct arena frames, texts;
	struct map names, paths; /* inlined functions, files: numbers in the table -> text */
	uint32_t last_file;
	const char *last_path; /* NULL: none yet */

	/* The function at hand, with what its tables say as far as it was read. */
	bool has_function, has_tree;
	uint32_t index;
	struct go_function function;
	const char *name;
	struct go_inline_tree tree;
	struct go_values files, lines, calls;
	VEC(struct chain_frame) chain;
};

struct go_resolver {
	struct elf_file *elf;
	VEC(struct reader *) readers; /* the first, and more once there is much to read */
};

static struct reader *reader_create(struct elf_file *elf)
{
	struct go_pclntab *table = NULL;
	struct go_inline *inlines = NULL;
	err_destroy(go_pclntab_map(elf, &table));
	if (!table)
		return NULL;
	err_destroy(go_inline_open(table, &inlines));
	struct reader *reader = mem_zalloc(sizeof(*reader));
	reader->table = table;
	reader->inlines = inlines;
	return reader;
}

static void reader_destroy(struct reader *reader)
{
	go_inline_destroy(reader->inlines);
	go_pclntab_destroy(reader->table);
	arena_deinit(&reader->frames);
	arena_deinit(&reader->texts);
	map_deinit(&reader->names);
	map_deinit(&reader->paths);
	go_values_deinit(&reader->files);
	go_values_deinit(&reader->lines);
	go_values_deinit(&reader->calls);
	vec_deinit(&reader->chain);
	mem_free(reader);
}

/* ---- texts: copies, because the file may change under a mapping ---- */

static const char *go_resolver_keep(struct reader *reader, const char *text)
{
	size_t len = strlen(text);
	return len ? arena_strndup(&reader->texts, text, len) : NULL;
}

static const char *go_resolver_name_of(struct reader *reader, uint32_t name)
{
	bool added;
	uint64_t *slot = map_put(&reader->names, name, &added);
	if (added)
		*slot = (uintptr_t)go_resolver_keep(reader, go_pclntab_name(reader->table, name));
	return (const char *)(uintptr_t)*slot;
}

static const char *go_resolver_path_of(struct reader *reader, uint32_t file)
{
	bool added;
	if (reader->last_path && reader->last_file == file)
		return reader->last_path;
	uint64_t *slot = map_put(&reader->paths, file, &added);
	if (added)
		*slot = (uintptr_t)go_resolver_keep(reader, go_lines_path(reader->table, file));
	reader->last_file = file;
	reader->last_path = (const char *)(uintptr_t)*slot;
	return reader->last_path;
}

/* ---- chains ---- */

static bool go_resolver_take_function(struct reader *reader, uint64_t address)
{
	struct go_function *function = &reader->function;
	if (reader->has_function && address >= function->start && address < function->end)
		return true;
	reader->has_function = go_pclntab_find(reader->table, address, &reader->index) &&
			       go_pclntab_function(reader->table, reader->index, function);
	if (!reader->has_function)
		return false;
	reader->name = go_resolver_keep(reader, go_pclntab_name(reader->table, function->name));
	go_values_start(&reader->files, reader->table, function, function->file_table);
	go_values_start(&reader->lines, reader->table, function, function->line_table);
	reader->has_tree =
		reader->inlines && go_inline_tree(reader->inlines, function, &reader->tree);
	if (reader->has_tree)
		go_values_start(&reader->calls, reader->table, function, reader->tree.numbers);
	return true;
}

/* File and line of an instruction. */
static struct chain_frame go_resolver_place_of(struct reader *reader, uint32_t into)
{
	struct chain_frame at = {0};
	int32_t line = go_values_at(&reader->lines, into);
	int32_t number = go_values_at(&reader->files, into);
	uint32_t file = go_lines_file(reader->table, &reader->function, number);
	at.file = line < 0 ? NULL : go_resolver_path_of(reader, file);
	at.line = at.file ? (uint32_t)line : 0;
	return at;
}

/* Go tells no file of a function, but no function has lines of two. */
static void go_resolver_put_frame(struct reader *reader, uint32_t into, const char *name,
	uint32_t start_line, bool is_inlined)
{
	struct chain_frame frame = go_resolver_place_of(reader, into);
	frame.function = name;
	if (start_line && start_line <= INT32_MAX) {
		frame.decl_file = frame.file;
		frame.decl_line = start_line;
	}
	frame.is_inlined = is_inlined;
	vec_push(&reader->chain, frame);
}

/* The call that an instruction belongs to; false when it is the function's own. */
static bool take_call(struct reader *reader, uint32_t into, struct go_inlined *call)
{
	const struct go_function *function = &reader->function;
	return reader->has_tree && reader->chain.len < INLINE_DEPTH_MAX &&
	       go_inline_call(
		       reader->inlines, &reader->tree, go_values_at(&reader->calls, into), call) &&
	       call->call < function->end - function->start;
}

static struct chain go_resolver_build_chain(struct reader *reader, uint64_t address)
{
	const struct go_function *function = &reader->function;
	struct go_inlined call;
	reader->chain.len = 0;
	if (!go_resolver_take_function(reader, address) || address - function->start > UINT32_MAX)
		return (struct chain){0};
	uint32_t into = (uint32_t)(address - function->start);
	while (take_call(reader, into, &call)) {
		go_resolver_put_frame(reader, into, go_resolver_name_of(reader, call.name),
			call.start_line, true);
		into = call.call;
	}
	go_resolver_put_frame(reader, into, reader->name, function->start_line, false);
	size_t bytes = reader->chain.len * sizeof(*reader->chain.data);
	struct chain_frame *frames = arena_alloc(&reader->frames, bytes);
	memcpy(frames, reader->chain.data, bytes);
	return (struct chain){frames, (uint32_t)reader->chain.len};
}

static void read_chains(
	struct reader *reader, const uint64_t *addresses, size_t count, struct chain *chains)
{
	const uint64_t *read[] = {
		&reader->files.nr_read, &reader->lines.nr_read, &reader->calls.nr_read};
	uint64_t rows_max =
		*read[0] + *read[1] + *read[2] + ROWS_MAX + (uint64_t)count * ROWS_MAX_PER_ADDRESS;
	for (size_t i = 0; i < count && *read[0] + *read[1] + *read[2] < rows_max; i++)
		chains[i] = go_resolver_build_chain(reader, addresses[i]);
}

/* ---- the whole ---- */

struct go_resolver *go_resolver_create(struct elf_file *elf)
{
	struct reader *reader = reader_create(elf);
	if (!reader)
		return NULL;
	struct go_resolver *resolver = mem_zalloc(sizeof(*resolver));
	resolver->elf = elf;
	vec_push(&resolver->readers, reader);
	return resolver;
}

void go_resolver_destroy(struct go_resolver *resolver)
{
	if (!resolver)
		return;
	vec_each(&resolver->readers, reader)
		reader_destroy(*reader);
	vec_deinit(&resolver->readers);
	mem_free(resolver);
}

/* A thread's share of the addresses: those of neighbours, so that few functions are read twice. */
struct share {
	struct reader *reader;
	const uint64_t *addresses;
	size_t count;
	struct chain *chains;
	pthread_t thread;
	bool has_thread;
};

static void *read_share(void *context)
{
	struct share *share = context;
	read_chains(share->reader, share->addresses, share->count, share->chains);
	return NULL;
}

/* A reader for each of `wanted` threads, as far as they can be had. Returns how many. */
static size_t open_readers(struct go_resolver *resolver, size_t wanted)
{
	while (resolver->readers.len < wanted) {
		struct reader *reader = reader_create(resolver->elf);
		if (!reader)
			break;
		vec_push(&resolver->readers, reader);
	}
	return resolver->readers.len < wanted ? resolver->readers.len : wanted;
}

void go_resolver_run(
	struct go_resolver *resolver, const uint64_t *addresses, size_t count, struct chain *chains)
{
	struct share shares[THREAD_COUNT_MAX];
	size_t wanted = count / ADDRESSES_PER_THREAD, cpus = thread_count();
	size_t nr_shares = open_readers(resolver, wanted < 1 ? 1 : wanted < cpus ? wanted : cpus);
	memset(chains, 0, count * sizeof(*chains));
	for (size_t i = nr_shares; i-- > 0;) {
		size_t first = count * i / nr_shares, end = count * (i + 1) / nr_shares;
		shares[i] = (struct share){.reader = resolver->readers.data[i],
			.addresses = addresses + first,
			.count = end - first,
			.chains = chains + first};
		shares[i].has_thread =
			i && !pthread_create(&shares[i].thread, NULL, read_share, &shares[i]);
		if (!shares[i].has_thread)
			read_share(&shares[i]);
	}
	for (size_t i = 0; i < nr_shares; i++)
		if (shares[i].has_thread)
			pthread_join(shares[i].thread, NULL);
}

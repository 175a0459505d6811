#include "report/symbol/go_resolver.h"

#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/elf/go_inline.h"
#include "format/elf/go_lines.h"
#include "format/elf/go_values.h"

enum {
	INLINE_DEPTH_MAX = 256,
	/* In a hostile file all functions may share one long table. */
	ROWS_MAX = 1 << 24,
	ROWS_MAX_PER_ADDRESS = 4096,
};

struct go_resolver {
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

struct go_resolver *go_resolver_create(struct elf_file *elf)
{
	struct go_pclntab *table = NULL;
	struct go_inline *inlines = NULL;
	err_destroy(go_pclntab_map(elf, &table));
	if (!table)
		return NULL;
	err_destroy(go_inline_open(table, &inlines));
	struct go_resolver *resolver = mem_zalloc(sizeof(*resolver));
	resolver->table = table;
	resolver->inlines = inlines;
	return resolver;
}

void go_resolver_destroy(struct go_resolver *resolver)
{
	if (!resolver)
		return;
	go_inline_destroy(resolver->inlines);
	go_pclntab_destroy(resolver->table);
	arena_deinit(&resolver->frames);
	arena_deinit(&resolver->texts);
	map_deinit(&resolver->names);
	map_deinit(&resolver->paths);
	go_values_deinit(&resolver->files);
	go_values_deinit(&resolver->lines);
	go_values_deinit(&resolver->calls);
	vec_deinit(&resolver->chain);
	mem_free(resolver);
}

/* ---- texts: copies, because the file may change under a mapping ---- */

static const char *keep(struct go_resolver *resolver, const char *text)
{
	size_t len = strlen(text);
	return len ? arena_strndup(&resolver->texts, text, len) : NULL;
}

static const char *name_of(struct go_resolver *resolver, uint32_t name)
{
	bool added;
	uint64_t *slot = map_put(&resolver->names, name, &added);
	if (added)
		*slot = (uintptr_t)keep(resolver, go_pclntab_name(resolver->table, name));
	return (const char *)(uintptr_t)*slot;
}

static const char *path_of(struct go_resolver *resolver, uint32_t file)
{
	bool added;
	if (resolver->last_path && resolver->last_file == file)
		return resolver->last_path;
	uint64_t *slot = map_put(&resolver->paths, file, &added);
	if (added)
		*slot = (uintptr_t)keep(resolver, go_lines_path(resolver->table, file));
	resolver->last_file = file;
	resolver->last_path = (const char *)(uintptr_t)*slot;
	return resolver->last_path;
}

/* ---- chains ---- */

static bool take_function(struct go_resolver *resolver, uint64_t address)
{
	struct go_function *function = &resolver->function;
	if (resolver->has_function && address >= function->start && address < function->end)
		return true;
	resolver->has_function = go_pclntab_find(resolver->table, address, &resolver->index) &&
				 go_pclntab_function(resolver->table, resolver->index, function);
	if (!resolver->has_function)
		return false;
	resolver->name = keep(resolver, go_pclntab_name(resolver->table, function->name));
	go_values_start(&resolver->files, resolver->table, function, function->file_table);
	go_values_start(&resolver->lines, resolver->table, function, function->line_table);
	resolver->has_tree =
		resolver->inlines && go_inline_tree(resolver->inlines, function, &resolver->tree);
	if (resolver->has_tree)
		go_values_start(
			&resolver->calls, resolver->table, function, resolver->tree.numbers);
	return true;
}

/* File and line of an instruction. */
static struct chain_frame place_of(struct go_resolver *resolver, uint32_t into)
{
	struct chain_frame at = {0};
	int32_t line = go_values_at(&resolver->lines, into);
	int32_t number = go_values_at(&resolver->files, into);
	uint32_t file = go_lines_file(resolver->table, &resolver->function, number);
	at.file = line < 0 ? NULL : path_of(resolver, file);
	at.line = at.file ? (uint32_t)line : 0;
	return at;
}

/* Go tells no file of a function, but no function has lines of two. */
static void put_frame(struct go_resolver *resolver, uint32_t into, const char *name,
	uint32_t start_line, bool is_inlined)
{
	struct chain_frame frame = place_of(resolver, into);
	frame.function = name;
	if (start_line && start_line <= INT32_MAX) {
		frame.decl_file = frame.file;
		frame.decl_line = start_line;
	}
	frame.is_inlined = is_inlined;
	vec_push(&resolver->chain, frame);
}

/* The call that an instruction belongs to; false when it is the function's own. */
static bool take_call(struct go_resolver *resolver, uint32_t into, struct go_inlined *call)
{
	const struct go_function *function = &resolver->function;
	return resolver->has_tree && resolver->chain.len < INLINE_DEPTH_MAX &&
	       go_inline_call(resolver->inlines, &resolver->tree,
		       go_values_at(&resolver->calls, into), call) &&
	       call->call < function->end - function->start;
}

static struct chain build_chain(struct go_resolver *resolver, uint64_t address)
{
	const struct go_function *function = &resolver->function;
	struct go_inlined call;
	resolver->chain.len = 0;
	if (!take_function(resolver, address) || address - function->start > UINT32_MAX)
		return (struct chain){0};
	uint32_t into = (uint32_t)(address - function->start);
	while (take_call(resolver, into, &call)) {
		put_frame(resolver, into, name_of(resolver, call.name), call.start_line, true);
		into = call.call;
	}
	put_frame(resolver, into, resolver->name, function->start_line, false);
	size_t bytes = resolver->chain.len * sizeof(*resolver->chain.data);
	struct chain_frame *frames = arena_alloc(&resolver->frames, bytes);
	memcpy(frames, resolver->chain.data, bytes);
	return (struct chain){frames, (uint32_t)resolver->chain.len};
}

void go_resolver_run(
	struct go_resolver *resolver, const uint64_t *addresses, size_t count, struct chain *chains)
{
	const uint64_t *read[] = {
		&resolver->files.nr_read, &resolver->lines.nr_read, &resolver->calls.nr_read};
	uint64_t rows_max =
		*read[0] + *read[1] + *read[2] + ROWS_MAX + (uint64_t)count * ROWS_MAX_PER_ADDRESS;
	memset(chains, 0, count * sizeof(*chains));
	for (size_t i = 0; i < count && *read[0] + *read[1] + *read[2] < rows_max; i++)
		chains[i] = build_chain(resolver, addresses[i]);
}

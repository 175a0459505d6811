#include "report/name/symbol/unit_resolver.h"

#include <pthread.h>

#include "format/dwarf/dwarf_names.h"

enum {
	INLINE_DEPTH_MAX = 256,
	FILE_NUMBER_MAX = 1 << 20,
};

/* What is known of a function; indices of strings, plus 1, 0 for none. */
struct unit_function {
	uint32_t name, decl_file, decl_line;
};

/* What a node of the walk turned out to be, once a chain needed it. */
struct unit_place {
	uint32_t function; /* index plus 1; 0: not read yet */
	uint32_t call_file, call_line, call_column;
	bool is_inlined;
};

/* ---- names and files ---- */

static uint32_t unit_resolver_path_of(
	struct unit_resolver *resolver, const struct dwarf_unit *unit, uint64_t number)
{
	/* The unit is the reader's own, so its line header may be filled in. */
	const struct dwarf_line_header *lines = dwarf_unit_lines((struct dwarf_unit *)unit);
	if (!lines || number >= FILE_NUMBER_MAX)
		return 0;
	/* A header is aligned to 16 bytes: its address leaves room for the number. */
	uint64_t key = (uint64_t)(uintptr_t)lines << 16 | number;
	bool added;
	uint64_t *slot = map_put(&resolver->paths, key, &added);
	if (added) {
		CLEANUP(str_deinit) struct str path = {0};
		*slot = dwarf_line_put_path(lines, unit->comp_dir, number, &path)
				? strtab_intern(&resolver->strings, str_text(&path), path.len) + 1
				: 0;
	}
	return (uint32_t)*slot;
}

static uint32_t unit_resolver_narrow(uint64_t value)
{
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

/*
 * The index of its string plus 1; the name is not empty. Scopes are looked for where nothing else
 * has them: what is not inlined has a symbol.
 */
static uint32_t unit_resolver_intern_name(struct unit_resolver *resolver, struct dwarf_die die,
	const struct dwarf_function *read, bool is_inlined)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (is_inlined && !read->is_linkage_name)
		dwarf_scopes_put(&resolver->scopes, resolver->reader, die, &text);
	const char *name = (const char *)read->name.data;
	size_t len = (size_t)read->name.len;
	if (text.len) {
		str_write(&text, name, len);
		name = str_text(&text);
		len = text.len;
	}
	return strtab_intern(&resolver->strings, name, len) + 1;
}

/* The index of the function whose DIE this is, plus 1. */
static uint32_t unit_resolver_function_of(
	struct unit_resolver *resolver, struct dwarf_die die, bool is_inlined)
{
	const uint8_t *where = die.unit->file->sections[DWARF_INFO].data + die.offset;
	bool added;
	uint64_t *slot = map_put(&resolver->by_die, (uint64_t)(uintptr_t)where, &added);
	if (!added)
		return (uint32_t)*slot;
	struct dwarf_function read, class = {0};
	dwarf_read_function(resolver->reader, die, &read);
	/* GCC says of a lambda's class where it is, and not of its operator(). */
	static const char operator[] = "operator()";
	bool is_lambda = is_inlined && !read.unit && read.name.len == strlen(operator) &&
			 memcmp(read.name.data, operator, strlen(operator)) == 0;
	struct dwarf_die around = {0};
	if (is_lambda)
		around = dwarf_scopes_innermost(&resolver->scopes, resolver->reader, die);
	if (around.unit) {
		dwarf_read_function(resolver->reader, around, &class);
		read.unit = class.unit;
		read.decl_file = class.decl_file;
		read.decl_line = class.decl_line;
	}
	struct unit_function function = {.decl_line = unit_resolver_narrow(read.decl_line)};
	if (read.name.len)
		function.name = unit_resolver_intern_name(resolver, die, &read, is_inlined);
	if (read.unit)
		function.decl_file = unit_resolver_path_of(resolver, read.unit, read.decl_file);
	vec_push(&resolver->functions, function);
	*slot = resolver->functions.len;
	return (uint32_t)*slot;
}

static const struct unit_place *unit_resolver_place_of(
	struct unit_resolver *resolver, const struct dwarf_unit *unit, uint32_t index)
{
	struct unit_place *place = &resolver->places.data[index];
	if (place->function)
		return place;
	const struct dwarf_node *node = &resolver->walk.nodes.data[index];
	struct dwarf_die die = {unit, node->die};
	if (node->parent) {
		struct dwarf_call call;
		dwarf_read_call(resolver->reader, die, &call);
		place->is_inlined = true;
		place->call_line = unit_resolver_narrow(call.line);
		place->call_column = unit_resolver_narrow(call.column);
		place->call_file =
			call.has_file ? unit_resolver_path_of(resolver, unit, call.file) : 0;
		die = call.function;
	}
	place->function = unit_resolver_function_of(resolver, die, place->is_inlined);
	return place;
}

static const char *unit_resolver_string_of(const struct unit_resolver *resolver, uint32_t index)
{
	return index ? strtab_get(&resolver->strings, index - 1) : NULL;
}

/* ---- chains ---- */

static void unit_resolver_put_functions(
	struct unit_resolver *resolver, uint32_t node, struct chain_frame at)
{
	for (; node && resolver->chain.len < INLINE_DEPTH_MAX;
		node = resolver->walk.nodes.data[node].parent) {
		const struct unit_place *place =
			unit_resolver_place_of(resolver, resolver->unit, node);
		const struct unit_function *function =
			&resolver->functions.data[place->function - 1];
		at.function = unit_resolver_string_of(resolver, function->name);
		at.decl_file = unit_resolver_string_of(resolver, function->decl_file);
		at.decl_line = function->decl_line;
		at.is_inlined = place->is_inlined;
		vec_push(&resolver->chain, at);
		at.file = unit_resolver_string_of(resolver, place->call_file);
		at.line = place->call_line;
		at.column = place->call_column;
	}
}

struct chain unit_resolver_chain(struct unit_resolver *resolver, size_t i)
{
	const struct dwarf_row *row = &resolver->rows.data[i];
	uint32_t node = resolver->nodes.data[i];
	struct chain_frame at = {0};
	if (row->is_known) {
		at.file = unit_resolver_string_of(
			resolver, unit_resolver_path_of(resolver, resolver->unit, row->file));
		at.line = row->line;
		at.column = row->column;
	}
	resolver->chain.len = 0;
	unit_resolver_put_functions(resolver, node, at);
	if (!node && row->is_known)
		vec_push(&resolver->chain, at);
	return (struct chain){resolver->chain.data, (uint32_t)resolver->chain.len};
}

/* ---- units ---- */

static void *run_lines(void *context)
{
	struct unit_resolver *resolver = context;
	const struct dwarf_unit *unit = resolver->unit;
	dwarf_line_run(unit->lines, unit->line_file, resolver->addresses, resolver->count,
		resolver->rows.data);
	return NULL;
}

static void run_walk(struct unit_resolver *resolver)
{
	dwarf_walk_unit(&resolver->walk, resolver->unit, resolver->addresses, resolver->count,
		resolver->nodes.data);
}

void unit_resolver_read(struct unit_resolver *resolver, struct dwarf_reader *reader,
	struct dwarf_unit *unit, const uint64_t *addresses, size_t count, bool side_by_side)
{
	pthread_t thread;
	resolver->reader = reader;
	resolver->unit = unit;
	resolver->addresses = addresses;
	resolver->count = count;
	resolver->rows.len = resolver->nodes.len = resolver->walk.nodes.len = 0;
	vec_resize(&resolver->nodes, count);
	vec_resize(&resolver->rows, count);
	/* DIEs and lines have nothing to do with each other before chains are built. */
	if (!dwarf_unit_lines(unit)) {
		run_walk(resolver);
	} else if (side_by_side && !pthread_create(&thread, NULL, run_lines, resolver)) {
		run_walk(resolver);
		pthread_join(thread, NULL);
	} else {
		run_walk(resolver);
		run_lines(resolver);
	}
	resolver->places.len = 0;
	vec_resize(&resolver->places, resolver->walk.nodes.len);
}

void unit_resolver_forget_unit(struct unit_resolver *resolver)
{
	map_clear(&resolver->paths);
	dwarf_scopes_deinit(&resolver->scopes);
}

void unit_resolver_forget_file(struct unit_resolver *resolver)
{
	unit_resolver_forget_unit(resolver);
	map_clear(&resolver->by_die);
}

size_t unit_resolver_text_bytes(const struct unit_resolver *resolver)
{
	return resolver->strings.arena.total_bytes;
}

void unit_resolver_deinit(struct unit_resolver *resolver)
{
	strtab_deinit(&resolver->strings);
	vec_deinit(&resolver->functions);
	map_deinit(&resolver->by_die);
	map_deinit(&resolver->paths);
	dwarf_scopes_deinit(&resolver->scopes);
	dwarf_walk_deinit(&resolver->walk);
	vec_deinit(&resolver->places);
	vec_deinit(&resolver->nodes);
	vec_deinit(&resolver->rows);
	vec_deinit(&resolver->chain);
	*resolver = (struct unit_resolver){0};
}

#include "report/name/namesakes.h"

#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/path.h"

enum {
	WHOLE_PATH = 6, /* parts, which are as good as all */
	NO_NAME = 0,
};

/* ---- places ---- */

struct place {
	const char *file; /* NULL: it is not known */
	uint32_t line;
};

static struct place place_of(const struct profile_function *function)
{
	const char *file = profile_function_declared_in(function);
	return (struct place){
		file && !function->is_script ? path_last_part(file) : file, function->line};
}

static bool are_of_one_place(const struct profile_function *a, const struct profile_function *b)
{
	struct place at = place_of(a), other = place_of(b);
	if (!at.file || !other.file)
		return !a->is_script || (!at.file && !other.file);
	return at.line == other.line && strcmp(at.file, other.file) == 0;
}

/* ---- all functions of a name ---- */

struct named {
	uint32_t first;
	uint32_t placed; /* 1 + the first one whose place is known, or of scripts any; 0: none */
	bool is_several; /* they have several places */
};

/* Those of each name and object; of NO_NAME those without a symbol. */
struct names {
	VEC(struct named) list;
	uint32_t *of; /* of each function */
	uint64_t seed;
};

static void namesakes_note(
	struct named *named, const struct profile_function *functions, uint32_t i)
{
	const struct profile_function *function = &functions[i];
	if (!function->is_script && !place_of(function).file)
		return;
	if (!named->placed)
		named->placed = i + 1;
	named->is_several |= !are_of_one_place(function, &functions[named->placed - 1]);
}

static uint64_t namesakes_hash(const struct names *names, const char *text)
{
	return map_hash_bytes(text, strlen(text), names->seed);
}

static void named_all_init(
	struct names *names, const struct profile_function *functions, size_t count)
{
	struct map by_name = {0};
	*names = (struct names){
		.of = mem_zalloc_array(count, sizeof(*names->of)), .seed = map_random_seed()};
	vec_push(&names->list, (struct named){0});
	for (uint32_t i = 0; i < count; i++) {
		if (!functions[i].is_known)
			continue;
		bool added;
		uint64_t *index = map_put(&by_name,
			namesakes_hash(names, functions[i].name) + functions[i].object, &added);
		if (added) {
			*index = names->list.len;
			vec_push(&names->list, (struct named){.first = i});
		}
		names->of[i] = (uint32_t)*index;
		namesakes_note(&names->list.data[*index], functions, i);
	}
	map_deinit(&by_name);
}

static void named_all_deinit(struct names *names)
{
	vec_deinit(&names->list);
	mem_free(names->of);
}

/* Of several places each is a group, and so are those of which none is known. */
static uint64_t group_key(
	const struct names *names, const struct profile_function *function, uint32_t name)
{
	struct place place = {0};
	if (names->list.data[name].is_several)
		place = place_of(function);
	uint64_t hash = place.file ? namesakes_hash(names, place.file) + place.line : 0;
	return map_mix(hash + name);
}

static uint32_t *group_names(
	const struct names *names, const struct profile_function *functions, size_t count)
{
	uint32_t *groups = mem_zalloc_array(count, sizeof(*groups));
	struct map first = {0}; /* of those of several places */
	for (uint32_t i = 0; i < count; i++) {
		const struct named *named = &names->list.data[names->of[i]];
		groups[i] = i;
		if (names->of[i] == NO_NAME)
			continue;
		if (!named->is_several) {
			groups[i] = named->first;
			continue;
		}
		bool added;
		uint64_t *group =
			map_put(&first, group_key(names, &functions[i], names->of[i]), &added);
		if (added)
			*group = i;
		groups[i] = (uint32_t)*group;
	}
	map_deinit(&first);
	return groups;
}

uint32_t *namesakes_group(const struct profile_function *functions, size_t count)
{
	struct names names;
	named_all_init(&names, functions, count);
	uint32_t *groups = group_names(&names, functions, count);
	named_all_deinit(&names);
	return groups;
}

/* ---- what tells them apart ---- */

static const char *end_of_path(const char *path, unsigned nr_parts)
{
	return nr_parts >= WHOLE_PATH ? path : path_last_parts(path, nr_parts);
}

static uint64_t shown_key(const struct names *names, const struct profile_function *function,
	uint32_t name, uint8_t nr_parts)
{
	uint64_t hash = name;
	if (nr_parts)
		hash += namesakes_hash(names, end_of_path(function->file, nr_parts)) +
			place_of(function).line;
	return map_mix(hash);
}

struct key_search {
	const struct profile_function *functions;
	size_t count;
	const struct names *names;
	uint8_t *nr_parts;
	uint64_t *keys; /* by function: hashes of what is shown of it */
};

enum {
	SEVERAL = UINT32_MAX, /* functions of one key */
};

static bool has_key(const struct key_search *search, size_t i, uint8_t nr_parts)
{
	return search->names->list.data[search->names->of[i]].is_several &&
	       search->nr_parts[i] == nr_parts && place_of(&search->functions[i]).file;
}

/* For each key the function that it is of, or SEVERAL. */
static void assign_keys(struct key_search *search, uint8_t nr_parts, struct map *of_key)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct profile_function *function = &search->functions[i];
		if (!has_key(search, i, nr_parts))
			continue;
		search->keys[i] =
			shown_key(search->names, function, search->names->of[i], nr_parts);
		bool added;
		uint64_t *other = map_put(of_key, search->keys[i], &added);
		if (added)
			*other = i;
		else if (*other != SEVERAL &&
			 !are_of_one_place(function, &search->functions[*other]))
			*other = SEVERAL;
	}
}

/* Those that as many parts do not tell apart get one more. False: there were none. */
static bool add_part(struct key_search *search, uint8_t nr_parts)
{
	struct map of_key = {0};
	bool has_any = false;
	assign_keys(search, nr_parts, &of_key);
	for (size_t i = 0; i < search->count; i++) {
		/* The name alone tells none of several apart. */
		if (!has_key(search, i, nr_parts) ||
			(nr_parts && *map_get(&of_key, search->keys[i]) != SEVERAL))
			continue;
		search->nr_parts[i]++;
		has_any = true;
	}
	map_deinit(&of_key);
	return has_any;
}

static uint8_t *namesakes_find_parts(
	const struct names *names, const struct profile_function *functions, size_t count)
{
	CLEANUP_FREE uint64_t *keys = mem_zalloc_array(count, sizeof(*keys));
	struct key_search search = {
		functions, count, names, mem_zalloc_array(count, sizeof(*search.nr_parts)), keys};
	for (uint8_t i = 0; i < WHOLE_PATH && add_part(&search, i); i++)
		;
	return search.nr_parts;
}

uint8_t *namesakes_find(const struct profile_function *functions, size_t count, uint32_t **groups)
{
	struct names names;
	named_all_init(&names, functions, count);
	uint8_t *nr_parts = namesakes_find_parts(&names, functions, count);
	if (groups)
		*groups = group_names(&names, functions, count);
	named_all_deinit(&names);
	return nr_parts;
}

void namesakes_put_place(const struct profile_function *function, uint8_t nr_parts, struct str *out)
{
	if (!nr_parts)
		return;
	str_printf(out, " (%s", end_of_path(function->file, nr_parts));
	uint32_t line = place_of(function).line;
	if (line)
		str_printf(out, ":%u", line);
	str_putc(out, ')');
}

void namesakes_put_name(const struct profile_function *function, uint8_t nr_parts, struct str *out)
{
	str_puts(out, function->name);
	namesakes_put_place(function, nr_parts, out);
}

bool namesakes_are_shown_as(const struct profile_function *function, const char *shown)
{
	CLEANUP(str_deinit) struct str text = {0};
	size_t len = strlen(function->name);
	if (strncmp(shown, function->name, len) != 0 || shown[len] != ' ' ||
		!place_of(function).file)
		return false;
	for (unsigned i = 1; i <= WHOLE_PATH; i++) {
		str_truncate(&text, 0);
		namesakes_put_name(function, (uint8_t)i, &text);
		if (strcmp(str_text(&text), shown) == 0)
			return true;
	}
	return false;
}

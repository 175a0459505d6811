#include "report/name/namesakes.h"

#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"

enum {
	WHOLE_PATH = 6, /* parts, which are as good as all */
};

bool namesakes_have_place(
	const struct profile_object *objects, const struct profile_function *function)
{
	return function->file && objects[function->object].info.kind == LAYOUT_OBJECT_SCRIPT;
}

bool namesakes_are_one(const struct profile_object *objects, const struct profile_function *a,
	const struct profile_function *b)
{
	if (a->object != b->object || strcmp(a->name, b->name) != 0)
		return false;
	bool has_place = namesakes_have_place(objects, a);
	if (has_place != namesakes_have_place(objects, b))
		return false;
	return !has_place || (a->line == b->line && strcmp(a->file, b->file) == 0);
}

uint32_t *namesakes_group(const struct profile_object *objects,
	const struct profile_function *functions, size_t count)
{
	uint32_t *groups = mem_zalloc_array(count, sizeof(*groups));
	uint64_t seed = map_random_seed();
	struct map newest = {0}; /* hash -> function + 1 */
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_function *function = &functions[i];
		groups[i] = i;
		if (!function->is_known) /* each address is one function already */
			continue;
		uint64_t hash = map_hash_bytes(function->name, strlen(function->name), seed);
		if (namesakes_have_place(objects, function))
			hash += map_hash_bytes(function->file, strlen(function->file), seed) +
				function->line;
		uint64_t *known = map_put(&newest, hash + function->object, NULL);
		const struct profile_function *other = *known ? &functions[*known - 1] : NULL;
		if (other && namesakes_are_one(objects, other, function))
			groups[i] = (uint32_t)*known - 1;
		if (!*known)
			*known = i + 1;
	}
	map_deinit(&newest);
	return groups;
}

/* The end of a path that has so many parts; of fewer, all of it. */
static const char *end_of_path(const char *path, unsigned nr_parts)
{
	if (nr_parts >= WHOLE_PATH)
		return path;
	const char *at = path + strlen(path);
	while (at > path && (at[-1] != '/' || --nr_parts))
		at--;
	return at;
}

/* What is shown of it. */
static void namesakes_put_key(
	const struct profile_function *function, uint8_t nr_parts, struct str *key)
{
	str_truncate(key, 0);
	str_printf(key, "%u:%s", function->object, function->name);
	str_putc(key, '\0');
	if (nr_parts)
		str_printf(key, "%u:%s", function->line, end_of_path(function->file, nr_parts));
}

struct key_search {
	const struct profile_object *objects;
	const struct profile_function *functions;
	size_t count;
	uint8_t *nr_parts;
	uint32_t *keys; /* by function */
};

enum {
	SEVERAL = UINT32_MAX, /* functions of one key */
};

static bool has_key(const struct key_search *search, size_t i, uint8_t nr_parts)
{
	return search->nr_parts[i] == nr_parts &&
	       namesakes_have_place(search->objects, &search->functions[i]);
}

/* For each key the function that it is of, or SEVERAL. */
static void assign_keys(struct key_search *search, uint8_t nr_parts, struct map *of_key)
{
	CLEANUP(str_deinit) struct str key = {0};
	struct strtab texts = {0};
	for (size_t i = 0; i < search->count; i++) {
		const struct profile_function *function = &search->functions[i];
		if (!has_key(search, i, nr_parts))
			continue;
		namesakes_put_key(function, nr_parts, &key);
		search->keys[i] = strtab_intern(&texts, str_text(&key), key.len);
		bool added;
		uint64_t *other = map_put(of_key, search->keys[i], &added);
		if (added)
			*other = i;
		else if (*other != SEVERAL &&
			 !namesakes_are_one(search->objects, function, &search->functions[*other]))
			*other = SEVERAL;
	}
	strtab_deinit(&texts);
}

/* Those that as many parts do not tell apart get one more. False: there were none. */
static bool add_part(struct key_search *search, uint8_t nr_parts)
{
	struct map of_key = {0};
	bool has_any = false;
	assign_keys(search, nr_parts, &of_key);
	for (size_t i = 0; i < search->count; i++) {
		if (!has_key(search, i, nr_parts) || *map_get(&of_key, search->keys[i]) != SEVERAL)
			continue;
		search->nr_parts[i]++;
		has_any = true;
	}
	map_deinit(&of_key);
	return has_any;
}

uint8_t *namesakes_find(const struct profile_object *objects,
	const struct profile_function *functions, size_t count)
{
	CLEANUP_FREE uint32_t *keys = mem_zalloc_array(count, sizeof(*keys));
	struct key_search search = {
		objects, functions, count, mem_zalloc_array(count, sizeof(*search.nr_parts)), keys};
	for (uint8_t i = 0; i < WHOLE_PATH && add_part(&search, i); i++)
		;
	return search.nr_parts;
}

void namesakes_put_name(const struct profile_function *function, uint8_t nr_parts, struct str *out)
{
	str_puts(out, function->name);
	if (!nr_parts)
		return;
	str_printf(out, " (%s", end_of_path(function->file, nr_parts));
	if (function->line)
		str_printf(out, ":%u", function->line);
	str_putc(out, ')');
}

bool namesakes_are_shown_as(const struct profile_object *objects,
	const struct profile_function *function, const char *shown)
{
	CLEANUP(str_deinit) struct str text = {0};
	size_t len = strlen(function->name);
	if (strncmp(shown, function->name, len) != 0 || shown[len] != ' ' ||
		!namesakes_have_place(objects, function))
		return false;
	for (unsigned i = 1; i <= WHOLE_PATH; i++) {
		str_truncate(&text, 0);
		namesakes_put_name(function, (uint8_t)i, &text);
		if (strcmp(str_text(&text), shown) == 0)
			return true;
	}
	return false;
}

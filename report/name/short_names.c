#include "report/name/short_names.h"

#include <string.h>

#include "report/name/demangle/demangle.h"
#include "report/name/demangle/demangle_collapse.h"

/* What was inlined may have no other name than the one that debug information spells out. */
static bool short_names_shorten(const struct profile_function *function, struct str *out)
{
	if (demangle(function->system_name, DEMANGLE_SIMPLIFIED, out))
		return true;
	const char *name = function->system_name; /* a namesake's without its place */
	demangle_collapse_fn *collapse =
		name[0] == '<' ? demangle_collapse_rust : demangle_collapse_cplus;
	return collapse(name, strlen(name), false, out) && out->len;
}

static bool short_names_is_short(const struct profile_function *function)
{
	return !strpbrk(function->name, "<(");
}

bool short_names_put(const struct profile_function *function, struct str *out)
{
	return !short_names_is_short(function) && short_names_shorten(function, out);
}

const char *short_names_get(
	struct short_names *names, const struct profile_function *functions, uint32_t function)
{
	const struct profile_function *it = &functions[function];
	if (short_names_is_short(it))
		return it->name;
	bool added;
	uint64_t *known = map_put(&names->known, function, &added);
	if (added) {
		CLEANUP(str_deinit) struct str text = {0};
		const char *name = it->name;
		if (short_names_shorten(it, &text))
			name = arena_strndup(&names->arena, text.data, text.len);
		*known = (uint64_t)(uintptr_t)name;
	}
	return (const char *)(uintptr_t)*known;
}

void short_names_deinit(struct short_names *names)
{
	map_deinit(&names->known);
	arena_deinit(&names->arena);
	*names = (struct short_names){0};
}

#include "report/name/distinct_names.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "report/name/short_names.h"

enum {
	ALIKE_MAX = 64, /* names that are shown alike: of more, differences do not help */
};

static const char delimiters[] = "<>(){}, ", scope_marks[] = ":./\\";

void distinct_names_deinit(struct distinct_names *names)
{
	vec_each(&names->names, name) {
		mem_free(name->shown);
		str_deinit(&name->difference);
	}
	vec_deinit(&names->names);
}

void distinct_names_add(
	struct distinct_names *names, const struct profile_function *function, const char *shown)
{
	if (function->name[0] == '[')
		return;
	struct distinct_name name = {.function = function, .shown = mem_strdup(shown)};
	vec_push(&names->names, name);
}

static int compare_shown_names(const void *a, const void *b)
{
	const struct distinct_name *x = a, *y = b;
	int order = strcmp(x->shown, y->shown);
	return order ? order : strcmp(x->function->name, y->function->name);
}

static int compare_named_functions(const void *a, const void *b)
{
	const struct distinct_name *x = a, *y = b;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* Of a function that is shown as several names the one that needs the most comes first. */
static int compare_differences(const void *a, const void *b)
{
	const struct distinct_name *x = a, *y = b;
	int order = compare_named_functions(a, b);
	if (order || x->difference.len == y->difference.len)
		return order ? order : strcmp(x->shown, y->shown);
	return x->difference.len > y->difference.len ? -1 : 1;
}

/* In order; the same difference wherever the function is shown. */
static void keep_one_of_each(struct distinct_names *names)
{
	struct distinct_name *all = names->names.data;
	size_t kept = 0;
	qsort(all, names->names.len, sizeof(*all), compare_differences);
	for (size_t i = 0; i < names->names.len; i++) {
		if (kept && all[kept - 1].function == all[i].function) {
			mem_free(all[i].shown);
			str_deinit(&all[i].difference);
		} else {
			all[kept++] = all[i];
		}
	}
	names->names.len = kept;
}

/* What stands between the delimiters of a name. */
struct name_word {
	const char *text;
	size_t len;
};

/* The next one; len 0: there is none. */
static struct name_word next_name_word(const char **at)
{
	*at += strspn(*at, delimiters);
	struct name_word word = {*at, strcspn(*at, delimiters)};
	*at += word.len;
	return word;
}

static bool is_same_word(struct name_word a, struct name_word b)
{
	return a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

/* Without the end that is shown already: of app::deep::work, shown as work, "app::deep". */
static struct name_word without_shown_end(struct name_word word, const char *shown)
{
	size_t len = strlen(shown);
	if (word.len >= len && memcmp(word.text + word.len - len, shown, len) == 0)
		for (word.len -= len; word.len && strchr(scope_marks, word.text[word.len - 1]);)
			word.len--;
	return word;
}

/* How many bytes of scopes all of them begin with. */
static size_t common_scopes(const struct name_word *words, size_t count)
{
	size_t common = 0;
	for (size_t at = 0; at < words[0].len; at++) {
		for (size_t i = 1; i < count; i++)
			if (at >= words[i].len || words[i].text[at] != words[0].text[at])
				return common;
		if (strchr(scope_marks, words[0].text[at]))
			common = at + 1;
	}
	return common;
}

/*
 * Words at one place of all names; those alike so far, which differ in it, get it, without what
 * they have in common there.
 */
static void add_differing_words(
	struct distinct_name *const *names, const struct name_word *words, size_t count)
{
	struct name_word differing[ALIKE_MAX] = {{0}};
	size_t nr_differing = 0;
	bool differs[ALIKE_MAX] = {0};
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count && !differs[i]; j++)
			differs[i] = strcmp(str_text(&names[i]->difference),
					     str_text(&names[j]->difference)) == 0 &&
				     !is_same_word(words[i], words[j]);
	for (size_t i = 0; i < count; i++)
		if (differs[i] && words[i].len)
			differing[nr_differing++] = without_shown_end(words[i], names[i]->shown);
	size_t common = nr_differing ? common_scopes(differing, nr_differing) : 0;
	for (size_t i = 0, at = 0; i < count; i++) {
		if (!differs[i] || !words[i].len)
			continue;
		struct name_word word = differing[at++];
		if (word.len)
			str_printf(&names[i]->difference, "%s%.*s",
				names[i]->difference.len ? "," : "", (int)(word.len - common),
				word.text + common);
	}
}

/* Of functions of different names, one of each. */
static void find_differences(struct distinct_name *const *names, size_t count)
{
	const char *at[ALIKE_MAX];
	struct name_word words[ALIKE_MAX];
	for (size_t i = 0; i < count; i++)
		at[i] = names[i]->function->name;
	for (bool has_any = true; has_any;) {
		has_any = false;
		for (size_t i = 0; i < count; i++) {
			words[i] = next_name_word(&at[i]);
			has_any |= words[i].len > 0;
		}
		add_differing_words(names, words, count);
	}
}

/* Those that are shown alike, by name. */
static void tell_names_apart(struct distinct_name *alike, size_t count)
{
	struct distinct_name *firsts[ALIKE_MAX];
	size_t nr_firsts = 0;
	for (size_t i = 0; i < count; i++) {
		bool is_first =
			!i || strcmp(alike[i].function->name, alike[i - 1].function->name) != 0;
		if (is_first && nr_firsts == ALIKE_MAX)
			return;
		if (is_first)
			firsts[nr_firsts++] = &alike[i];
	}
	if (nr_firsts < 2)
		return;
	find_differences(firsts, nr_firsts);
	for (size_t i = 1; i < count; i++)
		if (strcmp(alike[i].function->name, alike[i - 1].function->name) == 0)
			str_puts(&alike[i].difference, str_text(&alike[i - 1].difference));
}

void distinct_names_find(struct distinct_names *names)
{
	struct distinct_name *all = names->names.data;
	size_t count = names->names.len;
	if (!count)
		return;
	qsort(all, count, sizeof(*all), compare_shown_names);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && strcmp(all[end].shown, all[first].shown) == 0;
			end++)
			;
		tell_names_apart(all + first, end - first);
	}
	keep_one_of_each(names);
}

const char *distinct_names_of(
	const struct distinct_names *names, const struct profile_function *function)
{
	struct distinct_name key = {.function = function};
	const struct distinct_name *name =
		names->names.len ? bsearch(&key, names->names.data, names->names.len, sizeof(key),
					   compare_named_functions)
				 : NULL;
	return name ? str_text(&name->difference) : "";
}

/* ---- names in their room ---- */

static bool fits_name_room(const void *context, const char *name)
{
	const struct name_room *room = context;
	return room->columns_of(room->context, name) <= room->columns;
}

void distinct_names_add_fitting(struct distinct_names *names,
	const struct profile_function *function, const struct name_room *room)
{
	CLEANUP(str_deinit) struct str storage = {0};
	distinct_names_add(
		names, function, short_names_fit(function, fits_name_room, room, &storage));
}

void distinct_names_put_fitting(const struct distinct_names *names,
	const struct profile_function *function, const struct name_room *room)
{
	enum {
		SHARE = 2, /* what the difference gets where there is no room for both */
		LEAST = 7, /* columns: less of one says nothing */
	};
	CLEANUP(str_deinit) struct str storage = {0}, braced = {0};
	const char *difference = names ? distinct_names_of(names, function) : "";
	if (difference[0])
		str_printf(&braced, " {%s}", difference);
	size_t wanted = room->columns_of(room->context, str_text(&braced));
	struct name_room rest = *room;
	size_t most = room->columns / SHARE;
	if (wanted) {
		rest.columns = 0; /* the shortest name */
		size_t shortest = room->columns_of(
			room->context, short_names_fit(function, fits_name_room, &rest, &storage));
		if (wanted > most && shortest + wanted > room->columns)
			wanted = most < LEAST ? 0 : most;
		if (shortest + wanted > room->columns && room->columns - wanted < LEAST)
			wanted = 0;
	}
	rest.columns = room->columns - wanted;
	const char *name = short_names_fit(function, fits_name_room, &rest, &storage);
	size_t columns = room->columns_of(room->context, name);
	room->put(room->context, name, rest.columns);
	if (!wanted)
		return;
	columns = columns < rest.columns ? columns : rest.columns;
	room->put(room->context, str_text(&braced), room->columns - columns);
}

#include "report/compare/function_match.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/path.h"
#include "report/compare/unnamed_match.h"
#include "report/name/demangle/demangle.h"

/* ---- objects ---- */

static const char *function_match_name_of(const struct profile_object *object)
{
	return object->name ? path_last_part(object->name) : "";
}

static void note_build(
	struct function_match *match, struct match_object *name, const struct layout_object *info)
{
	uint64_t build = info->build_id_len
				 ? map_hash_bytes(info->build_id, info->build_id_len, match->seed)
				 : 0;
	if (!build || (name->build && name->build != build))
		name->has_builds = true;
	name->build = build;
}

static void note_objects(
	struct function_match *match, enum match_side side, const struct profile *profile)
{
	match->of[side] = mem_zalloc_array(profile->objects.len, sizeof(**match->of));
	for (size_t i = 0; i < profile->objects.len; i++) {
		const struct profile_object *object = &profile->objects.data[i];
		uint32_t id = strtab_intern(&match->objects, function_match_name_of(object),
			strlen(function_match_name_of(object)));
		match->of[side][i] = id;
		if (id == match->list.len)
			vec_push(&match->list, (struct match_object){.other = id});
		if (i && !object->is_used)
			continue;
		match->list.data[id].sides |= 1U << side;
		note_build(match, &match->list.data[id], &object->info);
	}
}

/* How many bytes of a version, "3.11" or "-2.36", end at `len`; a bare "12" is part of a name. */
static size_t version_length(const char *name, size_t len)
{
	size_t start = len;
	while (start && (isdigit((unsigned char)name[start - 1]) || name[start - 1] == '.'))
		start--;
	if (start == len || !isdigit((unsigned char)name[start]))
		return 0;
	if (start && name[start - 1] == '-')
		return len - start + 1;
	return memchr(name + start, '.', len - start) ? len - start : 0;
}

/* libssl.so.3, libc-2.36.so, python3.11 and clang-14 without the numbers. */
static void put_bare_name(const char *name, struct str *out)
{
	size_t len = strlen(name);
	const char *so = strstr(name, ".so");
	if (so && (so[3] == '.' || !so[3])) {
		size_t stem = (size_t)(so - name);
		str_write(out, name, stem - version_length(name, stem));
		str_puts(out, ".so");
		return;
	}
	str_write(out, name, len - version_length(name, len));
}

struct bare_name {
	uint32_t counts[MATCH_SIDES], ids[MATCH_SIDES];
};

static void make_one(struct function_match *match, uint32_t base, uint32_t new)
{
	match->list.data[base].other = new;
	match->list.data[new].has_builds = true;
}

static bool has_only(const struct function_match *match, uint32_t id, enum match_side side)
{
	return match->list.data[id].sides == 1U << side && match->list.data[id].other == id;
}

/* Names that only one side has are the other's where nothing but the version differs. */
static void match_versions(struct function_match *match)
{
	struct strtab bare = {0};
	VEC(struct bare_name) list = {0};
	for (uint32_t id = 0; id < match->list.len; id++) {
		const char *name = strtab_get(&match->objects, id);
		bool is_base = has_only(match, id, MATCH_BASE);
		if ((!is_base && !has_only(match, id, MATCH_NEW)) || name[0] == '[')
			continue;
		CLEANUP(str_deinit) struct str text = {0};
		put_bare_name(name, &text);
		uint32_t at = strtab_intern(&bare, str_text(&text), text.len);
		if (at == list.len)
			vec_push(&list, (struct bare_name){0});
		enum match_side side = is_base ? MATCH_BASE : MATCH_NEW;
		list.data[at].counts[side]++;
		list.data[at].ids[side] = id;
	}
	vec_each(&list, it) {
		if (it->counts[MATCH_BASE] != 1 || it->counts[MATCH_NEW] != 1)
			continue;
		make_one(match, it->ids[MATCH_BASE], it->ids[MATCH_NEW]);
	}
	vec_deinit(&list);
	strtab_deinit(&bare);
}

/* "app-old" and "app-new": the programs themselves are one, also under other names. */
static void match_programs(struct function_match *match)
{
	uint32_t ids[MATCH_SIDES];
	for (int side = 0; side < MATCH_SIDES; side++) {
		uint32_t program = profile_main_program(match->profiles[side]);
		ids[side] = match->of[side][program];
		if (!program || !has_only(match, ids[side], (enum match_side)side))
			return;
	}
	make_one(match, ids[MATCH_BASE], ids[MATCH_NEW]);
}

static void match_unnamed(struct function_match *match)
{
	struct unnamed_side sides[MATCH_SIDES];
	uint32_t *objects[MATCH_SIDES];
	for (int side = 0; side < MATCH_SIDES; side++) {
		size_t count = match->profiles[side]->objects.len;
		objects[side] = mem_zalloc_array(count, sizeof(**objects));
		for (uint32_t i = 0; i < count; i++) {
			uint32_t id = function_match_object(match, (enum match_side)side, i);
			objects[side][i] = match->list.data[id].has_builds ? id : UNNAMED_ONE_BUILD;
		}
		sides[side] = (struct unnamed_side){match->profiles[side], objects[side]};
	}
	unnamed_match(sides, match->unnamed);
	mem_free(objects[MATCH_BASE]);
	mem_free(objects[MATCH_NEW]);
}

uint32_t function_match_object(
	const struct function_match *match, enum match_side side, uint32_t object)
{
	return match->list.data[match->of[side][object]].other;
}

bool function_match_has_builds(
	const struct function_match *match, enum match_side side, uint32_t object)
{
	return match->list.data[function_match_object(match, side, object)].has_builds;
}

/* ---- functions ---- */

/* Whether names of its language have dots, as main.cold of package main: no compiler put it there.
 */
static bool has_dotted_name(const struct profile_function *function)
{
	static const char *const ends[] = {".go", ".zig", ".odin"};
	const char *end = function->file ? strrchr(function->file, '.') : NULL;
	for (size_t i = 0; end && i < sizeof(ends) / sizeof(*ends); i++)
		if (strcmp(end, ends[i]) == 0)
			return true;
	return function->is_script;
}

/* Without what tells clones apart; it stands behind the demangled name as behind the mangled. */
static size_t own_length(const struct profile_function *function)
{
	size_t len = strlen(function->name);
	if (has_dotted_name(function))
		return len;
	size_t suffix = demangle_suffix_length(function->system_name);
	size_t system = strlen(function->system_name) - suffix;
	bool is_kept = suffix < len &&
		       strcmp(function->name + len - suffix, function->system_name + system) == 0;
	return is_kept ? len - suffix : len;
}

/* Lines move when a file is edited: functions without a name, of one that made its text, are one.
 */
static bool match_nameless(const struct profile *profile, const struct profile_function *function)
{
	unsigned line;
	return profile->objects.data[function->object].info.kind == LAYOUT_OBJECT_SCRIPT &&
	       sscanf(function->name, LAYOUT_NAMELESS_AT_LINE, &line) == 1;
}

/* Whether its object is of another build on the other side, where its address says nothing. */
static bool is_of_builds(const struct function_match *match, enum match_side side, uint32_t number)
{
	const struct profile_function *function = &match->profiles[side]->functions.data[number];
	return function->object && !function->is_known &&
	       function_match_has_builds(match, side, function->object);
}

/* One that has no symbol, of another build. */
static void function_match_put_unnamed(const struct function_match *match, enum match_side side,
	uint32_t number, const char *object, struct str *out)
{
	uint32_t other = match->unnamed[side] ? match->unnamed[side][number] : 0;
	uint32_t numbers[MATCH_SIDES] = {number, number};
	if (!other) {
		str_printf(out, "%s [no symbol]", object);
		return;
	}
	numbers[!side] = other - 1;
	const struct profile_function *base =
		&match->profiles[MATCH_BASE]->functions.data[numbers[MATCH_BASE]];
	const struct profile_function *new =
		&match->profiles[MATCH_NEW]->functions.data[numbers[MATCH_NEW]];
	str_puts(out, new->name);
	if (strcmp(new->name, base->name) != 0)
		str_printf(out, ", was %s", profile_function_own_name(base));
}

/* "object\0name". Addresses say nothing about another build. */
static void function_match_put_name(
	const struct function_match *match, enum match_side side, uint32_t number, struct str *out)
{
	const struct profile_function *function = &match->profiles[side]->functions.data[number];
	uint32_t id = function_match_object(match, side, function->object);
	const char *object = strtab_get(&match->objects, id);
	str_write(out, object, strlen(object) + 1);
	if (is_of_builds(match, side, number))
		function_match_put_unnamed(match, side, number, object, out);
	else if (match_nameless(match->profiles[side], function))
		str_puts(out, LAYOUT_NAMELESS);
	else
		str_write(out, function->name, own_length(function));
}

static uint32_t intern_name(struct function_match *match, enum match_side side, uint32_t function)
{
	str_truncate(&match->key, 0);
	function_match_put_name(match, side, function, &match->key);
	return strtab_intern(&match->names, match->key.data, match->key.len);
}

struct named_file {
	uint32_t name;
	bool is_script;
	const char *file;
};

static int by_name_and_end(const void *a, const void *b)
{
	const struct named_file *one = a, *other = b;
	if (one->name != other->name)
		return one->name < other->name ? -1 : 1;
	return path_compare_ends(one->file, other->file);
}

/*
 * How many parts tell two files apart, from the last one on; 0: they are one. Native code is told
 * apart by the last part alone, as compilers write the path of one header in several ways.
 */
static uint8_t parts_that_differ(const struct named_file *a, const struct named_file *b)
{
	return a->is_script ? path_parts_that_differ(a->file, b->file)
			    : strcmp(path_last_part(a->file), path_last_part(b->file)) != 0;
}

struct named_files {
	struct named_file *data;
	size_t len, cap;
};

/* What has most of its end in common stands side by side. */
static void tell_files_apart(struct function_match *match, struct named_files *files)
{
	if (files->len)
		qsort(files->data, files->len, sizeof(*files->data), by_name_and_end);
	for (size_t i = 1; i < files->len; i++) {
		const struct named_file *file = &files->data[i];
		struct match_name *name = &match->of_name.data[file->name];
		if (file[-1].name != file->name)
			continue;
		uint8_t nr_parts = parts_that_differ(file - 1, file);
		if (nr_parts > name->nr_parts)
			name->nr_parts = nr_parts;
	}
}

static void note_files(struct function_match *match, enum match_side side)
{
	const struct profile *profile = match->profiles[side];
	struct named_files files = {0};
	for (uint32_t i = 0; i < profile->functions.len; i++) {
		const struct profile_function *function = &profile->functions.data[i];
		struct named_file file = {intern_name(match, side, i), function->is_script,
			profile_function_declared_in(function)};
		if (file.name == match->of_name.len)
			vec_push(&match->of_name, (struct match_name){0});
		if (file.file)
			vec_push(&files, file);
		else
			match->of_name.data[file.name].lacks_file = true;
	}
	tell_files_apart(match, &files);
	vec_deinit(&files);
}

uint32_t function_match_id(struct function_match *match, enum match_side side, uint32_t function)
{
	const struct match_name *name = &match->of_name.data[intern_name(match, side, function)];
	if (name->nr_parts && !name->lacks_file) {
		const char *file = profile_function_declared_in(
			&match->profiles[side]->functions.data[function]);
		str_putc(&match->key, '\0');
		str_puts(&match->key, path_last_parts(file, name->nr_parts));
	}
	return strtab_intern(&match->functions, match->key.data, match->key.len);
}

/* ---- both sides ---- */

void function_match_init(
	struct function_match *match, const struct profile *base, const struct profile *new)
{
	*match = (struct function_match){.profiles = {base, new}, .seed = map_random_seed()};
	note_objects(match, MATCH_BASE, base);
	note_objects(match, MATCH_NEW, new);
	match_versions(match);
	match_programs(match);
	match_unnamed(match);
	note_files(match, MATCH_BASE);
	note_files(match, MATCH_NEW);
}

void function_match_deinit(struct function_match *match)
{
	strtab_deinit(&match->functions);
	strtab_deinit(&match->names);
	vec_deinit(&match->of_name);
	strtab_deinit(&match->objects);
	str_deinit(&match->key);
	vec_deinit(&match->list);
	mem_free(match->of[MATCH_BASE]);
	mem_free(match->of[MATCH_NEW]);
	mem_free(match->unnamed[MATCH_BASE]);
	mem_free(match->unnamed[MATCH_NEW]);
}

const char *function_match_name(
	const struct function_match *match, uint32_t id, const char **object)
{
	*object = strtab_get(&match->functions, id);
	return *object + strlen(*object) + 1;
}

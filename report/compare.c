#include "report/compare.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/demangle/demangle.h"

/* ---- objects ---- */

struct object_name {
	unsigned sides;  /* bits: which have it */
	uint64_t build;  /* hash of the build ID of all objects that are called so, 0: none yet */
	bool has_builds; /* they are not all of one */
	uint32_t other;  /* in place of this name; itself where there is none */
};

/* Which objects of the two sides are the same file, perhaps of other versions. */
struct object_match {
	uint64_t seed;
	struct strtab names;
	VEC(struct object_name) list; /* by id of names */
	uint32_t *of[COMPARE_SIDES];  /* for each object the id */
};

static const char *name_of(const struct profile_object *object)
{
	return object->name ? object->name : "";
}

static void note_build(
	struct object_match *match, struct object_name *name, const struct layout_object *info)
{
	uint64_t build = info->build_id_len
				 ? map_hash_bytes(info->build_id, info->build_id_len, match->seed)
				 : 0;
	if (!build || (name->build && name->build != build))
		name->has_builds = true;
	name->build = build;
}

static void note_objects(struct object_match *match, int side, const struct profile *profile)
{
	match->of[side] = mem_zalloc_array(profile->objects.len, sizeof(**match->of));
	for (size_t i = 0; i < profile->objects.len; i++) {
		const struct profile_object *object = &profile->objects.data[i];
		uint32_t id =
			strtab_intern(&match->names, name_of(object), strlen(name_of(object)));
		match->of[side][i] = id;
		if (id == match->list.len)
			vec_push(&match->list, (struct object_name){.other = id});
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
	uint32_t counts[COMPARE_SIDES], ids[COMPARE_SIDES];
};

/* Names that only one side has are the other's where nothing but the version differs. */
static void match_versions(struct object_match *match)
{
	struct strtab bare = {0};
	VEC(struct bare_name) list = {0};
	for (uint32_t id = 0; id < match->list.len; id++) {
		const char *name = strtab_get(&match->names, id);
		unsigned sides = match->list.data[id].sides;
		if ((sides != 1U << COMPARE_BASE && sides != 1U << COMPARE_NEW) || name[0] == '[')
			continue;
		CLEANUP(str_deinit) struct str text = {0};
		put_bare_name(name, &text);
		uint32_t at = strtab_intern(&bare, str_text(&text), text.len);
		if (at == list.len)
			vec_push(&list, (struct bare_name){0});
		int side = sides == 1U << COMPARE_BASE ? COMPARE_BASE : COMPARE_NEW;
		list.data[at].counts[side]++;
		list.data[at].ids[side] = id;
	}
	vec_each(&list, it) {
		if (it->counts[COMPARE_BASE] != 1 || it->counts[COMPARE_NEW] != 1)
			continue;
		match->list.data[it->ids[COMPARE_BASE]].other = it->ids[COMPARE_NEW];
		match->list.data[it->ids[COMPARE_NEW]].has_builds = true;
	}
	vec_deinit(&list);
	strtab_deinit(&bare);
}

static void match_init(
	struct object_match *match, const struct profile *base, const struct profile *new)
{
	*match = (struct object_match){.seed = map_random_seed()};
	note_objects(match, COMPARE_BASE, base);
	note_objects(match, COMPARE_NEW, new);
	match_versions(match);
}

static void match_deinit(struct object_match *match)
{
	strtab_deinit(&match->names);
	vec_deinit(&match->list);
	mem_free(match->of[COMPARE_BASE]);
	mem_free(match->of[COMPARE_NEW]);
}

static const struct object_name *matched(
	const struct object_match *match, int side, uint32_t object, const char **name)
{
	uint32_t id = match->list.data[match->of[side][object]].other;
	*name = strtab_get(&match->names, id);
	return &match->list.data[id];
}

/* ---- functions ---- */

/* Without what tells clones apart; it stands behind the demangled name as behind the mangled. */
static size_t own_length(const struct profile_function *function)
{
	size_t len = strlen(function->name);
	size_t suffix = demangle_suffix_length(function->system_name);
	size_t system = strlen(function->system_name) - suffix;
	bool is_kept = suffix < len &&
		       strcmp(function->name + len - suffix, function->system_name + system) == 0;
	return is_kept ? len - suffix : len;
}

/* What the function is known by: "object\0name". Addresses say nothing about another build. */
static void put_key(const struct object_match *match, int side,
	const struct profile_function *function, struct str *out)
{
	const char *object;
	const struct object_name *name = matched(match, side, function->object, &object);
	str_write(out, object, strlen(object) + 1);
	if (function->object && !function->is_known && name->has_builds)
		str_printf(out, "%s [no symbol]", object);
	else
		str_write(out, function->name, own_length(function));
}

/* The group of each function that took any time, from 1 on; of the others 0. */
static uint32_t *find_groups(struct compare *compare, const struct object_match *match, int side,
	const struct compare_side *from)
{
	const struct profile *profile = from->profile;
	uint32_t *groups = mem_zalloc_array(profile->functions.len, sizeof(*groups));
	CLEANUP(str_deinit) struct str key = {0};
	for (size_t i = 1; i < from->tree->nodes.len; i++) {
		uint32_t function = from->tree->nodes.data[i].function;
		if (!from->weights[i].samples || groups[function])
			continue;
		const struct profile_function *it = &profile->functions.data[function];
		str_truncate(&key, 0);
		put_key(match, side, it, &key);
		uint32_t id = strtab_intern(&compare->names, key.data, key.len);
		groups[function] = id + 1;
		if (id < compare->rows.len)
			continue;
		struct compare_row row = {.name_id = id, .is_known = it->is_known};
		row.object = strtab_get(&compare->names, id);
		row.name = row.object + strlen(row.object) + 1;
		vec_push(&compare->rows, row);
	}
	return groups;
}

static void weigh(struct compare *compare, const struct object_match *match, int side,
	const struct compare_side *from)
{
	uint32_t *of = find_groups(compare, match, side, from);
	compare->rows_of[side] = of;
	struct tree_groups groups = {of, compare->rows.len + 1};
	struct function_weights weights;
	tree_weigh_groups(from->tree, from->weights, from->profile, &groups, &weights);
	vec_each(&weights, weight) {
		struct compare_row *row = &compare->rows.data[of[weight->function] - 1];
		*(side == COMPARE_NEW ? &row->frame : &row->base_frame) = weight->frame;
		*(side == COMPARE_NEW ? &row->new : &row->base) = (struct compare_value){
			.self = weight->self,
			.total = weight->total,
			.self_samples = weight->self_samples,
			.samples = weight->samples,
		};
	}
	vec_deinit(&weights);
}

static void set_markers_aside(struct compare *compare)
{
	size_t kept = 0;
	for (size_t i = 0; i < compare->rows.len; i++) {
		struct compare_row row = compare->rows.data[i];
		if (row.frame || row.base_frame)
			compare->rows.data[kept++] = row;
		else
			vec_push(&compare->markers, row);
	}
	compare->rows.len = kept;
}

static int compare_names(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->object, y->object);
}

/* From numbers of names to places of rows. */
static void number_rows(
	struct compare *compare, const struct compare_side *base, const struct compare_side *new)
{
	size_t lengths[] = {base->profile->functions.len, new->profile->functions.len};
	size_t count = compare->rows.len + compare->markers.len;
	CLEANUP_FREE uint32_t *numbers = mem_zalloc_array(count + 1, sizeof(*numbers));
	for (uint32_t i = 1; i <= count; i++)
		numbers[compare_row_of(compare, i)->name_id + 1] = i;
	for (int side = 0; side < COMPARE_SIDES; side++)
		for (size_t i = 0; i < lengths[side]; i++)
			compare->rows_of[side][i] = numbers[compare->rows_of[side][i]];
}

void compare_init(
	struct compare *compare, const struct compare_side *base, const struct compare_side *new)
{
	*compare = (struct compare){.base = base->whole, .new = new->whole};
	struct object_match match;
	match_init(&match, base->profile, new->profile);
	weigh(compare, &match, COMPARE_NEW, new);
	weigh(compare, &match, COMPARE_BASE, base);
	set_markers_aside(compare);
	if (compare->rows.len)
		qsort(compare->rows.data, compare->rows.len, sizeof(*compare->rows.data),
			compare_names);
	number_rows(compare, base, new);
	match_deinit(&match);
}

void compare_deinit(struct compare *compare)
{
	strtab_deinit(&compare->names);
	vec_deinit(&compare->rows);
	vec_deinit(&compare->markers);
	for (int side = 0; side < COMPARE_SIDES; side++)
		mem_free(compare->rows_of[side]);
}

const struct compare_row *compare_row_of(const struct compare *compare, uint32_t number)
{
	size_t rows = compare->rows.len;
	return number <= rows ? &compare->rows.data[number - 1]
			      : &compare->markers.data[number - 1 - rows];
}

/* ---- values ---- */

double compare_base_percent(
	const struct compare *compare, const struct compare_row *row, enum compare_metric metric)
{
	return profile_percent(
		metric == COMPARE_SELF ? row->base.self : row->base.total, compare->base.value);
}

double compare_new_percent(
	const struct compare *compare, const struct compare_row *row, enum compare_metric metric)
{
	return profile_percent(
		metric == COMPARE_SELF ? row->new.self : row->new.total, compare->new.value);
}

static double samples_of(const struct compare_value *value, enum compare_metric metric)
{
	return (double)(metric == COMPARE_SELF ? value->self_samples : value->samples);
}

/* The normal approximation of two proportions, squared: no root is needed. */
bool compare_is_significant(
	const struct compare *compare, const struct compare_row *row, enum compare_metric metric)
{
	static const double quantile = 3.841; /* of chi squared, one degree of freedom, 95 % */
	double all_base = (double)compare->base.samples, all_new = (double)compare->new.samples;
	if (all_base <= 0 || all_new <= 0)
		return false;
	double base = samples_of(&row->base, metric), new = samples_of(&row->new, metric);
	double pooled = (base + new) / (all_base + all_new);
	double difference = new / all_new - base / all_base;
	double variance = pooled * (1 - pooled) * (1 / all_base + 1 / all_new);
	return difference * difference > quantile * variance;
}

/* ---- what corresponds to what ---- */

static uint32_t find_object(const struct object_match *match, const struct profile *base,
	const struct profile *new, uint32_t object)
{
	const char *wanted, *name;
	uint32_t found = 0;
	matched(match, COMPARE_NEW, object, &wanted);
	for (uint32_t i = 1; i < base->objects.len; i++) {
		matched(match, COMPARE_BASE, i, &name);
		if (!base->objects.data[i].is_used || name != wanted)
			continue;
		if (strcmp(base->objects.data[i].path, new->objects.data[object].path) == 0)
			return i;
		found = found ? found : i;
	}
	return found;
}

uint32_t compare_find_object(const struct profile *base, const struct profile *new, uint32_t object)
{
	struct object_match match;
	match_init(&match, base, new);
	uint32_t found = find_object(&match, base, new, object);
	match_deinit(&match);
	return found;
}

uint32_t compare_find_frame(const struct profile *base, const struct profile *new, uint32_t frame)
{
	const struct profile_function *wanted =
		&new->functions.data[new->frames.data[frame].function];
	struct object_match match;
	match_init(&match, base, new);
	CLEANUP(str_deinit) struct str key = {0}, other = {0};
	put_key(&match, COMPARE_NEW, wanted, &key);
	uint32_t function = 0;
	for (uint32_t i = 1; i < base->functions.len; i++) {
		const struct profile_function *it = &base->functions.data[i];
		str_truncate(&other, 0);
		put_key(&match, COMPARE_BASE, it, &other);
		if (other.len != key.len || memcmp(other.data, key.data, key.len) != 0)
			continue;
		function = i;
		if (strcmp(it->name, wanted->name) == 0)
			break;
	}
	match_deinit(&match);
	for (uint32_t i = 1; function && i < base->frames.len; i++)
		if (base->frames.data[i].function == function)
			return i;
	return 0;
}

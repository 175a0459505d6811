#include "report/compare/comparability.h"

#include <string.h>

#include "format/base/mem.h"
#include "report/compare/function_match.h"
#include "report/model/main_event.h"
#include "report/model/slice.h"

static const char *comparability_find_meta(
	const struct profile_meta *meta, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(meta[i].key, key) == 0)
			return meta[i].value;
	return NULL;
}

/* Of each run; NULL where it is not known. */
static const char *meta_of(const struct profile *profile, size_t run, const char *key)
{
	if (!profile_nr_origins(profile))
		return profile_meta(profile, key);
	const struct profile_origin *origin = &profile->origins.data[run + 1];
	return comparability_find_meta(origin->meta, origin->info.nr_meta, key);
}

/* The first that differs from those of others, or NULL; *ret is the first that is known. */
static const char *find_other(const struct profile *profile, const char *key, const char **ret)
{
	size_t runs = profile_nr_origins(profile);
	for (size_t run = 0; run < (runs ? runs : 1); run++) {
		const char *value = meta_of(profile, run, key);
		if (value && *ret && strcmp(value, *ret) != 0)
			return value;
		*ret = *ret ? *ret : value;
	}
	return NULL;
}

static struct err *check_meta(const struct profile *base, const struct profile *new,
	const char *key, const char *what, const char *how)
{
	const char *first = NULL;
	const char *other = find_other(base, key, &first);
	if (!other)
		other = find_other(new, key, &first);
	if (!other)
		return NULL;
	return err_new(ERR_USAGE, "the recordings are of different %s, \"%s\" and \"%s\"%s", what,
		first, other, how);
}

static struct err *check_host(
	const struct profile *base, const struct profile *new, const struct diff_options *options)
{
	static const char force[] = ": what that changes would look like a change of the program "
				    "(--force compares them nevertheless)";
	if (!options->is_forced) {
		try(check_meta(base, new, LAYOUT_META_ARCH, "architectures", force));
		return check_meta(base, new, LAYOUT_META_CPU_MODEL, "CPU models", force);
	}
	return options->metric == DIFF_CPU_S
		       ? check_meta(base, new, LAYOUT_META_CPU_MODEL, "CPU models",
				 ": their CPU times cannot be compared, perhaps their shares can "
				 "(--metric share)")
		       : NULL;
}

/* ---- names ---- */

struct naming {
	uint64_t samples, unnamed; /* of an object's code */
};

/* For each name of objects. */
static struct naming *count_names(const struct function_match *match, enum match_side side)
{
	const struct profile *profile = match->profiles[side];
	struct naming *ret = mem_zalloc_array(match->list.len + 1, sizeof(*ret));
	CLEANUP_FREE uint64_t *samples = slice_count_stacks(profile);
	for (uint32_t i = 0; i < profile->stacks.len; i++) {
		struct profile_walk walk = profile_walk(profile, i);
		const struct profile_frame *frame = &profile->frames.data[profile_walk_next(&walk)];
		if (!samples[i] || !frame->object)
			continue;
		struct naming *it = &ret[function_match_object(match, side, frame->object)];
		bool is_known = profile->functions.data[frame->function].is_known;
		it->samples += samples[i];
		it->unnamed += is_known ? 0 : samples[i];
	}
	return ret;
}

static const double much_percent = 5; /* of a side's samples */

/* Whether hardly any function of it has a name on one side, where most have on the other. */
static bool is_nameless(
	const struct naming *one, uint64_t one_all, const struct naming *other, uint64_t other_all)
{
	return profile_percent(one->unnamed, one_all) >= much_percent &&
	       one->unnamed >= one->samples / 10 * 9 &&
	       profile_percent(other->samples, other_all) >= much_percent &&
	       other->unnamed < other->samples / 2;
}

static struct err *refuse_nameless(
	const struct function_match *match, uint32_t object, enum match_side side, double percent)
{
	CLEANUP(str_deinit) struct str name = {0};
	const char *text = strtab_get(&match->objects, object);
	str_puts_escaped(&name, text);
	return err_new(ERR_USAGE,
		"on the %s side %s has no names for %.1f%% of the samples, on the other it has: "
		"another build, whose file is gone? That would look like new functions. ebprof "
		"archive keeps names, --symfs and --debug-dir find them (--force compares "
		"nevertheless)",
		side == MATCH_BASE ? "base" : "new", str_text(&name), percent);
}

/* A rebuilt program would have all of its functions vanish, and as many new ones. */
static struct err *comparability_check_names(const struct profile *base, const struct profile *new)
{
	struct function_match match;
	function_match_init(&match, base, new);
	struct naming *sides[] = {count_names(&match, MATCH_BASE), count_names(&match, MATCH_NEW)};
	uint64_t all[] = {base->samples.len, new->samples.len};
	struct err *err = NULL;
	for (uint32_t i = 0; i < match.list.len && !err; i++)
		for (int side = 0; side < MATCH_SIDES && !err; side++) {
			int other = !side;
			const struct naming *it = &sides[side][i];
			if (is_nameless(it, all[side], &sides[other][i], all[other]))
				err = refuse_nameless(&match, i, (enum match_side)side,
					profile_percent(it->unnamed, all[side]));
		}
	mem_free(sides[MATCH_BASE]);
	mem_free(sides[MATCH_NEW]);
	function_match_deinit(&match);
	return err;
}

/* ---- all of it ---- */

static struct err *refuse_empty(const char *side)
{
	return err_new(ERR_USAGE,
		"the %s side has no samples, or the options choose none: that says "
		"nothing, not even that all is well",
		side);
}

struct err *comparability_check(const struct profile *base, const struct profile *new,
	const struct diff_options *options, uint32_t *base_event, uint32_t *new_event)
{
	if (!base->samples.len)
		return refuse_empty("base");
	if (!new->samples.len)
		return refuse_empty("new");
	try(check_host(base, new, options));
	if (!options->is_forced && options->by != DIFF_BY_FILE)
		try(comparability_check_names(base, new));
	struct err *err = main_event_of_both(new, base, new_event, base_event);
	if (err && options->is_forced) {
		err_destroy(err);
		*base_event = main_event_of(base);
		*new_event = main_event_of(new);
		return NULL;
	}
	return err;
}

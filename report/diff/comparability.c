#include "report/diff/comparability.h"

#include <string.h>

#include "report/export/export.h"

static const char *find_meta(const struct profile_meta *meta, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(meta[i].key, key) == 0)
			return meta[i].value;
	return NULL;
}

/* Of each run; NULL where it is not told. */
static const char *meta_of(const struct profile *profile, size_t run, const char *key)
{
	if (!profile_nr_origins(profile))
		return profile_meta(profile, key);
	const struct profile_origin *origin = &profile->origins.data[run + 1];
	return find_meta(origin->meta, origin->info.nr_meta, key);
}

/* The first that differs from what others tell, or NULL; *ret is the first that is told. */
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

static struct err *refuse_empty(const char *side)
{
	return err_new(ERR_USAGE,
		"the %s side has no samples: that says nothing, not even that all "
		"is well",
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
	struct err *err = export_common_event(new, base, new_event, base_event);
	if (err && options->is_forced) {
		err_destroy(err);
		*base_event = export_main_event(base);
		*new_event = export_main_event(new);
		return NULL;
	}
	return err;
}

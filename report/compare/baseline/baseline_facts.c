#include "report/compare/baseline/baseline_facts.h"

#include <string.h>

/* Of one run: what it was merged with may differ. */
static const char *baseline_facts_origin_meta(const struct profile_origin *origin, const char *key)
{
	for (uint32_t i = 0; i < origin->info.nr_meta; i++)
		if (strcmp(origin->meta[i].key, key) == 0)
			return origin->meta[i].value;
	return "unknown";
}

static struct err *baseline_facts_find_meta(const struct profile *profile, bool is_forced,
	const char *key, const char *what, struct str *ret)
{
	const char *first = profile_meta(profile, key);
	const struct profile_origin *origins = profile->origins.data;
	for (size_t i = 1; i < profile->origins.len; i++) {
		const char *value = baseline_facts_origin_meta(&origins[i], key);
		if (i == 1)
			first = value;
		if (strcmp(value, first) != 0 && !is_forced)
			return err_new(ERR_USAGE,
				"%s was made on another %s than %s: %s, and %s (--force takes it)",
				origins[i].name, what, origins[1].name, value, first);
	}
	str_puts(ret, first && *first ? first : "unknown");
	return NULL;
}

static void baseline_facts_find_event(const struct profile *profile, struct str *ret)
{
	CLEANUP_FREE bool *has_samples = mem_zalloc_array(profile->events.len, sizeof(bool));
	vec_each(&profile->samples, sample)
		has_samples[sample->event] = true;
	for (size_t i = 0; i < profile->events.len; i++)
		if (has_samples[i])
			str_printf(ret, "%s%s", ret->len ? "," : "", profile->events.data[i].name);
	if (!ret->len)
		str_puts(ret, "none");
}

struct err *baseline_facts_find(
	const struct profile *profile, bool is_forced, struct baseline_facts *ret)
{
	struct baseline_facts facts = {0};
	struct err *err = baseline_facts_find_meta(
		profile, is_forced, LAYOUT_META_CPU_MODEL, "CPU model", &facts.cpu_model);
	if (!err)
		err = baseline_facts_find_meta(
			profile, is_forced, LAYOUT_META_ARCH, "architecture", &facts.arch);
	if (err) {
		baseline_facts_deinit(&facts);
		return err;
	}
	baseline_facts_find_event(profile, &facts.event);
	*ret = facts;
	return NULL;
}

void baseline_facts_deinit(struct baseline_facts *facts)
{
	str_deinit(&facts->cpu_model);
	str_deinit(&facts->arch);
	str_deinit(&facts->event);
}

#include "report/write/text/text.h"

#include <string.h>

#include "report/analyse/hidden_frames.h"
#include "report/model/event_value.h"
#include "report/name/script_frames.h"
#include "report/write/cause_words.h"
#include "report/write/health.h"
#include "report/write/ticks_share.h"

void text_put_script_hint(
	const struct profile *profile, const struct filter *filter, struct str *out)
{
	if (filter->hidden & HIDDEN_NATIVE)
		return;
	struct script_frames frames;
	script_frames_count(profile, &frames);
	const struct script_language *most = NULL;
	vec_each(&frames.languages, language)
		if (language->samples > (most ? most->samples : 0))
			most = language;
	if (most) {
		str_printf(out, "# %.0f%% of samples are in functions of ",
			profile_percent(most->samples, profile->samples.len));
		str_puts_escaped(out, most->name);
		str_puts(out, ": --no-native shows only these of their stacks\n");
	}
	script_frames_deinit(&frames);
}

void text_put_losses(const struct profile *profile, uint32_t event, struct str *out)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (health_put_sideband_losses(profile, &text))
		str_printf(out, "# %s\n", str_text(&text));
	for (enum layout_counter i = LAYOUT_COUNTER_WAITS_WITHOUT_SCRIPTS;
		i <= LAYOUT_COUNTER_PROGRAMS_SKIPPED; i++)
		if (profile->counters[i])
			str_printf(out, "# %llu %s\n", (unsigned long long)profile->counters[i],
				cause_of_counter(i));
	if (profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS])
		str_printf(out, "# %llu %s\n",
			(unsigned long long)profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS],
			cause_of_counter(LAYOUT_COUNTER_HEAP_UNSEEN_MS));
	const struct profile_event *shown = &profile->events.data[event];
	str_truncate(&text, 0);
	if (ticks_share_put_of(profile, shown, &text))
		str_printf(out, "# %s\n", str_text(&text));
	bool is_in_use = strncmp(profile->events.data[event].name, "inuse_", 6) == 0;
	if (is_in_use && profile->samples.len &&
		profile_has_ended(profile, profile->samples.data[0].thread))
		str_puts(out,
			"# what was freed as the program ended is not among these: record -p, for "
			"a --duration, shows what is in use meanwhile\n");
	uint64_t unfollowed = 0;
	if (is_in_use && profile_event_lost(profile, shown, &unfollowed) && unfollowed)
		str_puts(out,
			"# what was allocated last is not among these: more was in use than is "
			"followed; with a larger --heap=SIZE all of it is\n");
	if (event_value_is_of_heap(shown))
		health_put_own_heaps(profile, out);
	if (profile->events.data[event].wait || profile->events.data[event].is_sum)
		health_put_own_threads(profile, out);
}

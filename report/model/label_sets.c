#include "report/model/label_sets.h"

#include <string.h>

struct label_walk label_walk(const struct profile *profile, uint32_t set)
{
	return (struct label_walk){.profile = profile, .set = set, .next = set};
}

/* Whether a label that was added later has the same key, that is, the same string of the file. */
static bool is_replaced(const struct label_walk *walk, uint32_t label)
{
	const struct profile_label *labels = walk->profile->labels.data;
	for (uint32_t later = walk->set; later != label; later = labels[later].rest)
		if (labels[later].key == labels[label].key)
			return true;
	return false;
}

uint32_t label_walk_next(struct label_walk *walk)
{
	while (walk->next) {
		uint32_t label = walk->next;
		walk->next = walk->profile->labels.data[label].rest;
		if (walk->profile->labels.data[label].key[0] && !is_replaced(walk, label))
			return label;
	}
	return 0;
}

const char *label_key_of_word(const char *word, size_t *len)
{
	static const char prefix[] = "label:";
	static const struct {
		const char *word, *key;
	} known[] = {
		{"reason", PROFILE_LABEL_REASON},
		{"waker", PROFILE_LABEL_WAKER},
		{"trace", PROFILE_LABEL_TRACE},
		{"span", PROFILE_LABEL_SPAN},
		{"namespace", PROFILE_LABEL_NAMESPACE},
	};
	const size_t prefix_len = sizeof(prefix) - 1;
	if (*len > prefix_len && memcmp(word, prefix, prefix_len) == 0) {
		*len -= prefix_len;
		return word + prefix_len;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i].word) == *len && memcmp(word, known[i].word, *len) == 0) {
			*len = strlen(known[i].key);
			return known[i].key;
		}
	return NULL;
}

uint32_t label_sets_find(const struct profile *profile, uint32_t set, const char *key)
{
	const struct profile_label *labels = profile->labels.data;
	while (set && strcmp(labels[set].key, key) != 0)
		set = labels[set].rest;
	return set;
}

bool label_has_value(const struct profile *profile, uint32_t label, const char *value)
{
	const struct profile_label *it = &profile->labels.data[label];
	CLEANUP(str_deinit) struct str text = {0};
	if (it->kind == LAYOUT_LABEL_TEXT)
		return strcmp(it->text, value) == 0;
	label_put_value(profile, label, &text);
	return strcmp(str_text(&text), value) == 0;
}

/* Sets come behind those that they are added to. */
uint32_t *label_sets_find_all(const struct profile *profile, const char *key)
{
	uint32_t *found = mem_zalloc_array(profile->labels.len, sizeof(*found));
	for (uint32_t i = 1; i < profile->labels.len; i++) {
		const struct profile_label *label = &profile->labels.data[i];
		found[i] = strcmp(label->key, key) == 0 ? i : found[label->rest];
	}
	return found;
}

void label_put_value(const struct profile *profile, uint32_t label, struct str *out)
{
	const struct profile_label *it = &profile->labels.data[label];
	switch (it->kind) {
	case LAYOUT_LABEL_TEXT:
		str_puts(out, it->text);
		break;
	case LAYOUT_LABEL_PLACE:
		str_puts(out,
			profile->functions.data[profile->frames.data[it->value].function].name);
		break;
	default:
		str_printf(out, "%llu", (unsigned long long)it->value);
		break;
	}
}

void label_sets_put(const struct profile *profile, uint32_t set, struct str *out)
{
	uint32_t labels[LAYOUT_MAX_LABELS], count = 0;
	struct label_walk walk = label_walk(profile, set);
	for (uint32_t label; count < LAYOUT_MAX_LABELS && (label = label_walk_next(&walk));)
		labels[count++] = label;
	for (uint32_t i = count; i-- > 0;) {
		str_printf(out, "%s%s=", i + 1 < count ? ", " : "",
			profile->labels.data[labels[i]].key);
		label_put_value(profile, labels[i], out);
	}
}

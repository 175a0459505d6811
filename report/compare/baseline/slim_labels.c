#include "report/compare/baseline/slim_labels.h"

#include <string.h>

#include "report/model/label_sets.h"

/* In order: sets of the same labels are the same text. */
static const char *const kept_keys[] = {
	"aws.ecs.task.family",
	"container.image.name",
	"container.name",
	"k8s.container.name",
	"k8s.namespace.name",
	"k8s.pod.name",
	"service_name",
};

enum {
	KEPT_KEYS = sizeof(kept_keys) / sizeof(*kept_keys),
};

/* By set, how many of the keys it has. */
static uint8_t *count_kept_labels(const struct profile *profile)
{
	uint8_t *counts = mem_zalloc_array(profile->labels.len + 1, sizeof(*counts));
	for (size_t i = 0; i < KEPT_KEYS; i++) {
		CLEANUP_FREE uint32_t *found = label_sets_find_all(profile, kept_keys[i]);
		for (size_t set = 0; set < profile->labels.len; set++)
			counts[set] += found[set] != 0;
	}
	return counts;
}

void slim_labels_init(struct slim_labels *labels, const struct profile *profile)
{
	CLEANUP_FREE uint8_t *counts = count_kept_labels(profile);
	labels->of_processes =
		mem_zalloc_array(profile->processes.len, sizeof(*labels->of_processes));
	vec_each(&profile->samples, sample) {
		uint32_t *known =
			&labels->of_processes[profile->threads.data[sample->thread].process];
		if (counts[sample->labels] > counts[*known])
			*known = sample->labels;
	}
}

void slim_labels_deinit(struct slim_labels *labels)
{
	mem_free(labels->of_processes);
}

void slim_labels_put(const struct profile *profile, uint32_t set, struct str *out)
{
	for (size_t i = 0; set && i < KEPT_KEYS; i++) {
		uint32_t label = label_sets_find(profile, set, kept_keys[i]);
		if (!label || profile->labels.data[label].kind != LAYOUT_LABEL_TEXT)
			continue;
		str_write(out, kept_keys[i], strlen(kept_keys[i]) + 1);
		label_put_value(profile, label, out);
		str_putc(out, '\0');
	}
}

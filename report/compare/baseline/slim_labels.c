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

static bool has_kept_label(const struct profile *profile, uint32_t set)
{
	for (size_t i = 0; set && i < KEPT_KEYS; i++)
		if (label_sets_find(profile, set, kept_keys[i]))
			return true;
	return false;
}

void slim_labels_init(struct slim_labels *labels, const struct profile *profile)
{
	labels->of_processes =
		mem_zalloc_array(profile->processes.len, sizeof(*labels->of_processes));
	vec_each(&profile->samples, sample) {
		uint32_t *known =
			&labels->of_processes[profile->threads.data[sample->thread].process];
		if (!*known && has_kept_label(profile, sample->labels))
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

/* The labels that a tick has sent. */
#ifndef EBPROF_UNIT_BPF_LABELS_SENT_H
#define EBPROF_UNIT_BPF_LABELS_SENT_H

#include <stdio.h>

#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

/* "key=value key=value flags" of the last sample. */
static inline const char *sent_labels(struct runtime_fixture *fixture)
{
	static char text[4096];
	size_t len = 0;
	runtime_fixture_tick(fixture);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	const struct event_labels *labels = emulated_record(EVENT_LABELS, 0);
	uint64_t flags = sample ? sample->labels & EVENT_LABELS_FLAGS : 99;
	text[0] = '\0';
	if (labels)
		CHECK_INT(sample->labels & ~(uint64_t)EVENT_LABELS_FLAGS, labels->hash);
	for (uint32_t at = 0; labels && at < labels->bytes;) {
		const struct event_label *label = (const void *)((const char *)(labels + 1) + at);
		const char *key = (const char *)(label + 1),
			   *value = key + ((label->key_bytes + 7) & ~7);
		if (label->kind == EVENT_LABEL_TEXT)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s=%.*s ",
				label->key_bytes, key, label->value_bytes, value);
		else if (label->kind == EVENT_LABEL_BYTES)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%u:%u bytes ",
				label->source, label->value_bytes);
		else
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%u:%llu ",
				label->source, *(const unsigned long long *)value);
		at += (uint32_t)sizeof(*label) + ((label->key_bytes + 7U) & ~7U) +
		      ((label->value_bytes + 7U) & ~7U);
	}
	snprintf(text + len, sizeof(text) - len, "%llu", (unsigned long long)flags);
	return text;
}

#endif

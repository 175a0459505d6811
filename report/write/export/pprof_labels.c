#include "report/write/export/pprof_labels.h"

#include <string.h>

#include "format/base/mem.h"
#include "report/analyse/stack_counts.h"
#include "report/write/export/labels.h"
#include "report/write/export/protobuf.h"

enum {
	SAMPLE_LABEL = 3 /* the field of Sample */
};

enum label_field {
	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
	LABEL_NUM_UNIT = 4,
};

struct group {
	uint32_t set, cpu, column;
};

uint32_t pprof_string(struct strtab *strings, const char *text)
{
	CLEANUP(str_deinit) struct str safe = {0};
	str_puts_escaped(&safe, text);
	return strtab_intern(strings, str_text(&safe), safe.len);
}

/* ---- the labels of a thread ---- */

struct encoder {
	struct pprof_labels *labels;
	struct bytes_buf *out;
};

/* Readers drop a label with an empty string; there is none. */
static void pprof_labels_put_text(void *context, const char *key, const char *value)
{
	struct encoder *encoder = context;
	struct strtab *strings = encoder->labels->strings;
	struct bytes_buf label = {0};
	protobuf_put_varint(&label, LABEL_KEY, pprof_string(strings, key));
	protobuf_put_varint(&label, LABEL_STR, pprof_string(strings, value));
	protobuf_put_message(encoder->out, SAMPLE_LABEL, &label);
	bytes_buf_deinit(&label);
}

/* Readers drop a label with the number 0, unless it has a unit. */
static void pprof_labels_put_number(struct pprof_labels *labels, struct bytes_buf *out,
	const char *key, uint64_t value, const char *unit)
{
	struct bytes_buf label = {0};
	protobuf_put_varint(&label, LABEL_KEY, pprof_string(labels->strings, key));
	protobuf_put_varint(&label, LABEL_NUM, value);
	protobuf_put_varint(&label, LABEL_NUM_UNIT, pprof_string(labels->strings, unit));
	protobuf_put_message(out, SAMPLE_LABEL, &label);
	bytes_buf_deinit(&label);
}

static void pprof_labels_put_id(void *context, const char *key, uint64_t value)
{
	struct encoder *encoder = context;
	pprof_labels_put_number(encoder->labels, encoder->out, key, value, "");
}

static void pprof_labels_make_sets(struct pprof_labels *labels)
{
	const struct profile *profile = labels->profile;
	struct bytes_buf set = {0};
	struct encoder encoder = {labels, &set};
	struct label_visitor visitor = {pprof_labels_put_text, pprof_labels_put_id, &encoder};
	struct process_names names;
	process_names_init(&names, profile);
	labels->threads = mem_zalloc_array(profile->threads.len, sizeof(*labels->threads));
	for (size_t i = 0; i < profile->threads.len; i++) {
		set.len = 0;
		labels_visit(&names, labels->wanted, &profile->threads.data[i], &visitor);
		labels->threads[i].set =
			strtab_intern(&labels->sets, set.len ? (char *)set.data : "", set.len);
	}
	process_names_deinit(&names);
	bytes_buf_deinit(&set);
}

void pprof_labels_init(struct pprof_labels *labels, const struct profile *profile, uint32_t wanted,
	struct strtab *strings)
{
	*labels = (struct pprof_labels){.profile = profile, .wanted = wanted, .strings = strings};
}

void pprof_labels_deinit(struct pprof_labels *labels)
{
	strtab_deinit(&labels->sets);
	strtab_deinit(&labels->groups);
	mem_free(labels->threads);
	map_deinit(&labels->joined);
	mem_free(labels->proofs);
}

/* Those of a thread, `set`, and of its sample. */
static uint32_t pprof_labels_join(struct pprof_labels *labels, uint32_t set, uint32_t sample_labels)
{
	if (!sample_labels || !(labels->wanted & EXPORT_LABEL_SAMPLE))
		return set;
	bool added;
	uint64_t *joined = map_put(&labels->joined, (uint64_t)set << 32 | sample_labels, &added);
	if (!added)
		return (uint32_t)*joined;
	struct bytes_buf both = {0};
	struct encoder encoder = {labels, &both};
	struct label_visitor visitor = {pprof_labels_put_text, pprof_labels_put_id, &encoder};
	const struct strtab_entry *own = &labels->sets.entries.data[set];
	bytes_put(&both, own->bytes, own->len);
	labels_visit_set(labels->profile, labels->wanted, sample_labels, &visitor);
	*joined = strtab_intern(&labels->sets, both.len ? (char *)both.data : "", both.len);
	bytes_buf_deinit(&both);
	return (uint32_t)*joined;
}

/* ---- groups ---- */

uint32_t pprof_labels_group(
	struct pprof_labels *labels, const struct profile_sample *sample, uint32_t column)
{
	if (!labels->threads)
		pprof_labels_make_sets(labels);
	struct pprof_thread *it = &labels->threads[sample->thread];
	uint32_t cpu = labels->wanted & EXPORT_LABEL_CPU ? sample->cpu : 0;
	if (it->group && it->labels == sample->labels && it->cpu == cpu && it->column == column)
		return it->group - 1;
	struct group group = {
		.set = pprof_labels_join(labels, it->set, sample->labels),
		.cpu = cpu,
		.column = column,
	};
	it->group = strtab_intern(&labels->groups, (const char *)&group, sizeof(group)) + 1;
	it->labels = sample->labels;
	it->cpu = cpu;
	it->column = column;
	return it->group - 1;
}

static struct group group_at(const struct pprof_labels *labels, uint32_t id)
{
	struct group group;
	memcpy(&group, strtab_get(&labels->groups, id), sizeof(group));
	return group;
}

uint32_t pprof_labels_column(const struct pprof_labels *labels, uint32_t group)
{
	return group_at(labels, group).column;
}

void pprof_labels_put(
	struct pprof_labels *labels, uint32_t id, uint32_t stack, struct bytes_buf *message)
{
	struct encoder encoder = {labels, message};
	struct group group = group_at(labels, id);
	const struct strtab_entry *set = &labels->sets.entries.data[group.set];
	bytes_put(message, set->bytes, set->len);
	if (labels->wanted & EXPORT_LABEL_CPU)
		pprof_labels_put_number(labels, message, "cpu", group.cpu, "cpu");
	if (labels->wanted & EXPORT_LABEL_UNWIND && !labels->proofs)
		labels->proofs = stack_proofs_of(labels->profile);
	if (labels->proofs)
		pprof_labels_put_text(&encoder, "unwind", stack_proof_word(labels->proofs[stack]));
}

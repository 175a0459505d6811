#include "report/write/export/otlp_attributes.h"
#include "format/base/path.h"
#include "report/analyse/stack_counts.h"

#include <string.h>

#include "report/write/export/labels.h"
#include "report/write/export/pprof_labels.h"
#include "report/write/export/protobuf.h"

enum key_value_and_unit_field { /* of the table */
	ENTRY_KEY = 1,
	ENTRY_VALUE = 2,
};

enum key_value_field { /* of resources */
	PAIR_KEY = 1,
	PAIR_VALUE = 2,
};

enum any_value_field {
	VALUE_STRING = 1,
	VALUE_INT = 3,
};

enum {
	/* Of a thread, its CPU and its stack 8 at most. */
	MAX_ATTRIBUTES = 8 + LAYOUT_MAX_LABELS,
};

struct thread_attributes {
	uint32_t set, container;
};

void otlp_attributes_init(struct otlp_attributes *attributes, const struct profile *profile,
	uint32_t wanted, struct strtab *strings)
{
	*attributes =
		(struct otlp_attributes){.profile = profile, .wanted = wanted, .strings = strings};
	otlp_table_init(&attributes->table);
	otlp_links_init(&attributes->links, profile);
	strtab_intern(&attributes->containers, "", 0);
}

void otlp_attributes_deinit(struct otlp_attributes *attributes)
{
	otlp_table_deinit(&attributes->table);
	otlp_links_deinit(&attributes->links);
	strtab_deinit(&attributes->sets);
	strtab_deinit(&attributes->containers);
	strtab_deinit(&attributes->groups);
	mem_free(attributes->threads);
	map_deinit(&attributes->joined);
	mem_free(attributes->proofs);
	bytes_buf_deinit(&attributes->message);
	bytes_buf_deinit(&attributes->inner);
}

/* proto3 demands UTF-8: foreign bytes are escaped. */
static void otlp_attributes_put_text(struct bytes_buf *out, uint32_t field, const char *text)
{
	CLEANUP(str_deinit) struct str safe = {0};
	str_puts_escaped(&safe, text);
	protobuf_put_bytes(out, field, str_text(&safe), safe.len);
}

void otlp_attributes_put_pair(
	struct bytes_buf *out, uint32_t field, const char *key, const char *value)
{
	struct bytes_buf pair = {0}, any = {0};
	otlp_attributes_put_text(&pair, PAIR_KEY, key);
	otlp_attributes_put_text(&any, VALUE_STRING, value);
	protobuf_put_message(&pair, PAIR_VALUE, &any);
	protobuf_put_message(out, field, &pair);
	bytes_buf_deinit(&pair);
	bytes_buf_deinit(&any);
}

/* ---- the table ---- */

/* Of the value that stands in `inner`. */
static uint32_t otlp_attributes_take_entry(struct otlp_attributes *attributes, const char *key)
{
	protobuf_put_varint(
		&attributes->message, ENTRY_KEY, pprof_string(attributes->strings, key));
	protobuf_put_message(&attributes->message, ENTRY_VALUE, &attributes->inner);
	return otlp_table_take(&attributes->table, &attributes->message);
}

uint32_t otlp_attributes_text(
	struct otlp_attributes *attributes, const char *key, const char *value)
{
	if (!value || !value[0])
		return 0;
	otlp_attributes_put_text(&attributes->inner, VALUE_STRING, value);
	return otlp_attributes_take_entry(attributes, key);
}

uint32_t otlp_attributes_number(struct otlp_attributes *attributes, const char *key, uint64_t value)
{
	protobuf_put_present_varint(&attributes->inner, VALUE_INT, value);
	return otlp_attributes_take_entry(attributes, key);
}

/* ---- threads ---- */

struct indices {
	uint64_t data[MAX_ATTRIBUTES];
	size_t len;
};

static void otlp_attributes_add(struct indices *indices, uint32_t index)
{
	if (index)
		indices->data[indices->len++] = index;
}

/* The program that runs; a kernel thread has none, but a name. */
static const char *program_of(const struct profile *profile, const struct profile_thread *thread)
{
	uint32_t exe = profile->processes.data[thread->process].info.exe;
	return exe ? path_last_part(profile->objects.data[exe].name) : thread->comm;
}

static struct indices indices_of(
	struct otlp_attributes *attributes, const struct profile_thread *thread)
{
	const struct profile *profile = attributes->profile;
	const struct profile_process *process = &profile->processes.data[thread->process];
	uint32_t wanted = attributes->wanted;
	struct indices indices = {.len = 0};
	if (wanted & EXPORT_LABEL_COMM)
		otlp_attributes_add(
			&indices, otlp_attributes_text(attributes, "process.executable.name",
					  program_of(profile, thread)));
	if (wanted & EXPORT_LABEL_THREAD)
		otlp_attributes_add(
			&indices, otlp_attributes_text(attributes, "thread.name", thread->comm));
	if (wanted & EXPORT_LABEL_PID)
		otlp_attributes_add(
			&indices, otlp_attributes_number(attributes, "process.pid", thread->pid));
	if (wanted & EXPORT_LABEL_TID)
		otlp_attributes_add(
			&indices, otlp_attributes_number(attributes, "thread.id", thread->tid));
	if (wanted & EXPORT_LABEL_CGROUP)
		otlp_attributes_add(&indices,
			otlp_attributes_text(attributes, "process.linux.cgroup", process->cgroup));
	if (wanted & EXPORT_LABEL_UNIT && process->unit[0])
		otlp_attributes_add(&indices,
			otlp_attributes_text(attributes, "systemd.unit.name", process->unit));
	if (wanted & EXPORT_LABEL_POD && process->pod[0])
		otlp_attributes_add(
			&indices, otlp_attributes_text(attributes, "k8s.pod.uid", process->pod));
	return indices;
}

static struct thread_attributes otlp_attributes_of(
	struct otlp_attributes *attributes, const struct profile_thread *thread)
{
	struct indices indices = indices_of(attributes, thread);
	const char *container = "";
	if (attributes->wanted & EXPORT_LABEL_CONTAINER)
		container = attributes->profile->processes.data[thread->process].container;
	return (struct thread_attributes){
		.set = strtab_intern(&attributes->sets, (const char *)indices.data,
			indices.len * sizeof(*indices.data)),
		.container = strtab_intern(&attributes->containers, container, strlen(container)),
	};
}

static void find_threads(struct otlp_attributes *attributes)
{
	const struct profile *profile = attributes->profile;
	attributes->threads = mem_zalloc_array(profile->threads.len, sizeof(*attributes->threads));
	for (size_t i = 0; i < profile->threads.len; i++)
		attributes->threads[i] = otlp_attributes_of(attributes, &profile->threads.data[i]);
}

/* ---- labels of samples ---- */

struct otlp_labels {
	struct otlp_attributes *attributes;
	struct indices indices;
	bool has_link; /* which says some of them */
};

static void otlp_attributes_add_text(void *context, const char *key, const char *value)
{
	struct otlp_labels *labels = context;
	if (labels->has_link && otlp_links_have(key))
		return;
	otlp_attributes_add(&labels->indices, otlp_attributes_text(labels->attributes, key, value));
}

static void otlp_attributes_add_number(void *context, const char *key, uint64_t value)
{
	struct otlp_labels *labels = context;
	otlp_attributes_add(
		&labels->indices, otlp_attributes_number(labels->attributes, key, value));
}

static struct indices set_at(const struct otlp_attributes *attributes, uint32_t set)
{
	const struct strtab_entry *entry = &attributes->sets.entries.data[set];
	struct indices indices = {.len = entry->len / sizeof(*indices.data)};
	memcpy(indices.data, entry->bytes, entry->len);
	return indices;
}

/* The set of a thread's attributes, `set`, and its sample's labels. */
static uint32_t otlp_attributes_join(
	struct otlp_attributes *attributes, uint32_t set, uint32_t sample_labels)
{
	if (!sample_labels || !(attributes->wanted & EXPORT_LABEL_SAMPLE))
		return set;
	bool added;
	uint64_t *joined =
		map_put(&attributes->joined, (uint64_t)set << 32 | sample_labels, &added);
	if (!added)
		return (uint32_t)*joined;
	struct otlp_labels both = {attributes, set_at(attributes, set),
		otlp_links_index(&attributes->links, sample_labels)};
	struct label_visitor visitor = {
		otlp_attributes_add_text, otlp_attributes_add_number, &both};
	labels_visit_set(attributes->profile, EXPORT_LABEL_SAMPLE, sample_labels, &visitor);
	*joined = strtab_intern(&attributes->sets, (const char *)both.indices.data,
		both.indices.len * sizeof(*both.indices.data));
	return (uint32_t)*joined;
}

/* ---- groups ---- */

uint32_t otlp_attributes_group(
	struct otlp_attributes *attributes, const struct profile_sample *sample)
{
	if (!attributes->threads)
		find_threads(attributes);
	if (attributes->wanted & EXPORT_LABEL_UNWIND && !attributes->proofs)
		attributes->proofs = stack_proofs_of(attributes->profile);
	bool has_labels = attributes->wanted & EXPORT_LABEL_SAMPLE;
	struct otlp_group group = {
		.link = has_labels ? otlp_links_index(&attributes->links, sample->labels) : 0,
		.set = otlp_attributes_join(
			attributes, attributes->threads[sample->thread].set, sample->labels),
		.cpu = attributes->wanted & EXPORT_LABEL_CPU ? sample->cpu : 0,
		.container = attributes->threads[sample->thread].container,
		.event = sample->event,
		.proof = attributes->proofs ? attributes->proofs[sample->stack] : 0,
	};
	return strtab_intern(&attributes->groups, (const char *)&group, sizeof(group));
}

struct otlp_group otlp_attributes_group_at(const struct otlp_attributes *attributes, uint32_t id)
{
	struct otlp_group group;
	memcpy(&group, strtab_get(&attributes->groups, id), sizeof(group));
	return group;
}

void otlp_attributes_put(struct otlp_attributes *attributes, const struct otlp_group *group,
	uint32_t field, struct bytes_buf *out)
{
	struct indices indices = set_at(attributes, group->set);
	if (attributes->wanted & EXPORT_LABEL_CPU)
		otlp_attributes_add(&indices,
			otlp_attributes_number(attributes, "cpu.logical_number", group->cpu));
	if (attributes->wanted & EXPORT_LABEL_UNWIND)
		otlp_attributes_add(&indices, otlp_attributes_text(attributes, "ebprof.unwind",
						      stack_proof_word(group->proof)));
	protobuf_put_packed(out, field, indices.data, indices.len);
}

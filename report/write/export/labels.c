#include "report/write/export/labels.h"

#include <string.h>

#include "report/model/label_sets.h"

static void visit_text(const struct label_visitor *visitor, const char *key, const char *value)
{
	if (value[0])
		visitor->text(visitor->context, key, value);
}

void labels_visit(const struct process_names *names, uint32_t wanted,
	const struct profile_thread *thread, const struct label_visitor *visitor)
{
	const struct profile *profile = names->profile;
	const struct profile_process *process = &profile->processes.data[thread->process];
	if (wanted & EXPORT_LABEL_COMM) {
		CLEANUP(str_deinit) struct str comm = {0};
		process_names_put(names, thread, &comm);
		visit_text(visitor, "comm", str_text(&comm));
	}
	if (wanted & EXPORT_LABEL_THREAD && thread->tid != thread->pid)
		visit_text(visitor, "thread", thread->comm);
	if (wanted & EXPORT_LABEL_PID)
		visitor->number(visitor->context, "pid", thread->pid);
	if (wanted & EXPORT_LABEL_TID)
		visitor->number(visitor->context, "tid", thread->tid);
	if (wanted & EXPORT_LABEL_CONTAINER)
		visit_text(visitor, "container", process->container);
	if (wanted & EXPORT_LABEL_CGROUP)
		visit_text(visitor, "cgroup", process->cgroup);
	if (wanted & EXPORT_LABEL_UNIT)
		visit_text(visitor, "unit", process->unit);
	if (wanted & EXPORT_LABEL_POD)
		visit_text(visitor, "pod", process->pod);
	if (wanted & EXPORT_LABEL_ORIGIN)
		visit_text(visitor, "origin", profile->origins.data[process->info.origin].name);
}

static bool is_taken(uint32_t wanted, const char *key)
{
	static const struct {
		uint32_t bit;
		const char *word;
	} others[] = {
#define X(label, bit, word) {label, word},
		EXPORT_LABELS(X)
#undef X
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (wanted & others[i].bit && others[i].bit != EXPORT_LABEL_SAMPLE &&
			strcmp(others[i].word, key) == 0)
			return true;
	return false;
}

static void visit_sample_label(const struct profile *profile, uint32_t wanted, uint32_t label,
	const struct label_visitor *visitor)
{
	const struct profile_label *it = &profile->labels.data[label];
	CLEANUP(str_deinit) struct str key = {0}, value = {0};
	str_printf(&key, "%s%s", is_taken(wanted, it->key) ? "label." : "", it->key);
	if (it->kind == LAYOUT_LABEL_NUMBER) {
		visitor->number(visitor->context, str_text(&key), it->value);
		return;
	}
	label_put_value(profile, label, &value);
	visit_text(visitor, str_text(&key), str_text(&value));
}

void labels_visit_set(const struct profile *profile, uint32_t wanted, uint32_t set,
	const struct label_visitor *visitor)
{
	uint32_t labels[LAYOUT_MAX_LABELS], count = 0;
	struct label_walk walk = label_walk(profile, wanted & EXPORT_LABEL_SAMPLE ? set : 0);
	for (uint32_t label; count < LAYOUT_MAX_LABELS && (label = label_walk_next(&walk));)
		labels[count++] = label;
	while (count)
		visit_sample_label(profile, wanted, labels[--count], visitor);
}
